//! Continuations: a ticket sent to a new invocation of this Worker.

use super::ports::{Continuation, Edge, Level};
use super::serve::TOKEN;
use crate::http::seal;
use crate::types::{Headers, TaskId, Token};
use serde::{Deserialize, Serialize};
use serde_json::json;

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
fn secret(edge: &Edge) -> String {
    edge.secret(TOKEN).unwrap_or_default()
}

/// Whether a continuation was sent by this Worker.
pub(super) fn is_sealed(edge: &Edge, headers: &Headers, body: &[u8]) -> bool {
    let sealed = headers.get(seal::HEADER).unwrap_or_default();
    seal::holds(&secret(edge), body, sealed)
}

/// Sends a ticket to a new slice. If it is lost, the alarm mints another one. Comes back at once, or
/// at the end of the slice if it is held.
pub(super) async fn send_on(edge: &Edge, order: &Continue) {
    let why = match send(edge, order).await {
        Ok(202) => return,
        Ok(status) => format!("continuation refused: {status}"),
        Err(error) => error,
    };
    let fields = json!({"task_id": order.task_id.to_string(), "error": why});
    edge.log(Level::Error, "continue", fields);
}

async fn send(edge: &Edge, order: &Continue) -> Result<u16, String> {
    let body = serde_json::to_vec(order).map_err(|e| e.to_string())?;
    let mut headers = Headers::default();
    headers.push("content-type", "application/json");
    headers.push(seal::HEADER, seal::seal(&secret(edge), &body));
    let continuation = Continuation {
        task_id: order.task_id,
        hop: order.hop,
        headers,
        body,
    };
    edge.go_on(continuation).await
}
