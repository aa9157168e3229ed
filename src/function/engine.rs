//! How a step comes to its outcome: replayed if it is recorded, else tried until it has one.

use super::ctx::StepScope;
use super::retry::Retry;
use super::run::Run;
use super::unknown::Unknown;
use crate::limits;
use crate::protocol::{Kind, Open, Outcome, StepRecord, UndoPlan, Wait, WaitFor};
use crate::types::{Failure, FailureKind, StepId};
use futures::channel::oneshot;
use futures::future::{Either, LocalBoxFuture, select};
use std::future::pending;
use std::rc::Rc;

/// The work of a step: its outcome as JSON text.
pub(super) type Work = Rc<dyn Fn(StepScope) -> LocalBoxFuture<'static, Result<String, Failure>>>;

/// One step, with everything that decides how it is done.
#[derive(Clone)]
pub(super) struct Engine {
    pub(super) run: Rc<Run>,
    pub(super) id: StepId,
    pub(super) kind: Kind,
    pub(super) work: Work,
    pub(super) retry: Retry,
    pub(super) timeout_ms: Option<u64>,
    pub(super) undo: Option<UndoPlan>,
    pub(super) unknown: Unknown,
    /// As on record.
    pub(super) opened: Option<(u64, u32)>,
    /// Most bytes of its outcome.
    pub(super) most_bytes: usize,
}

impl Engine {
    /// The outcome, recorded or about to be.
    pub(super) async fn outcome(mut self) -> Result<String, Failure> {
        let run = Rc::clone(&self.run);
        let Some(_under_way) = run.enter(&self.id) else {
            return Err(in_flight(&self.id));
        };
        let found = run.visit(&self.id, self.kind).await;
        self.opened = found.as_ref().and_then(|r| r.opened);
        let mut open = match found.map(|r| r.outcome) {
            Some(Outcome::Value(text)) => return Ok(text),
            Some(Outcome::Failed(failure)) => return Err(of_step(failure, &self.id)),
            Some(Outcome::Open(open)) => *open,
            None => Open::default(),
        };
        loop {
            if let Some(due_ms) = open.due_ms {
                let what = WaitFor::Retry { due_ms };
                let id = self.id.clone();
                run.wait(Wait { id, what }).await;
            }
            match self.try_once(open).await {
                Outcome::Value(text) => return Ok(text),
                Outcome::Failed(failure) => return Err(failure),
                Outcome::Open(next) => open = *next,
            }
        }
    }

    /// One try, from its admission to its record. What is open comes back to be tried again.
    async fn try_once(&self, mut open: Open) -> Outcome {
        let unknown = open.in_flight;
        if unknown && matches!(self.unknown, Unknown::Fail) {
            return self.settle(Outcome::Failed(self.outcome_unknown(&open)), open.tries);
        }
        let wanted = self
            .timeout_ms
            .unwrap_or_else(|| self.run.policy.step_timeout_ms());
        let allowed_ms = self.run.admit(wanted).await;
        if open.first_ms == 0 {
            open.first_ms = self.run.object_now_ms();
        }
        let probes = unknown && matches!(self.unknown, Unknown::Probe(_));
        if self.needs_intent() && !open.in_flight {
            open.in_flight = true;
            open.due_ms = None;
            self.run
                .keep(self.record(Outcome::Open(Box::new(open.clone())), open.tries));
            let mut intended = Intended(self, Some(open.clone()));
            self.run.recorded().await;
            intended.1 = None;
        }
        let (tell, told) = oneshot::channel();
        let this = self.clone();
        self.run.spawn(&self.id, async move {
            if tell.is_canceled() {
                // Its branch was left before the work began, as in the run before.
                this.not_begun(open, unknown);
                return;
            }
            let outcome = if probes {
                this.probe(open, allowed_ms).await
            } else {
                let scope = this.scope(open.tries);
                let result = this.timed((this.work)(scope), allowed_ms).await;
                // A failure of this try says nothing of an earlier one that may have had its effect.
                let result = result.map_err(|failure| Failure {
                    unknown: unknown || failure.unknown,
                    ..failure
                });
                this.judge(result, &open)
            };
            // Whoever awaited the step may be gone; its record counts all the same.
            let _ = tell.send(outcome);
        });
        match told.await {
            Ok(outcome) => outcome,
            // Cut off by a race.
            Err(_) => pending().await,
        }
    }

    /// Takes an intent back that nothing came of.
    fn not_begun(&self, open: Open, unknown: bool) {
        if self.needs_intent() && !unknown {
            let tries = open.tries;
            let open = Open {
                in_flight: false,
                ..open
            };
            self.run
                .keep(self.record(Outcome::Open(Box::new(open)), tries));
        }
    }

    fn needs_intent(&self) -> bool {
        self.undo.is_some() || self.unknown.needs_intent()
    }

    /// For a try that comes after so many.
    fn scope(&self, tries: u32) -> StepScope {
        let is_last = tries + 1 >= self.retry.max_attempts;
        StepScope::new(&self.run, &self.id, tries + 1, is_last)
    }

    /// Asks the other side whether the step happened.
    async fn probe(&self, open: Open, allowed_ms: u64) -> Outcome {
        let Unknown::Probe(probe) = &self.unknown else {
            return Outcome::Open(Box::new(open));
        };
        match self.timed(probe(self.scope(open.tries)), allowed_ms).await {
            Ok(Some(text)) => self.judge(Ok(text), &open),
            Ok(None) => Outcome::Open(Box::new(Open {
                in_flight: false,
                due_ms: None,
                ..open
            })),
            // It stays unknown, whatever went wrong with the question.
            Err(failure) => {
                let failure = failure.with_unknown_effect();
                self.judge(Err(failure), &open)
            }
        }
    }

    async fn timed<T>(
        &self,
        work: LocalBoxFuture<'static, Result<T, Failure>>,
        allowed_ms: u64,
    ) -> Result<T, Failure> {
        let run = &self.run;
        let left = run.limit_ms().saturating_sub(run.elapsed_ms()).max(1);
        let limit_ms = allowed_ms.min(left);
        match select(work, run.host.sleep(limit_ms)).await {
            Either::Left((result, _)) => result,
            Either::Right(((), _)) => {
                let message = format!(
                    "step {} did not end within {limit_ms} ms; its effect is unknown",
                    self.id
                );
                Err(Failure::retryable("step_timeout", message).with_unknown_effect())
            }
        }
    }

    /// What a try comes to, kept for the next record.
    fn judge(&self, result: Result<String, Failure>, open: &Open) -> Outcome {
        let tries = open.tries + 1;
        let failure = match result.and_then(|text| self.within_limits(text)) {
            Ok(text) => return self.settle(Outcome::Value(text), tries),
            Err(failure) => self.fit(failure.cut()),
        };
        if failure.unknown && matches!(self.unknown, Unknown::Fail) {
            let open = Open {
                failure: Some(failure),
                ..open.clone()
            };
            return self.settle(Outcome::Failed(self.outcome_unknown(&open)), tries);
        }
        let now_ms = self.run.object_now_ms();
        let delay_ms = self.retry.next_delay_ms(
            tries,
            now_ms.saturating_sub(open.first_ms),
            failure.retry_after_ms,
            self.run.host.jitter(),
        );
        match delay_ms {
            Some(delay_ms) if failure.kind == FailureKind::Retryable => {
                let next = Open {
                    in_flight: failure.unknown && self.needs_intent(),
                    tries,
                    due_ms: Some(now_ms + delay_ms),
                    failure: Some(failure),
                    ..open.clone()
                };
                self.settle(Outcome::Open(Box::new(next)), tries)
            }
            _ => self.settle(Outcome::Failed(of_step(failure, &self.id)), tries),
        }
    }

    /// An answer that cannot be stored is left out; the failure itself counts.
    fn fit(&self, failure: Failure) -> Failure {
        let answer = failure.answer.clone();
        let answer = answer.and_then(|answer| self.run.host.fit(*answer).ok());
        Failure {
            answer: answer.map(Box::new),
            ..failure
        }
    }

    /// What is too large to be recorded has happened all the same.
    fn within_limits(&self, text: String) -> Result<String, Failure> {
        self.check_size(&text)
            .map(|()| text)
            .map_err(Failure::with_unknown_effect)
    }

    fn check_size(&self, text: &str) -> Result<(), Failure> {
        let undo = self.undo.as_ref().map_or("", |undo| undo.input.as_str());
        check_size(&self.run, &self.id, text, undo, self.most_bytes)
    }

    fn settle(&self, outcome: Outcome, tries: u32) -> Outcome {
        self.run.keep(self.record(outcome.clone(), tries));
        outcome
    }

    fn record(&self, outcome: Outcome, tries: u32) -> StepRecord {
        StepRecord {
            kind: self.kind,
            undo: self.undo.clone(),
            opened: self.opened,
            tries,
            ..StepRecord::new(self.id.clone(), outcome)
        }
    }

    fn outcome_unknown(&self, open: &Open) -> Failure {
        let why = match &open.failure {
            Some(failure) => format!("the last thing heard of it: {failure}"),
            None => "the process ended while it was under way".to_owned(),
        };
        let message = format!(
            "whether step {} happened is unknown, and it is not to be repeated; {why}",
            self.id
        );
        let failure = Failure::terminal("outcome_unknown", message).with_unknown_effect();
        of_step(failure.cut(), &self.id)
    }
}

/// Bytes of a row that are there for texts; names, keys and times are the rest.
pub(super) const MAX_KEPT_BYTES: usize = limits::MAX_ROW_BYTES - (8 << 10);

/// Bytes that JSON text takes within a record, where it is text itself.
pub(super) fn kept_bytes(text: &str) -> usize {
    let escaped = text.bytes().filter(|b| matches!(b, b'"' | b'\\')).count();
    text.len() + escaped
}

/// Whether an outcome can be recorded, beside what is on record already.
pub(super) fn check_size(
    run: &Run,
    id: &StepId,
    text: &str,
    undo: &str,
    most: usize,
) -> Result<(), Failure> {
    let got = text.len();
    if got > most {
        let message =
            format!("the outcome of step {id} has {got} bytes; an outcome can have {most}");
        return Err(Failure::terminal("outcome_too_large", message));
    }
    let (got_row, most_row) = (kept_bytes(text) + kept_bytes(undo), MAX_KEPT_BYTES);
    if got_row > most_row {
        let message = format!(
            "the outcome of step {id} takes {got_row} bytes on record, with its quotes and line breaks escaped; a record can have {most_row}"
        );
        return Err(Failure::terminal("outcome_too_large", message));
    }
    if !run.has_room(got) {
        let most = limits::MAX_STATE_BYTES;
        let message = format!(
            "with the {got} bytes of step {id} the outcomes of this task have more than {most}; keep progress with `save`, or start over with `continue_as`"
        );
        return Err(Failure::terminal("state_too_large", message));
    }
    Ok(())
}

/// An intent whose work has not begun: dropped, it is taken back.
struct Intended<'a>(&'a Engine, Option<Open>);

impl Drop for Intended<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.1.take() {
            self.0.not_begun(open, false);
        }
    }
}

/// The failure as that of this step.
pub(super) fn of_step(failure: Failure, id: &StepId) -> Failure {
    Failure {
        step: Some(id.clone()),
        ..failure
    }
}

pub(super) fn in_flight(id: &StepId) -> Failure {
    let message = format!(
        "a step named {:?} is already under way in this branch; give parallel work branches of its own",
        id.name
    );
    Failure::terminal("step_in_flight", message)
}
