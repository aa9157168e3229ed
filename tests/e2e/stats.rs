//! Statistics over HTTP: sums by hour and function from rows of D1, and errors.

use crate::support::{Answer, Request, Server, TOKEN, shared};
use serde_json::{Value, json};

const HOUR_MS: i64 = 3_600_000;

fn ask(server: &Server, query: &str) -> Answer {
    server.send(&Request::get(&format!("/v1/stats{query}")).bearer(TOKEN))
}

/// Of a function that nobody runs, so that nothing else is counted for it.
fn fill(server: &Server, hour_ms: i64, function: &str, accepted: u32) {
    let sql = "INSERT INTO stats (hour_ms, function, accepted, succeeded, retries, same_key, mismatch, object_requests,
        object_rows, object_ms, d1_rows, took_ms, took_4) VALUES (?1, ?2, ?3, ?3, 1, 2, 1, 3, 7, 20, 8, 150, ?3)";
    let row = rusqlite::params![hour_ms, function, accepted];
    server.files().open_d1().execute(sql, row).expect("a row");
}

#[test]
fn hours_and_functions_are_told_apart_as_wished() {
    let mut server = Server::start();
    server.kill9();
    let now = crate::support::unix_ms();
    let hour = now - now % HOUR_MS;
    for (back, function, accepted) in [(0, "a", 4), (1, "a", 6), (1, "b", 10), (40, "a", 100)] {
        fill(&server, hour - back * HOUR_MS, function, accepted);
    }
    server.restart();
    let day = ask(&server, "").expect(200).json();
    assert_eq!(day["total"]["accepted"], 20, "{day}");
    assert_eq!(day["total"]["run"], 23, "{day}");
    assert_eq!(day["total"]["duplicates"]["total"], 9, "{day}");
    assert_eq!(day["total"]["took_ms"]["p50"], 175, "{day}");
    let rows = 3 * 7 + 20 * 5;
    assert_eq!(day["total"]["cost"]["object_rows"], rows, "{day}");
    assert!(
        day["total"]["cost"]["usd_per_million_tasks"].is_number(),
        "{day}"
    );
    assert!(day.get("rows").is_none(), "{day}");

    let functions = ask(&server, "?by=function").expect(200).json();
    let rows = functions["rows"].as_array().expect("rows");
    let shown: Vec<(&Value, &Value)> = rows
        .iter()
        .map(|r| (&r["function"], &r["accepted"]))
        .collect();
    assert_eq!(
        shown,
        [(&json!("a"), &json!(10)), (&json!("b"), &json!(10))]
    );

    let both = format!(
        "?by=hour,function&function=a&from={}&to={now}",
        hour - 45 * HOUR_MS
    );
    let both = ask(&server, &both).expect(200).json();
    let accepted: Vec<&Value> = both["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|r| &r["accepted"])
        .collect();
    assert_eq!(accepted, [&json!(100), &json!(6), &json!(4)], "{both}");
    assert_eq!(both["total"]["accepted"], 110);
}

#[test]
fn a_query_that_makes_no_sense_is_a_400_that_says_why() {
    for query in [
        "?by=week",
        "?from=tomorrow",
        "?from=0",
        "?limit=1",
        "?from=2027-01-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    ] {
        let answer = ask(shared(), query).expect_problem(400, "input_invalid");
        assert!(
            answer.json()["errors"][0]["detail"].is_string(),
            "{query}: {}",
            answer.shown()
        );
    }
}

#[test]
fn statistics_need_a_token() {
    for path in ["/v1/stats", "/metrics"] {
        shared()
            .send(&Request::get(path))
            .expect_problem(401, "unauthorized");
        let wrong = Request::get(path).bearer("nobody");
        shared().send(&wrong).expect_problem(401, "unauthorized");
        let method = Request::post(path).bearer(TOKEN);
        shared()
            .send(&method)
            .expect_problem(405, "method_not_allowed");
    }
}

#[test]
fn without_the_database_there_are_none() {
    let server = Server::start();
    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    ask(&server, "").expect_problem(503, "unavailable");
    // One that fails once is asked again.
    server.fault(&json!({ "d1": "fail", "times": 1 }));
    ask(&server, "").expect(200);
}
