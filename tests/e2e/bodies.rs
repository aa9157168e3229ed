//! Bodies of every kind and size: byte-equal wherever they come out again.

use crate::support::{
    Request, Settings as _, Sink, TOKEN, call, fresh, hook, program, sample, shared,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

const KIB: usize = 1 << 10;
/// Of a body, an outcome and an answer.
const LIMIT: usize = 1 << 20;

fn echo(key: &str, content_type: &str, body: &[u8]) -> Request {
    Request::post("/v1/functions/echo")
        .bearer(TOKEN)
        .key(key)
        .field("Content-Type", content_type)
        .body(body)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Through a function and back, first and as a replay; and the hash that a function saw.
fn goes_through(name: &str, content_type: &str, body: &[u8]) {
    let key = fresh(name);
    for replay in [false, true] {
        let answer = shared().send(&echo(&key, content_type, body)).expect(200);
        assert_eq!(answer.is_replay(), replay, "{name}: {}", answer.shown());
        assert!(
            answer.body == body,
            "{name}: {} bytes became {}",
            body.len(),
            answer.body.len()
        );
        assert_eq!(answer.field("Content-Type"), Some(content_type), "{name}");
    }
    let inbox = Request::post("/hooks/inbox")
        .key(&key)
        .field("Content-Type", content_type)
        .body(body);
    let receipt = shared().send(&inbox).expect(200).json();
    assert_eq!(
        receipt["receipt"]["sha256"],
        hex(&Sha256::digest(body)),
        "{name}"
    );
    assert_eq!(receipt["receipt"]["bytes"], body.len(), "{name}");
}

/// F57.
#[test]
fn binary_bodies_are_kept_byte_for_byte() {
    for (name, content_type) in [
        ("all_bytes.bin", "application/octet-stream"),
        ("pixel.png", "image/png"),
        ("multipart.bin", "multipart/form-data; boundary=BOUND"),
    ] {
        goes_through(name, content_type, &sample(&format!("edge/{name}")));
    }
}

/// F59: nothing but a function that wants JSON looks into a body.
#[test]
fn forms_and_xml_pass_as_they_are_under_any_content_type() {
    for (name, own) in [
        ("form.txt", "application/x-www-form-urlencoded"),
        ("note.xml", "application/xml"),
        ("entities.xml", "text/xml"),
    ] {
        let body = sample(&format!("edge/{name}"));
        for content_type in [own, "application/json", "text/plain; charset=iso-8859-1"] {
            goes_through(name, content_type, &body);
        }
    }
}

/// F67: JSON that passes through is not read and written again.
#[test]
fn json_with_large_numbers_and_odd_spacing_is_kept_byte_for_byte() {
    for name in [
        "edge/bigint.json",
        "edge/duplicate_keys.json",
        "edge/deep_120.json",
        "shopify/orders.create.json",
    ] {
        goes_through(name, "application/json", &sample(name));
    }
    goes_through(
        "spacing",
        "application/json",
        b"{\"a\": 1 ,\r\n \"b\":\t1.10, \"a\":\"\\u001B\"}\n",
    );
}

/// F67: digits survive a step, its record, the answer, the replay and a query.
#[test]
fn numbers_keep_their_digits_through_steps_and_replays() {
    let sink = Sink::start();
    let digits = r#"{"id":616581622363398142,"amt":1.10,"big":340282366920938463463374607431768211456,"e":1e2}"#;
    sink.answers("/digits", "application/json", digits);
    let text = format!(
        r#"{{"steps":[{{"do":"call","name":"a","url":"{}","method":"GET"}},{{"do":"value","name":"b","value":{digits}}}],"config":{{"steps_per_slice":1}}}}"#,
        sink.url("/digits")
    );
    let request = Request::post("/hooks/lab").key(&fresh("digits")).body(text);
    for _ in 0..2 {
        let answer = shared().send(&request);
        shared().wait_state(&answer.task_id(), "succeeded");
        let answer = shared().send(&request).expect(200).text();
        assert_eq!(answer.matches("616581622363398142").count(), 2, "{answer}");
        assert_eq!(answer.matches(r#""amt":1.10,"#).count(), 2, "{answer}");
        assert_eq!(
            answer
                .matches("340282366920938463463374607431768211456")
                .count(),
            2,
            "{answer}"
        );
    }
    assert_eq!(sink.count("/digits"), 1);
}

/// F62, bodies and final answers: 128 KiB, where other stores end, means nothing here.
#[test]
fn bodies_up_to_the_limit_are_stored_and_replayed() {
    for size in [0, 1, 127 * KIB, 129 * KIB, LIMIT - 1, LIMIT] {
        let body: Vec<u8> = (0..size)
            .map(|n| u8::try_from(n % 251).unwrap_or(0))
            .collect();
        goes_through("size", "application/octet-stream", &body);
    }
}

/// F62, outcomes of steps.
#[test]
fn outcomes_up_to_the_limit_are_recorded_and_larger_ones_fail_cleanly() {
    let sink = Sink::start();
    let room = 4 * KIB;
    for size in [127 * KIB, 129 * KIB, 512 * KIB, LIMIT - room] {
        let target = format!("/big/{size}");
        // Two slices, so that the outcome is read back from its record.
        let steps = [
            call("big", sink.url(&target)),
            call("after", sink.url("/after")),
        ];
        let body = program(steps)
            .set("steps_per_slice", 1)
            .set("respond_within", "5s")
            .answer(json!({ "body": "ok" }));
        let answer = hook(shared(), &fresh("outcome"), &body);
        shared().wait_state(&answer.task_id(), "succeeded");
        assert_eq!(sink.count(&target), 1, "{size}");
    }
    for size in [LIMIT, 1_992_294, 2_202_009, 10 << 20] {
        let target = format!("/big/{size}");
        let steps = [
            call("big", sink.url(&target)),
            call("never", sink.url("/never")),
        ];
        let answer = hook(shared(), &fresh("outcome"), &program(steps));
        let document = shared().wait_state(&answer.task_id(), "failed");
        assert!(
            document.to_string().contains("outcome_too_large"),
            "{document}"
        );
        assert_eq!(sink.count(&target), 1, "{size}");
    }
    assert_eq!(sink.count("/never"), 0);
}

/// F62, an answer that grows above the limit out of steps that don't.
#[test]
fn an_answer_above_the_limit_fails_cleanly_and_once() {
    let sink = Sink::start();
    let steps = ["a", "b"].map(|s| call(s, sink.url(&format!("/big/{}?{s}", 600 * KIB))));
    let body = program(steps);
    let key = fresh("large-answer");
    let id = hook(shared(), &key, &body).task_id();
    let document = shared().wait_state(&id, "failed");
    assert!(
        document.to_string().contains("answer_too_large"),
        "{document}"
    );
    let again = hook(shared(), &key, &body).expect(200);
    assert_eq!(again.json()["state"], "failed", "{}", again.shown());
    assert_eq!(sink.total(), 2);
}
