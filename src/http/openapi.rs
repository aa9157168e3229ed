//! The API as an `OpenAPI` 3.1 document. It is made of the table of routes and of the types that are sent
//! ([`build`], natively); the Worker carries the finished text.

#[cfg(not(target_arch = "wasm32"))]
pub mod build;
#[cfg(not(target_arch = "wasm32"))]
mod figures;
#[cfg(not(target_arch = "wasm32"))]
mod flows;
#[cfg(not(target_arch = "wasm32"))]
mod many;
#[cfg(not(target_arch = "wasm32"))]
mod operation;
#[cfg(not(target_arch = "wasm32"))]
mod paths;
#[cfg(not(target_arch = "wasm32"))]
mod shapes;

use super::validator::{Known, not_modified, tag};
use crate::types::{Answer, Headers};

/// The document.
pub const TEXT: &str = include_str!("../../docs/openapi.json");
/// Seconds that it may be kept: it changes with a release only.
const MAX_AGE_S: u32 = 3_600;

/// The answer to `GET /openapi.json`: 304 for whoever has it.
///
/// ```
/// use onceward::http::openapi::answer;
/// use onceward::types::Headers;
/// let first = answer(&Headers::default());
/// let known = [("If-None-Match", first.headers.get("etag").unwrap())].into_iter().collect();
/// assert_eq!((first.status, answer(&known).status), (200, 304));
/// ```
pub fn answer(headers: &Headers) -> Answer {
    let tag = tag(&[TEXT.as_bytes()]);
    let is_known = Known::read(headers).is_some_and(|known| known.has(&tag));
    let mut fields = Headers::default();
    fields.push("content-type", "application/json");
    fields.push("cache-control", format!("public, max-age={MAX_AGE_S}"));
    fields.push("x-content-type-options", "nosniff");
    fields.push("etag", tag);
    let answer = Answer {
        status: 200,
        headers: fields,
        body: TEXT.as_bytes().to_vec(),
    };
    if is_known {
        not_modified(answer)
    } else {
        answer
    }
}
