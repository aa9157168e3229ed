//! What others may know of a task: no token, no ticket, no payload.

use super::ending::{Cancel, Ending, EndsAs, Undone};
use super::task::{State, Task, Version};
use super::waits::Waiting;
use crate::types::{About, Answer, Cost, Failure, TaskId, TaskKey};
use serde::{Deserialize, Serialize};

/// A task as it is shown. All times in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Summary {
    /// Its id.
    pub task_id: TaskId,
    /// Scope and key.
    pub key: TaskKey,
    /// The function that runs.
    pub function: String,
    /// Where it stands.
    pub state: State,
    /// Accepting time, or later.
    pub generation: u64,
    /// Claims since the last progress.
    pub attempts: u32,
    /// All claims of this generation.
    pub claims: u32,
    /// Times that a new delivery made it go on.
    pub revivals: u32,
    /// Accepted.
    pub created_ms: u64,
    /// Last change of state.
    pub updated_ms: u64,
    /// Succeeded or failed.
    pub finished_ms: Option<u64>,
    /// The key is new from then on.
    pub expires_ms: Option<u64>,
    /// Why the last attempt failed.
    pub failure: Option<Failure>,
    /// Status of the stored answer.
    pub answer_status: Option<u16>,
    /// Duplicates so far; approximate.
    pub duplicates: u64,
    /// How it is to end once everything is undone; while this is here the task is compensating.
    #[serde(default)]
    pub ending: Option<Ending>,
    /// What came of undoing.
    #[serde(default)]
    pub undone: Option<Undone>,
    /// An operator wanted it ended.
    #[serde(default)]
    pub cancel: Option<Cancel>,
    /// Signals that nobody has waited for yet.
    #[serde(default)]
    pub unread: u32,
    /// It has ended and its answer is not kept: the next delivery of the key begins anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free: bool,
    /// Labels and trace.
    #[serde(default, skip_serializing_if = "About::is_empty")]
    pub about: About,
    /// Input and journal are gone; the answer is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stripped: bool,
    /// What its object was billed for.
    #[serde(default)]
    pub cost: Cost,
    /// Grows with every change that D1 gets to see.
    #[serde(default)]
    pub version: Version,
    /// The last fence that was given out.
    #[serde(default)]
    pub fence: u64,
    /// Until when the lock is held, if it is.
    #[serde(default)]
    pub lease_ends_ms: Option<u64>,
}

/// Until when the lock is held.
fn lease_ends_ms(task: &Task) -> Option<u64> {
    let held = matches!(task.state, State::Running);
    let lease = task.lease.as_ref().filter(|_| held)?;
    Some(lease.ends_ms)
}

impl Summary {
    /// Of a task.
    pub fn of(task: &Task) -> Self {
        Self {
            task_id: task.id(),
            key: task.key.clone(),
            function: task.function.clone(),
            state: task.state.clone(),
            generation: task.generation,
            attempts: task.attempts,
            claims: task.claims,
            revivals: task.revivals,
            created_ms: task.created_ms,
            updated_ms: task.updated_ms,
            finished_ms: task.finished_ms,
            expires_ms: task.expires_ms,
            failure: task.failure.clone().map(|f| Failure { answer: None, ..f }),
            answer_status: task.answer.as_ref().map(|a| a.status),
            duplicates: task.duplicates,
            ending: task.ending.clone(),
            undone: task.undone.clone(),
            cancel: task.cancel.clone(),
            unread: u32::try_from(task.unread.len()).unwrap_or(u32::MAX),
            free: task.is_free(),
            stripped: task.stripped,
            about: task.about.clone(),
            cost: task.cost,
            version: task.version,
            fence: task.fence,
            lease_ends_ms: lease_ends_ms(task),
        }
    }

    /// True when waiting for the task to end makes sense: it runs, or will within moments.
    pub fn is_moving(&self, now_ms: u64) -> bool {
        if self.is_undoing_success() {
            return false;
        }
        let soon = now_ms + crate::limits::BRIEF_WAIT_MS;
        match &self.state {
            State::Running | State::Suspended(Waiting::Ready) => true,
            State::Suspended(Waiting::BackingOff { due_ms }) => *due_ms <= soon,
            State::Suspended(Waiting::For(waits)) => super::waits::is_due(waits, soon),
            State::Suspended(Waiting::CodeChanged(_))
            | State::Succeeded
            | State::Failed { .. }
            | State::Cancelled
            | State::Forgotten => false,
        }
    }

    /// True while what a succeeded task did is being undone: its stored answer stays.
    pub fn is_undoing_success(&self) -> bool {
        let ending = self.ending.as_ref();
        ending.is_some_and(|e| e.to == EndsAs::Succeeded)
    }

    /// True if a new delivery of a failed task begins it anew, for what it did was undone.
    pub fn restarts(&self) -> bool {
        matches!(self.state, State::Failed { resumable: true }) && self.undone.is_some()
    }
}

/// Where a task stands for somebody who sent a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Standing {
    /// The task.
    pub summary: Summary,
    /// Status and headers of the stored answer, once the task is final; the body is kept beside.
    pub answer: Option<Answer>,
    /// Whether the delivery that is told this began or revived the task itself; set by the object.
    #[serde(default)]
    pub began: bool,
}

impl Standing {
    /// Of a task.
    pub(super) fn of(task: &Task) -> Self {
        Self {
            summary: Summary::of(task),
            answer: task.answer.clone().filter(|_| task.answers()),
            began: false,
        }
    }
}
