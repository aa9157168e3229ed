//! What is wrong with header fields, and what they may have been.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// Lengths of digests and signatures: HMAC with SHA-1, SHA-256, SHA-512; Ed25519.
const DIGESTS: [usize; 4] = [20, 32, 48, 64];
/// What stands before a digest at one provider or another.
const PREFIXES: [&str; 8] = [
    "",
    "sha256=",
    "sha1=",
    "v0=",
    "v1=",
    "v1,",
    "h1=",
    "hmac-sha256=",
];

/// Other values of a field, and what is wrong with the one that came; none is that one. With other
/// prefixes only if asked for.
pub(super) fn values(value: &str, prefixes: bool) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let mut add = |says, other: String| {
        if other != value && out.iter().all(|(_, known)| *known != other) {
            out.push((says, other));
        }
    };
    let plain = value.trim().trim_matches(['"', '\'']);
    add("white space or quotes stand around it", plain.to_owned());
    add(
        "it is in upper case",
        each_part(plain, |part| {
            from_hex(part).map(|_| part.to_ascii_lowercase())
        }),
    );
    add(
        "it is in base64 where hex is wanted",
        each_digest(plain, hex),
    );
    add(
        "it is in hex where base64 is wanted",
        each_digest(plain, |b| STANDARD.encode(b)),
    );
    let digest = plain
        .split_once(['=', ','])
        .filter(|(prefix, rest)| prefix.len() <= 12 && rest.len() >= 20)
        .map_or(plain, |(_, rest)| rest);
    let prefixes = if prefixes { &PREFIXES[..] } else { &[] };
    for prefix in prefixes {
        add("its prefix is another one", format!("{prefix}{digest}"));
        if let Some(bytes) = bytes_of(digest) {
            let (hex, base64) = (hex(&bytes), STANDARD.encode(&bytes));
            add(
                "its prefix is another one, and hex is wanted",
                format!("{prefix}{hex}"),
            );
            add(
                "its prefix is another one, and base64 is wanted",
                format!("{prefix}{base64}"),
            );
        }
    }
    out
}

/// Replaces every part that is a digest.
fn each_digest(value: &str, write: impl Fn(&[u8]) -> String) -> String {
    each_part(value, |part| bytes_of(part).map(|bytes| write(&bytes)))
}

/// Parts stand between commas, semicolons and spaces, and may have a name and `=` before them.
fn each_part(value: &str, write: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(value.len());
    for piece in value.split_inclusive([',', ';', ' ']) {
        let (part, end) = match piece.strip_suffix([',', ';', ' ']) {
            Some(part) => (part, &piece[part.len()..]),
            None => (piece, ""),
        };
        let (name, rest) = match part.split_once('=') {
            Some((name, rest)) if rest.len() >= 20 => (&part[..=name.len()], rest),
            _ => ("", part),
        };
        out.push_str(name);
        match write(rest) {
            Some(written) => out.push_str(&written),
            None => out.push_str(rest),
        }
        out.push_str(end);
    }
    out
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let decoded = from_hex(text).or_else(|| {
        [STANDARD, URL_SAFE, STANDARD_NO_PAD, URL_SAFE_NO_PAD]
            .iter()
            .find_map(|engine| engine.decode(text).ok())
    });
    decoded.filter(|bytes| DIGESTS.contains(&bytes.len()))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.bytes().map(|b| char::from(b).to_digit(16));
    let digits: Vec<u32> = digits.collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    let bytes: Vec<u8> = pairs
        .map(|pair| u8::try_from(pair[0] << 4 | pair[1]).ok())
        .collect::<Option<_>>()?;
    DIGESTS.contains(&bytes.len()).then_some(bytes)
}

fn hex(bytes: &[u8]) -> String {
    crate::webhook::hex(bytes)
}
