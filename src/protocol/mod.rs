//! Ring 1: the task machine. Pure: a task, an event and the moment go in; the next task, the
//! effects to carry out and the reply come out.
//!
//! The caller loads the task, calls [`handle`], writes what it is told in one atomic step, and only
//! then replies or acts. Nothing in here reads a clock, draws a random number, or waits; so the model
//! checker and the simulation run the same code as production.
//!
//! | file | decides |
//! |---|---|
//! | `admission` | what a delivery meets: new, running, final, other fingerprint, resumable, expired |
//! | `lease` | who may act: tickets, claims, fences, lost leases |
//! | `journal` | what is recorded, once |
//! | `reopen` | which failure is no outcome, and is tried again |
//! | `finish` | how an attempt ends: success, failure |
//! | `suspend`, `waits` | how a slice hands its task on, and what a task waits for |
//! | `mailbox` | signals: kept in order, each once |
//! | `ending` | cancellation, compensation, the end |
//! | `steer` | what operators can do: retry, undo; how a task starts over |
//! | `debts` | what other tasks still have to be told |
//! | `notice` | what operators are told of |
//! | `outbox` | what D1 still has to be told |
//! | `retention` | when a task is forgotten |
//! | `schedule` | what is due, and when the alarm must ring |
//! | `invariant` | whether anything is missing that makes a task go on |

mod admission;
mod debts;
mod effect;
mod ending;
mod event;
mod finish;
mod invariant;
mod journal;
mod lease;
mod mailbox;
mod notice;
mod outbox;
mod reopen;
mod retention;
mod schedule;
mod steer;
mod summary;
mod suspend;
mod task;
mod waits;
mod whole;

pub use debts::{Debt, Debts, Notice};
pub use effect::{Effect, Next, Reply, Transition};
pub use ending::{Cancel, Ending, EndsAs, NotUndone, Undone};
pub use event::{
    Begin, Claim, Claimed, Event, Finish, Fresh, Moment, NextInput, Proof, Record, Suspend, Verdict,
};
pub use invariant::{Lost, invariant};
pub use journal::{CHILD_ABANDONED, Cursor, Kind, Open, Outcome, Skip, StepRecord, UndoPlan};
pub use mailbox::{
    LOCK_STEP, Letter, Signal, Unread, child_signal, is_lock_signal, lock_signal, signal_of,
};
pub use outbox::flush_backoff_ms;
use schedule::Cause;
pub use schedule::{NEVER_MS, attempt_backoff_ms, jittered, next_due_ms, own_due_ms};
pub use steer::{Plan, Retry};
pub use summary::{Standing, Summary};
pub use task::{Child, Lease, Outbox, Parent, SCHEMA, State, Task, Ticket, Version};
pub use waits::{Mismatch, Wait, WaitFor, Waiting};

/// Decides what an event does to a task. `None` is a key that nothing is known of.
///
/// Every pair of state and event is decided here and in the functions called from here; the whole
/// table is a snapshot test (`tests/native/protocol_table.rs`).
///
/// ```
/// use onceward::protocol::{handle, Event, Moment, Next, Reply};
/// // Whatever but `begin` comes to an empty object changes nothing.
/// let out = handle(None, Event::AlarmFired, &Moment::at(1_000));
/// assert!(matches!(out.next, Next::Unchanged));
/// let out = handle(None, Event::Delete, &Moment::at(1_000));
/// assert_eq!(out.reply, Reply::NotFound);
/// ```
pub fn handle(task: Option<Task>, event: Event, moment: &Moment) -> Transition {
    let mut moment = moment.clone();
    let generation = task.as_ref().map(|task| task.generation);
    let before = task.as_ref().map(notice::Before::of).unwrap_or_default();
    if let Some(task) = &task {
        // A clock that steps back must not make a lease that is over valid again.
        moment.ms = moment.ms.max(task.seen_ms);
    }
    // The alarm that rang is used up, and a poke asks whether there is one at all.
    let alarm_gone = matches!(event, Event::AlarmFired | Event::Poke);
    let mut out = match (task, event) {
        (task, Event::Begin(begin)) => admission::begin(task, *begin, &moment),
        (None, _) => Transition::unchanged(Reply::NotFound),
        // Expired, so the key is new: nobody steers what is no more.
        (
            Some(task),
            Event::Signal(_)
            | Event::Cancel { .. }
            | Event::Abandon { .. }
            | Event::Retry(_)
            | Event::Undo { .. },
        ) if task.is_expired(moment.ms) => Transition::unchanged(Reply::NotFound),
        (Some(task), event) => known(task, event, &moment),
    };
    if let Next::Put(task) = &mut out.next {
        task.schema = SCHEMA;
        task.seen_ms = moment.ms;
        if generation == Some(task.generation) {
            task.duplicates = task.duplicates.saturating_add(moment.duplicates);
        }
        task.cost = task.cost.and(moment.cost);
        notice::look(&before, task, &moment, &mut out.effects);
        schedule::arm(task, alarm_gone, moment.ms, &mut out.effects);
    }
    out
}

fn known(task: Task, event: Event, moment: &Moment) -> Transition {
    let forgotten = matches!(task.state, State::Forgotten);
    match event {
        Event::Begin(begin) => admission::begin(Some(task), *begin, moment),
        Event::AlarmFired => schedule::tick(task, Cause::Alarm, moment),
        Event::Poke => schedule::tick(task, Cause::Poke, moment),
        Event::TombstoneAcked(version) => retention::acked(&task, version, moment),
        Event::TombstoneFailed { sent, holds } => retention::failed(task, sent, holds, moment),
        Event::Claim(_)
        | Event::Record(_)
        | Event::Suspend(_)
        | Event::Finish(_)
        | Event::Flushed { .. }
        | Event::FlushFailed { .. }
        | Event::Signal(_)
        | Event::Cancel { .. }
        | Event::Abandon { .. }
        | Event::Retry(_)
        | Event::Undo { .. }
            if forgotten =>
        {
            Transition::unchanged(Reply::NotFound)
        }
        Event::Claim(claim) => lease::claim(task, &claim, moment),
        Event::Record(record) => journal::record(task, *record, moment),
        Event::Suspend(suspend) => suspend::suspend(task, *suspend, moment),
        Event::Finish(finish) => finish::finish(task, *finish, moment),
        Event::Flushed { sent, holds } => outbox::flushed(task, sent, holds, moment),
        Event::FlushFailed { sent } => outbox::failed(task, sent, moment),
        Event::Signal(signal) => mailbox::signal(task, *signal, moment),
        Event::Cancel { op } => ending::cancel(task, op, moment),
        Event::Abandon { op, parent } => ending::abandon(task, op, parent, moment),
        Event::Retry(retry) => steer::retry(task, *retry, moment),
        Event::Undo { op } => steer::undo(task, op, moment),
        Event::DebtPaid(debt) => debts::paid(task, &debt, moment),
        Event::DebtFailed => debts::failed(task, moment),
        Event::Delete => retention::delete(task, moment),
    }
}
