//! Sleeps, signals and children of lab programs.
#![cfg(feature = "entry")]

use super::lab_run::{document, input, lab, ok, ran, run};
use onceward::protocol::{Kind, State, WaitFor, Waiting};
use onceward::testing::{Bench, Reaction};
use onceward::types::FailureKind;
use onceward::types::time::rfc3339;
use serde_json::json;

const DAY_MS: u64 = 24 * 3_600_000;

fn failure(bench: &Bench) -> (String, FailureKind) {
    let failure = bench.task("k").and_then(|t| t.failure).expect("a failure");
    (failure.code, failure.kind)
}

fn waits_for(bench: &Bench) -> Vec<String> {
    let state = bench.task("k").expect("a task").state;
    let State::Suspended(Waiting::For(waits)) = state else {
        return Vec::new();
    };
    let name = |what: &WaitFor| match what {
        WaitFor::Sleep { .. } => "sleep",
        WaitFor::Signal { .. } => "signal",
        WaitFor::Child { .. } => "child",
        WaitFor::Retry { .. } => "retry",
    };
    let waits = waits.iter();
    waits
        .map(|w| format!("{} {}", name(&w.what), w.id))
        .collect()
}

#[test]
fn a_sleep_of_400_days_wakes_once() {
    let program = r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/a"}, {"do": "sleep", "name": "s", "for": "400d"},
        {"do": "call", "name": "b", "url": "http://h/b"}]}"#;
    let mut bench = Bench::new(lab());
    bench.deliver("k", input(program)).expect("a good program");
    bench.run_for(399 * DAY_MS);
    assert_eq!(waits_for(&bench), ["sleep s"]);
    assert_eq!(bench.requests().len(), 1);
    bench.run_until_idle();
    let [a, b] = bench.requests().try_into().expect("two requests");
    let took = b.at_ms - a.at_ms;
    assert!(
        (400 * DAY_MS..400 * DAY_MS + 1_000).contains(&took),
        "{took}"
    );
    assert_eq!(document(&bench)["steps"]["s"], json!(null));
    let sleep = &bench.journal("k")[2];
    assert_eq!((sleep.kind, sleep.id.name.as_str()), (Kind::Sleep, "s"));
}

#[test]
fn a_sleep_ends_at_its_time() {
    let now_ms = Bench::new(lab()).now_ms();
    let slept = |until: String| {
        let program = format!(
            r#"{{"steps": [{{"do": "sleep", "name": "s", "until": "{until}"}}, {{"do": "call", "name": "a", "url": "http://h/"}}]}}"#
        );
        let bench = ran(&program, ok);
        assert_eq!(document(&bench)["steps"]["s"], json!(null));
        bench.requests()[0].at_ms
    };
    let at_ms = now_ms + 90 * DAY_MS + 7;
    assert!((at_ms..at_ms + 100).contains(&slept(rfc3339(at_ms))));
    let text = rfc3339(at_ms).replace('Z', "999+00:00");
    assert!((at_ms + 1..at_ms + 100).contains(&slept(text)));
    for past in [
        "1969-07-20T20:17:40Z",
        "2026-11-01T00:00:00Z",
        "0000-01-01T00:00:00-12:00",
    ] {
        assert!(slept(past.to_owned()) < now_ms + 100, "{past}");
    }
    let never = r#"{"steps": [{"do": "sleep", "name": "s", "until": "9999-12-31T23:59:59Z"}]}"#;
    assert_eq!(
        failure(&ran(never, ok)),
        ("sleep_too_long".to_owned(), FailureKind::Terminal)
    );
    let longest = r#"{"steps": [{"do": "sleep", "name": "s", "for": "3650d"}]}"#;
    assert_eq!(document(&ran(longest, ok))["steps"], json!({"s": null}));
}

#[test]
fn a_signal_gives_its_payload_whenever_it_comes() {
    let program = r#"{"steps": [{"do": "signal", "name": "go"}, {"do": "call", "name": "a", "url": "http://h/"}, {"do": "signal", "name": "stop", "timeout": "400d"}]}"#;
    let mut bench = Bench::new(lab());
    bench.deliver("k", input(program)).expect("a good program");
    // Before anybody waits for it.
    bench.signal("k", "stop", "s1", "[1.10]");
    bench.run_until_idle();
    assert_eq!(waits_for(&bench), ["signal go"]);
    bench.signal("k", "go", "g1", r#"{"by": "ada"}"#);
    bench.signal("k", "go", "g1", r#"{"by": "ada"}"#);
    bench.run_until_idle();
    assert_eq!(bench.requests().len(), 1);
    let steps = document(&bench)["steps"].to_string();
    assert!(
        steps.starts_with(r#"{"go":{"by":"ada"},"a":{"status":200"#),
        "{steps}"
    );
    assert!(steps.ends_with(r#""stop":[1.10]}"#), "{steps}");
}

#[test]
fn a_signal_that_does_not_come_fails_for_good() {
    let program = r#"{"steps": [{"do": "signal", "name": "go", "timeout": "2d"}]}"#;
    let mut bench = Bench::new(lab());
    let began_ms = bench.now_ms();
    run(&mut bench, program);
    assert_eq!(
        failure(&bench),
        ("signal_timeout".to_owned(), FailureKind::Terminal)
    );
    assert!(bench.now_ms() - began_ms >= 2 * DAY_MS);
    // A deadline at once: whatever was there counts.
    let at_once = r#"{"steps": [{"do": "signal", "name": "go", "timeout": "0s"}]}"#;
    assert_eq!(failure(&ran(at_once, ok)).0, "signal_timeout");
    let mut bench = Bench::new(lab());
    bench.deliver("k", input(at_once)).expect("a good program");
    bench.signal("k", "go", "g1", "1");
    bench.run_until_idle();
    assert_eq!(document(&bench)["steps"], json!({"go": 1}));
}

#[test]
fn each_turn_takes_a_signal_of_its_own() {
    let program = r#"{"steps": [{"do": "repeat", "name": "r", "times": 3, "step": {"do": "signal", "name": "go"}}]}"#;
    let mut bench = Bench::new(lab());
    run(&mut bench, program);
    for n in 0..3 {
        assert!(bench.answer("k").is_none());
        bench.signal("k", "go", &format!("g{n}"), &n.to_string());
        bench.run_until_idle();
    }
    assert_eq!(document(&bench)["steps"], json!({"r": 3}));
    assert_eq!(bench.journal("k").len(), 3);
}

#[test]
fn a_child_gives_its_answer() {
    let child = |key: &str, program: &str| {
        format!(
            r#"{{"steps": [{{"do": "child", "name": "c", "function": "lab", "key": "{key}", "input": {program}}}]}}"#
        )
    };
    let inner = r#"{"steps": [{"do": "sleep", "name": "s", "for": "3d"}, {"do": "call", "name": "a", "url": "http://h/"}],
        "answer": {"status": 201, "headers": {"location": "/x"}, "body": {"n": 1.10}}}"#;
    let bench = ran(&child("c1", inner), ok);
    let text = document(&bench)["steps"].to_string();
    assert_eq!(
        text,
        r#"{"c":{"status":201,"headers":{"location":"/x","content-type":"application/json"},"body":{"n":1.10}}}"#
    );
    assert_eq!(bench.requests().len(), 1);
    assert_eq!(
        bench.task(("lab", "c1")).expect("a child").state,
        State::Succeeded
    );
    let failing = r#"{"steps": [{"do": "fail", "kind": "terminal", "message": "no"}]}"#;
    let bench = ran(&child("c2", failing), ok);
    assert_eq!(
        failure(&bench),
        ("child_failed".to_owned(), FailureKind::Terminal)
    );
    // What the child does not take, and a child that is the parent itself.
    assert_eq!(
        failure(&ran(&child("c3", "{}"), ok)).1,
        FailureKind::Terminal
    );
    let unknown = r#"{"steps": [{"do": "child", "name": "c", "function": "nobody", "key": "x", "input": null}]}"#;
    assert_eq!(failure(&ran(unknown, ok)).1, FailureKind::Terminal);
}

#[test]
fn two_parents_share_a_child_of_one_key() {
    let program = r#"{"steps": [{"do": "child", "name": "c", "function": "lab", "key": "shared",
        "input": {"steps": [{"do": "call", "name": "a", "url": "http://h/", "timeout": "10s"}]}}]}"#;
    let mut bench = Bench::new(lab()).outside(|_| Reaction::status(200).after_ms(5_000));
    bench.deliver("k", input(program)).expect("a good program");
    bench
        .deliver("other", input(program))
        .expect("a good program");
    bench.run_until_idle();
    assert_eq!(bench.requests().len(), 1);
    let steps = |key: &str| {
        let body = bench.answer(key).expect("an answer").body;
        let text: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        text["steps"].clone()
    };
    assert_eq!(steps("k"), steps("other"));
}
