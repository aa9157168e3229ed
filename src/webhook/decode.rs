//! Texts of bytes: hex and base64, each with one spelling only.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Lower-case hex, two digits a byte.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs
        .map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?))
        .collect()
}

/// Lower case only: that is what is sent, and what a comparison of texts would accept.
fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Base64 (RFC 4648 §4) with its padding and without stray bits.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
