//! An existing API behind a gateway: its work is done once per key, its answer replayed.

use crate::support::server::default_vars;
use crate::support::{Answer, Request, Server, Sink, TOKEN, check, eventually, fresh, sample};
use serde_json::{Value, json};
use std::time::Duration;

/// A server whose gateways lead to a sink.
pub fn town() -> (Server, Sink) {
    let sink = Sink::start();
    let mut vars = default_vars();
    vars["ONCEWARD_LAB_ORIGIN"] = sink.url("").into();
    vars["LAB_ORIGIN_KEY"] = "origin-marker-77".into();
    (Server::with_vars(vars), sink)
}

pub fn ask(method: &str, target: &str) -> Request {
    Request::new(method, &format!("/proxy/{target}")).bearer(TOKEN)
}

fn post(target: &str, key: &str) -> Request {
    ask("POST", target).key(key)
}

/// Sends it twice; the second answer must be the first one, and the origin must have been asked once.
#[track_caller]
fn replayed(server: &Server, request: &Request, status: u16) -> Answer {
    let first = server.send(request).expect(status);
    assert!(!first.is_replay(), "{}", first.shown());
    let second = server.send(request).expect(status);
    assert!(second.is_replay(), "{}", second.shown());
    assert!(first.body == second.body);
    let fields = |answer: &Answer| -> Vec<(String, String)> {
        let ours = ["idempotent-replayed", "date"];
        let kept = answer
            .fields
            .iter()
            .filter(|(n, _)| !ours.contains(&n.to_ascii_lowercase().as_str()));
        kept.cloned().collect()
    };
    assert_eq!(fields(&first), fields(&second));
    assert_eq!(first.task_id(), second.task_id());
    first
}

/// F57: whatever the bytes are, they reach the origin and come back as they are.
#[test]
fn f57_bodies_go_both_ways_byte_for_byte() {
    let (server, sink) = town();
    for (name, content_type) in [
        ("all_bytes.bin", "application/octet-stream"),
        ("pixel.png", "image/png"),
        ("multipart.bin", "multipart/form-data; boundary=x"),
        ("form.txt", "application/x-www-form-urlencoded"),
        ("note.xml", "application/xml; charset=utf-8"),
        ("duplicate_keys.json", "application/json"),
        ("bigint.json", "application/json"),
    ] {
        let body = sample(&format!("edge/{name}"));
        let target = format!("/echo?{name}");
        let request = post(&format!("lab{target}"), &fresh(name))
            .field("Content-Type", content_type)
            .field("Content-Encoding", "x-none")
            .body(body.clone());
        let answer = replayed(&server, &request, 200);
        assert!(answer.body == body, "{name}");
        assert_eq!(answer.field("Content-Type"), Some(content_type), "{name}");
        let [call] = &sink.calls(&target)[..] else {
            panic!("{name}: one call");
        };
        assert!(call.body == body, "{name}");
        assert_eq!(call.field("Content-Encoding"), Some("x-none"));
    }
}

/// F62: up to the limit everything is kept; above it nothing runs, or runs once.
#[test]
fn f62_sizes_up_to_the_limit_and_above() {
    let (server, sink) = town();
    let limit = 1 << 20;
    for bytes in [0, 127 << 10, 129 << 10, limit] {
        let body: Vec<u8> = (0..=250).cycle().take(bytes).collect();
        let target = format!("/echo?{bytes}");
        let request = post(&format!("lab{target}"), &fresh("size")).body(body.clone());
        assert!(replayed(&server, &request, 200).body == body, "{bytes}");
        assert_eq!(sink.count(&target), 1, "{bytes}");
    }
    let large = post("lab/echo?large", &fresh("size")).body(vec![b'x'; limit + 1]);
    server.send(&large).expect_problem(413, "body_too_large");
    assert_eq!(sink.count("/echo?large"), 0);
    for (gateway, bytes) in [("lab", limit + 1), ("lab-keys", 5_000_000)] {
        let target = format!("/big/{bytes}");
        let request = post(&format!("{gateway}{target}"), &fresh("size"));
        let answer = replayed(&server, &request, 502);
        answer.expect_problem(502, "origin_answer_unfit");
        assert_eq!(sink.count(&target), 1, "{gateway}");
    }
}

/// F69, F71, F114: status, fields and content type as the first time; nothing of one connection, no cookie.
#[test]
fn f69_f71_f114_the_answer_is_the_origins() {
    let (server, sink) = town();
    sink.gives(
        "/made",
        201,
        &[
            ("Content-Type", "application/problem+json"),
            ("Location", "/charges/7"),
            ("ETag", "\"7\""),
            ("X-Custom", "1"),
            ("Cache-Control", "no-store"),
            ("Set-Cookie", "a=1"),
            ("X-Odd", "\u{e9}"),
            ("X-Hop", "1"),
        ],
        "{}",
    );
    let answer = replayed(&server, &post("lab/made", &fresh("made")), 201);
    for (name, value) in [
        ("Content-Type", "application/problem+json"),
        ("Location", "/charges/7"),
        ("ETag", "\"7\""),
        ("X-Custom", "1"),
        ("Cache-Control", "no-store"),
    ] {
        assert_eq!(answer.field(name), Some(value), "{}", answer.shown());
    }
    for name in ["Set-Cookie", "X-Odd"] {
        assert_eq!(answer.field(name), None, "{}", answer.shown());
    }
    for (status, content_type) in [
        (207, "text/csv; charset=utf-8"),
        (422, "text/plain"),
        (503, "a/b"),
    ] {
        let target = format!("/other/{status}");
        sink.gives(&target, status, &[("Content-Type", content_type)], "a,b\n");
        let answer = replayed(
            &server,
            &post(&format!("lab{target}"), &fresh("other")),
            status,
        );
        assert_eq!(
            (answer.field("Content-Type"), answer.text()),
            (Some(content_type), "a,b\n".into())
        );
        assert_eq!(sink.count(&target), 1, "an answer is an answer");
    }
    for status in [204, 304] {
        sink.gives(
            &format!("/empty/{status}"),
            status,
            &[("ETag", "\"1\"")],
            "",
        );
        let request = post(&format!("lab/empty/{status}"), &fresh("empty"));
        let answer = replayed(&server, &request, status);
        assert_eq!(
            (answer.field("ETag"), answer.body.len()),
            (Some("\"1\""), 0)
        );
    }
    // A redirect is an answer, wherever it leads.
    sink.gives(
        "/moved",
        307,
        &[("Location", "http://169.254.169.254/")],
        "",
    );
    let answer = replayed(&server, &post("lab/moved", &fresh("moved")), 307);
    assert_eq!(answer.field("Location"), Some("http://169.254.169.254/"));
}

#[test]
fn what_the_origin_gets_is_what_it_is_to_get() {
    let (server, sink) = town();
    let request = post("lab/a//b/%2F?x=%20&y=..", "\"own-key\"")
        .field("X-Shop", "7")
        .field("X-Other", "8")
        .field("Cookie", "cookie-marker")
        .field("Accept-Language", "de")
        .field("Prefer", "wait=2");
    server.send(&request).expect(200);
    let [call] = &sink.calls("/a//b/%2F?x=%20&y=..")[..] else {
        panic!("not as it was sent: {:?}", sink.order());
    };
    assert_eq!(call.field("X-Shop"), Some("7"));
    assert_eq!(call.field("Accept-Language"), Some("de"));
    for name in ["Authorization", "Cookie", "X-Other", "Prefer"] {
        assert_eq!(call.field(name), None, "{name}");
    }
    assert!(
        call.field("traceparent")
            .is_some_and(|t| t.starts_with("00-"))
    );
    assert_ne!(call.key(), "\"own-key\"");
    let passed = post("lab-passed/b", "\"own-key\";a=1");
    server.send(&passed).expect(200);
    assert_eq!(sink.calls("/b")[0].key(), "\"own-key\";a=1");
    // Credentials of the origin, below its base path; and what is not there is not sent.
    server.send(&post("lab-base/x", &fresh("k"))).expect(200);
    let [call] = &sink.calls("/echo/x")[..] else {
        panic!("one call below the base");
    };
    assert_eq!(call.field("Authorization"), Some("Bearer origin-marker-77"));
    let before = sink.total();
    for method in ["POST", "GET"] {
        let request = ask(method, "lab-closed/x").key(&fresh("k"));
        server.send(&request).expect_problem(500, "misconfigured");
    }
    assert_eq!(sink.total(), before);
    let shown = server.output();
    for marker in ["origin-marker-77", "cookie-marker", "own-key", TOKEN] {
        assert!(!shown.contains(marker), "{marker} is in the log");
    }
}

/// F112: neither the address nor what is in it leads anywhere else.
#[test]
fn f112_nothing_leads_away_from_the_origin() {
    let (server, sink) = town();
    for tail in [
        "/%2e%2e/x",
        "/..%2fx",
        "/a/%2E%2E%2Fb",
        "/%252e%252e/x",
        "/..;a/x",
        "/a%5c..%5cb",
    ] {
        for method in ["POST", "GET", "DELETE"] {
            let request = ask(method, &format!("lab-base{tail}")).key(&fresh("k"));
            let answer = server.send(&request);
            assert_eq!(answer.status, 400, "{tail}: {}", answer.shown());
        }
    }
    // What the client or the engine has resolved is no longer an address of the gateway.
    let up = ask("POST", "lab-base/../../v1/tasks").key(&fresh("k"));
    let answer = server.send(&up);
    assert!(
        matches!(answer.status, 400 | 404 | 405),
        "{}",
        answer.shown()
    );
    for target in ["nowhere/x", "Lab/x", "/x", "lab%2dbase/x"] {
        let request = post(target, &fresh("k"));
        server.send(&request).expect_problem(404, "not_found");
    }
    assert_eq!(sink.total(), 0);
}

/// The rules of the contract hold as for any call.
#[test]
fn keys_tokens_and_fingerprints_are_those_of_a_call() {
    let (server, sink) = town();
    let key = fresh("k");
    let none = Request::post("/proxy/lab/a").key(&key);
    server.send(&none).expect_problem(401, "unauthorized");
    server
        .send(&ask("POST", "lab/a"))
        .expect_problem(400, "key_missing");
    server
        .send(&ask("PATCH", "lab/a"))
        .expect_problem(400, "key_missing");
    server
        .send(&post("lab/a", "\"x"))
        .expect_problem(400, "key_malformed");
    server.send(&ask("TRACE", "lab/a")).expect(405);
    server.send(&ask("PROPFIND", "lab/a")).expect(405);
    assert_eq!(sink.total(), 0);
    let first = server.send(&post("lab/a?b=1", &key).body("x")).expect(200);
    for other in [
        post("lab/a?b=1", &key).body("y"),
        post("lab/a?b=2", &key).body("x"),
        post("lab/c?b=1", &key).body("x"),
        ask("PATCH", "lab/a?b=1").key(&key).body("x"),
    ] {
        server.send(&other).expect_problem(422, "key_reused");
    }
    // Another gateway is another scope.
    let other = server
        .send(&post("lab-keys/a?b=1", &key).body("x"))
        .expect(200);
    assert_ne!(first.task_id(), other.task_id());
    assert_eq!(sink.count("/a?b=1"), 2);
    // The function behind a gateway has no address of its own.
    let direct = Request::post("/v1/functions/proxy:lab")
        .bearer(TOKEN)
        .key(&key);
    server.send(&direct).expect_problem(404, "not_found");
}

#[test]
fn a_slow_origin_is_waited_for_elsewhere_and_duplicates_join() {
    let (server, sink) = town();
    let key = fresh("slow");
    let request = post("lab/d/1300", &key);
    let answers = crate::support::at_once(&server, &[request.clone(), request.clone()]);
    assert!(answers.iter().any(|a| a.status == 202), "{answers:?}");
    let accepted = answers.iter().find(|a| a.status == 202).expect("accepted");
    assert!(
        accepted
            .field("Location")
            .is_some_and(|l| l.contains(&accepted.task_id()))
    );
    server.wait_state(&accepted.task_id(), "succeeded");
    assert!(server.send(&request).expect(200).is_replay());
    assert_eq!(sink.count("/d/1300"), 1);
    let asynchronous = post("lab/d/100", &fresh("async")).field("Prefer", "respond-async");
    server.send(&asynchronous).expect(202);
    let patient = post("lab-keys/d/1200", &fresh("wait")).field("Prefer", "wait=10");
    server.send(&patient).expect(200);
}

/// Nobody knows whether it was done: it is not done again, and everybody is told the same.
#[test]
fn without_an_answer_a_request_is_not_sent_again() {
    let (server, sink) = town();
    for target in ["/drop?a", "/seq/hold,200?b"] {
        let request = post(&format!("lab{target}"), &fresh("unknown")).field("Prefer", "wait=10");
        let answer = replayed(&server, &request, 504);
        let task = server.task(&answer.task_id());
        assert_eq!(task["state"], "failed", "{task}");
        assert_eq!(task["resumable"], false, "{task}");
        answer.expect_problem(504, "origin_unknown");
        assert_eq!(sink.count(target), 1);
    }
    // An origin that knows keys is asked again, with the same one.
    let target = "/seq/drop,hold,503,201";
    let request = post(&format!("lab-keys{target}"), &fresh("known"));
    let id = server.send(&request).task_id();
    server.wait_state(&id, "succeeded");
    let answer = server.send(&request).expect(503);
    assert!(
        answer.is_replay(),
        "the last of three tries: {}",
        answer.shown()
    );
    sink.assert_same_key(target, 3);
}

/// F79: the process dies within the call. The origin that knows keys sees the same one again and is done
/// once; the other one is not asked again.
#[test]
fn f79_a_kill_within_the_call() {
    let (mut server, sink) = town();
    let known = post("lab-keys/shop/1000/charges", &fresh("known"));
    let unsure = post("lab/seq/hold,200", &fresh("unsure"));
    for request in [&known, &unsure] {
        let request = request.clone().field("Prefer", "respond-async");
        server.send(&request).expect(202);
    }
    sink.wait_for("/shop/1000/charges", 1);
    sink.wait_for("/seq/hold,200", 1);
    server.restart();
    let answer = eventually(|| {
        let answer = server.send(&known);
        check(answer.status == 201, || answer.shown())?;
        Ok(answer)
    });
    // A slow machine may try more often, but never with another key.
    let times = sink.count("/shop/1000/charges");
    assert!(times >= 2, "{times}");
    let key = sink.assert_same_key("/shop/1000/charges", times);
    assert_eq!(
        answer.json(),
        json!({ "id": format!("id-{}", key.trim_matches('"')) })
    );
    let answer = eventually(|| {
        let answer = server.send(&unsure);
        check(answer.status == 504, || answer.shown())?;
        Ok(answer)
    });
    answer.expect_problem(504, "origin_unknown");
    assert!(server.send(&unsure).expect(504).is_replay());
    crate::support::throughout(Duration::from_millis(300), || {
        check(sink.count("/seq/hold,200") == 1, || "again".to_owned())
    });
}

/// What a request costs at the object: seven rows with the end of retention, one more where an intent is
/// recorded; a duplicate and what is passed through cost none.
#[test]
fn a_request_costs_what_the_docs_say() {
    let (server, _sink) = town();
    let rows = |request: &Request, wanted: u64| {
        let count = || -> Value {
            let counters = Request::get("/lab/counters").bearer(TOKEN);
            server.send(&counters).expect(200).json()["object_rows"].clone()
        };
        let before = count().as_u64().unwrap_or_default();
        server.send(request).expect(200);
        eventually(|| {
            let now = count().as_u64().unwrap_or_default();
            check(now == before + wanted, || format!("{before} -> {now}"))
        });
    };
    let (known, unsure) = (post("lab-keys/a", &fresh("c")), post("lab/a", &fresh("c")));
    // Until it is forgotten, which costs one more: begin, finish and acknowledged flush write the task,
    // begin and the flush an alarm, the step is one.
    rows(&known, 6);
    rows(&unsure, 7);
    rows(&known, 0);
    rows(&ask("GET", "lab/a"), 0);
}
