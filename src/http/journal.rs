//! The records of a task as JSON.

use crate::protocol::{Kind, Open, Outcome, StepRecord};
use crate::types::time::rfc3339;
use crate::types::{Failure, TaskId};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

/// A page of the journal.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The task.
    pub task_id: TaskId,
    /// Its generation.
    pub generation: u64,
    /// The records, in any order.
    pub records: &'a [StepRecord],
    /// Name of the last cell, if there are more.
    pub more: Option<&'a str>,
    /// Now: a sleep whose time has come is over.
    pub now_ms: u64,
}

impl Page<'_> {
    /// The document: the records of the page in the order in which they were made.
    pub fn document(&self) -> Value {
        let mut records: Vec<&StepRecord> = self.records.iter().collect();
        records.sort_by_key(|r| (r.fence, r.place));
        let records: Vec<Value> = records.iter().map(|r| shown(r, self.now_ms)).collect();
        let mut out = json!({
            "task_id": self.task_id.to_string(),
            "generation": self.generation,
            "records": records,
        });
        if let Some(more) = self.more {
            out["next"] = word(more).into();
        }
        out
    }
}

/// The name of a cell as an opaque word for an address.
pub fn word(cell: &str) -> String {
    URL_SAFE_NO_PAD.encode(cell)
}

/// Reads a word that [`word`] wrote.
///
/// ```
/// use onceward::http::journal::{cell, word};
/// assert_eq!(cell(&word("step/0000/0003pay/0000000000")).as_deref(), Some("step/0000/0003pay/0000000000"));
/// assert_eq!(cell("no word"), None);
/// assert_eq!(cell(""), None);
/// ```
pub fn cell(word: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(word).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    (!text.is_empty()).then_some(text)
}

fn shown(record: &StepRecord, now_ms: u64) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| {
        out.insert(name.to_owned(), value);
    };
    put("step", record.id.to_string().into());
    put("kind", kind(record.kind).into());
    put("state", state(record, now_ms).into());
    put("tries", record.tries.into());
    put("at", rfc3339(record.at_ms).into());
    match &record.outcome {
        Outcome::Value(text) => {
            // What is not JSON after all is shown as text.
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
            put("value", value);
        }
        Outcome::Failed(failure) => put("error", error(failure)),
        Outcome::Open(open) => {
            if let Some(due_ms) = open.due_ms {
                put("until", rfc3339(due_ms).into());
            }
            if open.tries > 0 {
                put("tries", open.tries.into());
            }
            if let Some(failure) = &open.failure {
                put("error", error(failure));
            }
            if let Some(child) = open.child {
                put("child", child.to_string().into());
            }
        }
    }
    if let Some(undo) = &record.undo {
        put("undo", undo.handler.as_str().into());
    }
    Value::Object(out)
}

fn error(failure: &Failure) -> Value {
    json!({ "code": failure.code, "message": failure.message })
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Step => "step",
        Kind::Sleep => "sleep",
        Kind::Signal => "signal",
        Kind::Child => "child",
        Kind::Now => "now",
        Kind::Race => "race",
        Kind::Undo => "undo",
    }
}

fn state(record: &StepRecord, now_ms: u64) -> &'static str {
    match &record.outcome {
        Outcome::Value(_) => "succeeded",
        Outcome::Failed(_) => "failed",
        Outcome::Open(open) => open_state(record.kind, open, now_ms),
    }
}

fn open_state(kind: Kind, open: &Open, now_ms: u64) -> &'static str {
    match kind {
        // A sleep is recorded once: it is over when its time has come.
        Kind::Sleep if open.due_ms.is_some_and(|due| due <= now_ms) => "succeeded",
        Kind::Sleep | Kind::Signal | Kind::Child => "waiting",
        Kind::Step | Kind::Undo if !open.in_flight && open.due_ms.is_some() => "waiting",
        Kind::Step | Kind::Now | Kind::Race | Kind::Undo => "open",
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
