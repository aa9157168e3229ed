//! What must be equal when a key comes again.

use super::hex;
use sha2::{Digest, Sha256};

/// What of a delivery is compared with the first one under the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FingerprintMode {
    /// Method, target and body as received: for keys that the client chooses.
    Raw,
    /// Nothing: for ids that the provider assigns, whose redeliveries may differ in incidental fields.
    Off,
}

impl FingerprintMode {
    /// The fingerprint of a delivery, if this mode has one.
    ///
    /// ```
    /// use onceward::webhook::FingerprintMode;
    /// assert_eq!(FingerprintMode::Off.of("POST", "/hooks/a", b""), None);
    /// assert_eq!(FingerprintMode::Raw.of("POST", "/hooks/a", b"").map(|f| f.len()), Some(64));
    /// ```
    pub fn of(self, method: &str, target: &str, body: &[u8]) -> Option<String> {
        match self {
            Self::Raw => Some(raw(method, target, body)),
            Self::Off => None,
        }
    }
}

/// SHA-256 in hex over method, target (path and query as sent) and body, each led by its length,
/// so that no byte can move from one part to the next.
///
/// ```
/// use onceward::webhook::fingerprint::raw;
/// assert_ne!(raw("POST", "/hooks/a", b"x"), raw("POST", "/hooks/a?x", b""));
/// ```
pub fn raw(method: &str, target: &str, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    for part in [method.as_bytes(), target.as_bytes(), body] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_fixed() {
        // Computed with Python's hashlib. A change here would refuse every duplicate of a stored task.
        assert_eq!(
            raw("POST", "/hooks/inbox?a=1", b"{\"n\":1}"),
            "2d6bfd358b62373a31235c2ced7ac2be258aaaa4a00d42363a7dac5f1261ae59"
        );
    }

    #[test]
    fn every_part_and_every_border_counts() {
        let base = raw("POST", "/a", b"bc");
        for (method, target, body) in [
            ("PUT", "/a", &b"bc"[..]),
            ("POST", "/ab", b"c"),
            ("POST", "/a", b"bd"),
            ("POST", "/a?", b"bc"),
            ("POST/", "a", b"bc"),
            ("POST", "/a", b"bc\n"),
            ("POST", "/abc", b""),
        ] {
            assert_ne!(
                base,
                raw(method, target, body),
                "{method} {target} {body:?}"
            );
        }
        assert_eq!(base, raw("POST", "/a", b"bc"));
    }
}
