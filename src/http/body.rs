//! Bodies as they come: their coding, their nesting. What is looked at here is not read yet.

use super::code::Code;
use super::problem::Problem;
use crate::limits::{MAX_BODY_BYTES, MAX_JSON_DEPTH};
use crate::types::Headers;
use crate::webhook::document::Media;
use crate::webhook::{json, single};
use flate2::bufread::MultiGzDecoder;
use std::io::Read as _;

/// What a source does with `Content-Encoding: gzip`, and what its signature is over.
///
/// The function gets the unpacked bytes, and keys and fingerprints are read from them, whatever was signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// Refuses them with 415.
    Refuse,
    /// Signed as they came.
    Wire,
    /// Signed before they were packed.
    Plain,
    /// Either of them: both prove the content.
    #[default]
    Either,
}

impl Rule {
    /// The word used in configuration and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Wire => "wire",
            Self::Plain => "plain",
            Self::Either => "either",
        }
    }
}

/// A body as it came, and unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    wire: Vec<u8>,
    /// Only where it differs.
    unpacked: Option<Vec<u8>>,
    rule: Rule,
}

impl Decoded {
    /// The bytes that may have been signed, by the source's rule.
    pub fn signed(&self) -> impl Iterator<Item = &[u8]> {
        let wire = self.unpacked.is_none() || self.rule != Rule::Plain;
        let plain = self.unpacked.as_deref();
        let plain = plain.filter(|_| self.rule != Rule::Wire);
        wire.then_some(self.wire.as_slice())
            .into_iter()
            .chain(plain)
    }

    /// The content.
    pub fn plain(&self) -> &[u8] {
        self.unpacked.as_deref().unwrap_or(&self.wire)
    }

    /// The content, without what it was packed in.
    pub fn into_plain(self) -> Vec<u8> {
        self.unpacked.unwrap_or(self.wire)
    }
}

/// Unpacks a body if it says that it is packed: `gzip` or `x-gzip` (RFC 9110, 8.4.1). It is unpacked up to the
/// limit of a body and not further, however small it is.
///
/// # Errors
/// 413 if there is more in it, 400 if it is not whole, 415 for other codings and where the source takes none.
///
/// ```
/// use onceward::http::body::{Rule, decode};
/// use onceward::types::Headers;
/// let plain = decode(Rule::Either, &Headers::default(), b"{}".to_vec()).unwrap();
/// assert_eq!(plain.into_plain(), b"{}");
/// let packed: Headers = [("content-encoding", "br")].into_iter().collect();
/// assert_eq!(decode(Rule::Either, &packed, Vec::new()).unwrap_err().status(), 415);
/// ```
pub fn decode(rule: Rule, headers: &Headers, wire: Vec<u8>) -> Result<Decoded, Problem> {
    let coding = single(headers, "content-encoding")
        .map_err(|_| unsupported(rule, "Content-Encoding came more than once."))?
        .map(|text| text.trim().to_ascii_lowercase());
    let unpacked = match coding.as_deref() {
        None | Some("" | "identity") => None,
        Some("gzip" | "x-gzip") if rule != Rule::Refuse => Some(unpack(&wire)?),
        Some("gzip" | "x-gzip") => {
            return Err(unsupported(rule, "This source takes no compressed bodies."));
        }
        Some(_) => {
            return Err(unsupported(
                rule,
                "The body has a coding that is not taken here.",
            ));
        }
    };
    Ok(Decoded {
        wire,
        unpacked,
        rule,
    })
}

fn unpack(wire: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut plain = Vec::new();
    let limit = MAX_BODY_BYTES as u64 + 1;
    let read = MultiGzDecoder::new(wire)
        .take(limit)
        .read_to_end(&mut plain);
    if plain.len() > MAX_BODY_BYTES {
        return Err(Problem::new(
            Code::BodyTooLarge,
            format!("Unpacked, the body has more than {MAX_BODY_BYTES} bytes."),
        ));
    }
    read.map_err(|_| {
        Problem::new(
            Code::InputInvalid,
            "The body says that it is gzip and cannot be unpacked: it is cut off, or something else.",
        )
    })?;
    Ok(plain)
}

/// RFC 9110, 15.5.16: a 415 for its coding says which ones are taken.
fn unsupported(rule: Rule, detail: &str) -> Problem {
    let taken = match rule {
        Rule::Refuse => "identity",
        Rule::Wire | Rule::Plain | Rule::Either => "gzip, identity",
    };
    Problem::new(Code::UnsupportedEncoding, detail).header("accept-encoding", taken)
}

/// Looks how deep a body that says it is JSON is nested, before anything reads it. Other bodies are taken as they
/// are.
///
/// # Errors
/// 400: deeper than [`MAX_JSON_DEPTH`].
///
/// ```
/// use onceward::http::body::check_nesting;
/// let deep = "[".repeat(5_000);
/// assert!(check_nesting(Some("application/json"), deep.as_bytes()).is_err());
/// assert!(check_nesting(Some("text/plain"), deep.as_bytes()).is_ok());
/// ```
pub fn check_nesting(content_type: Option<&str>, body: &[u8]) -> Result<(), Problem> {
    if content_type.is_none() || Media::of(content_type) != Media::Json {
        return Ok(());
    }
    json::check_depth(body).map_err(|_| {
        Problem::new(
            Code::InputInvalid,
            format!("The body is nested more than {MAX_JSON_DEPTH} levels deep."),
        )
    })
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
