//! What the lab says about steps within steps, and how much it takes.
#![cfg(feature = "entry")]

use super::lab_check::{accepts_all, check, refuses, refuses_all, step};

const VALUE: &str = r#"{"do": "value", "name": "v", "value": 1}"#;

fn parallel(branches: &str) -> String {
    format!(r#"{{"do": "parallel", "name": "p", "branches": {branches}}}"#)
}

fn repeat(times: &str, inner: &str) -> String {
    format!(r#"{{"do": "repeat", "name": "r", "times": {times}, "step": {inner}}}"#)
}

#[test]
fn branches_are_lists_of_steps() {
    accepts_all(&[
        step(&parallel("[]")),
        step(&parallel("[[], []]")),
        step(&parallel(&format!("[[{VALUE}], [{VALUE}]]"))),
        step(&parallel(&format!("[{}[]]", "[],".repeat(99)))),
        // The same name in two lists, at two levels.
        step(&format!(
            r#"{VALUE}, {{"do": "parallel", "name": "p", "branches": [[{VALUE}, {}], [{VALUE}]]}}"#,
            parallel(&format!("[[{VALUE}]]"))
        )),
    ]);
    refuses_all(&[
        (
            step(r#"{"do": "parallel", "name": "p"}"#),
            "steps[0].branches",
            "is missing",
        ),
        (
            step(r#"{"do": "parallel", "branches": []}"#),
            "steps[0].name",
            "is missing",
        ),
        (
            step(&parallel("{}")),
            "steps[0].branches",
            "got an object, wanted a list of lists",
        ),
        (
            step(&parallel(&format!("[{VALUE}]"))),
            "steps[0].branches[0]",
            "got an object, wanted a list",
        ),
        (
            step(&parallel(&format!("[{}[]]", "[],".repeat(100)))),
            "steps[0].branches",
            "got 101 branches, wanted at most 100",
        ),
    ]);
}

#[test]
fn paths_lead_to_the_inner_step() {
    let bad = r#"{"do": "call", "name": "a", "url": "x"}"#;
    let inner = parallel(&format!("[[], [{VALUE}, {bad}]]"));
    let program = step(&format!("{VALUE}, {}", repeat("2", &inner)));
    refuses(
        &program,
        &[("steps[1].step.branches[1][1].url", "absolute URL")],
    );
    refuses(
        &step(&parallel(&format!("[[{VALUE}], [{VALUE}, {VALUE}]]"))),
        &[(
            "steps[0].branches[1][1].name",
            "\"v\" is already the name of steps[0].branches[1][0]",
        )],
    );
    refuses(
        &step(&repeat("2", r#"{"do": "sleep", "for": "1s"}"#)),
        &[("steps[0].step.name", "is missing")],
    );
    refuses(
        &step(&repeat("2", r#"{"do": "dance", "name": "d"}"#)),
        &[("steps[0].step.do", "wanted one of call, value, sleep")],
    );
    refuses(
        &step(&parallel(&format!("[[{}, 5]]", repeat("1", "7")))),
        &[
            ("steps[0].branches[0][0].step", "got 7, wanted an object"),
            ("steps[0].branches[0][1]", "got 5, wanted an object"),
        ],
    );
    // A parallel and a step beside it share a list; a repeat and its own step do not.
    refuses(
        &step(&format!(
            r#"{}, {{"do": "value", "name": "p", "value": 1}}"#,
            parallel("[]")
        )),
        &[("steps[1].name", "already the name of steps[0]")],
    );
    accepts_all(&[step(&repeat(
        "2",
        r#"{"do": "value", "name": "r", "value": 1}"#,
    ))]);
}

#[test]
fn turns_are_a_whole_number_within_bounds() {
    for good in ["0", "1", "100000"] {
        accepts_all(&[step(&repeat(good, VALUE))]);
    }
    for bad in [
        "-1",
        "-0",
        "1.0",
        "1e2",
        "100001",
        "4294967296",
        "18446744073709551616",
        "1e400",
        "\"3\"",
        "null",
        "true",
        "[]",
    ] {
        refuses(
            &step(&repeat(bad, VALUE)),
            &[("steps[0].times", "wanted a whole number from 0 to 100000")],
        );
    }
    let huge = "9".repeat(10_000);
    refuses(
        &step(&repeat(&huge, VALUE)),
        &[("steps[0].times", "got 999")],
    );
    refuses_all(&[
        (
            step(&format!(
                r#"{{"do": "repeat", "name": "r", "step": {VALUE}}}"#
            )),
            "steps[0].times",
            "is missing",
        ),
        (
            step(r#"{"do": "repeat", "name": "r", "times": 1}"#),
            "steps[0].step",
            "is missing",
        ),
        (
            step(&repeat("1", &format!("[{VALUE}]"))),
            "steps[0].step",
            "got a list",
        ),
        (
            step(&format!(
                r#"{{"do": "repeat", "name": "r", "times": 1, "step": {VALUE}, "until": 1}}"#
            )),
            "steps[0].until",
            "known here: do, name, times, step",
        ),
    ]);
}

#[test]
fn all_turns_together_have_a_limit() {
    let hundred = |inner: &str| repeat("100", inner);
    accepts_all(&[
        step(&hundred(&repeat("1000", VALUE))),
        step(&repeat("100000", &parallel("[]"))),
        step(&repeat("100000", &repeat("0", VALUE))),
    ]);
    refuses_all(&[
        (
            step(&format!("{VALUE}, {}", hundred(&repeat("1000", VALUE)))),
            "steps",
            "are 100001, wanted at most 100000",
        ),
        (
            step(&hundred(&parallel(&format!(
                "[[{}], [{VALUE}]]",
                repeat("1000", VALUE)
            )))),
            "steps",
            "are 100100,",
        ),
        (
            step(&repeat("100000", &repeat("100000", &parallel("[]")))),
            "steps",
            "are 10000000000,",
        ),
    ]);
    // The product of many is beyond all numbers.
    let deep = (0..15).fold(VALUE.to_owned(), |inner, _| repeat("100000", &inner));
    refuses(&step(&deep), &[("steps", "are 18446744073709551615,")]);
}

#[test]
fn nesting_has_levels() {
    let turns = |levels: usize| (1..levels).fold(VALUE.to_owned(), |inner, _| repeat("1", &inner));
    let branches = |levels: usize| {
        (1..levels).fold(VALUE.to_owned(), |inner, _| {
            parallel(&format!("[[{inner}]]"))
        })
    };
    accepts_all(&[step(&turns(16)), step(&branches(16))]);
    let steps = ".step".repeat(16);
    refuses(
        &step(&turns(17)),
        &[(&format!("steps[0]{steps}"), "nested 16 levels deep at most")],
    );
    let lists = ".branches[0][0]".repeat(16);
    refuses(
        &step(&branches(30)),
        &[(&format!("steps[0]{lists}"), "nested 16 levels deep at most")],
    );
    for levels in [50, 500, 5_000] {
        refuses(&step(&branches(levels)), &[("", "recursion limit")]);
    }
    for levels in [130, 500, 5_000] {
        refuses(&step(&turns(levels)), &[("", "recursion limit")]);
    }
}

#[test]
fn names_of_parallels_add_up() {
    let within = |name: &str, inner: &str| {
        let name = serde_json::json!(name);
        format!(r#"{{"do": "parallel", "name": {name}, "branches": [[{inner}]]}}"#)
    };
    let nested = |name: &str, levels: usize| {
        (0..levels).fold(VALUE.to_owned(), |inner, _| within(name, &inner))
    };
    accepts_all(&[
        step(&nested(&"n".repeat(196), 5)),
        step(&nested(&"/".repeat(60), 5)),
    ]);
    let path = format!("steps[0]{}.name", ".branches[0][0]".repeat(5));
    refuses(
        &step(&nested(&"n".repeat(196), 6)),
        &[(&path, "have 1200 bytes here, wanted at most 1000")],
    );
    let path = format!("steps[0]{}.name", ".branches[0][0]".repeat(3));
    refuses(
        &step(&nested(&"%".repeat(100), 4)),
        &[(&path, "have 1216 bytes here")],
    );
}

#[test]
fn a_body_full_of_steps_is_read() {
    let steps = |one: &str| {
        let count = (1 << 20) / (one.len() + 1) - 10;
        (step(&vec![one; count].join(",")), count)
    };
    let (program, count) = steps(r#"{"do":"panic"}"#);
    assert!(count > 60_000 && check(program).is_ok());
    let (program, count) = steps(r#"{"do":"save","cursor":{}}"#);
    assert!(count > 30_000 && check(program).is_ok());
    let (program, count) = steps(VALUE);
    let found = check(program).expect_err("one name");
    assert!(found[100].detail.contains(&format!("{} more", count - 101)));
    let (program, _) = steps(r#"{"do":"parallel","name":"p","branches":[[],[0]]}"#);
    let found = check(program).expect_err("no steps");
    assert_eq!(found[0].path, "steps[0].branches[1][0]");
    assert_eq!(found.len(), 101);
    // Wide and deep at once.
    let wide = (0..12).fold("[]".to_owned(), |inner, _| {
        format!("[{}]", parallel(&format!("[{inner},{inner}]")))
    });
    assert!(wide.len() > 100_000 && check(format!(r#"{{"steps": {wide}}}"#)).is_ok());
}

#[test]
fn words_that_look_like_others_are_what_they_are() {
    refuses_all(&[
        (
            step(r#"{"do": "signal", "name": null}"#),
            "steps[0].name",
            "got null",
        ),
        (
            step(r#"{"do": "Sleep", "name": "s", "for": "1s"}"#),
            "steps[0].do",
            "got \"Sleep\"",
        ),
        (
            step(r#"{"do": "sleep ", "name": "s", "for": "1s"}"#),
            "steps[0].do",
            "got \"sleep \"",
        ),
        (
            step(r#"{"do": ["sleep"], "name": "s", "for": "1s"}"#),
            "steps[0].do",
            "got a list",
        ),
    ]);
    for name in ["no", "null", "1e3", "-", "__proto__", "steps", "0"] {
        accepts_all(&[step(&format!(r#"{{"do": "signal", "name": "{name}"}}"#))]);
    }
    // The last of two equal members counts, also for the kind.
    accepts_all(&[step(
        r#"{"do": "panic", "do": "save", "cursor": 1, "cursor": 2}"#,
    )]);
}

#[test]
fn the_programs_of_the_docs_are_good() {
    let docs = include_str!("../../docs/lab.md");
    let sent = docs.split(" -d '").skip(1);
    let bodies = sent.map(|rest| rest.split("}'").next().expect("a body"));
    let mut programs = 0;
    for body in bodies.filter(|body| body.contains("\"steps\"")) {
        let bad = body.contains("\"url\": \"x\"");
        assert_eq!(check(format!("{body}}}")).is_err(), bad, "{body}");
        programs += 1;
    }
    assert!(programs >= 7, "{programs}");
    let (_, turns) = docs.split_once("{\"do\": \"repeat\"").expect("a loop");
    let (turns, _) = turns.split_once("```").expect("its end");
    accepts_all(&[step(&format!("{{\"do\": \"repeat\"{turns}"))]);
}
