//! What must be equal when a key comes again. See `docs/keys.md`.

use super::canonical::{self, Skip};
use super::document::{Document, DocumentFault, Media};
use super::hex;
use super::pointer::{Pointer, escaped};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Members of a body that are told apart by name; what is beyond is one part.
const MAX_PARTS: usize = 32;
/// Longest name of such a member, in bytes.
const MAX_PART_NAME_BYTES: usize = 64;
/// The name of the part for all that is beyond.
const REST: &str = "…";
/// Largest body that is looked into only to say what differs, in bytes.
const MAX_LOOKED_INTO_BYTES: usize = 64 << 10;

/// What of a delivery is compared with the first one under the same key. Method and target always are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FingerprintMode {
    /// The body as received: for keys that the client chooses.
    Raw,
    /// Nothing: for ids that the provider assigns, whose redeliveries may differ in incidental fields.
    Off,
    /// What the body means: canonical JSON (RFC 8785). A form is compared field by field. Any other
    /// body is compared as in `Raw`.
    Canonical,
    /// What stands at these places, whether something does, and what it means. Any body but JSON and
    /// forms is refused.
    Only(Vec<Pointer>),
    /// As `Canonical`, without what stands at these places.
    Except(Vec<Pointer>),
}

/// What is kept of a delivery to compare later ones with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Hex of the SHA-256 over everything that is compared.
    pub hash: String,
    /// A short hash of each part, by which a refusal can name what differs: `method`, `target`, and
    /// the body by JSON pointers.
    pub parts: Vec<(String, String)>,
}

impl FingerprintMode {
    /// The fingerprint of a delivery, if this mode has one.
    ///
    /// # Errors
    /// The body can't be read, and what is to be compared stands in it.
    ///
    /// ```
    /// use onceward::webhook::{Document, FingerprintMode, Pointer};
    /// let of = |mode: &FingerprintMode, body: &str| {
    ///     let document = Document::new(Some("application/json"), body.as_bytes());
    ///     mode.of("POST", "/hooks/a", &document).unwrap()
    /// };
    /// assert_eq!(of(&FingerprintMode::Off, "{}"), None);
    /// let canonical = FingerprintMode::Canonical;
    /// assert_eq!(of(&canonical, r#"{"a": 1.0, "b": 2}"#), of(&canonical, r#"{"b":2,"a":1}"#));
    /// let amount = FingerprintMode::Only(vec![Pointer::new("/amount").unwrap()]);
    /// assert_eq!(of(&amount, r#"{"amount": 1, "note": "a"}"#), of(&amount, r#"{"amount": 1}"#));
    /// assert_ne!(of(&amount, r#"{"amount": null}"#), of(&amount, "{}"), "null is not nothing");
    /// ```
    pub fn of(
        &self,
        method: &str,
        target: &str,
        document: &Document<'_>,
    ) -> Result<Option<Fingerprint>, DocumentFault> {
        let delivery = Compared {
            method,
            target,
            document,
        };
        match self {
            Self::Off => Ok(None),
            Self::Raw => Ok(Some(delivery.raw())),
            Self::Canonical => delivery.canonical(&[]).map(Some),
            Self::Except(pointers) => delivery.canonical(pointers).map(Some),
            Self::Only(pointers) => delivery.only(pointers).map(Some),
        }
    }
}

/// A delivery that is to be compared.
struct Compared<'a> {
    method: &'a str,
    target: &'a str,
    document: &'a Document<'a>,
}

impl Compared<'_> {
    /// Parts of every fingerprint, and those of the body.
    fn parts(&self, body: Vec<(String, String)>) -> Vec<(String, String)> {
        let mut parts = vec![
            ("method".to_owned(), brief(self.method.as_bytes())),
            ("target".to_owned(), brief(self.target.as_bytes())),
        ];
        parts.extend(body);
        parts
    }

    fn raw(&self) -> Fingerprint {
        let bytes = self.document.bytes();
        let small = bytes.len() <= MAX_LOOKED_INTO_BYTES;
        let value = Some(self.document)
            .filter(|_| small)
            .and_then(|d| d.value().ok());
        let body = match value {
            Some(Value::Object(members)) => members_of(members, &Skip::default()),
            _ => vec![(String::new(), brief(bytes))],
        };
        Fingerprint {
            hash: raw(self.method, self.target, bytes),
            parts: self.parts(body),
        }
    }

    fn canonical(&self, except: &[Pointer]) -> Result<Fingerprint, DocumentFault> {
        let value = match self.document.value() {
            Ok(value) => value,
            // Nothing says that it is a document: all of it counts, byte by byte.
            Err(DocumentFault::Empty | DocumentFault::Opaque) => return Ok(self.raw()),
            Err(fault) => return Err(fault),
        };
        let skip = Skip::of(except);
        let text = canonical::without(value, &skip);
        let body = match value {
            Value::Object(members) => members_of(members, &skip),
            _ => vec![(String::new(), brief(text.as_bytes()))],
        };
        Ok(Fingerprint {
            hash: self.hash("canonical/1", &[text]),
            parts: self.parts(body),
        })
    }

    fn only(&self, pointers: &[Pointer]) -> Result<Fingerprint, DocumentFault> {
        let value = self.document.value()?;
        let mut pointers: Vec<&Pointer> = pointers.iter().collect();
        pointers.sort();
        pointers.dedup();
        let mut texts = Vec::new();
        let mut body = Vec::new();
        for pointer in pointers {
            // A canonical text is never empty.
            let text = pointer.find(value).map(canonical::text).unwrap_or_default();
            body.push((pointer.to_string(), brief(text.as_bytes())));
            texts.push(pointer.to_string());
            texts.push(text);
        }
        Ok(Fingerprint {
            hash: self.hash("only/1", &texts),
            parts: self.parts(body),
        })
    }

    /// The mode comes first, in a form that no method has.
    fn hash(&self, mode: &str, texts: &[String]) -> String {
        let media = match self.document.media() {
            Media::Form => "form",
            Media::Json | Media::Other => "json",
        };
        let mut parts = vec![mode, media, self.method, self.target];
        parts.extend(texts.iter().map(String::as_str));
        let bytes = parts.iter().map(|part| part.as_bytes());
        hashed(bytes)
    }
}

/// The short hashes of an object's members, by name.
fn members_of(members: &Map<String, Value>, skip: &Skip<'_>) -> Vec<(String, String)> {
    let mut named = Vec::new();
    let mut rest = Map::new();
    let mut sorted: Vec<&String> = members.keys().filter(|n| !skip.is_whole(n)).collect();
    sorted.sort();
    for name in sorted {
        let value = &members[name];
        if named.len() < MAX_PARTS && name.len() <= MAX_PART_NAME_BYTES {
            let text = canonical::without(value, &skip.within(name));
            named.push((format!("/{}", escaped(name)), brief(text.as_bytes())));
        } else {
            rest.insert(name.clone(), value.clone());
        }
    }
    if !rest.is_empty() {
        let text = canonical::without(&Value::Object(rest), skip);
        named.push((REST.to_owned(), brief(text.as_bytes())));
    }
    named
}

/// Enough to tell two values apart, not enough to find one out.
fn brief(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..4])
}

/// SHA-256 in hex over method, target (path and query as sent) and body, each led by its length,
/// so that no byte can move from one part to the next.
///
/// ```
/// use onceward::webhook::fingerprint::raw;
/// assert_ne!(raw("POST", "/hooks/a", b"x"), raw("POST", "/hooks/a?x", b""));
/// ```
pub fn raw(method: &str, target: &str, body: &[u8]) -> String {
    hashed([method.as_bytes(), target.as_bytes(), body].into_iter())
}

fn hashed<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

#[cfg(test)]
#[path = "fingerprint_tests.rs"]
mod tests;
