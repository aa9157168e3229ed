//! The seal of messages that this Worker sends to itself: proof that they come from inside.
//!
//! On the platform no request from outside has the internal host. Where something in front of the
//! Worker lets a sender choose its `Host`, the seal keeps forged tickets from costing an object request.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The field that carries it.
pub const HEADER: &str = "onceward-seal";

fn mac(secret: &str, body: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    // A seal is good for nothing else that the secret may sign.
    mac.update(b"onceward continuation\n");
    mac.update(body);
    Some(mac)
}

/// Seals a body: HMAC-SHA256 as lower-case hex.
///
/// ```
/// use onceward::http::seal::{holds, seal};
/// let sealed = seal("secret", b"body");
/// assert!(holds("secret", b"body", &sealed));
/// assert!(!holds("secret", b"other", &sealed));
/// assert!(!holds("another", b"body", &sealed));
/// assert!(!holds("secret", b"body", ""));
/// ```
pub fn seal(secret: &str, body: &[u8]) -> String {
    // HMAC takes keys of any length, so there always is one.
    mac(secret, body).map_or_else(String::new, |mac| hex(&mac.finalize().into_bytes()))
}

/// Whether a seal is that of the body, in constant time.
pub fn holds(secret: &str, body: &[u8], seal: &str) -> bool {
    match (mac(secret, body), unhex(seal)) {
        (Some(mac), Some(bytes)) => mac.verify_slice(&bytes).is_ok(),
        _ => false,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|b| [b >> 4, b & 15])
        .filter_map(|n| char::from_digit(n.into(), 16))
        .collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| {
        char::from(b)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}
