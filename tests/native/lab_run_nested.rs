//! Parallel and repeated steps of lab programs.
#![cfg(feature = "entry")]

use super::lab_run::{document, ok, ran};
use onceward::protocol::State;
use onceward::testing::{Action, Bench, Reaction};
use serde_json::json;

fn ids(bench: &Bench) -> Vec<String> {
    let journal = bench.journal("k");
    journal.iter().map(|r| r.id.to_string()).collect()
}

#[test]
fn branches_run_beside_each_other_in_their_own_names() {
    let program = r#"{"steps": [
        {"do": "value", "name": "v", "value": 0},
        {"do": "parallel", "name": "p/q", "branches": [
            [{"do": "call", "name": "a", "url": "http://h/slow"}, {"do": "value", "name": "v", "value": 1}],
            [],
            [{"do": "call", "name": "a", "url": "http://h/fast"}, {"do": "wait", "for": "1ms"},
             {"do": "parallel", "name": "p", "branches": [[{"do": "value", "name": "v", "value": 2}]]}]
        ]},
        {"do": "value", "name": "end", "value": 3}]}"#;
    let bench = ran(program, |sent| {
        let slow = sent.request.url.ends_with("slow");
        Reaction::status(if slow { 201 } else { 202 }).after_ms(if slow { 3_000 } else { 1_000 })
    });
    let steps = &document(&bench)["steps"];
    let [first, second, third] = steps["p/q"].as_array().expect("a list").as_slice() else {
        panic!("three branches: {steps}");
    };
    assert_eq!(
        (&first["a"]["status"], &first["v"]),
        (&json!(201), &json!(1))
    );
    assert_eq!(second, &json!({}));
    assert_eq!(third["a"]["status"], json!(202));
    assert_eq!(third["p"], json!([{"v": 2}]));
    let names: Vec<&String> = steps.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["v", "p/q", "end"]);
    let [slow, fast] = bench.requests().try_into().expect("two requests");
    assert!(slow.at_ms.abs_diff(fast.at_ms) < 10);
    assert_ne!(slow.key(), fast.key());
    assert_eq!(
        ids(&bench),
        [
            "end",
            "v",
            "p%2Fq/0/a",
            "p%2Fq/0/v",
            "p%2Fq/2/a",
            "p%2Fq/2/p/0/v"
        ]
    );
    let empty = ran(
        r#"{"steps": [{"do": "parallel", "name": "p", "branches": []}, {"do": "parallel", "name": "q", "branches": [[]]}]}"#,
        ok,
    );
    assert_eq!(document(&empty)["steps"], json!({"p": [], "q": [{}]}));
}

#[test]
fn a_failing_branch_lets_the_others_end() {
    let program = |kind: &str| {
        format!(
            r#"{{"steps": [{{"do": "parallel", "name": "p", "branches": [
                [{{"do": "sleep", "name": "s", "for": "1h"}}, {{"do": "call", "name": "late", "url": "http://h/"}}],
                [{{"do": "fail", "kind": "{kind}", "message": "first"}}],
                [{{"do": "fail", "kind": "terminal", "message": "second"}}]]}}, {{"do": "panic"}}], "config": {{"max_attempts": 2}}}}"#
        )
    };
    let bench = ran(&program("terminal"), ok);
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, State::Failed { resumable: false });
    assert_eq!(task.failure.expect("a failure").message, "first");
    assert_eq!(ids(&bench), ["p/0/late", "p/0/s"]);
    assert_eq!(bench.requests().len(), 1);
    // The first in order counts, though it can be tried again and the other cannot.
    let bench = ran(&program("retryable"), ok);
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, State::Failed { resumable: true });
    assert_eq!(task.failure.expect("a failure").message, "first");
    assert_eq!(bench.requests().len(), 1);
}

#[test]
fn a_panic_in_a_branch_is_an_attempt() {
    let program = r#"{"steps": [{"do": "parallel", "name": "p", "branches": [
        [{"do": "call", "name": "a", "url": "http://h/"}], [{"do": "wait", "for": "50ms"}, {"do": "panic"}]]}], "config": {"max_attempts": 2}}"#;
    let bench = ran(program, ok);
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, State::Failed { resumable: true });
    assert_eq!(task.failure.expect("a failure").code, "panic");
    assert_eq!(bench.requests().len(), 1);
}

#[test]
fn branches_wait_for_different_things_at_once() {
    let program = r#"{"steps": [{"do": "parallel", "name": "p", "branches": [
        [{"do": "sleep", "name": "s", "for": "2h"}], [{"do": "signal", "name": "go"}], [{"do": "signal", "name": "go"}],
        [{"do": "child", "name": "c", "function": "lab", "key": "c", "input": {"steps": [{"do": "sleep", "name": "s", "for": "1h"}]}}]]}]}"#;
    let mut bench = ran(program, ok);
    bench.signal("k", "go", "1", "1");
    bench.run_until_idle();
    assert!(bench.answer("k").is_none());
    bench.signal("k", "go", "2", "2");
    bench.run_until_idle();
    let outcome = document(&bench)["steps"]["p"].clone();
    let mut got = [outcome[1]["go"].to_string(), outcome[2]["go"].to_string()];
    got.sort();
    assert_eq!(got, ["1", "2"]);
    assert_eq!(outcome[3]["c"]["status"], json!(200));
}

#[test]
fn each_turn_is_an_occurrence_of_its_step() {
    let program = r#"{"steps": [
        {"do": "repeat", "name": "r", "times": 3, "step": {"do": "call", "name": "a", "url": "http://h/"}},
        {"do": "repeat", "name": "none", "times": 0, "step": {"do": "panic"}},
        {"do": "repeat", "name": "q", "times": 2, "step": {"do": "repeat", "name": "r", "times": 2, "step":
            {"do": "parallel", "name": "p", "branches": [[{"do": "value", "name": "v", "value": 1}]]}}},
        {"do": "value", "name": "a", "value": 5}]}"#;
    let bench = ran(program, ok);
    assert_eq!(
        document(&bench)["steps"],
        json!({"r": 3, "none": 0, "q": 2, "a": 5})
    );
    assert_eq!(
        ids(&bench),
        [
            "a", "a#1", "a#2", "a#3", "p/0/v", "p/0/v#1", "p/0/v#2", "p/0/v#3"
        ]
    );
    let keys: Vec<String> = bench
        .requests()
        .iter()
        .map(|s| s.key().to_owned())
        .collect();
    assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
}

#[test]
fn five_thousand_turns_over_many_slices() {
    let program = r#"{"steps": [{"do": "repeat", "name": "r", "times": 5000, "step": {"do": "value", "name": "v", "value": 1}}],
        "config": {"steps_per_slice": 1000}}"#;
    let bench = ran(program, ok);
    assert_eq!(document(&bench)["steps"], json!({"r": 5000}));
    assert_eq!(bench.journal("k").len(), 5_000);
    let suspends = bench
        .actions()
        .iter()
        .filter(|a| **a == Action::Suspend)
        .count();
    assert!((4..=5).contains(&suspends), "{suspends}");
    // Turns that record nothing take no room either.
    let waits = r#"{"steps": [{"do": "repeat", "name": "r", "times": 10000, "step": {"do": "wait", "for": "0s"}}]}"#;
    assert_eq!(document(&ran(waits, ok))["steps"], json!({"r": 10000}));
}
