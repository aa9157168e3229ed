//! What beginning an execution comes to, whatever it is begun by.

use crate::flow::model::{Flow, Property};
use crate::flow::plan::value_key;
use crate::function::InputProblem;
use crate::http::admit::Admitted;
use crate::http::code::Code;
use crate::http::problem::{Cause, Problem};
use crate::limits::{MAX_LABEL_CHARS, MAX_LABELS};
use crate::types::{About, Failure, Policy};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The label that carries the key.
const CORRELATION: &str = "system.correlationId";

/// What a delivery or a call begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Begins {
    /// The task.
    pub admitted: Admitted,
    /// How it is run.
    pub policy: Policy,
}

/// The refusal of inputs: everything that is wrong with them.
pub(super) fn invalid_inputs(problems: Vec<InputProblem>) -> Problem {
    let detail = match problems.as_slice() {
        [one] if one.path.is_empty() => one.detail.clone(),
        [one] => format!("{}: {}", one.path, one.detail),
        many => format!(
            "The inputs have {} problems; `errors` lists them.",
            many.len()
        ),
    };
    let cause = |problem: InputProblem| Cause {
        detail: problem.detail,
        pointer: problem.path,
    };
    let causes = problems.into_iter().map(cause).collect();
    Problem::new(Code::InputInvalid, detail)
        .with_status(422)
        .errors(causes)
}

/// The refusal of a delivery on which an expression of the trigger fails.
pub(super) fn unrendered(failure: &Failure) -> Problem {
    let detail = format!("An expression of the trigger fails: {}", failure.message);
    Problem::new(Code::InputInvalid, detail).with_status(422)
}

/// Labels that its task can be found by: those of the flow that are no expression, the caller's, and the key.
pub fn labelled(
    flow: &Flow,
    mut about: About,
    key: Option<&str>,
    given: &Map<String, Value>,
) -> About {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    let mut put = |name: &str, value: &Value| {
        let cut: String = value_key(value).chars().take(MAX_LABEL_CHARS).collect();
        labels.insert(name.to_owned(), cut);
    };
    for (name, property) in &flow.labels {
        if let Property::Literal(value) = property {
            put(name, value);
        }
    }
    given.iter().for_each(|(name, value)| put(name, value));
    let correlation = labels
        .remove(CORRELATION)
        .or_else(|| key.map(str::to_owned));
    let most = MAX_LABELS - usize::from(correlation.is_some());
    about.labels.extend(labels.into_iter().take(most));
    about
        .labels
        .extend(correlation.map(|key| (CORRELATION.to_owned(), key)));
    about
}
