//! What is due, and when the alarm must ring.

use super::effect::{Effect, Next, Reply, Transition};
use super::ending;
use super::event::Moment;
use super::finish;
use super::lease;
use super::mailbox;
use super::notice;
use super::retention;
use super::task::{State, Task};
use super::waits::{Waiting, first_due_ms};
use crate::limits;
use crate::types::{Failure, NoticeKind};

/// A part of `ms`: `jitter` thousandths of it.
pub fn jittered(ms: u64, jitter: u32) -> u64 {
    ms.saturating_mul(u64::from(jitter.min(1_000))) / 1_000
}

/// Wait after the failure of attempt number `attempts` (1, 2, …): 1 s, doubled up to five minutes,
/// of which up to a quarter is jitter. Never 0.
///
/// ```
/// use onceward::protocol::attempt_backoff_ms;
/// assert_eq!(attempt_backoff_ms(1, 1_000), 1_000);
/// assert_eq!(attempt_backoff_ms(3, 0), 3_000);
/// assert_eq!(attempt_backoff_ms(100, 1_000), 300_000);
/// ```
pub fn attempt_backoff_ms(attempts: u32, jitter: u32) -> u64 {
    let doubled = limits::ATTEMPT_BACKOFF_MS << attempts.saturating_sub(1).min(20);
    let wait = doubled.min(limits::ATTEMPT_BACKOFF_MAX_MS);
    wait - wait / 4 + jittered(wait / 4, jitter)
}

/// When something of this task is due next, in milliseconds since 1970. [`NEVER_MS`] for a task that
/// only a signal or an operator makes go on.
pub fn next_due_ms(task: &Task) -> u64 {
    let mut due = own_due_ms(task);
    if task.outbox.is_owing() {
        due = due.min(task.outbox.next_ms);
    }
    if !task.debts.list.is_empty() {
        due = due.min(task.debts.next_ms);
    }
    due.min(retention::strip_due_ms(task).unwrap_or(NEVER_MS))
}

/// No time at all: later than every other, and still exact in D1.
pub const NEVER_MS: u64 = (1 << 53) - 1;

/// The same but for what others are owed by a task that is still known.
pub fn own_due_ms(task: &Task) -> u64 {
    match &task.state {
        State::Running => task.lease.as_ref().map_or(0, |l| l.ends_ms),
        State::Suspended(Waiting::Ready) => task.ticket.as_ref().map_or(0, |t| t.due_ms),
        State::Suspended(Waiting::BackingOff { due_ms }) => *due_ms,
        State::Suspended(Waiting::For(waits)) => {
            first_due_ms(waits).map_or(NEVER_MS, |due| due.min(NEVER_MS))
        }
        State::Suspended(Waiting::CodeChanged(_)) => NEVER_MS,
        State::Succeeded | State::Failed { .. } | State::Cancelled => {
            owing(task, task.expires_ms.unwrap_or(0))
        }
        State::Forgotten => owing(task, task.outbox.next_ms),
    }
}

/// A task that owes something to another is not forgotten before that.
fn owing(task: &Task, at_ms: u64) -> u64 {
    if task.debts.list.is_empty() {
        return at_ms;
    }
    at_ms.max(task.debts.next_ms)
}

/// Who has the due looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The alarm; should its run be cut off, the platform rings again.
    Alarm,
    /// Cron: the alarm may be lost.
    Poke,
}

/// Sets the alarm if it would ring too late, or if it is known to be gone. An alarm that rings too
/// early costs nothing but its run: it sets itself again. Only when nothing is left but retention is
/// it put off at once, so that the run is saved.
pub(super) fn arm(task: &mut Task, alarm_gone: bool, now_ms: u64, effects: &mut Vec<Effect>) {
    let due = next_due_ms(task);
    if due >= NEVER_MS {
        return;
    }
    let due = due.clamp(now_ms + 1, now_ms + limits::MAX_ALARM_MS);
    let armed = task.armed_ms.filter(|at| !alarm_gone && *at > now_ms);
    // A sleep may be so long that a run in between costs nothing to speak of; retention ends once.
    let settled = task.has_ended() && !task.outbox.is_owing() && task.debts.list.is_empty();
    if armed.is_none_or(|at| at > due || (settled && at < due)) {
        task.armed_ms = Some(due);
        effects.push(Effect::SetAlarm { at_ms: due });
    }
}

/// Sets the alarm without a write of the task. Its row may then know of an earlier time than the
/// true one, which is why the alarm is never put behind a time in the row that is still to come.
pub(super) fn ring_at(task: &Task, at_ms: u64, moment: &Moment) -> Effect {
    let known = task.armed_ms.filter(|at| *at > moment.ms);
    let at_ms = known.map_or(at_ms, |at| at.min(at_ms));
    Effect::SetAlarm {
        at_ms: at_ms.clamp(moment.ms + 1, moment.ms + limits::MAX_ALARM_MS),
    }
}

/// Does whatever is due. Idempotent: early, late and doubled alarms do no harm.
pub(super) fn tick(mut task: Task, cause: Cause, moment: &Moment) -> Transition {
    let dead = task.is_expired(moment.ms) || matches!(task.state, State::Forgotten);
    if dead && task.debts.list.is_empty() {
        return retention::due(&task, cause, moment);
    }
    if retention::strip_due_ms(&task).is_some_and(|at_ms| at_ms <= moment.ms) {
        return retention::strip_payload(task);
    }
    let mut effects = Vec::new();
    if notice::is_overdue(&task, moment) {
        notice::owe(&mut task, NoticeKind::Waiting, moment, &mut effects);
        advance(&mut task, moment, &mut effects);
        return Transition::put(task, effects, Reply::Done);
    }
    if advance(&mut task, moment, &mut effects) {
        return Transition::put(task, effects, Reply::Done);
    }
    let owes = !task.debts.list.is_empty();
    // What has ended and owes something waits for nothing but that.
    let late = task.has_ended() && own_due_ms(&task) <= moment.ms;
    let over = owes && (dead || late);
    let mut next = if over { NEVER_MS } else { own_due_ms(&task) };
    next = next.min(retention::strip_due_ms(&task).unwrap_or(NEVER_MS));
    // Should a try not be heard of, the alarm tries again.
    let again = moment.ms + 2 * limits::FLUSH_TIMEOUT_MS;
    let mut due = |owes: bool, next_ms: u64, effect: Effect| {
        if owes && next_ms <= moment.ms {
            effects.push(effect);
            next = next.min(again);
        } else if owes {
            next = next.min(next_ms);
        }
    };
    due(owes, task.debts.next_ms, Effect::PayDebts);
    // The row of what is forgotten is not written any more: a tombstone is.
    let row = task.outbox.is_owing() && !dead;
    due(row, task.outbox.next_ms, Effect::Flush);
    // An alarm that rang before its time is trusted by what follows, so it is set again.
    let early = task.armed_ms.is_some_and(|at| at > moment.ms);
    if next < NEVER_MS || early {
        effects.push(ring_at(&task, next, moment));
    }
    Transition {
        next: Next::Unchanged,
        effects,
        reply: Reply::Done,
    }
}

/// Moves the task on if its own time has come, and D1 with it. True if it changed.
pub(super) fn advance(task: &mut Task, moment: &Moment, effects: &mut Vec<Effect>) -> bool {
    if !move_on(task, moment, effects) {
        return false;
    }
    let flushes = effects.iter().any(|e| matches!(e, Effect::Flush));
    if !flushes && task.outbox.is_owing() && task.outbox.next_ms <= moment.ms {
        task.outbox.next_ms = moment.ms + limits::FLUSH_TIMEOUT_MS;
        effects.push(Effect::Flush);
    }
    if !task.debts.list.is_empty() && task.debts.next_ms <= moment.ms {
        task.debts.next_ms = moment.ms + limits::FLUSH_TIMEOUT_MS;
        let flush = effects.iter().position(|e| matches!(e, Effect::Flush));
        effects.insert(flush.unwrap_or(effects.len()), Effect::PayDebts);
    }
    true
}

fn move_on(task: &mut Task, moment: &Moment, effects: &mut Vec<Effect>) -> bool {
    match &task.state {
        State::Running => {
            if task.lease.as_ref().is_some_and(|l| moment.ms < l.ends_ms) {
                return false;
            }
            lost(task, moment, effects);
            true
        }
        State::Suspended(Waiting::Ready) => {
            if task.ticket.as_ref().is_some_and(|t| moment.ms < t.due_ms) {
                return false;
            }
            lease::mint(task, 0, moment, effects);
            true
        }
        State::Suspended(Waiting::BackingOff { due_ms }) => {
            if moment.ms < *due_ms {
                return false;
            }
            lease::mint(task, 0, moment, effects);
            true
        }
        State::Suspended(Waiting::For(waits)) => {
            let waits = waits.clone();
            mailbox::waits_due(task, &waits, moment, effects)
        }
        State::Suspended(Waiting::CodeChanged(_))
        | State::Succeeded
        | State::Failed { .. }
        | State::Cancelled
        | State::Forgotten => false,
    }
}

/// The lease is over and its holder has not been heard of. Its lease stays on record: what it has
/// done may still be reported until somebody else claims.
fn lost(task: &mut Task, moment: &Moment, effects: &mut Vec<Effect>) {
    task.touch(moment.ms);
    let failure = Failure::retryable(
        "lease_lost",
        format!(
            "attempt {} was not heard of within its lease of {} ms: it crashed, ran over its time, or could not reach its object",
            task.attempts, task.policy.lease_ms
        ),
    );
    if task.cancel.is_some() && task.ending.is_none() {
        task.failure = Some(failure);
        ending::cancelled(task, None, moment, effects);
        return;
    }
    if task.attempts >= task.max_attempts() {
        finish::fail(task, failure, None, moment, effects);
        return;
    }
    // Why it is being undone is worth more than what disturbs that.
    if task.ending.is_none() {
        task.failure = Some(failure);
    }
    task.owe(moment.ms);
    task.retries = task.retries.saturating_add(1);
    if task.attempts <= 1 {
        lease::mint(task, 0, moment, effects);
    } else {
        let wait = attempt_backoff_ms(task.attempts - 1, moment.fresh.jitter);
        task.state = State::Suspended(Waiting::BackingOff {
            due_ms: moment.ms + wait,
        });
        effects.push(Effect::WakeJoined);
    }
    // Last: whoever carries this out may wait for it.
    effects.push(Effect::Flush);
}
