//! Real payloads through the packs of their providers: three deliveries, one run.

use crate::support::{Answer, Request, at_once, fresh, root, shared};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Seconds since 1970, as text.
pub fn now_s() -> String {
    (crate::support::unix_ms() / 1_000).to_string()
}

pub fn hmac(secret: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Every sample of a folder, by name.
fn samples(folder: &str) -> Vec<(String, Vec<u8>)> {
    let path = root().join("tests/samples").join(folder);
    let mut found: Vec<_> = std::fs::read_dir(&path)
        .expect("a folder")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| {
            let name = entry.file_name().into_string().expect("a name");
            (name, std::fs::read(entry.path()).expect("a file"))
        })
        .collect();
    found.sort();
    assert!(!found.is_empty(), "no samples in {folder}");
    found
}

/// The value of a secret as the servers under test have it.
pub fn secret(name: &str) -> String {
    let vars = std::fs::read_to_string(root().join(".dev.vars.example")).expect("the file");
    let mut lines = vars.lines().filter_map(|line| line.split_once('='));
    let found = lines.find(|(key, _)| *key == name);
    found.unwrap_or_else(|| panic!("no {name}")).1.to_owned()
}

/// Sends a delivery three times, two of them at once: one task, run once, the same answer byte for byte.
#[track_caller]
pub fn thrice(name: &str, body: &[u8], request: &Request) -> Answer {
    let mut answers = at_once(shared(), &[request.clone(), request.clone()]);
    answers.push(shared().send(request));
    let task_id = answers[0].task_id();
    for answer in &answers {
        assert_eq!(answer.status, 200, "{name}: {}", answer.shown());
        assert_eq!(answer.task_id(), task_id, "{name}");
        assert_eq!(answer.body, answers[0].body, "{name}");
    }
    let replays = answers.iter().filter(|answer| answer.is_replay()).count();
    assert_eq!(replays, 2, "{name}: one run, two repeats");
    let receipt = &answers[0].json()["receipt"];
    assert_eq!(receipt["sha256"], hex(&Sha256::digest(body)), "{name}");
    let task = shared().task(&task_id);
    assert_eq!(
        (&task["state"], &task["attempts"]),
        (&"succeeded".into(), &1.into()),
        "{name}"
    );
    answers.swap_remove(2)
}

/// The same delivery with its last byte changed is refused, whatever it is.
#[track_caller]
pub fn refused_if_changed(name: &str, request: &Request, body: &[u8]) {
    let mut other = body.to_vec();
    let last = other.last_mut().expect("not empty");
    *last ^= 1;
    let answer = shared().send(&request.clone().body(other));
    assert_eq!(answer.status, 401, "{name}: {}", answer.shown());
}

#[test]
fn github_samples_run_once() {
    for (name, body) in samples("github") {
        let event = name.split('.').next().expect("an event");
        let signature = hex(&hmac(crate::support::SECRET, &[&body]));
        let request = Request::post("/hooks/github")
            .field("Content-Type", "application/json")
            .field("User-Agent", "GitHub-Hookshot/abc1234")
            .field("X-GitHub-Event", event)
            .field("X-GitHub-Delivery", uuid::Uuid::new_v4().to_string())
            .field("X-Hub-Signature-256", format!("sha256={signature}"))
            .body(body.clone());
        let answers = at_once(
            shared(),
            &[request.clone(), request.clone(), request.clone()],
        );
        let ids: std::collections::BTreeSet<_> = answers.iter().map(Answer::task_id).collect();
        assert_eq!(ids.len(), 1, "{name}");
        assert_eq!(
            answers.iter().filter(|a| !a.is_replay()).count(),
            1,
            "{name}"
        );
        assert!(answers.iter().all(|a| a.status == 200), "{name}");
        assert_eq!(answers[0].json()["summary"]["event"], event, "{name}");
        refused_if_changed(&name, &request, &body);
    }
}

#[test]
fn gitlab_samples_run_once() {
    for (name, body) in samples("gitlab") {
        let request = Request::post("/hooks/gitlab")
            .field("Content-Type", "application/json")
            .field("X-Gitlab-Event", "Push Hook")
            .field("X-Gitlab-Event-UUID", uuid::Uuid::new_v4().to_string())
            .field("Idempotency-Key", uuid::Uuid::new_v4().to_string())
            .field("X-Gitlab-Token", secret("GITLAB_WEBHOOK_SECRET"))
            .body(body.clone());
        thrice(&name, &body, &request);
    }
}

#[test]
fn shopify_samples_run_once() {
    for (name, body) in samples("shopify") {
        let signature = STANDARD.encode(hmac(&secret("SHOPIFY_WEBHOOK_SECRET"), &[&body]));
        let request = Request::post("/hooks/shopify")
            .field("Content-Type", "application/json")
            .field("X-Shopify-Topic", "orders/create")
            .field("X-Shopify-Shop-Domain", "example.myshopify.com")
            .field("X-Shopify-API-Version", "2025-10")
            .field("X-Shopify-Webhook-Id", uuid::Uuid::new_v4().to_string())
            .field("X-Shopify-Event-Id", uuid::Uuid::new_v4().to_string())
            .field("X-Shopify-Hmac-Sha256", signature)
            .body(body.clone());
        thrice(&name, &body, &request);
        refused_if_changed(&name, &request, &body);
    }
}

#[test]
fn stripe_samples_run_once() {
    for (name, body) in samples("stripe") {
        let now = now_s();
        let signed = hmac(
            &secret("STRIPE_WEBHOOK_SECRET"),
            &[now.as_bytes(), b".", &body],
        );
        let request = Request::post("/hooks/stripe")
            .field("Content-Type", "application/json; charset=utf-8")
            .field(
                "Stripe-Signature",
                format!("t={now},v1={},v0=00", hex(&signed)),
            )
            .body(body.clone());
        thrice(&name, &body, &request);
        refused_if_changed(&name, &request, &body);
        let key: Value = serde_json::from_slice(&body).expect("JSON");
        let id = shared().send(&request).task_id();
        assert_eq!(
            shared().task(&id)["key"],
            key["id"],
            "{name}: named by the event's id"
        );
    }
}

fn slack(body: &[u8], content_type: &str, repeat: Option<&str>) -> Request {
    let now = now_s();
    let parts: [&[u8]; 4] = [b"v0:", now.as_bytes(), b":", body];
    let signed = hmac(&secret("SLACK_WEBHOOK_SECRET"), &parts);
    let request = Request::post("/hooks/slack")
        .field("Content-Type", content_type)
        .field("X-Slack-Request-Timestamp", now)
        .field("X-Slack-Signature", format!("v0={}", hex(&signed)))
        .body(body);
    match repeat {
        Some(number) => request
            .field("X-Slack-Retry-Num", number)
            .field("X-Slack-Retry-Reason", "http_timeout"),
        None => request,
    }
}

#[test]
fn slack_samples_run_once() {
    for (name, body) in samples("slack") {
        if name == "url_verification.json" {
            continue;
        }
        let text = String::from_utf8(body).expect("text");
        let body = text.replace("EVENT_ID", &fresh("Ev")).into_bytes();
        let form = "application/x-www-form-urlencoded";
        let content_type = if name.contains(".form") {
            form
        } else {
            "application/json"
        };
        let request = slack(&body, content_type, None);
        thrice(&name, &body, &request);
        refused_if_changed(&name, &request, &body);
    }
}

#[test]
fn slack_is_answered_its_challenge_without_a_task() {
    let body = crate::support::sample("slack/url_verification.json");
    let challenge: Value = serde_json::from_slice(&body).expect("JSON");
    let answer = shared().send(&slack(&body, "application/json", None));
    assert_eq!(answer.status, 200, "{}", answer.shown());
    assert_eq!(
        answer.text(),
        challenge["challenge"].as_str().expect("a text")
    );
    assert!(answer.field("Onceward-Task-Id").is_none());
}

/// F35: a repeat that is the first to arrive runs.
#[test]
fn a_slack_retry_that_arrives_first_runs() {
    let text = String::from_utf8(crate::support::sample("slack/event.message.json")).expect("text");
    let body = text.replace("EVENT_ID", &fresh("Ev")).into_bytes();
    let first = shared().send(&slack(&body, "application/json", Some("1")));
    assert_eq!(
        (first.status, first.is_replay()),
        (200, false),
        "{}",
        first.shown()
    );
    let second = shared().send(&slack(&body, "application/json", Some("2")));
    assert!(second.is_replay(), "{}", second.shown());
    assert_eq!(second.task_id(), first.task_id());
}
