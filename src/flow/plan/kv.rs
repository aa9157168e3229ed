//! Tasks of the key-value store: what they ask for, and what is made of the answer.

use super::pen::Pen;
use super::recorded::Recorded;
use super::{Act, duration_ms, value_key};
use crate::flow::expression::Stop;
use crate::flow::kv::{KvEntry, KvOp, KvReply, KvType, KvWhen};
use crate::flow::model::{Flow, Work};
use crate::types::Failure;
use serde_json::Value;

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

pub(super) fn set(pen: &Pen, flow: &Flow, work: &Work) -> Result<Act, Stop> {
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
        Some(name) => convert(&value_key(name), value),
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
    let text = value_key(&value);
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
