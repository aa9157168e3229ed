//! What other tasks still have to be told: parents of the end, children of a cancellation.

use super::effect::{Reply, Transition};
use super::event::Moment;
use super::outbox::flush_backoff_ms;
use super::task::{Debt, Task};

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
