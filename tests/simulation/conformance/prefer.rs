//! RFC 7240, `Prefer`.

use super::desk::{Desk, Reads as _, Request, call, get, hook, post};
use crate::outside::url;
use crate::support::{self, program, signal};
use serde_json::{Value, json};

fn slow(ms: u64) -> Value {
    program([support::call("slow", url(&format!("/shop/{ms}/k/slow")))])
}

fn prefers(request: Request, value: &str) -> Request {
    request.field("Prefer", value)
}

#[test]
fn prefer_p_05_respond_async_is_answered_as_soon_as_the_delivery_is_stored() {
    let desk = Desk::new();
    for request in [
        call("lab", "async", &slow(6_000)),
        hook("async", &slow(6_000)),
    ] {
        let (answer, took) = desk.timed(&prefers(request.clone(), "respond-async"));
        let answer = answer.expect(202);
        assert!(took < 500, "{took}");
        assert_eq!(answer.field("preference-applied"), Some("respond-async"));
        // It is stored: its address knows it, and it ends by itself.
        let address = answer.field("location").expect("Location").to_owned();
        assert_eq!(address, format!("/v1/tasks/{}", answer.task()));
        desk.send(&get(&address).token()).expect(200);
        // A repeat that wants no wait gets none either, and no conflict.
        let again = desk.send(&prefers(request, "respond-async")).expect(202);
        assert_eq!(again.task(), answer.task());
        desk.passes(20_000);
        assert_eq!(
            desk.send(&get(&address).token()).document()["state"],
            "succeeded"
        );
    }
}

#[test]
fn prefer_p_06_wait_is_the_clients_bound_from_receipt() {
    let desk = Desk::new();
    let (answer, took) = desk.timed(&prefers(call("lab", "w1", &slow(8_000)), "wait=1"));
    let answer = answer.expect(202);
    assert!((900..2_000).contains(&took), "{took}");
    assert_eq!(answer.field("preference-applied"), Some("wait=1"));
    let (answer, took) = desk.timed(&prefers(call("lab", "w9", &slow(4_000)), "wait=9"));
    answer.expect(200);
    assert!(
        (3_900..6_000).contains(&took),
        "longer than the route waits, not as long as it may: {took}"
    );
    // What is no number is ignored.
    let (answer, took) = desk.timed(&prefers(call("lab", "wx", &slow(8_000)), "wait=soon"));
    assert_eq!(answer.expect(202).field("preference-applied"), None);
    assert!((2_000..4_000).contains(&took), "{took}");
}

#[test]
fn prefer_p_07_with_both_the_answer_is_synchronous_if_it_comes_within_the_wait() {
    let desk = Desk::new();
    let both = "respond-async, wait=3";
    let (answer, _) = desk.timed(&prefers(call("lab", "quick", &slow(1_000)), both));
    let answer = answer.expect(200);
    assert_eq!(answer.field("preference-applied"), Some("wait=3"));
    let (answer, took) = desk.timed(&prefers(call("lab", "late", &slow(8_000)), both));
    let answer = answer.expect(202);
    assert!((2_900..4_500).contains(&took), "{took}");
    assert_eq!(
        answer.field("preference-applied"),
        Some("respond-async, wait=3")
    );
}

/// Our choice: the first request gets 202, a repeat of a call the conflict that it would get anyway.
#[test]
fn prefer_p_08_a_wait_that_is_over_gives_202_to_the_first_and_409_to_a_repeat() {
    let desk = Desk::new();
    let request = prefers(call("lab", "over", &slow(9_000)), "wait=1");
    desk.send(&request).expect(202);
    let refused = desk.send(&request).problem(409, "task_in_progress");
    assert_eq!(refused.field("preference-applied"), Some("wait=1"));
    let webhook = prefers(hook("over", &slow(9_000)), "wait=1");
    desk.send(&webhook).expect(202);
    desk.send(&webhook).expect(202);
    // No more than 25 seconds are granted, and that is said.
    let (answer, took) = desk.timed(&prefers(call("lab", "most", &slow(28_000)), "wait=600"));
    assert_eq!(answer.field("preference-applied"), Some("wait=25"));
    assert!((24_000..28_000).contains(&took), "{took}");
}

#[test]
fn prefer_p_09_return_and_handling_are_honoured_one_value_at_a_time() {
    let desk = Desk::new();
    let waits = program([signal("approval")]);
    let body = |value: &str| {
        let key = format!("r-{}", value.len());
        desk.send(&prefers(call("lab", &key, &waits), value))
            .expect(202)
    };
    let minimal = body("respond-async, return=minimal");
    let names: Vec<String> = minimal
        .document()
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    assert_eq!(names, ["task_id", "state"]);
    assert_eq!(
        minimal.field("preference-applied"),
        Some("respond-async, return=minimal")
    );
    let whole = body("return=representation");
    assert!(whole.document()["created_at"].is_string());
    assert_eq!(
        whole.field("preference-applied"),
        Some("return=representation")
    );
    let neither = body("return=minimal, return=representation");
    assert!(neither.document()["created_at"].is_string());
    assert_eq!(neither.field("preference-applied"), None);
    // What the function answers is never cut.
    let own = prefers(call("lab", "own", &program([])), "return=minimal");
    let own = desk.send(&own).expect(200);
    assert!(own.document()["steps"].is_object());
    assert_eq!(own.field("preference-applied"), None);

    let strictly = |request: Request| desk.send(&prefers(request, "handling=strict"));
    strictly(call("lab", "bare", &program([]))).problem(400, "key_malformed");
    strictly(hook("bare", &program([]))).problem(400, "key_malformed");
    let quoted = strictly(call("lab", "\"bare\"", &program([]))).expect(200);
    assert_eq!(quoted.field("preference-applied"), Some("handling=strict"));
    let both = prefers(
        call("lab", "bare", &program([])),
        "handling=strict, handling=lenient",
    );
    assert!(desk.send(&both).expect(200).is_replay());
    // A key that stands elsewhere is as it was: there is nothing to be strict about.
    let other = post("/hooks/lab")
        .field("X-Request-ID", "other")
        .json(&program([]));
    desk.send(&prefers(other, "handling=strict")).expect(200);
}

#[test]
fn prefer_p_10_what_was_honoured_is_listed_without_parameters() {
    let desk = Desk::new();
    let request = prefers(
        call("lab", "said", &slow(8_000)),
        "wait=1; a=b, foo=bar, depth-noroot, respond-async; c",
    );
    let answer = desk.send(&request).expect(202);
    assert_eq!(
        answer.field("preference-applied"),
        Some("respond-async, wait=1")
    );
    let plain = desk.send(&prefers(call("lab", "plain", &program([])), "foo=bar"));
    assert_eq!(plain.expect(200).field("preference-applied"), None);
}

#[test]
fn prefer_p_11_a_cacheable_answer_that_depends_on_it_says_so() {
    let desk = Desk::new();
    let id = desk
        .send(&call("lab", "vary", &program([])))
        .expect(200)
        .task();
    let address = format!("/v1/tasks/{id}");
    let whole = desk.send(&get(&address).token()).expect(200);
    let minimal = desk
        .send(&prefers(get(&address).token(), "return=minimal"))
        .expect(200);
    for answer in [&whole, &minimal] {
        assert!(answer.has("vary", "Prefer"));
    }
    assert_ne!(whole.field("etag"), minimal.field("etag"));
    assert_eq!(
        minimal.document(),
        json!({"task_id": id, "state": "succeeded"})
    );
    // Everything else that depends on it is not to be stored at all.
    let accepted = prefers(
        call("lab", "stored", &program([signal("s")])),
        "respond-async",
    );
    assert_eq!(
        desk.send(&accepted).expect(202).field("cache-control"),
        Some("no-store")
    );
}
