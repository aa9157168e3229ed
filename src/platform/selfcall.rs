//! Continuations, sent through the service binding.

use super::probe::{self, SelfFault};
use crate::runtime::{CONTINUE_PATH, Continuation};
use js_sys::Uint8Array;
use worker::{Env, Headers, Method, Request, RequestInit, Result};

/// The host that only the service binding can give; no route of a zone leads here.
pub(super) const INTERNAL_HOST: &str = "onceward.internal";

/// Sends a ticket to a new invocation; says what status came back.
pub(super) async fn send(env: Env, continuation: Continuation) -> std::result::Result<u16, String> {
    let times = match probe::self_fault() {
        // Nobody hears of what is lost on its way.
        Some(SelfFault::Lose) => 0,
        Some(SelfFault::Double) => 2,
        None => 1,
    };
    let mut status = Ok(202);
    for _ in 0..times {
        status = once(&env, &continuation).await.map_err(|e| e.to_string());
    }
    status
}

async fn once(env: &Env, continuation: &Continuation) -> Result<u16> {
    let headers = Headers::new();
    for (name, value) in continuation.headers.iter() {
        headers.set(name, value)?;
    }
    let mut init = RequestInit::new();
    init.with_method(Method::Post)
        .with_headers(headers)
        .with_body(Some(Uint8Array::from(continuation.body.as_slice()).into()));
    let url = format!("https://{INTERNAL_HOST}{CONTINUE_PATH}");
    let request = Request::new_with_init(&url, &init)?;
    probe::count("hops", 1);
    probe::deepest(continuation.hop.into());
    let response = env.service("SELF")?.fetch_request(request).await?;
    Ok(response.status_code())
}
