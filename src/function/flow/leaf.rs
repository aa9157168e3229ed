//! Tasks without tasks inside: each is one step, whose outcome is recorded once.

use super::super::ctx::{Ctx, StepScope};
use super::super::fetch::{FetchBody, busy, dispatch, not_answered};
use super::super::host::OutRequest;
use super::super::retry::Retry;
use super::super::step::Step;
use super::execution::Execution;
use super::input::{Begun, FlowInput, FlowRef};
use crate::flow::model::{Retry as Tries, RetryKind, Task};
use crate::flow::plan::{
    self, Act, Frame, HttpAct, KvAct, Recorded, State, SubflowAct, duration_ms, is_accepted,
};
use crate::types::{Failure, FailureKind, Headers};
use serde_json::{Value, json};
use std::rc::Rc;

/// How messages to objects are tried: they answer, or the platform is in trouble.
pub(super) const OBJECT_RETRY: Retry = Retry {
    max_attempts: 10,
    initial_ms: 200,
    factor: 2.0,
    max_ms: 60_000,
    jitter: 0.5,
    max_elapsed_ms: None,
};

impl Execution {
    pub(super) async fn leaf(
        &self,
        ctx: &Ctx,
        own: &Ctx,
        task: &Task,
        frame: &Frame,
    ) -> Result<Recorded, Failure> {
        if ctx.is_recorded(&task.id) {
            return ctx.note(&task.id, || Ok(Recorded::default())).await;
        }
        let prepared = async {
            if self.is_left_out(own, task, frame).await? {
                return Ok(None);
            }
            let flow = Rc::clone(&self.flow);
            let act = self
                .rendered(own, frame, |scope| plan::act(&flow, task, scope))
                .await?;
            let timeout_ms = self.timeout(own, task, frame).await?;
            Ok(act.map(|(act, secrets)| (act, secrets, timeout_ms)))
        };
        let (act, secrets, timeout_ms) = match prepared.await {
            Ok(Some(prepared)) => prepared,
            Ok(None) => return ctx.note(&task.id, || Ok(Recorded::skipped())).await,
            Err(failure) => return ctx.note(&task.id, || Err(failure)).await,
        };
        self.secrets.borrow_mut().extend(secrets.clone());
        let doing = Doing {
            execution: self,
            ctx,
            own,
            task,
            frame,
            secrets,
            timeout_ms,
        };
        doing.carry(act).await
    }

    async fn timeout(&self, own: &Ctx, task: &Task, frame: &Frame) -> Result<Option<u64>, Failure> {
        let Some(timeout) = &task.timeout else {
            return Ok(None);
        };
        let value = self
            .rendered(own, frame, |scope| timeout.render(scope))
            .await?
            .value;
        duration_ms(&value).map(Some)
    }
}

/// A task that is under way.
struct Doing<'a> {
    execution: &'a Execution,
    ctx: &'a Ctx,
    own: &'a Ctx,
    task: &'a Task,
    frame: &'a Frame,
    secrets: Vec<String>,
    timeout_ms: Option<u64>,
}

impl Doing<'_> {
    async fn carry(self, act: Act) -> Result<Recorded, Failure> {
        let id = self.task.id.clone();
        match act {
            Act::Note(recorded) => {
                let recorded = recorded.without(&self.secrets);
                if self.task.undo.is_none() {
                    return self.ctx.note(&id, || Ok(recorded)).await;
                }
                let step = self.ctx.step(&id, move || {
                    let recorded = recorded.clone();
                    async move { Ok(recorded) }
                });
                self.finish(step)?.await
            }
            Act::Fail(failure) => {
                let message = plan::mask_text(&failure.message, &self.secrets);
                self.ctx
                    .note(&id, || Err(Failure { message, ..failure }))
                    .await
            }
            Act::Http(http) => self.request(http)?.await,
            Act::Kv(kv) => self.key(kv)?.await,
            Act::KvKeys { namespace, prefix } => {
                let step = self.ctx.step_scoped(&id, move |scope| {
                    let (namespace, prefix) = (namespace.clone(), prefix.clone());
                    async move {
                        let keys = scope.kv_keys(&namespace, &prefix).await?;
                        Ok(Recorded::output("keys", json!(keys)))
                    }
                });
                self.finish(step.retry(OBJECT_RETRY))?.await
            }
            Act::Sleep { ms } => {
                self.own.sleep("sleep", ms).await?;
                self.ctx.note(&id, || Ok(Recorded::default())).await
            }
            Act::Subflow(subflow) => {
                let recorded = self.subflow(subflow).await;
                self.ctx.note(&id, || recorded).await
            }
        }
    }

    /// Adds what every step has: retries, time limit, undoing.
    fn finish(&self, mut step: Step<Recorded>) -> Result<Step<Recorded>, Failure> {
        if let Some(tries) = self.tries() {
            step = step.retry(retry_of(tries));
        }
        if let Some(ms) = self.timeout_ms {
            step = step.timeout_ms(ms.max(1));
        }
        if let Some(undo) = &self.task.undo {
            let known = plan::needs_outcome(self.task, undo);
            let roots = self.execution.roots(self.frame);
            let undone = plan::Undone {
                digest: self.execution.begun.flow.digest.clone(),
                task_id: self.task.id.clone(),
                roots: plan::undo_roots(undo, &roots),
            };
            step = step.undo(if known { "flow" } else { "flow-any" }, &undone);
        }
        Ok(step)
    }

    /// Its own, or those of the flow.
    fn tries(&self) -> Option<&Tries> {
        self.task
            .retry
            .as_ref()
            .or(self.execution.flow.retry.as_ref())
    }

    fn key(&self, kv: KvAct) -> Result<Step<Recorded>, Failure> {
        let step = self.ctx.step_scoped(&self.task.id, move |scope| {
            let kv = kv.clone();
            async move {
                let reply = scope.kv(&kv.namespace, &kv.key, kv.op.clone()).await?;
                kv.record(reply)
            }
        });
        let step = step.retry(OBJECT_RETRY);
        self.finish(step)
    }

    fn request(&self, http: HttpAct) -> Result<Step<Recorded>, Failure> {
        let own_ms = http.timeout_ms;
        let secrets = self.secrets.clone();
        // Who asks for retries means every failure.
        let stubborn = self.tries().is_some();
        let warns = self.tries().is_some_and(|tries| tries.warning_on_retry);
        let step = self.ctx.step_scoped(&self.task.id, move |scope| {
            let (http, secrets) = (http.clone(), secrets.clone());
            async move {
                let again = stubborn && !scope.is_last_try();
                let sent = send(&scope, &http).await.map_err(|failure| {
                    let kind = if again {
                        FailureKind::Retryable
                    } else {
                        failure.kind
                    };
                    let message = plan::mask_text(&failure.message, &secrets);
                    Failure {
                        kind,
                        message,
                        ..failure
                    }
                })?;
                let mut recorded = sent.without(&secrets);
                if warns && scope.try_number() > 1 {
                    recorded.state = State::Warning;
                }
                Ok(recorded)
            }
        });
        let mut step = self.finish(step)?;
        if let Some(ms) = own_ms.filter(|ms| self.timeout_ms.is_none_or(|all| *ms < all)) {
            step = step.timeout_ms(ms.max(1));
        }
        Ok(step)
    }

    /// Another flow: which revision it is, is recorded first.
    async fn subflow(&self, act: SubflowAct) -> Result<Recorded, Failure> {
        let (namespace, id) = (act.namespace.clone(), act.flow_id.clone());
        let found = self.own.step_scoped("%flow", move |scope| {
            let (namespace, id) = (namespace.clone(), id.clone());
            async move { scope.flow_current(&namespace, &id).await }
        });
        let flow: FlowRef = found.retry(OBJECT_RETRY).await?;
        let execution = self.execution;
        let function = flow.function_name();
        let input = FlowInput {
            flow,
            begun: Begun::Call,
            labels: act.labels.clone(),
            parent: Some(execution.meta.borrow().execution_id.clone().into()),
            body: Value::Object(act.inputs.clone()).to_string().into_bytes(),
            ..FlowInput::default()
        };
        let child = if act.wait {
            self.own.call(&function, None, &())
        } else {
            self.own.start(&function, None, &())
        };
        let ended = child.named("%begin").with_input(input.into_input()).await;
        match ended {
            Ok(fetched) => Ok(of_child(&act, &fetched.body)),
            Err(failure)
                if act.wait && !act.transmit_failed && failure.code.starts_with("child_") =>
            {
                let mut recorded = Recorded::output("state", json!(State::Failed));
                recorded
                    .outputs
                    .insert("error".to_owned(), failure.message.into());
                Ok(recorded)
            }
            Err(failure) => Err(failure),
        }
    }
}

/// What is recorded of another flow that has ended well, or has been begun.
fn of_child(act: &SubflowAct, body: &Value) -> Recorded {
    if !act.wait {
        let id = body.get("task_id").cloned().unwrap_or_default();
        return Recorded::output("executionId", id);
    }
    let id = body.get("id").cloned().unwrap_or_default();
    let mut recorded = Recorded::output("executionId", id);
    let state = body.pointer("/state/current").cloned().unwrap_or_default();
    if state == json!(State::Warning) {
        recorded.state = State::Warning;
    }
    recorded.outputs.insert("state".to_owned(), state);
    let outputs = body.get("outputs").cloned().unwrap_or_else(|| json!({}));
    recorded.outputs.insert("outputs".to_owned(), outputs);
    recorded
}

/// Sends a request once, and judges the answer.
pub(super) async fn send(scope: &StepScope, http: &HttpAct) -> Result<Recorded, Failure> {
    let request = OutRequest {
        method: http.method.clone(),
        url: http.url.clone(),
        headers: http.headers.clone(),
        body: http.body.clone(),
    };
    let own_key = request.headers.get("idempotency-key").is_some();
    let field = (!own_key).then_some("idempotency-key");
    let response = dispatch(scope, request, field)
        .await
        .map_err(not_answered)?;
    if is_accepted(response.status, http.allow_failed, &http.allowed_codes) {
        let kept: Headers = response.headers.iter().collect();
        let body = FetchBody::read(response.headers.get("content-type"), &response.body);
        return Ok(http.record(response.status, &kept, body));
    }
    let failure = busy(&response, scope.clock_ms());
    let worth = matches!(response.status, 408 | 425 | 429 | 500..=599);
    let kind = if worth {
        FailureKind::Retryable
    } else {
        FailureKind::Terminal
    };
    Err(Failure { kind, ..failure })
}

/// The retries of a step. Pauses between the shortest and the longest are drawn.
fn retry_of(tries: &Tries) -> Retry {
    let max_attempts = match (tries.max_attempts, tries.max_duration_ms) {
        (Some(most), _) => most.max(1),
        (None, Some(_)) => u32::MAX,
        (None, None) => 5,
    };
    let max_elapsed_ms = tries.max_duration_ms;
    match tries.kind {
        RetryKind::Constant { interval_ms } => Retry {
            max_elapsed_ms,
            ..Retry::constant(max_attempts, interval_ms)
        },
        RetryKind::Exponential {
            interval_ms,
            max_interval_ms,
            factor,
        } => Retry {
            max_attempts,
            initial_ms: interval_ms,
            factor,
            max_ms: max_interval_ms,
            jitter: 0.0,
            max_elapsed_ms,
        },
        RetryKind::Random {
            min_interval_ms,
            max_interval_ms,
        } => {
            // A share of at most ten years in milliseconds is exact enough.
            #[allow(clippy::cast_precision_loss)]
            let share = 1.0 - (min_interval_ms as f64 / max_interval_ms.max(1) as f64);
            Retry {
                jitter: share.clamp(0.0, 1.0),
                max_elapsed_ms,
                ..Retry::constant(max_attempts, max_interval_ms)
            }
        }
    }
}
