//! What a task without tasks inside does, with everything in it rendered.

use super::http::{self, HttpAct};
use super::recorded::{Line, Recorded, State};
use super::roots::labels_of;
use super::{duration_ms, is_true};
use crate::flow::expression::{Scope, Stop};
use crate::flow::kv::{KvEntry, KvOp, KvReply, KvType, KvWhen};
use crate::flow::model::{Flow, Pause, Property, Subflow, Task, Work};
use crate::types::Failure;
use serde_json::{Map, Value};
use std::cell::RefCell;

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

/// A message to a key's object, and what is made of the reply.
#[derive(Clone, Debug, PartialEq)]
pub struct KvAct {
    /// Namespace.
    pub namespace: String,
    /// Key.
    pub key: String,
    /// What is done.
    pub op: KvOp,
    /// Whether a missing key is a failure.
    pub error_on_missing: bool,
}

/// Another flow, and how it is waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowAct {
    /// Namespace.
    pub namespace: String,
    /// Flow.
    pub flow_id: String,
    /// Inputs.
    pub inputs: Map<String, Value>,
    /// Labels, those that it inherits among them.
    pub labels: Map<String, Value>,
    /// Whether its end is waited for.
    pub wait: bool,
    /// Whether its failure is one of the task.
    pub transmit_failed: bool,
}

/// How long a pause lasts, and what it is then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pausing {
    /// `None`: until somebody ends it.
    pub ms: Option<u64>,
    /// `RESUME`, `WARN`, `FAIL`, `CANCEL`.
    pub behavior: String,
}

/// Renders, and remembers the secrets that were asked for.
pub(super) struct Pen<'a, 'b> {
    pub(super) scope: &'a Scope<'b>,
    secrets: RefCell<Vec<String>>,
}

impl<'a, 'b> Pen<'a, 'b> {
    pub(super) fn new(scope: &'a Scope<'b>) -> Self {
        Self {
            scope,
            secrets: RefCell::default(),
        }
    }

    pub(super) fn value(&self, property: &Property) -> Result<Value, Stop> {
        let rendered = property.render(self.scope)?;
        self.secrets.borrow_mut().extend(rendered.secrets);
        Ok(rendered.value)
    }

    pub(super) fn text(&self, property: &Property) -> Result<String, Stop> {
        let (text, secrets) = property.text(self.scope)?;
        self.secrets.borrow_mut().extend(secrets);
        Ok(text)
    }

    pub(super) fn optional(&self, property: Option<&Property>) -> Result<Option<Value>, Stop> {
        property.map(|p| self.value(p)).transpose()
    }

    pub(super) fn text_or(&self, property: Option<&Property>, other: &str) -> Result<String, Stop> {
        property.map_or_else(|| Ok(other.to_owned()), |p| self.text(p))
    }

    pub(super) fn flag(&self, property: Option<&Property>, other: bool) -> Result<bool, Stop> {
        property.map_or(Ok(other), |p| Ok(is_true(&self.text(p)?)))
    }

    pub(super) fn ms(&self, property: Option<&Property>) -> Result<Option<u64>, Stop> {
        let value = self.optional(property)?.filter(|value| !value.is_null());
        value
            .map(|value| duration_ms(&value).map_err(Stop::Failed))
            .transpose()
    }

    pub(super) fn secrets(self) -> Vec<String> {
        self.secrets.into_inner()
    }
}

/// What a task without tasks inside does; `None` for one with tasks inside. Besides, the secrets that are in it: none
/// of them may be kept.
///
/// # Errors
/// When an expression fails, or needs something first.
pub fn act(flow: &Flow, task: &Task, scope: &Scope) -> Result<Option<(Act, Vec<String>)>, Stop> {
    let pen = Pen::new(scope);
    let act = match &task.work {
        Work::Log { message, level } => log(&pen, message, level.as_ref())?,
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
        } => variables_of(&pen, variables, *overwrite)?,
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
        } => fail(&pen, condition.as_ref(), error_message.as_ref())?,
        Work::Assert {
            conditions,
            error_message,
        } => assertion(&pen, conditions, error_message.as_ref())?,
        Work::Exit { state } => exit(&pen.text_or(state.as_ref(), "SUCCESS")?),
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
        Work::KvSet { .. } => set(&pen, flow, &task.work)?,
        Work::KvGetKeys { prefix, namespace } => Act::KvKeys {
            namespace: pen.text_or(namespace.as_ref(), &flow.namespace)?,
            prefix: pen.text_or(prefix.as_ref(), "")?,
        },
        Work::Subflow(subflow) => Act::Subflow(begin(&pen, subflow)?),
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
    match State::of(word) {
        Some(
            state @ (State::Success
            | State::Warning
            | State::Failed
            | State::Killed
            | State::Cancelled),
        ) => Act::Note(Recorded {
            exit: Some(state),
            ..Recorded::default()
        }),
        _ => {
            let message = format!(
                "{word:?} is no state that an execution can end in: SUCCESS, WARNING, FAILED, KILLED, CANCELLED"
            );
            Act::Fail(Failure::terminal("state_invalid", message))
        }
    }
}

fn set(pen: &Pen, flow: &Flow, work: &Work) -> Result<Act, Stop> {
    let Work::KvSet {
        key,
        value,
        namespace,
        overwrite,
        ttl,
        kind,
    } = work
    else {
        return Ok(Act::Note(Recorded::default()));
    };
    let value = pen.value(value)?;
    let kind = match pen.optional(kind.as_ref())? {
        None | Some(Value::Null) => None,
        Some(name) => Some(name),
    };
    let typed = match &kind {
        None => Ok((kind_of(&value), value)),
        Some(name) => convert(&super::value_key(name), value),
    };
    let (kind, value) = match typed {
        Ok(typed) => typed,
        Err(failure) => return Ok(Act::Fail(failure)),
    };
    let when = if pen.flag(overwrite.as_ref(), true)? {
        KvWhen::Always
    } else {
        KvWhen::Missing
    };
    Ok(Act::Kv(KvAct {
        namespace: pen.text_or(namespace.as_ref(), &flow.namespace)?,
        key: pen.text(key)?,
        op: KvOp::Set {
            value,
            kind,
            ttl_ms: pen.ms(ttl.as_ref())?,
            when,
        },
        error_on_missing: false,
    }))
}

fn kind_of(value: &Value) -> KvType {
    match value {
        Value::Number(_) => KvType::Number,
        Value::Bool(_) => KvType::Boolean,
        Value::String(_) => KvType::String,
        Value::Null | Value::Array(_) | Value::Object(_) => KvType::Json,
    }
}

/// A value as the type that was asked for.
fn convert(word: &str, value: Value) -> Result<(KvType, Value), Failure> {
    let wrong = |what: &str| {
        let message = format!("the value is no {what}");
        Failure::terminal("kv_type", message)
    };
    let text = super::value_key(&value);
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    let dated = |ok: bool, kind, what| {
        ok.then(|| (kind, text.clone().into()))
            .ok_or_else(|| wrong(what))
    };
    match word.trim().to_ascii_uppercase().as_str() {
        "STRING" => Ok((KvType::String, text.into())),
        "NUMBER" => {
            let number = parsed(text.trim()).filter(Value::is_number);
            Ok((KvType::Number, number.ok_or_else(|| wrong("number"))?))
        }
        "BOOLEAN" => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Ok((KvType::Boolean, true.into())),
            "false" => Ok((KvType::Boolean, false.into())),
            _ => Err(wrong("boolean")),
        },
        "JSON" => match value {
            Value::String(text) => Ok((KvType::Json, parsed(&text).ok_or_else(|| wrong("JSON"))?)),
            other => Ok((KvType::Json, other)),
        },
        "DATETIME" => {
            let ok = text.parse::<jiff::Timestamp>().is_ok()
                || text.parse::<jiff::civil::DateTime>().is_ok();
            dated(ok, KvType::Datetime, "date and time of ISO 8601")
        }
        "DATE" => {
            let ok = text.parse::<jiff::civil::Date>().is_ok();
            dated(ok, KvType::Date, "date of ISO 8601")
        }
        "DURATION" => {
            let ok = duration_ms(&Value::String(text.clone())).is_ok();
            dated(ok, KvType::Duration, "duration of ISO 8601")
        }
        other => {
            let message = format!(
                "{other:?} is no type of a value: NUMBER, BOOLEAN, STRING, DATETIME, DATE, DURATION, JSON"
            );
            Err(Failure::terminal("kv_type", message))
        }
    }
}

impl KvAct {
    /// What is recorded of the reply.
    ///
    /// # Errors
    /// Terminal: `kv_missing` for a key that has to be there, `kv_exists` for one that must not be.
    pub fn record(&self, reply: KvReply) -> Result<Recorded, Failure> {
        let (namespace, key) = (&self.namespace, &self.key);
        let missing = || {
            let message = format!("no key {key:?} is there in namespace {namespace}");
            Failure::terminal("kv_missing", message)
        };
        match reply {
            KvReply::Found(None) | KvReply::Deleted(false) if self.error_on_missing => {
                Err(missing())
            }
            KvReply::Found(entry) => Ok(Recorded::output(
                "value",
                entry.map_or(Value::Null, |entry: KvEntry| entry.value),
            )),
            KvReply::Deleted(was_there) => Ok(Recorded::output("deleted", was_there.into())),
            KvReply::Set { .. } => Ok(Recorded::default()),
            KvReply::Refused(_) => {
                let message = format!(
                    "key {key:?} is there already in namespace {namespace}, and overwrite is false"
                );
                Err(Failure::terminal("kv_exists", message))
            }
        }
    }
}

fn begin(pen: &Pen, subflow: &Subflow) -> Result<SubflowAct, Stop> {
    let inputs = match pen.optional(subflow.inputs.as_ref())? {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let mut labels = Map::new();
    if subflow.inherit_labels
        && let Some(own) = pen.scope.roots.get("labels")
    {
        flatten("", own, &mut labels);
    }
    // A chain of executions has one of these.
    let correlation = pen
        .scope
        .roots
        .get("labels")
        .and_then(|l| l.pointer("/system/correlationId"));
    labels.retain(|name, _| !name.starts_with("system."));
    if let Some(correlation) = correlation {
        labels.insert("system.correlationId".to_owned(), correlation.clone());
    }
    if let Some(more) = pen.optional(subflow.labels.as_ref())? {
        labels.extend(labels_of(&more));
    }
    Ok(SubflowAct {
        namespace: pen.text(&subflow.namespace)?,
        flow_id: pen.text(&subflow.flow_id)?,
        inputs,
        labels,
        wait: pen.flag(subflow.wait.as_ref(), true)?,
        transmit_failed: pen.flag(subflow.transmit_failed.as_ref(), true)?,
    })
}

fn flatten(prefix: &str, value: &Value, out: &mut Map<String, Value>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let name = if prefix.is_empty() {
                    name.clone()
                } else {
                    format!("{prefix}.{name}")
                };
                flatten(&name, value, out);
            }
        }
        other => {
            out.insert(prefix.to_owned(), other.clone());
        }
    }
}

impl Pausing {
    /// How long a pause lasts.
    ///
    /// # Errors
    /// As [`act`].
    pub fn of(pause: &Pause, scope: &Scope) -> Result<Self, Stop> {
        let pen = Pen::new(scope);
        let behavior = pen
            .text_or(pause.behavior.as_ref(), "RESUME")?
            .to_ascii_uppercase();
        if !["RESUME", "WARN", "FAIL", "CANCEL"].contains(&behavior.as_str()) {
            let message =
                format!("{behavior:?} is no behavior of a pause: RESUME, WARN, FAIL, CANCEL");
            return Err(Stop::Failed(Failure::terminal("behavior_invalid", message)));
        }
        Ok(Self {
            ms: pen.ms(pause.duration.as_ref())?,
            behavior,
        })
    }
}
