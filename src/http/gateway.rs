//! Requests on their way to the origin of a gateway, and what of its answers is passed on.
//!
//! An address below `/proxy/{name}` goes on as it was sent: nothing is decoded, folded or cleaned. What
//! could lead out of the origin's base path, in whatever spelling, is refused before anything else.

use super::admit::{
    Admitted, Delivery, Mode, about, body_fits, closely, declared_bytes, key_of, unreadable, wishes,
};
use super::auth::Caller;
use super::code::Code;
use super::headers::{RESERVED, keep_input, size};
use super::problem::Problem;
use crate::config::{ForwardKey, Gateway, METHODS};
use crate::function::OutRequest;
use crate::limits::MAX_HEADER_BYTES;
use crate::types::{Headers, Input, TaskKey, TaskKind};
use crate::webhook::{Document, FingerprintMode, KeyRule};
use url::Url;

/// Kept with a request's fields: its method. No field can have such a name.
pub const METHOD: &str = ":method";
/// Kept with a request's fields: path and query below the gateway, as sent.
pub const TARGET: &str = ":target";
/// Kept with a request's fields where the origin gets the client's own key: the key as sent.
pub const KEY: &str = ":key";

/// Fields of an answer that belong to one connection (RFC 9110, 7.6.1).
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Layers of percent-encoding that are looked through.
const LAYERS: usize = 8;

/// Looks whether what stands behind `/proxy/{name}` can go on: empty, or a path that stays where it is.
///
/// # Errors
/// 400 for a segment that means the one above, or the same, in whatever spelling, and for characters
/// that no path has.
///
/// ```
/// use onceward::http::gateway::check_tail;
/// assert!(check_tail("/charges//a%2Fb/").is_ok());
/// for tail in ["/..", "/a/%2E%2e/b", "/a/.", "/%252e%252e/x", "/..;v=1/x", "/a\\..\\b", "/a/..%2fb"] {
///     assert!(check_tail(tail).is_err(), "{tail}");
/// }
/// ```
pub fn check_tail(tail: &str) -> Result<(), Problem> {
    let refused = |why: &str| Err(Problem::new(Code::InputInvalid, why));
    let plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'\\' | b'#' | b'?');
    if !tail.bytes().all(plain) {
        return refused("The path holds a character that no path has; encode it.");
    }
    if !(tail.is_empty() || tail.starts_with('/')) {
        return refused("The path does not begin with a slash.");
    }
    let mut text = tail.as_bytes().to_vec();
    for _ in 0..LAYERS {
        if text.split(|b| matches!(b, b'/' | b'\\')).any(is_dots) {
            return refused(
                "The path has a segment . or .., perhaps encoded; send the address that is meant.",
            );
        }
        let decoded = decoded(&text);
        if decoded == text {
            return Ok(());
        }
        text = decoded;
    }
    refused("The path is encoded too often.")
}

/// `.` or `..`; some servers leave out what follows a semicolon.
fn is_dots(segment: &[u8]) -> bool {
    let name = segment.split(|b| *b == b';').next().unwrap_or(segment);
    matches!(name, b"." | b"..")
}

/// One layer of percent-encoding less; what is none stays.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| {
        let byte = text.get(at).copied()?;
        let value = char::from(byte).to_digit(16)?;
        u8::try_from(value).ok()
    };
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let escaped = (*byte == b'%').then(|| Some(digit(at + 1)? << 4 | digit(at + 2)?));
        let escaped = escaped.flatten();
        out.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    out
}

/// The address at the origin for a path and query below the gateway.
///
/// # Errors
/// It would not be below the origin's own path, or is no address.
///
/// ```
/// use onceward::http::gateway::address;
/// let base = "https://api.example.com/v1";
/// assert_eq!(address(base, "/a//b?x=%20").unwrap(), "https://api.example.com/v1/a//b?x=%20");
/// assert_eq!(address(base, "").unwrap(), "https://api.example.com/v1");
/// assert!(address(base, "/../admin").is_err());
/// assert!(address(base, ".evil.example/").is_err());
/// ```
pub fn address(origin: &str, target: &str) -> Result<String, String> {
    let (tail, query) = match target.split_once('?') {
        Some((tail, query)) => (tail, Some(query)),
        None => (target, None),
    };
    check_tail(tail).map_err(|problem| problem.detail)?;
    let fine = |b: u8| b.is_ascii_graphic() && b != b'#';
    if !query.is_none_or(|query| query.bytes().all(fine)) {
        return Err("The query holds a character that no query has; encode it.".to_owned());
    }
    let whole = format!("{origin}{target}");
    let parse = |text: &str| Url::parse(text).map_err(|error| format!("no address: {error}"));
    let (base, url) = (parse(origin)?, parse(&whole)?);
    let path = base.path().trim_end_matches('/');
    let below = url.path().strip_prefix(path);
    let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if url.origin() != base.origin() || !is_below {
        return Err("The address is not below the origin's.".to_owned());
    }
    Ok(url.into())
}

/// Checks of the head of a request: nothing is too large as far as is known, its method is one that
/// can be sent on.
///
/// # Errors
/// 405, 413, 431.
pub fn check(gateway: &Gateway, target: &str, delivery: &Delivery<'_>) -> Result<(), Problem> {
    if !METHODS.contains(&delivery.method) {
        return Err(Problem::method_not_allowed(&METHODS.join(", ")));
    }
    if gateway.is_idempotent(delivery.method) {
        body_fits(declared_bytes(delivery).unwrap_or(0))?;
        let kept = kept(gateway, target, delivery);
        if size(&kept) > MAX_HEADER_BYTES {
            return Err(Problem::new(
                Code::HeadersTooLarge,
                format!(
                    "The address and the header fields that are kept take more than {MAX_HEADER_BYTES} bytes."
                ),
            ));
        }
    }
    Ok(())
}

/// Decides about a request that is sent on once per key. `target` is path and query below the gateway.
///
/// # Errors
/// 400 for its key, 413.
pub fn admit(
    gateway: &Gateway,
    target: &str,
    delivery: &Delivery<'_>,
    caller: &Caller,
    body: Vec<u8>,
) -> Result<Admitted, Problem> {
    body_fits(body.len())?;
    let rules = [KeyRule::IdempotencyKey];
    let prefer = wishes(&rules, delivery.headers);
    let key = key_of(&closely(&rules, prefer), delivery.headers)?;
    let function = gateway.function_name();
    let document = Document::new(delivery.headers.get("content-type"), &body);
    let fingerprint = FingerprintMode::Raw
        .of(delivery.method, target, &document)
        .map_err(unreadable)?;
    Ok(Admitted {
        key: TaskKey::new(TaskKind::Function, &function, &caller.tenant, &key),
        fingerprint,
        input: Input {
            headers: kept(gateway, target, delivery),
            body,
        },
        prefer,
        mode: Mode::Call,
        respond_within_ms: gateway.policy().respond_within_ms,
        function,
        about: about(delivery.headers),
    })
}

/// What a task keeps of the head of its request.
fn kept(gateway: &Gateway, target: &str, delivery: &Delivery<'_>) -> Headers {
    let mut out = Headers::default();
    out.push(METHOD, delivery.method);
    out.push(TARGET, target);
    if gateway.key_to_origin() == ForwardKey::Passed
        && let Some(key) = delivery.headers.get("idempotency-key")
    {
        out.push(KEY, key);
    }
    let forwarded = keep_input(delivery.headers, &gateway.forwarded_names());
    for (name, value) in forwarded.iter() {
        out.push(name, value);
    }
    out
}

/// The request that is passed through without a task; its body follows as it comes in.
///
/// # Errors
/// 400 for its address, 500 where a secret cannot be used.
pub fn through(
    gateway: &Gateway,
    target: &str,
    delivery: &Delivery<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<OutRequest, Problem> {
    let url =
        address(gateway.origin(), target).map_err(|why| Problem::new(Code::InputInvalid, why))?;
    let mut headers = keep_input(delivery.headers, &gateway.forwarded_names());
    for header in gateway.origin_headers() {
        let value = header.value(lookup).map_err(misconfigured)?;
        headers.set(&header.name, value);
    }
    Ok(OutRequest {
        method: delivery.method.to_owned(),
        url,
        headers,
        body: Vec::new(),
    })
}

/// The problem of a gateway that lacks a secret, with the reason for the log.
pub fn misconfigured(reason: impl Into<String>) -> Problem {
    Problem::new(
        Code::Misconfigured,
        "The gateway is not set up to take this request; nothing was sent. Its operator finds the reason in the log.",
    )
    .because(reason)
}

/// The fields of an answer that is passed through: all but those of one connection, those that are
/// ours, and cookies, which would be set for every function of this host. The length is that of what
/// is really sent, but for HEAD, where nothing is.
///
/// ```
/// use onceward::{http::gateway::passed_on, types::Headers};
/// let headers: Headers = [("etag", "\"1\""), ("set-cookie", "a=1"), ("connection", "x-hop"), ("x-hop", "1")]
///     .into_iter()
///     .collect();
/// assert_eq!(passed_on("GET", &headers), [("etag", "\"1\"")].into_iter().collect());
/// ```
pub fn passed_on(method: &str, headers: &Headers) -> Headers {
    let named: Vec<String> = headers
        .iter()
        .filter(|(name, _)| *name == "connection")
        .flat_map(|(_, value)| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let goes_on = |name: &str| {
        !HOP_BY_HOP.contains(&name)
            && !RESERVED.contains(&name)
            && !name.starts_with("set-cookie")
            && (name != "content-length" || method == "HEAD")
            && !named.iter().any(|n| n == name)
    };
    headers.iter().filter(|(name, _)| goes_on(name)).collect()
}

#[cfg(test)]
#[path = "gateway_tests.rs"]
mod tests;
