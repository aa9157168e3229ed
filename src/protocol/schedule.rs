//! What is due, and when the alarm must ring.

use super::event::{Effect, Moment, Next, Reply, Transition};
use super::finish;
use super::lease;
use super::retention;
use super::task::{State, Task, Waiting};
use crate::limits;
use crate::types::Failure;

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

/// When something of this task is due next, in milliseconds since 1970. A task that will never need
/// the alarm does not exist: what is final expires.
pub fn next_due_ms(task: &Task) -> u64 {
    let own = match &task.state {
        State::Running => task.lease.as_ref().map_or(0, |l| l.ends_ms),
        State::Suspended(Waiting::Ready) => task.ticket.as_ref().map_or(0, |t| t.due_ms),
        State::Suspended(Waiting::BackingOff { due_ms }) => *due_ms,
        State::Succeeded | State::Failed { .. } => task.expires_ms.unwrap_or(0),
        State::Forgotten => return task.outbox.next_ms,
    };
    if task.outbox.is_owing() {
        own.min(task.outbox.next_ms)
    } else {
        own
    }
}

/// Sets the alarm if it would ring too late, or if it is known to be gone. An alarm that rings too
/// early costs nothing but its run: it sets itself again.
pub(super) fn arm(task: &mut Task, alarm_gone: bool, now_ms: u64, effects: &mut Vec<Effect>) {
    let due = next_due_ms(task).max(now_ms + 1);
    let armed = task.armed_ms.filter(|at| !alarm_gone && *at > now_ms);
    if armed.is_none_or(|at| at > due) {
        task.armed_ms = Some(due);
        effects.push(Effect::SetAlarm { at_ms: due });
    }
}

/// Does whatever is due. Idempotent: early, late and doubled alarms do no harm.
pub(super) fn tick(mut task: Task, moment: &Moment) -> Transition {
    let mut effects = Vec::new();
    if task.is_expired(moment.ms) || matches!(task.state, State::Forgotten) {
        return retention::due(&task, moment);
    }
    let moved = advance(&mut task, moment, &mut effects);
    let flush_due = task.outbox.is_owing() && task.outbox.next_ms <= moment.ms;
    if moved {
        return Transition::put(task, effects, Reply::Done);
    }
    if flush_due {
        effects.push(Effect::Flush);
        // Should this try not be heard of, the alarm tries again.
        let again = moment.ms + 2 * limits::FLUSH_TIMEOUT_MS;
        effects.push(Effect::SetAlarm {
            at_ms: again.min(next_due_after(&task, moment.ms)),
        });
    } else {
        effects.push(Effect::SetAlarm {
            at_ms: next_due_ms(&task).max(moment.ms + 1),
        });
    }
    Transition {
        next: Next::Unchanged,
        effects,
        reply: Reply::Done,
    }
}

/// The next due time but for the outbox.
fn next_due_after(task: &Task, now_ms: u64) -> u64 {
    let mut settled = task.clone();
    settled.outbox.flushed_n = settled.outbox.owed_n;
    next_due_ms(&settled).max(now_ms + 1)
}

/// Moves the task on if its own time has come. True if it changed.
fn advance(task: &mut Task, moment: &Moment, effects: &mut Vec<Effect>) -> bool {
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
        State::Succeeded | State::Failed { .. } | State::Forgotten => false,
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
    if task.attempts >= task.policy.max_attempts {
        finish::fail(task, failure, moment, effects);
        return;
    }
    task.failure = Some(failure);
    task.owe(moment.ms);
    effects.push(Effect::Flush);
    if task.attempts <= 1 {
        lease::mint(task, 0, moment, effects);
    } else {
        let wait = attempt_backoff_ms(task.attempts - 1, moment.fresh.jitter);
        task.state = State::Suspended(Waiting::BackingOff {
            due_ms: moment.ms + wait,
        });
    }
}
