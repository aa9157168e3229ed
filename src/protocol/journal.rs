//! What is recorded, once.

use super::event::{Effect, Moment, Record, Reply, Transition};
use super::lease::{self, Standing as Proven};
use super::summary::Standing;
use super::task::Task;
use crate::types::{Failure, FailureKind, StepId};
use serde::{Deserialize, Serialize};

/// How a step ended. Replayed the same in either case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// JSON text, its digits as written.
    Value(String),
    /// The step's final failure.
    Failed(Failure),
}

/// One record of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StepRecord {
    /// Which step.
    pub id: StepId,
    /// How it ended.
    pub outcome: Outcome,
    /// Place among the records of its slice, for display.
    #[serde(default)]
    pub place: u32,
    /// Fence of the slice that recorded it, for display; set by the machine.
    #[serde(default)]
    pub fence: u64,
    /// When it was recorded; set by the machine.
    #[serde(default)]
    pub at_ms: u64,
    /// Tries that the step took.
    #[serde(default)]
    pub tries: u32,
}

pub(super) fn record(mut task: Task, record: Record, moment: &Moment) -> Transition {
    let stop = match lease::check(&task, &record.proof, moment) {
        Proven::Valid => false,
        Proven::Over => true,
        Proven::Stale => return Transition::unchanged(Reply::Stale(Standing::of(&task))),
    };
    let (effects, progress) = fresh(record.steps, &record.known, record.proof.fence, moment);
    let reply = Reply::Recorded {
        stop,
        winners: record.known,
    };
    if progress && task.attempts > 1 {
        task.attempts = 1;
        return Transition::put(task, effects, reply);
    }
    Transition {
        next: super::event::Next::Unchanged,
        effects,
        reply,
    }
}

/// The failure that ended an attempt is no outcome, unless it is terminal: the next attempt tries
/// that step again. A success under the same identity stays, whatever the function made of it.
pub(super) fn reopen(failure: &Failure, known: &[StepRecord], effects: &mut Vec<Effect>) {
    let Some(step) = &failure.step else {
        return;
    };
    let ended = |record: &StepRecord| match &record.outcome {
        Outcome::Failed(failure) => record.id == *step && failure.kind == FailureKind::Retryable,
        Outcome::Value(_) => false,
    };
    effects.retain(|effect| !matches!(effect, Effect::PutStep(record) if ended(record)));
    if known.iter().any(ended) {
        effects.push(Effect::ReopenStep(step.clone()));
    }
}

/// The records that are new, as effects; and whether one of them is a success.
pub(super) fn fresh(
    steps: Vec<StepRecord>,
    known: &[StepRecord],
    fence: u64,
    moment: &Moment,
) -> (Vec<Effect>, bool) {
    let mut effects: Vec<Effect> = Vec::new();
    let mut seen: Vec<StepId> = known.iter().map(|k| k.id.clone()).collect();
    let mut progress = false;
    for mut step in steps {
        if seen.contains(&step.id) {
            continue;
        }
        seen.push(step.id.clone());
        progress |= matches!(step.outcome, Outcome::Value(_));
        step.fence = fence;
        step.at_ms = moment.ms;
        effects.push(Effect::PutStep(step));
    }
    (effects, progress)
}
