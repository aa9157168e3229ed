//! The failure that ended an attempt is tried again.

use super::effect::Effect;
use super::journal::{Open, Outcome, StepRecord};
use crate::types::{Failure, FailureKind};

/// The failure that ended an attempt is no outcome, unless it is terminal: the next attempt tries
/// that step again. A success under the same identity stays, whatever the function made of it. Where
/// an intent says that the step may have happened, and nothing says that it did not, that stays.
pub(super) fn reopen(failure: &Failure, known: &[StepRecord], effects: &mut Vec<Effect>) {
    let Some(step) = &failure.step else {
        return;
    };
    let before = known.iter().find(|k| k.id == *step);
    let told = effects.iter().find_map(|effect| match effect {
        Effect::PutStep(record) if record.id == *step => Some(record.clone()),
        _ => None,
    });
    let Some(record) = told.as_ref().or(before) else {
        return;
    };
    let Outcome::Failed(why) = &record.outcome else {
        return;
    };
    if why.kind != FailureKind::Retryable {
        return;
    }
    let record = record.clone();
    // Steps that came after it keep their records; it needs one as well, or its branch would seem to
    // have changed. What was recorded before this message was followed by what made it be recorded.
    let later = |r: &StepRecord| r.id.branch == step.branch && r.place > record.place;
    let followed = before.is_some_and(|b| b.outcome.is_settled())
        || effects
            .iter()
            .any(|e| matches!(e, Effect::PutStep(r) if later(r)));
    effects.retain(|effect| !matches!(effect, Effect::PutStep(r) if r.id == *step));
    // A step with an intent has had a record before. Of one without, this is a row in place of a row.
    let intent = before.is_some();
    if why.unknown && intent {
        effects.push(Effect::PutStep(opened(&record, true)));
    } else if followed {
        effects.push(Effect::PutStep(opened(&record, false)));
    } else if before.is_some() {
        effects.push(Effect::ReopenStep(step.clone()));
    }
}

/// The record of a failed step that is to be tried again, in place of its failure.
pub(super) fn opened(record: &StepRecord, in_flight: bool) -> StepRecord {
    let failure = match &record.outcome {
        Outcome::Failed(failure) => Some(failure.clone()),
        Outcome::Value(_) | Outcome::Open(_) => None,
    };
    let open = Open {
        in_flight,
        failure,
        ..Open::default()
    };
    StepRecord {
        outcome: Outcome::Open(Box::new(open)),
        opened: record.opened.or(Some((record.fence, record.place))),
        ..record.clone()
    }
}
