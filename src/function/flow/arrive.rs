//! A delivery at one of a flow's webhooks: is it one, what is its key, what does its task run on? Asked before
//! anything is written.

use super::input::{Begun, FlowInput, FlowRef};
use crate::flow::expression::{Outside, Scope, Stop};
use crate::flow::model::{Condition, Flow, Trigger, Webhook};
use crate::flow::plan::{self, Frame, History, Meta, Received, is_true, key_of, typed};
use crate::function::InputProblem;
use crate::types::{Failure, Headers};
use serde_json::{Map, Value, json};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

/// A delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Method.
    pub method: String,
    /// Query, without its question mark.
    pub query: String,
    /// What stands behind the key in the address.
    pub path: String,
    /// Fields that are kept: neither credentials nor signatures.
    pub headers: Headers,
    /// Bytes.
    pub body: Vec<u8>,
    /// The idempotency key that it came with, if the trigger has no expression for it.
    pub key: Option<String>,
}

/// What is made of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrived {
    /// A task is begun, or joined.
    Begin {
        /// Its key: of the delivery, or none where each delivery is a task of its own.
        key: Option<String>,
        /// What it runs on.
        input: Box<FlowInput>,
    },
    /// The trigger's conditions do not hold: there is nothing to do.
    NotMeant,
    /// It has no key, and the trigger wants one.
    NoKey,
    /// Its inputs are not those of the flow.
    Invalid(Vec<InputProblem>),
    /// An expression of the trigger fails on it.
    Failed(Failure),
}

/// What expressions of a trigger may ask for: secrets. Keys and the time are for tasks.
pub struct Secrets<'a>(pub &'a dyn Fn(&str) -> Option<String>);

impl Outside for Secrets<'_> {
    fn secret(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    fn kv(&self, _: &str, _: &str) -> Option<Option<Value>> {
        None
    }

    fn now_ms(&self) -> Option<u64> {
        None
    }

    fn uuid(&self) -> Uuid {
        Uuid::nil()
    }
}

/// The webhook that has this key; compared in constant time, all of them.
pub fn webhook_by_key<'f>(flow: &'f Flow, key: &str, secrets: &Secrets) -> Option<&'f Webhook> {
    let roots = roots_of(flow, &Value::Null);
    let scope = Scope {
        roots: &roots,
        outside: secrets,
    };
    let mut found = None;
    for trigger in &flow.triggers {
        let Trigger::Webhook(webhook) = trigger else {
            continue;
        };
        let Ok((wanted, _)) = webhook.key.text(&scope) else {
            continue;
        };
        let wanted = wanted.trim();
        let same = !wanted.is_empty() && bool::from(wanted.as_bytes().ct_eq(key.trim().as_bytes()));
        if same && found.is_none() {
            found = Some(webhook);
        }
    }
    found
}

pub(super) fn roots_of(flow: &Flow, trigger: &Value) -> Map<String, Value> {
    let meta = Meta {
        trigger: trigger.clone(),
        ..Meta::default()
    };
    let mut roots = plan::roots(flow, &meta, &History::default(), &Frame::default());
    // There is no execution yet.
    for root in [
        "execution",
        "taskrun",
        "task",
        "outputs",
        "tasks",
        "inputs",
        "labels",
    ] {
        roots.remove(root);
    }
    roots
}

/// What is made of a delivery at this webhook.
pub fn arrive(
    (flow, of): (&Flow, &FlowRef),
    webhook: &Webhook,
    arrival: Arrival,
    secrets: &Secrets,
) -> Arrived {
    let received = Received {
        method: arrival.method.clone(),
        query: arrival.query.clone(),
        path: arrival.path.clone(),
        headers: arrival.headers.clone(),
        body: arrival.body.clone(),
    };
    let trigger = plan::variables(webhook, &received);
    let roots = roots_of(flow, &trigger);
    let scope = Scope {
        roots: &roots,
        outside: secrets,
    };
    match hold(&webhook.conditions, &scope) {
        Ok(true) => {}
        Ok(false) => return Arrived::NotMeant,
        Err(failure) => return Arrived::Failed(failure),
    }
    let key = match key_of(webhook, &scope) {
        Ok(key) => key.filter(|key| !key.is_empty()).or(arrival.key),
        Err(stop) => return Arrived::Failed(failure_of(stop)),
    };
    if key.is_none() && webhook.idempotency.on {
        return Arrived::NoKey;
    }
    match inputs(flow, webhook, &scope) {
        Ok(problems) if problems.is_empty() => {}
        Ok(problems) => return Arrived::Invalid(problems),
        Err(failure) => return Arrived::Failed(failure),
    }
    let input = FlowInput {
        flow: of.clone(),
        begun: Begun::Webhook {
            trigger: webhook.id.clone(),
            method: arrival.method,
            query: arrival.query,
            path: arrival.path,
        },
        key: key.clone(),
        queued: !webhook.idempotency.on,
        headers: arrival.headers,
        body: arrival.body,
        ..FlowInput::default()
    };
    Arrived::Begin {
        key: key.filter(|_| webhook.idempotency.on),
        input: Box::new(input),
    }
}

/// Whether all of them hold.
fn hold(conditions: &[Condition], scope: &Scope) -> Result<bool, Failure> {
    for condition in conditions {
        if !holds(condition, scope)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn holds(condition: &Condition, scope: &Scope) -> Result<bool, Failure> {
    Ok(match condition {
        Condition::Expression(template) => is_true(&template.text(scope).map_err(failure_of)?.0),
        Condition::Not(inner) => !hold(inner, scope)?,
        Condition::Or(inner) => {
            for condition in inner {
                if holds(condition, scope)? {
                    return Ok(true);
                }
            }
            false
        }
        // Of executions and of days: a delivery has neither.
        Condition::ExecutionStatus { .. }
        | Condition::ExecutionNamespace { .. }
        | Condition::ExecutionFlow { .. }
        | Condition::DayWeek { .. } => true,
    })
}

fn failure_of(stop: Stop) -> Failure {
    match stop {
        Stop::Failed(failure) => failure,
        Stop::NeedsKv { .. } | Stop::NeedsNow => {
            let message =
                "a trigger's expressions see the delivery and secrets: neither kv() nor now()";
            Failure::terminal("expression_failed", message)
        }
    }
}

/// What is wrong with the inputs that the trigger makes of the delivery. A default that needs more than the delivery is
/// left to the task.
fn inputs(flow: &Flow, webhook: &Webhook, scope: &Scope) -> Result<Vec<InputProblem>, Failure> {
    let mut given = Map::new();
    for (name, property) in &webhook.inputs {
        given.insert(
            name.clone(),
            property.render(scope).map_err(failure_of)?.value,
        );
    }
    check_inputs(flow, &given, scope)
}

/// What is wrong with these inputs of a flow.
///
/// # Errors
/// When a default cannot be rendered.
pub fn check_inputs(
    flow: &Flow,
    given: &Map<String, Value>,
    scope: &Scope,
) -> Result<Vec<InputProblem>, Failure> {
    let checked = typed(&flow.inputs, given, |property, so_far| {
        let mut roots = scope.roots.clone();
        roots.insert("inputs".to_owned(), Value::Object(so_far.clone()));
        let scope = Scope {
            roots: &roots,
            outside: scope.outside,
        };
        Ok(property.render(&scope)?.value)
    });
    match checked {
        Ok(Ok(_)) | Err(Stop::NeedsKv { .. } | Stop::NeedsNow) => Ok(Vec::new()),
        Ok(Err(faults)) => Ok(faults
            .into_iter()
            .map(|fault| InputProblem {
                path: format!("inputs.{}", fault.id),
                detail: fault.detail,
            })
            .collect()),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

/// The same for a call: a body that holds the inputs.
///
/// # Errors
/// As [`check_inputs`].
pub fn check_call(
    flow: &Flow,
    body: &[u8],
    secrets: &Secrets,
) -> Result<Vec<InputProblem>, Failure> {
    let value = if body.iter().all(u8::is_ascii_whitespace) {
        json!({})
    } else {
        match crate::function::from_json(body) {
            Ok(value) => value,
            Err(problem) => return Ok(vec![problem]),
        }
    };
    let Value::Object(given) = value else {
        let detail = "the inputs are no JSON object".to_owned();
        return Ok(vec![InputProblem {
            path: String::new(),
            detail,
        }]);
    };
    let roots = roots_of(flow, &Value::Null);
    check_inputs(
        flow,
        &given,
        &Scope {
            roots: &roots,
            outside: secrets,
        },
    )
}
