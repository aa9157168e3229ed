//! What a suspended task waits for.

use super::task::Task;
use crate::types::{StepId, TaskId};
use serde::{Deserialize, Serialize};

/// What a suspended task waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// A ticket is out for the next slice to claim.
    Ready,
    /// The next attempt, not before this time.
    BackingOff {
        /// Milliseconds since 1970.
        due_ms: u64,
    },
    /// Something that the function waits for; whichever comes first makes it go on.
    For(Vec<Wait>),
    /// An operator: the code no longer fits the journal.
    CodeChanged(Box<Mismatch>),
}

/// One thing that a function waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wait {
    /// The step that waits.
    pub id: StepId,
    /// What for.
    pub what: WaitFor,
}

/// What a step waits for. All times in milliseconds since 1970, by the object's clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// A time that the function chose.
    Sleep {
        /// The time.
        due_ms: u64,
    },
    /// A signal.
    Signal {
        /// Its name.
        name: String,
        /// Not longer than this.
        #[serde(default)]
        due_ms: Option<u64>,
    },
    /// The next try.
    Retry {
        /// Not before this.
        due_ms: u64,
    },
    /// The end of another task.
    Child {
        /// The task.
        task_id: TaskId,
        /// When to look at it, should its end not be heard of.
        due_ms: u64,
    },
}

impl WaitFor {
    /// When it is over in any case.
    pub fn due_ms(&self) -> Option<u64> {
        match self {
            Self::Sleep { due_ms } | Self::Retry { due_ms } | Self::Child { due_ms, .. } => {
                Some(*due_ms)
            }
            Self::Signal { due_ms, .. } => *due_ms,
        }
    }
}

/// How the code no longer fits the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mismatch {
    /// How many records of that branch were visited before.
    pub index: u32,
    /// A step on record that the code did not come to.
    pub recorded: StepId,
    /// What the code came to instead; none if it ended.
    #[serde(default)]
    pub attempted: Option<StepId>,
    /// One sentence.
    pub difference: String,
}

/// When the first of these is over; `None` if only a signal can end them.
pub(super) fn first_due_ms(waits: &[Wait]) -> Option<u64> {
    waits.iter().filter_map(|wait| wait.what.due_ms()).min()
}

/// True if one of these is over by now.
pub(super) fn is_due(waits: &[Wait], now_ms: u64) -> bool {
    first_due_ms(waits).is_some_and(|due| due <= now_ms)
}

/// True if a sleep among these is over by now.
pub(super) fn has_slept(waits: &[Wait], now_ms: u64) -> bool {
    let over = |wait: &Wait| matches!(wait.what, WaitFor::Sleep { due_ms } if due_ms <= now_ms);
    waits.iter().any(over)
}

impl Task {
    /// What it waits for by name, if it does.
    pub fn waits(&self) -> &[Wait] {
        match &self.state {
            super::task::State::Suspended(Waiting::For(waits)) => waits,
            _ => &[],
        }
    }
}
