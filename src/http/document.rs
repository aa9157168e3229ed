//! A task as JSON, for senders and operators.

use super::waiting::{MismatchDocument, WaitingDocument};
pub use super::words::{CancelWord, TaskState, UndoneWord};
use crate::protocol::{State, Summary};
use crate::types::time::rfc3339;
use crate::types::{Answer, Cost, TaskId, TaskKind, prices};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A step that was not undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct NotUndoneDocument {
    /// The step, if its name is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// For programs.
    pub code: String,
    /// For people.
    pub message: String,
}

/// Why the last attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct ErrorDocument {
    /// For programs.
    pub code: String,
    /// For people.
    pub message: String,
    /// The step that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// A task. Milliseconds inside, RFC 3339 in the JSON; what isn't known is left out.
///
/// ```
/// use onceward::http::document::{TaskDocument, TaskState};
/// use onceward::types::{TaskKey, TaskKind};
/// let key = TaskKey::new(TaskKind::Source, "inbox", "", "k1");
/// let document = TaskDocument::new(&key, "greet", TaskState::Running, 0);
/// let json = serde_json::to_value(&document).unwrap();
/// assert_eq!(json["state"], "running");
/// assert_eq!(json["created_at"], "1970-01-01T00:00:00.000Z");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct TaskDocument {
    /// Its id.
    #[serde(serialize_with = "id")]
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String, format = Uuid))]
    pub task_id: TaskId,
    /// Where it stands.
    pub state: TaskState,
    /// Of a failed task: whether a new delivery goes on from the last checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumable: Option<bool>,
    /// The function that runs.
    pub function: String,
    /// Source or function.
    pub kind: TaskKind,
    /// Name of the source or function.
    pub name: String,
    /// Tenant label, if it has one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The idempotency key.
    pub key: String,
    /// Accepting time in ms, or later: grows when the key starts over.
    pub generation: u64,
    /// Attempts since the last progress, the running one included.
    pub attempts: u32,
    /// When it was accepted.
    #[serde(rename = "created_at", serialize_with = "time")]
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String, format = DateTime))]
    pub created_ms: u64,
    /// When its state changed last.
    #[serde(rename = "updated_at", serialize_with = "time")]
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String, format = DateTime))]
    pub updated_ms: u64,
    /// When it ended.
    #[serde(
        rename = "finished_at",
        skip_serializing_if = "Option::is_none",
        serialize_with = "maybe_time"
    )]
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = Option<String>, format = DateTime))]
    pub finished_ms: Option<u64>,
    /// From then on the key is new.
    #[serde(
        rename = "expires_at",
        skip_serializing_if = "Option::is_none",
        serialize_with = "maybe_time"
    )]
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = Option<String>, format = DateTime))]
    pub expires_ms: Option<u64>,
    /// What it waits for; of several, what comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingDocument>,
    /// Everything that it waits for, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<WaitingDocument>,
    /// How the code no longer fits the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<MismatchDocument>,
    /// What came of undoing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone: Option<UndoneWord>,
    /// What was not undone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_undone: Vec<NotUndoneDocument>,
    /// What became of the wish to have it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<CancelWord>,
    /// Signals that nobody has waited for yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread_signals: Option<u32>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDocument>,
    /// Status of the stored answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_status: Option<u16>,
    /// Repeated deliveries so far; approximate, since a duplicate costs no write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// Input and journal are no longer kept, the answer is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub payload_dropped: bool,
    /// What it can be found by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The trace that its first delivery came with (W3C Trace Context).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Who works on it, and until when nobody else may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<LockDocument>,
    /// What it has cost so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostDocument>,
}

/// The lock of a running task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct LockDocument {
    /// How often it was taken so far: names its holder in logs.
    pub fence: u64,
    /// When it is free again, should its holder not be heard of.
    #[serde(rename = "until", serialize_with = "time")]
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String, format = DateTime))]
    pub until_ms: u64,
}

/// What a task has cost its object and D1; approximate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct CostDocument {
    /// Messages to its object, and runs of the alarm.
    pub object_requests: u64,
    /// Rows written to the object's storage.
    pub object_rows: u64,
    /// Wall time of the object at work, in milliseconds.
    pub object_ms: u64,
    /// Rows written to D1.
    pub d1_rows: u64,
    /// What a million of these would cost, in US dollars, beyond what is included in the plan.
    pub usd_per_million: f64,
}

impl Eq for CostDocument {}

impl From<Cost> for CostDocument {
    fn from(cost: Cost) -> Self {
        Self {
            object_requests: cost.requests,
            object_rows: cost.rows,
            object_ms: cost.ms,
            d1_rows: cost.d1_rows,
            usd_per_million: prices::usd_per_million(cost),
        }
    }
}

impl TaskDocument {
    /// A task that was just accepted.
    pub fn new(key: &crate::types::TaskKey, function: &str, state: TaskState, now_ms: u64) -> Self {
        Self {
            task_id: key.task_id(),
            state,
            resumable: None,
            function: function.to_owned(),
            kind: key.kind,
            name: key.name.clone(),
            tenant: key.tenant.clone(),
            key: key.key.clone(),
            generation: now_ms,
            attempts: 0,
            created_ms: now_ms,
            updated_ms: now_ms,
            finished_ms: None,
            expires_ms: None,
            waiting: None,
            waiting_for: Vec::new(),
            mismatch: None,
            undone: None,
            not_undone: Vec::new(),
            cancel: None,
            unread_signals: None,
            error: None,
            answer_status: None,
            duplicates: Some(0),
            payload_dropped: false,
            labels: BTreeMap::new(),
            trace_id: None,
            lock: None,
            cost: None,
        }
    }

    /// From what the object says of its task.
    pub fn of(summary: &Summary) -> Self {
        let state = TaskState::of(summary);
        let resumable = match &summary.state {
            State::Failed { resumable } => Some(*resumable),
            State::Forgotten => Some(false),
            State::Running | State::Suspended(_) | State::Succeeded | State::Cancelled => None,
        };
        let mut waits = WaitingDocument::all(&summary.state);
        let waiting = waits.first().cloned();
        if waits.len() < 2 {
            waits.clear();
        }
        Self {
            resumable,
            generation: summary.generation,
            attempts: summary.attempts,
            updated_ms: summary.updated_ms,
            finished_ms: summary.finished_ms,
            // While a success is being undone it does not expire.
            expires_ms: summary.expires_ms.filter(|_| summary.ending.is_none()),
            waiting,
            waiting_for: waits,
            mismatch: MismatchDocument::of(&summary.state),
            undone: undone_word(summary),
            not_undone: not_undone(summary),
            cancel: cancel_word(summary),
            unread_signals: Some(summary.unread).filter(|count| *count > 0),
            error: error(summary),
            answer_status: summary.answer_status,
            duplicates: Some(summary.duplicates),
            payload_dropped: summary.stripped,
            labels: summary.about.labels.clone(),
            trace_id: summary.about.trace.as_ref().map(|trace| trace.id.clone()),
            lock: summary.lease_ends_ms.map(|until_ms| LockDocument {
                fence: summary.fence,
                until_ms,
            }),
            cost: Some(summary.cost.into()),
            ..Self::new(&summary.key, &summary.function, state, summary.created_ms)
        }
    }

    /// The address of the task.
    pub fn location(&self) -> String {
        format!("/v1/tasks/{}", self.task_id)
    }

    /// The document as an answer, never to be cached: the task moves on.
    pub fn to_answer(&self, status: u16) -> Answer {
        // A document holds no map with keys that are no text, and no number that JSON lacks.
        let value = serde_json::to_value(self).unwrap_or_default();
        let mut answer = Answer::json(status, &value);
        answer.headers.push("cache-control", "no-store");
        answer
            .headers
            .push("onceward-task-id", self.task_id.to_string());
        answer
    }
}

fn error(summary: &Summary) -> Option<ErrorDocument> {
    let failure = summary.failure.as_ref()?;
    Some(ErrorDocument {
        code: failure.code.clone(),
        message: failure.message.clone(),
        step: failure.step.as_ref().map(ToString::to_string),
    })
}

fn undone_word(summary: &Summary) -> Option<UndoneWord> {
    let undone = summary.undone.as_ref()?;
    Some(if undone.is_complete() {
        UndoneWord::Complete
    } else {
        UndoneWord::Partial
    })
}

fn cancel_word(summary: &Summary) -> Option<CancelWord> {
    let cancel = summary.cancel.as_ref()?;
    Some(if cancel.too_late {
        CancelWord::TooLate
    } else {
        CancelWord::Requested
    })
}

fn not_undone(summary: &Summary) -> Vec<NotUndoneDocument> {
    let left = summary.undone.iter().flat_map(|undone| &undone.not_undone);
    left.map(|left| NotUndoneDocument {
        step: left.step.as_ref().map(ToString::to_string),
        code: left.code.clone(),
        message: left.message.clone(),
    })
    .collect()
}

pub(super) fn id<S: Serializer>(id: &TaskId, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(id)
}

// The signatures of the functions below are serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn time<S: Serializer>(at_ms: &u64, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&rfc3339(*at_ms))
}

#[allow(clippy::ref_option)]
pub(super) fn maybe_time<S: Serializer>(at_ms: &Option<u64>, out: S) -> Result<S::Ok, S::Error> {
    match at_ms {
        Some(at_ms) => time(at_ms, out),
        None => out.serialize_none(),
    }
}
