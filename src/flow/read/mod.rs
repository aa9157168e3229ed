//! From a file to a flow. Whatever is wrong is told at once, each with its place; a flow that comes out has nothing in
//! it that is not supported.

mod defaults;
mod fields;
mod flow;
mod input;
mod names;
mod reader;
mod references;
mod rendered;
mod spec;
mod task;
mod trigger;
mod types;
mod value;

pub(in crate::flow) use defaults::DEFAULT;
pub(in crate::flow) use flow::FLOW;
pub(in crate::flow) use input::{INPUT, OUTPUT, TYPES};
pub(in crate::flow) use names::UNSUPPORTED;
pub(in crate::flow) use references::ROOTS;
pub(in crate::flow) use spec::{About, Kind, PropertySpec};
pub(in crate::flow) use task::COMMON;
pub(in crate::flow) use types::{
    CONDITION, CONDITIONS, IDEMPOTENCY, PRECONDITION_FLOW, PRECONDITIONS, RETRY, TRIGGER, TRIGGERS,
    tasks,
};

use super::diagnostic::Diagnostic;
use super::model::Flow;
use super::yaml;
use crate::limits::MAX_DIAGNOSTICS;
use reader::Reader;

/// Reads a flow.
///
/// ```
/// # use onceward::flow::read::read;
/// let flow = read("
/// id: hello
/// namespace: company.team
/// tasks:
///   - id: greet
///     type: io.kestra.plugin.core.log.Log
///     message: Hello
/// ").expect("a flow");
/// assert_eq!(flow.tasks[0].id, "greet");
///
/// let problems = read("
/// id: hello
/// namespace: company.team
/// tasks:
///   - id: greet
///     type: io.kestra.plugin.core.log.Log
///     mesage: Hello
/// ").expect_err("problems");
/// assert_eq!(problems[0].to_string(), "7:5 tasks[0].mesage: `mesage` is no property of `log.Log`. Nearest: message.");
/// ```
///
/// # Errors
/// All that is wrong with it, in the order of the file.
pub fn read(text: &str) -> Result<Flow, Vec<Diagnostic>> {
    let parsed = yaml::parse(text);
    let Some(root) = parsed.root else {
        return Err(told(parsed.problems));
    };
    let mut reader = Reader::new(text);
    reader.problems = parsed.problems;
    let flow = flow::flow(&mut reader, &root);
    match flow {
        Some(flow) if reader.problems.is_empty() => Ok(flow),
        _ => Err(told(reader.problems)),
    }
}

/// In the order of the file, each once, and not too many.
fn told(mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    problems.sort_by_key(|problem| problem.at);
    problems.dedup_by(|a, b| a.at == b.at && a.detail == b.detail);
    problems.truncate(MAX_DIAGNOSTICS);
    problems
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;

#[cfg(test)]
mod hostile_tests;

#[cfg(test)]
mod mistakes_tests;
