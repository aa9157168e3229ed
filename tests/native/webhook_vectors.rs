//! Signature vectors, and what becomes of them when one thing about them is changed.

#[path = "../../examples/verify_vectors/guess.rs"]
mod guess;
#[path = "../../examples/verify_vectors/vector.rs"]
mod vector;

use onceward::types::Headers;
use onceward::webhook::{Arrival, KeyForm, Proof, Refusal, Scheme, Secret, packs};
use proptest::prelude::*;
use std::collections::BTreeSet;
use url::form_urlencoded;
use vector::{Vector, Verdict};

fn vectors() -> Vec<Vector> {
    let text = include_str!("webhook/vectors/signatures.json");
    vector::read(text).expect("vectors")
}

/// Deliveries that are accepted because of a signature, not as a question of the provider's.
fn signed() -> impl Iterator<Item = Case> {
    let accepted = vectors().into_iter().filter(|v| v.expect == "accept");
    accepted.map(Case::of).filter(|case| case.verify().is_ok())
}

/// A vector taken apart, so that one part can be changed.
#[derive(Clone)]
struct Case {
    id: String,
    scheme: Scheme,
    headers: Headers,
    body: Vec<u8>,
    secrets: Vec<Secret>,
    method: String,
    url: Option<String>,
    target: String,
    now_ms: u64,
}

impl Case {
    fn of(v: Vector) -> Self {
        let scheme = guess::scheme(&v).expect("a scheme");
        Self {
            headers: v.all_headers(),
            body: v.body().expect("a body"),
            secrets: v.all_secrets(&scheme).expect("secrets"),
            method: v.method.clone().unwrap_or_else(|| "POST".to_owned()),
            target: v.target(),
            now_ms: v.now_ms(),
            url: v.url,
            id: v.id,
            scheme,
        }
    }

    fn verify(&self) -> Result<Proof, Refusal> {
        let arrival = Arrival {
            method: &self.method,
            target: &self.target,
            public_url: self.url.as_deref(),
            headers: &self.headers,
            body: &self.body,
            now_ms: self.now_ms,
        };
        self.scheme.verify(&arrival, &self.secrets)
    }

    fn refused(&self, what: &str) -> Refusal {
        let got = self.verify();
        got.expect_err(&format!("{}: {what}", self.id))
    }

    /// Whether a change of the body must show.
    fn covers_body(&self) -> bool {
        let standard = self.headers.get("webhook-signature").is_some();
        self.scheme.covers_body() || standard
    }

    /// Headers that are signatures or are signed.
    fn telling_headers(&self) -> Vec<(String, String)> {
        let names = self.scheme.header_names();
        let all = self.headers.iter();
        all.filter(|(name, _)| names.iter().any(|n| n == name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// Whether each signature that it carries is needed.
    fn has_one_signature(&self) -> bool {
        let signature = |name: &str| name.contains("signature");
        let lists = self.telling_headers();
        !lists.iter().any(|(name, value)| {
            signature(name)
                && (value.matches("v1").count() > 1
                    || value.contains("dummy")
                    || value.contains("v0=") && value.contains(",v"))
        })
    }

    fn with_header(&self, name: &str, value: String) -> Self {
        let mut case = self.clone();
        case.headers.set(name, value);
        case
    }

    /// What a form means, for schemes that sign that instead of the bytes.
    fn meaning(&self) -> Option<BTreeSet<(String, String)>> {
        let form = form_urlencoded::parse(&self.body).into_owned();
        (self.scheme == Scheme::Twilio).then(|| form.collect())
    }
}

#[test]
fn vectors_are_accepted_or_refused_as_they_say() {
    let mut seen = [0, 0];
    for v in vectors() {
        let verdict = v.judge();
        assert_ne!(verdict, Verdict::Unmapped, "{}", v.id);
        assert!(!v.differs(&verdict), "{}: {}", v.id, verdict.why());
        seen[usize::from(verdict == Verdict::Accept)] += 1;
    }
    assert_eq!(seen, [53, 73], "refused and accepted");
}

#[test]
fn every_pack_has_a_vector() {
    let there: BTreeSet<String> = vectors().into_iter().map(|v| v.provider).collect();
    for name in packs::names() {
        assert!(there.contains(name), "{name}");
    }
}

#[test]
fn every_bit_of_a_body_counts() {
    for case in signed().filter(Case::covers_body) {
        let bits = case.body.len() * 8;
        // Every bit of a short body, and as many of a longer one.
        for bit in (0..bits).step_by(bits / 400 + 1) {
            let mut other = case.clone();
            other.body[bit / 8] ^= 1 << (bit % 8);
            if case.meaning().is_some() && other.meaning() == case.meaning() {
                assert!(
                    other.verify().is_ok(),
                    "{}: {bit}: it means the same",
                    case.id
                );
            } else {
                other.refused(&format!("bit {bit}"));
            }
        }
        let mut longer = case.clone();
        longer.body.push(b' ');
        longer.refused("a space more");
        let mut shorter = case.clone();
        if shorter.body.pop().is_some()
            && shorter.meaning() != case.meaning().filter(|m| !m.is_empty())
        {
            shorter.refused("a byte less");
        }
    }
}

#[test]
fn every_character_of_a_signature_counts() {
    for case in signed().filter(Case::has_one_signature) {
        for (name, value) in case.telling_headers() {
            for place in 0..value.len() {
                for other in [b'0', b'1', b'='] {
                    let mut bytes = value.clone().into_bytes();
                    if bytes[place] == other {
                        continue;
                    }
                    bytes[place] = other;
                    let text = String::from_utf8(bytes).expect("ASCII");
                    case.with_header(&name, text.clone())
                        .refused(&format!("{name}: {text}"));
                }
            }
        }
    }
}

#[test]
fn signatures_are_taken_in_one_spelling() {
    for case in signed().filter(Case::has_one_signature) {
        for (name, value) in case.telling_headers() {
            for other in [
                String::new(),
                format!(" {value}"),
                format!("{value} "),
                format!("{value}0"),
                format!("{value}, {value}"),
                value[1..].to_owned(),
                value[..value.len() - 1].to_owned(),
                value.to_uppercase(),
                "é".repeat(32),
                "0".repeat(100_000),
            ] {
                // Standard Webhooks has a list with spaces between, one of which may be too many.
                let is_spaced = name.ends_with("-signature") && value.starts_with("v1");
                if other != value && !(is_spaced && other.trim() == value) {
                    case.with_header(&name, other.clone())
                        .refused(&format!("{name}: {other}"));
                }
            }
            let mut twice = case.clone();
            twice.headers.push(&name.to_uppercase(), value.clone());
            let refusal = twice.refused("twice");
            assert!(
                matches!(refusal, Refusal::Malformed { .. }),
                "{}: {refusal}",
                case.id
            );
            let mut without = case.clone();
            without.headers.remove(&name);
            let refusal = without.refused("without");
            assert!(
                matches!(refusal, Refusal::Missing { .. }),
                "{}: {refusal}",
                case.id
            );
        }
    }
}

#[test]
fn other_secrets_are_refused_and_none_is_closed() {
    let key = |text: &str, form| Secret::read(text, form).expect("a key");
    let others = [
        key("another", KeyForm::Text),
        key("another", KeyForm::WhsecOrToken),
        key(
            &["wh", "sec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB"].concat(),
            KeyForm::Whsec,
        ),
        key(
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511b",
            KeyForm::Hex,
        ),
        key(
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            KeyForm::Ed25519Hex,
        ),
    ];
    for case in signed() {
        if case.id == "ed-01" {
            continue; // Its key is one of the others.
        }
        let mut other = case.clone();
        other.secrets = others.to_vec();
        other.refused("other secrets");
        other.secrets.extend(case.secrets.clone());
        let index = case.verify().expect("accepted").secret.expect("an index");
        let proof = other.verify().expect("the right one is there as well");
        assert_eq!(proof.secret, Some(index + others.len()), "{}", case.id);
        other.secrets.clear();
        assert_eq!(other.refused("no secret"), Refusal::NoSecret, "{}", case.id);
    }
}

#[test]
fn clocks_may_differ_by_the_tolerance_and_not_by_more() {
    let mut seen = 0;
    for case in signed() {
        let Some(Some(tolerance_s)) = case.scheme.tolerance_s() else {
            continue;
        };
        seen += 1;
        let at = |skew_s: i64| {
            let mut other = case.clone();
            other.now_ms = (case.now_ms / 1_000)
                .saturating_add_signed(skew_s)
                .saturating_mul(1_000);
            other
        };
        // Where the vector's clock stands exactly, or at an edge of the tolerance.
        let skew = |case: &Case| match case.verify() {
            Ok(_) => 0,
            Err(Refusal::TooOld { skew_s }) => i64::try_from(skew_s).expect("small"),
            Err(Refusal::FromFuture { skew_s }) => -i64::try_from(skew_s).expect("small"),
            Err(other) => panic!("{}: {other}", case.id),
        };
        let far = i64::try_from(tolerance_s).expect("small") * 10 + 1_000;
        let signed_ahead = skew(&at(far)) - far;
        let exactly = |skew_s: i64| at(skew_s - signed_ahead).verify();
        let tolerance = i64::try_from(tolerance_s).expect("small");
        assert!(exactly(tolerance).is_ok(), "{}", case.id);
        assert!(exactly(-tolerance).is_ok(), "{}", case.id);
        let skew_s = tolerance_s + 1;
        assert_eq!(
            exactly(tolerance + 1),
            Err(Refusal::TooOld { skew_s }),
            "{}",
            case.id
        );
        assert_eq!(
            exactly(-tolerance - 1),
            Err(Refusal::FromFuture { skew_s }),
            "{}",
            case.id
        );
        let mut any = at(far);
        any.scheme = any.scheme.with_tolerance(None);
        assert!(any.verify().is_ok(), "{}: any distance", case.id);
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn material_is_the_same_for_repeats_and_another_for_other_bodies() {
    let of = |id: &str| {
        let v = vectors().into_iter().find(|v| v.id == id).expect("there");
        Case::of(v).verify().expect("accepted").material
    };
    // The same message at another time, under other names, by the other version, and by another secret.
    assert_eq!(of("st-01"), of("st-05"));
    assert_eq!(of("sw-01"), of("sw-02"));
    assert_eq!(of("sw-01"), of("sw-22"));
    assert_eq!(of("st-30"), of("st-31"));
    assert_eq!(of("tw-11"), of("tw-01"), "the port may stand there or not");
    assert_ne!(of("st-01"), of("st-30"));
    assert_ne!(of("gh-01"), of("gh-02"));
    assert_ne!(of("sq-01"), of("sq-02"));
    assert_ne!(of("sw-01"), of("sw-38"), "an empty body");
    assert_eq!(of("ot-02"), None, "a token signs nothing");
    assert_eq!(of("mg-01"), of("mg-04"), "timestamp and token");
    assert!(of("gr-01").is_some(), "the body that holds the proof");
}

#[test]
fn reasons_hold_no_values() {
    for case in signed() {
        let names = case.scheme.header_names();
        let mut marked = case.clone();
        for name in &names {
            marked.headers.set(name, "SEC-1");
        }
        marked.body = br#"{"SEC-2":1,"value":[{"clientState":"SEC-3"}]}"#.to_vec();
        marked.secrets = vec![Secret::new("SEC-4").expect("a secret")];
        let refusal = marked.refused("marked");
        assert!(
            !format!("{refusal} {refusal:?}").contains("SEC-"),
            "{refusal}"
        );
    }
}

/// Bytes near to what is sent, and any others.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "(t=|ts=|v1=|v1a?,|h1=|v0=|sha256=|sha1=)?[0-9a-f]{0,130}",
        "(v1a?,[A-Za-z0-9+/]{0,90}={0,2}[ ,]{0,2}){0,20}",
        "[0-9]{0,22}",
        "\\{\"signature\":\\{\"timestamp\":\"?[0-9]{0,20}\"?,\"token\":\"a\",\"signature\":\"[0-9a-f]{60,66}\"\\}\\}",
    ]
}

proptest! {
    #[test]
    fn nothing_makes_a_verifier_panic_or_agree(
        values in proptest::collection::vec(value(), 6),
        body in prop_oneof![any::<Vec<u8>>(), value().prop_map(String::into_bytes)],
        url in proptest::option::of(value()),
        target in value(),
        kind in prop_oneof![Just("application/json".to_owned()), Just("application/x-www-form-urlencoded".to_owned()), value()],
        now_ms in any::<u64>(),
    ) {
        let secrets = [
            Secret::new("secret").expect("a secret"),
            Secret::read("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", KeyForm::Ed25519Hex).expect("a key"),
            Secret::read("token", KeyForm::WhsecOrToken).expect("a token"),
        ];
        for pack in packs::names().filter_map(packs::by_name) {
            let mut headers = Headers::default();
            for (name, value) in pack.scheme.header_names().iter().zip(&values) {
                headers.push(name, value.clone());
            }
            headers.push("content-type", kind.clone());
            let arrival = Arrival {
                method: "POST",
                target: &target,
                public_url: url.as_deref(),
                headers: &headers,
                body: &body,
                now_ms,
            };
            prop_assert!(pack.scheme.verify(&arrival, &secrets).is_err(), "{}", pack.name);
        }
    }
}
