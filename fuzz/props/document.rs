//! JSON bodies: a pointer on the first line, then the body.

use super::input::{line, text};
use onceward::limits::MAX_JSON_DEPTH;
use onceward::webhook::{Document, DocumentFault, Pointer, json};
use serde_json::Value;

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

pub fn check(data: &[u8]) {
    let (first, body) = line(data);
    let path = text(first);
    let pointer = Pointer::new(&path);
    let plain = path.is_empty() || path.starts_with('/');
    let escapes = path.split('~').skip(1).all(|s| s.starts_with(['0', '1']));
    assert_eq!(pointer.is_ok(), plain && escapes, "{path:?}");
    let read = json::read(body);
    assert_eq!(json::read_as::<Value>(body).ok(), read.clone().ok());
    assert_eq!(json::settled(body).is_ok(), read.is_ok());
    let deep = json::check_depth(body).is_err();
    assert_eq!(deep, read == Err(DocumentFault::TooDeep));
    for kind in [Some("application/json"), None] {
        let document = Document::new(kind, body);
        assert_eq!(document.value().ok(), read.as_ref().ok());
        if let Ok(pointer) = &pointer {
            let found = document.find(pointer);
            let value = read.as_ref().ok();
            // Read by another hand.
            assert_eq!(found.ok().flatten(), value.and_then(|v| v.pointer(&path)));
        }
    }
    let Ok(value) = read else { return };
    assert!(depth(&value) <= MAX_JSON_DEPTH);
    assert!(std::str::from_utf8(body).is_ok());
    let settled = json::settled(body).expect("JSON");
    assert_eq!(json::read(&settled).as_ref(), Ok(&value));
    // In a text where every name stands once nothing is left to be settled.
    let again = value.to_string();
    let again = again.as_bytes();
    assert_eq!(json::read(again).as_ref(), Ok(&value), "digits stay");
    assert_eq!(json::settled(again).as_deref(), Ok(again));
    // Of two members the last one counts, whatever the first one was.
    let twice = [b"{\"a\":", body, b",\"\\u0061\":7}"].concat();
    let seven = json::read(&twice).ok().map(|v| v["a"] == 7);
    assert_eq!(seven, (depth(&value) < MAX_JSON_DEPTH).then_some(true));
}
