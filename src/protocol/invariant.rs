//! What must hold of every task: it is over, or something that can be named makes it go on, and the alarm
//! rings for it.

use super::schedule::{NEVER_MS, next_due_ms, own_due_ms};
use super::task::{State, Task};
use super::waits::Waiting;
use crate::limits;
use serde::{Deserialize, Serialize};

/// What a task has lost that should make it go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// The alarm is not set for what is due later.
    Alarm,
    /// The ticket should have been replaced, and no alarm rings for it.
    Ticket,
    /// The lease is over, and no alarm rings for it.
    Lease,
    /// What it waits for is over or has no name, and no alarm rings for it.
    Wait,
    /// D1 or another task should have been told, and no alarm rings for it.
    Debt,
}

impl Lost {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Alarm,
        Self::Ticket,
        Self::Lease,
        Self::Wait,
        Self::Debt,
    ];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Alarm => "alarm",
            Self::Ticket => "ticket",
            Self::Lease => "lease",
            Self::Wait => "wait",
            Self::Debt => "debt",
        }
    }
}

/// Whether something is missing that should make this task go on. `alarm_ms` is when its alarm rings, if
/// one is set: a little late is good enough, since some tries move the alarm and leave the row alone, and
/// one whose time is long over never rings.
///
/// ```
/// use onceward::protocol::{Begin, Event, Lost, Moment, Next, handle, invariant};
/// # let begin: Begin = serde_json::from_value(serde_json::json!({
/// #     "op": "op", "key": {"kind": "source", "name": "lab", "tenant": "", "key": "k"}, "function": "f",
/// # })).unwrap();
/// let out = handle(None, Event::Begin(Box::new(begin)), &Moment::at(1_000));
/// let Next::Put(task) = out.next else { panic!("begin writes") };
/// let ends_ms = task.lease.as_ref().unwrap().ends_ms;
/// assert_eq!(invariant(&task, Some(ends_ms), 2_000), None);
/// assert_eq!(invariant(&task, None, 2_000), Some(Lost::Alarm));
/// assert_eq!(invariant(&task, None, ends_ms), Some(Lost::Lease));
/// ```
pub fn invariant(task: &Task, alarm_ms: Option<u64>, now_ms: u64) -> Option<Lost> {
    let nameless = match &task.state {
        State::Running => task.lease.is_none().then_some(Lost::Lease),
        State::Suspended(Waiting::Ready) => task.ticket.is_none().then_some(Lost::Ticket),
        State::Suspended(Waiting::For(waits)) => waits.is_empty().then_some(Lost::Wait),
        State::Suspended(Waiting::BackingOff { .. } | Waiting::CodeChanged(_))
        | State::Succeeded
        | State::Failed { .. }
        | State::Cancelled
        | State::Forgotten => None,
    };
    if nameless.is_some() {
        return nameless;
    }
    let due_ms = next_due_ms(task);
    if due_ms >= NEVER_MS {
        return None;
    }
    let latest_ms = due_ms.max(now_ms).saturating_add(limits::ALARM_SLACK_MS);
    let rings =
        |at_ms: u64| at_ms <= latest_ms && at_ms.saturating_add(limits::DEAD_ALARM_MS) >= now_ms;
    if alarm_ms.is_some_and(rings) {
        return None;
    }
    if due_ms > now_ms {
        return Some(Lost::Alarm);
    }
    if own_due_ms(task) > now_ms {
        return Some(Lost::Debt);
    }
    Some(match &task.state {
        State::Running => Lost::Lease,
        State::Suspended(Waiting::Ready) => Lost::Ticket,
        State::Suspended(_) => Lost::Wait,
        State::Succeeded | State::Failed { .. } | State::Cancelled | State::Forgotten => Lost::Debt,
    })
}
