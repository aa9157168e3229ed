//! The policies that are published, compared with what happens.

use super::desk::{Desk, Reads as _, call, get, post};
use crate::outside::url;
use crate::support::{self, program, value};
use onceward::types::Answer;
use serde_json::Value;

const FUNCTIONS: [&str; 4] = ["lab", "lab-stripe", "lab-acp", "lab-strict"];

fn policies(desk: &Desk) -> Vec<Value> {
    let answer = desk.send(&get("/.well-known/idempotency")).expect(200);
    assert_eq!(answer.field("content-type"), Some("application/json"));
    answer.document()["routes"]
        .as_array()
        .expect("routes")
        .clone()
}

fn of(desk: &Desk, path: &str) -> Value {
    let all = policies(desk);
    let found = all.iter().find(|policy| policy["path"] == path);
    found
        .unwrap_or_else(|| panic!("no policy of {path}"))
        .clone()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// A key of so many characters that every route takes, as it has to be written there.
fn key(policy: &Value, chars: u64) -> String {
    let key = "k".repeat(usize::try_from(chars).expect("a length"));
    if policy["key"]["syntax"] == "strict" {
        format!("\"{key}\"")
    } else {
        key
    }
}

#[test]
fn what_is_published_of_keys_is_what_happens() {
    let desk = Desk::new();
    for name in FUNCTIONS {
        let policy = of(&desk, &format!("/v1/functions/{name}"));
        let status = |chars| {
            desk.send(&call(name, &key(&policy, chars), &program([])))
                .status
        };
        let (least, most) = (
            number(&policy["key"]["min_chars"]),
            number(&policy["key"]["max_chars"]),
        );
        let malformed = policy["statuses"]["malformed"].as_u64().expect("a status");
        assert_eq!((status(least), status(most)), (200, 200), "{name}");
        for chars in [least - 1, most + 1] {
            assert_eq!(u64::from(status(chars)), malformed, "{name}: {chars}");
        }
        let keyless = post(&format!("/v1/functions/{name}"))
            .token()
            .json(&program([]));
        let keyless = desk.send(&keyless).status;
        if policy["key"]["required"] == true {
            assert_eq!(
                u64::from(keyless),
                number(&policy["statuses"]["missing"]),
                "{name}"
            );
        } else {
            assert_eq!(keyless, 200, "{name}");
        }
        let echoed = desk.send(&call(name, &key(&policy, least), &program([])));
        let shows = echoed.field("idempotency-key").is_some();
        assert_eq!(policy["key"]["echoed"] == true, shows, "{name}");
    }
}

#[test]
fn what_is_published_of_statuses_is_what_happens() {
    let desk = Desk::new();
    let slow = program([support::call("slow", url("/shop/9000/k/slow"))]);
    for name in FUNCTIONS {
        let policy = of(&desk, &format!("/v1/functions/{name}"));
        let (one, other) = (key(&policy, 20), key(&policy, 21));
        desk.send(&call(name, &one, &program([]))).expect(200);
        let status = |key: &str, body: &Value| u64::from(desk.send(&call(name, key, body)).status);
        let wanted = |what: &str| number(&policy["statuses"][what]);
        assert_eq!(
            status(&one, &program([value("a", 1)])),
            wanted("mismatch"),
            "{name}"
        );
        assert_eq!(status(&other, &slow), wanted("accepted"), "{name}");
        assert_eq!(status(&other, &slow), wanted("in_flight"), "{name}");
    }
}

#[test]
fn what_is_published_of_times_is_what_happens() {
    let desk = Desk::new();
    let kept = |answer: &Answer| {
        let text = answer.field("idempotency-expires").expect("a time");
        let at: jiff::Timestamp = text.parse().expect("RFC 3339");
        u64::try_from(at.as_millisecond()).expect("after 1970") - desk.world.now_ms()
    };
    for name in FUNCTIONS {
        let policy = of(&desk, &format!("/v1/functions/{name}"));
        let good = desk.send(&call(name, &key(&policy, 20), &program([])));
        let bad = desk.send(&call(
            name,
            &key(&policy, 21),
            &program([support::fail("terminal")]),
        ));
        let retention = &policy["retention"];
        assert!(
            kept(&good).abs_diff(number(&retention["succeeded_ms"])) < 5_000,
            "{name}"
        );
        if retention["stored"] == "all" {
            assert!(
                kept(&bad).abs_diff(number(&retention["failed_ms"])) < 5_000,
                "{name}"
            );
        } else {
            // It is not kept: the key is new at once.
            assert_eq!(bad.field("idempotency-expires"), None, "{name}");
        }
        let slow = program([support::call("slow", url("/shop/29000/k/slow"))]);
        let (answer, took) = desk.timed(&call(name, &key(&policy, 22), &slow));
        assert_eq!(answer.status, 202);
        let within = number(&policy["respond_within_ms"]);
        assert!((within..within + 1_500).contains(&took), "{name}: {took}");
        let most = call(name, &key(&policy, 23), &slow).field("Prefer", "wait=9999");
        let granted = format!("wait={}", number(&policy["prefer"]["wait_max_s"]));
        assert_eq!(
            desk.send(&most).field("preference-applied"),
            Some(&*granted)
        );
    }
}

#[test]
fn what_is_published_of_answers_that_are_kept_is_what_happens() {
    let desk = Desk::new();
    for name in FUNCTIONS {
        let policy = of(&desk, &format!("/v1/functions/{name}"));
        let kept = [(201, 20), (404, 21), (500, 22)].map(|(status, chars)| {
            let mut body = program([]);
            body["answer"] = serde_json::json!({"status": status, "body": 1});
            let request = call(name, &key(&policy, chars), &body);
            desk.send(&request).expect(status);
            desk.send(&request).is_replay()
        });
        let want = match policy["retention"]["stored"].as_str().expect("a word") {
            "all" => [true, true, true],
            "below_500" => [true, true, false],
            "success" => [true, false, false],
            other => panic!("{other}"),
        };
        assert_eq!(kept, want, "{name}");
        let afterwards = &policy["retention"]["after_expiry"];
        assert_eq!(
            *afterwards,
            if name == "lab-strict" {
                "expired"
            } else {
                "new"
            }
        );
    }
}

#[test]
fn every_route_has_a_page_and_none_tells_what_is_not_for_everybody() {
    let desk = Desk::new();
    let all = policies(&desk);
    assert!(all.iter().any(|policy| policy["path"] == "/hooks/lab"));
    let index = String::from_utf8(desk.send(&get("/policy")).expect(200).body).expect("UTF-8");
    for policy in &all {
        let page = policy["links"]["policy"].as_str().expect("a page");
        assert!(index.contains(page), "{page}");
        let shown = desk.send(&get(page)).expect(200);
        assert_eq!(
            shown.field("content-type"),
            Some("text/html; charset=utf-8")
        );
        let html = String::from_utf8(shown.body).expect("UTF-8");
        for fact in ["/min_chars", "/max_chars"] {
            let fact = policy["key"].pointer(fact).expect("a fact").to_string();
            assert!(html.contains(&fact), "{page}: {fact}");
        }
        let pattern = policy["key"]["pattern"].as_str().expect("a pattern");
        assert!(html.contains(pattern), "{page}: {pattern}");
        for name in ["missing", "mismatch", "in_flight", "accepted"] {
            let status = policy["statuses"][name].to_string();
            let needed = name != "missing" || policy["key"]["required"] == true;
            assert!(!needed || html.contains(&status), "{page}: {name} {status}");
        }
        let text = format!("{policy} {html}").to_lowercase();
        for word in ["secret", "_token", "simulated"] {
            assert!(!text.contains(word), "{page}: {word}");
        }
        let plain = desk
            .send(&get(page).field("Accept", "text/markdown"))
            .expect(200);
        assert_eq!(
            plain.field("content-type"),
            Some("text/markdown; charset=utf-8")
        );
    }
    for absent in ["/policy/hooks/nowhere", "/policy/functions/nothing"] {
        desk.send(&get(absent)).problem(404, "not_found");
    }
}
