//! Loops: over values, and until something holds.

use super::super::ctx::Ctx;
use super::block::{MAX_BESIDE, together};
use super::execution::{Course, Execution, Stopped};
use crate::flow::model::{Each, Loop, Task};
use crate::flow::plan::{Frame, Recorded, State, is_true, loop_bounds, values_of};
use crate::types::Failure;
use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use std::cell::Cell;

impl Execution {
    /// `ForEach`: the values are recorded, then each has a turn in a branch of its own.
    pub(super) async fn each(
        &self,
        ctx: &Ctx,
        own: &Ctx,
        task: &Task,
        each: &Each,
        frame: &Frame,
    ) -> Course {
        let make = |scope: &crate::flow::expression::Scope| {
            Ok(Recorded::output(
                "values",
                values_of(&each.values, scope)?.into(),
            ))
        };
        let Some(noted) = self.evaluated(ctx, own, task, frame, make).await? else {
            return Ok(State::Skipped);
        };
        let values = noted.outputs.get("values").and_then(Value::as_array);
        let values = values.cloned().unwrap_or_default();
        let most = match each.concurrency_limit {
            0 => MAX_BESIDE,
            limit => usize::try_from(limit).unwrap_or(MAX_BESIDE).min(MAX_BESIDE),
        };
        // Once a turn has failed no other one begins.
        let failed = Cell::new(false);
        let turns = values.into_iter().enumerate().map(|(turn, value)| {
            let within = own.branch(&turn.to_string());
            let mut frame = frame.clone();
            frame.values.push(value);
            frame.turns.push(turn);
            frame.place.push(turn);
            let failed = &failed;
            async move {
                if failed.get() || self.exit.get().is_some() {
                    return Ok(State::Skipped);
                }
                let course = self.list(&within, &each.block.tasks, &frame).await;
                if course.is_err() {
                    failed.set(true);
                }
                course
            }
        });
        let all = async {
            let ended: Vec<Course> = stream::iter(turns).buffered(most).collect().await;
            together(ended)
        };
        let block = (each.block.errors.as_slice(), each.block.finally.as_slice());
        let course = self.block(own, block, frame, Box::pin(all)).await;
        self.ended(frame, course)
    }

    /// `LoopUntil`: a turn, then the condition, then a pause.
    pub(super) async fn turns(
        &self,
        ctx: &Ctx,
        own: &Ctx,
        task: &Task,
        of: &Loop,
        frame: &Frame,
    ) -> Course {
        let make = |scope: &crate::flow::expression::Scope| {
            let bounds = loop_bounds(of, scope)?;
            let mut noted = Recorded::default();
            noted
                .outputs
                .insert("intervalMs".to_owned(), bounds.interval_ms.into());
            noted
                .outputs
                .insert("maxIterations".to_owned(), bounds.max_iterations.into());
            noted
                .outputs
                .insert("maxDurationMs".to_owned(), json!(bounds.max_duration_ms));
            noted
                .outputs
                .insert("failOnMaxReached".to_owned(), bounds.fails.into());
            Ok(noted)
        };
        let Some(noted) = self.evaluated(ctx, own, task, frame, make).await? else {
            return Ok(State::Skipped);
        };
        let main = Box::pin(self.all_turns(own, task, of, frame, &noted));
        let block = (of.block.errors.as_slice(), of.block.finally.as_slice());
        let course = self.block(own, block, frame, main).await;
        self.ended(frame, course)
    }

    async fn all_turns(
        &self,
        own: &Ctx,
        task: &Task,
        of: &Loop,
        frame: &Frame,
        noted: &Recorded,
    ) -> Course {
        let number = |name: &str| noted.outputs.get(name).and_then(Value::as_u64);
        let interval_ms = number("intervalMs").unwrap_or_default();
        let most = number("maxIterations").unwrap_or(u64::MAX);
        let mut state = State::Success;
        let mut waited_ms = 0_u64;
        for turn in 0..most {
            let within = own.branch(&turn.to_string());
            let mut inner = frame.clone();
            let nth = usize::try_from(turn).unwrap_or(usize::MAX);
            inner.turns.push(nth);
            inner.place.push(nth);
            self.count_turns(frame, turn + 1);
            state = state.with(self.list(&within, &of.block.tasks, &inner).await?);
            let check = within.branch("%check");
            let met = async {
                if !within.is_recorded("%until") {
                    let (text, _) = self
                        .rendered(&check, frame, |scope| of.condition.text(scope))
                        .await?;
                    return within.note("%until", || Ok(is_true(&text))).await;
                }
                within.note("%until", || Ok(false)).await
            };
            match met.await {
                Ok(true) => return Ok(state),
                Ok(false) => {}
                Err(failure) => return Err(self.failed(task, frame, failure)),
            }
            waited_ms = waited_ms.saturating_add(interval_ms);
            if number("maxDurationMs").is_some_and(|most| waited_ms > most) {
                break;
            }
            if turn + 1 < most
                && let Err(failure) = within.sleep("%interval", interval_ms).await
            {
                return Err(self.failed(task, frame, failure));
            }
        }
        if noted.outputs.get("failOnMaxReached") != Some(&Value::Bool(true)) {
            return Ok(state);
        }
        let message = "the loop came to its end, and its condition did not hold";
        let failure = Failure::terminal("loop_exhausted", message);
        self.settle_run(frame, State::Failed);
        Err(Stopped::Failed {
            task_id: task.id.clone(),
            failure,
        })
    }

    /// `outputs.<loop>.iterationCount`.
    fn count_turns(&self, frame: &Frame, turns: u64) {
        let mut recorded = Recorded::output("iterationCount", turns.into());
        recorded.state = State::Running;
        let mut history = self.history.borrow_mut();
        if frame.values.is_empty() {
            let place = history
                .outputs
                .entry(frame.task.0.clone())
                .or_insert_with(|| json!({}));
            if let Value::Object(outputs) = place {
                outputs.extend(recorded.outputs.clone());
            }
        }
        drop(history);
        self.line(frame, recorded);
    }
}
