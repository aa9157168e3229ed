//! When a task is forgotten: a tombstone in D1 first, then everything at once, and only if nothing
//! has changed in between.

use super::debts::Debt;
use super::effect::{Effect, Next, Reply, Transition};
use super::event::Moment;
use super::outbox::try_later;
use super::schedule::{Cause, next_due_ms, ring_at};
use super::summary::Standing;
use super::task::{State, Task, Version};
use crate::limits;

/// The time of a task is up, or a tombstone is still owed: place it. Nothing is written before it
/// is acknowledged; a crash in between just repeats this.
pub(super) fn due(task: &Task, cause: Cause, moment: &Moment) -> Transition {
    let forgotten = matches!(task.state, State::Forgotten);
    let mut effects = Vec::new();
    if forgotten && moment.ms < task.outbox.next_ms {
        effects.push(ring_at(task, task.outbox.next_ms, moment));
    } else {
        effects.push(Effect::Forget {
            version: task.tombstone(),
        });
        // The first try from the alarm runs within the alarm's own run, which the platform repeats
        // if it is cut off: that saves a write for every task. Any other try is guarded, and so is
        // one of an alarm that rang before the time in the row, which would be trusted later.
        let early = task.armed_ms.is_some_and(|at| at > moment.ms);
        if forgotten || early || cause == Cause::Poke {
            let again = moment.ms + 2 * limits::FLUSH_TIMEOUT_MS;
            effects.push(ring_at(task, again, moment));
        }
    }
    Transition {
        next: Next::Unchanged,
        effects,
        reply: Reply::Done,
    }
}

/// D1 holds the tombstone. Everything is deleted if this is still the task that it stands for.
pub(super) fn acked(task: &Task, version: Version, moment: &Moment) -> Transition {
    if stands_for(task, version, moment) {
        if let Some(until_ms) = task.gone_until_ms().filter(|until| moment.ms < *until) {
            return keep_key(task.clone(), until_ms);
        }
        return Transition {
            next: Next::Gone,
            effects: Vec::new(),
            reply: Reply::Done,
        };
    }
    lives_on(task, moment)
}

/// Senders are to be told for some more time that the key is used up: nothing else is kept. The
/// tombstone is placed once more at the end, which costs less than to remember that it was.
fn keep_key(mut task: Task, until_ms: u64) -> Transition {
    let effects = strip(&mut task);
    task.outbox.tries = 0;
    task.outbox.next_ms = until_ms;
    Transition::put(task, effects, Reply::Done)
}

/// True if this tombstone is that of the task as it is: nobody has touched it, and its time is up.
fn stands_for(task: &Task, version: Version, moment: &Moment) -> bool {
    let over = matches!(task.state, State::Forgotten) || task.is_expired(moment.ms);
    over && task.tombstone() == version && task.debts.list.is_empty()
}

/// A new task has begun under this key meanwhile, or the clock stepped back. It keeps its due time;
/// the alarm that placed the tombstone is used up.
fn lives_on(task: &Task, moment: &Moment) -> Transition {
    Transition {
        next: Next::Unchanged,
        effects: vec![ring_at(task, next_due_ms(task), moment)],
        reply: Reply::Done,
    }
}

/// The tombstone could not be placed. What is secret or large is deleted now; only the debt stays.
pub(super) fn failed(
    mut task: Task,
    sent: Version,
    holds: Option<Version>,
    moment: &Moment,
) -> Transition {
    if !stands_for(&task, sent, moment) {
        return lives_on(&task, moment);
    }
    let mut effects = strip(&mut task);
    if let Some(holds) = holds.filter(|holds| *holds > sent) {
        task.version.epoch = holds.epoch.saturating_add(1);
    }
    try_later(&mut task, moment);
    effects.push(Effect::WakeJoined);
    Transition::put(task, effects, Reply::Done)
}

/// An operator has it forgotten: for every sender the key is new at once.
pub(super) fn delete(mut task: Task, moment: &Moment) -> Transition {
    match task.state {
        State::Running | State::Suspended(_) => {
            Transition::unchanged(Reply::InProgress(Standing::of(&task)))
        }
        State::Forgotten if !task.is_used_up(moment.ms) => Transition::unchanged(Reply::NotFound),
        State::Forgotten | State::Succeeded | State::Failed { .. } | State::Cancelled => {
            let mut effects = strip(&mut task);
            if task.gone_until_ms().is_some() {
                // Not even used up.
                task.expires_ms = None;
            }
            task.outbox.tries = 0;
            task.outbox.next_ms = moment.ms + limits::FLUSH_TIMEOUT_MS;
            effects.push(Effect::Forget {
                version: task.tombstone(),
            });
            Transition::put(task, effects, Reply::Done)
        }
    }
}

/// When input and journal of a task are to go, its answer staying: once it has ended for good.
pub(super) fn strip_due_ms(task: &Task) -> Option<u64> {
    let keep_ms = task.policy.retention_payload_ms?;
    let over = task.is_final() && task.ending.is_none() && !task.stripped;
    Some(task.finished_ms.filter(|_| over)?.saturating_add(keep_ms))
}

/// Input and journal go.
pub(super) fn strip_payload(mut task: Task) -> Transition {
    task.stripped = true;
    task.unread.clear();
    Transition::put(task, vec![Effect::Strip], Reply::Done)
}

/// Takes out everything but what the tombstone needs.
fn strip(task: &mut Task) -> Vec<Effect> {
    let had_payload = !matches!(task.state, State::Forgotten);
    task.state = State::Forgotten;
    task.failure = None;
    task.lease = None;
    task.ticket = None;
    task.answer = None;
    task.fingerprint = None;
    task.parts = Vec::new();
    task.undone = None;
    task.unread.clear();
    task.children.clear();
    // A parent that waits finds out by looking; a child that is to be cancelled would not.
    task.parents.clear();
    task.debts.list.retain(|d| matches!(d, Debt::Cancel(_)));
    if had_payload {
        vec![Effect::DropPayload]
    } else {
        Vec::new()
    }
}
