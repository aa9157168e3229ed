//! A flow that has been read and checked. Everything in it is supported, and every expression compiles.

mod flow;
mod task;
mod trigger;

pub use flow::{AnswerTemplate, Concurrency, Flow, Input, InputType, Output, Overflow};
pub use task::{
    Block, Each, Http, HttpOptions, Loop, Pause, Retry, RetryKind, Subflow, Task, Work,
};
pub use trigger::{
    Condition, FlowTrigger, Idempotency, Recover, Schedule, Signature, Trigger, Webhook,
};

use super::expression::Template;
use serde_json::Value;

/// A value of the file in which any text may be an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Property {
    /// Nothing to render in it.
    Literal(Value),
    /// A text with an expression.
    Template(Template),
    /// A list, some of which is to be rendered.
    List(Vec<Property>),
    /// A map, some of whose values are to be rendered. Keys are never expressions.
    Map(Vec<(String, Property)>),
}
