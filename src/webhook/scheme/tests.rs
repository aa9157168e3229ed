//! GitHub's vectors, and what becomes of them when one thing about them is changed.

use super::*;
use crate::types::Headers;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vector {
    id: String,
    headers: Vec<(String, String)>,
    body_b64: String,
    secrets: Vec<String>,
    expect: String,
}

impl Vector {
    fn headers(&self) -> Headers {
        self.headers.iter().cloned().collect()
    }
    fn body(&self) -> Vec<u8> {
        STANDARD.decode(&self.body_b64).expect("base64")
    }
    fn secrets(&self) -> Vec<Secret> {
        let secret = |text: &String| Secret::new(text).expect("secret");
        self.secrets.iter().map(secret).collect()
    }
}

fn vectors() -> Vec<Vector> {
    let text = include_str!("../../../tests/native/webhook/vectors/github.json");
    serde_json::from_str(text).expect("vectors")
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

fn verify(headers: &Headers, body: &[u8], secrets: &[Secret]) -> Result<Option<usize>, Refusal> {
    let proof = Scheme::github().verify(&arrival(headers, body), secrets);
    proof.map(|proof| proof.secret)
}

#[test]
fn vectors_hold() {
    let mut seen = [0, 0];
    for v in vectors() {
        let got = verify(&v.headers(), &v.body(), &v.secrets());
        let want = v.expect == "accept";
        assert_eq!(got.is_ok(), want, "{}: {got:?}", v.id);
        seen[usize::from(want)] += 1;
    }
    assert_eq!(seen, [6, 7], "refused and accepted vectors");
}

#[test]
fn changed_copies_are_refused() {
    for v in vectors().iter().filter(|v| v.expect == "accept") {
        let (headers, body, secrets) = (v.headers(), v.body(), v.secrets());
        let good = headers.get("x-hub-signature-256").expect("signature");
        let digits = &good["sha256=".len()..];

        let mut longer = body.clone();
        longer.push(b' ');
        assert_eq!(verify(&headers, &longer, &secrets), Err(Refusal::Mismatch));
        for bit in 0..body.len() * 8 {
            let mut other = body.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verify(&headers, &other, &secrets), Err(Refusal::Mismatch));
        }
        for place in 0..digits.len() {
            let mut other = good.to_owned().into_bytes();
            let digit = &mut other["sha256=".len() + place];
            *digit = if *digit == b'0' { b'1' } else { b'0' };
            let other = String::from_utf8(other).expect("ASCII");
            let headers = [("x-hub-signature-256", other)].into_iter().collect();
            assert_eq!(verify(&headers, &body, &secrets), Err(Refusal::Mismatch));
        }
        let shapes = [
            String::new(),
            "sha256=".to_owned(),
            digits.to_owned(),
            format!("sha1={digits}"),
            format!("SHA256={digits}"),
            format!("sha256={}", digits.to_uppercase()),
            format!("sha256={digits}0"),
            format!("sha256={}", &digits[1..]),
            format!("sha256= {digits}"),
            format!(" {good}"),
            format!("{good} "),
            format!("{good}, {good}"),
            format!("sha256={}", "é".repeat(32)),
            format!("sha256={}", "0".repeat(100_000)),
        ];
        for shape in shapes {
            let headers = [("X-Hub-Signature-256", shape.as_str())]
                .into_iter()
                .collect();
            let got = verify(&headers, &body, &secrets);
            assert!(
                matches!(got, Err(Refusal::Malformed { .. })),
                "{}: {shape:?}: {got:?}",
                v.id
            );
        }
    }
}

#[test]
fn a_repeated_field_is_refused_even_if_each_is_right() {
    let v = &vectors()[0];
    let mut headers = v.headers();
    let good = headers
        .get("x-hub-signature-256")
        .expect("there")
        .to_owned();
    headers.push("X-HUB-Signature-256", good);
    let got = verify(&headers, &v.body(), &v.secrets());
    assert!(matches!(got, Err(Refusal::Malformed { .. })), "{got:?}");
}

#[test]
fn any_of_several_secrets_will_do_and_none_will_not() {
    let v = &vectors()[0];
    let [old, new] = ["old", v.secrets[0].as_str()].map(|s| Secret::new(s).expect("secret"));
    let check = |secrets: &[Secret]| verify(&v.headers(), &v.body(), secrets);
    assert_eq!(check(&[old.clone(), new.clone()]), Ok(Some(1)));
    assert_eq!(check(&[new.clone(), old.clone()]), Ok(Some(0)));
    assert_eq!(check(&[new.clone(), new]), Ok(Some(0)));
    assert_eq!(check(&[old]), Err(Refusal::Mismatch));
    assert_eq!(check(&[]), Err(Refusal::NoSecret));
}

#[test]
fn the_scheme_none_asks_for_nothing() {
    let headers = Headers::default();
    let proof = Scheme::None.verify(&arrival(&headers, b"x"), &[]);
    assert_eq!(proof, Ok(Proof::default()));
    assert!(!Scheme::None.is_signed());
    assert!(Scheme::github().is_signed());
}

#[test]
fn reasons_hold_no_values() {
    let headers = [("x-hub-signature-256", "SEC-1")].into_iter().collect();
    let secrets = [Secret::new("SEC-2").expect("secret")];
    let refusal = verify(&headers, b"SEC-3", &secrets).expect_err("malformed");
    assert!(!format!("{refusal} {refusal:?}").contains("SEC-"));
}
