//! Fingerprints: method, target and body, each on a line of its own but the last.

use super::input::{line, sha256_hex, text};
use onceward::webhook::fingerprint::raw;
use onceward::webhook::{Document, FingerprintMode};

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
    let document = Document::new(None, body);
    let by = |mode: FingerprintMode| mode.of(&method, &target, &document);
    let print = by(FingerprintMode::Raw).expect("never refused");
    assert_eq!(print.map(|p| p.hash), Some(got.clone()));
    assert_eq!(by(FingerprintMode::Off), Ok(None));
    // Nothing passes from one part to the next unseen.
    if let Some((at, last)) = target.char_indices().next_back() {
        let moved = [last.to_string().as_bytes(), body].concat();
        assert_ne!(raw(&method, &target[..at], &moved), got);
        let longer = format!("{method}{target}");
        assert_ne!(raw(&longer, "", body), got);
    }
    assert_ne!(raw(&method, &target, &[body, b"\0"].concat()), got);
}
