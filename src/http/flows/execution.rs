//! The document of a task in the form that users of flows know: what they get where no answer of the flow is there
//! yet, or none came.

use super::FlowName;
use crate::types::Answer;
use serde_json::{Map, Value, json};

/// What is known of an execution beside the document of its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known<'a> {
    /// The flow.
    pub name: &'a FlowName,
    /// The trigger: id and type. `None`: it was called.
    pub trigger: Option<(&'a str, &'a str)>,
    /// The revision that it began with, if this delivery began it.
    pub revision: Option<u64>,
}

/// Turns an answer that holds the document of a task into one that holds the document of its execution. Any other
/// answer stays as it is.
///
/// ```
/// use onceward::http::flows::{FlowName, Known, as_execution};
/// use onceward::types::Answer;
/// let task = serde_json::json!({
///     "task_id": "0b4c", "state": "running", "created_at": "2026-11-30T12:00:00.000Z", "key": "k1",
/// });
/// let name = FlowName::read("team", "sync").unwrap();
/// let known = Known { name: &name, trigger: None, revision: Some(3) };
/// let answer = as_execution(Answer::json(202, &task), &known);
/// let shown: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
/// assert_eq!((shown["id"].as_str(), shown["task_id"].as_str()), (Some("0b4c"), Some("0b4c")));
/// assert_eq!(shown["state"]["current"], "RUNNING");
/// assert_eq!((shown["flowId"].as_str(), shown["flowRevision"].as_u64()), (Some("sync"), Some(3)));
/// assert_eq!(shown["key"], "k1");
/// ```
pub fn as_execution(mut answer: Answer, known: &Known<'_>) -> Answer {
    let is_json = answer.headers.get("content-type") == Some("application/json");
    let read = serde_json::from_slice(&answer.body)
        .ok()
        .filter(|_| is_json);
    if let Some(Value::Object(task)) = read
        && let Some(document) = turned(task, known)
    {
        answer.body = Value::Object(document).to_string().into_bytes();
    }
    answer
}

fn turned(mut task: Map<String, Value>, known: &Known<'_>) -> Option<Map<String, Value>> {
    let id = task.get("task_id")?.as_str()?.to_owned();
    let state = task.get("state")?.as_str()?.to_owned();
    let waiting = task.get("waiting").cloned().unwrap_or_default();
    let current = word(&state, &waiting);
    let is_final = matches!(state.as_str(), "succeeded" | "failed" | "cancelled");
    let started = task.get("created_at").cloned();
    let mut histories = Vec::new();
    if let Some(date) = &started {
        histories.push(json!({ "state": "CREATED", "date": date }));
        if current != "QUEUED" {
            histories.push(json!({ "state": "RUNNING", "date": date }));
        }
    }
    if current != "RUNNING" {
        let date = task.get("finished_at").or_else(|| task.get("updated_at"));
        histories.push(match date {
            Some(date) => json!({ "state": current, "date": date }),
            None => json!({ "state": current }),
        });
    }
    let labels = task.get("labels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let labels: Vec<Value> = labels
        .map(|(key, value)| json!({ "key": key, "value": value }))
        .collect();
    let mut document = Map::new();
    let mut put = |name: &str, value: Value| document.insert(name.to_owned(), value);
    put("id", id.as_str().into());
    put("task_id", id.as_str().into());
    put("originalId", id.as_str().into());
    put("tenantId", "main".into());
    put("namespace", known.name.namespace.as_str().into());
    put("flowId", known.name.id.as_str().into());
    // Of what has ended all senders get the same bytes, whoever began it.
    if let Some(revision) = known.revision.filter(|_| !is_final) {
        put("flowRevision", revision.into());
    }
    let mut shown = json!({ "current": current });
    if let Some(date) = started {
        shown["startDate"] = date;
    }
    shown["histories"] = histories.into();
    put("state", shown);
    put("labels", labels.into());
    if let Some((id, kind)) = known.trigger {
        put("trigger", json!({ "id": id, "type": kind }));
    }
    put("url", format!("/v1/tasks/{id}").into());
    put("task_state", state.into());
    for taken in ["task_id", "state", "labels"] {
        task.remove(taken);
    }
    document.extend(task);
    Some(document)
}

/// The state in the words of flows.
fn word(state: &str, waiting: &Value) -> &'static str {
    match state {
        "succeeded" => "SUCCESS",
        "failed" => "FAILED",
        "cancelled" => "KILLED",
        "suspended" => {
            let name = waiting
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let signal = waiting.get("for").and_then(Value::as_str) == Some("signal");
            match signal {
                true if name.starts_with("%lock") => "QUEUED",
                true => "PAUSED",
                false => "RUNNING",
            }
        }
        _ => "RUNNING",
    }
}

#[cfg(test)]
#[path = "execution_tests.rs"]
mod tests;
