//! Requests that are refused: by route, size, token, fingerprint; and the order of these checks.

use crate::support::{
    Mode, Request, SECRET, Server, Settings as _, Sink, TOKEN, call, fresh, github, hook, program,
    sample, shared,
};
use serde_json::json;

const LIMIT: usize = 1 << 20;

/// F23.
#[test]
fn another_body_under_the_same_key_is_refused_and_changes_nothing() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let (key, target) = (fresh("mismatch"), format!("/once?{mode:?}"));
        let first_body = program([call("once", sink.url(&target))]);
        let other_body = program([call("other", sink.url(&target))]);
        let first = mode.deliver(shared(), &key, &first_body).expect(200);
        // F06: however often it comes.
        for _ in 0..3 {
            let refused = mode.deliver(shared(), &key, &other_body);
            assert_eq!(refused.task_id(), first.task_id());
            let told = refused.expect_problem(422, "key_reused").json();
            assert_eq!(told["errors"][0]["pointer"], "/steps", "{told}");
            assert_eq!(told["errors"].as_array().map(Vec::len), Some(1), "{told}");
        }
        let again = mode.deliver(shared(), &key, &first_body).expect(200);
        assert!(again.is_replay());
        assert_eq!(again.body, first.body);
        assert_eq!(sink.count(&target), 1);
    }
}

#[test]
fn another_body_is_refused_while_the_task_runs_and_after_it_failed() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let (key, target) = (fresh("mismatch-running"), format!("/d/700?{mode:?}"));
        let body = program([call("slow", sink.url(&target))]).set("respond_within", "100ms");
        let id = mode.deliver(shared(), &key, &body).expect(202).task_id();
        let other = program([]);
        mode.deliver(shared(), &key, &other)
            .expect_problem(422, "key_reused");
        shared().wait_state(&id, "succeeded");

        let key = fresh("mismatch-failed");
        let target = format!("/status/500?{mode:?}");
        let body = program([call("broken", sink.url(&target))]).set("max_attempts", 1);
        mode.deliver(shared(), &key, &body);
        mode.deliver(shared(), &key, &other)
            .expect_problem(422, "key_reused");
        assert_eq!(sink.count(&target), 1, "it was not revived");
    }
}

/// A query is part of what the sender asked for.
#[test]
fn another_query_under_the_same_key_is_refused() {
    let key = fresh("query");
    let with = |query: &str| {
        let target = format!("/hooks/lab{query}");
        shared().send(&Request::post(&target).key(&key).json(&program([])))
    };
    with("?a=1").expect(200);
    let told = with("?a=2").expect_problem(422, "key_reused").json();
    let detail = told["detail"].as_str().expect("text");
    assert!(detail.contains("another address"), "{detail}");
    with("").expect_problem(422, "key_reused");
    assert!(with("?a=1").expect(200).is_replay());
}

/// GitHub assigns the id; a redelivery may differ in incidental fields.
#[test]
fn a_redelivery_of_github_may_differ() {
    let delivery = fresh("redelivery");
    let first = shared()
        .send(&github(&delivery, br#"{"zen":"a"}"#))
        .expect(200);
    let again = shared()
        .send(&github(&delivery, br#"{"zen":"b"}"#))
        .expect(200);
    assert!(again.is_replay());
    assert_eq!(first.body, again.body);
}

#[test]
fn unknown_addresses_are_404_and_wrong_methods_405() {
    for target in [
        "/hooks/nowhere",
        "/hooks/",
        "/v1/functions/nothing",
        "/nothing",
        "/hooks/lab/",
        "/v1/tasks/",
    ] {
        let answer = shared().send(
            &Request::post(target)
                .bearer(TOKEN)
                .key("k")
                .json(&program([])),
        );
        assert_eq!(answer.status, 404, "{target} {}", answer.shown());
        answer.expect_problem(404, "not_found");
    }
    let unknown = format!("/v1/tasks/{}", uuid::Uuid::new_v4());
    shared()
        .send(&Request::get(&unknown).bearer(TOKEN))
        .expect_problem(404, "task_not_found");
    for (method, target, allowed) in [
        ("GET", "/hooks/lab", "POST"),
        ("PUT", "/hooks/github", "POST"),
        ("DELETE", "/v1/functions/lab", "POST"),
        ("PATCH", "/v1/tasks", "GET"),
        ("POST", unknown.as_str(), "DELETE"),
        ("POST", "/healthz", "GET"),
    ] {
        let answer = shared().send(&Request::new(method, target).bearer(TOKEN));
        let answer = answer.expect_problem(405, "method_not_allowed");
        let allow = answer.field("Allow").unwrap_or_default();
        assert!(
            allow.split(", ").any(|m| m == allowed),
            "{method} {target}: {allow}"
        );
    }
}

#[test]
fn a_body_above_the_limit_is_413_and_reserves_no_key() {
    for size in [LIMIT + 1, 1_992_294, 2_202_009, 10 << 20] {
        let key = fresh("too-large");
        for request in [
            Request::post("/hooks/inbox"),
            Request::post("/v1/functions/echo").bearer(TOKEN),
        ] {
            let large = request.clone().key(&key).body(vec![b'x'; size]);
            shared().send(&large).expect_problem(413, "body_too_large");
            let answer = shared().send(&request.key(&key).body("small")).expect(200);
            assert!(!answer.is_replay(), "{size}: {}", answer.shown());
        }
    }
}

/// Route, then size, then signature or token, then the key, then the fingerprint.
#[test]
fn checks_come_in_the_order_of_the_contract() {
    let large = vec![b'x'; LIMIT + 1];
    let send = |request: Request| shared().send(&request);
    send(Request::post("/hooks/nowhere").body(large.clone())).expect(404);
    send(Request::new("PUT", "/hooks/github").body(large.clone())).expect(405);
    send(Request::post("/hooks/github").body(large.clone())).expect(413);
    send(Request::post("/v1/functions/lab").body(large)).expect(413);
    // Neither signature nor key: the signature is asked for first.
    send(Request::post("/hooks/github").body("{}")).expect_problem(401, "unauthorized");
    send(Request::post("/v1/functions/lab").body("{}")).expect_problem(401, "unauthorized");
    let unkeyed = Request::post("/hooks/github")
        .field(
            "X-Hub-Signature-256",
            crate::support::github_signature(SECRET, b"{}"),
        )
        .body("{}");
    send(unkeyed).expect_problem(400, "key_missing");
    // A malformed key comes before an input that cannot be read, and that before nothing at all.
    send(Request::post("/hooks/lab").key("a b").body("{")).expect_problem(400, "key_malformed");
    let key = fresh("order");
    hook(shared(), &key, &program([])).expect(200);
    let answer = hook(
        shared(),
        &key,
        &program([]).answer(json!({ "status": 201 })),
    );
    answer.expect_problem(422, "key_reused");
}

/// F47 and what it stands for: strangers can't block a key.
#[test]
fn a_refused_delivery_reserves_no_key() {
    let (delivery, body) = (fresh("stranger"), sample("github/push.json"));
    let refused = Request::post("/hooks/github")
        .field("X-GitHub-Delivery", &delivery)
        .body(br#"{"forged":true}"#.to_vec());
    shared().send(&refused).expect_problem(401, "unauthorized");
    let answer = shared().send(&github(&delivery, &body)).expect(200);
    assert!(!answer.is_replay(), "{}", answer.shown());

    let key = fresh("stranger");
    let request = Request::post("/v1/functions/lab")
        .key(&key)
        .json(&program([]));
    shared().send(&request).expect_problem(401, "unauthorized");
    assert!(
        !Mode::Call
            .deliver(shared(), &key, &program([]))
            .expect(200)
            .is_replay()
    );
}

/// An unset secret closes the source and the API; it does not open them.
#[test]
fn without_secrets_everything_is_closed() {
    let server = Server::with_vars(json!({ "ONCEWARD_TOKEN": "", "GITHUB_WEBHOOK_SECRET": "" }));
    let unsigned = Request::post("/hooks/github")
        .field("X-GitHub-Delivery", "d")
        .body("{}");
    let empty_key = crate::support::github_signature("", b"{}");
    let signed_with_nothing = unsigned.clone().field("X-Hub-Signature-256", empty_key);
    for request in [unsigned, signed_with_nothing] {
        let answer = server.send(&request).expect_problem(500, "misconfigured");
        assert!(answer.field("Retry-After").is_some(), "{}", answer.shown());
    }
    for token in ["", "undefined", "null", TOKEN] {
        let answer = server.send(&Request::get("/v1/tasks").bearer(token));
        assert_eq!(answer.status, 401, "{token:?}: {}", answer.shown());
    }
    server.send(&Request::get("/v1/tasks")).expect(401);
    // What needs no secret goes on.
    server
        .send(&Request::post("/hooks/inbox").key("k").body("x"))
        .expect(200);
}
