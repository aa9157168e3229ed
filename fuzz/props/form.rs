//! Forms: the bytes as they are.

use onceward::types::Headers;
use onceward::webhook::key::extract;
use onceward::webhook::{Document, DocumentFault, KeyRule, KeySource, Pointer, pointer};
use serde_json::Value;

const KIND: Option<&str> = Some("application/x-www-form-urlencoded");

/// As the URL standard has it, written here once more; `None` if it is not UTF-8.
fn decoded(mut part: &[u8]) -> Option<String> {
    let digit = |b: u8| {
        char::from(b)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let mut out = Vec::new();
    while let [first, rest @ ..] = part {
        part = rest;
        match (*first, rest) {
            (b'+', _) => out.push(b' '),
            (b'%', [high, low, after @ ..]) if digit(*high).is_some() && digit(*low).is_some() => {
                let both = digit(*high).zip(digit(*low));
                out.extend(both.map(|(h, l)| h * 16 + l));
                part = after;
            }
            (byte, _) => out.push(byte),
        }
    }
    String::from_utf8(out).ok()
}

fn fields(data: &[u8]) -> Option<Vec<(String, String)>> {
    let pieces = data.split(|b| *b == b'&').filter(|piece| !piece.is_empty());
    pieces
        .map(|piece| {
            let at = piece.iter().position(|b| *b == b'=').unwrap_or(piece.len());
            let value = piece.get(at + 1..).unwrap_or_default();
            Some((decoded(&piece[..at])?, decoded(value)?))
        })
        .collect()
}

pub fn check(data: &[u8]) {
    let document = Document::new(KIND, data);
    let Some(fields) = fields(data) else {
        assert_eq!(document.value(), Err(DocumentFault::NotUtf8));
        return;
    };
    if data.is_empty() {
        assert_eq!(document.value(), Err(DocumentFault::Empty));
        return;
    }
    let value = document.value().expect("a form");
    let members = value.as_object().expect("an object");
    for (name, member) in members {
        let of_name = fields.iter().filter(|(n, _)| n == name);
        let want: Vec<&str> = of_name.map(|(_, v)| v.as_str()).collect();
        match member {
            Value::String(text) => assert_eq!(want, [text]),
            other => assert_eq!(*other, Value::from(want)),
        }
        let place = Pointer::new(&format!("/{}", pointer::escaped(name))).expect("a pointer");
        assert_eq!(document.find(&place), Ok(Some(member)));
        let from = KeySource {
            headers: &Headers::default(),
            target: "/",
            document: &document,
            material: None,
        };
        let key = extract(&[KeyRule::Body(place)], &from);
        let text = member.as_str().unwrap_or_default();
        assert_eq!(key.is_ok(), !text.is_empty(), "once, and not empty");
        let key = key.unwrap_or_default();
        let plain = text.bytes().all(|b| b.is_ascii_graphic()) && text.len() <= 255;
        let made = ["sha256-", "bytes-", "["]
            .iter()
            .any(|m| text.starts_with(m));
        assert_eq!(key == text, plain && !made, "{text:?} became {key}");
    }
    let names: std::collections::BTreeSet<&String> = fields.iter().map(|(n, _)| n).collect();
    assert_eq!(members.len(), names.len());
}
