//! What the lab says about calls, answers and configurations.
#![cfg(feature = "entry")]

use super::lab_check::{accepts_all, call, check, refuses, refuses_all, step};
use onceward::function::{AfterExpiry, History, Keeps};

fn config(fields: &str) -> String {
    format!(r#"{{"steps": [], "config": {{{fields}}}}}"#)
}

fn answer(fields: &str) -> String {
    format!(r#"{{"steps": [], "answer": {{{fields}}}}}"#)
}

#[test]
fn a_call_says_where_to_and_how() {
    let to = |url: &str| {
        let url = serde_json::json!(url);
        step(&format!(r#"{{"do": "call", "name": "a", "url": {url}}}"#))
    };
    accepts_all(&[
        to("http://127.0.0.1:8080/d/100?x=1#y"),
        to("HTTPS://example.com"),
        to("http://[::1]:80/"),
        to("http://h?x=a@b"),
        call(r#""method": "GET""#),
        call(r#""body": null"#),
        call(r#""body": "text", "headers": {"Content-Type": "text/plain"}"#),
    ]);
    for (url, why) in [
        ("", "absolute URL"),
        ("/relative", "absolute URL"),
        ("ftp://h/", "absolute URL"),
        ("file:///etc/passwd", "absolute URL"),
        ("http:h", "absolute URL"),
        ("http://", "wanted a host"),
        ("http:///x", "wanted a host"),
        ("http://:80/", "wanted a host"),
        ("http://h:99999/", "port"),
        ("http://h:x/", "port"),
        ("http://[::1/", "wanted a host"),
        ("http://u:p@h/", "user name"),
        ("http://h/a b", "no spaces"),
        ("http://h/é", "non-ASCII"),
        ("http://h/\r\nx: y", "control"),
        ("http:\\\\h\\", "absolute URL"),
    ] {
        refuses(&to(url), &[("steps[0].url", why)]);
    }
    refuses_all(&[
        (
            call(r#""method": "get""#),
            "steps[0].method",
            "got \"get\", wanted one of GET",
        ),
        (
            call(r#""method": "TRACE""#),
            "steps[0].method",
            "wanted one of",
        ),
        (
            call(r#""method": "GET\r\n""#),
            "steps[0].method",
            "wanted one of",
        ),
        (
            call(r#""method": "GET", "body": 1"#),
            "steps[0].body",
            "a GET request has no body",
        ),
    ]);
}

#[test]
fn headers_are_fields() {
    let with = |fields: &str| call(&format!(r#""headers": {{{fields}}}"#));
    accepts_all(&[with(r#""x-a": "b\tc ", "authorization": "Bearer x""#)]);
    refuses_all(&[
        (
            call(r#""headers": []"#),
            "steps[0].headers",
            "wanted an object",
        ),
        (
            with(r#""x-a": 1"#),
            "steps[0].headers.x-a",
            "wanted a string",
        ),
        (
            with(r#""x-a": "b\r\nc""#),
            "steps[0].headers.x-a",
            "visible ASCII",
        ),
        (
            with(r#""x-a": "b\u0000""#),
            "steps[0].headers.x-a",
            "visible ASCII",
        ),
        (
            with(r#""x-a": "é""#),
            "steps[0].headers.x-a",
            "visible ASCII",
        ),
        (
            with(r#""": "b""#),
            "steps[0].headers[\"\"]",
            "no header name",
        ),
        (
            with(r#""x a": "b""#),
            "steps[0].headers[\"x a\"]",
            "no header name",
        ),
        (
            with(r#""x:": "b""#),
            "steps[0].headers[\"x:\"]",
            "no header name",
        ),
        (
            with(r#""x-a": "1", "X-A": "2""#),
            "steps[0].headers.X-A",
            "comes twice",
        ),
        (
            with(r#""Idempotency-Key": "k""#),
            "steps[0].headers.idempotency-key",
            "set by the runtime",
        ),
        (
            with(r#""Content-Length": "1""#),
            "steps[0].headers.content-length",
            "set by the runtime",
        ),
        (
            answer(r#""headers": {"x\n": "y"}"#),
            "answer.headers[\"x\\n\"]",
            "no header name",
        ),
        (
            answer(r#""headers": {"location": "/\n"}"#),
            "answer.headers.location",
            "visible ASCII",
        ),
    ]);
}

#[test]
fn accepted_statuses_have_a_few_forms() {
    let accept = |value: &str| call(&format!(r#""accept_status": {value}"#));
    for good in [
        "\"2xx\"",
        "\"200\"",
        "\"200,201\"",
        "\"2xx, 404\"",
        "404",
        "[200, \"5XX\"]",
    ] {
        accepts_all(&[accept(good)]);
    }
    for bad in [
        "\"\"", "\"1xx\"", "\"6xx\"", "\"2x\"", "\"2xxx\"", "\"20\"", "\"2000\"", "\"2é\"",
        "\"200,\"", "100", "600", "200.5", "-200", "null", "true", "{}", "[]", "[[200]]",
    ] {
        refuses(
            &accept(bad),
            &[("steps[0].accept_status", "wanted statuses")],
        );
    }
}

#[test]
fn retries_stay_within_bounds() {
    let retry = |fields: &str| call(&format!(r#""retry": {{{fields}}}"#));
    accepts_all(&[
        retry(""),
        retry(r#""max_attempts": 100, "initial": "0ms", "factor": 1, "max": "5s", "jitter": 1"#),
        retry(r#""factor": 1.5e0, "initial": "1h""#),
    ]);
    refuses_all(&[
        (call(r#""retry": 3"#), "steps[0].retry", "wanted an object"),
        (
            retry(r#""max_attempts": 0"#),
            "steps[0].retry.max_attempts",
            "from 1 to 100",
        ),
        (
            retry(r#""max_attempts": 101"#),
            "steps[0].retry.max_attempts",
            "from 1 to 100",
        ),
        (
            retry(r#""max_attempts": 2.5"#),
            "steps[0].retry.max_attempts",
            "got 2.5",
        ),
        (
            retry(r#""max_attempts": "3""#),
            "steps[0].retry.max_attempts",
            "got \"3\"",
        ),
        (
            retry(r#""factor": 0.5"#),
            "steps[0].retry.factor",
            "got 0.5, wanted a number from 1",
        ),
        (
            retry(r#""factor": 1e400"#),
            "steps[0].retry.factor",
            "got 1e+400",
        ),
        (
            retry(r#""jitter": 1.1"#),
            "steps[0].retry.jitter",
            "from 0 to 1",
        ),
        (
            retry(r#""jitter": -0.1"#),
            "steps[0].retry.jitter",
            "from 0 to 1",
        ),
        (
            retry(r#""initial": 100"#),
            "steps[0].retry.initial",
            "wanted a duration",
        ),
        (
            retry(r#""max": "x""#),
            "steps[0].retry.max",
            "is not a duration",
        ),
        (
            retry(r#""initial": "2s", "max": "1s""#),
            "steps[0].retry.max",
            "at least `initial`",
        ),
        (
            retry(r#""tries": 3"#),
            "steps[0].retry.tries",
            "unknown field",
        ),
    ]);
}

#[test]
fn an_answer_can_be_sent() {
    accepts_all(&[
        answer(""),
        answer(r#""status": 201, "headers": {"location": "/x"}, "body": {"a": [1]}"#),
        answer(r#""status": 599, "body_base64": "AAEC/w==""#),
        answer(r#""status": 204"#),
    ]);
    refuses_all(&[
        (
            answer(r#""status": 199"#),
            "answer.status",
            "from 200 to 599",
        ),
        (
            answer(r#""status": 600"#),
            "answer.status",
            "from 200 to 599",
        ),
        (answer(r#""status": "200""#), "answer.status", "got \"200\""),
        (
            answer(r#""status": 204, "body": 1"#),
            "answer.body",
            "204 has no body",
        ),
        (
            answer(r#""status": 304, "body_base64": """#),
            "answer.body_base64",
            "304 has no body",
        ),
        (
            answer(r#""body": 1, "body_base64": "AA==""#),
            "answer.body_base64",
            "has one body",
        ),
        (
            answer(r#""body_base64": "A""#),
            "answer.body_base64",
            "is not base64",
        ),
        (
            answer(r#""body_base64": "_-==""#),
            "answer.body_base64",
            "is not base64",
        ),
        (
            answer(r#""body_base64": 7"#),
            "answer.body_base64",
            "wanted a string",
        ),
        (answer(r#""boddy": 7"#), "answer.boddy", "unknown field"),
    ]);
}

#[test]
fn a_config_is_checked_as_a_policy_is() {
    refuses_all(&[
        (
            config(r#""lease": "1s""#),
            "config.lease",
            "at least respond_within + slice_cut",
        ),
        (config(r#""lease": 1"#), "config.lease", "wanted a duration"),
        (
            config(r#""respond_within": "6s""#),
            "config.respond_within",
            "got 6000",
        ),
        (
            config(r#""slice_cut": "31s""#),
            "config.slice_cut",
            "got 31000",
        ),
        (
            config(r#""slice_cut": "2s", "slice_budget": "3s""#),
            "config.slice_budget",
            "got 3000",
        ),
        (
            config(r#""max_attempts": 0"#),
            "config.max_attempts",
            "wanted 1 to 100",
        ),
        (
            config(r#""max_attempts": 101"#),
            "config.max_attempts",
            "wanted 1 to 100",
        ),
        (
            config(r#""max_attempts": 1.5"#),
            "config.max_attempts",
            "got 1.5",
        ),
        (
            config(r#""steps_per_slice": 0"#),
            "config.steps_per_slice",
            "wanted 1",
        ),
        (
            config(r#""history": "some""#),
            "config.history",
            "full, failed_only or none",
        ),
        (config(r#""history": null"#), "config.history", "got null"),
        (
            config(r#""retention": "7d""#),
            "config.retention",
            "wanted an object",
        ),
        (
            config(r#""retention": {"failed": "0s"}"#),
            "config.retention.failed",
            "got 0",
        ),
        (
            config(r#""retention": {"succeeded": 1}"#),
            "config.retention.succeeded",
            "duration",
        ),
        (
            config(r#""retention": {"gone": "0s"}"#),
            "config.retention.gone",
            "got 0",
        ),
        (
            config(r#""keeps": "some""#),
            "config.keeps",
            "all, below_500 or success",
        ),
        (
            config(r#""retention": {"forever": 1}"#),
            "config.retention.forever",
            "unknown field",
        ),
        (
            config(r#""leese": "1m""#),
            "config.leese",
            "known here: respond_within",
        ),
    ]);
}

#[test]
fn a_config_becomes_the_policy_of_the_task() {
    let policy = |program: String| check(program).expect("a good program").policy;
    assert_eq!(policy(step(r#"{"do": "panic"}"#)), None);
    let given = policy(config(
        r#""respond_within": "2s", "slice_budget": "5s", "slice_cut": "6s", "lease": "12s", "max_attempts": 5,
           "steps_per_slice": 3, "retention": {"succeeded": "7d", "failed": "30d"}, "history": "full""#,
    ))
    .expect("a policy");
    assert_eq!(given.respond_within_ms, 2_000);
    assert_eq!(given.slice_budget_ms, 5_000);
    assert_eq!(given.slice_cut_ms, 6_000);
    assert_eq!(given.lease_ms, 12_000);
    assert_eq!((given.max_attempts, given.steps_per_slice), (5, 3));
    assert_eq!(given.retention_succeeded_ms, 7 * 24 * 3_600_000);
    assert_eq!(given.retention_failed_ms, 30 * 24 * 3_600_000);
    assert_eq!(given.history, History::Full);
    assert_eq!(given.keeps, Keeps::All);
    assert_eq!(given.after_expiry, AfterExpiry::New);
    for (word, want) in [
        ("all", Keeps::All),
        ("below_500", Keeps::Below500),
        ("success", Keeps::Success),
    ] {
        let own = format!(r#""keeps": "{word}", "retention": {{"gone": "1h"}}"#);
        let given = policy(config(&own)).expect("a policy");
        assert_eq!(given.keeps, want);
        let tombstone_ms = 3_600_000;
        assert_eq!(given.after_expiry, AfterExpiry::Gone { tombstone_ms });
    }
    // The budget follows a cut that is given alone.
    let budget = |cut: &str| {
        let program = config(&format!(r#""slice_cut": "{cut}""#));
        policy(program).expect("a policy").slice_budget_ms
    };
    assert_eq!(budget("1s"), 800);
    assert_eq!(budget("10s"), 9_000);
    assert_eq!(budget("30s"), 25_000);
}
