//! Validators of documents (RFC 9110, 8.8.3 and 13.1.2): whoever has the newest one gets 304.

use crate::types::{Answer, Headers};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Bytes of the hash that stand in a tag: enough that two documents never share one by chance.
const TAG_BYTES: usize = 16;

/// A weak tag over everything that a reader would call a change.
///
/// Weak, because a proxy may compress the document, and because an approximate count is left out of it.
///
/// ```
/// use onceward::http::validator::tag;
/// assert!(tag(&[b"a"]).starts_with("W/\""));
/// assert_ne!(tag(&[b"a", b"b"]), tag(&[b"ab"]));
/// ```
pub fn tag(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut out = "W/\"".to_owned();
    for byte in hash.finalize().iter().take(TAG_BYTES) {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out.push('"');
    out
}

/// What the client has already, from `If-None-Match`.
///
/// ```
/// use onceward::{http::validator::Known, types::Headers};
/// let headers: Headers = [("If-None-Match", "\"a\", W/\"b,c\"")].into_iter().collect();
/// let known = Known::read(&headers).unwrap();
/// assert!(known.has("W/\"a\"") && known.has("\"b,c\"") && !known.has("\"c\""));
/// assert_eq!(Known::read(&Headers::default()), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// `*`: whatever there is.
    Any,
    /// Documents with these tags, without the mark of weakness.
    Tags(Vec<String>),
}

impl Known {
    /// Reads all fields as one list. What is no tag is passed over.
    pub fn read(headers: &Headers) -> Option<Self> {
        let mut tags = Vec::new();
        let mut asked = false;
        let fields = headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("if-none-match"));
        for (_, field) in fields {
            asked = true;
            if field.trim_matches([' ', '\t']) == "*" {
                return Some(Self::Any);
            }
            let mut rest = field;
            // A tag is what stands between two quotes: it has no escapes, and may hold commas.
            while let Some((_, after)) = rest.split_once('"') {
                let Some((tag, more)) = after.split_once('"') else {
                    break;
                };
                tags.push(tag.to_owned());
                rest = more;
            }
        }
        asked.then_some(Self::Tags(tags))
    }

    /// Whether a document with this tag is known, by weak comparison (RFC 9110, 8.8.3.2).
    pub fn has(&self, tag: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Tags(tags) => {
                let opaque = tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"');
                tags.iter().any(|known| known == opaque)
            }
        }
    }
}

/// 304 in place of a document that the client has: its fields without those of the body (RFC 9110, 15.4.5).
///
/// ```
/// use onceward::http::validator::not_modified;
/// use onceward::types::Answer;
/// let mut answer = Answer::json(200, &serde_json::json!({}));
/// answer.headers.push("etag", "W/\"a\"");
/// let answer = not_modified(answer);
/// assert_eq!((answer.status, answer.body.len()), (304, 0));
/// assert_eq!(answer.headers.get("etag"), Some("W/\"a\""));
/// assert_eq!(answer.headers.get("content-type"), None);
/// ```
pub fn not_modified(mut answer: Answer) -> Answer {
    answer.status = 304;
    answer.body.clear();
    for name in ["content-type", "content-language", "content-length"] {
        answer.headers.remove(name);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(fields: &[&str]) -> Option<Known> {
        Known::read(&fields.iter().map(|f| ("If-None-Match", *f)).collect())
    }

    #[test]
    fn lists_are_read_and_compared_weakly() {
        let cases: &[(&[&str], bool)] = &[
            (&["W/\"ab\""], true),
            (&["\"ab\""], true),
            (&["*"], true),
            (&[" * "], true),
            (&["\"x\",W/\"ab\" , \"y\""], true),
            (&["\"x\"", "\"ab\""], true),
            (&["\"x\"", "*"], true),
            (&["\"AB\""], false),
            (&["\"x\""], false),
            (&["ab"], false),
            (&[""], false),
            (&["\"ab"], false),
            (&["\"a\"b\""], false),
            (&["\"ab,\""], false),
        ];
        for (fields, want) in cases {
            let known = known(fields).expect("asked");
            assert_eq!(known.has("W/\"ab\""), *want, "{fields:?}");
        }
        assert_eq!(known(&[]), None);
    }

    #[test]
    fn a_tag_stands_for_the_document_and_its_parts() {
        assert_eq!(tag(&[b"a"]), tag(&[b"a"]));
        assert_ne!(tag(&[b"a"]), tag(&[b"b"]));
        assert_ne!(tag(&[b"", b"a"]), tag(&[b"a", b""]));
        assert_eq!(tag(&[]).len(), 2 * TAG_BYTES + 4);
    }
}
