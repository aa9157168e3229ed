//! Packs: `PACK METHOD TARGET`, fields, body. What they read is the sender's; a delivery that is signed
//! here, as the pack says, is accepted, and no copy of it that differs in anything.

use super::input::{hex, sha256_hex, written};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use onceward::types::Headers;
use onceward::types::time::rfc3339;
use onceward::webhook::key::extract;
use onceward::webhook::scheme::{Algorithm, Encoding, Form, Part, Timestamp, TimestampAt, Unit};
use onceward::webhook::{
    Arrival, Document, KeyForm, KeySource, Pack, Proof, Refusal, Scheme, Secret, packs,
};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

const NOW_MS: u64 = 1_700_000_000_000;
const URL: &str = "https://example.com/hooks/a";
/// RFC 8032, test 2: nothing in the corpus is signed by it.
const ED25519: [u8; 32] = [
    0x3d, 0x40, 0x17, 0xc3, 0xe8, 0x43, 0x89, 0x5a, 0x92, 0xb7, 0x0a, 0xa7, 0x4d, 0x1b, 0x7e, 0xbc,
    0x9c, 0x98, 0x2c, 0xcf, 0x2e, 0xc4, 0x96, 0x8c, 0xc0, 0xcd, 0x55, 0xf1, 0x2a, 0xf4, 0x66, 0x0c,
];
const P256: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";

pub fn check(data: &[u8]) {
    let request = written(data);
    let mut words = request.first.splitn(3, ' ');
    let name = words.next().unwrap_or_default();
    let method = words.next().unwrap_or("POST");
    let target = words.next().unwrap_or("/hooks/a");
    let names: Vec<&str> = packs::names().collect();
    let any = names[usize::from(data.first().copied().unwrap_or(0)) % names.len()];
    let pack = packs::by_name(name).or_else(|| packs::by_name(any));
    let pack = pack.expect("a pack that is named");
    let arrival = Arrival {
        method,
        target,
        public_url: Some(URL),
        headers: &request.headers,
        body: &request.body,
        now_ms: NOW_MS,
    };
    // Nobody can write down the secrets of these very bytes.
    let hash = sha256_hex(data);
    let texts = [
        text_of(pack.scheme.key_form(), &hash),
        text_of(pack.scheme.key_form(), &sha256_hex(hash.as_bytes())),
    ];
    let secrets = texts
        .each_ref()
        .map(|text| Secret::read(text, pack.scheme.key_form()).expect("a secret"));
    received(&pack, &arrival, &secrets, &hash);
    for (index, text) in texts.iter().enumerate() {
        if let Some(headers) = sign(&pack.scheme, &arrival, text, NOW_MS) {
            sent(&pack.scheme, &arrival, &headers, &secrets, index, text);
        }
    }
}

/// A secret in the form that the scheme wants.
fn text_of(form: KeyForm, hash: &str) -> String {
    let base64 = STANDARD.encode(&hash[..32]);
    match form {
        KeyForm::Base64 => base64,
        KeyForm::Whsec | KeyForm::WhsecOrWhpk => format!("whsec_{base64}"),
        KeyForm::Text | KeyForm::Hex | KeyForm::WhsecOrToken => hash.to_owned(),
        KeyForm::Ed25519Hex => hex(&ED25519),
        KeyForm::Ed25519Base64 => STANDARD.encode(ED25519),
        KeyForm::SpkiBase64 => P256.to_owned(),
    }
}

/// What anybody may have sent: refused, and everything else that is read of it survives it.
fn received(pack: &Pack, arrival: &Arrival<'_>, secrets: &[Secret], hash: &str) {
    assert!(
        pack.scheme.verify(arrival, &[]).is_err(),
        "without a secret"
    );
    let refusal = pack.scheme.verify(arrival, secrets).expect_err("unsigned");
    let shown = format!("{refusal} {refusal:?}");
    assert!(!shown.contains(&hash[..16]), "{shown}");
    assert!(!shown.contains('\n') && shown.len() < 500, "{shown}");
    let media = arrival.headers.get("content-type");
    let document = Document::new(media, arrival.body);
    let from = KeySource {
        headers: arrival.headers,
        target: arrival.target,
        document: &document,
        material: Some([7; 32]),
    };
    match extract(&pack.keys, &from) {
        Ok(key) => {
            assert!((1..=255).contains(&key.len()), "{} characters", key.len());
            assert!(key.bytes().all(|b| b.is_ascii_graphic()), "{key:?}");
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
    let by = |_| {
        pack.fingerprint
            .of(arrival.method, arrival.target, &document)
    };
    assert_eq!(by(0), by(1), "the same again");
}

/// What the provider has sent: accepted, and no altered copy of it.
fn sent(
    scheme: &Scheme,
    arrival: &Arrival<'_>,
    headers: &Headers,
    secrets: &[Secret],
    index: usize,
    text: &str,
) {
    let signed = Arrival {
        headers,
        ..*arrival
    };
    let proof = scheme.verify(&signed, secrets).expect("signed");
    assert_eq!(proof.secret, Some(index));
    let is = |arrival: &Arrival<'_>| -> Result<Proof, Refusal> { scheme.verify(arrival, secrets) };
    if let Some(tolerance_s) = scheme.tolerance_s().flatten() {
        let at = |now_ms| is(&Arrival { now_ms, ..signed });
        let far_ms = (tolerance_s + 1) * 1_000;
        assert_eq!(at(NOW_MS + far_ms - 1_000).ok(), Some(proof));
        assert!(matches!(at(NOW_MS + far_ms), Err(Refusal::TooOld { .. })));
        assert!(matches!(
            at(NOW_MS - far_ms),
            Err(Refusal::FromFuture { .. })
        ));
        // The provider's next try is the same delivery.
        let again = sign(scheme, arrival, text, NOW_MS + 2_000).expect("signed before");
        let again = is(&Arrival {
            headers: &again,
            ..signed
        });
        assert_eq!(again.map(|p| p.material), Ok(proof.material));
    }
    if scheme.covers_body() {
        let longer = [arrival.body, b"x"].concat();
        assert!(
            is(&Arrival {
                body: &longer,
                ..signed
            })
            .is_err()
        );
        if let Some((last, shorter)) = arrival.body.split_last() {
            let other = [shorter, &[last ^ 1]].concat();
            assert!(
                is(&Arrival {
                    body: &other,
                    ..signed
                })
                .is_err()
            );
        }
    }
    for (name, value) in headers
        .iter()
        .filter(|(n, _)| scheme.header_names().iter().any(|h| h == n))
    {
        let altered = |change: &dyn Fn(&mut Headers)| {
            let mut headers = headers.clone();
            change(&mut headers);
            let got = is(&Arrival {
                headers: &headers,
                ..signed
            });
            assert!(got.is_err(), "{name}: {got:?}");
        };
        altered(&|h| h.remove(name));
        altered(&|h| h.push(name, value));
        altered(&|h| h.push(name, "x"));
        altered(&|h| h.set(name, format!("{value}x")));
    }
}

/// The fields of a delivery as its provider signs it, where that can be told from the declaration.
fn sign(scheme: &Scheme, arrival: &Arrival<'_>, text: &str, at_ms: u64) -> Option<Headers> {
    let mut headers = arrival.headers.clone();
    for name in scheme.header_names() {
        headers.remove(&name);
    }
    match scheme {
        Scheme::Form(form) => {
            let key = form.key == KeyForm::Text;
            form_fields(key.then_some(form)?, arrival, text, at_ms, &mut headers)?;
        }
        Scheme::StandardWebhooks { .. } => {
            let key = STANDARD.decode(text.strip_prefix("whsec_")?).ok()?;
            let time = (at_ms / 1_000).to_string();
            let parts: [&[u8]; 4] = [b"id-1.", time.as_bytes(), b".", arrival.body];
            let digest = STANDARD.encode(digest(Algorithm::HmacSha256, &key, &parts)?);
            headers.push("webhook-id", "id-1");
            headers.push("webhook-timestamp", time.as_str());
            headers.push("webhook-signature", format!("v1,{digest}"));
        }
        _ => return None,
    }
    Some(headers)
}

fn form_fields(
    form: &Form,
    arrival: &Arrival<'_>,
    text: &str,
    at_ms: u64,
    headers: &mut Headers,
) -> Option<()> {
    let time = time_of(form.timestamp.as_ref(), at_ms)?;
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in form.template.parts() {
        parts.push(match part {
            Part::Text(text) => text.as_bytes(),
            Part::Timestamp => time.as_bytes(),
            Part::Id => b"id-1",
            Part::Body => arrival.body,
            Part::Url => URL.as_bytes(),
            Part::Method => arrival.method.as_bytes(),
        });
    }
    let digest = digest(form.algorithm, text.as_bytes(), &parts)?;
    let digits = match form.encoding {
        Encoding::Hex => hex(&digest),
        Encoding::Base64 => STANDARD.encode(&digest),
    };
    let mut value = format!("{}{digits}", form.prefix);
    match form.timestamp.as_ref().map(|t| &t.at) {
        Some(TimestampAt::Header(name)) => headers.push(name, time.as_str()),
        Some(TimestampAt::Pair(name)) => {
            let separator = form.list_separator.unwrap_or(',');
            value = format!("{name}={time}{separator}{value}");
        }
        Some(TimestampAt::Body(_)) | None => {}
    }
    if let Some(name) = &form.id_header {
        headers.push(name, "id-1");
    }
    headers.push(&form.header, value);
    Some(())
}

/// The time as text; `None` where it stands in the body, which is the fuzzer's.
fn time_of(timestamp: Option<&Timestamp>, at_ms: u64) -> Option<String> {
    let Some(timestamp) = timestamp else {
        return Some(String::new());
    };
    if matches!(timestamp.at, TimestampAt::Body(_)) {
        return None;
    }
    Some(match timestamp.unit {
        Unit::Seconds => (at_ms / 1_000).to_string(),
        Unit::Milliseconds => at_ms.to_string(),
        Unit::Rfc3339 => rfc3339(at_ms),
    })
}

fn digest(algorithm: Algorithm, key: &[u8], parts: &[&[u8]]) -> Option<Vec<u8>> {
    macro_rules! hmac {
        ($hash:ty) => {{
            let mut mac = Hmac::<$hash>::new_from_slice(key).expect("any key");
            for part in parts {
                mac.update(part);
            }
            mac.finalize().into_bytes().to_vec()
        }};
    }
    Some(match algorithm {
        Algorithm::HmacSha1 => hmac!(Sha1),
        Algorithm::HmacSha256 => hmac!(Sha256),
        Algorithm::HmacSha512 => hmac!(Sha512),
        _ => return None,
    })
}
