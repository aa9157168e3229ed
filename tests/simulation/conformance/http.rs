//! Parts of RFC 9110, and fields of our own.

use super::desk::{Desk, Reads as _, call, get, hook, post, to};
use crate::outside::url;
use crate::support::{self, program, signal, sleep};
use serde_json::{Value, json};

fn slow(ms: u64) -> Value {
    program([support::call("slow", url(&format!("/shop/{ms}/k/slow")))])
}

#[test]
fn http_h_02_a_202_says_how_it_stands_and_where_to_look() {
    let desk = Desk::new();
    for request in [
        call("lab", "stands", &slow(6_000)),
        hook("stands", &slow(6_000)),
    ] {
        let answer = desk
            .send(&request.field("Prefer", "respond-async"))
            .expect(202);
        let document = answer.document();
        assert_eq!(document["state"], "running");
        assert_eq!(document["task_id"], answer.task());
        let location = format!("/v1/tasks/{}", answer.task());
        assert_eq!(answer.field("location"), Some(&*location));
        let seconds: u64 = answer
            .field("retry-after")
            .expect("Retry-After")
            .parse()
            .expect("seconds");
        assert!(seconds > 0);
    }
    // One that sleeps says until when.
    let asleep = program([sleep("nap", "1h")]);
    let answer = desk.send(&call("lab", "nap", &asleep)).expect(202);
    assert_eq!(answer.document()["state"], "suspended");
    assert!(
        answer.document()["waiting"]["until"].is_string(),
        "{}",
        answer.document()
    );
    let seconds = answer.field("retry-after").expect("Retry-After");
    assert!(
        matches!(seconds.parse(), Ok(3_590..=3_600_u32)),
        "{seconds}"
    );
}

/// The monitor answers 200 whatever has become of the task; what the function answered comes with the key.
#[test]
fn http_h_03_a_finished_task_is_200_at_its_address() {
    let desk = Desk::new();
    for (key, body, state) in [
        ("good", program([]), "succeeded"),
        ("bad", program([support::fail("terminal")]), "failed"),
    ] {
        let id = desk.send(&call("lab", key, &body)).task();
        let shown = desk
            .send(&get(&format!("/v1/tasks/{id}")).token())
            .expect(200);
        assert_eq!(shown.document()["state"], state);
        assert!(shown.document()["finished_at"].is_string());
    }
}

#[test]
fn http_h_04_who_has_the_newest_document_gets_304() {
    let desk = Desk::new();
    let id = desk
        .send(&call("lab", "poll", &program([signal("go")])))
        .expect(202)
        .task();
    desk.passes(1_000);
    let address = format!("/v1/tasks/{id}");
    let ask = |method, query: &str, tags: &str| {
        let request = to(method, &format!("{address}{query}")).token();
        desk.send(&request.field("If-None-Match", tags))
    };
    let first = desk.send(&get(&address).token()).expect(200);
    let tag = first.field("etag").expect("ETag").to_owned();
    assert!(tag.starts_with("W/\""));
    assert_eq!(first.field("cache-control"), Some("private, no-cache"));
    let opaque = tag.trim_start_matches("W/").to_owned();
    for tags in [
        &*tag,
        &opaque,
        "*",
        &format!("\"x\", {tag}"),
        &format!("W/\"a,b\",{opaque} , \"c\""),
    ] {
        for method in ["GET", "HEAD"] {
            let same = ask(method, "", tags).expect(304);
            assert!(same.body.is_empty());
            assert_eq!(same.field("etag"), Some(&*tag));
            assert_eq!(same.field("content-type"), None);
            assert_eq!(same.field("vary"), first.field("vary"));
        }
    }
    for tags in ["\"x\"", "W/\"x\"", "nonsense", ""] {
        ask("GET", "", tags).expect(200);
    }
    let go = post(&format!("{address}/signals/go"))
        .token()
        .field("Idempotency-Key", "g");
    desk.send(&go).expect(202);
    desk.passes(2_000);
    let changed = ask("GET", "", &tag).expect(200);
    assert_eq!(changed.document()["state"], "succeeded");
    assert_ne!(changed.field("etag"), Some(&*tag));
    // Whoever may not see it learns nothing of its version.
    let stranger = get(&address).field("If-None-Match", "*");
    desk.send(&stranger).problem(401, "unauthorized");
}

/// With a wait: a change is told when it comes, and none when the time is up.
#[test]
fn http_h_04_a_wait_ends_with_news_or_with_304() {
    let desk = Desk::new();
    let running = call("lab", "news", &slow(9_000)).field("Prefer", "respond-async");
    let id = desk.send(&running).expect(202).task();
    desk.passes(100);
    let address = format!("/v1/tasks/{id}");
    let tag = desk
        .send(&get(&address).token())
        .field("etag")
        .expect("ETag")
        .to_owned();
    let waits = |query: &str, tag: &str| {
        let request = get(&format!("{address}{query}")).token();
        desk.timed(&request.field("If-None-Match", tag))
    };
    let (same, took) = waits("?wait=2", &tag);
    same.expect(304);
    assert!((1_900..4_000).contains(&took), "{took}");
    // Something else is known: that is news, and nobody waits for more.
    let (other, took) = waits("?wait=20", "\"other\"");
    assert_eq!(other.expect(200).document()["state"], "running");
    assert!(took < 1_000, "{took}");
    let (ended, took) = waits("?wait=20", &tag);
    assert_eq!(ended.expect(200).document()["state"], "succeeded");
    assert!((4_000..9_000).contains(&took), "{took}");
    // A preference does the same, and is named.
    let request = get(&address).token().field("Prefer", "wait=5");
    let preferred = desk.send(&request).expect(200);
    assert_eq!(preferred.field("preference-applied"), Some("wait=5"));
    // What has ended is not waited for.
    let tag = preferred.field("etag").expect("ETag").to_owned();
    let (same, took) = waits("?wait=20", &tag);
    same.expect(304);
    assert!(took < 1_000, "{took}");
}

#[test]
fn http_h_05_wrong_methods_sizes_and_types_are_told_what_would_do() {
    let desk = Desk::new();
    let refused = desk
        .send(&to("PUT", "/v1/functions/lab"))
        .problem(405, "method_not_allowed");
    assert!(refused.has("allow", "POST") && !refused.has("allow", "PUT"));
    let large = post("/hooks/lab").field("Idempotency-Key", "l");
    desk.send(&large.body(vec![b'x'; (1 << 20) + 1]))
        .problem(413, "body_too_large");
    let fields = post("/hooks/lab").field("Idempotency-Key", "f");
    let fields = fields
        .field("User-Agent", &"u".repeat(17 << 10))
        .json(&program([]));
    desk.send(&fields).problem(431, "headers_too_large");

    let id = desk
        .send(&call("lab", "typed", &program([signal("go")])))
        .expect(202)
        .task();
    let signal = |kind: &str, body: &str| {
        let request = post(&format!("/v1/tasks/{id}/signals/go")).token();
        let request = request
            .field("Idempotency-Key", "s")
            .field("Content-Type", kind);
        desk.send(&request.body(body))
    };
    for kind in [
        "text/xml",
        "text/plain",
        "application/octet-stream",
        "multipart/form-data; boundary=x",
    ] {
        let refused = signal(kind, "{}").problem(415, "unsupported_media_type");
        assert_eq!(refused.field("accept-post"), Some("application/json"));
    }
    let retry = post(&format!("/v1/tasks/{id}/retry")).token();
    let refused = desk.send(&retry.field("Content-Type", "text/xml").body("<from/>"));
    refused.problem(415, "unsupported_media_type");
    signal("application/cloudevents+json; charset=utf-8", "{}").expect(202);
    // A webhook may have any type, since its provider decides.
    let odd = post("/hooks/lab")
        .field("Idempotency-Key", "odd")
        .field("Content-Type", "text/xml");
    desk.send(&odd.body(program([]).to_string())).expect(200);
    // A function may restrict them.
    let strict = post("/v1/functions/lab-strict").token();
    let strict = strict.field("Idempotency-Key", "\"order-7:2026-11-30\"");
    let refused = desk.send(&strict.field("Content-Type", "text/xml").body("<a/>"));
    let refused = refused.problem(415, "unsupported_media_type");
    assert_eq!(refused.field("accept-post"), Some("application/json"));
}

#[test]
fn http_h_06_head_and_options_change_nothing() {
    let desk = Desk::new();
    let id = desk
        .send(&call("lab", "safe", &program([])))
        .expect(200)
        .task();
    let address = format!("/v1/tasks/{id}");
    let before = desk.send(&get(&address).token()).expect(200);
    let head = desk.send(&to("HEAD", &address).token()).expect(200);
    assert_eq!(head.field("etag"), before.field("etag"));
    for target in [
        "/hooks/lab",
        "/v1/functions/lab",
        &address,
        "/v1/tasks",
        "/errors",
        "/policy",
    ] {
        let messages = desk.messages();
        let asked = desk.send(&to("OPTIONS", target)).expect(204);
        assert!(asked.field("allow").is_some());
        assert_eq!(desk.messages(), messages, "{target}");
    }
    for target in ["/hooks/lab", "/v1/functions/lab"] {
        let messages = desk.messages();
        let request = to("HEAD", target).token().field("Idempotency-Key", "head");
        desk.send(&request).problem(405, "method_not_allowed");
        assert_eq!(desk.messages(), messages, "{target}");
    }
    let after = desk.send(&get(&address).token()).expect(200);
    assert_eq!(before.field("etag"), after.field("etag"));
}

#[test]
fn http_h_08_repeats_are_marked_and_expiry_is_named() {
    let desk = Desk::new();
    let first = desk.send(&call("lab", "marks", &program([]))).expect(200);
    assert_eq!(first.field("idempotent-replayed"), None);
    let again = desk.send(&call("lab", "marks", &program([]))).expect(200);
    assert_eq!(again.field("idempotent-replayed"), Some("true"));
    let expires = again.field("idempotency-expires").expect("a time");
    assert!(expires.parse::<jiff::Timestamp>().is_ok(), "{expires}");
    // A function cannot set them itself.
    let mut body = program([]);
    body["answer"] = json!({"status": 200, "headers": {"idempotent-replayed": "maybe"}, "body": 1});
    let own = desk.send(&call("lab", "own-mark", &body)).expect(200);
    assert_eq!(own.field("idempotent-replayed"), None);
}

#[test]
fn http_h_01_retry_after_is_in_seconds_wherever_a_repeat_makes_sense() {
    let desk = Desk::new();
    let seconds = |answer: &onceward::types::Answer| -> u64 {
        let text = answer.field("retry-after").expect("Retry-After");
        text.parse().expect("whole seconds")
    };
    let first = call("lab", "after", &slow(9_000));
    let accepted = desk.send(&first).expect(202);
    assert!(seconds(&accepted) > 0);
    assert!(seconds(&desk.send(&first).problem(409, "task_in_progress")) > 0);
    let failing = program([support::call("c", url("/seq/503,503,503/k/c"))]);
    let failing = support::Settings::set(failing, "max_attempts", json!(1));
    let failed = desk
        .send(&call("lab", "fails", &failing))
        .problem(500, "task_failed");
    assert!(seconds(&failed) > 0);
}
