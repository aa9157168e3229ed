//! What to do about a step of which nobody knows whether it happened.

use super::ctx::StepScope;
use super::step::to_json;
use crate::types::Failure;
use futures::future::LocalBoxFuture;
use serde::Serialize;
use std::future::Future;
use std::rc::Rc;

type ProbeFn<T> = dyn Fn(StepScope) -> LocalBoxFuture<'static, Result<Option<T>, Failure>>;

/// What to do about a step that was under way when the process died, or whose answer never came.
pub enum OnUnknown<T> {
    /// Do it again, with the same derived key. Costs nothing.
    Retry,
    /// Never do it again: the step fails for good with `outcome_unknown`.
    Fail,
    /// Ask the other side; see [`OnUnknown::probe`].
    Probe(Rc<ProbeFn<T>>),
}

impl<T: Serialize + 'static> OnUnknown<T> {
    /// Asks the other side: `Some(outcome)` if it happened, `None` if it did not and may be done again.
    ///
    /// ```
    /// use onceward::function::{OnUnknown, StepScope};
    /// let probe = OnUnknown::<u32>::probe(|scope: StepScope| async move {
    ///     let _look_for = scope.key();
    ///     Ok(None)
    /// });
    /// assert!(matches!(probe, OnUnknown::Probe(_)));
    /// ```
    pub fn probe<F, Fut>(probe: F) -> Self
    where
        F: Fn(StepScope) -> Fut + 'static,
        Fut: Future<Output = Result<Option<T>, Failure>> + 'static,
    {
        Self::Probe(Rc::new(move |scope| Box::pin(probe(scope))))
    }

    pub(super) fn erase(self) -> Unknown {
        match self {
            Self::Retry => Unknown::Retry,
            Self::Fail => Unknown::Fail,
            Self::Probe(probe) => Unknown::Probe(Rc::new(move |scope| {
                let asked = probe(scope);
                Box::pin(async move {
                    match asked.await? {
                        Some(outcome) => to_json(&outcome).map(Some),
                        None => Ok(None),
                    }
                })
            })),
        }
    }
}

/// The same for outcomes as text.
#[derive(Clone)]
pub(super) enum Unknown {
    Retry,
    Fail,
    Probe(Rc<ProbeFn<String>>),
}

impl Unknown {
    /// Whether it has to be known afterwards that a try had begun.
    pub(super) fn needs_intent(&self) -> bool {
        !matches!(self, Self::Retry)
    }
}
