//! The flow itself.

use super::{Property, Retry, Task, Trigger};
use serde_json::Value;

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// `[a-zA-Z0-9][a-zA-Z0-9._-]*`.
    pub id: String,
    /// `[a-z0-9][a-z0-9._-]*`.
    pub namespace: String,
    /// What it is for.
    pub description: Option<String>,
    /// Labels, rendered when a task begins.
    pub labels: Vec<(String, Property)>,
    /// Typed inputs.
    pub inputs: Vec<Input>,
    /// `vars`: kept as written; only `render()` renders them.
    pub variables: Vec<(String, Value)>,
    /// Rendered at the end.
    pub outputs: Vec<Output>,
    /// What begins it.
    pub triggers: Vec<Trigger>,
    /// What it does; at least one.
    pub tasks: Vec<Task>,
    /// What it does when one of them has failed.
    pub errors: Vec<Task>,
    /// What it does in the end, in any case.
    pub finally: Vec<Task>,
    /// What it does once its state is known.
    pub after_execution: Vec<Task>,
    /// How many of its tasks may run at once.
    pub concurrency: Option<Concurrency>,
    /// How the whole is tried again (flow level).
    pub retry: Option<Retry>,
    /// Whether it takes no deliveries.
    pub disabled: bool,
    /// The answer of its webhook, if it is to be another one than the document of the execution.
    pub answer: Option<AnswerTemplate>,
}

/// Types of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum InputType {
    String,
    Int,
    Float,
    Bool,
    Select,
    MultiSelect,
    Datetime,
    Date,
    Time,
    Duration,
    Json,
    Yaml,
    Uri,
    Email,
    Array,
    Secret,
}

/// A typed input.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub id: String,
    /// Its type.
    pub kind: InputType,
    /// Type of the items of an array.
    pub item_kind: Option<InputType>,
    /// Whether it must be given (without default).
    pub required: bool,
    /// What it is if it is not given.
    pub defaults: Option<Property>,
    /// Values of a select.
    pub values: Vec<Value>,
    /// Whether a select takes other values too.
    pub allow_custom_value: bool,
    /// Smallest and largest, as written.
    pub min: Option<Value>,
    /// Largest.
    pub max: Option<Value>,
    /// Pattern that a string has to match as a whole.
    pub validator: Option<String>,
    /// What it is for.
    pub description: Option<String>,
}

/// An output of the flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub id: String,
    /// Its type, as for inputs.
    pub kind: Option<InputType>,
    /// Type of the items of an array.
    pub item_kind: Option<InputType>,
    /// What it is.
    pub value: Property,
}

/// What happens to a task that comes when as many run as may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// It waits.
    Queue,
    /// It is cancelled.
    Cancel,
    /// It fails.
    Fail,
}

/// How many may run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// At least 1.
    pub limit: u32,
    /// What happens to the others.
    pub behavior: Overflow,
}

/// The answer of a flow's webhook; rendered when the tasks have ended.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerTemplate {
    /// 200 if there is none.
    pub status: Option<Property>,
    /// Fields.
    pub headers: Vec<(String, Property)>,
    /// A text as it is, anything else as JSON.
    pub body: Option<Property>,
}
