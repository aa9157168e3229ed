//! Tasks without tasks inside: each is one step, whose outcome is recorded once.

use super::super::ctx::{Ctx, StepScope};
use super::super::fetch::{FetchBody, busy, dispatch, not_answered};
use super::super::host::OutRequest;
use super::super::retry::Retry;
use super::super::step::Step;
use super::execution::Execution;
use super::input::{Begun, FlowInput, FlowRef};
use super::tries::{OBJECT_RETRY, again, retry_of};
use super::undo::prepared;
use crate::flow::model::{Flow, Retry as Tries, Task, Work};
use crate::flow::plan::{
    self, Act, Frame, HttpAct, KvAct, Recorded, State, SubflowAct, duration_ms, is_accepted,
};
use crate::types::{Failure, FailureKind, Headers};
use serde_json::{Map, Value, json};
use std::rc::Rc;

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
            // Of what waits it is one over all of it.
            let timeout_ms = match &task.work {
                Work::Sleep { .. } | Work::Subflow(_) => None,
                _ => self.timeout(own, task, frame).await?,
            };
            Ok(act.map(|(act, secrets)| (act, secrets, timeout_ms)))
        };
        let (act, secrets, timeout_ms) = match prepared.await {
            Ok(Some(prepared)) => prepared,
            Ok(None) => return ctx.note(&task.id, || Ok(Recorded::skipped())).await,
            Err(failure) => return ctx.note(&task.id, || Err(failure)).await,
        };
        self.secrets.borrow_mut().extend(secrets);
        // Those of earlier tasks and of inputs may come back in what this one puts out.
        let secrets = self.secrets.borrow().clone();
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
            Act::Note(recorded) => self.record(recorded.without(&self.secrets)).await,
            Act::Fail(failure) => self.failing(failure).await,
            Act::Http(http) => self.request(http).await,
            Act::Kv(kv) => self.key(kv).await,
            Act::KvKeys { namespace, prefix } => {
                let step = self.ctx.step_scoped(&id, move |scope| {
                    let (namespace, prefix) = (namespace.clone(), prefix.clone());
                    async move {
                        let keys = scope.kv_keys(&namespace, &prefix).await?;
                        Ok(Recorded::output("keys", json!(keys)))
                    }
                });
                self.finish(step.retry(OBJECT_RETRY)).await
            }
            Act::Sleep { ms } => {
                self.own.sleep("sleep", ms).await?;
                self.record(Recorded::default()).await
            }
            Act::Subflow(subflow) => match self.subflows(&subflow).await {
                Ok(recorded) => self.record(recorded.without(&self.secrets)).await,
                Err(failure) => self.ctx.note(&id, || Err(failure)).await,
            },
        }
    }

    /// Fails; as often as it is to be tried.
    async fn failing(&self, failure: Failure) -> Result<Recorded, Failure> {
        let message = plan::mask_text(&failure.message, &self.secrets);
        let failure = Failure { message, ..failure };
        let id = &self.task.id;
        if self.task.retry.is_none() {
            return self.ctx.note(id, || Err(failure)).await;
        }
        let anew = plan::counts_tries(self.task).then(|| self.anew());
        let step = self.ctx.step_scoped(id, move |scope| {
            let failure = again(&scope, true, failure.clone());
            let anew = anew.clone().filter(|_| scope.try_number() > 1);
            async move {
                let Some(anew) = anew else {
                    return Err(failure);
                };
                match anew.act(&scope).await? {
                    Some(Act::Note(recorded)) => Ok(recorded),
                    Some(Act::Fail(failure)) => Err(again(&scope, true, failure)),
                    _ => Err(failure),
                }
            }
        });
        self.finish(step).await
    }

    /// Records what has come without an effect of its own.
    async fn record(&self, recorded: Recorded) -> Result<Recorded, Failure> {
        let id = &self.task.id;
        if self.task.undo.is_none() {
            return self.ctx.note(id, || Ok(recorded)).await;
        }
        let step = self.ctx.step(id, move || {
            let recorded = recorded.clone();
            async move { Ok(recorded) }
        });
        self.finish(step).await
    }

    /// Adds what every step has: retries, time limit, undoing.
    fn finish(&self, mut step: Step<Recorded>) -> Step<Recorded> {
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
        step
    }

    /// Its own, or those of the flow.
    fn tries(&self) -> Option<&Tries> {
        self.task
            .retry
            .as_ref()
            .or(self.execution.flow.retry.as_ref())
    }

    fn key(&self, kv: KvAct) -> Step<Recorded> {
        let stubborn = self.tries().is_some();
        let step = self.ctx.step_scoped(&self.task.id, move |scope| {
            let kv = kv.clone();
            async move {
                let reply = scope.kv(&kv.namespace, &kv.key, kv.op.clone()).await?;
                // A key that is not there may be there later.
                kv.record(reply)
                    .map_err(|failure| again(&scope, stubborn, failure))
            }
        });
        let step = step.retry(OBJECT_RETRY);
        self.finish(step)
    }

    fn request(&self, http: HttpAct) -> Step<Recorded> {
        let own_ms = http.timeout_ms;
        let secrets = self.secrets.clone();
        let stubborn = self.tries().is_some();
        let warns = self.tries().is_some_and(|tries| tries.warning_on_retry);
        let anew = plan::counts_tries(self.task).then(|| self.anew());
        let step = self.ctx.step_scoped(&self.task.id, move |scope| {
            let (mut http, secrets) = (http.clone(), secrets.clone());
            let anew = anew.clone().filter(|_| scope.try_number() > 1);
            async move {
                if let Some(anew) = anew {
                    http = anew.request(&scope).await?;
                }
                let sent = send(&scope, &http).await.map_err(|failure| {
                    let message = plan::mask_text(&failure.message, &secrets);
                    again(&scope, stubborn, Failure { message, ..failure })
                })?;
                let mut recorded = sent.without(&secrets);
                if warns && scope.try_number() > 1 {
                    recorded.state = State::Warning;
                }
                Ok(recorded)
            }
        });
        let mut step = self.finish(step);
        if let Some(ms) = own_ms.filter(|ms| self.timeout_ms.is_none_or(|all| *ms < all)) {
            step = step.timeout_ms(ms.max(1));
        }
        step
    }

    fn anew(&self) -> Anew {
        Anew {
            flow: Rc::clone(&self.execution.flow),
            task_id: self.task.id.clone(),
            roots: self.execution.roots(self.frame),
        }
    }

    /// Another flow, begun anew for each try.
    async fn subflows(&self, act: &SubflowAct) -> Result<Recorded, Failure> {
        let retry = self.task.retry.as_ref().map_or(Retry::none(), retry_of);
        let mut tries = 0;
        let mut waited_ms = 0;
        loop {
            let failure = match self.subflow(act.clone()).await {
                Ok(recorded) => return Ok(recorded),
                Err(failure) => failure,
            };
            tries += 1;
            // Drawn from the task, so that a run that starts again pauses as long.
            let random = u32::try_from(self.own.random() % 1_001).unwrap_or_default();
            let Some(pause_ms) = retry.next_delay_ms(tries, waited_ms, None, random) else {
                return Err(failure);
            };
            waited_ms += pause_ms;
            self.own.sleep("%pause", pause_ms).await?;
        }
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

/// A request that is another one with each try: it says which one it is.
#[derive(Clone)]
struct Anew {
    flow: Rc<Flow>,
    task_id: String,
    roots: Map<String, Value>,
}

impl Anew {
    async fn act(mut self, scope: &StepScope) -> Result<Option<Act>, Failure> {
        self.roots["taskrun"]["attemptsCount"] = (scope.try_number() - 1).into();
        match plan::find(&self.flow, &self.task_id) {
            Some(task) => prepared(scope, &self.flow, task, &self.roots).await,
            None => Ok(None),
        }
    }

    async fn request(self, scope: &StepScope) -> Result<HttpAct, Failure> {
        let task_id = self.task_id.clone();
        match self.act(scope).await? {
            Some(Act::Http(http)) => Ok(http),
            Some(Act::Fail(failure)) => Err(failure),
            _ => Err(gone(&task_id)),
        }
    }
}

fn gone(task_id: &str) -> Failure {
    Failure::terminal("request_invalid", format!("task {task_id} is no request"))
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
