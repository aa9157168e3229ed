//! One step: replayed if it is recorded, else tried until it has an outcome.

use super::ctx::{Ctx, StepScope};
use super::retry::Retry;
use crate::limits;
use crate::protocol::Outcome;
use crate::types::{Failure, FailureKind, StepId};
use futures::future::{Either, LocalBoxFuture, select};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::rc::Rc;

type Work = dyn Fn(StepScope) -> LocalBoxFuture<'static, Result<String, Failure>>;

/// A step that has not begun; `.await` runs it.
#[must_use = "a step does nothing until it is awaited"]
pub struct Step<T> {
    ctx: Ctx,
    name: String,
    work: Rc<Work>,
    retry: Retry,
    timeout_ms: Option<u64>,
    result: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned + 'static> Step<T> {
    pub(super) fn new<F, Fut>(ctx: &Ctx, name: &str, work: F) -> Self
    where
        F: Fn(StepScope) -> Fut + 'static,
        Fut: Future<Output = Result<T, Failure>> + 'static,
    {
        Self {
            ctx: ctx.clone(),
            name: name.to_owned(),
            work: Rc::new(move |scope| {
                let work = work(scope);
                Box::pin(async move { to_json(&work.await?) })
            }),
            retry: Retry::none(),
            timeout_ms: None,
            result: PhantomData,
        }
    }

    /// Tries again by this policy when the failure is retryable.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Limits each try. Without it: 15 s, or 60 % of the slice budget if that is less.
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = Some(timeout_ms);
        self
    }
}

impl<T: Serialize + DeserializeOwned + 'static> IntoFuture for Step<T> {
    type Output = Result<T, Failure>;
    type IntoFuture = LocalBoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let text = run(
                &self.ctx,
                &self.name,
                &*self.work,
                self.retry,
                self.timeout_ms,
            )
            .await?;
            serde_json::from_str(&text).map_err(|error| {
                let message = format!(
                    "the recorded outcome of step {:?} is not what the code now expects: {error}",
                    self.name
                );
                Failure::terminal("outcome_mismatch", message)
            })
        })
    }
}

async fn run(
    ctx: &Ctx,
    name: &str,
    work: &Work,
    retry: Retry,
    timeout_ms: Option<u64>,
) -> Result<String, Failure> {
    if name.is_empty() || name.len() > limits::MAX_NAME_BYTES {
        let message = format!(
            "a step's name has 1 to {} bytes; this one has {}",
            limits::MAX_NAME_BYTES,
            name.len()
        );
        return Err(Failure::terminal("step_name", message));
    }
    let id = ctx.run.identify(name);
    if let Some(outcome) = ctx.run.journal.borrow().get(&id) {
        return replay(outcome, &id);
    }
    let wanted = timeout_ms.unwrap_or_else(|| ctx.run.policy.step_timeout_ms());
    let allowed = ctx.run.admit(wanted).await;
    let (result, tries) = attempt(ctx, &id, work, retry, allowed).await;
    match result {
        Ok(text) => {
            ctx.run.keep(id, Outcome::Value(text.clone()), tries);
            Ok(text)
        }
        Err(failure) => {
            let mut failure = failure.cut();
            failure.step = Some(id.clone());
            ctx.run.keep(id, Outcome::Failed(failure.clone()), tries);
            Err(failure)
        }
    }
}

fn replay(outcome: &Outcome, id: &StepId) -> Result<String, Failure> {
    match outcome {
        Outcome::Value(text) => Ok(text.clone()),
        Outcome::Failed(failure) => Err(Failure {
            step: Some(id.clone()),
            ..failure.clone()
        }),
        Outcome::Open(_) => Err(Failure::retryable("open", "has no outcome yet")),
    }
}

/// Tries until there is an outcome. Waits between tries stay inside the slice; what does not fit ends
/// the tries of this attempt.
async fn attempt(
    ctx: &Ctx,
    id: &StepId,
    work: &Work,
    retry: Retry,
    timeout_ms: u64,
) -> (Result<String, Failure>, u32) {
    let run = &ctx.run;
    let scope = StepScope {
        key: id.derived_key(run.task_id, run.key_generation),
        host: Rc::clone(&run.host),
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let left = run.limit_ms().saturating_sub(run.elapsed_ms()).max(1);
        let limit_ms = timeout_ms.min(left);
        let timer = run.host.sleep(limit_ms);
        let result = match select(work(scope.clone()), timer).await {
            Either::Left((result, _)) => result.and_then(|text| within_limit(text, id)),
            Either::Right(((), _)) => Err(Failure::retryable(
                "step_timeout",
                format!("step {id} did not end within {limit_ms} ms; its effect is unknown"),
            )),
        };
        let Err(failure) = &result else {
            return (result, tries);
        };
        if failure.kind == FailureKind::Terminal || tries >= retry.max_attempts {
            return (result, tries);
        }
        let delay_ms = retry.delay_ms(tries, run.host.jitter());
        if run.elapsed_ms().saturating_add(delay_ms) >= run.policy.slice_budget_ms {
            return (result, tries);
        }
        run.host.sleep(delay_ms).await;
    }
}

fn within_limit(text: String, id: &StepId) -> Result<String, Failure> {
    if text.len() <= limits::MAX_OUTCOME_BYTES {
        return Ok(text);
    }
    let message = format!(
        "the outcome of step {id} has {} bytes; an outcome can have {}",
        text.len(),
        limits::MAX_OUTCOME_BYTES
    );
    Err(Failure::terminal("outcome_too_large", message))
}

fn to_json<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| {
        Failure::terminal(
            "outcome_invalid",
            format!("the outcome has no JSON form: {error}"),
        )
    })
}
