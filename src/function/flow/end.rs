//! An execution from its beginning to its answer.

use super::super::handler::Raw;
use super::execution::{Course, Execution, Stopped, webhook_of};
use super::input::Begun;
use super::task::shown;
use crate::flow::model::{AnswerTemplate, Overflow, Webhook};
use crate::flow::plan::{self, Frame, State, document, value_key};
use crate::limits;
use crate::types::{Answer, Failure, Headers};
use serde_json::{Map, Value, json};

/// How an execution ended.
struct End {
    state: State,
    /// What the task fails with.
    failure: Option<Failure>,
    error: Option<Value>,
    outputs: Map<String, Value>,
}

impl Execution {
    /// Runs it: alone with its key where its deliveries are tasks of their own, and with no more others than the flow
    /// allows.
    pub(super) async fn run(self) -> Result<Raw, Failure> {
        let queue = limits::MAX_LOCK_QUEUE;
        let name = format!("{}/{}", self.flow.namespace, self.flow.id);
        let key = self.begun.key.clone().filter(|_| self.begun.queued);
        let alone = match key {
            None => None,
            Some(key) => Some(
                self.ctx
                    .lock(
                        &format!("flow-key/{}", super::digest(&format!("{name}/{key}"))),
                        1,
                        queue,
                    )
                    .await?,
            ),
        };
        let permit = match self.flow.concurrency {
            None => Ok(None),
            Some(most) => {
                let queue = if most.behavior == Overflow::Queue {
                    queue
                } else {
                    0
                };
                let asked = self
                    .ctx
                    .lock(&format!("flow/{}", super::digest(&name)), most.limit, queue)
                    .await;
                match asked {
                    Ok(held) => Ok(Some(held)),
                    Err(failure) if failure.code == "lock_full" => Err((most.behavior, failure)),
                    Err(failure) => return Err(failure),
                }
            }
        };
        let result = match permit {
            Ok(permit) => {
                let end = self.through().await;
                let answer = self.answered(end).await;
                if let Some(permit) = permit {
                    self.ctx.unlock(&permit).await?;
                }
                answer
            }
            Err((behavior, failure)) => self.turned_away(behavior, failure).await,
        };
        if let Some(alone) = alone {
            self.ctx.unlock(&alone).await?;
        }
        result
    }

    /// As many run as may, and it does not wait.
    async fn turned_away(&self, behavior: Overflow, failure: Failure) -> Result<Raw, Failure> {
        let state = if behavior == Overflow::Cancel {
            State::Cancelled
        } else {
            State::Failed
        };
        let message = "as many executions of this flow run as may";
        let failure = Failure {
            code: "concurrency_exceeded".to_owned(),
            message: message.to_owned(),
            ..failure
        };
        let error = Some(json!({ "code": failure.code, "message": message }));
        let end = End {
            state,
            failure: Some(failure),
            error,
            outputs: Map::new(),
        };
        self.answered(end).await
    }

    /// Its tasks, what follows a failure, what follows in any case, its outputs.
    async fn through(&self) -> End {
        let frame = Frame::default();
        if let Err(failure) = self.set_up().await {
            return Self::ended_with(Err(Stopped::Failed {
                task_id: String::new(),
                failure,
            }));
        }
        let flow = std::rc::Rc::clone(&self.flow);
        let main = self.list(&self.ctx, &flow.tasks, &frame);
        let course = self
            .block(&self.ctx, (&flow.errors, &flow.finally), &frame, main)
            .await;
        let mut end = Self::ended_with(course);
        if end.failure.is_none()
            && let Err(failure) = self.put_out(&mut end).await
        {
            end = Self::ended_with(Err(Stopped::Failed {
                task_id: "outputs".to_owned(),
                failure,
            }));
        }
        if !flow.after_execution.is_empty() {
            let after = Frame {
                place: vec![usize::MAX],
                state: Some(end.state),
                error: end.error.clone(),
                ..frame
            };
            self.exit.set(None);
            // The state is known: nothing that happens here changes it.
            let _ = self
                .list(&self.ctx.within("%after"), &flow.after_execution, &after)
                .await;
        }
        end
    }

    fn ended_with(course: Course) -> End {
        let (state, failure, task_id) = match course {
            Ok(state) => (state, None, String::new()),
            Err(Stopped::Failed { task_id, failure }) => (State::Failed, Some(failure), task_id),
            Err(Stopped::Exit(state @ (State::Success | State::Warning))) => {
                (state, None, String::new())
            }
            Err(Stopped::Exit(state)) => {
                let message = format!("a task ended the execution as {}", state.as_str());
                (
                    state,
                    Some(Failure::terminal("flow_exited", message)),
                    String::new(),
                )
            }
        };
        let error = failure.as_ref().map(|failure| shown(&task_id, failure));
        End {
            state,
            failure,
            error,
            outputs: Map::new(),
        }
    }

    /// Outputs of the flow.
    async fn put_out(&self, end: &mut End) -> Result<(), Failure> {
        let own = self.ctx.within("%outputs");
        let frame = Frame {
            state: Some(end.state),
            ..Frame::default()
        };
        for output in &self.flow.outputs {
            let rendered = self
                .rendered(&own, &frame, |scope| output.value.render(scope))
                .await?;
            self.secrets.borrow_mut().extend(rendered.secrets);
            let value = match output.kind {
                Some(kind) if !rendered.value.is_null() => plan::as_type(kind, rendered.value)
                    .map_err(|why| {
                        let message = format!("output {}: {why}", output.id);
                        Failure::terminal("output_invalid", message).cut()
                    })?,
                _ => rendered.value,
            };
            end.outputs.insert(output.id.clone(), value);
        }
        let masked = plan::Recorded {
            outputs: end.outputs.clone(),
            ..plan::Recorded::default()
        };
        end.outputs = masked.without(&self.secrets.borrow()).outputs;
        Ok(())
    }

    fn webhook(&self) -> Option<&Webhook> {
        match &self.begun.begun {
            Begun::Webhook { trigger, .. } => webhook_of(&self.flow, trigger),
            Begun::Trigger(_) | Begun::Call => None,
        }
    }

    /// The document, what the webhook wants in its place, or the failure with one of them.
    async fn answered(&self, end: End) -> Result<Raw, Failure> {
        self.tell(end.state.as_str(), &end.outputs).await?;
        let document = self.document(&end);
        let Some(failure) = end.failure.clone() else {
            return Ok(Raw(self.answer(&end, &document).await?));
        };
        let waits = self.webhook().is_some_and(|webhook| webhook.wait);
        let answer = match (&self.flow.answer, self.webhook()) {
            (Some(template), Some(_)) => self.templated(template, &end).await?,
            _ => json_answer(if waits { 500 } else { 200 }, &document),
        };
        Err(failure.with_answer(answer).giving_up())
    }

    fn document(&self, end: &End) -> Value {
        let (meta, history, runs) = (
            self.meta.borrow(),
            self.history.borrow(),
            self.runs.borrow(),
        );
        let execution = plan::Execution {
            meta: &meta,
            history: &history,
            state: end.state,
            runs: &runs,
            outputs: end.outputs.clone(),
            error: end.error.clone(),
        };
        let shown = document(&self.flow, &execution);
        let masked = plan::Recorded {
            outputs: as_map(shown),
            ..plan::Recorded::default()
        };
        Value::Object(masked.without(&self.secrets.borrow()).outputs)
    }

    async fn answer(&self, end: &End, document: &Value) -> Result<Answer, Failure> {
        let Some(webhook) = self.webhook() else {
            return Ok(json_answer(200, document));
        };
        if let Some(template) = &self.flow.answer {
            return self.templated(template, end).await;
        }
        let status = webhook.response_code.unwrap_or(200);
        if !webhook.return_outputs {
            return Ok(json_answer(status, document));
        }
        let plain = webhook.response_content_type.as_deref() == Some("text/plain");
        if plain {
            let mut values = end.outputs.values();
            let text = match (values.next(), values.next()) {
                (Some(one), None) => value_key(one),
                _ => Value::Object(end.outputs.clone()).to_string(),
            };
            return Ok(text_answer(status, "text/plain; charset=utf-8", text));
        }
        Ok(json_answer(status, &Value::Object(end.outputs.clone())))
    }

    async fn templated(&self, template: &AnswerTemplate, end: &End) -> Result<Answer, Failure> {
        let own = self.ctx.within("%answer");
        let frame = Frame {
            state: Some(end.state),
            error: end.error.clone(),
            ..Frame::default()
        };
        let status = match &template.status {
            None => 200,
            Some(status) => {
                let (text, _) = self
                    .rendered(&own, &frame, |scope| status.text(scope))
                    .await?;
                text.trim()
                    .parse()
                    .ok()
                    .filter(|status| (200..600).contains(status))
                    .ok_or_else(|| {
                        let message = format!("{text:?} is no status of an answer: 200 to 599");
                        Failure::terminal("answer_invalid", message)
                    })?
            }
        };
        let mut answer = match &template.body {
            None => Answer {
                status,
                headers: Headers::default(),
                body: Vec::new(),
            },
            Some(body) => {
                let rendered = self
                    .rendered(&own, &frame, |scope| body.render(scope))
                    .await?;
                let body = self.masked(rendered.value, rendered.secrets);
                match body {
                    Value::String(text) => text_answer(status, "text/plain; charset=utf-8", text),
                    other => json_answer(status, &other),
                }
            }
        };
        for (name, value) in &template.headers {
            let (text, secrets) = self
                .rendered(&own, &frame, |scope| value.text(scope))
                .await?;
            answer.headers.set(name, self.kept(secrets, &text));
        }
        Ok(answer)
    }

    fn masked(&self, value: Value, secrets: Vec<String>) -> Value {
        self.secrets.borrow_mut().extend(secrets);
        let recorded = plan::Recorded::output("it", value).without(&self.secrets.borrow());
        recorded
            .outputs
            .into_iter()
            .next()
            .map(|(_, value)| value)
            .unwrap_or_default()
    }
}

fn as_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn json_answer(status: u16, body: &Value) -> Answer {
    text_answer(status, "application/json", body.to_string())
}

fn text_answer(status: u16, content_type: &str, body: String) -> Answer {
    let headers = std::iter::once(("content-type", content_type)).collect();
    Answer {
        status,
        headers,
        body: body.into_bytes(),
    }
}
