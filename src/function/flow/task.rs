//! One task of a flow: whether it is run at all, what it is, and what its end means for those around it.

use super::super::ctx::Ctx;
use super::super::parallel::Contender;
use super::execution::{Course, Execution, Stopped, frame};
use crate::flow::expression::{Scope, Stop};
use crate::flow::model::{Property, Task, Work};
use crate::flow::plan::{Frame, Recorded, State, chosen_case, duration_ms, find, is_true};
use crate::types::Failure;
use futures::future::LocalBoxFuture;
use serde_json::{Value, json};
use std::rc::Rc;

impl Execution {
    /// Runs a task.
    pub(super) fn task<'a>(
        &'a self,
        ctx: &'a Ctx,
        task: &'a Task,
        around: &'a Frame,
    ) -> LocalBoxFuture<'a, Course> {
        Box::pin(async move {
            let frame = frame(around, task, ctx);
            let own = ctx.branch(&task.id);
            if let Some(disabled) = &task.disabled {
                let text = self
                    .rendered(&own, &frame, |scope| disabled.text(scope))
                    .await;
                match text {
                    Ok((text, _)) if is_true(&text) => return Ok(State::Skipped),
                    Ok(_) => {}
                    Err(failure) => return Err(self.failed(task, &frame, failure)),
                }
            }
            let course = match &task.timeout {
                Some(timeout) if takes_time(task) => {
                    self.timed(ctx, &own, task, timeout, &frame).await
                }
                _ => self.work(ctx, &own, task, &frame).await,
            };
            let course = match course {
                Err(Stopped::Failed { .. }) if task.allow_failure => Ok(State::Warning),
                other => other,
            };
            match course {
                Ok(State::Warning) => {
                    let state = if task.allow_warning {
                        State::Success
                    } else {
                        State::Warning
                    };
                    self.settle_run(&frame, state);
                    Ok(state)
                }
                Ok(State::Skipped) => Ok(State::Success),
                other => other,
            }
        })
    }

    /// Notes a failure of a task.
    pub(super) fn failed(&self, task: &Task, frame: &Frame, failure: Failure) -> Stopped {
        let message = self.kept(Vec::new(), &failure.message);
        let failure = Failure { message, ..failure };
        self.settle_run(frame, State::Failed);
        Stopped::Failed {
            task_id: task.id.clone(),
            failure,
        }
    }

    /// Runs a task beside a clock. What is under way when its time is over is cut off.
    async fn timed(
        &self,
        ctx: &Ctx,
        own: &Ctx,
        task: &Task,
        timeout: &Property,
        frame: &Frame,
    ) -> Course {
        let limit = self
            .rendered(own, frame, |scope| timeout.render(scope))
            .await;
        let limit = limit.and_then(|rendered| duration_ms(&rendered.value));
        let ms = match limit {
            Ok(ms) => ms,
            Err(failure) => return Err(self.failed(task, frame, failure)),
        };
        let (this, id, inner) = (self.clone(), task.id.clone(), frame.clone());
        let work = Contender::new("work", move |ctx: Ctx| async move {
            let own = ctx.branch(&id);
            let flow = Rc::clone(&this.flow);
            let Some(task) = find(&flow, &id) else {
                return Ok(Some(Ok(State::Skipped)));
            };
            Ok(Some(this.work(&ctx, &own, task, &inner).await))
        });
        let clock = Contender::new("clock", move |ctx: Ctx| async move {
            ctx.sleep("timeout", ms).await?;
            Ok(None)
        });
        match ctx.race(&task.id, vec![work, clock]).await {
            Ok(Some(course)) => course,
            Ok(None) => {
                let message = format!("task {} took longer than {ms} ms", task.id);
                Err(self.failed(task, frame, Failure::terminal("timeout", message)))
            }
            Err(failure) => Err(self.failed(task, frame, failure)),
        }
    }

    async fn work(&self, ctx: &Ctx, own: &Ctx, task: &Task, frame: &Frame) -> Course {
        match &task.work {
            Work::If { .. } | Work::Switch { .. } => self.chosen(ctx, own, task, frame).await,
            Work::Sequential(block) => {
                let Some(_) = self.plain(ctx, own, task, frame).await? else {
                    return Ok(State::Skipped);
                };
                self.ended(frame, self.in_order(ctx, block, frame).await)
            }
            Work::AllowFailure(block) => {
                let Some(_) = self.plain(ctx, own, task, frame).await? else {
                    return Ok(State::Skipped);
                };
                let course = match self.in_order(ctx, block, frame).await {
                    Err(Stopped::Failed { .. }) => Ok(State::Warning),
                    other => other,
                };
                self.ended(frame, course)
            }
            Work::Parallel { concurrent, block } => {
                let Some(_) = self.plain(ctx, own, task, frame).await? else {
                    return Ok(State::Skipped);
                };
                let most = usize::try_from(*concurrent).unwrap_or(usize::MAX);
                let main = Box::pin(self.beside(own, &block.tasks, most, frame));
                let course = self
                    .block(own, (&block.errors, &block.finally), frame, main)
                    .await;
                self.ended(frame, course)
            }
            Work::ForEach(each) => self.each(ctx, own, task, each, frame).await,
            Work::LoopUntil(turn) => self.turns(ctx, own, task, turn, frame).await,
            Work::Pause(pause) => self.pause(ctx, own, task, pause, frame).await,
            _ => match self.leaf(ctx, own, task, frame).await {
                Ok(recorded) => {
                    self.note_run(frame, &recorded);
                    self.exit.set(self.exit.get().or(recorded.exit));
                    Ok(recorded.state)
                }
                Err(failure) => Err(self.failed(task, frame, failure)),
            },
        }
    }

    /// One of several lists of tasks; which, is recorded.
    async fn chosen(&self, ctx: &Ctx, own: &Ctx, task: &Task, frame: &Frame) -> Course {
        match &task.work {
            Work::If {
                condition,
                then,
                otherwise,
                errors,
                finally,
            } => {
                let make = |scope: &Scope| {
                    let holds = is_true(&condition.text(scope)?.0);
                    Ok(Recorded::output("evaluationResult", holds.into()))
                };
                let Some(noted) = self.evaluated(ctx, own, task, frame, make).await? else {
                    return Ok(State::Skipped);
                };
                let holds = noted.outputs.get("evaluationResult") == Some(&Value::Bool(true));
                let tasks = if holds { then } else { otherwise };
                let course =
                    self.block(ctx, (errors, finally), frame, self.list(ctx, tasks, frame));
                self.ended(frame, course.await)
            }
            Work::Switch {
                value,
                cases,
                defaults,
                errors,
                finally,
            } => {
                let make = |scope: &Scope| {
                    let (value, _) = chosen_case(value, cases, defaults, scope)?;
                    let default = cases.iter().all(|(case, _)| *case != value);
                    let mut noted = Recorded::output("value", value.into());
                    noted.outputs.insert("defaults".to_owned(), default.into());
                    Ok(noted)
                };
                let Some(noted) = self.evaluated(ctx, own, task, frame, make).await? else {
                    return Ok(State::Skipped);
                };
                let value = noted
                    .outputs
                    .get("value")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let case = cases.iter().find(|(case, _)| case == value);
                let tasks = case.map_or(defaults, |(_, tasks)| tasks);
                let course =
                    self.block(ctx, (errors, finally), frame, self.list(ctx, tasks, frame));
                self.ended(frame, course.await)
            }
            _ => Ok(State::Skipped),
        }
    }

    /// What a task with tasks inside works out first, recorded; `None` if it is left out.
    pub(super) async fn evaluated(
        &self,
        ctx: &Ctx,
        own: &Ctx,
        task: &Task,
        frame: &Frame,
        make: impl Fn(&Scope) -> Result<Recorded, Stop>,
    ) -> Result<Option<Recorded>, Stopped> {
        let noted = async {
            if ctx.is_recorded(&task.id) {
                return ctx.note(&task.id, || Ok(Recorded::default())).await;
            }
            if self.is_left_out(own, task, frame).await? {
                return ctx.note(&task.id, || Ok(Recorded::skipped())).await;
            }
            let rendered = self.rendered(own, frame, make).await;
            ctx.note(&task.id, || rendered).await
        };
        match noted.await {
            Ok(recorded) => {
                self.note_run(frame, &recorded);
                Ok((recorded.state != State::Skipped).then_some(recorded))
            }
            Err(failure) => Err(self.failed(task, frame, failure)),
        }
    }

    /// The same where there is nothing to work out but whether it is run.
    async fn plain(
        &self,
        ctx: &Ctx,
        own: &Ctx,
        task: &Task,
        frame: &Frame,
    ) -> Result<Option<Recorded>, Stopped> {
        if task.run_if.is_some() {
            return self
                .evaluated(ctx, own, task, frame, |_| Ok(Recorded::default()))
                .await;
        }
        let recorded = Recorded::default();
        self.note_run(frame, &recorded);
        Ok(Some(recorded))
    }

    /// Whether `runIf` leaves it out.
    pub(super) async fn is_left_out(
        &self,
        own: &Ctx,
        task: &Task,
        frame: &Frame,
    ) -> Result<bool, Failure> {
        let Some(run_if) = &task.run_if else {
            return Ok(false);
        };
        let text = |property: &Property, scope: &Scope| property.text(scope);
        let (text, _) = self
            .rendered(own, frame, |scope| text(run_if, scope))
            .await?;
        Ok(!is_true(&text))
    }

    /// Notes how a task with tasks inside ended.
    pub(super) fn ended(&self, frame: &Frame, course: Course) -> Course {
        let state = match &course {
            Ok(state) | Err(Stopped::Exit(state)) => *state,
            Err(Stopped::Failed { .. }) => State::Failed,
        };
        self.settle_run(frame, state);
        course
    }
}

/// Whether its time limit is one over waits; of a request it is one of each try, and what only works something out
/// takes no time.
fn takes_time(task: &Task) -> bool {
    matches!(
        task.work,
        Work::If { .. }
            | Work::Switch { .. }
            | Work::Sequential(_)
            | Work::AllowFailure(_)
            | Work::Parallel { .. }
            | Work::ForEach(_)
            | Work::LoopUntil(_)
            | Work::Pause(_)
            | Work::Sleep { .. }
            | Work::Subflow(_)
    )
}

/// What an expression sees of a failure.
pub(super) fn shown(task_id: &str, failure: &Failure) -> Value {
    json!({ "taskId": task_id, "code": failure.code, "message": failure.message })
}
