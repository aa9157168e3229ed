//! The deployed functions, undisturbed and crashed at every point.
#![cfg(feature = "entry")]

use onceward::function::{Function, Input};
use onceward::protocol::State;
use onceward::testing::{Bench, Reaction, crash_everywhere};
use serde_json::{Value, json};

fn function(name: &str) -> Function {
    let mut all = onceward::functions::all().into_iter();
    all.find(|f| f.name() == name).expect("a deployed function")
}

fn input(headers: &[(&str, &str)], body: &[u8]) -> Input {
    Input {
        headers: headers.iter().copied().collect(),
        body: body.to_vec(),
    }
}

fn ran(name: &str, input: Input) -> Bench {
    let mut bench = Bench::new(function(name));
    bench.deliver("k", input).expect("any input is taken");
    bench.run_until_idle();
    bench
}

fn document(bench: &Bench) -> Value {
    let answer = bench.answer("k").expect("an answer");
    assert_eq!(answer.headers.get("content-type"), Some("application/json"));
    serde_json::from_slice(&answer.body).expect("JSON")
}

fn push() -> Input {
    let body = include_bytes!("../samples/github/push.json");
    let headers = [
        ("x-github-event", "push"),
        ("x-github-delivery", "d-1"),
        ("content-type", "application/json"),
    ];
    input(&headers, body)
}

#[test]
fn a_push_is_summed_up() {
    let bench = ran("github-event", push());
    let got = document(&bench);
    let task_id = bench.task("k").expect("a task").id().to_string();
    assert_eq!(got["task_id"], json!(task_id));
    assert_eq!(
        (&got["event"], &got["delivery"]),
        (&json!("push"), &json!("d-1"))
    );
    let summary = got["summary"].as_object().expect("an object");
    for name in [
        "event",
        "repository",
        "sender",
        "ref",
        "after",
        "pusher",
        "commits",
    ] {
        assert!(summary.contains_key(name), "{name} is missing: {summary:?}");
    }
}

#[test]
fn a_ping_may_come_as_a_form() {
    let headers = [
        ("x-github-event", "ping"),
        (
            "content-type",
            "application/x-www-form-urlencoded; charset=utf-8",
        ),
    ];
    let body = b"payload=%7B%22zen%22%3A%22Keep+it+logically+awesome.%22%2C%22hook_id%22%3A616581622363398142%7D";
    let got = document(&ran("github-event", input(&headers, body)));
    assert_eq!(got["delivery"], Value::Null);
    assert_eq!(
        got["summary"].to_string(),
        r#"{"event":"ping","zen":"Keep it logically awesome.","hook_id":616581622363398142}"#
    );
}

#[test]
fn an_unknown_event_is_no_problem_and_a_body_that_is_no_json_is() {
    let got = document(&ran("github-event", input(&[], b"[]")));
    assert_eq!(got["summary"], json!({"event": null}));
    let form = ("content-type", "application/x-www-form-urlencoded");
    for bad in [
        input(&[], b"<xml/>"),
        input(&[], b""),
        input(&[form], b"a=b"),
        input(&[form], b"payload=%7B"),
    ] {
        let task = ran("github-event", bad).task("k").expect("a task");
        assert_eq!(task.state, State::Failed { resumable: false });
        assert_eq!(task.failure.expect("a failure").code, "not_json");
    }
}

#[test]
fn the_inbox_gives_a_receipt() {
    let bench = ran("inbox", input(&[("content-type", "text/plain")], b"abc"));
    let receipt = json!({
        "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "bytes": 3,
        "content_type": "text/plain",
    });
    assert_eq!(document(&bench)["receipt"], receipt);
    assert_eq!(
        document(&ran("inbox", Input::default()))["receipt"]["content_type"],
        Value::Null
    );
}

#[test]
fn echo_answers_byte_for_byte() {
    let all: Vec<u8> = (0..=255).collect();
    let answer = ran("echo", input(&[("content-type", "image/png")], &all))
        .answer("k")
        .expect("an answer");
    assert_eq!((answer.status, answer.body), (200, all));
    assert_eq!(answer.headers.get("content-type"), Some("image/png"));
    let answer = ran("echo", Input::default())
        .answer("k")
        .expect("an answer");
    assert_eq!(
        answer.headers.get("content-type"),
        Some("application/octet-stream")
    );
}

#[test]
fn no_crash_can_be_told_from_the_outside() {
    for function in onceward::functions::all() {
        let name = function.name();
        if name.starts_with("lab") || name == "payment" {
            continue; // They have inputs of their own, in `lab_run` and `payment`.
        }
        let tried = crash_everywhere(&function, &push(), |_| Reaction::status(200));
        assert!(tried.runs >= 4, "{}: {tried:?}", function.name());
    }
}
