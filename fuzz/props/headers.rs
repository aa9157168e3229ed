//! Header fields: what is stored, what is kept, preferences, bearer tokens.

use super::input::{TOKEN, is_whole, written};
use onceward::http::auth::{Scope, Tokens};
use onceward::http::headers::{fit, is_credential, is_token, keep_input, size, storable};
use onceward::http::prefer::Prefer;
use onceward::limits::MAX_HEADER_BYTES;
use onceward::types::{Answer, Headers};
use onceward::webhook::single;

const NEVER: [&str; 7] = [
    "set-cookie",
    "content-length",
    "transfer-encoding",
    "connection",
    "onceward-task-id",
    "idempotent-replayed",
    "authorization",
];

/// Some of what no function gets to see, written here once more.
const CREDENTIALS: [&str; 6] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-api-key",
    "x-gitlab-token",
    "x-hub-signature-256",
];

pub fn check(data: &[u8]) {
    let request = written(data);
    let headers = &request.headers;
    if let Ok(kept) = storable(headers) {
        assert!(size(&kept) <= MAX_HEADER_BYTES);
        assert!(
            kept.iter()
                .all(|(name, _)| is_token(name) && !NEVER.contains(&name))
        );
        assert!(kept.iter().all(|(_, v)| !v.contains(['\r', '\n', '\0'])));
        assert_eq!(
            storable(&kept),
            Ok(kept.clone()),
            "storing twice is storing once"
        );
    }
    let names: Vec<String> = headers.iter().map(|(name, _)| name.to_owned()).collect();
    let seen = keep_input(headers, &names);
    assert!(seen.iter().all(|(name, _)| !is_credential(name)));
    assert!(CREDENTIALS.iter().all(|name| seen.get(name).is_none()));
    for name in &names {
        let count = headers.iter().filter(|(n, _)| n == name).count();
        assert_eq!(single(headers, name).is_ok(), count == 1, "{name}");
    }
    let status = request.first.trim().parse().unwrap_or(200);
    let answer = Answer {
        status,
        headers: headers.clone(),
        body: request.body,
    };
    if let Ok(fitted) = fit(answer) {
        assert!((200..=599).contains(&fitted.status));
        assert_eq!(fit(fitted.clone()), Ok(fitted));
    }
    prefer(headers);
    token(headers);
}

fn prefer(headers: &Headers) {
    let granted = Prefer::read(headers).granted();
    assert!(granted.wait_s.is_none_or(|s| s <= 25));
    assert!(granted.wait_ms().is_none_or(|ms| ms <= 25_000));
    let again: Headers = granted
        .applied()
        .map(|a| ("Prefer", a))
        .into_iter()
        .collect();
    assert_eq!(
        Prefer::read(&again),
        granted,
        "what was applied says what was granted"
    );
    // Several fields are one list, unless a quote is left open in one of them.
    let fields: Vec<&str> = headers
        .iter()
        .filter(|(n, _)| *n == "prefer")
        .map(|(_, v)| v)
        .collect();
    if !fields.iter().any(|value| value.contains('"')) {
        let joined: Headers = [("prefer", fields.join(","))].into_iter().collect();
        assert_eq!(Prefer::read(&joined), Prefer::read(headers));
    }
}

/// Opens for exactly one field with the scheme and the whole token.
fn token(headers: &Headers) {
    let mut given = headers
        .iter()
        .filter(|(n, _)| *n == "authorization")
        .map(|(_, v)| v);
    let wanted = match (given.next(), given.next()) {
        (Some(value), None) => value.get(..7).is_some_and(|scheme| {
            scheme.eq_ignore_ascii_case("bearer ") && value[7..].trim_start_matches(' ') == TOKEN
        }),
        _ => false,
    };
    match Tokens::single(Some(TOKEN)).check(headers, Scope::Operate) {
        Ok(_) => assert!(wanted),
        Err(problem) => {
            assert!(!wanted);
            assert_eq!(problem.to_answer().status, 401);
            is_whole(&problem);
        }
    }
    assert!(Tokens::single(None).check(headers, Scope::Read).is_err());
}
