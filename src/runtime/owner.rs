//! Whose are these signed bytes? An object that is named by them, not by a key, keeps the key that they
//! came with first.
//!
//! Some senders name their deliveries in a field that their signature does not cover. Whoever has caught one
//! such request can send it again under another name, and the signature still holds. A source that asks for it
//! (`dedup_signed_ms`) has this object asked before its task is named: within the window equal bytes always
//! name the task of the first. Nothing else is kept here, so that the task stays where its key says.
//!
//! It costs 2 requests and 3 rows for each new delivery: the key, the alarm at the end of the window, the
//! deletion; a repeat costs one request.

use super::Fault;
use super::desk::Desk;
use crate::http::object_call::{Reply, Told};
use crate::store::cells::CellError;
use crate::types::TaskId;
use serde::{Deserialize, Serialize};

/// What is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Owner {
    key: String,
    until_ms: u64,
}

fn cell(id: TaskId) -> String {
    format!("{id}/owner")
}

fn fault(error: CellError) -> Fault {
    Fault(error.0)
}

fn kept(desk: &Desk, id: TaskId) -> Result<Option<Owner>, Fault> {
    let Some(bytes) = desk.storage.cells().get(&cell(id)).map_err(fault)? else {
        return Ok(None);
    };
    let owner = serde_json::from_slice(&bytes);
    owner.map_err(|error| Fault(format!("the owner cannot be read: {error}")))
}

/// The key that these bytes came with first; from now on this one, if there is none within its window.
pub(super) async fn of(
    desk: &Desk,
    id: TaskId,
    key: String,
    window_ms: u64,
) -> Result<Reply, Fault> {
    let now_ms = desk.edge.now_ms();
    if let Some(owner) = kept(desk, id)?.filter(|owner| now_ms < owner.until_ms) {
        return Ok(Reply::of(Told::Owner { key: owner.key }));
    }
    let until_ms = now_ms + window_ms;
    let owner = Owner { key, until_ms };
    let bytes = serde_json::to_vec(&owner).map_err(|error| Fault(error.to_string()))?;
    desk.storage.cells().put(&cell(id), &bytes).map_err(fault)?;
    // Nothing is awaited in between: key and alarm are one atomic step.
    desk.storage.set_alarm(until_ms).await.map_err(Fault)?;
    desk.edge.count("object_rows", 2);
    desk.edge.count("alarms", 1);
    Ok(Reply::of(Told::Owner { key: owner.key }))
}

/// The alarm of such an object: it forgets what is over. Says whether it is one.
pub(super) async fn ring(desk: &Desk, id: TaskId) -> Result<bool, Fault> {
    let Some(owner) = kept(desk, id)? else {
        return Ok(false);
    };
    if desk.edge.now_ms() < owner.until_ms {
        // Rung by a clock that is ahead, or again after a newer window began.
        desk.storage
            .set_alarm(owner.until_ms)
            .await
            .map_err(Fault)?;
        desk.edge.count("alarms", 1);
    } else {
        desk.storage.delete_all().await.map_err(Fault)?;
    }
    desk.edge.count("object_rows", 1);
    Ok(true)
}
