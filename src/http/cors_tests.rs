//! What browsers may send and read.

use super::*;
use crate::http::route::{Route, route};

#[test]
fn preflights_allow_and_expose_the_contract() {
    let Ok(Route::Preflight { allow }) = route("OPTIONS", "/hooks/github") else {
        panic!("no preflight");
    };
    let answer = preflight(&allow);
    assert_eq!(answer.status, 204);
    assert!(answer.body.is_empty());
    let has = |field: &str, names: &str| {
        let value = answer.headers.get(field).expect(field);
        for name in names.split_whitespace() {
            assert!(value.split(", ").any(|v| v == name), "{field} lacks {name}");
        }
    };
    has("access-control-allow-origin", "*");
    has("access-control-allow-methods", "POST");
    has(
        "access-control-allow-headers",
        "Idempotency-Key Prefer Authorization Content-Type If-None-Match Last-Event-ID",
    );
    has(
        "access-control-expose-headers",
        "Idempotent-Replayed Idempotency-Expires Location Retry-After Preference-Applied Link \
         Onceward-Task-Id ETag",
    );
}

#[test]
fn a_function_may_set_its_own_cors_fields() {
    let mut headers: Headers = [("Access-Control-Allow-Origin", "https://a.example")]
        .into_iter()
        .collect();
    cors(&mut headers);
    assert_eq!(
        headers.get("access-control-allow-origin"),
        Some("https://a.example")
    );
    assert_eq!(headers.len(), 2);
}
