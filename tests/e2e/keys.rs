//! What is a key and what is none, over HTTP.

use crate::support::{Answer, Mode, Request, TOKEN, fresh, program, shared};
use std::collections::HashSet;

/// A delivery with these fields for the key, whatever their bytes.
fn with_fields(mode: Mode, fields: &[(&str, &[u8])]) -> Answer {
    let start = match mode {
        Mode::Webhook => Request::post("/hooks/lab"),
        Mode::Call => Request::post("/v1/functions/lab").bearer(TOKEN),
    };
    let request = fields
        .iter()
        .fold(start, |r, (name, value)| r.field(name, value));
    shared().send(&request.json(&program([])))
}

/// F28 in part: nothing stands in for a key that is not there.
#[test]
fn without_a_key_there_is_no_run() {
    for mode in Mode::BOTH {
        with_fields(mode, &[]).expect_problem(400, "key_missing");
        with_fields(mode, &[("X-Other", b"k")]).expect_problem(400, "key_missing");
    }
    let inbox = Request::post("/hooks/inbox")
        .field("X-GitHub-Delivery", "d")
        .body("x");
    shared().send(&inbox).expect_problem(400, "key_missing");
}

/// F30.
#[test]
fn keys_outside_the_accepted_set_are_refused_with_one_code() {
    let long = "k".repeat(256);
    let very_long = "k".repeat(10_000);
    let alike = ["a", "b"].map(|end| format!("{}{}", "k".repeat(255), end.repeat(45)));
    let bad: &[&[u8]] = &[
        b"",
        b"   ",
        b"a b",
        b"a\tb",
        b"\"\"",
        b"\"a b\"",
        b"\"a",
        b"a\"b",
        b"caf\xe9",
        b"\xff\xfe",
        "ключ".as_bytes(),
        "🔑".as_bytes(),
        "\"é\"".as_bytes(),
        long.as_bytes(),
        very_long.as_bytes(),
        alike[0].as_bytes(),
        alike[1].as_bytes(),
    ];
    for mode in Mode::BOTH {
        for value in bad {
            let answer = with_fields(mode, &[("Idempotency-Key", value)]);
            assert_eq!(
                answer.status,
                400,
                "{:?}: {}",
                String::from_utf8_lossy(value),
                answer.shown()
            );
            answer.expect_problem(400, "key_malformed");
        }
        let twice: &[(&str, &[u8])] = &[("Idempotency-Key", b"a"), ("Idempotency-Key", b"a")];
        with_fields(mode, twice).expect_problem(400, "key_malformed");
        let joined: &[(&str, &[u8])] = &[("Idempotency-Key", b"a, b")];
        with_fields(mode, joined).expect_problem(400, "key_malformed");
    }
}

/// F39, F30: whatever is accepted is one key, from the first delivery on.
#[test]
fn every_shape_of_key_is_deduplicated() {
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let shapes = [
        uuid::Uuid::new_v4().to_string(),
        format!("{unique}{unique}"),
        format!("{}{unique}", "k".repeat(255 - 32)),
        format!("{}", u64::MAX - u64::from(std::process::id())),
        format!("../../{unique}"),
        format!("%00{unique}"),
        format!("{unique}/?#[]@!$&'()*+,;="),
        format!("~{unique}!"),
    ];
    for mode in Mode::BOTH {
        let mut ids = HashSet::new();
        for key in &shapes {
            let field: &[(&str, &[u8])] = &[("Idempotency-Key", key.as_bytes())];
            let first = with_fields(mode, field).expect(200);
            assert!(!first.is_replay(), "{key}: {}", first.shown());
            let again = with_fields(mode, field).expect(200);
            assert!(again.is_replay(), "{key}: {}", again.shown());
            assert_eq!(first.task_id(), again.task_id());
            assert!(ids.insert(first.task_id()), "{key} has an id of its own");
        }
    }
}

/// F30: nothing is cut off, so keys that are alike to the last character but one differ.
#[test]
fn long_keys_that_differ_in_the_last_character_are_two_keys() {
    let unique = uuid::Uuid::new_v4().simple().to_string();
    for mode in Mode::BOTH {
        let ids = ["a", "b"].map(|end| {
            let key = format!("{unique}{}{end}", "k".repeat(222));
            let answer = with_fields(mode, &[("Idempotency-Key", key.as_bytes())]).expect(200);
            assert!(!answer.is_replay());
            answer.task_id()
        });
        assert_ne!(ids[0], ids[1]);
    }
}

#[test]
fn a_quoted_key_and_a_bare_one_are_the_same() {
    for mode in Mode::BOTH {
        let key = fresh("quoted");
        let bare = with_fields(mode, &[("Idempotency-Key", key.as_bytes())]).expect(200);
        let quoted = format!("\"{key}\"");
        let again = with_fields(mode, &[("idempotency-key", quoted.as_bytes())]).expect(200);
        assert!(again.is_replay(), "{}", again.shown());
        assert_eq!(bare.task_id(), again.task_id());
    }
}

/// A malformed key is not passed over for a good one in another field.
#[test]
fn the_first_field_that_is_there_decides() {
    let post = |fields: &[(&str, &str)]| {
        let request = fields
            .iter()
            .fold(Request::post("/hooks/inbox"), |r, (n, v)| r.field(n, v));
        shared().send(&request.body("x"))
    };
    let (key, other) = (fresh("field"), fresh("field"));
    let first = post(&[("X-Request-ID", &key)]).expect(200);
    assert!(post(&[("X-Request-ID", &key)]).expect(200).is_replay());
    let both = post(&[("Idempotency-Key", &other), ("X-Request-ID", &key)]).expect(200);
    assert_ne!(both.task_id(), first.task_id());
    post(&[("Idempotency-Key", "a b"), ("X-Request-ID", &key)])
        .expect_problem(400, "key_malformed");
}

/// F35: a header that says "retry" is no proof that there was a first delivery.
#[test]
fn a_retry_header_makes_no_duplicate() {
    for mode in Mode::BOTH {
        let key = fresh("retry-header");
        let send = |number: &str| {
            let request = mode.request(&key, &program([]));
            shared().send(
                &request
                    .field("X-Slack-Retry-Num", number)
                    .field("X-Slack-Retry-Reason", "http_timeout"),
            )
        };
        let first = send("1").expect(200);
        assert!(!first.is_replay(), "{}", first.shown());
        let second = send("2").expect(200);
        assert!(second.is_replay(), "{}", second.shown());
    }
}
