//! What D1 still has to be told: the object is the truth, D1 a projection, at least once.

use super::effect::{Effect, Reply, Transition};
use super::event::Moment;
use super::schedule::jittered;
use super::task::{Task, Version};
use crate::limits;

/// Wait after `tries` failed flushes (0, 1, …): full jitter over 1 s, doubled up to 15 min; at least
/// 1 ms, so that the alarm is never set to now.
///
/// ```
/// use onceward::protocol::flush_backoff_ms;
/// assert_eq!(flush_backoff_ms(0, 1_000), 1_000);
/// assert_eq!(flush_backoff_ms(0, 0), 1);
/// assert_eq!(flush_backoff_ms(u32::MAX, 1_000), 900_000);
/// ```
pub fn flush_backoff_ms(tries: u32, jitter: u32) -> u64 {
    let doubled = limits::FLUSH_BACKOFF_MS << tries.min(20);
    jittered(doubled.min(limits::FLUSH_BACKOFF_MAX_MS), jitter).max(1)
}

pub(super) fn flushed(
    mut task: Task,
    sent: Version,
    holds: Version,
    moment: &Moment,
) -> Transition {
    if sent.epoch != task.version.epoch {
        // The answer to a flush of something that is no more.
        return Transition::unchanged(Reply::Done);
    }
    let mut effects = Vec::new();
    if holds > task.version || (holds >= sent && holds.is_tombstone()) {
        // D1 has what cannot be ours: a clock stood still or stepped back over a forgotten task.
        task.version.epoch = holds.epoch.saturating_add(1);
        task.outbox.owed_n = task.version.n;
        task.outbox.flushed_n = 0;
        if task.outbox.tries == 0 {
            effects.push(Effect::Flush);
        }
        try_later(&mut task, moment);
        return Transition::put(task, effects, Reply::Done);
    }
    if holds < sent {
        return failed(task, sent, moment);
    }
    if task.outbox.flushed_n >= sent.n || !task.outbox.is_owing() {
        return Transition::unchanged(Reply::Done);
    }
    task.outbox.flushed_n = sent.n;
    task.outbox.tries = 0;
    if task.outbox.is_owing() {
        task.outbox.next_ms = moment.ms + limits::FLUSH_TIMEOUT_MS;
        effects.push(Effect::Flush);
    }
    Transition::put(task, effects, Reply::Done)
}

pub(super) fn failed(mut task: Task, sent: Version, moment: &Moment) -> Transition {
    if sent.epoch != task.version.epoch || !task.outbox.is_owing() {
        return Transition::unchanged(Reply::Done);
    }
    try_later(&mut task, moment);
    Transition::put(task, Vec::new(), Reply::Done)
}

/// Counts a failed try; the next one is the alarm's.
pub(super) fn try_later(task: &mut Task, moment: &Moment) {
    let wait = flush_backoff_ms(task.outbox.tries, moment.fresh.jitter);
    task.outbox.next_ms = moment.ms + wait;
    task.outbox.tries = task.outbox.tries.saturating_add(1);
}
