//! How bytes become requests, and what every answer must be.

use hmac::{Hmac, KeyInit as _, Mac as _};
use onceward::http::problem::Problem;
use onceward::types::{Answer, Headers};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The API token of every property.
pub const TOKEN: &str = "fuzz-token";
/// The secret of every signed source.
pub const SECRET: &str = "fuzz-secret";

/// Any bytes as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A request as it is written in a corpus: first line, fields up to an empty line, body.
pub struct Written {
    pub first: String,
    pub headers: Headers,
    pub body: Vec<u8>,
}

/// Reads one. A line without a colon is a name with an empty value.
pub fn written(data: &[u8]) -> Written {
    let (first, mut rest) = line(data);
    let mut headers = Headers::default();
    while !rest.is_empty() {
        let (field, after) = line(rest);
        rest = after;
        if field.is_empty() {
            break;
        }
        let field = text(field);
        let (name, value) = field.split_once(':').unwrap_or((&field, ""));
        headers.push(name, value.trim_matches([' ', '\t']));
    }
    Written {
        first: text(first),
        headers,
        body: rest.to_vec(),
    }
}

/// The first line, and what follows it.
pub fn line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|b| *b == b'\n') {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &[]),
    }
}

/// Lower-case hex, written here once more.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        for digit in [byte / 16, byte % 16] {
            out.extend(char::from_digit(digit.into(), 16));
        }
        out
    })
}

pub fn hmac_hex(secret: &str, parts: &[&[u8]]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key");
    for part in parts {
        mac.update(part);
    }
    hex(&mac.finalize().into_bytes())
}

pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A problem is a whole document, whatever it complains about, and tells no secret.
pub fn is_whole(problem: &Problem) {
    let answer = problem.to_answer();
    assert!((400..=599).contains(&answer.status));
    let media = answer.headers.get("content-type");
    assert_eq!(media, Some("application/problem+json"));
    let document: Value = serde_json::from_slice(&answer.body).expect("a JSON document");
    assert_eq!(document["status"], answer.status);
    for member in ["type", "title", "detail", "code"] {
        assert!(document[member].is_string(), "no {member} in {document}");
    }
    let code = document["code"].as_str().unwrap_or_default();
    assert!(code.parse::<onceward::http::code::Code>().is_ok(), "{code}");
    assert!(!document.to_string().contains(SECRET), "{document}");
    is_sendable(&answer);
}

/// Names and values that a field can have.
pub fn is_sendable(answer: &Answer) {
    for (name, value) in answer.headers.iter() {
        assert!(onceward::http::headers::is_token(name), "{name:?}");
        let plain = value.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~'));
        assert!(plain, "{name}: {value:?}");
    }
}

/// The same, with a JSON body.
pub fn is_json(answer: &Answer) {
    is_sendable(answer);
    let read: Result<Value, _> = serde_json::from_slice(&answer.body);
    assert!(read.is_ok(), "{}", text(&answer.body));
}
