//! The form of a case.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub case: Vec<Case>,
}

/// A flow, what happens to it, and what comes of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Case {
    pub name: String,
    /// The flow that gets the deliveries.
    pub flow: String,
    /// The same, as a file of the repository.
    pub flow_file: Option<String>,
    /// Flows that it calls, or that begin when it has ended.
    pub more_flows: Vec<String>,
    pub more_flow_files: Vec<String>,
    pub secrets: BTreeMap<String, String>,
    /// What stands under keys before.
    pub kv: Vec<Entry>,
    /// One `POST` of an empty object if there is none, or a call without inputs for a flow without a webhook.
    pub delivery: Vec<Delivery>,
    /// Answers of others. A request that is in none of them fails the case.
    pub outside: Vec<Outside>,
    /// Sent one after the other, each when nothing goes on by itself.
    pub signal: Vec<Signal>,
    /// Why it does not pass yet. Once it does, the test says so.
    pub pending: Option<String>,
    /// Why it does not get through crashes yet.
    pub pending_crash: Option<String>,
    /// Whether it is run through crashes as well; it is if it does not say so.
    pub crash: Option<bool>,
    pub expect: Expect,
}

/// A key with a value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub namespace: String,
    pub key: String,
    #[serde(default)]
    pub value: Value,
    /// Part of the value.
    pub contains: Option<String>,
}

/// A delivery at the first webhook of the flow, or a call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Delivery {
    pub key: String,
    pub method: String,
    pub headers: BTreeMap<String, String>,
    pub query: String,
    pub body: Option<String>,
    /// Begun by a call with these.
    pub inputs: Option<Value>,
    /// So long after the one before has ended.
    pub after_ms: u64,
    /// The next one comes while this one is under way.
    pub together: bool,
}

/// Requests of a method and an address; `*` stands for any text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outside {
    pub method: String,
    pub url: String,
    /// In order; the last one again and again.
    pub answers: Vec<Response>,
}

/// What somebody else answers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Response {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    pub after_ms: u64,
}

/// A signal.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    pub name: String,
    pub payload: Option<String>,
}

/// What comes of it. What is not named is not looked at. `{execution.id}` is the id of the last execution. Data may be
/// JSON text or TOML.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Of the last delivery.
    pub state: Option<String>,
    /// Of each delivery.
    pub states: Option<Vec<String>>,
    /// Executions of the flow.
    pub executions: Option<usize>,
    /// Whether all deliveries belong to one execution.
    pub same_execution: bool,
    /// `task STATE`, in loops `task[value] STATE`, in order; and in any order.
    pub task_runs: Option<Vec<String>>,
    pub task_runs_any: Option<Vec<String>>,
    /// Tries of tasks.
    pub attempts: BTreeMap<String, u32>,
    /// `LEVEL message`: all of them, some of them, none of these; and those of all deliveries in any order.
    pub logs: Option<Vec<String>>,
    pub logs_include: Vec<String>,
    pub no_logs: Vec<String>,
    pub all_logs: Option<Vec<String>>,
    pub outputs: Option<Value>,
    /// Part of them.
    pub task_outputs: Option<Value>,
    pub labels: BTreeMap<String, String>,
    /// All of them, in order; and in any order.
    pub requests: Option<Vec<Request>>,
    pub requests_any: Option<Vec<Request>>,
    /// Most requests that were under way at the same time.
    pub at_once: Option<usize>,
    /// Which requests carry the same derived key.
    pub derived_keys: Option<Vec<usize>>,
    /// From the end of one request to the next.
    pub gaps_ms: Option<Vec<u64>>,
    pub kv: Vec<Entry>,
    pub kv_contains: Vec<Entry>,
    pub kv_missing: Vec<Entry>,
    pub answer: Option<AnswerIs>,
    /// Fields that the answer does not have.
    pub no_header: Vec<String>,
    /// In what is said of the failure.
    pub error_contains: Vec<String>,
    /// Nothing was begun by the last delivery.
    pub refused: Option<Refused>,
    /// Texts that are kept and shown nowhere.
    pub nowhere: Vec<String>,
    /// The flow is not loaded: all of it, in order; or some of it.
    pub diagnostics: Option<Vec<Problem>>,
    pub diagnostics_include: Option<Vec<Problem>>,
}

/// A request that went out: `METHOD address`, or more of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Request {
    Line(String),
    Whole(WholeRequest),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WholeRequest {
    pub method: String,
    pub url: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub body: Option<String>,
    pub body_json: Option<String>,
}

/// The stored answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnswerIs {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub content_type: Option<String>,
    pub body: Option<String>,
    pub body_json: Option<String>,
    pub body_contains: Vec<String>,
}

/// Why nothing was begun.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Refused {
    pub status: Option<u16>,
    pub contains: Vec<String>,
    pub contains_not: Vec<String>,
}

/// A diagnostic, or what is said of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Problem {
    pub path: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub contains: Vec<String>,
    pub nearest: Option<String>,
}

impl Case {
    /// Texts of the flows, the one that gets the deliveries first.
    pub fn flows(&self) -> Vec<String> {
        let file = |name: &String| {
            let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name);
            fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let first = self
            .flow_file
            .as_ref()
            .map_or_else(|| self.flow.clone(), file);
        let more = self.more_flows.iter().cloned();
        std::iter::once(first)
            .chain(more)
            .chain(self.more_flow_files.iter().map(file))
            .collect()
    }

    /// The deliveries, or the one that stands for none.
    pub fn deliveries(&self) -> Vec<Delivery> {
        if self.delivery.is_empty() {
            return vec![Delivery::default()];
        }
        self.delivery.clone()
    }

    /// Whether it is about a flow that is not loaded.
    pub fn is_about_loading(&self) -> bool {
        self.expect.diagnostics.is_some() || self.expect.diagnostics_include.is_some()
    }
}

/// Data: JSON text is read as such.
pub fn data(value: &Value) -> Value {
    match value {
        Value::String(text) => json(text),
        other => other.clone(),
    }
}

/// JSON of a case.
pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}
