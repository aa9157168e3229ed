//! The judge itself: a right answer, and what it must not let pass.

use super::*;
use serde_json::{Value, json};

fn answer(status: u16, fields: &[(&str, &str)], body: &Value) -> Answer {
    let ours = [("Access-Control-Expose-Headers", "Location")];
    let fields = ours.iter().chain(fields);
    Answer {
        status,
        fields: fields
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect(),
        body: body.to_string().into_bytes(),
    }
}

fn problem(status: u16, code: &str) -> Answer {
    let media = [
        ("Content-Type", "application/problem+json"),
        ("WWW-Authenticate", "x"),
        ("Retry-After", "1"),
    ];
    let kind = format!("/errors/{code}");
    answer(
        status,
        &media,
        &json!({"type": kind, "title": "t", "status": status, "detail": "d", "code": code}),
    )
}

fn post(target: &str) -> Shot {
    Shot::new("test", "POST", target)
}

#[test]
fn right_answers_pass() {
    for (shot, answer) in [
        (post("/hooks/lab"), problem(400, "key_missing")),
        (post("/hooks/lab?a=1"), answer(202, &[], &json!({}))),
        (post("/hooks/none/"), problem(404, "not_found")),
        (post("/v1/functions/lab"), problem(500, "task_failed")),
        (
            Shot::new("test", "GET", "/v1/tasks"),
            problem(401, "unauthorized"),
        ),
    ] {
        assert_eq!(judge(&shot, &answer), Ok(By::Worker));
    }
    // The function's own answer may have any status.
    let own = answer(
        503,
        &[("Idempotency-Expires", "x"), ("Retry-After", "1")],
        &json!("own"),
    );
    assert_eq!(judge(&post("/v1/functions/lab"), &own), Ok(By::Worker));
}

#[test]
fn wrong_answers_do_not() {
    let hook = || post("/hooks/lab");
    let plain = |status| answer(status, &[("Content-Type", "text/plain")], &json!("x"));
    let mut without = problem(503, "unavailable");
    without.fields.retain(|(name, _)| name != "Retry-After");
    let mut other_status = problem(400, "key_missing");
    other_status.status = 422;
    for (shot, answer, why) in [
        (hook(), plain(500), "a 5xx that nobody declared"),
        (hook(), plain(404), "an error without a document"),
        (
            hook(),
            problem(500, "task_failed"),
            "a code that the route does not have",
        ),
        (
            hook(),
            problem(404, "task_not_found"),
            "another code of the same status",
        ),
        (
            hook(),
            problem(400, "no_such_code"),
            "a code without a page",
        ),
        (hook(), other_status, "two statuses"),
        (
            hook(),
            without,
            "a 503 that does not say when to come again",
        ),
        (
            post("/nowhere"),
            plain(200),
            "an address that is not served",
        ),
        (
            post("/v1/tasks"),
            problem(404, "not_found"),
            "404 in place of 405",
        ),
        (
            hook(),
            answer(200, &[("X-A", TOKEN)], &json!({})),
            "a secret in a field",
        ),
        (
            hook(),
            answer(200, &[], &json!(format!("x{SECRET}"))),
            "a secret in the body",
        ),
        (
            hook(),
            answer(200, &[], &json!("panicked at src/a.rs:1")),
            "where it broke",
        ),
    ] {
        assert!(judge(&shot, &answer).is_err(), "{why}");
    }
}

#[test]
fn only_what_is_no_request_is_for_the_server_to_answer() {
    let mut bad = problem(400, "x");
    bad.fields.clear();
    assert!(judge(&post("/hooks/lab"), &bad).is_err());
    let mut broken = post("/hooks/lab");
    broken.broken = Some("a length");
    assert_eq!(judge(&broken, &bad), Ok(By::Server));
    bad.status = 500;
    assert!(
        judge(&broken, &bad).is_err(),
        "a crash is no answer to nonsense"
    );
}
