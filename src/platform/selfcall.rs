//! Continuations: a ticket sent to a new invocation of this Worker.

use super::log;
use super::probe::{self, SelfFault};
use crate::http::seal;
use crate::types::{Headers as Fields, TaskId, Token};
use serde::{Deserialize, Serialize};
use serde_json::json;
use worker::{Env, Headers, Method, Request, RequestInit, Result};

/// The host that only the service binding can give; no route of a zone leads here.
pub(super) const INTERNAL_HOST: &str = "onceward.internal";

/// A continuation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Continue {
    pub(super) task_id: TaskId,
    pub(super) ticket: Token,
    #[serde(default)]
    pub(super) hop: u32,
    /// The sender waits for the end of the slice.
    #[serde(default)]
    pub(super) held: bool,
    /// So that a Worker that does not have the function leaves the ticket alone.
    #[serde(default)]
    pub(super) function: String,
}

/// What the seal is made with. A deployment without an API token has no secret of its own; there the
/// host and the ticket are what is left.
fn secret(env: &Env) -> String {
    super::ingress::secret(env, super::ingress::TOKEN).unwrap_or_default()
}

/// Whether a continuation was sent by this Worker.
pub(super) fn is_sealed(env: &Env, headers: &Fields, body: &[u8]) -> bool {
    let sealed = headers.get(seal::HEADER).unwrap_or_default();
    seal::holds(&secret(env), body, sealed)
}

/// Sends a ticket to a new slice. If it is lost, the alarm mints another one. Comes back at once, or
/// at the end of the slice if it is held.
pub(super) async fn send_on(env: &Env, order: &Continue) {
    let times = match probe::self_fault() {
        Some(SelfFault::Lose) => 0,
        Some(SelfFault::Double) => 2,
        None => 1,
    };
    for _ in 0..times {
        if let Err(error) = send(env, order).await {
            let fields = json!({"task_id": order.task_id.to_string(), "error": error.to_string()});
            log::error("continue", fields);
        }
    }
}

async fn send(env: &Env, order: &Continue) -> Result<()> {
    let body = serde_json::to_string(order)?;
    let headers = Headers::new();
    headers.set("content-type", "application/json")?;
    headers.set(seal::HEADER, &seal::seal(&secret(env), body.as_bytes()))?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post)
        .with_headers(headers)
        .with_body(Some(body.into()));
    let url = format!("https://{INTERNAL_HOST}/internal/continue");
    let request = Request::new_with_init(&url, &init)?;
    probe::count("hops", 1);
    probe::deepest(order.hop.into());
    let response = env.service("SELF")?.fetch_request(request).await?;
    match response.status_code() {
        202 => Ok(()),
        status => Err(worker::Error::RustError(format!(
            "continuation refused: {status}"
        ))),
    }
}
