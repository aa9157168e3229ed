//! What lab programs save.
#![cfg(feature = "entry")]

use super::lab_run::{document, input, lab, ok, ran, run};
use onceward::protocol::State;
use onceward::testing::{Action, Bench};
use serde_json::{Value, json};

fn cursor(bench: &Bench) -> Value {
    let cursor = bench.cursor("k").expect("a cursor");
    let kept: Value = serde_json::from_str(&cursor.text).expect("JSON");
    kept.get("cursor").cloned().unwrap_or(kept)
}

fn sent_to(bench: &Bench, end: &str) -> usize {
    let requests = bench.requests();
    requests
        .iter()
        .filter(|s| s.request.url.ends_with(end))
        .count()
}

#[test]
fn the_last_save_is_kept() {
    let program = r#"{"steps": [{"do": "save", "cursor": {"page": 1}}, {"do": "value", "name": "v", "value": 1}, {"do": "save", "cursor": 1.10}]}"#;
    let bench = ran(program, ok);
    assert_eq!(cursor(&bench).to_string(), "1.10");
    assert_eq!(document(&bench)["steps"], json!({"v": 1}));
}

#[test]
fn a_save_that_was_made_is_not_made_again() {
    let steps = r#"{"do": "call", "name": "a", "url": "http://h/a"}, {"do": "save", "cursor": "first"},
        {"do": "call", "name": "b", "url": "http://h/b"}, {"do": "save", "cursor": "second"}, {"do": "call", "name": "c", "url": "http://h/c"}"#;
    let clean = ran(&format!(r#"{{"steps": [{steps}]}}"#), ok);
    let records = |bench: &Bench| {
        let actions = bench.actions();
        actions.iter().filter(|a| **a == Action::Record).count()
    };
    // It fails after the second save; the next attempts go on from there.
    let failing = format!(
        r#"{{"steps": [{steps}, {{"do": "fail", "kind": "retryable"}}], "config": {{"max_attempts": 4}}}}"#
    );
    let bench = ran(&failing, ok);
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, State::Failed { resumable: true });
    assert_eq!(task.attempts, 4, "a replay is no progress");
    assert_eq!(cursor(&bench), json!("second"));
    assert_eq!(bench.cursor("k").expect("a cursor").n, 2);
    assert_eq!(
        records(&bench),
        records(&clean) + 1,
        "the last one has no finish to go with"
    );
    for end in ["/a", "/b", "/c"] {
        assert_eq!(sent_to(&bench, end), 1, "{end}");
    }
}

#[test]
fn outcomes_behind_the_cursor_are_in_the_answer() {
    let program = r#"{"steps": [
        {"do": "value", "name": "before", "value": 0},
        {"do": "save", "cursor": 1},
        {"do": "value", "name": "between", "value": 1.10},
        {"do": "repeat", "name": "r", "times": 3, "step": {"do": "parallel", "name": "page", "branches": [[
            {"do": "call", "name": "get", "url": "http://h/get"}, {"do": "save", "cursor": "in"}, {"do": "call", "name": "put", "url": "http://h/put"}]]}},
        {"do": "parallel", "name": "p", "branches": [[{"do": "value", "name": "x", "value": 2}, {"do": "save", "cursor": 3}, {"do": "value", "name": "y", "value": 4}]]},
        {"do": "value", "name": "after", "value": 5}]}"#;
    let clean = ran(program, ok);
    let wanted = json!({"before": 0, "between": 1.10, "r": 3, "p": [{"x": 2, "y": 4}], "after": 5});
    assert_eq!(
        document(&clean)["steps"].to_string(),
        wanted.to_string().replace("1.1,", "1.10,")
    );
    // A crash anywhere leads to the same bytes.
    let records = clean.actions().len();
    for nth in 1..=records {
        for action in [Action::Record, Action::Fetch] {
            let mut bench = Bench::new(lab()).crash_after(action, nth);
            run(&mut bench, program);
            assert_eq!(bench.answer("k"), clean.answer("k"), "{action:?} {nth}");
            let (get, put) = (sent_to(&bench, "get"), sent_to(&bench, "put"));
            assert!(get + put <= 7, "{get} {put}");
        }
    }
}

#[test]
fn a_long_loop_goes_on_from_its_cursor() {
    let program = r#"{"steps": [{"do": "repeat", "name": "r", "times": 2000, "step": {"do": "parallel", "name": "page", "branches": [[
        {"do": "value", "name": "v", "value": 1}, {"do": "save", "cursor": "page"}]]}}], "config": {"steps_per_slice": 500}}"#;
    let bench = ran(program, ok);
    assert_eq!(document(&bench)["steps"], json!({"r": 2000}));
    let cursor = bench.cursor("k").expect("a cursor");
    assert_eq!(cursor.n, 2_000);
    assert!(cursor.text.len() < 200, "{}", cursor.text);
}

#[test]
fn many_saves_stay_flat() {
    let program = r#"{"steps": [{"do": "repeat", "name": "r", "times": 3000, "step": {"do": "save", "cursor": 7}}]}"#;
    let mut bench = Bench::new(lab());
    run(&mut bench, program);
    assert_eq!(document(&bench)["steps"], json!({"r": 3000}));
    assert_eq!(bench.cursor("k").expect("a cursor").n, 3_000);
    assert!(bench.journal("k").is_empty());
}

#[test]
fn saves_beside_other_branches_are_made_once() {
    let program = r#"{"steps": [
        {"do": "parallel", "name": "p", "branches": [
            [{"do": "sleep", "name": "s", "for": "1h"}, {"do": "save", "cursor": "late"}],
            [{"do": "call", "name": "b", "url": "http://h/b"}, {"do": "save", "cursor": "early"}, {"do": "save", "cursor": "then"}]]},
        {"do": "call", "name": "c", "url": "http://h/c"},
        {"do": "fail", "kind": "retryable"}], "config": {"max_attempts": 3}}"#;
    let bench = ran(program, ok);
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, State::Failed { resumable: true });
    assert_eq!(task.attempts, 3, "a replay is no progress");
    assert_eq!(cursor(&bench), json!("late"));
    assert_eq!(bench.cursor("k").expect("a cursor").n, 3);
    assert_eq!((sent_to(&bench, "b"), sent_to(&bench, "c")), (1, 1));
}

#[test]
fn a_cursor_that_is_too_large_is_named() {
    let big = "x".repeat(700_000);
    let program = format!(
        r#"{{"steps": [{{"do": "save", "cursor": 1}}, {{"do": "value", "name": "v", "value": "{big}"}},
            {{"do": "repeat", "name": "r", "times": 2, "step": {{"do": "save", "cursor": "{}"}}}}]}}"#,
        "y".repeat(300_000)
    );
    let mut bench = Bench::new(lab());
    bench.deliver("k", input(&program)).expect("a good program");
    bench.run_until_idle();
    assert_eq!(bench.task("k").expect("a task").state, State::Succeeded);
    let larger = program.replace(&"y".repeat(300_000), &"y".repeat(349_000));
    let bench = ran(&larger, ok);
    let failure = bench.task("k").and_then(|t| t.failure).expect("a failure");
    assert_eq!(failure.code, "cursor_too_large");
}
