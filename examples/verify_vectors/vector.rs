//! One vector, and what the verifiers say about it.

use super::guess;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use onceward::types::Headers;
use onceward::webhook::handshake::{Handshake, before_signature};
use onceward::webhook::{Arrival, KeyForm, Scheme, Secret};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A delivery, the configuration it meets, and what should come of it. Fields that are not known are
/// ignored, and any but `expect` may be missing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Vector {
    #[serde(deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub provider: String,
    pub method: Option<String>,
    /// The public address that is configured.
    pub url: Option<String>,
    /// The address on which it comes in, where that differs.
    pub request_url: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub headers: Vec<(String, String)>,
    pub body_b64: Option<String>,
    /// A text, and how often it is repeated.
    pub body_repeat: Option<(String, usize)>,
    pub body_text: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub secrets: Vec<String>,
    pub secret_encoding: Option<String>,
    /// Seconds since 1970; `None` if the scheme has no time.
    pub now: Option<f64>,
    pub tolerance_s: Option<u64>,
    /// `accept`, `reject` or `either`.
    #[serde(deserialize_with = "or_default")]
    pub expect: String,
}

/// `null` is as good as a field that is not there.
fn or_default<'de, D, T>(value: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(value).map(Option::unwrap_or_default)
}

/// What came of a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accept,
    /// With the reason.
    Reject(String),
    Unmapped,
}

impl Verdict {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject(_) => "reject",
            Self::Unmapped => "unmapped",
        }
    }

    pub fn why(&self) -> &str {
        match self {
            Self::Accept => "the signature holds",
            Self::Reject(why) => why,
            Self::Unmapped => "its headers fit no scheme",
        }
    }
}

/// Reads a file: a list of vectors, or an object with such a list.
pub fn read(text: &str) -> Result<Vec<Vector>, String> {
    let all: Value = serde_json::from_str(text).map_err(|why| format!("not JSON: {why}"))?;
    let list = match all {
        Value::Array(list) => list,
        Value::Object(members) => members
            .into_iter()
            .find_map(|(_, member)| match member {
                Value::Array(list) => Some(list),
                _ => None,
            })
            .ok_or("wanted a list of vectors")?,
        _ => return Err("wanted a list of vectors".to_owned()),
    };
    list.into_iter()
        .enumerate()
        .map(|(index, value)| {
            serde_json::from_value(value).map_err(|why| format!("vector {index}: {why}"))
        })
        .collect()
}

impl Vector {
    /// True if the verdict is another than the one that was wanted.
    pub fn differs(&self, verdict: &Verdict) -> bool {
        self.expect != "either" && *verdict != Verdict::Unmapped && verdict.word() != self.expect
    }

    /// The body's exact bytes.
    pub fn body(&self) -> Result<Vec<u8>, String> {
        if let Some(text) = &self.body_b64 {
            return STANDARD
                .decode(text)
                .map_err(|why| format!("body_b64: {why}"));
        }
        if let Some((text, times)) = &self.body_repeat {
            return Ok(text.repeat(*times).into_bytes());
        }
        Ok(self.body_text.clone().unwrap_or_default().into_bytes())
    }

    pub fn all_headers(&self) -> Headers {
        self.headers.iter().cloned().collect()
    }

    /// The secrets, as the scheme or the vector says that they are written.
    pub fn all_secrets(&self, scheme: &Scheme) -> Result<Vec<Secret>, String> {
        let form = match scheme.key_form() {
            form @ KeyForm::WhsecOrToken => form,
            _ => self.key_form(),
        };
        let read =
            |text: &String| Secret::read(text, form).map_err(|why| format!("a secret {why}"));
        self.secrets.iter().map(read).collect()
    }

    fn key_form(&self) -> KeyForm {
        let words = self.secret_encoding.as_deref().unwrap_or_default();
        let words = words.to_ascii_lowercase();
        let has = |word: &str| words.contains(word);
        if has("whsec") || has("whpk") {
            KeyForm::WhsecOrWhpk
        } else if has("spki") || has("subjectpublickeyinfo") {
            KeyForm::SpkiBase64
        } else if has("ed25519") && has("base64") {
            KeyForm::Ed25519Base64
        } else if has("ed25519") {
            KeyForm::Ed25519Hex
        } else if has("base64") {
            KeyForm::Base64
        } else if has("hex") {
            KeyForm::Hex
        } else {
            KeyForm::Text
        }
    }

    /// What the verifiers say.
    pub fn judge(&self) -> Verdict {
        let Some(scheme) = guess::scheme(self) else {
            return Verdict::Unmapped;
        };
        match self.check(&scheme) {
            Ok(()) => Verdict::Accept,
            Err(why) => Verdict::Reject(why),
        }
    }

    fn check(&self, scheme: &Scheme) -> Result<(), String> {
        let secrets = self.all_secrets(scheme)?;
        let (headers, body) = (self.all_headers(), self.body()?);
        let target = self.target();
        let arrival = Arrival {
            method: self.method.as_deref().unwrap_or("POST"),
            target: &target,
            public_url: self.url.as_deref(),
            headers: &headers,
            body: &body,
            now_ms: self.now_ms(),
        };
        let unsigned = [
            Handshake::MetaVerify,
            Handshake::XCrc,
            Handshake::GraphToken,
        ];
        let mut handshakes = guess::pack(&self.provider).map_or(Vec::new(), |pack| pack.handshakes);
        handshakes.retain(|handshake| unsigned.contains(handshake));
        let proved = match before_signature(&handshakes, &arrival, &secrets, secrets.first()) {
            Some(answered) => answered.map(|_| ()),
            None => scheme.verify(&arrival, &secrets).map(|_| ()),
        };
        proved.map_err(|refusal| refusal.to_string())
    }

    /// Path and query of the address on which it comes in.
    pub fn target(&self) -> String {
        let url = self.request_url.as_ref().or(self.url.as_ref());
        let path = url.and_then(|url| {
            let (_, rest) = url.split_once("://")?;
            rest.find(['/', '?']).map(|at| rest[at..].to_owned())
        });
        path.unwrap_or_else(|| "/hooks/vectors".to_owned())
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Times of our century.
    pub fn now_ms(&self) -> u64 {
        (self.now.unwrap_or_default() * 1_000.0) as u64
    }
}
