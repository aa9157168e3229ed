//! Tasks that a function begins and waits for.

use super::ctx::Ctx;
use super::engine::{MAX_KEPT_BYTES, in_flight, kept_bytes, of_step};
use super::fetch::{Fetched, fetched};
use super::host::{CallError, ChildBegin, ChildSays, OutResponse};
use super::run::{Busy, Run};
use super::step::{check_step, read, to_json};
use crate::limits;
use crate::protocol::{Kind, Open, Outcome, Parent, Standing, State, StepRecord, Wait, WaitFor};
use crate::types::{Failure, Input, StepId, TaskId, TaskKey, TaskKind};
use crate::webhook::fingerprint::raw;
use futures::future::LocalBoxFuture;
use serde::Serialize;
use std::future::IntoFuture;
use std::rc::Rc;

/// What the step of a parent makes of the end of its child; `None` while it has not ended.
///
/// A child that failed resumably is tried again by the parent's next attempt: beginning it once more
/// is a new delivery of its key. A success is its answer: status, headers, body.
pub fn outcome_of(standing: &Standing) -> Option<Outcome> {
    let summary = &standing.summary;
    if let Some(answer) = standing
        .answer
        .as_ref()
        .filter(|_| matches!(summary.state, State::Succeeded) || summary.is_undoing_success())
    {
        let response = OutResponse {
            status: answer.status,
            headers: answer.headers.clone(),
            body: answer.body.clone(),
        };
        let text = serde_json::to_string(&fetched(&response)).unwrap_or_default();
        if text.len() > limits::MAX_OUTCOME_BYTES || kept_bytes(&text) > MAX_KEPT_BYTES {
            let (got, most) = (text.len(), limits::MAX_OUTCOME_BYTES);
            let message = format!(
                "the answer of task {} has {got} bytes as an outcome; an outcome can have {most}",
                summary.task_id
            );
            return Some(Outcome::Failed(Failure::terminal(
                "outcome_too_large",
                message,
            )));
        }
        return Some(Outcome::Value(text));
    }
    let why = summary.failure.as_ref();
    let why = why.map_or_else(|| "without a reason".to_owned(), ToString::to_string);
    let task_id = summary.task_id;
    let failure = match summary.state {
        State::Failed { resumable: true } => Failure::retryable(
            "child_failed",
            format!("task {task_id} failed for now: {why}"),
        ),
        State::Failed { resumable: false } => {
            Failure::terminal("child_failed", format!("task {task_id} failed: {why}"))
        }
        State::Cancelled => {
            Failure::terminal("child_cancelled", format!("task {task_id} was cancelled"))
        }
        State::Succeeded | State::Running | State::Suspended(_) | State::Forgotten => return None,
    };
    Some(Outcome::Failed(failure.cut()))
}

/// Another task that has not been begun; `.await` begins it and waits for its end.
///
/// Its outcome is its answer. If the parent is cancelled, so is the child.
///
/// ```
/// use onceward::function::{Ctx, Failure, Fetched, Function};
///
/// async fn parent(ctx: Ctx, n: u32) -> Result<serde_json::Value, Failure> {
///     let child: Fetched = ctx.call("double", None, &n).await?;
///     Ok(child.body)
/// }
/// async fn double(_: Ctx, n: u32) -> Result<u32, Failure> {
///     Ok(2 * n)
/// }
/// # use onceward::testing::Bench;
/// # let mut bench = Bench::new(Function::new("parent", parent)).with(Function::new("double", double));
/// # bench.deliver("k", onceward::types::Input { body: b"21".to_vec(), ..Default::default() }).unwrap();
/// # bench.run_until_idle();
/// # assert_eq!(bench.answer("k").unwrap().body, b"42");
/// ```
#[must_use = "a task is not begun until it is awaited"]
pub struct ChildStep {
    ctx: Ctx,
    name: String,
    function: String,
    key: Option<String>,
    input: Result<String, Failure>,
    /// In place of JSON.
    whole: Option<Input>,
    waits: bool,
}

impl ChildStep {
    /// Names the step; without this it has the name of the function.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Takes a whole input, with its fields.
    pub(super) fn with_input(mut self, input: Input) -> Self {
        self.whole = Some(input);
        self
    }

    /// Takes bytes of an input that are there already, instead of a value.
    pub fn with_json(mut self, text: String) -> Self {
        self.input = Ok(text);
        self
    }
}

impl Ctx {
    /// Begins a task of another function and waits for its end. With a key of the author's several
    /// parents may share the task; without one it is this step's own.
    pub fn call<I: Serialize>(&self, function: &str, key: Option<&str>, input: &I) -> ChildStep {
        ChildStep {
            ctx: self.clone(),
            name: function.to_owned(),
            function: function.to_owned(),
            key: key.map(str::to_owned),
            input: to_json(input),
            whole: None,
            waits: true,
        }
    }

    /// Begins a task of another function and does not wait: the outcome is `{"task_id": …}` in the
    /// body. It goes its own way, also if this one is cancelled.
    pub fn start<I: Serialize>(&self, function: &str, key: Option<&str>, input: &I) -> ChildStep {
        ChildStep {
            waits: false,
            ..self.call(function, key, input)
        }
    }
}

impl IntoFuture for ChildStep {
    type Output = Result<Fetched, Failure>;
    type IntoFuture = LocalBoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            check_step(&self.ctx, &self.name)?;
            let run = Rc::clone(&self.ctx.run);
            let id = run.identify(&self.ctx.branch, &self.name);
            let claimed = &run.claimed;
            let own = id.derived_key(run.task_id, claimed.key_generation);
            let chosen = self.key.is_some();
            let key = self.key.unwrap_or_else(|| own.to_string());
            let key = TaskKey::new(TaskKind::Function, &self.function, &claimed.tenant, &key);
            let input = match self.whole {
                Some(whole) => whole,
                None => Input {
                    headers: std::iter::once(("content-type", "application/json")).collect(),
                    body: self.input?.into_bytes(),
                },
            };
            // A key of the author's may be another's as well: then it must be for the same input.
            let target = format!("/v1/functions/{}", self.function);
            let fingerprint = chosen.then(|| raw("POST", &target, &input.body));
            let begin = ChildBegin {
                key,
                function: self.function,
                input,
                parent: self.waits.then(|| Parent {
                    task_id: run.task_id,
                    generation: claimed.generation,
                    step: id.clone(),
                }),
                // Two links: the message to the child's object, and the object's to its first slice.
                hop: claimed.hop + 2,
                fingerprint,
                lineage: claimed
                    .lineage
                    .iter()
                    .copied()
                    .chain([run.task_id])
                    .collect(),
                about: claimed.about.clone(),
            };
            check_lineage(&begin, &id)?;
            let calling = Calling {
                task_id: begin.key.task_id(),
                opened: None,
                run,
                id,
                begin,
            };
            let text = calling.outcome().await?;
            read(&text, &self.name)
        })
    }
}

/// A task that waited for itself, or for one that waits for it, would wait for ever.
fn check_lineage(begin: &ChildBegin, id: &StepId) -> Result<(), Failure> {
    let refused = |message: String| {
        let failure = Failure::terminal("child_refused", message);
        Err(of_step(failure, id))
    };
    if begin.lineage.len() > limits::MAX_CHILD_DEPTH {
        let most = limits::MAX_CHILD_DEPTH;
        return refused(format!(
            "step {id} would be the child of more than {most} tasks"
        ));
    }
    let child = begin.key.task_id();
    if begin.parent.is_some() && begin.lineage.contains(&child) {
        return refused(format!("step {id} would have a task wait for its own end"));
    }
    Ok(())
}

/// Notes a child that nobody waits for any more.
struct Dropped(Rc<Run>, Option<StepId>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(id) = self.1.take() {
            self.0.dropped_children.borrow_mut().push(id);
        }
    }
}

/// A child on its way.
struct Calling {
    run: Rc<Run>,
    id: StepId,
    begin: ChildBegin,
    /// The task: that on record, which an operator's retry with new keys does not change.
    task_id: TaskId,
    /// As on record.
    opened: Option<(u64, u32)>,
}

impl Calling {
    async fn outcome(mut self) -> Result<String, Failure> {
        let run = Rc::clone(&self.run);
        let Some(_under_way) = run.enter(&self.id) else {
            return Err(in_flight(&self.id));
        };
        let mut dropped = Dropped(Rc::clone(&run), Some(self.id.clone()));
        let outcome = self.come_to_outcome(&run).await;
        dropped.1 = None;
        outcome
    }

    async fn come_to_outcome(&mut self, run: &Rc<Run>) -> Result<String, Failure> {
        let found = run.visit(&self.id, Kind::Child).await;
        let accepted = found.as_ref().map(|r| r.at_ms);
        self.opened = found.as_ref().and_then(|r| r.opened);
        let (child, fresh) = match found.map(|r| r.outcome) {
            Some(Outcome::Value(text)) => return Ok(text),
            Some(Outcome::Failed(failure)) => return Err(of_step(failure, &self.id)),
            Some(Outcome::Open(open)) => (open.child, false),
            None => (None, true),
        };
        self.task_id = child.unwrap_or(self.task_id);
        let says = match child {
            Some(_) => self.look().await?,
            None => self.begin_it(fresh).await?,
        };
        match says {
            ChildSays::Ended(outcome) => self.settle(outcome),
            ChildSays::Refused(failure) => self.settle(Outcome::Failed(failure)),
            ChildSays::Gone => self.settle(Outcome::Failed(self.lost())),
            ChildSays::Moving => self.wait(accepted).await,
        }
    }

    /// Records the intent, has the child accepted, records that.
    async fn begin_it(&self, fresh: bool) -> Result<ChildSays, Failure> {
        let run = &self.run;
        run.admit(1).await;
        if fresh {
            self.keep(Outcome::Open(Box::new(Open {
                in_flight: true,
                ..Open::default()
            })));
            run.recorded().await;
        }
        let says = {
            let _busy = Busy::new(run);
            run.subrequests.set(run.subrequests.get() + 1);
            run.host.begin_child(self.begin.clone()).await
        };
        let says = says.map_err(|error| self.unreachable(&error))?;
        if says == ChildSays::Gone {
            let why = CallError::Unreachable("it did not take the task".to_owned());
            return Err(self.unreachable(&why));
        }
        let task_id = self.task_id;
        if self.begin.parent.is_none() && !matches!(says, ChildSays::Refused(_)) {
            let response = OutResponse {
                status: 202,
                headers: std::iter::once(("content-type", "application/json")).collect(),
                body: serde_json::json!({ "task_id": task_id.to_string() })
                    .to_string()
                    .into_bytes(),
            };
            let text = to_json(&fetched(&response))?;
            return Ok(ChildSays::Ended(Outcome::Value(text)));
        }
        if says == ChildSays::Moving {
            self.keep(Outcome::Open(Box::new(Open {
                child: Some(task_id),
                ..Open::default()
            })));
        }
        Ok(says)
    }

    async fn look(&self) -> Result<ChildSays, Failure> {
        let run = &self.run;
        let _busy = Busy::new(run);
        run.subrequests.set(run.subrequests.get() + 1);
        let says = run.host.look_at_child(self.task_id).await;
        says.map_err(|error| self.unreachable(&error))
    }

    /// Waits for word from the child, and looks at it from time to time: less and less often.
    async fn wait(&self, accepted_ms: Option<u64>) -> Result<String, Failure> {
        let run = &self.run;
        let task_id = self.task_id;
        let accepted_ms = accepted_ms.unwrap_or_else(|| run.object_now_ms());
        loop {
            let now_ms = run.object_now_ms();
            let age = now_ms.saturating_sub(accepted_ms);
            let pause = age.clamp(limits::CHILD_LOOK_MS, limits::CHILD_LOOK_MAX_MS);
            let what = WaitFor::Child {
                task_id,
                due_ms: now_ms + pause,
            };
            let id = self.id.clone();
            let told = run.wait(Wait { id, what }).await.map(|r| r.outcome);
            match told {
                Some(Outcome::Value(text)) => return Ok(text),
                Some(Outcome::Failed(failure)) => return Err(of_step(failure, &self.id)),
                Some(Outcome::Open(_)) | None => {}
            }
            match self.look().await? {
                ChildSays::Ended(outcome) => return self.settle(outcome),
                ChildSays::Refused(failure) => return self.settle(Outcome::Failed(failure)),
                ChildSays::Gone => return self.settle(Outcome::Failed(self.lost())),
                ChildSays::Moving => {}
            }
        }
    }

    fn settle(&self, outcome: Outcome) -> Result<String, Failure> {
        let outcome = match outcome {
            Outcome::Failed(failure) => Outcome::Failed(of_step(failure, &self.id)),
            other => other,
        };
        self.keep(outcome.clone());
        match outcome {
            Outcome::Value(text) => Ok(text),
            Outcome::Failed(failure) => Err(failure),
            Outcome::Open(_) => Err(self.lost()),
        }
    }

    fn keep(&self, outcome: Outcome) {
        self.run.keep(StepRecord {
            kind: Kind::Child,
            opened: self.opened,
            ..StepRecord::new(self.id.clone(), outcome)
        });
    }

    fn lost(&self) -> Failure {
        let child = self.task_id;
        let message = format!("task {child} was accepted and is no more: it is not begun again");
        of_step(Failure::terminal("child_lost", message), &self.id)
    }

    fn unreachable(&self, error: &CallError) -> Failure {
        let child = self.task_id;
        let message = format!("task {child} could not be reached: {error:?}");
        Failure::retryable("child_unreachable", message).cut()
    }
}
