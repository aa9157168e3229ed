//! How a task ends: undone first, if there is something to undo; its parents told.

use super::debts::Debt;
use super::effect::{Effect, Reply, Transition};
use super::event::Moment;
use super::lease;
use super::summary::Standing;
use super::task::{Lease, State, Task};
use crate::limits;
use crate::types::{Failure, StepId, TaskId};
use serde::{Deserialize, Serialize};

/// What a task becomes once everything is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndsAs {
    /// Failed; `restarts`: by an error that another run may not meet.
    Failed {
        /// A new delivery begins it anew.
        restarts: bool,
    },
    /// Cancelled.
    Cancelled,
    /// What it was: an operator had a success undone.
    Succeeded,
}

/// A task that is compensating.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ending {
    /// What it becomes.
    pub to: EndsAs,
    /// Since when.
    pub since_ms: u64,
}

/// What came of undoing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Undone {
    /// When it was over.
    pub at_ms: u64,
    /// What could not be undone, or of which it is not known; empty: everything was.
    #[serde(default)]
    pub not_undone: Vec<NotUndone>,
}

impl Ending {
    /// True of a lease under which the function ran: it was over before compensation began.
    pub(super) fn is_after(&self, lease: &Lease) -> bool {
        lease.ends_ms <= self.since_ms
    }
}

impl Undone {
    /// True if nothing is left.
    pub fn is_complete(&self) -> bool {
        self.not_undone.is_empty()
    }
}

/// A step that was not undone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NotUndone {
    /// The step; none if its name is not known here.
    #[serde(default)]
    pub step: Option<StepId>,
    /// For programs.
    pub code: String,
    /// For people.
    pub message: String,
}

/// A wish of an operator to have a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cancel {
    /// When.
    pub at_ms: u64,
    /// It had succeeded before anybody could stop it.
    #[serde(default)]
    pub too_late: bool,
}

/// Has everything undone and then ends as said. `hop` is that of the chain that got here: the next
/// slice is a link of it.
pub(super) fn compensate(
    task: &mut Task,
    to: EndsAs,
    hop: Option<u32>,
    moment: &Moment,
    effects: &mut Vec<Effect>,
) {
    task.ending = Some(Ending {
        to,
        since_ms: moment.ms,
    });
    task.attempts = 0;
    // A lease that was lost stays on record: what its holder did may be reported until the claim.
    lease::hand_on(task, hop, moment);
    task.owe(moment.ms);
    effects.push(Effect::WakeJoined);
    effects.push(Effect::Flush);
}

/// Compensation is over: the task becomes what it was to become.
pub(super) fn undone(
    task: &mut Task,
    not_undone: Vec<NotUndone>,
    moment: &Moment,
    effects: &mut Vec<Effect>,
) {
    let Some(ending) = task.ending.take() else {
        return;
    };
    let complete = not_undone.is_empty();
    task.undone = Some(Undone {
        at_ms: moment.ms,
        not_undone,
    });
    task.lease = None;
    task.state = match ending.to {
        EndsAs::Failed { restarts } => State::Failed {
            // What is not undone must not be done once more by itself.
            resumable: restarts && complete,
        },
        EndsAs::Cancelled => State::Cancelled,
        EndsAs::Succeeded => State::Succeeded,
    };
    let finished_ms = task.finished_ms;
    end(task, moment, effects);
    if ending.to == EndsAs::Succeeded {
        // It succeeded when it did; only what came of it is kept for as long as any.
        task.finished_ms = finished_ms;
    }
}

/// Compensation itself cannot go on: what is left is named as unknown.
pub(super) fn give_up_undoing(
    task: &mut Task,
    failure: &Failure,
    moment: &Moment,
    effects: &mut Vec<Effect>,
) {
    let rest = NotUndone {
        step: failure.step.clone(),
        code: failure.code.clone(),
        message: format!("compensation was given up: {}", failure.message),
    };
    undone(task, vec![rest], moment, effects);
}

/// The task is over; its state says how.
pub(super) fn end(task: &mut Task, moment: &Moment, effects: &mut Vec<Effect>) {
    let retention_ms = match task.state {
        State::Succeeded => task.policy.retention_succeeded_ms,
        State::Running
        | State::Suspended(_)
        | State::Failed { .. }
        | State::Cancelled
        | State::Forgotten => task.policy.retention_failed_ms,
    };
    // A lease that was lost stays on record: what its holder did may be reported until it is final.
    task.ticket = None;
    task.finished_ms = Some(moment.ms);
    task.expires_ms = Some(moment.ms.saturating_add(retention_ms));
    let parents = std::mem::take(&mut task.parents);
    owe_others(task, parents.into_iter().map(Debt::End), moment, effects);
    task.owe(moment.ms);
    effects.push(Effect::WakeJoined);
    effects.push(Effect::Flush);
}

/// Puts messages to other tasks among the debts, and has them sent.
pub(super) fn owe_others(
    task: &mut Task,
    debts: impl Iterator<Item = Debt>,
    moment: &Moment,
    effects: &mut Vec<Effect>,
) {
    let before = task.debts.list.len();
    task.debts.list.extend(debts);
    if task.debts.list.len() == before {
        return;
    }
    task.debts.tries = 0;
    task.debts.next_ms = moment.ms + limits::FLUSH_TIMEOUT_MS;
    if !effects.contains(&Effect::PayDebts) {
        effects.push(Effect::PayDebts);
    }
}

/// An operator wants the task ended.
pub(super) fn cancel(mut task: Task, op: String, moment: &Moment) -> Transition {
    if task.answers() && !matches!(task.state, State::Cancelled) {
        return Transition::unchanged(Reply::Ended(Standing::of(&task)));
    }
    if task.steer_op.as_ref() == Some(&op) || task.cancel.is_some() {
        return Transition::unchanged(Reply::Stands(Standing::of(&task)));
    }
    let mut effects = Vec::new();
    match &task.state {
        State::Succeeded | State::Failed { resumable: false } | State::Cancelled => {
            return Transition::unchanged(Reply::Stands(Standing::of(&task)));
        }
        State::Forgotten => return Transition::unchanged(Reply::NotFound),
        State::Running | State::Suspended(_) | State::Failed { resumable: true } => {}
    }
    if let Some(ending) = &mut task.ending {
        // It is being undone already. What would begin anew with the next delivery does so no more.
        if ending.to != (EndsAs::Failed { restarts: true }) {
            return Transition::unchanged(Reply::Stands(Standing::of(&task)));
        }
        ending.to = EndsAs::Cancelled;
        cancel_children(&mut task, moment, &mut effects);
    }
    task.steer_op = Some(op);
    task.cancel = Some(Cancel {
        at_ms: moment.ms,
        too_late: false,
    });
    let held = matches!(task.state, State::Running)
        && task.lease.as_ref().is_some_and(|l| moment.ms < l.ends_ms);
    if !held && task.ending.is_none() {
        cancelled(&mut task, None, moment, &mut effects);
    }
    let reply = Reply::Stands(Standing::of(&task));
    Transition::put(task, effects, reply)
}

/// A parent was cancelled. The task goes with it if that parent began it and no other one waits.
pub(super) fn abandon(mut task: Task, op: String, parent: TaskId, moment: &Moment) -> Transition {
    let owed = |debt: &Debt| matches!(debt, Debt::End(end) if end.task_id == parent);
    let known =
        task.parents.iter().any(|p| p.task_id == parent) || task.debts.list.iter().any(owed);
    task.parents.retain(|p| p.task_id != parent);
    task.debts.list.retain(|debt| !owed(debt));
    let alone = task.owner == Some(parent) && task.parents.is_empty();
    if alone && !task.has_ended() {
        return cancel(task, op, moment);
    }
    if known {
        return Transition::put(task, Vec::new(), Reply::Done);
    }
    Transition::unchanged(Reply::Done)
}

/// Nobody works on the task, and it is to be ended: its children with it.
pub(super) fn cancelled(
    task: &mut Task,
    hop: Option<u32>,
    moment: &Moment,
    effects: &mut Vec<Effect>,
) {
    cancel_children(task, moment, effects);
    task.touch(moment.ms);
    if is_to_undo(task, moment, effects) {
        compensate(task, EndsAs::Cancelled, hop, moment, effects);
    } else {
        task.state = State::Cancelled;
        end(task, moment, effects);
    }
}

fn cancel_children(task: &mut Task, moment: &Moment, effects: &mut Vec<Effect>) {
    let children = std::mem::take(&mut task.children);
    let debts = children.into_iter().map(|c| Debt::Cancel(c.task_id));
    owe_others(task, debts, moment, effects);
}

/// True if there is something to undo, on record or in this very message, that was not undone before.
pub(super) fn is_to_undo(task: &Task, moment: &Moment, effects: &[Effect]) -> bool {
    let put = |e: &Effect| matches!(e, Effect::PutStep(step) if step.is_undoable());
    task.undone.is_none() && (moment.undoable || effects.iter().any(put))
}
