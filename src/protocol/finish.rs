//! How an attempt ends.

use super::effect::{Effect, Reply, Transition};
use super::ending::{self, EndsAs, compensate, end, is_to_undo};
use super::event::{Finish, Moment, Verdict};
use super::journal;
use super::lease::{self, Standing as Proven};
use super::reopen::reopen;
use super::schedule::attempt_backoff_ms;
use super::steer;
use super::summary::Standing;
use super::task::{State, Task};
use super::waits::Waiting;
use crate::types::{Answer, Failure, FailureKind};

pub(super) fn finish(mut task: Task, finish: Finish, moment: &Moment) -> Transition {
    if task.finish_op.as_ref() == Some(&finish.op) {
        return Transition::unchanged(ended(&task));
    }
    // A finish is welcome as long as nobody else has claimed: what it reports has been done.
    if lease::check(&task, &finish.proof, moment) == Proven::Stale {
        return Transition::unchanged(Reply::Stale(Standing::of(&task)));
    }
    if is_late(&task) {
        // It ran the function, and nobody has begun to undo: a success still counts.
        if !matches!(finish.verdict, Verdict::Succeeded(_)) {
            return late(&task, finish, moment);
        }
        task.ending = None;
    }
    let hop = task.lease.as_ref().map(|lease| lease.hop);
    let fresh = journal::fresh(finish.steps, &finish.known, finish.proof.fence, moment);
    let mut effects = fresh.effects;
    journal::keep_children(&mut task, &effects, moment);
    if fresh.progress {
        task.attempts = 1;
    }
    task.finish_op = Some(finish.op);
    task.lease = None;
    task.ticket = None;
    if task.ending.is_none() {
        // A late finish may find the task failed by lost leases.
        task.finished_ms = None;
        task.expires_ms = None;
    }
    task.touch(moment.ms);
    match finish.verdict {
        Verdict::Undone(not_undone) if task.ending.is_some() => {
            ending::undone(&mut task, not_undone, moment, &mut effects);
        }
        Verdict::Failed(failure) if task.ending.is_some() => {
            fail(&mut task, failure, hop, moment, &mut effects);
        }
        _ if task.ending.is_some() => {
            // Its slice ran the function although there was something to undo: its claim was older.
            return Transition::unchanged(Reply::Stale(Standing::of(&task)));
        }
        Verdict::Succeeded(answer) => succeed(&mut task, answer, moment, &mut effects),
        Verdict::Failed(failure) => {
            // What is to be undone is judged by what its failure says, so it stays.
            let next = after(&task, &failure);
            let undone = next != After::BackOff && is_to_undo(&task, moment, &effects);
            if task.cancel.is_none() && next != After::ForGood && !undone {
                reopen(&failure, &finish.known, &mut effects);
            }
            fail(&mut task, failure, hop, moment, &mut effects);
        }
        Verdict::Cancelled => ending::cancelled(&mut task, hop, moment, &mut effects),
        Verdict::ContinueAs(_) if task.cancel.is_some() => {
            ending::cancelled(&mut task, hop, moment, &mut effects);
        }
        Verdict::ContinueAs(next) => {
            steer::continue_as(&mut task, next.body, moment, &mut effects);
            lease::hand_on(&mut task, hop, moment);
            task.owe(moment.ms);
            effects.push(Effect::Flush);
        }
        Verdict::Undone(_) => {
            return Transition::unchanged(Reply::Stale(Standing::of(&task)));
        }
    }
    let reply = ended(&task);
    Transition::put(task, effects, reply)
}

/// True if compensation began after the lease had been lost, and nobody has claimed since.
fn is_late(task: &Task) -> bool {
    let both = task.ending.as_ref().zip(task.lease.as_ref());
    both.is_some_and(|(ending, lease)| ending.is_after(lease))
}

/// Too late to say how the function ended; what it has done is undone with the rest.
fn late(task: &Task, finish: Finish, moment: &Moment) -> Transition {
    let fresh = journal::fresh(finish.steps, &finish.known, finish.proof.fence, moment);
    Transition {
        effects: fresh.effects,
        ..Transition::unchanged(Reply::Stale(Standing::of(task)))
    }
}

/// What a slice is told that has reported its end: where the task stands, or that it goes on.
fn ended(task: &Task) -> Reply {
    match task.state {
        State::Suspended(Waiting::Ready) => lease::handed(task),
        _ => Reply::Stands(Standing::of(task)),
    }
}

fn succeed(task: &mut Task, answer: Answer, moment: &Moment, effects: &mut Vec<Effect>) {
    task.state = State::Succeeded;
    task.failure = None;
    task.answer = Some(answer.clone());
    if let Some(cancel) = &mut task.cancel {
        cancel.too_late = true;
    }
    effects.push(Effect::PutAnswer(answer));
    end(task, moment, effects);
}

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// The next attempt.
    BackOff,
    /// Attempts used up: the next delivery.
    Resumable,
    /// Nothing.
    ForGood,
}

fn after(task: &Task, failure: &Failure) -> After {
    let retryable = failure.kind == FailureKind::Retryable;
    if retryable && !failure.gives_up && task.attempts < task.max_attempts() {
        After::BackOff
    } else if retryable && steer::may_revive(task) {
        After::Resumable
    } else {
        After::ForGood
    }
}

/// An attempt failed: the next one, compensation, or the end.
pub(super) fn fail(
    task: &mut Task,
    failure: Failure,
    hop: Option<u32>,
    moment: &Moment,
    effects: &mut Vec<Effect>,
) {
    if task.cancel.is_some() && task.ending.is_none() {
        task.failure = Some(failure);
        ending::cancelled(task, hop, moment, effects);
        return;
    }
    let after = after(task, &failure);
    if after == After::BackOff {
        let wait = attempt_backoff_ms(task.attempts, moment.fresh.jitter);
        task.retries = task.retries.saturating_add(1);
        task.state = State::Suspended(Waiting::BackingOff {
            due_ms: moment.ms + wait,
        });
        // Why it is being undone is worth more than what disturbs that.
        if task.ending.is_none() {
            task.failure = Some(failure);
        }
        task.owe(moment.ms);
        effects.push(Effect::WakeJoined);
        effects.push(Effect::Flush);
        return;
    }
    if task.ending.is_some() {
        ending::give_up_undoing(task, &failure, moment, effects);
        return;
    }
    let resumable = after == After::Resumable;
    if !resumable && let Some(answer) = failure.answer.as_deref() {
        task.answer = Some(answer.clone());
        effects.push(Effect::PutAnswer(answer.clone()));
    }
    task.failure = Some(failure);
    if is_to_undo(task, moment, effects) {
        let to = EndsAs::Failed {
            restarts: resumable,
        };
        compensate(task, to, hop, moment, effects);
        return;
    }
    task.state = State::Failed { resumable };
    end(task, moment, effects);
}
