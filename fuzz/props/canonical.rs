//! What bodies mean: JSON, read and compared in every mode.

use onceward::webhook::canonical::text;
use onceward::webhook::{Document, Fingerprint, FingerprintMode, Pointer, json};
use serde_json::Value;

const KIND: Option<&str> = Some("application/json");

fn of(mode: &FingerprintMode, body: &[u8]) -> Option<Fingerprint> {
    let document = Document::new(KIND, body);
    mode.of("POST", "/hooks/a", &document).ok().flatten()
}

fn parts_are_small(print: &Fingerprint) {
    assert!(print.parts.len() <= 2 + 32 + 1);
    assert!(
        print
            .parts
            .iter()
            .all(|(name, hash)| name.len() <= 200 && hash.len() == 8)
    );
    assert_eq!(print.hash.len(), 64);
}

pub fn check(data: &[u8]) {
    let raw = of(&FingerprintMode::Raw, data).expect("never refused");
    parts_are_small(&raw);
    assert_eq!(of(&FingerprintMode::Off, data), None);
    let canonical = FingerprintMode::Canonical;
    let except = FingerprintMode::Except(vec![Pointer::new("/a").expect("a pointer")]);
    let only = FingerprintMode::Only(vec![Pointer::new("/a").expect("a pointer")]);
    let Ok(value) = json::read(data) else {
        assert_eq!(of(&only, data), None, "nothing to compare");
        return;
    };
    // One text, and the text of that text.
    let once = text(&value);
    let again = json::read(once.as_bytes()).expect("JSON");
    assert_eq!(text(&again), once);
    let print = of(&canonical, data).expect("readable");
    parts_are_small(&print);
    // Everything that is the same in another spelling is the same.
    let pretty = serde_json::to_string_pretty(&value).expect("JSON");
    for same in [once.as_str(), &pretty, &value.to_string()] {
        assert_eq!(of(&canonical, same.as_bytes()).as_ref(), Some(&print));
        assert_eq!(of(&except, same.as_bytes()), of(&except, data));
        assert_eq!(of(&only, same.as_bytes()), of(&only, data));
    }
    if let Value::Object(mut members) = value {
        let had = members.insert("a".to_owned(), Value::from("other"));
        let other = Value::Object(members).to_string();
        let other = other.as_bytes();
        let changed = had != Some(Value::from("other"));
        let hash = |mode, body| of(mode, body).map(|p| p.hash);
        assert_eq!(hash(&canonical, other) != hash(&canonical, data), changed);
        assert_eq!(hash(&only, other) != hash(&only, data), changed);
        assert_eq!(hash(&except, other), hash(&except, data));
    }
}
