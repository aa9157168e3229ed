//! Small forms: durations, names, methods, URLs, header fields, statuses, base64.

use super::program::Accept;
use super::walk::{Problems, kind, member, quoted, text};
use crate::function::{Headers, MAX_NAME_BYTES, is_signal_name, parse_duration_ms};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

pub(super) fn duration(value: &Value) -> Result<u64, String> {
    let Value::String(written) = value else {
        let got = kind(value);
        return Err(format!(
            "got {got}, wanted a duration as a string like \"250ms\" or \"PT30S\""
        ));
    };
    if written.len() > 60 {
        let got = quoted(written);
        return Err(format!("{got} is not a duration: it is too long"));
    }
    parse_duration_ms(written)
}

/// A duration during which something can happen.
pub(super) fn positive_duration(value: &Value) -> Result<u64, String> {
    match duration(value)? {
        0 => Err(format!("got {}, wanted at least 1ms", kind(value))),
        ms => Ok(ms),
    }
}

pub(super) fn name(value: &Value) -> Result<String, String> {
    let name = text(value)?;
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        let got = name.len();
        return Err(format!("got {got} bytes, wanted 1 to {MAX_NAME_BYTES}"));
    }
    if name.chars().any(char::is_control) {
        let got = quoted(&name);
        return Err(format!(
            "got {got}, wanted a name without control characters"
        ));
    }
    Ok(name)
}

/// The name of a signal, which is part of an address.
pub(super) fn signal(value: &Value) -> Result<String, String> {
    let name = text(value)?;
    if matches!(name.as_str(), "." | "..") {
        let got = quoted(&name);
        return Err(format!("got {got}, which cannot be part of an address"));
    }
    if !is_signal_name(&name) {
        let got = quoted(&name);
        return Err(format!(
            "got {got}, wanted 1 to 100 letters, digits, `_`, `.` and `-`"
        ));
    }
    Ok(name)
}

/// The name of a function, which is part of an address. Whether there is one shows when it is called.
pub(super) fn function(value: &Value) -> Result<String, String> {
    let name = text(value)?;
    let first = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let plain = |b: u8| first(b) || b"_-".contains(&b);
    if name.len() > 64 || !name.bytes().next().is_some_and(first) || !name.bytes().all(plain) {
        let got = quoted(&name);
        return Err(format!(
            "got {got}, wanted the name of a function: 1 to 64 of a-z, 0-9, `_` and `-`, the first a letter or digit"
        ));
    }
    Ok(name)
}

/// An idempotency key.
pub(super) fn key(value: &Value) -> Result<String, String> {
    let key = text(value)?;
    if key.is_empty() || key.len() > 255 || !key.bytes().all(|b| b.is_ascii_graphic()) {
        let got = quoted(&key);
        return Err(format!(
            "got {got}, wanted 1 to 255 visible ASCII characters"
        ));
    }
    Ok(key)
}

pub(super) fn method(value: &Value) -> Result<String, String> {
    let method = text(value)?;
    if METHODS.contains(&method.as_str()) {
        return Ok(method);
    }
    let (got, wanted) = (quoted(&method), METHODS.join(", "));
    Err(format!("got {got}, wanted one of {wanted}"))
}

/// An absolute URL with `http` or `https`. Whether its host may be called is for the edge to say.
pub(super) fn url(value: &Value) -> Result<String, String> {
    let url = text(value)?;
    let wrong = |why: &str| Err(format!("got {}: {why}", quoted(&url)));
    let lower = url.to_ascii_lowercase();
    let Some(rest) = lower
        .strip_prefix("http://")
        .or_else(|| lower.strip_prefix("https://"))
    else {
        return wrong("wanted an absolute URL that begins with http:// or https://");
    };
    if !url.bytes().all(|b| b.is_ascii_graphic()) || url.contains('\\') {
        return wrong(
            "a URL has no spaces, backslashes, control or non-ASCII characters: encode them",
        );
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    if authority.contains('@') {
        return wrong("a user name or password does not belong into a URL");
    }
    if !is_authority(authority) {
        return wrong("wanted a host after //, and at most a port from 0 to 65535 behind it");
    }
    Ok(url)
}

fn is_authority(authority: &str) -> bool {
    let (host, port) = if let Some(inner) = authority.strip_prefix('[') {
        let Some((host, port)) = inner.split_once(']') else {
            return false;
        };
        (host, port)
    } else {
        authority
            .find(':')
            .map_or((authority, ""), |at| authority.split_at(at))
    };
    let port = port.strip_prefix(':').unwrap_or(port);
    let digits = port.bytes().all(|b| b.is_ascii_digit());
    let is_port = port.is_empty() || (digits && port.parse::<u16>().is_ok());
    !host.is_empty() && is_port
}

/// An object of header fields. A name comes once, in whatever spelling.
pub(super) fn headers(problems: &mut Problems, path: &str, value: &Value) -> Headers {
    let mut out = Headers::default();
    let Value::Object(map) = value else {
        problems.add(path, format!("got {}, wanted an object", kind(value)));
        return out;
    };
    for (name, value) in map {
        let path = member(path, name);
        if !is_token(name) {
            problems.add(
                path,
                "is no header name: letters, digits and !#$%&'*+-.^_`|~ only",
            );
        } else if out.get(name).is_some() {
            problems.add(path, "comes twice, in another spelling");
        } else if let Some(value) = problems.keep(&path, header_value(value)) {
            out.push(name, value);
        }
    }
    out
}

fn is_token(name: &str) -> bool {
    let is_tchar = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(is_tchar)
}

fn header_value(value: &Value) -> Result<String, String> {
    let text = text(value)?;
    let visible = |b: u8| b == b'\t' || b == b' ' || b.is_ascii_graphic();
    if !text.bytes().all(visible) {
        let got = quoted(&text);
        return Err(format!(
            "got {got}, wanted visible ASCII, spaces and tabs only"
        ));
    }
    Ok(text.trim_matches([' ', '\t']).to_owned())
}

/// `"2xx"`, `"200"`, `"2xx,404"`, `200`, or a list of these.
pub(super) fn accept(value: &Value) -> Result<Accept, String> {
    let mut ranges = Vec::new();
    let parts = match value {
        Value::Array(parts) => parts.as_slice(),
        single => std::slice::from_ref(single),
    };
    for part in parts {
        let written = match part {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            other => return Err(not_accepted(&kind(other))),
        };
        for word in written.split(',') {
            let range = status_range(word.trim()).ok_or_else(|| not_accepted(&quoted(&written)))?;
            ranges.push(range);
        }
    }
    if ranges.is_empty() {
        return Err(not_accepted("an empty list"));
    }
    Ok(Accept(ranges))
}

fn not_accepted(got: &str) -> String {
    format!("got {got}, wanted statuses from 200 to 599 or classes, like \"2xx\" or \"2xx,404\"")
}

fn status_range(word: &str) -> Option<(u16, u16)> {
    let &[first @ b'2'..=b'5', ref rest @ ..] = word.as_bytes() else {
        return None;
    };
    if rest.eq_ignore_ascii_case(b"xx") {
        let least = u16::from(first - b'0') * 100;
        return Some((least, least + 99));
    }
    let digits = rest.len() == 2 && rest.iter().all(u8::is_ascii_digit);
    let status = digits.then(|| word.parse().ok()).flatten()?;
    Some((status, status))
}

pub(super) fn base64(value: &Value) -> Result<Vec<u8>, String> {
    let text = text(value)?;
    STANDARD
        .decode(text.as_bytes())
        .map_err(|error| format!("is not base64 (standard alphabet, padded): {error}"))
}
