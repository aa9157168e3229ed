//! When a task is forgotten: a tombstone in D1 first, then everything at once, and only if nothing
//! has changed in between.

use super::event::{Effect, Moment, Next, Reply, Transition};
use super::outbox::backoff_ms;
use super::summary::Standing;
use super::task::{State, Task, Version};

/// The version of the tombstone: above everything that was ever sent of this task.
fn tombstone(task: &Task) -> Version {
    Version {
        epoch: task.version.epoch,
        n: task.version.n + 1,
    }
}

/// The time of a task is up, or a tombstone is still owed: place it. Nothing is written before it
/// is acknowledged; a crash in between just repeats this.
pub(super) fn due(task: &Task, moment: &Moment) -> Transition {
    let waiting = matches!(task.state, State::Forgotten) && moment.ms < task.outbox.next_ms;
    let effect = if waiting {
        Effect::SetAlarm {
            at_ms: task.outbox.next_ms,
        }
    } else {
        Effect::Forget {
            version: tombstone(task),
        }
    };
    Transition {
        next: Next::Unchanged,
        effects: vec![effect],
        reply: Reply::Done,
    }
}

/// D1 holds the tombstone. Everything is deleted if this is still the task that it stands for.
pub(super) fn acked(task: &Task, version: Version, moment: &Moment) -> Transition {
    let unchanged = tombstone(task) == version;
    let over = matches!(task.state, State::Forgotten) || task.is_expired(moment.ms);
    if unchanged && over {
        return Transition {
            next: Next::Gone,
            effects: Vec::new(),
            reply: Reply::Done,
        };
    }
    // A new task has begun under this key meanwhile. Its own due time stands.
    Transition::unchanged(Reply::Done)
}

/// The tombstone could not be placed. What is secret or large is deleted now; only the debt stays.
pub(super) fn failed(
    mut task: Task,
    sent: Version,
    holds: Option<Version>,
    moment: &Moment,
) -> Transition {
    let over = matches!(task.state, State::Forgotten) || task.is_expired(moment.ms);
    if tombstone(&task) != sent || !over {
        return Transition::unchanged(Reply::Done);
    }
    let mut effects = strip(&mut task);
    if let Some(holds) = holds
        && holds.epoch > task.version.epoch
    {
        task.version.epoch = holds.epoch + 1;
    }
    task.outbox.next_ms = moment.ms + backoff_ms(task.outbox.tries, moment.fresh.jitter);
    task.outbox.tries += 1;
    effects.push(Effect::WakeJoined);
    Transition::put(task, effects, Reply::Done)
}

/// An operator has it forgotten: for every sender the key is new at once.
pub(super) fn delete(mut task: Task, moment: &Moment) -> Transition {
    match task.state {
        State::Running | State::Suspended(_) => {
            Transition::unchanged(Reply::InProgress(Standing::of(&task)))
        }
        State::Forgotten => Transition::unchanged(Reply::NotFound),
        State::Succeeded | State::Failed { .. } => {
            let mut effects = strip(&mut task);
            task.outbox.tries = 0;
            task.outbox.next_ms = moment.ms + crate::limits::FLUSH_TIMEOUT_MS;
            effects.push(Effect::Forget {
                version: tombstone(&task),
            });
            Transition::put(task, effects, Reply::Done)
        }
    }
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
    if had_payload {
        vec![Effect::DropPayload]
    } else {
        Vec::new()
    }
}
