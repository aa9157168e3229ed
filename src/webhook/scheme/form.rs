//! The generic form of a signature: data instead of code.

use super::template::{Part, Template};
use super::timestamp::{Timestamp, TimestampAt, Unit, near};
use super::{crypto, field};
use crate::limits::MAX_SIGNATURES;
use crate::webhook::secret::{KeyForm, Secret};
use crate::webhook::signature::{Proof, Refusal, material};
use crate::webhook::{Arrival, Document, Pointer, decode};
use serde::Deserialize;
use serde_json::Value;

/// How a signature is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// HMAC with SHA-1 (RFC 2104). Still good as a MAC, though not as a hash.
    HmacSha1,
    /// HMAC with SHA-256.
    HmacSha256,
    /// HMAC with SHA-512.
    HmacSha512,
    /// Ed25519 (RFC 8032), verified strictly.
    Ed25519,
    /// ECDSA on P-256 with SHA-256; signatures in DER.
    EcdsaP256,
    /// No signature: the field holds the secret itself. Proves nothing about the body.
    Token,
}

/// How the bytes of a signature are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// Lower-case hex.
    Hex,
    /// Base64 with padding.
    Base64,
}

/// A signature in one header field.
///
/// ```
/// use onceward::webhook::scheme::{Algorithm, Form, Timestamp, TimestampAt, Unit};
/// // Stripe-Signature: t=1700000000,v1=<hex>,v1=<hex>
/// let stripe = Form::new(Algorithm::HmacSha256, "Stripe-Signature")
///     .prefix("v1=")
///     .list(',')
///     .signing("{timestamp}.{body}".parse().unwrap())
///     .timestamp(Timestamp {
///         at: TimestampAt::Pair("t".into()),
///         unit: Unit::Seconds,
///         tolerance_s: Some(300),
///     });
/// assert_eq!(stripe.header_names(), ["stripe-signature"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// How it is made.
    pub algorithm: Algorithm,
    /// The field that holds it, in lower case.
    pub header: String,
    /// Other names of that field, in lower case: one of them may be there instead.
    pub aliases: Vec<String>,
    /// What stands before each value; may be empty. In a list, items with another beginning are skipped.
    pub prefix: String,
    /// What stands between the values of a list; `None` if there is one value.
    pub list_separator: Option<char>,
    /// How each value is written. A token is taken as it stands.
    pub encoding: Encoding,
    /// How the secret is written.
    pub key: KeyForm,
    /// What is signed.
    pub template: Template,
    /// When it was signed.
    pub timestamp: Option<Timestamp>,
    /// The field that holds the id, in lower case, if the template has one.
    pub id_header: Option<String>,
}

impl Form {
    /// One value in hex over the body; the secret is text, or a public key as the algorithm's users
    /// show it.
    pub fn new(algorithm: Algorithm, header: &str) -> Self {
        Self {
            algorithm,
            header: header.to_ascii_lowercase(),
            aliases: Vec::new(),
            prefix: String::new(),
            list_separator: None,
            encoding: Encoding::Hex,
            key: match algorithm {
                Algorithm::Ed25519 => KeyForm::Ed25519Hex,
                Algorithm::EcdsaP256 => KeyForm::SpkiBase64,
                _ => KeyForm::Text,
            },
            template: Template::body(),
            timestamp: None,
            id_header: None,
        }
    }

    /// Adds another name of the field.
    #[must_use]
    pub fn alias(mut self, header: &str) -> Self {
        self.aliases.push(header.to_ascii_lowercase());
        self
    }

    /// Sets what stands before each value.
    #[must_use]
    pub fn prefix(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// Says that there may be several values, any of which will do.
    #[must_use]
    pub fn list(mut self, separator: char) -> Self {
        self.list_separator = Some(separator);
        self
    }

    /// Sets base64, for the signature and for a public key.
    #[must_use]
    pub fn base64(mut self) -> Self {
        self.encoding = Encoding::Base64;
        if self.key == KeyForm::Ed25519Hex {
            self.key = KeyForm::Ed25519Base64;
        }
        self
    }

    /// Sets what is signed.
    #[must_use]
    pub fn signing(mut self, template: Template) -> Self {
        self.template = template;
        self
    }

    /// Sets when it was signed.
    #[must_use]
    pub fn timestamp(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Names of the fields that it reads.
    pub fn header_names(&self) -> Vec<String> {
        let mut names = vec![self.header.clone()];
        names.extend(self.aliases.iter().cloned());
        if let Some(TimestampAt::Header(name)) = self.timestamp.as_ref().map(|t| &t.at) {
            names.push(name.clone());
        }
        names.extend(self.id_header.clone());
        names
    }

    pub(super) fn verify(
        &self,
        arrival: &Arrival<'_>,
        secrets: &[Secret],
    ) -> Result<Proof, Refusal> {
        if !secrets.iter().any(|s| self.algorithm.takes(s.kind())) {
            return Err(Refusal::NoSecret);
        }
        let value = self.value(arrival)?;
        let values = self.values(value)?;
        let time = self.time_text(arrival, value)?;
        let signed_s = self.signed_s(time)?;
        let parts = self.parts(arrival, time.unwrap_or_default())?;
        let all: Vec<&[u8]> = parts.iter().map(|(_, bytes)| *bytes).collect();
        let index = crypto::first_match(self.algorithm, secrets, &all, &values)?;
        self.check_age(arrival, signed_s)?;
        Ok(Proof {
            secret: Some(index),
            material: self.material(&parts),
        })
    }

    /// The field of the signature, under its only name.
    fn value<'a>(&self, arrival: &Arrival<'a>) -> Result<&'a str, Refusal> {
        let is_there = |name: &&String| arrival.headers.get(name).is_some();
        let mut there = self.aliases.iter().filter(is_there);
        match there.next() {
            None => field(arrival, &self.header),
            Some(alias) if is_there(&&self.header) || there.next().is_some() => {
                Err(Refusal::malformed(alias, "it came under two names"))
            }
            Some(alias) => field(arrival, alias),
        }
    }

    /// What the field claims, decoded. Values that can't be one are skipped if others are there.
    fn values(&self, value: &str) -> Result<Vec<Vec<u8>>, Refusal> {
        let malformed = |why| Refusal::malformed(&self.header, why);
        let Some(separator) = self.list_separator else {
            let rest = value
                .strip_prefix(&*self.prefix)
                .ok_or_else(|| malformed("the prefix is missing"))?;
            return Ok(vec![
                self.algorithm
                    .decode(self.encoding, rest)
                    .map_err(malformed)?,
            ]);
        };
        if separator != ' ' && value.contains([' ', '\t']) {
            // Two fields of one name reach us as one, joined by a comma and a space.
            return Err(malformed(
                "white space stands in it, or it came more than once",
            ));
        }
        let items = value
            .split(separator)
            .filter_map(|item| item.strip_prefix(&*self.prefix));
        let (mut good, mut fault) = (Vec::new(), "no value has the prefix");
        for (index, item) in items.enumerate() {
            if index == MAX_SIGNATURES {
                return Err(malformed("it holds too many signatures"));
            }
            match self.algorithm.decode(self.encoding, item) {
                Ok(bytes) => good.push(bytes),
                Err(why) => fault = why,
            }
        }
        if good.is_empty() {
            return Err(malformed(fault));
        }
        Ok(good)
    }

    /// The time as sent, if it stands outside the body.
    fn time_text<'a>(
        &self,
        arrival: &Arrival<'a>,
        value: &'a str,
    ) -> Result<Option<&'a str>, Refusal> {
        match self.timestamp.as_ref().map(|t| &t.at) {
            None | Some(TimestampAt::Body(_)) => Ok(None),
            Some(TimestampAt::Header(name)) => field(arrival, name).map(Some),
            Some(TimestampAt::Pair(name)) => {
                let separator = self.list_separator.unwrap_or(',');
                let mut times = value
                    .split(separator)
                    .filter_map(|item| item.strip_prefix(&**name)?.strip_prefix('='));
                match (times.next(), times.next()) {
                    (Some(time), None) => Ok(Some(time)),
                    (None, _) => Err(Refusal::malformed(&self.header, "it holds no timestamp")),
                    _ => Err(Refusal::malformed(&self.header, "it holds two timestamps")),
                }
            }
        }
    }

    fn signed_s(&self, text: Option<&str>) -> Result<Option<u64>, Refusal> {
        let (Some(timestamp), Some(text)) = (&self.timestamp, text) else {
            return Ok(None);
        };
        let header = match &timestamp.at {
            TimestampAt::Header(name) => name,
            _ => &self.header,
        };
        let seconds = timestamp.unit.seconds(text);
        seconds
            .map(Some)
            .ok_or_else(|| Refusal::malformed(header, "the timestamp is not a time in its unit"))
    }

    fn parts<'a>(
        &'a self,
        arrival: &Arrival<'a>,
        time: &'a str,
    ) -> Result<Vec<(&'a Part, &'a [u8])>, Refusal> {
        let bytes = |part: &'a Part| {
            Ok(match part {
                Part::Text(text) => text.as_bytes(),
                Part::Timestamp => time.as_bytes(),
                Part::Id => match &self.id_header {
                    Some(name) => field(arrival, name)?.as_bytes(),
                    None => b"",
                },
                Part::Body => arrival.body,
                Part::Url => arrival.public_url.ok_or(Refusal::UrlNeeded)?.as_bytes(),
                Part::Method => arrival.method.as_bytes(),
            })
        };
        self.template
            .parts()
            .iter()
            .map(|part| bytes(part).map(|bytes| (part, bytes)))
            .collect()
    }

    fn check_age(&self, arrival: &Arrival<'_>, signed_s: Option<u64>) -> Result<(), Refusal> {
        let Some(timestamp) = &self.timestamp else {
            return Ok(());
        };
        let signed_s = match (signed_s, &timestamp.at) {
            (Some(seconds), _) => seconds,
            (None, TimestampAt::Body(pointer)) => in_body(arrival, pointer, timestamp.unit)?,
            (None, _) => return Ok(()),
        };
        near(signed_s, arrival, timestamp.tolerance_s)
    }

    fn material(&self, parts: &[(&Part, &[u8])]) -> Option<[u8; 32]> {
        let lasting = parts.iter().filter(|(part, _)| **part != Part::Timestamp);
        let lasting: Vec<&[u8]> = lasting.map(|(_, bytes)| *bytes).collect();
        (self.algorithm != Algorithm::Token).then(|| material(&lasting))
    }
}

impl Algorithm {
    /// The bytes of a signature.
    pub(super) fn decode(self, encoding: Encoding, text: &str) -> Result<Vec<u8>, &'static str> {
        let (bytes, why) = match (self, encoding) {
            (Self::Token, _) => (Some(text.as_bytes().to_vec()), ""),
            (_, Encoding::Hex) => (decode::hex(text), "it is not lower-case hex"),
            (_, Encoding::Base64) => (decode::base64(text), "it is not base64"),
        };
        let bytes = bytes.ok_or(why)?;
        match self.value_bytes() {
            Some(wanted) if bytes.len() != wanted => Err("it has not the length of a signature"),
            _ if bytes.is_empty() => Err("it is empty"),
            _ => Ok(bytes),
        }
    }

    /// Bytes of a signature, where they are always as many.
    fn value_bytes(self) -> Option<usize> {
        match self {
            Self::HmacSha1 => Some(20),
            Self::HmacSha256 => Some(32),
            Self::HmacSha512 | Self::Ed25519 => Some(64),
            Self::EcdsaP256 | Self::Token => None,
        }
    }
}

/// The time that stands in the body.
fn in_body(arrival: &Arrival<'_>, pointer: &Pointer, unit: Unit) -> Result<u64, Refusal> {
    let place = pointer.as_str();
    let document = Document::by_its_bytes(arrival.body);
    let found = document
        .find(pointer)
        .map_err(|fault| Refusal::malformed(place, fault.why()))?;
    let text = match found {
        None => return Err(Refusal::missing(place)),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    unit.seconds(&text)
        .ok_or_else(|| Refusal::malformed(place, "the timestamp is not a time in its unit"))
}
