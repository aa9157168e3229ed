//! Programs for the lab function.

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

/// Ways to finish a program.
pub trait Settings {
    /// Sets one number of the configuration.
    fn set(self, name: &str, value: impl Into<Value>) -> Self;
    /// Sets the function's own answer.
    fn answer(self, answer: Value) -> Self;
    /// Short times: a lost lease is noticed after seven seconds. Not shorter, since a step that takes
    /// more than 2.4 s then has timed out, and a busy machine is slow.
    fn short(self) -> Self;
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
}
