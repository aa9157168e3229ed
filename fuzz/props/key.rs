//! Idempotency keys: the value of one `Idempotency-Key` field.

use super::input::{is_whole, text};
use onceward::http::steer::{Operation, op};
use onceward::types::{Headers, TaskId, TaskKey, TaskKind, Token};
use onceward::webhook::key::extract;
use onceward::webhook::{Document, KeyRule, KeySource};

const FIELD: &str = "Idempotency-Key";

fn read(value: &str) -> Option<String> {
    let headers: Headers = [(FIELD, value)].into_iter().collect();
    by(KeyRule::IdempotencyKey, &headers)
}

fn by(rule: KeyRule, headers: &Headers) -> Option<String> {
    let document = Document::new(None, b"");
    let from = KeySource {
        headers,
        target: "/",
        document: &document,
        material: None,
    };
    extract(&[rule], &from).ok()
}

fn is_key(text: &str) -> bool {
    (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

/// What stands between the quotes, and what follows them; read here once more.
fn quoted(value: &str) -> Option<(String, &str)> {
    let mut chars = value.strip_prefix('"')?.char_indices();
    let mut out = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &value[at + 2..])),
            '\\' => out.push(
                chars
                    .next()
                    .map(|(_, c)| c)
                    .filter(|c| "\"\\".contains(*c))?,
            ),
            ' '..='~' => out.push(c),
            _ => return None,
        }
    }
    None
}

pub fn check(data: &[u8]) {
    let value = text(data);
    let got = read(&value);
    if value.starts_with('"') {
        let own = quoted(&value).filter(|(key, _)| is_key(key));
        match (&got, own) {
            (Some(got), Some((key, rest))) => {
                assert_eq!(*got, key);
                assert!(
                    rest.trim_matches(' ').is_empty() || rest.trim_start().starts_with(';'),
                    "{rest:?}"
                );
            }
            (None, Some((_, rest))) => assert!(!rest.is_empty(), "{value:?} is a key"),
            (got, None) => assert_eq!(*got, None, "{value:?}"),
        }
    } else {
        let wanted = (is_key(&value) && !value.contains('"')).then(|| value.clone());
        assert_eq!(got, wanted);
    }
    let headers: Headers = [(FIELD, value.as_str())].into_iter().collect();
    match op(Operation::Undo, &headers, &Token::new("fresh")) {
        Ok(named) => assert_eq!(Some(named), got.as_ref().map(|key| format!("undo:{key}"))),
        Err(problem) => {
            assert_eq!(got, None);
            is_whole(&problem);
        }
    }
    if let Some(key) = got {
        accepted(&key);
    }
    let twice: Headers = [(FIELD, &*value), ("idempotency-key", &*value)]
        .into_iter()
        .collect();
    assert_eq!(by(KeyRule::IdempotencyKey, &twice), None);
    // Other fields are taken as they are, quotes and all.
    let other: Headers = [("X-Other", value.as_str())].into_iter().collect();
    let taken = by(KeyRule::Header("x-OTHER".into()), &other);
    assert_eq!(taken, is_key(&value).then_some(value));
}

/// One key, in both spellings, names one task.
fn accepted(key: &str) {
    assert!(is_key(key), "{key:?}");
    let escaped = key.replace('\\', "\\\\").replace('"', "\\\"");
    assert_eq!(read(&format!("\"{escaped}\"")).as_deref(), Some(key));
    if !key.contains('"') {
        assert_eq!(read(key).as_deref(), Some(key));
    }
    let task = |key: &str| TaskKey::new(TaskKind::Source, "s", "", key).task_id();
    let id = task(key);
    assert_eq!(TaskId::parse(&id.to_string()), Some(id));
    assert_ne!(task(&format!("{key}x")), id);
}
