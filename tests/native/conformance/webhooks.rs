//! Standard Webhooks 1.0.0, as a receiver.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use onceward::types::Headers;
use onceward::webhook::{
    Arrival, Document, KeyForm, KeySource, Pack, Refusal, Scheme, Secret, SecretFault, key, packs,
};
use sha2::Sha256;

const NOW_S: u64 = 1_796_000_000;
const ID: &str = "msg_2mXK7";
const BODY: &[u8] = br#"{"type":"invoice.paid","data":{"id":1}}"#;
const KEY: [u8; 32] = [7; 32];

fn pack() -> Pack {
    packs::by_name("standard-webhooks").expect("the pack")
}

/// A secret as its sender shows it.
fn shown(key: &[u8]) -> String {
    ["wh", "sec_", &STANDARD.encode(key)].concat()
}

fn secret(text: &str) -> Secret {
    Secret::read(text, KeyForm::WhsecOrWhpk).expect("a secret")
}

fn symmetric() -> Secret {
    secret(&shown(&KEY))
}

fn pair() -> (SigningKey, Secret) {
    let private = SigningKey::from_bytes(&[9; 32]);
    let public = STANDARD.encode(private.verifying_key().to_bytes());
    (private, secret(&format!("whpk_{public}")))
}

fn content(id: &str, time: &str, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", time.as_bytes(), b".", body].concat()
}

fn v1_with(key: &[u8], id: &str, time: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any key");
    mac.update(&content(id, time, body));
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

fn v1(id: &str, time: &str, body: &[u8]) -> String {
    v1_with(&KEY, id, time, body)
}

fn headers(id: &str, time: &str, signature: &str) -> Headers {
    let fields = [
        ("webhook-id", id),
        ("webhook-timestamp", time),
        ("webhook-signature", signature),
    ];
    fields.into_iter().collect()
}

fn now() -> String {
    NOW_S.to_string()
}

fn verify(headers: &Headers, body: &[u8], secrets: &[Secret]) -> Result<usize, Refusal> {
    let arrival = Arrival {
        method: "POST",
        target: "/hooks/standard",
        public_url: None,
        headers,
        body,
        now_ms: NOW_S * 1_000,
    };
    let proof = pack().scheme.verify(&arrival, secrets)?;
    Ok(proof.secret.expect("which one it was"))
}

/// A good delivery with one thing changed.
fn sent(id: &str, time: &str, signature: &str, body: &[u8]) -> Result<usize, Refusal> {
    verify(&headers(id, time, signature), body, &[symmetric()])
}

#[test]
fn webhooks_w_05_what_is_signed_is_id_time_and_body_as_received() {
    let good = v1(ID, &now(), BODY);
    assert_eq!(sent(ID, &now(), &good, BODY), Ok(0));
    let spaced = br#"{"type": "invoice.paid", "data": {"id": 1}}"#;
    assert!(
        sent(ID, &now(), &good, spaced).is_err(),
        "the same JSON in other bytes"
    );
    assert!(sent("msg_other", &now(), &good, BODY).is_err());
    let later = (NOW_S + 1).to_string();
    assert!(sent(ID, &later, &good, BODY).is_err());
    let mut mac = Hmac::<Sha256>::new_from_slice(&KEY).expect("any key");
    mac.update(BODY);
    let body_only = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    assert!(sent(ID, &now(), &body_only, BODY).is_err());
}

#[test]
fn webhooks_w_06_no_dot_can_be_moved_between_the_parts() {
    // The bytes that are signed are the same, their parts are not.
    let time = now();
    let good = v1("a.1", &time, b"x");
    assert_eq!(
        content("a.1", &time, b"x"),
        content("a", &format!("1.{time}"), b"x")
    );
    assert!(sent("a", &format!("1.{time}"), &good, b"x").is_err());
    let good = v1("a", &time, b"9.x");
    assert!(sent("a", &format!("{time}.9"), &good, b"x").is_err());
}

#[test]
fn webhooks_w_07_attempts_share_the_id_and_have_their_own_time() {
    let mut keys = Vec::new();
    for after_s in [0, 5, 200] {
        let time = (NOW_S - 200 + after_s).to_string();
        let fields = headers(ID, &time, &v1(ID, &time, BODY));
        assert_eq!(verify(&fields, BODY, &[symmetric()]), Ok(0));
        keys.push(key_of(&fields));
    }
    assert!(keys.iter().all(|key| *key == keys[0]));
}

fn key_of(headers: &Headers) -> String {
    let document = Document::new(Some("application/json"), BODY);
    let from = KeySource {
        headers,
        target: "/hooks/standard",
        document: &document,
        material: None,
    };
    key::extract(&pack().keys, &from).expect("a key")
}

#[test]
fn webhooks_w_08_symmetric_signatures_are_hmac_sha256_of_a_base64_secret() {
    assert_eq!(pack().scheme.key_form(), KeyForm::WhsecOrWhpk);
    for length in [24, 32, 64] {
        let key = vec![5; length];
        let fields = headers(ID, &now(), &v1_with(&key, ID, &now(), BODY));
        assert_eq!(
            verify(&fields, BODY, &[secret(&shown(&key))]),
            Ok(0),
            "{length} bytes"
        );
    }
    // The text itself is not the key.
    let text = shown(&KEY);
    let fields = headers(ID, &now(), &v1_with(text.as_bytes(), ID, &now(), BODY));
    assert!(verify(&fields, BODY, &[symmetric()]).is_err());
}

#[test]
fn webhooks_w_09_asymmetric_signatures_are_ed25519() {
    let (private, public) = pair();
    let of = |id: &str| {
        let signature = private.sign(&content(id, &now(), BODY)).to_bytes();
        format!("v1a,{}", STANDARD.encode(signature))
    };
    assert_eq!(
        verify(
            &headers(ID, &now(), &of(ID)),
            BODY,
            std::slice::from_ref(&public)
        ),
        Ok(0)
    );
    assert!(
        verify(
            &headers(ID, &now(), &of("msg_other")),
            BODY,
            std::slice::from_ref(&public)
        )
        .is_err()
    );
    let other = SigningKey::from_bytes(&[8; 32]).sign(&content(ID, &now(), BODY));
    let other = format!("v1a,{}", STANDARD.encode(other.to_bytes()));
    assert!(verify(&headers(ID, &now(), &other), BODY, &[public]).is_err());
    // The private half has no business here.
    let private = format!("whsk_{}", STANDARD.encode([9; 32]));
    let fault = Secret::read(&private, KeyForm::WhsecOrWhpk);
    assert!(matches!(fault, Err(SecretFault::PrivateKey)), "{fault:?}");
}

#[test]
fn webhooks_w_10_a_key_of_another_endpoint_does_not_open_this_one() {
    let other = secret(&shown(&[6; 32]));
    let fields = headers(ID, &now(), &v1(ID, &now(), BODY));
    assert_eq!(verify(&fields, BODY, &[symmetric()]), Ok(0));
    assert!(verify(&fields, BODY, &[other]).is_err());
}

#[test]
fn webhooks_w_11_keys_rotate_while_both_are_in_use() {
    let (old, new) = (secret(&shown(&[6; 32])), symmetric());
    let by_old = v1_with(&[6; 32], ID, &now(), BODY);
    let by_new = v1(ID, &now(), BODY);
    let both = format!("{by_old} {by_new}");
    let ours = [old.clone(), new.clone()];
    assert_eq!(verify(&headers(ID, &now(), &by_old), BODY, &ours), Ok(0));
    assert_eq!(verify(&headers(ID, &now(), &by_new), BODY, &ours), Ok(1));
    // The sender signs with both: whichever we have will do.
    for ours in [[old], [new]] {
        assert_eq!(verify(&headers(ID, &now(), &both), BODY, &ours), Ok(0));
    }
}

/// Every delivery without one field.
fn without(name: &str) -> Result<usize, Refusal> {
    let mut fields = headers(ID, &now(), &v1(ID, &now(), BODY));
    fields.remove(name);
    verify(&fields, BODY, &[symmetric()])
}

#[test]
fn webhooks_w_12_the_id_is_wanted_in_any_spelling_of_its_name() {
    let fields: Headers = [
        ("Webhook-ID", ID),
        ("WEBHOOK-TIMESTAMP", &now()),
        ("Webhook-Signature", &v1(ID, &now(), BODY)),
    ]
    .into_iter()
    .collect();
    assert_eq!(verify(&fields, BODY, &[symmetric()]), Ok(0));
    assert!(without("webhook-id").is_err());
}

#[test]
fn webhooks_w_13_the_time_is_in_whole_seconds() {
    assert!(without("webhook-timestamp").is_err());
    let long = (NOW_S * 1_000).to_string();
    for time in [
        "",
        "now",
        "1796000000.0",
        "0x6b0c5a00",
        "+1796000000",
        "-5",
        " 1796000000x",
        &long,
    ] {
        assert!(
            sent(ID, time, &v1(ID, time, BODY), BODY).is_err(),
            "{time:?}"
        );
    }
}

#[test]
fn webhooks_w_14_signatures_are_a_list_of_version_and_base64() {
    let good = v1(ID, &now(), BODY);
    for signature in [
        good.clone(),
        format!("v1,AAAA {good}"),
        format!("{good} v1,AAAA"),
    ] {
        assert_eq!(sent(ID, &now(), &signature, BODY), Ok(0), "{signature}");
    }
    let bare = good.trim_start_matches("v1,").to_owned();
    for signature in [
        "",
        "v1",
        "v1,",
        &bare,
        &format!("v1={bare}"),
        &format!("v1,v1,{bare}"),
    ] {
        assert!(sent(ID, &now(), signature, BODY).is_err(), "{signature}");
    }
    // Svix's names mean the same.
    let svix: Headers = [
        ("svix-id", ID),
        ("svix-timestamp", &now()),
        ("svix-signature", &good),
    ]
    .into_iter()
    .collect();
    assert_eq!(verify(&svix, BODY, &[symmetric()]), Ok(0));
}

#[test]
fn webhooks_w_15_each_signature_is_tried_with_each_key_and_unknown_versions_are_skipped() {
    let (private, public) = pair();
    let good = v1(ID, &now(), BODY);
    let a = private.sign(&content(ID, &now(), BODY)).to_bytes();
    let a = format!("v1a,{}", STANDARD.encode(a));
    let wrong = v1_with(&[1; 32], ID, &now(), BODY);
    let ours = [secret(&shown(&[6; 32])), public, symmetric()];
    for (list, want) in [
        (format!("v9,AAAA {wrong} {good}"), 2),
        (format!("{a} v2,zzzz"), 1),
        (format!("v1b,??? {good}"), 2),
    ] {
        assert_eq!(
            verify(&headers(ID, &now(), &list), BODY, &ours),
            Ok(want),
            "{list}"
        );
    }
    for none in ["v9,AAAA", &wrong, "v2,AAAA v3,BBBB"] {
        assert!(
            verify(&headers(ID, &now(), none), BODY, &ours).is_err(),
            "{none}"
        );
    }
}

#[test]
fn webhooks_w_16_no_part_of_a_signature_is_enough() {
    let good = v1(ID, &now(), BODY);
    let bytes = STANDARD
        .decode(good.trim_start_matches("v1,"))
        .expect("base64");
    for length in 0..bytes.len() {
        let cut = format!("v1,{}", STANDARD.encode(&bytes[..length]));
        assert!(sent(ID, &now(), &cut, BODY).is_err(), "{length} bytes");
    }
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1;
        let other = format!("v1,{}", STANDARD.encode(other));
        assert!(sent(ID, &now(), &other, BODY).is_err(), "byte {at}");
    }
}

#[test]
fn webhooks_w_17_a_key_that_comes_with_the_request_is_not_used() {
    let own = [1; 32];
    let mut fields = headers(ID, &now(), &v1_with(&own, ID, &now(), BODY));
    fields.push("webhook-secret", shown(&own));
    fields.push("webhook-key", format!("whpk_{}", STANDARD.encode(own)));
    assert!(verify(&fields, BODY, &[symmetric()]).is_err());
    assert!(
        verify(&fields, BODY, &[]).is_err(),
        "no key of ours: closed"
    );
}

#[test]
fn webhooks_w_18_a_public_key_is_never_a_shared_secret() {
    let (private, public) = pair();
    let known_to_all = private.verifying_key().to_bytes();
    let forged = v1_with(&known_to_all, ID, &now(), BODY);
    assert!(verify(&headers(ID, &now(), &forged), BODY, &[public]).is_err());
    // Nor the other way round.
    let signed = private.sign(&content(ID, &now(), BODY)).to_bytes();
    let signed = format!("v1a,{}", STANDARD.encode(signed));
    assert!(sent(ID, &now(), &signed, BODY).is_err());
}

#[test]
fn webhooks_w_19_the_time_is_near_ours_both_ways() {
    let at = |time: u64| {
        let time = time.to_string();
        sent(ID, &time, &v1(ID, &time, BODY), BODY).is_ok()
    };
    assert!(at(NOW_S - 300) && at(NOW_S + 300));
    assert!(!at(NOW_S - 301) && !at(NOW_S + 301));
    assert!(!at(0) && !at(u64::MAX));
}

#[test]
fn webhooks_w_20_the_id_is_the_key() {
    assert_eq!(key_of(&headers(ID, "1", "v1,x")), ID);
    assert!(pack().key_is_signed);
}

#[test]
fn webhooks_w_21_edge_cases_of_the_reference_libraries() {
    // An empty secret is a fault of the configuration.
    for empty in ["", &["wh", "sec_"].concat()] {
        assert!(
            Secret::read(empty, KeyForm::WhsecOrWhpk).is_err(),
            "{empty:?}"
        );
    }
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        assert!(without(name).is_err(), "{name}");
    }
    // An empty body is a body.
    assert_eq!(sent(ID, &now(), &v1(ID, &now(), b""), b""), Ok(0));
    // With the prefix or without, padded or not.
    let plain = STANDARD.encode(KEY);
    let unpadded = STANDARD_NO_PAD.encode(KEY);
    let forms = [
        shown(&KEY),
        plain,
        ["wh", "sec_", &unpadded].concat(),
        unpadded,
    ];
    for form in forms {
        let fields = headers(ID, &now(), &v1(ID, &now(), BODY));
        assert_eq!(verify(&fields, BODY, &[secret(&form)]), Ok(0));
    }
    assert!(matches!(pack().scheme, Scheme::StandardWebhooks { .. }));
}
