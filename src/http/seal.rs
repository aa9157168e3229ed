//! What this deployment's secret signs: messages that this Worker sends to itself, as proof that they
//! come from inside; and one-time addresses of signals.
//!
//! On the platform no request from outside has the internal host. Where something in front of the
//! Worker lets a sender choose its `Host`, the seal keeps forged tickets from costing an object request.

use crate::types::TaskId;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The field that carries it.
pub const HEADER: &str = "onceward-seal";

/// What is signed for one purpose is good for nothing else that the secret may sign.
fn mac(secret: &str, purpose: &[u8], body: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    mac.update(purpose);
    mac.update(b"\n");
    mac.update(body);
    Some(mac)
}

const CONTINUATION: &[u8] = b"onceward continuation";
const SIGNAL: &[u8] = b"onceward signal";

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
    mac(secret, CONTINUATION, body)
        .map_or_else(String::new, |mac| hex(&mac.finalize().into_bytes()))
}

/// Whether a seal is that of the body, in constant time.
pub fn holds(secret: &str, body: &[u8], seal: &str) -> bool {
    match (mac(secret, CONTINUATION, body), unhex(seal)) {
        (Some(mac), Some(bytes)) => mac.verify_slice(&bytes).is_ok(),
        _ => false,
    }
}

/// The token of the `n`th one-time address of a signal; `None` without a secret.
///
/// It begins with its number, a dot behind it, so that it can be checked by itself.
///
/// ```
/// use onceward::http::seal::{is_signal_token, signal_token};
/// use onceward::types::{TaskKey, TaskKind};
/// let id = TaskKey::new(TaskKind::Source, "shop", "", "k1").task_id();
/// let token = signal_token("secret", id, "approval", 3).unwrap();
/// assert!(token.starts_with("3.") && is_signal_token("secret", id, "approval", &token));
/// for (secret, name, given) in [
///     ("secret", "approval", token.replacen("3.", "4.", 1)),
///     ("secret", "approval", token.replacen("3.", "", 1)),
///     ("secret", "refusal", token.clone()),
///     ("another", "approval", token.clone()),
///     ("", "approval", token.clone()),
/// ] {
///     assert!(!is_signal_token(secret, id, name, &given), "{given}");
/// }
/// assert_eq!(signal_token("", id, "approval", 3), None);
/// ```
pub fn signal_token(secret: &str, task: TaskId, name: &str, n: u32) -> Option<String> {
    let mac = signal_mac(secret, task, name, n)?;
    Some(format!("{n}.{}", hex(&mac.finalize().into_bytes())))
}

/// Whether this is the token of an address of the signal, in constant time.
pub fn is_signal_token(secret: &str, task: TaskId, name: &str, given: &str) -> bool {
    let read = || {
        let (n, token) = given.split_once('.')?;
        let number: u32 = n.parse().ok()?;
        // One token has one spelling: it is the id of the signal.
        let canonical = number.to_string() == n && !token.bytes().any(|b| b.is_ascii_uppercase());
        let mac = signal_mac(secret, task, name, number).filter(|_| canonical)?;
        mac.verify_slice(&unhex(token)?).ok()
    };
    read().is_some()
}

fn signal_mac(secret: &str, task: TaskId, name: &str, n: u32) -> Option<Hmac<Sha256>> {
    if secret.is_empty() {
        return None;
    }
    // Ids and numbers have no line break, so no two of these are the same text.
    mac(secret, SIGNAL, format!("{task}\n{n}\n{name}").as_bytes())
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
