//! What a page of another origin may ask and read.

use crate::types::{Answer, Headers};

/// Request fields that a page of another origin may send.
const CORS_ALLOW: &str =
    "Idempotency-Key, Prefer, Authorization, Content-Type, If-None-Match, Last-Event-ID";
/// Answer fields that it may read.
const CORS_EXPOSE: &str = "Idempotent-Replayed, Idempotency-Expires, Idempotency-Key, Location, \
    Retry-After, Preference-Applied, Link, Onceward-Task-Id, Onceward-Answer-Status, ETag, \
    Accept-Post";
/// Seconds that a browser keeps a preflight; none keeps it longer than a day.
const CORS_MAX_AGE_S: &str = "86400";

/// The answer to a CORS preflight.
///
/// ```
/// use onceward::http::route::preflight;
/// let answer = preflight("POST, OPTIONS");
/// assert_eq!(answer.status, 204);
/// assert_eq!(answer.headers.get("access-control-allow-methods"), Some("POST, OPTIONS"));
/// ```
pub fn preflight(allow: &str) -> Answer {
    let mut headers = Headers::default();
    headers.push("allow", allow);
    headers.push("access-control-allow-methods", allow);
    headers.push("access-control-allow-headers", CORS_ALLOW);
    headers.push("access-control-max-age", CORS_MAX_AGE_S);
    cors(&mut headers);
    Answer {
        status: 204,
        headers,
        body: Vec::new(),
    }
}

/// Adds the CORS fields that every answer needs, unless the function set its own. Any origin may
/// ask: nothing here is granted by cookie or address, only by token and signature.
pub fn cors(headers: &mut Headers) {
    for (name, value) in [
        ("access-control-allow-origin", "*"),
        ("access-control-expose-headers", CORS_EXPOSE),
    ] {
        if headers.get(name).is_none() {
            headers.push(name, value);
        }
    }
}

#[cfg(test)]
#[path = "cors_tests.rs"]
mod tests;
