//! What other tasks still have to be told: parents of the end, children of a cancellation.

use super::effect::{Reply, Transition};
use super::event::Moment;
use super::outbox::flush_backoff_ms;
use super::task::{Parent, Task};
use crate::types::{NoticeKind, TaskId};
use serde::{Deserialize, Serialize};

/// A message that another task must come to hear of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Debt {
    /// The end of this task, to a parent.
    End(Parent),
    /// Cancellation, to a child.
    Cancel(TaskId),
    /// What has become of this task, to operators.
    Notice(Notice),
}

/// Something that operators are to be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Notice {
    /// What.
    pub kind: NoticeKind,
    /// When it was so.
    pub at_ms: u64,
}

/// What other tasks still have to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Debts {
    /// The messages.
    pub list: Vec<Debt>,
    /// Failed tries since the last success.
    pub tries: u32,
    /// The next try, if the one at hand is not heard of.
    pub next_ms: u64,
}

/// Somebody has heard of it, or is gone.
pub(super) fn paid(mut task: Task, debt: &Debt, moment: &Moment) -> Transition {
    let before = task.debts.list.len();
    task.debts.list.retain(|d| d != debt);
    if task.debts.list.len() == before {
        return Transition::unchanged(Reply::Done);
    }
    task.debts.tries = 0;
    task.debts.next_ms = moment.ms + crate::limits::FLUSH_TIMEOUT_MS;
    Transition::put(task, Vec::new(), Reply::Done)
}

/// The next try is the alarm's.
pub(super) fn failed(mut task: Task, moment: &Moment) -> Transition {
    if task.debts.list.is_empty() {
        return Transition::unchanged(Reply::Done);
    }
    task.debts.next_ms = moment.ms + flush_backoff_ms(task.debts.tries, moment.fresh.jitter);
    task.debts.tries = task.debts.tries.saturating_add(1);
    Transition::put(task, Vec::new(), Reply::Done)
}
