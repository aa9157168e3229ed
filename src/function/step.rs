//! A step as the author writes it.

use super::ctx::{Ctx, StepScope};
use super::engine::{Engine, Work};
use super::retry::Retry;
use super::unknown::OnUnknown;
use crate::limits;
use crate::protocol::{Kind, UndoPlan};
use crate::types::{Failure, StepId};
use futures::future::LocalBoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::rc::Rc;

/// A step that has not begun; `.await` runs it.
///
/// ```
/// use onceward::function::{Ctx, Failure, Function, OnUnknown, Retry, StepScope, Undo};
///
/// async fn order(ctx: Ctx, item: String) -> Result<String, Failure> {
///     let goods = item.clone();
///     let reserved: String = ctx
///         .step("reserve", move || {
///             let goods = goods.clone();
///             async move { Ok(format!("one {goods}")) }
///         })
///         .retry(Retry::exponential(3))
///         .timeout_ms(5_000)
///         .on_unknown(OnUnknown::Fail)
///         .undo("release", &item)
///         .await?;
///     Ok(reserved)
/// }
/// async fn release(_: StepScope, undo: Undo<String, String>) -> Result<(), Failure> {
///     assert_eq!(undo.input, "book");
///     Ok(())
/// }
/// let function = Function::new("order", order).undo("release", release);
/// # use onceward::testing::Bench;
/// # let mut bench = Bench::new(function);
/// # bench.deliver("k", onceward::types::Input { body: br#""book""#.to_vec(), ..Default::default() }).unwrap();
/// # bench.run_until_idle();
/// # assert_eq!(bench.answer("k").unwrap().body, br#""one book""#);
/// ```
#[must_use = "a step does nothing until it is awaited"]
pub struct Step<T> {
    ctx: Ctx,
    name: String,
    work: Work,
    retry: Retry,
    timeout_ms: Option<u64>,
    on_unknown: Option<OnUnknown<T>>,
    undo: Option<Result<(String, String), Failure>>,
    most_bytes: usize,
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
                Box::pin(async move {
                    // What has no JSON form has happened all the same.
                    to_json(&work.await?).map_err(Failure::with_unknown_effect)
                })
            }),
            retry: Retry::none(),
            timeout_ms: None,
            on_unknown: None,
            undo: None,
            most_bytes: limits::MAX_OUTCOME_BYTES,
            result: PhantomData,
        }
    }

    /// Tries again by this policy when the failure is retryable. Tries used and the time of the next
    /// one are recorded; a wait of more than a second suspends the task.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Limits each try. Without it: 15 s, or 60 % of the slice budget if that is less.
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = Some(timeout_ms);
        self
    }

    /// What to do if the step was under way when the process died, or its answer never came. Anything
    /// but [`OnUnknown::Retry`] records an intent before each try: one row more.
    pub fn on_unknown(mut self, on_unknown: OnUnknown<T>) -> Self {
        self.on_unknown = Some(on_unknown);
        self
    }

    /// Has outcomes of another size recorded than steps of authors have.
    pub(super) fn outcome_up_to(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// Names the handler that undoes the step, and what it gets beside the step's outcome. Records an
    /// intent before the first try: one row more.
    pub fn undo<I: Serialize>(mut self, handler: &str, input: &I) -> Self {
        self.undo = Some(to_json(input).map(|input| (handler.to_owned(), input)));
        self
    }
}

impl<T: Serialize + DeserializeOwned + 'static> IntoFuture for Step<T> {
    type Output = Result<T, Failure>;
    type IntoFuture = LocalBoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            check_step(&self.ctx, &self.name)?;
            let run = Rc::clone(&self.ctx.run);
            let id = run.identify(&self.ctx.branch, &self.name);
            let undo = match self.undo {
                None => None,
                Some(undo) => {
                    let (handler, input) = undo?;
                    if !run.handlers.contains_key(&handler) {
                        return Err(no_handler(&handler, &id));
                    }
                    check_undo_input(&input, &id)?;
                    let key = id.derived_key(run.task_id, run.claimed.key_generation);
                    let key = key.to_string();
                    Some(UndoPlan {
                        handler,
                        input,
                        key,
                    })
                }
            };
            let long = self
                .timeout_ms
                .is_some_and(|ms| ms > run.policy.slice_budget_ms);
            if long && run.policy.is_long() && self.on_unknown.is_none() {
                return Err(no_choice(&id));
            }
            let on_unknown = self.on_unknown.unwrap_or(OnUnknown::Retry);
            let engine = Engine {
                run,
                id,
                kind: Kind::Step,
                work: self.work,
                retry: self.retry,
                timeout_ms: self.timeout_ms,
                undo,
                unknown: on_unknown.erase(),
                opened: None,
                most_bytes: self.most_bytes,
            };
            read(&engine.outcome().await?, &self.name)
        })
    }
}

fn no_handler(handler: &str, id: &StepId) -> Failure {
    let message = format!(
        "step {id} names the undo handler {handler:?}, which the function does not have; nothing was done"
    );
    Failure::terminal("no_such_handler", message)
}

fn check_undo_input(input: &str, id: &StepId) -> Result<(), Failure> {
    let (got, most) = (input.len(), limits::MAX_UNDO_INPUT_BYTES);
    if got <= most {
        return Ok(());
    }
    let message = format!(
        "the undo input of step {id} has {got} bytes; it can have {most}; nothing was done"
    );
    Err(Failure::terminal("undo_input_too_large", message))
}

fn no_choice(id: &StepId) -> Failure {
    let message = format!(
        "step {id} may take longer than a slice, and a deploy may end it half-way: say with `on_unknown` what to do then; nothing was done"
    );
    Failure::terminal("on_unknown_missing", message)
}

/// Refuses what is over a limit before anything happens: names that cannot be kept, too many steps.
pub(super) fn check_step(ctx: &Ctx, name: &str) -> Result<(), Failure> {
    check_name(&ctx.branch, name)?;
    if ctx.run.in_step.get() {
        let message = format!(
            "step {name:?} would begin within the work of another step, whose record replaces it; begin it beside or after that one"
        );
        return Err(Failure::terminal("step_in_step", message));
    }
    if ctx.run.steps.get() >= limits::MAX_STEPS {
        let message = format!(
            "a generation of a task has at most {} steps; start over with `continue_as` before that",
            limits::MAX_STEPS
        );
        return Err(Failure::terminal("too_many_steps", message));
    }
    if ctx.run.fan_out() >= limits::MAX_FAN_OUT {
        let message = format!(
            "a task has at most {} steps and waits under way at a time",
            limits::MAX_FAN_OUT
        );
        let failure = Failure::terminal("fan_out", message);
        // With less under way the next run would go another way: the function is over.
        *ctx.run.fatal.borrow_mut() = Some(failure.clone());
        return Err(failure);
    }
    Ok(())
}

fn check_name(branch: &str, name: &str) -> Result<(), Failure> {
    if branch.len() > limits::MAX_BRANCH_BYTES {
        let (got, most) = (branch.len(), limits::MAX_BRANCH_BYTES);
        let message = format!("the path of a branch has {got} bytes; it can have {most}");
        return Err(Failure::terminal("branch_name", message));
    }
    if name.is_empty() || name.len() > limits::MAX_NAME_BYTES {
        let message = format!(
            "a step's name has 1 to {} bytes; this one has {}",
            limits::MAX_NAME_BYTES,
            name.len()
        );
        return Err(Failure::terminal("step_name", message));
    }
    Ok(())
}

/// Reads a recorded outcome.
pub(super) fn read<T: DeserializeOwned>(text: &str, name: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!(
            "the recorded outcome of step {name:?} is not what the code now expects: {error}"
        );
        Failure::terminal("outcome_mismatch", message)
    })
}

pub(super) fn to_json<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| {
        Failure::terminal(
            "outcome_invalid",
            format!("the outcome has no JSON form: {error}"),
        )
    })
}
