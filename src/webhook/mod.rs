//! Ring 1: what a delivery proves and what names it. Pure: bytes and fields in, a verdict out.

pub mod ack;
pub mod canonical;
mod composite;
mod decode;
pub mod document;
pub mod explain;
pub mod fingerprint;
pub mod handshake;
pub mod json;
pub mod key;
pub mod pack;
pub mod packs;
pub mod pattern;
pub mod pointer;
pub mod scheme;
pub mod secret;
pub mod sender;
pub mod signature;

pub use ack::Ack;
pub use document::{Document, DocumentFault};
pub use fingerprint::{Fingerprint, FingerprintMode};
pub use handshake::Handshake;
pub use key::{KeyProblem, KeyRule, KeySource};
pub use pack::{EventRule, Pack, Split, event_of};
pub use pattern::KeyPattern;
pub use pointer::{Pointer, PointerFault};
pub use scheme::Scheme;
pub use secret::{KeyForm, Secret, SecretFault};
pub use signature::{Proof, Refusal};

use crate::types::Headers;

/// A request as it came, for whoever checks signatures, looks for keys or answers handshakes.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// As sent.
    pub method: &'a str,
    /// Path and query as sent.
    pub target: &'a str,
    /// Where the sender believes it sends to: from the configuration, never from `Host` or
    /// `X-Forwarded-*`, which anybody can set.
    pub public_url: Option<&'a str>,
    /// All fields.
    pub headers: &'a Headers,
    /// The bytes that were signed.
    pub body: &'a [u8],
    /// Milliseconds since 1970.
    pub now_ms: u64,
}

/// A field came more than once where one value is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated;

/// The only value of a field; `None` if it is absent.
///
/// # Errors
/// The field came more than once: no rule says which one counts.
///
/// ```
/// use onceward::{types::Headers, webhook};
/// let headers: Headers = [("a", "1"), ("b", "2"), ("B", "3")].into_iter().collect();
/// assert_eq!(webhook::single(&headers, "A"), Ok(Some("1")));
/// assert_eq!(webhook::single(&headers, "b"), Err(webhook::Repeated));
/// assert_eq!(webhook::single(&headers, "c"), Ok(None));
/// ```
pub fn single<'a>(headers: &'a Headers, name: &str) -> Result<Option<&'a str>, Repeated> {
    let mut values = headers
        .iter()
        .filter(|(n, _)| n.eq_ignore_ascii_case(name))
        .map(|(_, value)| value);
    let first = values.next();
    if values.next().is_some() {
        return Err(Repeated);
    }
    Ok(first)
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    out
}
