//! The document of an execution, in the form that users of such flows know.

use super::recorded::{Line, State};
use super::roots::{History, Meta, instant};
use crate::flow::model::Flow;
use serde_json::{Map, Value, json};

/// One task that ran, or was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLine {
    /// Id of the run.
    pub id: String,
    /// The task.
    pub task_id: String,
    /// The value of the loop around it.
    pub value: Option<Value>,
    /// The turn of the loop around it.
    pub turn: Option<usize>,
    /// How it stands.
    pub state: State,
    /// What it put out.
    pub outputs: Map<String, Value>,
    /// What it logged.
    pub logs: Vec<Line>,
    /// Where it stands in the flow, and in which turns: the list is in this order, whatever came first.
    pub place: Vec<usize>,
}

/// An execution as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution<'a> {
    /// What does not change.
    pub meta: &'a Meta,
    /// What does.
    pub history: &'a History,
    /// How it stands.
    pub state: State,
    /// Its tasks, in order.
    pub runs: &'a [RunLine],
    /// Outputs of the flow.
    pub outputs: Map<String, Value>,
    /// What went wrong: the task and the message.
    pub error: Option<Value>,
}

/// The document.
pub fn document(flow: &Flow, of: &Execution) -> Value {
    let meta = of.meta;
    let started = instant(meta.started_ms);
    let mut histories = vec![
        json!({ "state": State::Created, "date": started }),
        json!({ "state": State::Running, "date": started }),
    ];
    if of.state != State::Running {
        histories.push(json!({ "state": of.state }));
    }
    let mut runs: Vec<&RunLine> = of.runs.iter().collect();
    runs.sort_by(|a, b| a.place.cmp(&b.place));
    let labels = of.history.labels.iter();
    let labels: Vec<Value> = labels
        .map(|(key, value)| json!({ "key": key, "value": value }))
        .collect();
    let mut document = json!({
        "id": meta.execution_id,
        "task_id": meta.execution_id,
        "originalId": meta.execution_id,
        "tenantId": "main",
        "namespace": flow.namespace,
        "flowId": flow.id,
        "flowRevision": meta.revision,
        "state": { "current": of.state, "startDate": started, "histories": histories },
        "labels": labels,
        "trigger": shown_trigger(&meta.trigger),
        "inputs": meta.inputs,
        "outputs": of.outputs,
        "taskRunList": runs.into_iter().map(|run| shown_run(flow, meta, run)).collect::<Vec<_>>(),
        "url": format!("/v1/tasks/{}", meta.execution_id),
        "deleted": false,
    });
    // What a parent records is the same whenever it was begun.
    if meta.parent.is_some() {
        document["state"] = json!({ "current": of.state });
    }
    if let (Some(error), Some(map)) = (&of.error, document.as_object_mut()) {
        map.insert("error".to_owned(), error.clone());
    }
    document
}

fn shown_run(flow: &Flow, meta: &Meta, run: &RunLine) -> Value {
    let mut shown = json!({
        "id": run.id,
        "executionId": meta.execution_id,
        "namespace": flow.namespace,
        "flowId": flow.id,
        "taskId": run.task_id,
        "state": { "current": run.state },
        "outputs": run.outputs,
    });
    if let Some(map) = shown.as_object_mut() {
        if let Some(value) = &run.value {
            map.insert("value".to_owned(), value.clone());
        }
        if let Some(turn) = run.turn {
            map.insert("iteration".to_owned(), turn.into());
        }
        if !run.logs.is_empty() {
            map.insert("logs".to_owned(), json!(run.logs));
        }
    }
    shown
}

/// The trigger, with what it came with; a large body is left to `…/input`.
fn shown_trigger(trigger: &Value) -> Value {
    let Some(map) = trigger.as_object() else {
        return Value::Null;
    };
    let mut variables = map.clone();
    let take =
        |variables: &mut Map<String, Value>, name: &str| variables.remove(name).unwrap_or_default();
    let id = take(&mut variables, "id");
    let kind = take(&mut variables, "type");
    let large = variables
        .get("body")
        .is_some_and(|body| body.to_string().len() > MAX_SHOWN_BODY_BYTES);
    if large {
        variables.remove("body");
    }
    json!({ "id": id, "type": kind, "variables": variables })
}

/// A body that the document shows.
const MAX_SHOWN_BODY_BYTES: usize = 16 << 10;

/// A document that can be stored as an answer: of a larger one what its tasks put out is left to the journal, then
/// their list, then what the trigger came with and the inputs.
pub fn shortened(mut document: Value) -> Value {
    let fits = |document: &Value| document.to_string().len() <= MAX_DOCUMENT_BYTES;
    if fits(&document) {
        return document;
    }
    document["truncated"] = true.into();
    if let Some(runs) = document["taskRunList"].as_array_mut() {
        for run in runs.iter_mut().filter_map(Value::as_object_mut) {
            run.remove("outputs");
            run.remove("logs");
        }
    }
    for field in ["taskRunList", "trigger", "inputs", "outputs"] {
        if fits(&document) {
            break;
        }
        document[field] = Value::Null;
    }
    document
}

/// Largest document of an execution: answers can have twice as much.
const MAX_DOCUMENT_BYTES: usize = 512 << 10;
