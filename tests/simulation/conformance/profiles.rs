//! Neighbouring contracts as profiles of a function.

use super::desk::{Desk, Reads as _, call, post};
use crate::outside::url;
use crate::support::{self, program, value};

fn slow(ms: u64) -> serde_json::Value {
    program([support::call("slow", url(&format!("/shop/{ms}/k/slow")))])
}

#[test]
fn profile_stripe_a_call_without_a_key_is_a_run_of_its_own() {
    let desk = Desk::new();
    let body = program([value("a", 1)]);
    let keyless = post("/v1/functions/lab-stripe").token().json(&body);
    let first = desk.send(&keyless).expect(200);
    let second = desk.send(&keyless).expect(200);
    assert_ne!(first.task(), second.task());
    assert!(!second.is_replay());
    assert_eq!(second.field("idempotency-key"), None);
    // An empty key is a fault, and no missing one.
    desk.send(&call("lab-stripe", "", &body))
        .problem(400, "key_malformed");
    let shown = super::desk::get(&format!("/v1/tasks/{}", first.task())).token();
    let key = desk.send(&shown).document()["key"]
        .as_str()
        .expect("a key")
        .to_owned();
    assert!(key.starts_with("keyless-") && key.len() > 20, "{key}");
}

#[test]
fn profile_stripe_another_request_is_400_and_a_running_one_409() {
    let desk = Desk::new();
    desk.send(&call("lab-stripe", "k", &program([])))
        .expect(200);
    let refused = desk.send(&call("lab-stripe", "k", &program([value("a", 1)])));
    refused.problem(400, "key_reused");
    assert!(
        desk.send(&call("lab-stripe", "k", &program([])))
            .expect(200)
            .is_replay()
    );
    desk.send(&call("lab-stripe", "busy", &slow(9_000)))
        .expect(202);
    desk.send(&call("lab-stripe", "busy", &slow(9_000)))
        .problem(409, "task_in_progress");
}

#[test]
fn profile_acp_keys_are_required_and_come_back_on_every_answer() {
    let desk = Desk::new();
    let keyless = post("/v1/functions/lab-acp").token().json(&program([]));
    let refused = desk.send(&keyless).problem(400, "key_missing");
    assert_eq!(refused.field("idempotency-key"), None);
    for key in ["k-1", "\"k-1\""] {
        let answer = desk.send(&call("lab-acp", key, &program([]))).expect(200);
        assert_eq!(answer.field("idempotency-key"), Some(key), "as it came");
    }
    let other = desk.send(&call("lab-acp", "k-1", &program([value("a", 1)])));
    let other = other.problem(422, "key_reused");
    assert_eq!(other.field("idempotency-key"), Some("k-1"));
    let unread = desk.send(&call("lab-acp", "k-2", &serde_json::json!({"steps": 1})));
    assert_eq!(
        unread
            .problem(400, "input_invalid")
            .field("idempotency-key"),
        Some("k-2")
    );
    desk.send(&call("lab-acp", "busy", &slow(9_000)))
        .expect(202);
    let busy = desk
        .send(&call("lab-acp", "busy", &slow(9_000)))
        .problem(409, "task_in_progress");
    assert!(busy.field("retry-after").is_some() && busy.field("idempotency-key").is_some());
    // What is no key never comes back, nor does what somebody without a token sent.
    let long = "k".repeat(256);
    for bad in [&*long, "a b", "\"open"] {
        let refused = desk
            .send(&call("lab-acp", bad, &program([])))
            .problem(400, "key_malformed");
        assert_eq!(refused.field("idempotency-key"), None);
    }
    let stranger = post("/v1/functions/lab-acp").field("Idempotency-Key", "k-1");
    assert_eq!(
        desk.send(&stranger).expect(401).field("idempotency-key"),
        None
    );
}

#[test]
fn profile_settings_can_be_changed_one_by_one() {
    let desk = Desk::new();
    let lab = |key: &str, body: &serde_json::Value| call("lab-strict", key, body);
    let body = program([]);
    let good = "\"order-7:2026-11-30\"";
    desk.send(&lab(good, &body)).expect(200);
    for bad in ["order-7:2026-11-30", "\"short\"", "\"order/7/2026/11/30\""] {
        desk.send(&lab(bad, &body)).problem(400, "key_malformed");
    }
    let missing = post("/v1/functions/lab-strict").token().json(&body);
    desk.send(&missing).problem(428, "key_missing");
    desk.send(&lab(good, &program([value("a", 1)])))
        .problem(409, "key_reused");
    let busy = "\"busy-7:2026-11-30\"";
    desk.send(&lab(busy, &slow(9_000))).expect(202);
    desk.send(&lab(busy, &slow(9_000)))
        .problem(425, "task_in_progress");
    // Lenient handling is no right to it.
    let lenient = lab("order-7:2026-11-30", &body).field("Prefer", "handling=lenient");
    desk.send(&lenient).problem(400, "key_malformed");
}

/// A program whose own answer has this status.
fn answers(status: u16) -> serde_json::Value {
    let mut body = program([]);
    body["answer"] = serde_json::json!({"status": status, "body": {"s": status}});
    body
}

/// Whether the second of two equal calls gets the answer of the first.
fn is_kept(desk: &Desk, function: &str, status: u16) -> bool {
    let request = call(
        function,
        &format!("\"kept-order-7.{status}\""),
        &answers(status),
    );
    desk.send(&request).expect(status);
    desk.send(&request).expect(status).is_replay()
}

#[test]
fn profile_stripe_keeps_every_answer() {
    let desk = Desk::new();
    assert!(
        [201, 402, 500, 503]
            .iter()
            .all(|status| is_kept(&desk, "lab-stripe", *status))
    );
}

#[test]
fn profile_acp_keeps_no_answer_of_500_and_more() {
    let desk = Desk::new();
    assert!(
        [201, 402, 404]
            .iter()
            .all(|status| is_kept(&desk, "lab-acp", *status))
    );
    assert!(
        ![500, 503]
            .iter()
            .any(|status| is_kept(&desk, "lab-acp", *status))
    );
    let kept = |answer: &onceward::types::Answer| {
        let at: jiff::Timestamp = answer
            .field("idempotency-expires")
            .expect("a time")
            .parse()
            .expect("RFC 3339");
        u64::try_from(at.as_millisecond()).expect("after 1970") - desk.world.now_ms()
    };
    let answer = desk
        .send(&call("lab-acp", "for-a-day", &program([])))
        .expect(200);
    assert!(kept(&answer) >= 24 * 3_600_000 - 5_000);
}

#[test]
fn profile_settings_say_what_is_kept_and_what_a_key_means_afterwards() {
    let desk = Desk::new();
    assert!(is_kept(&desk, "lab-strict", 201));
    assert!(
        ![402, 500]
            .iter()
            .any(|status| is_kept(&desk, "lab-strict", *status))
    );

    let hour = serde_json::json!({"succeeded": "1h", "failed": "1h"});
    let body = support::Settings::set(program([]), "retention", hour);
    let request = call("lab-strict", "\"order-7:2026-11-30\"", &body);
    desk.send(&request).expect(200);
    desk.passes(3_600_000 + 5_000);
    let refused = desk.send(&request).problem(410, "key_expired");
    let link = refused.field("link").expect("Link");
    assert!(link.contains("</policy/functions/lab-strict>"), "{link}");
    desk.passes(3_600_000 + 5_000);
    assert!(!desk.send(&request).expect(200).is_replay());
}
