//! draft-ietf-httpapi-idempotency-key-header-07: what is answered when.

use super::desk::{Desk, Reads as _, Request, call, get, hook, post, to};
use crate::outside::url;
use crate::support::{self, fail, program, signal, value};
use onceward::types::Answer;
use serde_json::json;

/// A program whose one step takes so long.
fn slow(ms: u64) -> serde_json::Value {
    program([support::call("slow", url(&format!("/shop/{ms}/k/slow")))])
}

#[test]
fn ietf_i_24_the_first_request_is_answered_as_ever() {
    let desk = Desk::new();
    let mut body = program([value("a", 1)]);
    body["answer"] =
        json!({"status": 201, "headers": {"location": "/orders/7"}, "body": {"id": 7}});
    let first = desk.send(&call("lab", "first", &body)).expect(201);
    assert!(!first.is_replay());
    assert_eq!(first.field("location"), Some("/orders/7"));
    assert_eq!(first.document(), json!({"id": 7}));
}

#[test]
fn ietf_i_25_a_finished_one_is_answered_again_success_or_error() {
    let desk = Desk::new();
    for status in [201, 404, 500] {
        let mut body = program([]);
        body["answer"] =
            json!({"status": status, "headers": {"x-own": "1"}, "body": {"s": status}});
        let key = format!("again-{status}");
        let first = desk.send(&call("lab", &key, &body)).expect(status);
        let again = desk.send(&call("lab", &key, &body)).expect(status);
        assert!(!first.is_replay() && again.is_replay());
        assert_eq!(first.body, again.body);
        assert_eq!(again.field("x-own"), Some("1"));
    }
    // Without an answer of its own, a failure for good is answered the same every time.
    let failed = program([fail("terminal")]);
    desk.send(&call("lab", "failed", &failed))
        .problem(500, "task_failed");
    let again = desk
        .send(&call("lab", "failed", &failed))
        .problem(500, "task_failed");
    assert!(again.is_replay());
}

/// We differ in one point: a repeat waits as long as the first one does, and most often gets its answer.
#[test]
fn ietf_i_26_a_running_one_is_joined_and_then_a_conflict() {
    let desk = Desk::new();
    let first = desk.begins(&call("lab", "joins", &slow(1_000)));
    desk.passes(100);
    let joined = desk.send(&call("lab", "joins", &slow(1_000))).expect(200);
    assert!(joined.is_replay());
    desk.waits_for(&first).expect(200);

    let first = desk.begins(&call("lab", "long", &slow(8_000)));
    desk.passes(100);
    let (refused, took) = desk.timed(&call("lab", "long", &slow(8_000)));
    let refused = refused.problem(409, "task_in_progress");
    assert!((2_000..4_500).contains(&took), "{took}");
    assert_eq!(refused.task(), desk.waits_for(&first).expect(202).task());
}

#[test]
fn ietf_i_28_without_a_key_a_call_is_refused_with_400_and_told_where_to_read() {
    let desk = Desk::new();
    let before = desk.messages();
    for request in [post("/v1/functions/lab").token(), post("/hooks/lab")] {
        let refused = desk
            .send(&request.json(&program([])))
            .problem(400, "key_missing");
        let document = refused.document();
        assert_eq!(document["title"], "Idempotency key is missing");
        assert_eq!(document["type"], "/errors/key_missing");
        assert!(
            document["policy"]
                .as_str()
                .is_some_and(|p| p.starts_with("/policy/"))
        );
        assert_eq!(refused.field("content-language"), Some("en"));
        let page = document["policy"].as_str().expect("a page");
        desk.send(&get(page)).expect(200);
    }
    assert_eq!(desk.messages(), before);
}

/// The pages that a `Link` field names.
fn described_by(answer: &Answer) -> Vec<String> {
    let links = answer.field("link").expect("Link");
    let links = links.split(", ").map(|link| {
        let (address, rest) = link.split_once(">; ").expect("a link");
        assert_eq!(rest, "rel=\"describedby\"; type=\"text/html\"");
        address.trim_start_matches('<').to_owned()
    });
    links.collect()
}

#[test]
fn ietf_i_29_all_three_errors_link_to_pages_that_are_there() {
    let desk = Desk::new();
    desk.send(&call("lab", "used", &program([]))).expect(200);
    let first = desk.begins(&call("lab", "runs", &slow(9_000)));
    desk.passes(100);
    let requests: [Request; 3] = [
        post("/v1/functions/lab").token().json(&program([])),
        call("lab", "used", &program([value("a", 1)])),
        call("lab", "runs", &slow(9_000)),
    ];
    let codes = ["key_missing", "key_reused", "task_in_progress"];
    for (request, code) in requests.iter().zip(codes) {
        let refused = desk.send(request);
        assert_eq!(refused.document()["code"], code);
        let pages = described_by(&refused);
        assert_eq!(
            pages,
            [
                format!("/errors/{code}"),
                "/policy/functions/lab".to_owned()
            ]
        );
        for page in pages {
            let page = desk.send(&get(&page)).expect(200);
            assert_eq!(page.field("content-type"), Some("text/html; charset=utf-8"));
            assert!(page.body.starts_with(b"<!doctype html>"));
        }
    }
    desk.waits_for(&first);
}

#[test]
fn ietf_i_30_another_request_under_the_same_key_is_422_whatever_became_of_the_first() {
    let desk = Desk::new();
    let other = program([value("other", 1)]);
    desk.send(&call("lab", "done", &program([]))).expect(200);
    let first = desk.begins(&call("lab", "runs", &slow(9_000)));
    desk.passes(100);
    desk.send(&call("lab", "failed", &program([fail("terminal")])));
    for key in ["done", "runs", "failed"] {
        let refused = desk
            .send(&call("lab", key, &other))
            .problem(422, "key_reused");
        assert_eq!(
            refused.document()["title"],
            "Idempotency key is already used"
        );
    }
    desk.send(&hook("done", &program([]))).expect(200);
    desk.send(&hook("done", &other)).problem(422, "key_reused");
    desk.waits_for(&first);
}

#[test]
fn ietf_i_31_a_conflict_says_when_to_come_back_and_where_to_look() {
    let desk = Desk::new();
    let first = desk.begins(&call("lab", "busy", &slow(9_000)));
    desk.passes(100);
    let refused = desk
        .send(&call("lab", "busy", &slow(9_000)))
        .problem(409, "task_in_progress");
    let seconds: u64 = refused
        .field("retry-after")
        .expect("Retry-After")
        .parse()
        .expect("seconds");
    assert!((1..=60).contains(&seconds));
    let location = refused.field("location").expect("Location").to_owned();
    let shown = desk.send(&get(&location).token()).expect(200);
    assert_eq!(shown.document()["state"], "running");
    desk.waits_for(&first);
    // What waits for somebody says so at once.
    let waits = program([signal("approval")]);
    desk.send(&call("lab", "asleep", &waits)).expect(202);
    desk.passes(100);
    let (refused, took) = desk.timed(&call("lab", "asleep", &waits));
    let refused = refused.problem(409, "task_in_progress");
    assert!(
        took < 1_000 && refused.field("retry-after").is_some(),
        "{took}"
    );
}

#[test]
fn ietf_i_32_checks_come_in_one_order() {
    let desk = Desk::new();
    let first = desk.begins(&call("lab", "order", &slow(9_000)));
    desk.passes(100);
    let url = "/v1/functions/lab";
    // Token before key, key before fingerprint, fingerprint before what runs.
    desk.send(&post(url).field("Idempotency-Key", "a b"))
        .problem(401, "unauthorized");
    desk.send(&call("lab", "a b", &program([])))
        .problem(400, "key_malformed");
    desk.send(&call("lab", "order", &program([])))
        .problem(422, "key_reused");
    desk.waits_for(&first).expect(202);
    desk.send(&call("lab", "order", &slow(9_000)))
        .problem(409, "task_in_progress");
    desk.passes(30_000);
    let last = desk.send(&call("lab", "order", &slow(9_000))).expect(200);
    assert!(last.is_replay());
}

#[test]
fn ietf_i_35_pages_of_other_origins_may_send_keys_and_read_what_comes_back() {
    let desk = Desk::new();
    let asked = to("OPTIONS", "/v1/functions/lab")
        .field("Origin", "https://shop.example")
        .field("Access-Control-Request-Method", "POST");
    let preflight = desk.send(&asked).expect(204);
    for name in [
        "Idempotency-Key",
        "Prefer",
        "Content-Type",
        "Authorization",
        "If-None-Match",
    ] {
        assert!(
            preflight.has("access-control-allow-headers", name),
            "{name}"
        );
    }
    assert!(preflight.has("access-control-allow-methods", "POST"));
    let answers = [
        preflight,
        desk.send(&call("lab", "cors", &program([]))).expect(200),
        desk.send(&call("lab", "a b", &program([]))).expect(400),
        desk.send(&get("/nothing")).expect(404),
    ];
    for answer in answers {
        assert_eq!(answer.field("access-control-allow-origin"), Some("*"));
        for name in
            "Idempotent-Replayed Idempotency-Expires Location Retry-After Preference-Applied \
            Link ETag Accept-Post Onceward-Task-Id Onceward-Answer-Status"
                .split_whitespace()
        {
            assert!(answer.has("access-control-expose-headers", name), "{name}");
        }
    }
}
