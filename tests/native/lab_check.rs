//! What the lab says about a program before it runs anything.
#![cfg(feature = "entry")]

use onceward::function::{Checked, Function, Input, InputProblem};

fn lab() -> Function {
    let mut all = onceward::functions::all().into_iter();
    all.find(|f| f.name() == "lab")
        .expect("the lab is built in")
}

pub(super) fn check(program: impl Into<Vec<u8>>) -> Result<Checked, Vec<InputProblem>> {
    lab().check(&Input {
        body: program.into(),
        ..Input::default()
    })
}

/// A program with one step.
pub(super) fn step(step: &str) -> String {
    format!(r#"{{"steps": [{step}]}}"#)
}

/// A program with one call that has these fields besides.
pub(super) fn call(fields: &str) -> String {
    step(&format!(
        r#"{{"do": "call", "name": "a", "url": "http://h/", {fields}}}"#
    ))
}

/// Every problem wanted as (path, part of its text), in order, and no other.
pub(super) fn refuses(program: &str, wanted: &[(&str, &str)]) {
    let Err(found) = check(program) else {
        panic!("accepted: {program}");
    };
    let paths: Vec<&str> = found.iter().map(|p| p.path.as_str()).collect();
    let wanted_paths: Vec<&str> = wanted.iter().map(|(path, _)| *path).collect();
    assert_eq!(paths, wanted_paths, "{program}\n{found:#?}");
    for (problem, (_, text)) in found.iter().zip(wanted) {
        assert!(
            problem.detail.contains(text),
            "{program}\n{problem:?}\nwanted {text:?}"
        );
    }
}

pub(super) fn refuses_all(cases: &[(String, &str, &str)]) {
    for (program, path, text) in cases {
        refuses(program, &[(path, text)]);
    }
}

pub(super) fn accepts_all(programs: &[String]) {
    for program in programs {
        if let Err(found) = check(program.as_str()) {
            panic!("refused: {program}\n{found:#?}");
        }
    }
}

#[test]
fn the_whole_must_be_a_program() {
    refuses("", &[("", "line 1 column 0")]);
    refuses("{\"steps\": [}", &[("", "line 1 column 12")]);
    refuses("{\"steps\": []} x", &[("", "trailing characters")]);
    refuses("[]", &[("", "got a list, wanted an object")]);
    refuses("null", &[("", "got null")]);
    refuses("{}", &[("steps", "is missing")]);
    refuses(
        r#"{"steps": {}}"#,
        &[("steps", "got an object, wanted a list")],
    );
    refuses(
        r#"{"step": [], "steps": []}"#,
        &[("step", "known here: steps, answer, config")],
    );
    refuses(r#"{"steps": [], "answer": 5}"#, &[("answer", "got 5")]);
    refuses(
        r#"{"steps": [], "config": []}"#,
        &[("config", "got a list")],
    );
    let broken = check(b"{\"steps\": [\"\xff\"]}".to_vec()).expect_err("no UTF-8");
    assert!(broken[0].detail.contains("unicode"), "{broken:?}");
}

#[test]
fn nesting_has_a_limit() {
    let nested = |levels: usize| {
        let value = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        step(&format!(
            r#"{{"do": "value", "name": "v", "value": {value}}}"#
        ))
    };
    accepts_all(&[nested(120), nested(124)]);
    refuses(&nested(125), &[("", "recursion limit")]);
    refuses(&nested(100_000), &[("", "recursion limit")]);
}

#[test]
fn every_step_has_a_known_kind() {
    refuses_all(&[
        (step("7"), "steps[0]", "got 7, wanted an object"),
        (step("{}"), "steps[0].do", "is missing"),
        (step(r#"{"do": 1}"#), "steps[0].do", "wanted a string"),
        (
            step(r#"{"do": "dance"}"#),
            "steps[0].do",
            "wanted one of call, value, sleep",
        ),
        (step(r#"{"do": "Call"}"#), "steps[0].do", "got \"Call\""),
    ]);
}

#[test]
fn fields_are_known_there_and_of_the_right_type() {
    refuses_all(&[
        (
            step(r#"{"do": "value", "value": 1}"#),
            "steps[0].name",
            "is missing",
        ),
        (
            step(r#"{"do": "value", "name": "v"}"#),
            "steps[0].value",
            "is missing",
        ),
        (
            step(r#"{"do": "value", "name": 5, "value": 1}"#),
            "steps[0].name",
            "wanted a string",
        ),
        (
            step(r#"{"do": "value", "name": "v", "value": 1, "vlaue": 2}"#),
            "steps[0].vlaue",
            "known here: do, name, value",
        ),
        (
            step(r#"{"do": "value", "name": "v", "value": 1, "a b.c": 2}"#),
            "steps[0][\"a b.c\"]",
            "unknown field",
        ),
        (step(r#"{"do": "wait"}"#), "steps[0].for", "is missing"),
        (
            step(r#"{"do": "wait", "for": "1s", "name": "w"}"#),
            "steps[0].name",
            "unknown field",
        ),
        (
            step(r#"{"do": "burn", "for": "61s"}"#),
            "steps[0].for",
            "at most 60000 ms",
        ),
        (step(r#"{"do": "fail"}"#), "steps[0].kind", "is missing"),
        (
            step(r#"{"do": "fail", "kind": "maybe"}"#),
            "steps[0].kind",
            "retryable or terminal",
        ),
        (
            step(r#"{"do": "fail", "kind": "terminal", "message": 1}"#),
            "steps[0].message",
            "string",
        ),
        (
            step(r#"{"do": "panic", "name": "p"}"#),
            "steps[0].name",
            "unknown field",
        ),
        (
            step(r#"{"do": "call", "url": "http://h/"}"#),
            "steps[0].name",
            "is missing",
        ),
        (
            step(r#"{"do": "call", "name": "a"}"#),
            "steps[0].url",
            "is missing",
        ),
    ]);
}

#[test]
fn names_are_short_and_different() {
    let named = |name: &str| {
        let name = serde_json::json!(name);
        step(&format!(r#"{{"do": "value", "name": {name}, "value": 1}}"#))
    };
    accepts_all(&[named("é"), named(&"n".repeat(200)), named("a/b#1")]);
    refuses_all(&[
        (named(""), "steps[0].name", "got 0 bytes, wanted 1 to 200"),
        (named(&"n".repeat(201)), "steps[0].name", "got 201 bytes"),
        (named("a\nb"), "steps[0].name", "control characters"),
        (named("a\0b"), "steps[0].name", "control characters"),
    ]);
    let value = |name: &str| format!(r#"{{"do": "value", "name": "{name}", "value": 1}}"#);
    let twice = step(&[value("a"), value("b"), value("a"), value("a")].join(","));
    refuses(
        &twice,
        &[
            ("steps[2].name", "\"a\" is already the name of steps[0]"),
            ("steps[3].name", "\"a\" is already the name of steps[0]"),
        ],
    );
    // Also beside a step that is wrong by itself, and a member given twice: the last one counts.
    let mixed = step(&[r#"{"do": "call", "name": "a"}"#.to_owned(), value("a")].join(","));
    refuses(
        &mixed,
        &[("steps[0].url", "missing"), ("steps[1].name", "already")],
    );
    accepts_all(&[step(
        r#"{"do": "value", "name": "", "name": "b", "value": 1}"#,
    )]);
}

#[test]
fn durations_carry_a_unit() {
    let wait = |text: &str| step(&format!(r#"{{"do": "wait", "for": {text}}}"#));
    accepts_all(&[
        wait("\"0s\""),
        wait("\"250ms\""),
        wait("\"PT30S\""),
        wait("\"30d\""),
    ]);
    for (text, why) in [
        ("10", "got 10, wanted a duration as a string"),
        ("\"10\"", "is not a duration"),
        ("\"\"", "is not a duration"),
        ("\"-1s\"", "is not a duration"),
        ("\"1 s\"", "is not a duration"),
        ("\"soon\"", "is not a duration"),
        ("\"4000d\"", "longer than ten years"),
        ("null", "got null"),
    ] {
        refuses(&wait(text), &[("steps[0].for", why)]);
    }
    let long = format!("\"{}s\"", "9".repeat(5_000));
    refuses(&wait(&long), &[("steps[0].for", "too long")]);
    refuses(
        &call(r#""timeout": "0ms""#),
        &[("steps[0].timeout", "at least 1ms")],
    );
    refuses(
        &call(r#""timeout": "x""#),
        &[("steps[0].timeout", "is not a duration")],
    );
}

#[test]
fn all_problems_come_at_once_and_not_too_many() {
    refuses(
        r#"{"steps": [{"do": "call", "name": "", "url": "x", "retry": {"factor": 0, "more": 1}}, 5,
            {"do": "wait", "for": "1"}], "answer": {"status": 99}, "config": {"lease": "x", "max": 1}, "z": 0}"#,
        &[
            ("steps[0].name", "got 0 bytes"),
            ("steps[0].url", "absolute"),
            ("steps[0].retry.factor", "got 0"),
            ("steps[0].retry.more", "unknown"),
            ("steps[1]", "got 5"),
            ("steps[2].for", "not a duration"),
            ("answer.status", "got 99"),
            ("config.lease", "not a duration"),
            ("config.max", "unknown"),
            ("z", "unknown"),
        ],
    );
    let many = step(&vec!["0"; 50_000].join(","));
    let found = check(many).expect_err("no steps");
    assert_eq!(found.len(), 101);
    assert!(found[100].detail.contains("49900 more"), "{:?}", found[100]);
    let long = format!(r#"{{"steps": [], "{}": 1}}"#, "k".repeat(100_000));
    let found = check(long).expect_err("an unknown field");
    assert!(
        found[0].path.len() < 100,
        "a problem does not repeat long text"
    );
}
