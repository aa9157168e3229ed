//! Bodies as they cross the wire, and what they hold: content encodings and limits, before anything
//! is parsed.
//!
//! | `Content-Encoding` | what becomes of it |
//! |---|---|
//! | absent, `identity` | as it is |
//! | `gzip`, `x-gzip` | decoded, up to the limit of bodies; more is a 413, a broken one a 400 |
//! | anything else, or more than one | 415 `unsupported_encoding`; `Accept-Encoding` names what is read |

use super::code::Code;
use super::problem::Problem;
use crate::limits::MAX_BODY_BYTES;
use crate::types::Headers;
use crate::webhook::document::Media;
use crate::webhook::json;
use flate2::bufread::MultiGzDecoder;
use std::io::Read as _;

/// Over which bytes the signature of a compressed body is, where a source takes any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// No compressed bodies: 415.
    Refuse,
    /// Over what crossed the wire.
    Wire,
    /// Over what was compressed.
    Plain,
    /// Over either: each proves the content, since one follows from the other.
    #[default]
    Either,
}

/// A body on the wire and decoded; kept once where both are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bodies {
    wire: Vec<u8>,
    decoded: Option<Vec<u8>>,
    rule: Rule,
}

impl Bodies {
    /// As it crossed the wire.
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// Decoded: what keys, fingerprints and functions get.
    pub fn plain(&self) -> &[u8] {
        self.decoded.as_deref().unwrap_or(&self.wire)
    }

    /// The same, without a copy.
    pub fn into_plain(self) -> Vec<u8> {
        self.decoded.unwrap_or(self.wire)
    }

    /// True if it was compressed.
    pub fn is_encoded(&self) -> bool {
        self.decoded.is_some()
    }

    /// The bytes that a signature may be over, the likelier first. If it holds over any of them, it holds.
    pub fn signed(&self) -> Vec<&[u8]> {
        match (&self.decoded, self.rule) {
            (None, _) | (Some(_), Rule::Wire | Rule::Refuse) => vec![&self.wire],
            (Some(plain), Rule::Plain) => vec![plain],
            (Some(plain), Rule::Either) => vec![&self.wire, plain],
        }
    }
}

/// Decodes a body that was read from the wire.
///
/// # Errors
/// 413, if it grows above [`MAX_BODY_BYTES`]; 400, if it is no complete gzip; 415, if its encoding is not
/// read.
///
/// ```
/// use onceward::http::body::{Rule, decode};
/// use onceward::types::Headers;
/// let plain = decode(&Headers::default(), b"{}".to_vec(), Rule::Refuse).unwrap();
/// assert_eq!(plain.signed(), [b"{}"]);
/// let br: Headers = [("Content-Encoding", "br")].into_iter().collect();
/// let refused = decode(&br, b"{}".to_vec(), Rule::Either).unwrap_err().to_answer();
/// assert_eq!(refused.status, 415);
/// assert_eq!(refused.headers.get("accept-encoding"), Some("gzip, identity"));
/// ```
pub fn decode(headers: &Headers, wire: Vec<u8>, rule: Rule) -> Result<Bodies, Problem> {
    let codings = codings(headers);
    let decoded = match codings.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => None,
        ["gzip" | "x-gzip"] if rule != Rule::Refuse => Some(gunzip(&wire)?),
        _ => return Err(unsupported(rule)),
    };
    Ok(Bodies {
        wire,
        decoded,
        rule,
    })
}

/// What was done to the body, in order, but for `identity`, which does nothing.
fn codings(headers: &Headers) -> Vec<String> {
    headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"))
        .flat_map(|(_, value)| value.split(','))
        .map(|coding| coding.trim().to_ascii_lowercase())
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .collect()
}

/// RFC 9110, sections 12.5.3 and 15.5.16: the answer names the encodings that are read.
fn unsupported(rule: Rule) -> Problem {
    let (read, detail) = match rule {
        Rule::Refuse => ("identity", "This route takes no compressed bodies."),
        Rule::Wire | Rule::Plain | Rule::Either => (
            "gzip, identity",
            "This content encoding is not read here, or there is more than one.",
        ),
    };
    Problem::new(Code::UnsupportedEncoding, detail).header("accept-encoding", read)
}

fn gunzip(wire: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    let most = MAX_BODY_BYTES as u64;
    // One byte more shows that it is too large; how much more there would be is never found out.
    let read = MultiGzDecoder::new(wire)
        .take(most + 1)
        .read_to_end(&mut out);
    if out.len() > MAX_BODY_BYTES {
        return Err(Problem::new(
            Code::BodyTooLarge,
            format!("Decompressed, the body has more than {MAX_BODY_BYTES} bytes."),
        ));
    }
    match read {
        Ok(_) => Ok(out),
        Err(_) => Err(Problem::new(
            Code::InputInvalid,
            "The body is not gzip, is cut off, or something follows it.",
        )),
    }
}

/// Refuses a JSON body that is nested too deeply, before anything reads it. Other bodies are left alone.
///
/// # Errors
/// 400 `input_invalid`.
///
/// ```
/// use onceward::http::body::check_nesting;
/// assert!(check_nesting(Some("application/json"), &b"[".repeat(5_000)).is_err());
/// assert!(check_nesting(Some("application/octet-stream"), &b"[".repeat(5_000)).is_ok());
/// ```
pub fn check_nesting(content_type: Option<&str>, bytes: &[u8]) -> Result<(), Problem> {
    if Media::of(content_type) != Media::Json {
        return Ok(());
    }
    json::check_depth(bytes).map_err(|fault| Problem::new(Code::InputInvalid, format!("{fault}.")))
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
