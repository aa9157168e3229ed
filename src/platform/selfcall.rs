//! Continuations: a ticket sent to a new invocation of this Worker.

use crate::types::{TaskId, Token};
use serde::{Deserialize, Serialize};
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
    /// So that a Worker that does not have the function leaves the ticket alone.
    #[serde(default)]
    pub(super) function: String,
}

/// Sends a ticket. The receiver answers at once and works on by itself.
pub(super) async fn send(
    env: &Env,
    task_id: TaskId,
    ticket: &Token,
    hop: u32,
    function: &str,
) -> Result<()> {
    let body = serde_json::to_string(&Continue {
        task_id,
        ticket: ticket.clone(),
        hop,
        function: function.to_owned(),
    })?;
    let headers = Headers::new();
    headers.set("content-type", "application/json")?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post)
        .with_headers(headers)
        .with_body(Some(body.into()));
    let url = format!("https://{INTERNAL_HOST}/internal/continue");
    let request = Request::new_with_init(&url, &init)?;
    super::probe::count("hops", 1);
    super::probe::deepest(hop.into());
    let response = env.service("SELF")?.fetch_request(request).await?;
    match response.status_code() {
        202 => Ok(()),
        status => Err(worker::Error::RustError(format!(
            "continuation refused: {status}"
        ))),
    }
}
