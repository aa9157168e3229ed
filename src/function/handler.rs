//! A function of the author, with its types erased: bytes in, answer out.

use super::ctx::{Ctx, StepScope};
use super::undo::{Handler, Undo};
use crate::config::{Label, Labels};
use crate::http::profile::{CallRules, Profile};
use crate::limits;
use crate::types::{Answer, Failure, Input, Policy};
use crate::webhook::json;
use futures::future::LocalBoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

/// One thing that is wrong with an input, found before anything runs or is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputProblem {
    /// Where: a path like `steps[2].retry.factor`, or empty for the whole.
    pub path: String,
    /// What was got and what was wanted.
    pub detail: String,
}

/// What a check found out about a good input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// A policy of this task's own; `None` for the function's.
    pub policy: Option<Policy>,
}

type Run = dyn Fn(Ctx, Input) -> LocalBoxFuture<'static, Result<Answer, Failure>>;
type Check = dyn Fn(&Input) -> Result<Checked, Vec<InputProblem>>;

/// Undo handlers by name.
pub(super) type Handlers = BTreeMap<String, Handler>;

/// A function under its name. Cheap to clone.
#[derive(Clone)]
pub struct Function {
    name: String,
    policy: Policy,
    rules: CallRules,
    labels: Labels,
    run: Rc<Run>,
    check: Rc<Check>,
    handlers: Rc<Handlers>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Function {
    /// Wraps an `async fn`. Its input is checked when a delivery comes in, before anything is written.
    pub fn new<I, O, F, Fut>(name: &str, function: F) -> Self
    where
        I: FromInput + 'static,
        O: IntoAnswer + 'static,
        F: Fn(Ctx, I) -> Fut + 'static,
        Fut: Future<Output = Result<O, Failure>> + 'static,
    {
        let function = Rc::new(function);
        Self {
            name: name.to_owned(),
            policy: Policy::default(),
            rules: CallRules::default(),
            labels: Labels::default(),
            run: Rc::new(move |ctx, input| {
                let function = Rc::clone(&function);
                Box::pin(async move {
                    let input = I::from_input(input)
                        .map_err(|p| Failure::terminal("input_invalid", p.detail))?;
                    function(ctx, input).await?.into_answer()
                })
            }),
            check: Rc::new(|input| match I::check_input(input) {
                Ok(()) => Ok(Checked::default()),
                Err(problem) => Err(vec![problem]),
            }),
            handlers: Rc::default(),
        }
    }

    /// Adds a handler that undoes steps which name it. It gets what the author gave to
    /// [`Step::undo`](super::Step::undo) and the outcome of the step; steps of which it is unknown
    /// whether they happened are not given to it, but named as not undone.
    ///
    /// Handlers run after the function has failed for good or was cancelled, in reverse order of what
    /// they undo. Each is a recorded step with a derived key of its own, and is tried five times.
    #[must_use]
    pub fn undo<I, O, F, Fut>(mut self, name: &str, handler: F) -> Self
    where
        I: DeserializeOwned + 'static,
        O: DeserializeOwned + 'static,
        F: Fn(StepScope, Undo<I, O>) -> Fut + 'static,
        Fut: Future<Output = Result<(), Failure>> + 'static,
    {
        let handler = Handler::new(handler, false);
        Rc::make_mut(&mut self.handlers).insert(name.to_owned(), handler);
        self
    }

    /// Like [`Function::undo`], for a handler that can also undo what may not have happened:
    /// then [`Undo::outcome`] is `None`.
    #[must_use]
    pub fn undo_unknown<I, O, F, Fut>(mut self, name: &str, handler: F) -> Self
    where
        I: DeserializeOwned + 'static,
        O: DeserializeOwned + 'static,
        F: Fn(StepScope, Undo<I, O>) -> Fut + 'static,
        Fut: Future<Output = Result<(), Failure>> + 'static,
    {
        let handler = Handler::new(handler, true);
        Rc::make_mut(&mut self.handlers).insert(name.to_owned(), handler);
        self
    }

    pub(super) fn handlers(&self) -> Rc<Handlers> {
        Rc::clone(&self.handlers)
    }

    /// Sets how it is run.
    #[must_use]
    pub fn policy_of(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets what its callers are promised. Webhooks that run it have contracts of their own.
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function, Profile};
    /// async fn pay(_: Ctx, order: String) -> Result<String, Failure> { Ok(order) }
    /// let function = Function::new("pay", pay).profile(Profile::Acp);
    /// assert!(function.rules().echo_key);
    /// ```
    #[must_use]
    pub fn profile(self, profile: Profile) -> Self {
        self.call_rules(profile.rules())
    }

    /// Sets the same, one by one.
    #[must_use]
    pub fn call_rules(mut self, rules: CallRules) -> Self {
        self.rules = rules;
        self
    }

    /// Adds a label that its tasks can be found by, however they are begun from outside.
    #[must_use]
    pub fn label(mut self, name: &str, label: Label) -> Self {
        self.labels = self.labels.with(name, label);
        self
    }

    /// Replaces the check of inputs.
    #[must_use]
    pub fn checked_by(
        mut self,
        check: impl Fn(&Input) -> Result<Checked, Vec<InputProblem>> + 'static,
    ) -> Self {
        self.check = Rc::new(check);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is run.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What its callers are promised.
    pub fn rules(&self) -> &CallRules {
        &self.rules
    }

    /// What its tasks can be found by.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Looks at an input without running anything.
    ///
    /// # Errors
    /// Every problem that was found.
    pub fn check(&self, input: &Input) -> Result<Checked, Vec<InputProblem>> {
        (self.check)(input)
    }

    pub(super) fn run(
        &self,
        ctx: Ctx,
        input: Input,
    ) -> LocalBoxFuture<'static, Result<Answer, Failure>> {
        (self.run)(ctx, input)
    }
}

/// What a function can take: [`Input`] for the raw bytes, or anything that is read from JSON.
pub trait FromInput: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// Says what is wrong.
    fn from_input(input: Input) -> Result<Self, InputProblem>;

    /// Looks whether it can be read.
    ///
    /// # Errors
    /// Says what is wrong.
    fn check_input(input: &Input) -> Result<(), InputProblem> {
        Self::from_input(input.clone()).map(drop)
    }
}

impl FromInput for Input {
    fn from_input(input: Input) -> Result<Self, InputProblem> {
        Ok(input)
    }

    fn check_input(_: &Input) -> Result<(), InputProblem> {
        Ok(())
    }
}

impl<T: DeserializeOwned> FromInput for T {
    fn from_input(input: Input) -> Result<Self, InputProblem> {
        from_json(&input.body)
    }
}

/// Reads JSON as every typed function does: up to 128 levels, numbers with all their digits, and of
/// members with one name the last one, as keys and fingerprints read it.
///
/// # Errors
/// Says what is wrong.
///
/// ```
/// use onceward::function::from_json;
/// #[derive(serde::Deserialize)]
/// struct Order { id: u64, amount: u32 }
/// let twice = br#"{"id": 1, "amount": 100, "amount": 999, "id": 18446744073709551615}"#;
/// let order: Order = from_json(twice).unwrap();
/// assert_eq!((order.id, order.amount), (u64::MAX, 999));
/// ```
pub fn from_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, InputProblem> {
    json::read_as(body).map_err(|error| InputProblem {
        path: String::new(),
        detail: format!("the body is not the JSON that this function takes: {error}"),
    })
}

/// What a function can return: [`Raw`] for an answer of its own, or anything that is written as JSON.
pub trait IntoAnswer {
    /// Makes the answer.
    ///
    /// # Errors
    /// A terminal failure when the value has no JSON form or is too large.
    fn into_answer(self) -> Result<Answer, Failure>;
}

/// An answer with its own status, headers and bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw(pub Answer);

impl IntoAnswer for Raw {
    fn into_answer(self) -> Result<Answer, Failure> {
        within_limit(self.0)
    }
}

impl<T: Serialize> IntoAnswer for T {
    fn into_answer(self) -> Result<Answer, Failure> {
        let body = serde_json::to_vec(&self).map_err(|error| {
            Failure::terminal(
                "answer_invalid",
                format!("the result has no JSON form: {error}"),
            )
        })?;
        let headers = std::iter::once(("content-type", "application/json")).collect();
        within_limit(Answer {
            status: 200,
            headers,
            body,
        })
    }
}

fn within_limit(answer: Answer) -> Result<Answer, Failure> {
    if answer.body.len() > limits::MAX_ANSWER_BYTES {
        return Err(Failure::terminal(
            "answer_too_large",
            format!(
                "the answer has {} bytes; an answer can have {}",
                answer.body.len(),
                limits::MAX_ANSWER_BYTES
            ),
        ));
    }
    Ok(answer)
}
