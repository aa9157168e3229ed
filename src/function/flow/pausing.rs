//! `Pause`: until somebody says to go on, or for a time.

use super::super::ctx::Ctx;
use super::super::signal::is_signal_name;
use super::execution::{Course, Execution, Stopped};
use crate::flow::model::{Pause, Task};
use crate::flow::plan::{Frame, Pausing, Recorded, State, typed};
use crate::types::Failure;
use serde_json::{Map, Value};

impl Execution {
    /// The signal has the task's id as its name; its payload holds the inputs of `onResume`.
    pub(super) async fn pause(
        &self,
        ctx: &Ctx,
        own: &Ctx,
        task: &Task,
        pause: &Pause,
        frame: &Frame,
    ) -> Course {
        let noted = async {
            if ctx.is_recorded(&task.id) {
                return ctx.note(&task.id, || Ok(Recorded::default())).await;
            }
            if self.is_left_out(own, task, frame).await? {
                return ctx.note(&task.id, || Ok(Recorded::skipped())).await;
            }
            let ended = self.paused(own, task, pause, frame).await;
            ctx.note(&task.id, || ended).await
        };
        let recorded = match noted.await {
            Ok(recorded) => recorded,
            Err(failure) => return Err(self.failed(task, frame, failure)),
        };
        self.note_run(frame, &recorded);
        if let Some(exit) = recorded.exit {
            self.exit.set(Some(exit));
            return Err(Stopped::Exit(exit));
        }
        if recorded.state == State::Skipped || pause.tasks.is_empty() {
            return Ok(recorded.state);
        }
        let course = self.list(ctx, &pause.tasks, frame).await;
        self.ended(frame, course.map(|state| state.with(recorded.state)))
    }

    async fn paused(
        &self,
        own: &Ctx,
        task: &Task,
        pause: &Pause,
        frame: &Frame,
    ) -> Result<Recorded, Failure> {
        let pausing = self
            .rendered(own, frame, |scope| Pausing::of(pause, scope))
            .await?;
        if !is_signal_name(&task.id) {
            let message = format!("{:?} is no name of a signal", task.id);
            return Err(Failure::terminal("signal_name", message));
        }
        loop {
            let mut wait = own.wait_for_signal::<Value>(&task.id);
            if let Some(ms) = pausing.ms {
                wait = wait.timeout_ms(ms);
            }
            let payload = match wait.await {
                Ok(payload) => payload,
                Err(failure) if failure.code == "signal_timeout" => return over(&pausing, task),
                Err(failure) => return Err(failure),
            };
            let given = payload.as_object().cloned().unwrap_or_default();
            let given = if pause.on_resume.is_empty() {
                Map::new()
            } else {
                given
            };
            let typed = self
                .rendered(own, frame, |scope| {
                    typed(&pause.on_resume, &given, |property, _| {
                        Ok(property.render(scope)?.value)
                    })
                })
                .await?;
            // What does not fit resumes nothing: somebody may send it again, put right.
            if let Ok(inputs) = typed {
                return Ok(Recorded::output("onResume", Value::Object(inputs)));
            }
        }
    }
}

/// Its time is over.
fn over(pausing: &Pausing, task: &Task) -> Result<Recorded, Failure> {
    match pausing.behavior.as_str() {
        "WARN" => Ok(Recorded {
            state: State::Warning,
            ..Recorded::default()
        }),
        "CANCEL" => Ok(Recorded {
            state: State::Cancelled,
            exit: Some(State::Cancelled),
            ..Recorded::default()
        }),
        "FAIL" => {
            let message = format!("nobody resumed {} in time", task.id);
            Err(Failure::terminal("pause_over", message))
        }
        _ => Ok(Recorded::default()),
    }
}
