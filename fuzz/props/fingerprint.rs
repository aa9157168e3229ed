//! Fingerprints: method, target and body, each on a line of its own but the last.

use super::input::{line, sha256_hex, text};
use onceward::webhook::FingerprintMode;
use onceward::webhook::fingerprint::raw;

pub fn check(data: &[u8]) {
    let (method, rest) = line(data);
    let (target, body) = line(rest);
    let (method, target) = (text(method), text(target));
    let got = raw(&method, &target, body);
    let mut all = Vec::new();
    for part in [method.as_bytes(), target.as_bytes(), body] {
        all.extend_from_slice(&(part.len() as u64).to_be_bytes());
        all.extend_from_slice(part);
    }
    assert_eq!(got, sha256_hex(&all));
    assert_eq!(
        FingerprintMode::Raw.of(&method, &target, body),
        Some(got.clone())
    );
    assert_eq!(FingerprintMode::Off.of(&method, &target, body), None);
    // Nothing passes from one part to the next unseen.
    if let Some((at, last)) = target.char_indices().next_back() {
        let moved = [last.to_string().as_bytes(), body].concat();
        assert_ne!(raw(&method, &target[..at], &moved), got);
        let longer = format!("{method}{target}");
        assert_ne!(raw(&longer, "", body), got);
    }
    assert_ne!(raw(&method, &target, &[body, b"\0"].concat()), got);
}
