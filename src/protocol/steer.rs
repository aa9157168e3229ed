//! What operators can do with a task that has ended or is stuck: try again, undo.

use super::effect::{Effect, Reply, Transition};
use super::ending::{self, EndsAs};
use super::event::Moment;
use super::journal::{Kind, Outcome, StepRecord};
use super::lease;
use super::mailbox::{is_child_signal, is_lock_signal};
use super::reopen::opened;
use super::summary::Standing;
use super::task::{State, Task};
use super::waits::Waiting;
use crate::limits;
use crate::types::StepId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An operator wants a task tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Retry {
    /// Names the operation.
    pub op: String,
    /// The step to begin with, as it is shown; everything before it is kept. `None`: what failed.
    #[serde(default)]
    pub from: Option<String>,
    /// Another input; its bytes travel beside the JSON of the message.
    #[serde(skip)]
    pub input: Option<Vec<u8>>,
    /// Steps keep the derived keys that they had.
    #[serde(default)]
    pub same_keys: bool,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
    /// What is recorded; looked up by the object.
    #[serde(skip)]
    pub journal: Vec<StepRecord>,
}

/// What a retry does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Plan {
    /// Steps whose outcomes are kept.
    pub kept: Vec<StepId>,
    /// Steps that are done again.
    pub again: Vec<StepId>,
    /// Whether the task starts over as a new generation.
    pub new_generation: bool,
    /// Whether derived keys change.
    pub new_keys: bool,
    /// Where the task stands after it.
    pub standing: Option<Standing>,
}

pub(super) fn retry(mut task: Task, retry: Retry, moment: &Moment) -> Transition {
    let repeated = task.steer_op.as_ref() == Some(&retry.op);
    if repeated && !retry.dry_run {
        return Transition::unchanged(Reply::Stands(Standing::of(&task)));
    }
    match &task.state {
        State::Failed { .. } if task.stripped && retry.input.is_none() => {
            Transition::unchanged(Reply::Ended(Standing::of(&task)))
        }
        State::Failed { .. } => again(task, retry, moment),
        State::Suspended(Waiting::CodeChanged(_) | Waiting::BackingOff { .. }) => {
            let simple = retry.from.is_none() && retry.input.is_none();
            if !simple {
                return Transition::unchanged(Reply::InProgress(Standing::of(&task)));
            }
            let plan = plan(&task, &retry, None);
            if retry.dry_run {
                return Transition::unchanged(Reply::Planned(Box::new(plan)));
            }
            let mut effects = Vec::new();
            task.steer_op = Some(retry.op);
            lease::mint(&mut task, 0, moment, &mut effects);
            task.touch(moment.ms);
            task.owe(moment.ms);
            effects.push(Effect::Flush);
            planned(task, plan, effects)
        }
        State::Running | State::Suspended(_) => {
            Transition::unchanged(Reply::InProgress(Standing::of(&task)))
        }
        State::Succeeded | State::Cancelled => {
            Transition::unchanged(Reply::Ended(Standing::of(&task)))
        }
        State::Forgotten => Transition::unchanged(Reply::NotFound),
    }
}

fn planned(task: Task, mut plan: Plan, effects: Vec<Effect>) -> Transition {
    plan.standing = Some(Standing::of(&task));
    Transition::put(task, effects, Reply::Planned(Box::new(plan)))
}

/// Runs a failed task again.
fn again(mut task: Task, mut retry: Retry, moment: &Moment) -> Transition {
    // What was undone is done anew: with its old key a service would only say what it once did.
    retry.same_keys &= task.undone.is_none();
    let Some(from) = begins_with(&task, &retry) else {
        return Transition::unchanged(Reply::NoSuchStep);
    };
    let plan = plan(&task, &retry, from);
    if retry.dry_run {
        return Transition::unchanged(Reply::Planned(Box::new(plan)));
    }
    let mut effects: Vec<Effect> = Vec::new();
    if task.undone.is_some() {
        effects.push(Effect::NewJournal {
            generation: task.generation,
            keep_undo: false,
        });
    } else {
        match from {
            None => effects.extend(reopened(&plan.again, &retry.journal)),
            Some((fence, _)) => {
                effects.extend(plan.again.iter().cloned().map(Effect::ReopenStep));
                effects.push(Effect::RewindCursor { fence });
            }
        }
    }
    if plan.new_generation {
        let mut children = std::mem::take(&mut task.children);
        renew(&mut task, retry.same_keys, moment);
        // One whose record is kept is still waited for, and is cancelled with this task.
        let kept: BTreeSet<&StepId> = plan.kept.iter().collect();
        children.retain(|child| kept.contains(&child.step));
        task.children = children;
    }
    if let Some(input) = retry.input {
        effects.push(Effect::ReplaceInput(input));
        task.stripped = false;
    }
    task.steer_op = Some(retry.op);
    revived(&mut task);
    task.touch(moment.ms);
    lease::mint(&mut task, 0, moment, &mut effects);
    task.owe(moment.ms);
    effects.push(Effect::Flush);
    planned(task, plan, effects)
}

/// What failed is taken out of the journal, unless steps of its branch came after it: they keep their
/// records, and it keeps one that says that it is to be tried again.
fn reopened(again: &[StepId], journal: &[StepRecord]) -> Vec<Effect> {
    let order = |r: &StepRecord| (r.fence, r.place);
    let one = |id: &StepId| {
        let record = journal.iter().find(|r| r.id == *id)?;
        if !record.outcome.is_settled() {
            // Its attempt has opened it: what is unknown of it stays known.
            return None;
        }
        let later = |r: &StepRecord| r.id.branch == id.branch && order(r) > order(record);
        Some(if journal.iter().any(later) {
            Effect::PutStep(opened(record, false))
        } else {
            Effect::ReopenStep(id.clone())
        })
    };
    again.iter().filter_map(one).collect()
}

/// The order from which on records are dropped: `Some(None)`: none is. `None`: no such step.
#[allow(clippy::option_option)] // three answers, each with its own meaning
fn begins_with(task: &Task, retry: &Retry) -> Option<Option<(u64, u32)>> {
    if let Some(from) = &retry.from {
        let mut steps = retry.journal.iter().filter(|r| r.kind != Kind::Undo);
        let found = steps.find(|r| r.id.to_string() == *from);
        let failed = task.failure.as_ref().and_then(|f| f.step.as_ref());
        return match found {
            Some(found) => Some(Some((found.fence, found.place))),
            // What failed may have no record any more: everything else is kept then.
            None if failed.is_some_and(|f| f.to_string() == *from) => Some(None),
            None => None,
        };
    }
    if task.undone.is_some() || retry.input.is_some() {
        return Some(Some((0, 0)));
    }
    Some(None)
}

fn plan(task: &Task, retry: &Retry, from: Option<(u64, u32)>) -> Plan {
    let failed = task.failure.as_ref().and_then(|f| f.step.as_ref());
    let redone = |record: &StepRecord| {
        let behind = from.is_some_and(|from| (record.fence, record.place) >= from);
        let failed = Some(&record.id) == failed && !matches!(record.outcome, Outcome::Value(_));
        behind || failed || task.undone.is_some()
    };
    let steps = retry.journal.iter().filter(|r| r.kind != Kind::Undo);
    let mut records: Vec<&StepRecord> = steps.collect();
    records.sort_by_key(|r| (r.fence, r.place));
    let (again, kept): (Vec<_>, Vec<_>) = records.into_iter().partition(|r| redone(r));
    let ids = |records: Vec<&StepRecord>| -> Vec<StepId> {
        records.into_iter().map(|r| r.id.clone()).collect()
    };
    let mut again = ids(again);
    // What failed resumably has no record any more.
    let open = failed.filter(|f| !retry.journal.iter().any(|r| r.id == **f));
    again.extend(open.cloned());
    let resumes = !matches!(task.state, State::Failed { resumable: false })
        && task.undone.is_none()
        && retry.from.is_none()
        && retry.input.is_none();
    Plan {
        kept: ids(kept),
        again,
        new_generation: !resumes,
        new_keys: !resumes && !retry.same_keys,
        standing: None,
    }
}

/// The task becomes a new generation of itself.
pub(super) fn renew(task: &mut Task, same_keys: bool, moment: &Moment) {
    task.generation = moment.ms.max(task.generation + 1);
    if !same_keys {
        task.key_generation = task.generation;
    }
    task.claims = 0;
    // What the last holder of the old generation did is no part of the new one.
    task.lease = None;
    task.children.clear();
    // Ends of children of the generation that is over: the same step may have another child now. What it held
    // is over as well.
    let passed_on = |name: &str| !is_child_signal(name) && !is_lock_signal(name);
    task.unread.retain(|unread| passed_on(&unread.name));
    task.undone = None;
    task.ending = None;
    task.cancel = None;
}

/// A task that had ended is at work again.
pub(super) fn revived(task: &mut Task) {
    task.attempts = 0;
    task.dispatches = 0;
    task.finished_ms = None;
    task.expires_ms = None;
    task.answer = None;
}

/// An operator wants undone what a succeeded task did.
pub(super) fn undo(mut task: Task, op: String, moment: &Moment) -> Transition {
    let mut effects = Vec::new();
    match &task.state {
        State::Succeeded if task.undone.is_none() && task.stripped => {
            Transition::unchanged(Reply::Ended(Standing::of(&task)))
        }
        State::Succeeded if task.undone.is_none() => {
            task.steer_op = Some(op);
            task.touch(moment.ms);
            if moment.undoable {
                ending::compensate(&mut task, EndsAs::Succeeded, None, moment, &mut effects);
            } else {
                task.undone = Some(ending::Undone {
                    at_ms: moment.ms,
                    not_undone: Vec::new(),
                });
                task.owe(moment.ms);
                effects.push(Effect::Flush);
            }
            let reply = Reply::Stands(Standing::of(&task));
            Transition::put(task, effects, reply)
        }
        // Carried out before, or under way.
        State::Succeeded => Transition::unchanged(Reply::Stands(Standing::of(&task))),
        _ if task
            .ending
            .as_ref()
            .is_some_and(|e| e.to == EndsAs::Succeeded) =>
        {
            Transition::unchanged(Reply::Stands(Standing::of(&task)))
        }
        State::Running | State::Suspended(_) => {
            Transition::unchanged(Reply::InProgress(Standing::of(&task)))
        }
        State::Failed { .. } | State::Cancelled => {
            Transition::unchanged(Reply::Ended(Standing::of(&task)))
        }
        State::Forgotten => Transition::unchanged(Reply::NotFound),
    }
}

/// The function starts over by its own wish, with another input: the next generation.
pub(super) fn continue_as(
    task: &mut Task,
    input: Vec<u8>,
    moment: &Moment,
    effects: &mut Vec<Effect>,
) {
    effects.push(Effect::NewJournal {
        generation: task.generation,
        keep_undo: true,
    });
    let (cancel, children) = (task.cancel.clone(), std::mem::take(&mut task.children));
    renew(task, false, moment);
    (task.cancel, task.children) = (cancel, children);
    task.attempts = 0;
    effects.push(Effect::ReplaceInput(input));
}

/// Whether a key may still be begun anew or revived by deliveries.
pub(super) fn may_revive(task: &Task) -> bool {
    task.revivals < limits::MAX_REVIVALS
}
