//! What beginning an execution comes to, whatever it is begun by: inputs that fit, labels, what is answered if not.

use crate::flow::expression::{Scope, Stop};
use crate::flow::model::{Flow, Property};
use crate::flow::plan::{self, Frame, History, Meta};
use crate::http::admit::Admitted;
use crate::http::code::Code;
use crate::http::problem::{Cause, Problem};
use crate::limits::{MAX_LABEL_CHARS, MAX_LABELS};
use crate::types::{About, Failure, Policy};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The label that carries the key.
const CORRELATION: &str = "system.correlationId";

/// Why nothing is decided yet, or what is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    /// Something has to be looked up first.
    Stop(Stop),
    /// It is refused.
    Refused(Box<Problem>),
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Problem> for Halt {
    fn from(problem: Problem) -> Self {
        Self::Refused(Box::new(problem))
    }
}

/// What a delivery begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Begins {
    /// The task.
    pub admitted: Admitted,
    /// How it is run.
    pub policy: Policy,
    /// What is answered if the task is not there yet: then nothing is begun.
    pub unless: Option<Instead>,
}

/// What is answered where nothing is begun.
#[derive(Clone, Debug, PartialEq)]
pub enum Instead {
    /// 204: a condition does not hold.
    NoContent,
    /// The inputs are not those of the flow.
    Refused(Problem),
}

pub(super) fn unrendered(what: &str, failure: &Failure) -> Problem {
    let detail = format!("{what}: {}", failure.message);
    Problem::new(Code::InputInvalid, detail).with_status(422)
}

/// Everything that is wrong with inputs.
pub(super) fn faults(
    flow: &Flow,
    given: &Map<String, Value>,
    scope: &Scope,
    secrets: &[String],
) -> Result<Vec<Cause>, Halt> {
    let typed = plan::typed(&flow.inputs, given, |property, so_far| {
        let mut roots = scope.roots.clone();
        roots.insert("inputs".to_owned(), Value::Object(so_far.clone()));
        let scope = Scope { roots: &roots, outside: scope.outside };
        Ok(property.render(&scope)?.value)
    });
    let faults = match typed {
        Ok(Ok(_)) => return Ok(Vec::new()),
        Ok(Err(faults)) => faults,
        Err(Stop::Failed(failure)) => {
            let pointer = "inputs".to_owned();
            return Ok(vec![Cause { detail: failure.message, pointer }]);
        }
        Err(stop) => return Err(stop.into()),
    };
    let cause = |fault: plan::InputFault| Cause {
        detail: plan::mask_text(&fault.detail, secrets),
        pointer: fault.id,
    };
    Ok(faults.into_iter().map(cause).collect())
}

pub(super) fn inputs_invalid(wrong: Vec<Cause>) -> Problem {
    let detail = match wrong.as_slice() {
        [one] => format!("{}: {}", one.pointer, one.detail),
        many => format!("The inputs have {} problems; `errors` lists them.", many.len()),
    };
    Problem::new(Code::InputInvalid, detail).with_status(422).errors(wrong)
}

/// Labels that its task can be found by: those of the flow that are no expression, the caller's, and the key.
pub(super) fn labelled(flow: &Flow, mut about: About, key: Option<&str>, given: &Map<String, Value>) -> About {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    let mut put = |name: &str, value: &Value| {
        let cut: String = plan::value_key(value).chars().take(MAX_LABEL_CHARS).collect();
        labels.insert(name.to_owned(), cut);
    };
    for (name, property) in &flow.labels {
        if let Property::Literal(value) = property {
            put(name, value);
        }
    }
    given.iter().for_each(|(name, value)| put(name, value));
    let correlation = labels.remove(CORRELATION).or_else(|| key.map(str::to_owned));
    let most = MAX_LABELS - usize::from(correlation.is_some());
    about.labels.extend(labels.into_iter().take(most));
    about.labels.extend(correlation.map(|key| (CORRELATION.to_owned(), key)));
    about
}

pub(super) fn roots_with(flow: &Flow, meta: &Meta, about: &About) -> Map<String, Value> {
    let labels = about.labels.iter();
    let history = History {
        labels: labels.map(|(name, value)| (name.clone(), value.as_str().into())).collect(),
        ..History::default()
    };
    plan::roots(flow, meta, &history, &Frame::default())
}

pub(super) fn given_of(body: &[u8]) -> Result<Map<String, Value>, String> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match crate::function::from_json(body) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err("the inputs are no JSON object".to_owned()),
        Err(problem) => Err(problem.detail),
    }
}
