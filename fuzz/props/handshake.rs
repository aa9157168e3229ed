//! Handshakes and answer styles: `METHOD TARGET`, fields, body.

use super::input::{hex, is_sendable, sha256_hex, text, written};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use onceward::types::{Answer, Headers};
use onceward::webhook::handshake::{Handshake, after_signature, before_signature};
use onceward::webhook::{Ack, Arrival, Secret};
use serde_json::Value;
use sha2::Sha256;
use url::form_urlencoded;

const ALL: [Handshake; 7] = [
    Handshake::SlackUrl,
    Handshake::DiscordPing,
    Handshake::ZoomUrl,
    Handshake::MetaVerify,
    Handshake::XCrc,
    Handshake::GraphToken,
    Handshake::HeadOk,
];
/// What Meta's form was given; the fuzzer may know it.
const VERIFY_TOKEN: &str = "verify me";

fn digest(secret: &str, token: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key");
    mac.update(token.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

pub fn check(data: &[u8]) {
    let request = written(data);
    let (method, target) = request
        .first
        .split_once(' ')
        .unwrap_or(("POST", &request.first));
    let arrival = Arrival {
        method,
        target,
        public_url: None,
        headers: &request.headers,
        body: &request.body,
        now_ms: 0,
    };
    // Nobody can write down the secret of these very bytes.
    let key = sha256_hex(data);
    let secrets = [Secret::new(&key).expect("a secret")];
    let token = Secret::new(VERIFY_TOKEN).expect("a secret");
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let before = before_signature(&ALL, &arrival, &secrets, Some(&token));
    let again = before_signature(&ALL, &arrival, &secrets, Some(&token));
    assert_eq!(before, again, "the same again");
    match before {
        Some(Ok(answer)) => open(method, &answer, &pairs, &key),
        Some(Err(refusal)) => assert!(!format!("{refusal:?}{refusal}").contains(&key)),
        None => assert_ne!(method, "HEAD"),
    }
    let closed = before_signature(&ALL, &arrival, &[], None);
    if let Some(Ok(answer)) = closed {
        let is_text = answer.headers.get("content-type") == Some("text/plain; charset=utf-8");
        assert!(
            method == "HEAD" || (method == "POST" && is_text),
            "{method}"
        );
    }
    if let Some(answer) = after_signature(&ALL, &arrival, &secrets) {
        assert_eq!(method, "POST");
        signed(&answer, &request.body, &key);
    }
    dressed(&request.body);
}

fn guarded(answer: &Answer) {
    is_sendable(answer);
    assert_eq!(answer.headers.get("cache-control"), Some("no-store"));
    let nosniff = answer.headers.get("x-content-type-options");
    assert_eq!(nosniff, Some("nosniff"));
    assert!(answer.body.len() <= 2_048);
}

fn is_challenge(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    (1..=512).contains(&text.len()) && text.bytes().all(plain)
}

/// Answers that anybody can get.
fn open(method: &str, answer: &Answer, pairs: &[(String, String)], key: &str) {
    guarded(answer);
    assert_eq!(answer.status, 200);
    let only = |name: &str| {
        let mut values = pairs.iter().filter(|(n, _)| n == name);
        let (_, value) = values.next().expect("asked for");
        assert!(values.next().is_none(), "{name} came twice");
        value.as_str()
    };
    let body = text(&answer.body);
    match (method, answer.headers.get("content-type")) {
        ("HEAD", None) => assert!(body.is_empty()),
        ("GET", Some("application/json")) => {
            let token = only("crc_token");
            assert!(is_challenge(token), "{token:?} would be signed");
            let wanted = format!("sha256={}", STANDARD.encode(digest(key, token)));
            let read: Value = serde_json::from_str(&body).expect("JSON");
            assert_eq!(read["response_token"], wanted);
        }
        ("GET", Some(_)) => {
            assert_eq!(only("hub.verify_token"), VERIFY_TOKEN);
            assert_eq!(only("hub.mode"), "subscribe");
            assert_eq!(only("hub.challenge"), body);
            assert!(is_challenge(&body));
        }
        ("POST", Some("text/plain; charset=utf-8")) => {
            assert_eq!(only("validationToken"), body);
            assert!(body.bytes().all(|b| matches!(b, b' '..=b'~')));
        }
        other => panic!("{other:?}"),
    }
}

/// Answers to whoever has signed.
fn signed(answer: &Answer, body: &[u8], key: &str) {
    guarded(answer);
    let asked: Value = serde_json::from_slice(body).expect("only JSON is a handshake");
    let given = text(&answer.body);
    match (answer.status, answer.headers.get("content-type")) {
        (204, None) => assert!(given.is_empty() && asked["type"] == 0),
        (200, Some("text/plain; charset=utf-8")) => {
            assert_eq!(asked["type"], "url_verification");
            assert_eq!(asked["challenge"], given);
            assert!(is_challenge(&given));
        }
        (200, Some("application/json")) => {
            let read: Value = serde_json::from_str(&given).expect("JSON");
            if read["type"] == 1 {
                assert!(asked["type"] == 1 && asked["event"].is_null());
                return;
            }
            let token = asked["payload"]["plainToken"].as_str().expect("a token");
            assert!(is_challenge(token), "{token:?} would be signed");
            assert_eq!(read["plainToken"], token);
            assert_eq!(read["encryptedToken"], hex(&digest(key, token)));
        }
        other => panic!("{other:?}"),
    }
}

/// No style loses what the answer says about the task, whatever the sender has sent.
fn dressed(body: &[u8]) {
    for ack in Ack::ALL {
        for status in [200, 202, 409, 500] {
            let mut answer = Answer::json(status, &serde_json::json!({ "state": "running" }));
            answer.headers.push("onceward-task-id", "1");
            answer.headers.push("location", "/v1/tasks/1");
            let out = ack.dress(answer.clone(), body);
            is_sendable(&out);
            let kept = |headers: &Headers| {
                ["onceward-task-id", "location"].map(|name| headers.get(name).map(str::to_owned))
            };
            assert_eq!(kept(&out.headers), kept(&answer.headers));
            if status > 202 {
                assert_eq!(out, answer, "{ack:?}");
            } else {
                assert!(matches!(out.status, 200 | 202 | 204 | 406), "{ack:?}");
            }
        }
    }
}
