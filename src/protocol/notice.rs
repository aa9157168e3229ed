//! What operators are to be told of: kept as a debt, so that no crash loses it.

use super::debts::{Debt, Notice};
use super::effect::Effect;
use super::event::Moment;
use super::task::{State, Task};
use super::waits::Waiting;
use crate::limits;
use crate::types::NoticeKind;

/// What a task was before an event.
#[derive(Default)]
pub(super) struct Before {
    ended_ms: Option<u64>,
    undone_ms: Option<u64>,
    parked: bool,
}

impl Before {
    pub(super) fn of(task: &Task) -> Self {
        Self {
            ended_ms: task.finished_ms,
            undone_ms: task.undone.as_ref().map(|undone| undone.at_ms),
            parked: is_parked(task),
        }
    }
}

/// Puts what has become of a task among its debts, if that is worth a word.
pub(super) fn look(before: &Before, task: &mut Task, moment: &Moment, effects: &mut Vec<Effect>) {
    let failed = matches!(task.state, State::Failed { .. }) && task.finished_ms != before.ended_ms;
    let partly = task
        .undone
        .as_ref()
        .is_some_and(|undone| !undone.is_complete() && Some(undone.at_ms) != before.undone_ms);
    let stuck = is_parked(task) && !before.parked;
    for (is_so, kind) in [
        (failed, NoticeKind::Failed),
        (partly, NoticeKind::UndonePartially),
        (stuck, NoticeKind::Stuck),
    ] {
        if is_so {
            owe(task, kind, moment, effects);
        }
    }
}

fn is_parked(task: &Task) -> bool {
    matches!(task.state, State::Suspended(Waiting::CodeChanged(_)))
}

/// True if a task has waited for too long, and nobody was told so since it began to.
pub(super) fn is_overdue(task: &Task, moment: &Moment) -> bool {
    let Some(watch) = moment.watch.filter(|_| !task.policy.quiet) else {
        return false;
    };
    let waits = matches!(
        task.state,
        State::Suspended(Waiting::For(_) | Waiting::CodeChanged(_))
    );
    let long = moment.ms.saturating_sub(task.updated_ms) >= watch.waiting_ms;
    waits && long && task.noticed_ms.is_none_or(|at| at < task.updated_ms)
}

/// Has operators told of this.
pub(super) fn owe(task: &mut Task, kind: NoticeKind, moment: &Moment, effects: &mut Vec<Effect>) {
    if moment.watch.is_none() || task.policy.quiet {
        return;
    }
    task.noticed_ms = Some(moment.ms.max(task.updated_ms));
    task.debts.list.push(Debt::Notice(Notice {
        kind,
        at_ms: moment.ms,
    }));
    task.debts.tries = 0;
    task.debts.next_ms = moment.ms + limits::FLUSH_TIMEOUT_MS;
    if !effects.contains(&Effect::PayDebts) {
        let flush = effects.iter().position(|e| matches!(e, Effect::Flush));
        effects.insert(flush.unwrap_or(effects.len()), Effect::PayDebts);
    }
}
