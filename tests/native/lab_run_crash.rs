//! A crash anywhere in a lab program cannot be told from the outside.
#![cfg(feature = "entry")]

use super::lab_run::{input, lab};
use onceward::testing::{Crashes, Reaction};

/// Disturbs each at every point. The outside answers after a while, `flaky` at the second try.
fn survives(programs: &[&str]) {
    for program in programs {
        let tried = Crashes::of(lab())
            .outside(|sent| {
                let flaky = sent.request.url.ends_with("flaky") && sent.nth == 1;
                Reaction::status(if flaky { 503 } else { 200 }).after_ms(20)
            })
            .script(|bench| {
                bench.signal(onceward::testing::CRASH_KEY, "go", "1", r#"{"by": "ada"}"#);
            })
            .everywhere(&input(program));
        assert!(tried.runs >= 4, "{tried:?}");
    }
}

#[test]
fn nor_waits() {
    survives(&[
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}, {"do": "sleep", "name": "s", "for": "2h"}, {"do": "call", "name": "b", "url": "http://h/"}]}"#,
        r#"{"steps": [{"do": "sleep", "name": "s", "for": "300ms"}, {"do": "sleep", "name": "t", "until": "2020-01-01T00:00:00Z"}]}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}, {"do": "signal", "name": "go"}, {"do": "call", "name": "b", "url": "http://h/"}]}"#,
        r#"{"steps": [{"do": "signal", "name": "go", "timeout": "3000d"}, {"do": "signal", "name": "never", "timeout": "1d"}]}"#,
        r#"{"steps": [{"do": "child", "name": "c", "function": "lab", "key": "c", "input": {"steps": [{"do": "call", "name": "a", "url": "http://h/"}]}},
            {"do": "call", "name": "b", "url": "http://h/"}]}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/flaky", "retry": {"initial": "10s", "max": "10s"}}]}"#,
    ]);
}

#[test]
fn nor_branches_and_turns() {
    survives(&[
        r#"{"steps": [{"do": "parallel", "name": "p", "branches": [[{"do": "call", "name": "a", "url": "http://h/1"}, {"do": "value", "name": "v", "value": 1}],
            [{"do": "call", "name": "a", "url": "http://h/2"}], [{"do": "sleep", "name": "s", "for": "5s"}]]}, {"do": "call", "name": "b", "url": "http://h/3"}]}"#,
        r#"{"steps": [{"do": "repeat", "name": "r", "times": 4, "step": {"do": "call", "name": "a", "url": "http://h/"}}], "config": {"steps_per_slice": 2}}"#,
        r#"{"steps": [{"do": "parallel", "name": "p", "branches": [[{"do": "call", "name": "a", "url": "http://h/1"}], [{"do": "fail", "kind": "terminal"}]]}]}"#,
    ]);
}

#[test]
fn nor_saves() {
    survives(&[
        r#"{"steps": [{"do": "repeat", "name": "r", "times": 3, "step": {"do": "parallel", "name": "page", "branches": [[
            {"do": "call", "name": "a", "url": "http://h/"}, {"do": "save", "cursor": 1}]]}}, {"do": "call", "name": "b", "url": "http://h/b"}]}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/"}, {"do": "save", "cursor": 1}, {"do": "call", "name": "b", "url": "http://h/"},
            {"do": "save", "cursor": 2}, {"do": "value", "name": "v", "value": 1}], "config": {"steps_per_slice": 1}}"#,
        r#"{"steps": [{"do": "parallel", "name": "p", "branches": [[{"do": "call", "name": "a", "url": "http://h/1"}, {"do": "save", "cursor": 1}],
            [{"do": "call", "name": "a", "url": "http://h/2"}]]}]}"#,
    ]);
}

#[test]
fn nor_undos() {
    survives(&[
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/a", "undo": {"url": "http://h/ua", "body": 1}},
            {"do": "call", "name": "b", "url": "http://h/b", "undo": {"url": "http://h/ub", "body": 2}}, {"do": "fail", "kind": "terminal"}]}"#,
        r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/a", "undo": {"url": "http://h/flaky"}}, {"do": "fail", "kind": "terminal"}]}"#,
    ]);
}

#[test]
fn nor_a_program_with_a_step_of_each_kind() {
    survives(&[r#"{"steps": [
        {"do": "value", "name": "v", "value": 1},
        {"do": "call", "name": "a", "url": "http://h/a", "undo": {"url": "http://h/ua", "body": 1}},
        {"do": "sleep", "name": "s", "for": "1h"},
        {"do": "signal", "name": "go"},
        {"do": "parallel", "name": "p", "branches": [[{"do": "call", "name": "b", "url": "http://h/b"}],
            [{"do": "child", "name": "c", "function": "lab", "key": "c", "input": {"steps": []}}]]},
        {"do": "repeat", "name": "r", "times": 2, "step": {"do": "call", "name": "t", "url": "http://h/t"}},
        {"do": "save", "cursor": {"at": "the end"}},
        {"do": "wait", "for": "100ms"},
        {"do": "burn", "for": "0s"}]}"#]);
}
