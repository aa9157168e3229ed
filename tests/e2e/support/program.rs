//! Programs for the lab function.

use onceward::types::{TaskKey, TaskKind};
use serde_json::{Value, json};

/// A program of these steps, with the runtime's own configuration.
pub fn program(steps: impl IntoIterator<Item = Value>) -> Value {
    json!({ "steps": steps.into_iter().collect::<Vec<_>>() })
}

/// A step that calls a URL.
pub fn call(name: &str, url: impl Into<String>) -> Value {
    json!({ "do": "call", "name": name, "url": url.into() })
}

pub fn fail(kind: &str) -> Value {
    json!({ "do": "fail", "kind": kind, "message": "on purpose" })
}

pub fn value(name: &str, value: impl Into<Value>) -> Value {
    json!({ "do": "value", "name": name, "value": value.into() })
}

/// A step that sleeps for a duration.
pub fn sleep(name: &str, time: &str) -> Value {
    json!({ "do": "sleep", "name": name, "for": time })
}

/// A step that waits for a signal of its own name.
pub fn signal(name: &str) -> Value {
    json!({ "do": "signal", "name": name })
}

pub fn repeat(name: &str, times: u32, step: &Value) -> Value {
    json!({ "do": "repeat", "name": name, "times": times, "step": step })
}

pub fn parallel<const N: usize>(name: &str, branches: [Vec<Value>; N]) -> Value {
    let branches = Value::from(branches.map(Value::from).to_vec());
    json!({ "do": "parallel", "name": name, "branches": branches })
}

/// A step that runs another program under a key of its own, and waits for its end.
pub fn child(name: &str, key: &str, program: &Value) -> Value {
    json!({ "do": "child", "name": name, "function": "lab", "key": key, "input": program })
}

/// The id of a task that a `child` step begins under this key.
pub fn child_id(key: &str) -> String {
    TaskKey::new(TaskKind::Function, "lab", "", key)
        .task_id()
        .to_string()
}

/// Ways to finish a program or a step.
pub trait Settings {
    /// Sets one number of the configuration.
    fn set(self, name: &str, value: impl Into<Value>) -> Self;
    /// Sets the function's own answer.
    fn answer(self, answer: Value) -> Self;
    /// Short times: a lost lease is noticed after seven seconds. Not shorter, since a step that takes
    /// more than 2.4 s then has timed out, and a busy machine is slow.
    fn short(self) -> Self;
    /// Sets a member of a step.
    fn with(self, name: &str, value: impl Into<Value>) -> Self;
    /// Has a call undone by a call of this URL, with the outcome as its body.
    fn undo(self, url: String) -> Self;
}

impl Settings for Value {
    fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self["config"][name] = value.into();
        self
    }

    fn answer(mut self, answer: Value) -> Self {
        self["answer"] = answer;
        self
    }

    fn short(self) -> Self {
        self.set("respond_within", "500ms")
            .set("slice_budget", "4s")
            .set("slice_cut", "5s")
            .set("lease", "7s")
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self[name] = value.into();
        self
    }

    fn undo(self, url: String) -> Self {
        self.with("undo", json!({ "url": url }))
    }
}
