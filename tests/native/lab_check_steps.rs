//! What the lab says about sleeps, signals, saves, children, undos and probes.
#![cfg(feature = "entry")]

use super::lab_check::{accepts_all, call, check, refuses, refuses_all, step};

#[test]
fn a_sleep_has_a_length_or_an_end() {
    let nap = |fields: &str| step(&format!(r#"{{"do": "sleep", "name": "s"{fields}}}"#));
    accepts_all(&[
        nap(r#", "for": "0s""#),
        nap(r#", "for": "3650d""#),
        nap(r#", "for": "PT30S""#),
    ]);
    refuses_all(&[
        (nap(""), "steps[0].for", "wanted `for` or `until`"),
        (
            nap(r#", "for": "1s", "until": "2026-11-01T00:00:00Z""#),
            "steps[0].until",
            "a sleep has one of them",
        ),
        (nap(r#", "for": 30"#), "steps[0].for", "got 30"),
        (nap(r#", "for": null"#), "steps[0].for", "got null"),
        (
            nap(r#", "for": "3651d""#),
            "steps[0].for",
            "longer than ten years",
        ),
        (
            nap(r#", "for": "1s", "till": 1"#),
            "steps[0].till",
            "known here: do, name, for, until",
        ),
        (
            step(r#"{"do": "sleep", "for": "1s"}"#),
            "steps[0].name",
            "is missing",
        ),
    ]);
}

#[test]
fn a_point_in_time_is_rfc_3339_with_an_offset() {
    let until = |text: &str| {
        step(&format!(
            r#"{{"do": "sleep", "name": "s", "until": {text}}}"#
        ))
    };
    for good in [
        "2026-11-01T00:00:00Z",
        "2026-11-01t00:00:00z",
        "2026-11-01T00:00:00.5Z",
        "2026-11-01T00:00:00.123456789+01:00",
        "2026-11-01T00:00:00-23:59",
        "2026-11-01T00:00:00-00:00",
        "2028-02-29T23:59:60Z",
        "1970-01-01T00:00:00+05:00",
        "0000-01-01T00:00:00Z",
        "1066-10-14T09:00:00Z",
        "9999-12-31T23:59:59Z",
    ] {
        accepts_all(&[until(&format!("\"{good}\""))]);
    }
    let long = format!("\"2026-11-01T00:00:00.{}Z\"", "0".repeat(100));
    for bad in [
        "\"\"",
        "\"2026-11-01\"",
        "\"2026-11-01T00:00Z\"",
        "\"2026-11-01T00:00:00\"",
        "\"2026-11-01 00:00:00Z\"",
        "\"2026-11-01T00:00:00.Z\"",
        "\"2026-11-01T00:00:00,5Z\"",
        "\"2026-11-01T24:00:00Z\"",
        "\"2026-11-01T00:60:00Z\"",
        "\"2026-11-01T00:00:61Z\"",
        "\"2026-02-29T00:00:00Z\"",
        "\"2026-13-01T00:00:00Z\"",
        "\"2026-00-01T00:00:00Z\"",
        "\"2026-11-31T00:00:00Z\"",
        "\"2026-11-01T00:00:00+1:00\"",
        "\"2026-11-01T00:00:00+0100\"",
        "\"2026-11-01T00:00:00+24:00\"",
        "\"2026-11-01T00:00:00+01:00:00\"",
        "\"2026-11-01T00:00:00Z[UTC]\"",
        "\"2026-11-01T00:00:00ZZ\"",
        "\" 2026-11-01T00:00:00Z\"",
        "\"+2026-11-01T00:00:00Z\"",
        "\"-026-11-01T00:00:00Z\"",
        "\"12026-11-01T00:00:00Z\"",
        "\"2026-11-01T00:00:0\u{661}Z\"",
        "\"2026-11-01\u{e9}00:00:00Z\"",
        "\"tomorrow\"",
        "\"1793491200\"",
        "1793491200",
        "1e400",
        "null",
        "[]",
        &long,
    ] {
        refuses(&until(bad), &[("steps[0].until", "like")]);
    }
}

#[test]
fn a_signal_has_a_name_that_fits_into_an_address() {
    let named = |name: &str| {
        let name = serde_json::json!(name);
        step(&format!(r#"{{"do": "signal", "name": {name}}}"#))
    };
    accepts_all(&[
        named("approval"),
        named("a.B_c-9"),
        named("..."),
        named(&"n".repeat(100)),
        step(r#"{"do": "signal", "name": "a", "timeout": "400d"}"#),
        step(r#"{"do": "signal", "name": "a", "timeout": "0ms"}"#),
    ]);
    for bad in ["", "a/b", "a b", "a%20b", "é", "a\n", &"n".repeat(101)] {
        refuses(
            &named(bad),
            &[("steps[0].name", "wanted 1 to 100 letters, digits")],
        );
    }
    for bad in [".", ".."] {
        refuses(
            &named(bad),
            &[("steps[0].name", "cannot be part of an address")],
        );
    }
    refuses_all(&[
        (
            step(r#"{"do": "signal", "name": true}"#),
            "steps[0].name",
            "got true, wanted a string",
        ),
        (
            step(r#"{"do": "signal", "name": "a", "timeout": 5}"#),
            "steps[0].timeout",
            "got 5",
        ),
        (
            step(r#"{"do": "signal", "name": "a", "timeout": "9999d"}"#),
            "steps[0].timeout",
            "longer than ten years",
        ),
        (
            step(r#"{"do": "signal", "name": "a", "for": "1s"}"#),
            "steps[0].for",
            "known here: do, name, timeout",
        ),
    ]);
}

#[test]
fn a_save_has_a_cursor_of_any_kind() {
    for cursor in ["null", "1e400", "{}", "\"x\"", "[1, [2]]", "false"] {
        accepts_all(&[step(&format!(r#"{{"do": "save", "cursor": {cursor}}}"#))]);
    }
    refuses_all(&[
        (step(r#"{"do": "save"}"#), "steps[0].cursor", "is missing"),
        (
            step(r#"{"do": "save", "cursor": 1, "name": "c"}"#),
            "steps[0].name",
            "known here: do, cursor",
        ),
    ]);
}

#[test]
fn a_child_names_a_function_and_a_key() {
    let child = |function: &str, key: &str| {
        let (function, key) = (serde_json::json!(function), serde_json::json!(key));
        step(&format!(
            r#"{{"do": "child", "name": "c", "function": {function}, "key": {key}, "input": null}}"#
        ))
    };
    accepts_all(&[
        child("lab", "k"),
        child("9-a_b", "!~\"\\"),
        child(&"f".repeat(64), &"k".repeat(255)),
    ]);
    for bad in [
        "",
        "Lab",
        "-a",
        "_a",
        "a/b",
        "a.b",
        "é",
        "a b",
        &"f".repeat(65),
    ] {
        refuses(
            &child(bad, "k"),
            &[("steps[0].function", "wanted the name of a function")],
        );
    }
    for bad in ["", "a b", "\u{e9}", "a\tb", &"k".repeat(256)] {
        refuses(
            &child("lab", bad),
            &[("steps[0].key", "1 to 255 visible ASCII")],
        );
    }
    refuses(
        &step(r#"{"do": "child", "key": 5, "undo": {}}"#),
        &[
            ("steps[0].name", "is missing"),
            ("steps[0].function", "is missing"),
            ("steps[0].key", "got 5, wanted a string"),
            ("steps[0].input", "is missing"),
            (
                "steps[0].undo",
                "known here: do, name, function, key, input",
            ),
        ],
    );
}

#[test]
fn an_undo_is_a_request() {
    let undo = |value: &str| call(&format!(r#""undo": {value}"#));
    accepts_all(&[
        undo(r#"{"url": "http://h/u"}"#),
        undo(r#"{"url": "http://h/u", "body": null}"#),
        undo(r#"{"url": "http://h/u", "method": "DELETE", "body": [1]}"#),
        undo(r#"{"url": "http://h/u", "method": "GET"}"#),
    ]);
    refuses_all(&[
        (undo("null"), "steps[0].undo", "got null, wanted an object"),
        (undo("\"http://h/\""), "steps[0].undo", "wanted an object"),
        (undo("{}"), "steps[0].undo.url", "is missing"),
        (
            undo(r#"{"url": "/u"}"#),
            "steps[0].undo.url",
            "wanted an absolute URL",
        ),
        (
            undo(r#"{"url": "http://u:p@h/"}"#),
            "steps[0].undo.url",
            "user name",
        ),
        (
            undo(r#"{"url": "http://h/", "method": "post"}"#),
            "steps[0].undo.method",
            "wanted one of GET",
        ),
        (
            undo(r#"{"url": "http://h/", "method": "GET", "body": 1}"#),
            "steps[0].undo.body",
            "a GET request has no body",
        ),
        (
            undo(r#"{"url": "http://h/", "headers": {}}"#),
            "steps[0].undo.headers",
            "known here: method, url, body",
        ),
    ]);
    refuses(
        &step(r#"{"do": "value", "name": "v", "value": 1, "undo": {"url": "http://h/"}}"#),
        &[("steps[0].undo", "unknown field")],
    );
}

#[test]
fn an_unknown_outcome_is_retried_failed_or_probed() {
    let unknown = |value: &str| call(&format!(r#""on_unknown": {value}"#));
    accepts_all(&[
        unknown("\"retry\""),
        unknown("\"fail\""),
        unknown(r#"{"probe": {"url": "http://h/p"}}"#),
        unknown(r#"{"probe": {"url": "http://h/p", "method": "POST"}}"#),
    ]);
    for bad in [
        "null",
        "true",
        "\"Retry\"",
        "\"probe\"",
        "\"no\"",
        "[]",
        "0",
    ] {
        refuses(
            &unknown(bad),
            &[("steps[0].on_unknown", "wanted \"retry\", \"fail\" or")],
        );
    }
    refuses_all(&[
        (unknown("{}"), "steps[0].on_unknown.probe", "is missing"),
        (
            unknown(r#"{"probe": "http://h/"}"#),
            "steps[0].on_unknown.probe",
            "wanted an object",
        ),
        (
            unknown(r#"{"probe": {}}"#),
            "steps[0].on_unknown.probe.url",
            "is missing",
        ),
        (
            unknown(r#"{"probe": {"url": "ftp://h/"}}"#),
            "steps[0].on_unknown.probe.url",
            "wanted an absolute URL",
        ),
        (
            unknown(r#"{"probe": {"url": "http://h/", "body": 1}}"#),
            "steps[0].on_unknown.probe.body",
            "known here: method, url",
        ),
        (
            unknown(r#"{"probe": {"url": "http://h/"}, "retry": 1}"#),
            "steps[0].on_unknown.retry",
            "known here: probe",
        ),
    ]);
}

#[test]
fn a_timeout_may_be_longer_than_a_slice() {
    let program = r#"{"steps": [{"do": "call", "name": "a", "url": "http://h/", "timeout": "1h"}],
        "config": {"slice_budget": "1s", "slice_cut": "2s", "lease": "6s"}}"#;
    assert!(check(program).is_ok());
}
