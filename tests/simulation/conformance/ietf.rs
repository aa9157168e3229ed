//! draft-ietf-httpapi-idempotency-key-header-07: keys, expiry, what a request is.

use super::desk::{Desk, Reads as _, call, get, hook, post, to};
use crate::support::{Settings as _, program, value};
use serde_json::json;

const HOUR_MS: u64 = 3_600_000;

#[test]
fn ietf_i_04_a_bare_key_and_a_quoted_one_are_one_task() {
    let desk = Desk::new();
    let body = program([value("a", 1)]);
    for request in [|key: &str, body| call("lab", key, body), hook] {
        let first = desk.send(&request("k-1", &body)).expect(200);
        let again = desk.send(&request("\"k-1\"", &body)).expect(200);
        assert!(again.is_replay());
        assert_eq!(again.task(), first.task());
        for open in ["\"k-1", "k-1\"", "k\"1"] {
            desk.send(&request(open, &body))
                .problem(400, "key_malformed");
        }
    }
}

#[test]
fn ietf_i_05_keys_have_a_length_and_an_alphabet_that_are_published() {
    let desk = Desk::new();
    let body = program([]);
    desk.send(&call("lab", &"k".repeat(255), &body)).expect(200);
    let secret = "x".repeat(256);
    for bad in ["", "\"\"", "a b", "caf\u{e9}", &secret] {
        let refused = desk
            .send(&call("lab", bad, &body))
            .problem(400, "key_malformed");
        let text = String::from_utf8_lossy(&refused.body).into_owned();
        assert!(
            !text.contains("xxxx") && !text.contains("caf\u{e9}"),
            "{text}"
        );
    }
    let policy = desk.send(&get("/.well-known/idempotency")).document();
    let routes = policy["routes"].as_array().expect("routes");
    let lab = routes.iter().find(|r| r["path"] == "/v1/functions/lab");
    assert_eq!(lab.expect("lab")["key"]["pattern"], "^[!-~]{1,255}$");
}

#[test]
fn ietf_i_10_equal_keys_of_different_scopes_are_different_tasks() {
    let desk = Desk::new();
    let body = program([]);
    let ids = [
        desk.send(&call("lab", "1", &body)).expect(200).task(),
        desk.send(&call("lab-acp", "1", &body)).expect(200).task(),
        desk.send(&hook("1", &body)).expect(200).task(),
    ];
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), 3, "{ids:?}");
}

#[test]
fn ietf_i_11_a_key_is_checked_before_anything_is_looked_up_by_it() {
    let desk = Desk::new();
    let before = desk.messages();
    for bad in ["", "a b", "\"open", "'; DROP TABLE tasks; --  x", "k\u{0}"] {
        desk.send(&call("lab", bad, &program([])))
            .problem(400, "key_malformed");
    }
    assert_eq!(desk.messages(), before, "no object heard of them");
    // What is odd but allowed is hashed into the name of an object, never used as it stands.
    let answer = desk
        .send(&call("lab", "../../%00';--", &program([])))
        .expect(200);
    assert_eq!(desk.messages() - before, 2);
    let id = uuid::Uuid::parse_str(&answer.task()).expect("a UUID");
    assert_eq!(id.get_version_num(), 5);
}

#[test]
fn ietf_i_12_after_its_time_a_key_is_new() {
    let desk = Desk::new();
    let body = program([]).set("retention", json!({"succeeded": "1h", "failed": "1h"}));
    let first = desk.send(&call("lab", "short", &body)).expect(200);
    desk.passes(HOUR_MS - 10_000);
    assert!(
        desk.send(&call("lab", "short", &body))
            .expect(200)
            .is_replay()
    );
    desk.passes(20_000);
    let later = desk.send(&call("lab", "short", &body)).expect(200);
    assert!(!later.is_replay());
    assert_eq!(later.task(), first.task(), "the same name, another run");
}

#[test]
fn ietf_i_15_every_answer_about_a_final_task_says_when_its_key_is_forgotten() {
    let desk = Desk::new();
    let body = program([]).set("retention", json!({"succeeded": "1h", "failed": "2h"}));
    let said = |answer: onceward::types::Answer| {
        let text = answer
            .field("idempotency-expires")
            .expect("a time")
            .to_owned();
        let at: jiff::Timestamp = text.parse().expect("RFC 3339");
        u64::try_from(at.as_millisecond()).expect("after 1970") - desk.world.now_ms()
    };
    let first = desk.send(&call("lab", "said", &body)).expect(200);
    let expires = first.field("idempotency-expires").map(str::to_owned);
    assert!(said(first).abs_diff(HOUR_MS) < 5_000);
    let again = desk.send(&call("lab", "said", &body)).expect(200);
    assert_eq!(
        again.field("idempotency-expires").map(str::to_owned),
        expires
    );
    let shown = desk.send(&get(&format!("/v1/tasks/{}", again.task())).token());
    assert_eq!(
        shown.document()["expires_at"].as_str().map(str::to_owned),
        expires
    );
    let failed = program([crate::support::fail("terminal")]);
    let failed = failed.set("retention", json!({"succeeded": "1h", "failed": "2h"}));
    assert!(said(desk.send(&call("lab", "said-2", &failed))).abs_diff(2 * HOUR_MS) < 5_000);
}

#[test]
fn ietf_i_17_method_address_and_query_belong_to_the_request() {
    let desk = Desk::new();
    let with = |query: &str| {
        let request = post(&format!("/hooks/lab{query}")).field("Idempotency-Key", "q");
        desk.send(&request.json(&program([])))
    };
    with("?a=1").expect(200);
    with("?a=2").problem(422, "key_reused");
    with("").problem(422, "key_reused");
    assert!(with("?a=1").expect(200).is_replay());
}

#[test]
fn ietf_i_19_a_key_where_none_is_wanted_is_ignored() {
    let desk = Desk::new();
    let id = desk
        .send(&call("lab", "known", &program([])))
        .expect(200)
        .task();
    for key in ["k", "\"k\"", "not a key", "\"open", ""] {
        let plain = |method, target: &str| {
            desk.send(&to(method, target).token().field("Idempotency-Key", key))
        };
        plain("GET", "/healthz").expect(200);
        plain("GET", "/.well-known/idempotency").expect(200);
        plain("GET", &format!("/v1/tasks/{id}")).expect(200);
        plain("GET", &format!("/v1/tasks/{id}/journal")).expect(200);
        plain("GET", "/v1/tasks").expect(200);
        plain("OPTIONS", "/v1/tasks").expect(204);
    }
    let gone = to("DELETE", &format!("/v1/tasks/{id}")).token();
    desk.send(&gone.field("Idempotency-Key", "not a key"))
        .expect(204);
}

#[test]
fn ietf_i_21_the_key_is_found_wherever_the_route_says() {
    let desk = Desk::new();
    let body = program([]);
    let id = desk.send(&hook("named", &body)).expect(200).task();
    let by_other = post("/hooks/lab")
        .field("X-Request-ID", "named")
        .json(&body);
    assert_eq!(desk.send(&by_other).expect(200).task(), id);
    // A call has one place for it.
    let call = post("/v1/functions/lab")
        .token()
        .field("X-Request-ID", "named");
    desk.send(&call.json(&body)).problem(400, "key_missing");
}

#[test]
fn ietf_i_22_the_fingerprint_is_made_of_every_request_and_kept_with_the_first() {
    let desk = Desk::new();
    let one = program([value("a", 1)]);
    let other = program([value("a", 2)]);
    desk.send(&call("lab", "print", &one)).expect(200);
    desk.send(&call("lab", "print", &other))
        .problem(422, "key_reused");
    // The first one counts, not the last.
    assert!(
        desk.send(&call("lab", "print", &one))
            .expect(200)
            .is_replay()
    );
}

#[test]
fn ietf_i_23_a_repeat_runs_nothing() {
    let desk = Desk::new();
    let body = program([crate::support::call(
        "pay",
        crate::outside::url("/shop/20/k/pay"),
    )]);
    let pending: Vec<_> = (0..5)
        .map(|_| desk.begins(&call("lab", "once", &body)))
        .collect();
    let ids: Vec<String> = pending
        .iter()
        .map(|one| desk.waits_for(one).expect(200).task())
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert!(
        desk.send(&call("lab", "once", &body))
            .expect(200)
            .is_replay()
    );
    assert_eq!(desk.world.outside.calls().len(), 1);
}
