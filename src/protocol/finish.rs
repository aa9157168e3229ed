//! How a slice ends.

use super::event::{Effect, Finish, Moment, Reply, Suspend, Transition, Verdict};
use super::journal;
use super::lease::{self, Standing as Proven};
use super::schedule::attempt_backoff_ms;
use super::summary::Standing;
use super::task::{State, Task, Waiting};
use crate::limits;
use crate::types::{Failure, FailureKind};

pub(super) fn finish(mut task: Task, finish: Finish, moment: &Moment) -> Transition {
    if task.finish_op.as_ref() == Some(&finish.op) {
        return Transition::unchanged(Reply::Stands(Standing::of(&task)));
    }
    // A finish is welcome as long as nobody else has claimed: what it reports has been done.
    if lease::check(&task, &finish.proof, moment) == Proven::Stale {
        return Transition::unchanged(Reply::Stale(Standing::of(&task)));
    }
    let fence = finish.proof.fence;
    let (mut effects, progress) = journal::fresh(finish.steps, &finish.known, fence, moment);
    if progress {
        task.attempts = 1;
    }
    task.finish_op = Some(finish.op);
    task.lease = None;
    task.ticket = None;
    // A late finish may find the task failed by lost leases.
    task.finished_ms = None;
    task.expires_ms = None;
    task.touch(moment.ms);
    match finish.verdict {
        Verdict::Succeeded(answer) => {
            task.state = State::Succeeded;
            task.failure = None;
            task.answer = Some(answer.clone());
            effects.push(Effect::PutAnswer(answer));
            end(&mut task, moment, &mut effects);
        }
        Verdict::Failed(failure) => {
            match after(&task, &failure) {
                After::BackOff | After::Resumable => {
                    journal::reopen(&failure, &finish.known, &mut effects);
                }
                After::ForGood => {}
            }
            fail(&mut task, failure, moment, &mut effects);
        }
    }
    let reply = Reply::Stands(Standing::of(&task));
    Transition::put(task, effects, reply)
}

fn retention_ms(task: &Task) -> u64 {
    match task.state {
        State::Succeeded => task.policy.retention_succeeded_ms,
        State::Running | State::Suspended(_) | State::Failed { .. } | State::Forgotten => {
            task.policy.retention_failed_ms
        }
    }
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
    if retryable && task.attempts < task.policy.max_attempts {
        After::BackOff
    } else if retryable && task.revivals < limits::MAX_REVIVALS {
        After::Resumable
    } else {
        After::ForGood
    }
}

/// An attempt failed: the next one, or the end.
pub(super) fn fail(task: &mut Task, failure: Failure, moment: &Moment, effects: &mut Vec<Effect>) {
    match after(task, &failure) {
        After::BackOff => {
            let wait = attempt_backoff_ms(task.attempts, moment.fresh.jitter);
            task.state = State::Suspended(Waiting::BackingOff {
                due_ms: moment.ms + wait,
            });
            task.failure = Some(failure);
            task.owe(moment.ms);
            effects.push(Effect::WakeJoined);
            effects.push(Effect::Flush);
        }
        After::Resumable => {
            task.state = State::Failed { resumable: true };
            task.failure = Some(failure);
            end(task, moment, effects);
        }
        After::ForGood => {
            task.state = State::Failed { resumable: false };
            if let Some(answer) = failure.answer.as_deref() {
                task.answer = Some(answer.clone());
                effects.push(Effect::PutAnswer(answer.clone()));
            }
            task.failure = Some(failure);
            end(task, moment, effects);
        }
    }
}

fn end(task: &mut Task, moment: &Moment, effects: &mut Vec<Effect>) {
    let retention_ms = retention_ms(task);
    task.finished_ms = Some(moment.ms);
    task.expires_ms = Some(moment.ms + retention_ms);
    task.owe(moment.ms);
    effects.push(Effect::WakeJoined);
    effects.push(Effect::Flush);
}

pub(super) fn suspend(mut task: Task, suspend: Suspend, moment: &Moment) -> Transition {
    if task.suspend_op.as_ref() == Some(&suspend.op) {
        let ticket = task.ticket.as_ref();
        let reply = Reply::Suspended {
            ticket: ticket.filter(|t| t.hop > 0).map(|t| t.token.clone()),
            hop: ticket.map_or(0, |t| t.hop),
        };
        return Transition::unchanged(reply);
    }
    // Unlike a finish, a suspension after the end of the lease is worth nothing: the alarm goes on.
    if lease::check(&task, &suspend.proof, moment) != Proven::Valid {
        return Transition::unchanged(Reply::Stale(Standing::of(&task)));
    }
    let (mut effects, progress) =
        journal::fresh(suspend.steps, &suspend.known, suspend.proof.fence, moment);
    if progress || suspend.progressed {
        // Progress makes the count 1, the running claim; a suspension takes that one back.
        task.attempts = 0;
    } else if task.attempts >= task.policy.max_attempts {
        let failure = Failure::retryable(
            "no_progress",
            format!("{} slices in a row recorded nothing new", task.attempts),
        );
        task.lease = None;
        task.touch(moment.ms);
        fail(&mut task, failure, moment, &mut effects);
        let reply = Reply::Stale(Standing::of(&task));
        return Transition::put(task, effects, reply);
    }
    task.suspend_op = Some(suspend.op);
    task.lease = None;
    task.touch(moment.ms);
    task.owe(moment.ms);
    // The chain stops at its limit; from there the alarm goes on at depth 0.
    let chained = suspend.hop < limits::MAX_HOPS;
    let mut dispatch = Vec::new();
    let hop = if chained { suspend.hop + 1 } else { 0 };
    lease::mint(&mut task, hop, moment, &mut dispatch);
    let ticket = if chained {
        task.ticket.as_ref().map(|t| t.token.clone())
    } else {
        // Nobody carries this one: let the alarm replace it right away.
        if let Some(ticket) = &mut task.ticket {
            ticket.due_ms = moment.ms + 1;
        }
        task.dispatches = 0;
        None
    };
    effects.push(Effect::Flush);
    let reply = Reply::Suspended { ticket, hop };
    Transition::put(task, effects, reply)
}
