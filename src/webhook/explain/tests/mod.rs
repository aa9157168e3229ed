//! Every finding, for senders of several kinds, and that nothing of a secret or a delivery comes out.

use super::*;
use crate::types::Headers;
use crate::webhook::scheme::{Algorithm, Form, Timestamp, TimestampAt, Unit};
use crate::webhook::{Secret, packs};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

mod bodies;
mod fields;
mod secrets;

const NOW_MS: u64 = 1_700_000_000_000;
const NOW: &str = "1700000000";
const BODY: &[u8] = br#"{"id":"evt_1","text":"SEC-PAYLOAD <b> caf\u00e9","n":12345678901234567890,"b":[1,{}],"a":"x/y"}"#;
/// Also base64 and whsec: one text is every kind of secret.
const SECRET: &str = "U0VDLVNFQ1JFVC1TRUMtU0VDUkVU";
const URL: &str = "https://example.com/hooks/square";

fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any key");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    crate::webhook::hex(bytes)
}

fn seconds(at: TimestampAt) -> Timestamp {
    Timestamp {
        at,
        unit: Unit::Seconds,
        tolerance_s: Some(300),
    }
}

/// Makes the fields of a body at a time, with a key, for an address.
type Sign = fn(body: &[u8], time: &str, key: &[u8], url: &str) -> Vec<(&'static str, String)>;

/// A sender: its scheme, and how it signs.
struct Sender {
    name: &'static str,
    scheme: Scheme,
    sign: Sign,
}

/// Senders of all kinds, by the schemes of their packs.
fn senders() -> Vec<Sender> {
    let mut all = signers();
    for sender in &mut all {
        let pack = packs::by_name(sender.name).expect("a pack");
        sender.scheme = pack.scheme;
    }
    all
}

fn signers() -> Vec<Sender> {
    vec![
        Sender {
            name: "github",
            scheme: Scheme::None,
            sign: |body, _, key, _| {
                let digest = hex(&hmac(key, &[body]));
                vec![("X-Hub-Signature-256", format!("sha256={digest}"))]
            },
        },
        Sender {
            name: "stripe",
            scheme: Scheme::None,
            sign: |body, time, key, _| {
                let digest = hex(&hmac(key, &[time.as_bytes(), b".", body]));
                vec![("Stripe-Signature", format!("t={time},v1={digest}"))]
            },
        },
        Sender {
            name: "slack",
            scheme: Scheme::None,
            sign: |body, time, key, _| {
                let digest = hex(&hmac(key, &[b"v0:", time.as_bytes(), b":", body]));
                vec![
                    ("X-Slack-Signature", format!("v0={digest}")),
                    ("X-Slack-Request-Timestamp", time.to_owned()),
                ]
            },
        },
        Sender {
            name: "shopify",
            scheme: Scheme::None,
            sign: |body, _, key, _| {
                vec![("X-Shopify-Hmac-Sha256", STANDARD.encode(hmac(key, &[body])))]
            },
        },
        Sender {
            name: "square",
            scheme: Scheme::None,
            sign: |body, _, key, url| {
                let digest = STANDARD.encode(hmac(key, &[url.as_bytes(), body]));
                vec![("X-Square-HmacSha256-Signature", digest)]
            },
        },
        Sender {
            name: "standard-webhooks",
            scheme: Scheme::None,
            sign: |body, time, key, _| {
                let key = STANDARD.decode(key).unwrap_or_default();
                let digest = hmac(&key, &[b"msg_1.", time.as_bytes(), b".", body]);
                vec![
                    ("webhook-id", "msg_1".to_owned()),
                    ("webhook-timestamp", time.to_owned()),
                    (
                        "webhook-signature",
                        format!("v1,{}", STANDARD.encode(digest)),
                    ),
                ]
            },
        },
    ]
}

impl Sender {
    fn headers(&self, body: &[u8], time: &str, key: &str, url: &str) -> Headers {
        let fields = (self.sign)(body, time, key.as_bytes(), url);
        fields.into_iter().collect()
    }

    fn signed(&self) -> Headers {
        self.headers(BODY, NOW, SECRET, URL)
    }

    fn has_time(&self) -> bool {
        matches!(self.name, "stripe" | "slack" | "standard-webhooks")
    }
}

fn secret(text: &str) -> SecretAt<'_> {
    SecretAt {
        name: "NAME",
        text,
        expired: false,
    }
}

fn look(scheme: &Scheme, headers: &Headers, body: &[u8], secrets: &[SecretAt<'_>]) -> Explanation {
    look_from(scheme, headers, body, secrets, Some(URL), &Hints::default())
}

fn look_from(
    scheme: &Scheme,
    headers: &Headers,
    body: &[u8],
    secrets: &[SecretAt<'_>],
    public_url: Option<&str>,
    hints: &Hints<'_>,
) -> Explanation {
    let arrival = Arrival {
        method: "POST",
        target: "/hooks/square?x=1",
        public_url,
        headers,
        body,
        now_ms: NOW_MS,
    };
    let found = explain(scheme, &arrival, secrets, hints);
    quiet(&found);
    found
}

/// Nothing of the secret, the digests or the delivery, and never much.
fn quiet(found: &Explanation) {
    let text = serde_json::to_string(found).expect("JSON");
    let shown = format!("{text}{found:?}");
    for leak in ["SEC-", "U0VD", "msg_1", "evt_1", "café", "example.com", NOW] {
        assert!(!shown.contains(leak), "{leak} in {shown}");
    }
    // No digest, in hex or base64.
    let run = |plain: fn(char) -> bool| shown.split(|c| !plain(c)).map(str::len).max();
    assert!(run(|c| c.is_ascii_hexdigit()) < Some(16), "{shown}");
    assert!(run(|c| c.is_ascii_alphanumeric()) < Some(24), "{shown}");
    assert!(text.len() < 8 << 10, "{} bytes", text.len());
}

/// What is proven, by code.
fn codes(found: &Explanation) -> Vec<&'static str> {
    found.findings.iter().map(|f| f.code).collect()
}

fn first(found: &Explanation) -> (&'static str, &str) {
    let first = found.findings.first().expect("a finding");
    (first.code, &first.says)
}
