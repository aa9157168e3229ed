//! RFC 7240: how the field is read.

use onceward::http::prefer::{Handling, Prefer, Returns};
use onceward::types::Headers;

fn read(fields: &[&str]) -> Prefer {
    let headers: Headers = fields.iter().map(|f| ("Prefer", *f)).collect();
    Prefer::read(&headers)
}

fn waits(fields: &[&str]) -> Option<u64> {
    read(fields).wait_s
}

#[test]
fn prefer_p_01_names_have_no_case_and_values_and_parameters_are_optional() {
    for field in [
        "respond-async",
        "Respond-Async",
        "RESPOND-ASYNC",
        "respond-async=",
        "respond-async=\"\"",
        "respond-async; a; b=c",
    ] {
        assert!(read(&[field]).respond_async, "{field}");
    }
    for field in [
        "wait=7",
        "WAIT=7",
        "wait=\"7\"",
        "wait = 7",
        "wait=7; why=\"because, of=it\"",
    ] {
        assert_eq!(waits(&[field]), Some(7), "{field}");
    }
}

#[test]
fn prefer_p_02_several_fields_are_one_list() {
    let one = read(&["respond-async, wait=7, return=minimal, handling=strict"]);
    let several = read(&["respond-async", "wait=7, return=minimal", "handling=strict"]);
    assert_eq!(one, several);
    assert_eq!(one.returns, Some(Returns::Minimal));
    assert_eq!(one.handling, Some(Handling::Strict));
    // What stands in quotes is no item of the list.
    assert_eq!(waits(&["foo=\"a, wait=1\", wait=2"]), Some(2));
}

#[test]
fn prefer_p_03_the_first_of_two_counts() {
    assert_eq!(waits(&["wait=1, wait=2"]), Some(1));
    assert_eq!(waits(&["wait=1", "Wait=2"]), Some(1));
    assert_eq!(waits(&["wait=1; a=b, wait=2; a=b"]), Some(1));
    // Even if it says nothing.
    assert_eq!(waits(&["wait=soon, wait=2"]), None);
}

#[test]
fn prefer_p_04_what_is_not_known_is_ignored() {
    for field in [
        "foo",
        "foo=bar",
        "depth-noroot",
        "safe",
        "=5",
        ",,",
        "\"",
        "é=1",
        "return=some",
        "handling=odd",
    ] {
        assert_eq!(read(&[field]), Prefer::default(), "{field}");
        assert_eq!(
            waits(&[field, "wait=3"]),
            if field == "\"" {
                waits(&["wait=3"])
            } else {
                Some(3)
            },
            "{field}"
        );
    }
}

#[test]
fn prefer_p_06_a_wait_is_a_whole_number_of_seconds_and_is_capped() {
    for wrong in [
        "wait",
        "wait=",
        "wait=-1",
        "wait=+1",
        "wait=1.5",
        "wait=1s",
        "wait=0x9",
        "wait=soon",
    ] {
        assert_eq!(waits(&[wrong]), None, "{wrong}");
    }
    assert_eq!(read(&["wait=0"]).wait_ms(), Some(0));
    assert_eq!(read(&["wait=25"]).wait_ms(), Some(25_000));
    assert_eq!(
        read(&["wait=99999999999999999999999"]).wait_ms(),
        Some(25_000)
    );
}

#[test]
fn prefer_p_09_of_two_that_exclude_each_other_neither_counts() {
    for fields in [
        &["return=minimal, return=representation"][..],
        &["return=representation", "return=minimal"],
        &["handling=strict, handling=lenient"],
        &["handling=lenient", "handling=strict"],
    ] {
        assert_eq!(read(fields), Prefer::default(), "{fields:?}");
    }
    // The same one twice is no contradiction.
    assert_eq!(
        read(&["return=minimal, return=minimal"]).returns,
        Some(Returns::Minimal)
    );
}

#[test]
fn prefer_p_10_what_was_applied_is_said_in_its_own_words() {
    let said = |fields: &[&str]| read(fields).granted().applied();
    assert_eq!(said(&[]), None);
    assert_eq!(said(&["foo=bar"]), None);
    let all = said(&["WAIT=\"99\"; a=b, Respond-Async; c, return=minimal, handling=lenient"]);
    let want = "respond-async, wait=25, return=minimal, handling=lenient";
    assert_eq!(all.as_deref(), Some(want));
}
