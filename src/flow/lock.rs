//! Locks and counted permits: each is an object of its own, which decides here who goes on.

use serde::{Deserialize, Serialize};

/// What a task wants of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockOp {
    /// To hold it, with so many others at most, or to stand in its queue. Asking again changes nothing.
    Acquire {
        /// Holders at once.
        limit: u32,
        /// How many may wait.
        queue: u32,
    },
    /// To hold it no more, or to leave the queue.
    Release,
}

/// A message to the object of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockCall {
    /// Its name.
    pub name: String,
    /// Who asks: the id of a task.
    pub task_id: String,
    /// What for.
    pub op: LockOp,
}

/// The answer to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockReply {
    /// It is held now.
    Granted,
    /// It stands in the queue, behind so many; it is told by a letter when it holds the lock.
    Queued {
        /// How many come first.
        ahead: u32,
    },
    /// The queue is full.
    Full,
    /// It is held no more.
    Released,
}
