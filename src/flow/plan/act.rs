//! What a task without tasks inside does, with everything in it rendered.

use super::http::{self, HttpAct};
use super::is_true;
use super::kv::{self, KvAct};
use super::pen::Pen;
use super::recorded::{Line, Recorded, State};
use super::roots::labels_of;
use super::subflow::{self, SubflowAct};
use crate::flow::expression::{Scope, Stop};
use crate::flow::kv::KvOp;
use crate::flow::model::{Flow, Property, Task, Work};
use crate::types::Failure;
use serde_json::Value;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Nothing but to note this: no effect outside.
    Note(Recorded),
    /// It fails.
    Fail(Failure),
    /// A request.
    Http(HttpAct),
    /// A message to a key's object.
    Kv(KvAct),
    /// The keys of a namespace.
    KvKeys {
        /// Namespace.
        namespace: String,
        /// Beginning of the keys.
        prefix: String,
    },
    /// It sleeps.
    Sleep {
        /// How long.
        ms: u64,
    },
    /// Another flow.
    Subflow(SubflowAct),
}

/// What a task without tasks inside does; `None` for one with tasks inside. Besides, the secrets that are in it: none
/// of them may be kept.
///
/// # Errors
/// When an expression fails, or needs something first.
pub fn act(flow: &Flow, task: &Task, scope: &Scope) -> Result<Option<(Act, Vec<String>)>, Stop> {
    let pen = Pen::new(scope);
    let act = match &task.work {
        Work::Log { .. }
        | Work::Return { .. }
        | Work::OutputValues { .. }
        | Work::SetVariables { .. }
        | Work::Labels { .. }
        | Work::Fail { .. }
        | Work::Assert { .. }
        | Work::Exit { .. } => pure(&pen, &task.work)?,
        Work::Sleep { duration } => Act::Sleep {
            ms: pen.ms(Some(duration))?.unwrap_or_default(),
        },
        Work::Http(request) => match http::prepare(&pen, request)? {
            Ok(act) => Act::Http(act),
            Err(failure) => Act::Fail(failure),
        },
        Work::KvGet {
            key,
            namespace,
            error_on_missing,
        } => Act::Kv(KvAct {
            namespace: pen.text_or(namespace.as_ref(), &flow.namespace)?,
            key: pen.text(key)?,
            op: KvOp::Get,
            error_on_missing: pen.flag(error_on_missing.as_ref(), false)?,
        }),
        Work::KvDelete {
            key,
            namespace,
            error_on_missing,
        } => Act::Kv(KvAct {
            namespace: pen.text_or(namespace.as_ref(), &flow.namespace)?,
            key: pen.text(key)?,
            op: KvOp::Delete,
            error_on_missing: pen.flag(error_on_missing.as_ref(), false)?,
        }),
        Work::KvSet { .. } => kv::set(&pen, flow, &task.work)?,
        Work::KvGetKeys { prefix, namespace } => Act::KvKeys {
            namespace: pen.text_or(namespace.as_ref(), &flow.namespace)?,
            prefix: pen.text_or(prefix.as_ref(), "")?,
        },
        Work::Subflow(subflow) => Act::Subflow(subflow::begin(&pen, subflow)?),
        Work::If { .. }
        | Work::Switch { .. }
        | Work::Sequential(_)
        | Work::AllowFailure(_)
        | Work::Parallel { .. }
        | Work::ForEach(_)
        | Work::LoopUntil(_)
        | Work::Pause(_) => return Ok(None),
    };
    Ok(Some((act, pen.secrets())))
}

/// What only works something out.
fn pure(pen: &Pen, work: &Work) -> Result<Act, Stop> {
    Ok(match work {
        Work::Log { message, level } => log(pen, message, level.as_ref())?,
        Work::Return { format } => {
            let value = match format {
                Some(format) => Value::String(pen.text(format)?),
                None => Value::Null,
            };
            Act::Note(Recorded::output("value", value))
        }
        Work::OutputValues { values } => Act::Note(Recorded::output("values", pen.value(values)?)),
        Work::SetVariables {
            variables,
            overwrite,
        } => variables_of(pen, variables, *overwrite)?,
        Work::Labels { labels } => {
            let labels = labels_of(&pen.value(labels)?);
            if let Some(name) = labels.keys().find(|name| name.starts_with("system.")) {
                let message = format!(
                    "label {name} cannot be set by a task: system labels are set when a task begins"
                );
                Act::Fail(Failure::terminal("label_reserved", message))
            } else {
                Act::Note(Recorded {
                    labels,
                    ..Recorded::default()
                })
            }
        }
        Work::Fail {
            condition,
            error_message,
        } => fail(pen, condition.as_ref(), error_message.as_ref())?,
        Work::Assert {
            conditions,
            error_message,
        } => assertion(pen, conditions, error_message.as_ref())?,
        Work::Exit { state } => exit(&pen.text_or(state.as_ref(), "SUCCESS")?),
        _ => Act::Note(Recorded::default()),
    })
}

fn log(pen: &Pen, message: &Property, level: Option<&Property>) -> Result<Act, Stop> {
    let level = pen.text_or(level, "INFO")?.to_ascii_uppercase();
    let texts = match message {
        Property::List(items) => items
            .iter()
            .map(|item| pen.text(item))
            .collect::<Result<_, _>>()?,
        one => match pen.value(one)? {
            Value::Array(items) => items.iter().map(super::value_key).collect(),
            _ => vec![pen.text(one)?],
        },
    };
    let logs = texts.into_iter().map(|message| Line {
        level: level.clone(),
        message,
    });
    Ok(Act::Note(Recorded {
        logs: logs.collect(),
        ..Recorded::default()
    }))
}

fn variables_of(pen: &Pen, variables: &Property, overwrite: bool) -> Result<Act, Stop> {
    let Value::Object(variables) = pen.value(variables)? else {
        return Ok(Act::Fail(Failure::terminal(
            "variables_invalid",
            "variables are no map",
        )));
    };
    let there = pen.scope.roots.get("vars").and_then(Value::as_object);
    let taken = variables
        .keys()
        .find(|name| there.is_some_and(|vars| vars.contains_key(*name)));
    if let Some(name) = taken.filter(|_| !overwrite) {
        let message = format!("variable {name} is there already, and overwrite is false");
        return Ok(Act::Fail(Failure::terminal("variable_exists", message)));
    }
    Ok(Act::Note(Recorded {
        variables,
        ..Recorded::default()
    }))
}

fn fail(pen: &Pen, condition: Option<&Property>, message: Option<&Property>) -> Result<Act, Stop> {
    if !pen.flag(condition, true)? {
        return Ok(Act::Note(Recorded::default()));
    }
    let message = pen.text_or(message, "Task failure")?;
    Ok(Act::Fail(Failure::terminal("flow_failed", message)))
}

fn assertion(pen: &Pen, conditions: &Property, message: Option<&Property>) -> Result<Act, Stop> {
    let list = match conditions {
        Property::List(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut broken = Vec::new();
    for condition in list {
        if !is_true(&pen.text(condition)?) {
            broken.push(source(condition));
        }
    }
    if broken.is_empty() {
        return Ok(Act::Note(Recorded::default()));
    }
    let which = broken.join("`, `");
    let message = pen.text_or(message, &format!("these conditions do not hold: `{which}`"))?;
    Ok(Act::Fail(Failure::terminal("assertion_failed", message)))
}

/// As written.
fn source(property: &Property) -> String {
    match property {
        Property::Template(template) => template.source().to_owned(),
        Property::Literal(value) => super::value_key(value),
        Property::List(_) | Property::Map(_) => "…".to_owned(),
    }
}

fn exit(word: &str) -> Act {
    let ends = [
        State::Success,
        State::Warning,
        State::Failed,
        State::Killed,
        State::Cancelled,
    ];
    if let Some(state) = State::of(word).filter(|state| ends.contains(state)) {
        return Act::Note(Recorded {
            exit: Some(state),
            ..Recorded::default()
        });
    }
    let message = format!(
        "{word:?} is no state that an execution can end in: SUCCESS, WARNING, FAILED, KILLED, CANCELLED"
    );
    Act::Fail(Failure::terminal("state_invalid", message))
}
