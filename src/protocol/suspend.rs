//! How a slice hands its task on, or waits.

use super::effect::{Effect, Reply, Transition};
use super::ending;
use super::event::{Moment, Suspend};
use super::finish;
use super::journal::{self, Outcome, StepRecord};
use super::lease::{self, Standing as Proven};
use super::mailbox::{self, Letter};
use super::summary::Standing;
use super::task::{State, Task};
use super::waits::{Wait, Waiting, has_slept, is_due};
use crate::types::Failure;

pub(super) fn suspend(mut task: Task, suspend: Suspend, moment: &Moment) -> Transition {
    if task.suspend_op.as_ref() == Some(&suspend.op) {
        return Transition::unchanged(same(&task, &suspend, moment));
    }
    // Unlike a finish, a suspension after the end of the lease is worth nothing: the alarm goes on.
    if lease::check(&task, &suspend.proof, moment) != Proven::Valid {
        return Transition::unchanged(Reply::Stale(Standing::of(&task)));
    }
    if task
        .lease
        .as_ref()
        .is_some_and(|l| suspend.n != 0 && suspend.n <= l.suspends)
    {
        return Transition::unchanged(Reply::Stale(Standing::of(&task)));
    }
    let fence = suspend.proof.fence;
    let fresh = journal::fresh(suspend.steps, &suspend.known, fence, moment);
    let mut effects = fresh.effects;
    journal::keep_children(&mut task, &effects, moment);
    task.suspend_op = Some(suspend.op);
    if task.cancel.is_some() && task.ending.is_none() {
        task.lease = None;
        ending::cancelled(&mut task, Some(suspend.hop), moment, &mut effects);
        let reply = match task.state {
            State::Suspended(_) => lease::handed(&task),
            _ => Reply::Stands(Standing::of(&task)),
        };
        return Transition::put(task, effects, reply);
    }
    let progress = fresh.progress || suspend.progressed;
    if !suspend.waits.is_empty() {
        let waited = |r: &StepRecord| suspend.waits.iter().any(|wait| wait.id == r.id);
        let known = suspend.known.into_iter();
        let there = known.filter(|r| waited(r) && r.outcome.is_settled());
        let asked = Wanted {
            there: there.collect(),
            waits: suspend.waits,
            letters: suspend.letters,
            n: suspend.n,
        };
        return wait(task, asked, progress, effects, moment);
    }
    if let Some(mismatch) = suspend.mismatch {
        let waiting = Waiting::CodeChanged(mismatch);
        return named(task, waiting, progress, effects, moment);
    }
    budget(task, progress, suspend.hop, effects, moment)
}

/// The answer that this very suspension was given before.
fn same(task: &Task, suspend: &Suspend, moment: &Moment) -> Reply {
    let holds = task
        .lease
        .as_ref()
        .is_some_and(|l| l.fence == suspend.proof.fence && l.token == suspend.proof.token);
    if !holds {
        // Where it has gone on meanwhile there is no ticket either: the sender just stops.
        return match task.state {
            State::Suspended(_) | State::Running => lease::handed(task),
            _ => Reply::Stands(Standing::of(task)),
        };
    }
    let waited = |id: &crate::types::StepId| suspend.waits.iter().any(|wait| wait.id == *id);
    let records = suspend.known.iter();
    Reply::GoOn {
        records: records
            .filter(|r| waited(&r.id) && r.outcome.is_settled())
            .cloned()
            .collect(),
        now_ms: moment.ms,
    }
}

/// The slice is at its budget.
fn budget(
    mut task: Task,
    progress: bool,
    hop: u32,
    mut effects: Vec<Effect>,
    moment: &Moment,
) -> Transition {
    task.touch(moment.ms);
    if progress {
        // Progress makes the count 1, the running claim; a suspension takes that one back.
        task.attempts = 0;
    } else if task.attempts >= task.max_attempts() {
        let failure = Failure::retryable(
            "no_progress",
            format!("{} slices in a row recorded nothing new", task.attempts),
        );
        task.lease = None;
        finish::fail(&mut task, failure, Some(hop), moment, &mut effects);
        let reply = match task.state {
            State::Suspended(Waiting::Ready) => lease::handed(&task),
            _ => Reply::Stale(Standing::of(&task)),
        };
        return Transition::put(task, effects, reply);
    }
    task.lease = None;
    task.owe(moment.ms);
    lease::hand_on(&mut task, Some(hop), moment);
    effects.push(Effect::Flush);
    let reply = lease::handed(&task);
    Transition::put(task, effects, reply)
}

/// What a slice waits for, and what there is of it.
struct Wanted {
    waits: Vec<Wait>,
    letters: Vec<Letter>,
    /// Recorded before.
    there: Vec<StepRecord>,
    n: u32,
}

/// The function waits. If something of it is there already, it goes on under its lease.
fn wait(
    mut task: Task,
    wanted: Wanted,
    progress: bool,
    mut effects: Vec<Effect>,
    moment: &Moment,
) -> Transition {
    let Wanted {
        mut waits,
        letters,
        there,
        n,
    } = wanted;
    // What is on record is not waited for once more.
    waits.retain(|wait| there.iter().all(|record| record.id != wait.id));
    let mut records = mailbox::settle(&mut task, &waits, &letters, moment, &mut effects);
    // A failure is no progress, whoever tells of it.
    let value = |r: &StepRecord| matches!(r.outcome, Outcome::Value(_));
    let moved = progress || records.iter().any(value) || has_slept(&waits, moment.ms);
    records.extend(there);
    if !records.is_empty() || is_due(&waits, moment.ms) {
        if moved {
            // The running claim stays.
            task.attempts = 1;
        }
        if let Some(lease) = &mut task.lease {
            lease.suspends = n.max(lease.suspends.saturating_add(1));
        }
        let reply = Reply::GoOn {
            records,
            now_ms: moment.ms,
        };
        return Transition::put(task, effects, reply);
    }
    named(task, Waiting::For(waits), progress, effects, moment)
}

/// Into a wait that has a name: the running claim is taken back.
fn named(
    mut task: Task,
    waiting: Waiting,
    progress: bool,
    mut effects: Vec<Effect>,
    moment: &Moment,
) -> Transition {
    task.attempts = if progress {
        0
    } else {
        task.attempts.saturating_sub(1)
    };
    task.lease = None;
    task.ticket = None;
    task.state = State::Suspended(waiting);
    task.touch(moment.ms);
    task.owe(moment.ms);
    effects.push(Effect::WakeJoined);
    effects.push(Effect::Flush);
    let reply = Reply::Suspended {
        ticket: None,
        hop: 0,
    };
    Transition::put(task, effects, reply)
}
