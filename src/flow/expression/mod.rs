//! Expressions `{{ … }}`: Pebble's language on minijinja.

use crate::types::Failure;
use serde_json::{Map, Value};
use uuid::Uuid;

/// What an expression needs beyond its variables.
pub trait Outside {
    /// A secret of the deployment, by name.
    fn secret(&self, name: &str) -> Option<String>;
    /// A value of the key-value store: `None` while it has not been looked up, `Some(None)` if there is no such key.
    fn kv(&self, namespace: &str, key: &str) -> Option<Option<Value>>;
    /// The recorded time in milliseconds since 1970: `None` while there is none.
    fn now_ms(&self) -> Option<u64>;
    /// A fresh UUID, the same in each run of the task.
    fn uuid(&self) -> Uuid;
}

/// The variables that an expression sees, and what it may ask for.
pub struct Scope<'a> {
    /// `flow`, `execution`, `inputs`, `outputs`, `trigger`, …
    pub roots: &'a Map<String, Value>,
    /// The outside.
    pub outside: &'a dyn Outside,
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The expression fails: `expression_failed`, `variable_missing`, `secret_missing`, …; always terminal.
    Failed(Failure),
    /// A key has to be looked up first; then the same is rendered again.
    NeedsKv {
        /// Namespace.
        namespace: String,
        /// Key.
        key: String,
    },
    /// The time has to be recorded first; then the same is rendered again.
    NeedsNow,
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateProblem {
    /// Where in its text, in bytes.
    pub offset: usize,
    /// What.
    pub detail: String,
    /// The nearest thing that is supported.
    pub nearest: Option<String>,
}

/// A variable that a template names: `outputs['call'].body` is root `outputs`, path `call`, `body`. A part that is
/// not written down ends the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// `outputs`.
    pub root: String,
    /// What stands behind it.
    pub path: Vec<String>,
    /// Where in the text, in bytes.
    pub offset: usize,
    /// Whether a missing one is allowed for there (`??`, `is defined`).
    pub may_be_missing: bool,
}

/// What came of rendering.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The value: text, or the type of a single expression.
    pub value: Value,
    /// Secrets that were asked for: none of these texts may be kept or shown.
    pub secrets: Vec<String>,
}

/// A text with expressions, compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    source: String,
}

impl Template {
    /// The text as written.
    pub fn source(&self) -> &str {
        &self.source
    }
}
