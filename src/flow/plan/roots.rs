//! The variables that expressions see.

use super::recorded::State;
use crate::flow::model::Flow;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What does not change while an execution runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// The task's id, which is the execution's.
    pub execution_id: String,
    /// When it was accepted, in milliseconds since 1970.
    pub started_ms: u64,
    /// Revision of the flow.
    pub revision: u64,
    /// Its trigger, as `trigger`; null if it was begun by hand.
    pub trigger: Value,
    /// Its inputs, typed.
    pub inputs: Map<String, Value>,
    /// The execution that began this one, if one did.
    pub parent: Option<Value>,
}

/// What changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// By task: what they put out. In a loop `{value: outputs}`.
    pub outputs: Map<String, Value>,
    /// By task: their state.
    pub states: BTreeMap<String, State>,
    /// Flat.
    pub labels: Map<String, Value>,
    /// Set by tasks, over those of the flow.
    pub variables: Map<String, Value>,
}

/// Where in the flow something is rendered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The task, and its type; empty outside of tasks.
    pub task: (String, String),
    /// Id of the task run.
    pub run_id: String,
    /// Values of the loops around it, the outermost first.
    pub values: Vec<Value>,
    /// Turns of the loops around it, from 0.
    pub turns: Vec<usize>,
    /// In a block that deals with a failure: it.
    pub error: Option<Value>,
    /// The state of the execution so far.
    pub state: Option<State>,
    /// Where in the flow: places in lists and turns, from the outside in.
    pub place: Vec<usize>,
}

/// The key under which outputs of a turn are found: a text as it is, anything else as JSON.
///
/// ```
/// use onceward::flow::plan::value_key;
/// assert_eq!(value_key(&"a".into()), "a");
/// assert_eq!(value_key(&serde_json::json!({"n": 1})), r#"{"n":1}"#);
/// ```
pub fn value_key(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// ISO 8601, as expressions show it.
pub(super) fn instant(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(ms)
        .unwrap_or_default()
        .to_string()
}

/// All variables.
pub fn roots(flow: &Flow, meta: &Meta, history: &History, frame: &Frame) -> Map<String, Value> {
    let mut vars: Map<String, Value> = flow.variables.iter().cloned().collect();
    vars.extend(history.variables.clone());
    let states = history.states.iter();
    let tasks: Map<String, Value> = states
        .map(|(id, state)| (id.clone(), json!({ "state": state })))
        .collect();
    let mut execution = json!({
        "id": meta.execution_id,
        "originalId": meta.execution_id,
        "startDate": instant(meta.started_ms),
        "state": frame.state.unwrap_or(State::Running),
    });
    if let (Some(parent), Some(map)) = (&meta.parent, execution.as_object_mut()) {
        map.insert("parentId".to_owned(), parent.clone());
    }
    let all = [
        (
            "flow",
            json!({
                "id": flow.id, "namespace": flow.namespace, "revision": meta.revision, "tenantId": "main",
            }),
        ),
        ("execution", execution),
        ("inputs", Value::Object(meta.inputs.clone())),
        ("outputs", Value::Object(history.outputs.clone())),
        ("labels", nested(&history.labels)),
        ("tasks", Value::Object(tasks)),
        ("trigger", meta.trigger.clone()),
        ("vars", Value::Object(vars)),
        ("taskrun", taskrun(meta, frame)),
        ("task", json!({ "id": frame.task.0, "type": frame.task.1 })),
        ("namespace", json!({ "id": flow.namespace })),
        ("envs", json!({})),
        ("globals", json!({})),
    ];
    let mut roots: Map<String, Value> = all
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let around = |depth: usize| {
        let at = frame.values.len().checked_sub(depth)?;
        let value = frame.values.get(at)?;
        Some(json!({ "taskrun": { "value": value, "iteration": frame.turns.get(at) } }))
    };
    if let Some(parent) = around(2) {
        roots.insert("parent".to_owned(), parent);
    }
    let parents: Vec<Value> = (2..=frame.values.len()).filter_map(around).collect();
    roots.insert("parents".to_owned(), Value::Array(parents));
    if let Some(error) = &frame.error {
        roots.insert("error".to_owned(), error.clone());
        let mut line = error.clone();
        line["level"] = "ERROR".into();
        roots.insert("errorLogs".to_owned(), Value::Array(vec![line]));
    }
    roots
}

fn taskrun(meta: &Meta, frame: &Frame) -> Value {
    let mut taskrun = json!({
        "id": frame.run_id,
        "startDate": instant(meta.started_ms),
        "attemptsCount": 0,
    });
    if let Some(value) = frame.values.last() {
        taskrun["value"] = value.clone();
        taskrun["items"] = Value::Array(frame.values.clone());
    }
    if let Some(turn) = frame.turns.last() {
        taskrun["iteration"] = json!(turn);
    }
    taskrun
}

/// `{"a.b": 1}` as `{"a": {"b": 1}}`. What does not fit in stays flat.
///
/// ```
/// use onceward::flow::plan::nested;
/// let flat = serde_json::json!({"system.correlationId": "x", "team": "a"});
/// let map = flat.as_object().unwrap();
/// assert_eq!(nested(map), serde_json::json!({"system": {"correlationId": "x"}, "team": "a"}));
/// ```
pub fn nested(flat: &Map<String, Value>) -> Value {
    let mut out = Map::new();
    for (name, value) in flat {
        put(&mut out, name, value);
    }
    Value::Object(out)
}

fn put(map: &mut Map<String, Value>, name: &str, value: &Value) {
    let inside = name
        .split_once('.')
        .filter(|(head, rest)| !head.is_empty() && !rest.is_empty());
    let Some((head, rest)) = inside else {
        map.insert(name.to_owned(), value.clone());
        return;
    };
    let place = map
        .entry(head.to_owned())
        .or_insert_with(|| Value::Object(Map::new()));
    match place {
        Value::Object(inner) => put(inner, rest, value),
        _ => {
            map.insert(name.to_owned(), value.clone());
        }
    }
}

/// Labels from a map, or from a list of `key` and `value`; values as text.
pub fn labels_of(value: &Value) -> Map<String, Value> {
    let text = |value: &Value| Value::String(value_key(value));
    match value {
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), text(v))).collect(),
        Value::Array(items) => {
            let pairs = items.iter().filter_map(|item| {
                let key = item.get("key")?.as_str()?;
                Some((key.to_owned(), text(item.get("value")?)))
            });
            pairs.collect()
        }
        _ => Map::new(),
    }
}
