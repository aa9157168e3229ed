//! Methods without a key: passed through as they come, without a task.

use crate::gateway::{ask, town};
use crate::support::{Request, check, eventually};
use std::time::{Duration, Instant};

#[test]
fn answers_of_any_size_pass_through_and_nothing_is_kept() {
    let (server, sink) = town();
    let bytes = 5_000_000;
    for n in 1..=2 {
        // I-19: a key is ignored here.
        let answer = server
            .send(&ask("GET", &format!("lab/big/{bytes}")).key("k"))
            .expect(200);
        assert!(
            answer.body == vec![b'x'; bytes],
            "{} bytes",
            answer.body.len()
        );
        assert!(!answer.is_replay() && answer.field("Onceward-Task-Id").is_none());
        assert_eq!(sink.count(&format!("/big/{bytes}")), n);
        assert_eq!(answer.field("Access-Control-Allow-Origin"), Some("*"));
    }
    for call in sink.log() {
        assert!(call.field("Idempotency-Key").is_none() && call.field("Authorization").is_none());
    }
}

#[test]
fn bodies_of_any_size_pass_through() {
    let (server, sink) = town();
    let body: Vec<u8> = (0..=250).cycle().take(3_000_000).collect();
    for method in ["PUT", "DELETE"] {
        let target = format!("/echo?{method}");
        let request = ask(method, &format!("lab{target}"))
            .field("Content-Type", "application/x-any")
            .body(body.clone());
        let answer = server.send(&request).expect(200);
        assert!(answer.body == body, "{method}: {} bytes", answer.body.len());
        assert_eq!(answer.field("Content-Type"), Some("application/x-any"));
        assert_eq!(sink.calls(&target)[0].method, method);
    }
}

#[test]
fn fields_and_statuses_pass_through() {
    let (server, sink) = town();
    sink.gives(
        "/thing",
        206,
        &[
            ("Content-Type", "text/plain"),
            ("ETag", "\"1\""),
            ("Content-Range", "bytes 0-1/9"),
            ("Age", "7"),
            ("Set-Cookie", "a=1"),
            ("Idempotent-Replayed", "true"),
        ],
        "ab",
    );
    let answer = server
        .send(&ask("GET", "lab/thing").field("Range", "bytes=0-1"))
        .expect(206);
    assert_eq!(
        (answer.field("ETag"), answer.field("Age")),
        (Some("\"1\""), Some("7"))
    );
    assert_eq!(answer.text(), "ab");
    assert!(!answer.is_replay() && answer.field("Set-Cookie").is_none());
    assert_eq!(sink.calls("/thing")[0].field("Range"), Some("bytes=0-1"));
    let answer = server.send(&ask("HEAD", "lab/thing")).expect(206);
    assert_eq!(
        (answer.field("ETag"), answer.body.len()),
        (Some("\"1\""), 0)
    );
    assert_eq!(sink.calls("/thing")[1].method, "HEAD");
    sink.gives("/same", 304, &[("ETag", "\"1\"")], "");
    let request = ask("GET", "lab/same").field("If-None-Match", "\"1\"");
    server.send(&request).expect(304);
    assert_eq!(sink.calls("/same")[0].field("If-None-Match"), Some("\"1\""));
    sink.gives(
        "/moved",
        302,
        &[("Location", "http://169.254.169.254/")],
        "",
    );
    let answer = server.send(&ask("GET", "lab/moved")).expect(302);
    assert_eq!(answer.field("Location"), Some("http://169.254.169.254/"));
    assert_eq!(server.send(&ask("GET", "lab/status/503")).status, 503);
    let options = server.send(&ask("OPTIONS", "lab/thing")).expect(206);
    assert_eq!(options.field("ETag"), Some("\"1\""));
}

#[test]
fn a_browser_asks_first_and_needs_no_token_for_that() {
    let (server, sink) = town();
    let asks = Request::new("OPTIONS", "/proxy/lab/thing")
        .field("Origin", "https://a.example")
        .field("Access-Control-Request-Method", "PATCH");
    let answer = server.send(&asks).expect(204);
    let methods = answer
        .field("Access-Control-Allow-Methods")
        .unwrap_or_default();
    assert!(methods.contains("PATCH"), "{}", answer.shown());
    server
        .send(&Request::get("/proxy/lab/thing"))
        .expect_problem(401, "unauthorized");
    assert_eq!(sink.total(), 0);
}

/// A part is there long before the next one is sent; and once nobody reads them, no more are.
#[test]
fn an_answer_streams_until_its_client_goes_away() {
    let (server, sink) = town();
    let target = "/drip/400";
    let began = Instant::now();
    let mut connection = server.connect();
    let request = ask("GET", &format!("lab{target}"));
    connection.send(&request).expect("sent");
    for n in 1..=3 {
        let part = format!("part {n}\n");
        connection.wait_for(part.as_bytes()).expect("a part");
    }
    assert!(sink.calls(target)[0].ended.is_none(), "the origin goes on");
    assert!(began.elapsed() >= Duration::from_millis(800), "one by one");
    drop(connection);
    eventually(|| {
        let calls = sink.calls(target);
        check(calls[0].hung_up, || "still under way".into())
    });
}

#[test]
fn an_origin_without_an_answer_is_left_and_so_is_one_that_nobody_waits_for() {
    let (server, sink) = town();
    let late = server.send(&ask("GET", "lab/seq/hold"));
    late.expect_problem(504, "origin_unknown");
    eventually(|| {
        let calls = sink.calls("/seq/hold");
        check(calls[0].hung_up, || "still under way".into())
    });
    server
        .send(&ask("GET", "lab/drop"))
        .expect_problem(502, "origin_unreachable");
    assert_eq!(sink.count("/drop"), 1, "not tried again");
}
