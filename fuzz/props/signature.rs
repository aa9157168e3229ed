//! Signatures: the first line is what the field holds, the rest is the body.

use super::input::{SECRET, hmac_hex, line, text};
use onceward::types::Headers;
use onceward::webhook::{Arrival, Scheme, Secret};

const OTHER: &str = "the secret before";

fn verify(scheme: &Scheme, fields: &[(&str, &str)], body: &[u8]) -> Option<usize> {
    let secrets = [SECRET, OTHER].map(|s| Secret::new(s).expect("a secret"));
    let headers: Headers = fields.iter().copied().collect();
    let proof = scheme.verify(&arrival(&headers, body), &secrets).ok()?;
    proof.secret
}

fn arrival<'a>(headers: &'a Headers, body: &'a [u8]) -> Arrival<'a> {
    Arrival {
        method: "POST",
        target: "/hooks/a",
        public_url: None,
        headers,
        body,
        now_ms: 0,
    }
}

pub fn check(data: &[u8]) {
    let (given, body) = line(data);
    let given = text(given);
    let bare = Scheme::hmac_sha256_hex("x-bare", "");
    for (scheme, field, prefix) in [
        (Scheme::github(), "X-Hub-Signature-256", "sha256="),
        (bare, "X-Bare", ""),
    ] {
        let signed = [SECRET, OTHER].map(|s| format!("{prefix}{}", hmac_hex(s, &[body])));
        let wanted = signed.iter().position(|s| *s == given);
        assert_eq!(
            verify(&scheme, &[(field, &given)], body),
            wanted,
            "{given:?}"
        );
        for (index, signature) in signed.iter().enumerate() {
            assert_eq!(verify(&scheme, &[(field, signature)], body), Some(index));
            others(&scheme, field, signature, body);
        }
        assert_eq!(verify(&scheme, &[], body), None);
        let headers: Headers = [(field, &*signed[0])].into_iter().collect();
        assert!(
            scheme.verify(&arrival(&headers, body), &[]).is_err(),
            "without a secret"
        );
        let foreign = Secret::new("another").expect("a secret");
        assert!(scheme.verify(&arrival(&headers, body), &[foreign]).is_err());
    }
    let taken = Secret::new(&given).is_ok();
    assert_eq!(taken, !given.is_empty() && given.trim() == given);
}

/// No other body, no other spelling and no second field will do.
fn others(scheme: &Scheme, field: &str, signature: &str, body: &[u8]) {
    let refused = |fields: &[(&str, &str)], body: &[u8]| {
        assert_eq!(verify(scheme, fields, body), None, "{fields:?}");
    };
    let longer = [body, b"\n"].concat();
    refused(&[(field, signature)], &longer);
    if let Some((last, shorter)) = body.split_last() {
        refused(&[(field, signature)], shorter);
        let mut flipped = shorter.to_vec();
        flipped.push(last ^ 1);
        refused(&[(field, signature)], &flipped);
    }
    if let Some(shorter) = signature.get(..signature.len() - 1) {
        refused(&[(field, shorter)], body);
    }
    let upper = signature.to_ascii_uppercase();
    refused(&[(field, &upper)], body);
    refused(&[(field, &format!("{signature} "))], body);
    refused(&[(field, signature), (field, signature)], body);
    refused(&[(field, signature), (field, "x")], body);
}
