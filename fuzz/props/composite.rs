//! Keys of several parts: each line is one part.

use super::input::{sha256_hex, text};
use onceward::types::Headers;
use onceward::webhook::key::extract;
use onceward::webhook::{Document, KeyProblem, KeyRule, KeySource, Pointer};
use serde_json::{Value, json};

fn key(parts: &[Value]) -> Result<String, KeyProblem> {
    let body = Value::from(parts).to_string();
    let document = Document::new(None, body.as_bytes());
    let from = KeySource {
        headers: &Headers::default(),
        target: "/",
        document: &document,
        material: None,
    };
    let place = |at: usize| Pointer::new(&format!("/{at}")).expect("a pointer");
    let rules = (0..parts.len()).map(|at| KeyRule::Body(place(at)));
    extract(&[KeyRule::All(rules.collect())], &from)
}

pub fn check(data: &[u8]) {
    let parts: Vec<Value> = data
        .split(|b| *b == b'\n')
        .map(|part| {
            let text = text(part);
            // What reads as JSON is that, so that numbers and what is no key come up as well.
            let read = serde_json::from_str(&text).ok();
            read.filter(|v: &Value| !v.to_string().contains("private"))
                .unwrap_or_else(|| json!(text))
        })
        .take(40)
        .collect();
    let is_part = |value: &Value| match value {
        Value::String(text) => !text.is_empty() && !text.starts_with("$serde_json::private::"),
        Value::Number(_) => true,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    };
    let got = key(&parts);
    if !parts.iter().all(is_part) {
        assert!(got.is_err(), "{parts:?} gave {got:?}");
        return;
    }
    let got = got.expect("a key");
    assert!(got.len() <= 255 && got.bytes().all(|b| b.is_ascii_graphic()));
    if got.starts_with('[') {
        // It can be read back, so that no two lists of parts give the same key.
        assert_eq!(serde_json::from_str::<Value>(&got).ok(), Some(parts.into()));
        return;
    }
    let hash = got.strip_prefix("sha256-").expect("a hash");
    assert_eq!(hash.len(), 64);
    assert_ne!(hash, sha256_hex(b""));
    let mut other = parts.clone();
    other.push(json!("x"));
    assert_ne!(key(&other), Ok(got));
}
