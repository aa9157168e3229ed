//! One execution of a flow: what it has come to so far.

use super::super::ctx::Ctx;
use super::super::handler::from_json;
use super::input::{Begun, FlowInput};
use crate::flow::model::{Flow, InputType, Trigger, Webhook};
use crate::flow::plan::{
    self, Frame, History, Meta, Received, Recorded, RunLine, State, labels_of, roots, value_key,
};
use crate::types::{Failure, StepId};
use serde_json::{Map, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// How a list of tasks stops before its end.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stopped {
    /// A task failed.
    Failed {
        /// Which.
        task_id: String,
        /// Why.
        failure: Failure,
    },
    /// A task ended the execution.
    Exit(State),
}

/// What came of a task or of a list of tasks.
pub(super) type Course = Result<State, Stopped>;

/// One execution. Cheap to clone.
#[derive(Clone)]
pub(super) struct Execution {
    pub(super) ctx: Ctx,
    pub(super) flow: Rc<Flow>,
    pub(super) begun: Rc<FlowInput>,
    pub(super) meta: Rc<RefCell<Meta>>,
    pub(super) history: Rc<RefCell<History>>,
    pub(super) runs: Rc<RefCell<Vec<RunLine>>>,
    /// Secrets that were used: nothing that is kept may hold one of them.
    pub(super) secrets: Rc<RefCell<Vec<String>>>,
    /// Set by a task that ends the execution.
    pub(super) exit: Rc<Cell<Option<State>>>,
}

impl Execution {
    pub(super) fn begin(ctx: Ctx, flow: Rc<Flow>, begun: FlowInput) -> Result<Self, Failure> {
        let trigger = trigger_of(&flow, &begun)?;
        let meta = Meta {
            execution_id: ctx.task_id().to_string(),
            started_ms: ctx.generation(),
            revision: begun.flow.revision,
            trigger,
            inputs: Map::new(),
            parent: begun.parent.clone(),
        };
        let mut history = History::default();
        let correlation = begun.labels.get("system.correlationId").cloned();
        let correlation = correlation.or_else(|| begun.key.clone().map(Value::String));
        let correlation = correlation.unwrap_or_else(|| meta.execution_id.clone().into());
        history
            .labels
            .insert("system.correlationId".to_owned(), correlation);
        Ok(Self {
            ctx,
            flow,
            begun: Rc::new(begun),
            meta: Rc::new(RefCell::new(meta)),
            history: Rc::new(RefCell::new(history)),
            runs: Rc::default(),
            secrets: Rc::default(),
            exit: Rc::default(),
        })
    }

    /// The variables in a frame.
    pub(super) fn roots(&self, frame: &Frame) -> Map<String, Value> {
        roots(
            &self.flow,
            &self.meta.borrow(),
            &self.history.borrow(),
            frame,
        )
    }

    /// Labels of the flow and of whoever began it, and the typed inputs.
    pub(super) async fn set_up(&self) -> Result<(), Failure> {
        let ctx = self.ctx.within("%begin");
        let frame = Frame::default();
        let given = self.given(&ctx, &frame).await?;
        let flow = Rc::clone(&self.flow);
        let typed = self
            .rendered(&ctx, &frame, |scope| {
                plan::typed(&flow.inputs, &given, |property, so_far| {
                    let mut roots = scope.roots.clone();
                    roots.insert("inputs".to_owned(), Value::Object(so_far.clone()));
                    let scope = crate::flow::expression::Scope {
                        roots: &roots,
                        outside: scope.outside,
                    };
                    Ok(property.render(&scope)?.value)
                })
            })
            .await?;
        let inputs = typed.map_err(|faults| {
            let listed: Vec<String> = faults
                .iter()
                .map(|fault| format!("{}: {}", fault.id, fault.detail))
                .collect();
            Failure::terminal("inputs_invalid", listed.join("; ")).cut()
        })?;
        let secret = flow
            .inputs
            .iter()
            .filter(|input| input.kind == InputType::Secret);
        let secret = secret.filter_map(|input| inputs.get(&input.id)?.as_str());
        self.secrets.borrow_mut().extend(secret.map(str::to_owned));
        self.meta.borrow_mut().inputs = inputs;
        for (name, property) in &flow.labels {
            let text = self
                .rendered(&ctx, &frame, |scope| property.text(scope))
                .await?;
            self.history
                .borrow_mut()
                .labels
                .insert(name.clone(), self.kept(text.1, &text.0).into());
        }
        let more = labels_of(&Value::Object(self.begun.labels.clone()));
        self.history.borrow_mut().labels.extend(more);
        Ok(())
    }

    /// The inputs that it was given.
    async fn given(&self, ctx: &Ctx, frame: &Frame) -> Result<Map<String, Value>, Failure> {
        let inputs: &[(String, _)] = match &self.begun.begun {
            Begun::Call => return given(&self.begun.body),
            Begun::Webhook { trigger, .. } => match webhook_of(&self.flow, trigger) {
                Some(webhook) => &webhook.inputs,
                None => &[],
            },
            Begun::Trigger(variables) => {
                let id = variables
                    .get("id")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                inputs_of(&self.flow, id)
            }
        };
        let mut given = Map::new();
        for (name, property) in inputs {
            let value = self
                .rendered(ctx, frame, |scope| property.render(scope))
                .await?
                .value;
            given.insert(name.clone(), value);
        }
        Ok(given)
    }

    /// A text without the secrets that are in it; they are remembered.
    pub(super) fn kept(&self, secrets: Vec<String>, text: &str) -> String {
        self.secrets.borrow_mut().extend(secrets);
        plan::mask_text(text, &self.secrets.borrow())
    }

    /// Takes what is recorded of a task into the history.
    pub(super) fn note_run(&self, frame: &Frame, recorded: &Recorded) {
        let (task_id, _) = &frame.task;
        let mut history = self.history.borrow_mut();
        if recorded.state != State::Skipped {
            put(
                &mut history.outputs,
                task_id,
                &frame.values,
                &recorded.outputs,
            );
        }
        history.states.insert(task_id.clone(), recorded.state);
        history.labels.extend(recorded.labels.clone());
        history.variables.extend(recorded.variables.clone());
        drop(history);
        self.line(frame, recorded.clone());
    }

    /// Adds a line to the list of runs, or changes the one that is there.
    pub(super) fn line(&self, frame: &Frame, recorded: Recorded) {
        let mut runs = self.runs.borrow_mut();
        if let Some(line) = runs.iter_mut().find(|line| line.id == frame.run_id) {
            line.state = recorded.state;
            line.outputs.extend(recorded.outputs);
            line.logs.extend(recorded.logs);
            return;
        }
        runs.push(RunLine {
            id: frame.run_id.clone(),
            task_id: frame.task.0.clone(),
            value: frame.values.last().cloned(),
            turn: frame.turns.last().copied(),
            state: recorded.state,
            outputs: recorded.outputs,
            logs: recorded.logs,
            place: frame.place.clone(),
        });
    }

    /// How a task that has tasks inside ended.
    pub(super) fn settle_run(&self, frame: &Frame, state: State) {
        let (task_id, _) = &frame.task;
        self.history
            .borrow_mut()
            .states
            .insert(task_id.clone(), state);
        self.line(
            frame,
            Recorded {
                state,
                ..Recorded::default()
            },
        );
    }
}

/// Outputs of a task in loops: `{value: {value: outputs}}`.
fn put(outputs: &mut Map<String, Value>, name: &str, values: &[Value], own: &Map<String, Value>) {
    let Some((first, rest)) = values.split_first() else {
        outputs.insert(name.to_owned(), Value::Object(own.clone()));
        return;
    };
    let place = outputs
        .entry(name.to_owned())
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(inner) = place {
        put(inner, &value_key(first), rest, own);
    }
}

fn given(body: &[u8]) -> Result<Map<String, Value>, Failure> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match from_json(body) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(Failure::terminal(
            "inputs_invalid",
            "the inputs are no JSON object",
        )),
        Err(problem) => Err(Failure::terminal("inputs_invalid", problem.detail)),
    }
}

pub(super) fn webhook_of<'f>(flow: &'f Flow, id: &str) -> Option<&'f Webhook> {
    flow.triggers.iter().find_map(|trigger| match trigger {
        Trigger::Webhook(webhook) if webhook.id == id => Some(webhook),
        _ => None,
    })
}

fn inputs_of<'f>(flow: &'f Flow, id: &str) -> &'f [(String, crate::flow::model::Property)] {
    let found = flow.triggers.iter().find_map(|trigger| match trigger {
        Trigger::Schedule(schedule) if schedule.id == id => Some(&schedule.inputs),
        Trigger::Flow(end) if end.id == id => Some(&end.inputs),
        _ => None,
    });
    found.map_or(&[], Vec::as_slice)
}

/// The variables of the trigger.
fn trigger_of(flow: &Flow, begun: &FlowInput) -> Result<Value, Failure> {
    match &begun.begun {
        Begun::Call => Ok(Value::Null),
        Begun::Trigger(variables) => {
            let mut variables = variables.clone();
            // Outputs of the execution whose end it was.
            if !begun.body.is_empty() {
                variables["outputs"] = Value::Object(given(&begun.body)?);
            }
            Ok(variables)
        }
        Begun::Webhook {
            trigger,
            method,
            query,
            path,
        } => {
            let webhook = webhook_of(flow, trigger).ok_or_else(|| {
                let message = format!("the flow has no webhook {trigger:?}");
                Failure::terminal("trigger_gone", message)
            })?;
            let received = Received {
                method: method.clone(),
                query: query.clone(),
                path: path.clone(),
                headers: begun.headers.clone(),
                body: begun.body.clone(),
            };
            Ok(plan::variables(webhook, &received))
        }
    }
}

/// The frame of a task within another one.
pub(super) fn frame(around: &Frame, task: &crate::flow::model::Task, ctx: &Ctx) -> Frame {
    let id = StepId::new(&ctx.branch, &task.id, 0);
    let run_id = id.derived_key(ctx.task_id(), 0);
    Frame {
        task: (task.id.clone(), task.type_name.clone()),
        run_id: run_id.to_string(),
        ..around.clone()
    }
}
