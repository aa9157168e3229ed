//! Files that are made to do harm.

use super::read;
use proptest::prelude::*;
use std::fmt::Write as _;

const FLOW: &str = include_str!("hostile_tests.yaml");

#[test]
fn the_flow_that_is_changed_is_one() {
    read(FLOW).expect("a flow");
}

#[test]
fn large_and_growing_files_are_refused() {
    let large = "a: [".repeat(25_000);
    let mut bomb = "id: f\nnamespace: n\na: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, before) in ('b'..='z').zip('a'..) {
        let _ = writeln!(
            bomb,
            "{name}: &{name} [*{before}, *{before}, *{before}, *{before}]"
        );
    }
    let brackets = "[".repeat(60_000);
    let braces = "{".repeat(60_000);
    let questions = "? ".repeat(30_000);
    let dashes = "- ".repeat(30_000);
    let keys: Vec<String> = (0..6_000).map(|key| format!("k{key}: 1")).collect();
    let keys = keys.join("\n");
    let same = "id: 1\n".repeat(10_000);
    let open = format!("id: \"{}", "\\".repeat(60_000));
    let colons = ":".repeat(60_000);
    let lines = "\n".repeat(60_000);
    let anchors = "&a ".repeat(20_000);
    let tasks = format!(
        "id: f\nnamespace: n\ntasks:\n{}pluginDefaults:\n- type: io.kestra.plugin.core.log.Log\n  values: {{message: [{}]}}\n",
        "- {id: a, type: io.kestra.plugin.core.log.Log}\n".repeat(500),
        "a, ".repeat(5_000),
    );
    for text in [
        large, bomb, brackets, braces, questions, dashes, keys, same, open, colons, lines, anchors,
        tasks,
    ] {
        let problems = read(&text).expect_err("problems");
        assert!((1..=100).contains(&problems.len()), "{text:.40}");
    }
}

/// A piece of a flow, or something that means much in YAML or in an expression.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..FLOW.len(), 1_usize..80).prop_map(|(from, length)| {
            FLOW.chars().skip(from).take(length).collect::<String>()
        }),
        proptest::sample::select(vec![
            "{{",
            "}}",
            "{%",
            "%}",
            "[",
            "]",
            "{",
            "}",
            "&a ",
            "*a",
            "<<: ",
            "!!str ",
            "- ",
            ": ",
            "? ",
            "|\n",
            ">-\n",
            "\t",
            "\n",
            "\r\n",
            "'",
            "\"",
            "\\",
            "---\n",
            "...\n",
            "#",
            "~",
            "\u{feff}",
            "\u{0}",
            "ä",
            "🦀",
            "0x",
            "tasks:",
            "id: ",
            "type: ",
            "type: io.kestra.plugin.core.",
        ])
        .prop_map(ToOwned::to_owned),
        ".{0,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn changed_flows_are_read_or_refused(
        changes in proptest::collection::vec((0..FLOW.len(), 0_usize..40, piece()), 1..6)
    ) {
        let mut text: Vec<char> = FLOW.chars().collect();
        for (at, length, piece) in changes {
            let from = at.min(text.len());
            let to = (from + length).min(text.len());
            text.splice(from..to, piece.chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(problems) = read(&text) {
            prop_assert!(!problems.is_empty());
            let lines = u32::try_from(text.lines().count()).expect("a short file") + 1;
            for problem in problems {
                prop_assert!(problem.at.line >= 1 && problem.at.column >= 1, "{problem}");
                prop_assert!(problem.at.line <= lines + 1, "{problem}");
            }
        }
    }

    #[test]
    fn any_text_is_refused(text in "\\PC{0,200}|[-\\[\\]{}:&*!|>'\"%@`#, \\n\\ta-z0-9]{0,200}") {
        let _ = read(&text);
    }
}
