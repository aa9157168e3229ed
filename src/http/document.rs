//! A task as JSON, for senders and operators.

use crate::protocol::{State, Summary, Waiting};
use crate::types::time::rfc3339;
use crate::types::{Answer, StepId, TaskId, TaskKind};
use serde::{Serialize, Serializer};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Accepted; no slice yet.
    Pending,
    /// A slice is at work.
    Running,
    /// Waiting for something; see `waiting`.
    Suspended,
    /// Undoing what it did.
    Compensating,
    /// Ended well; the answer is stored.
    Succeeded,
    /// Ended badly; `resumable` says whether a new delivery goes on.
    Failed,
    /// Ended by an operator.
    Cancelled,
}

/// What a suspended task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// A time that the function chose.
    Sleep,
    /// A signal.
    Signal,
    /// The next attempt.
    Backoff,
    /// The next slice.
    NextSlice,
    /// An operator: the code no longer fits the journal.
    CodeChanged,
}

/// What a suspended task waits for, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingDocument {
    /// What for.
    #[serde(rename = "for")]
    pub what: WaitingFor,
    /// Its name, of a sleep or signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Not longer than this.
    #[serde(
        rename = "until",
        skip_serializing_if = "Option::is_none",
        serialize_with = "maybe_time"
    )]
    pub until_ms: Option<u64>,
}

/// Why the last attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorDocument {
    /// For programs.
    pub code: String,
    /// For people.
    pub message: String,
    /// The step that failed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "maybe_step")]
    pub step: Option<StepId>,
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
pub struct TaskDocument {
    /// Its id.
    #[serde(serialize_with = "id")]
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
    pub created_ms: u64,
    /// When its state changed last.
    #[serde(rename = "updated_at", serialize_with = "time")]
    pub updated_ms: u64,
    /// When it ended.
    #[serde(
        rename = "finished_at",
        skip_serializing_if = "Option::is_none",
        serialize_with = "maybe_time"
    )]
    pub finished_ms: Option<u64>,
    /// From then on the key is new.
    #[serde(
        rename = "expires_at",
        skip_serializing_if = "Option::is_none",
        serialize_with = "maybe_time"
    )]
    pub expires_ms: Option<u64>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingDocument>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDocument>,
    /// Status of the stored answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_status: Option<u16>,
    /// Repeated deliveries so far; approximate, since a duplicate costs no write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
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
            error: None,
            answer_status: None,
            duplicates: Some(0),
        }
    }

    /// From what the object says of its task.
    pub fn of(summary: &Summary) -> Self {
        let waiting = |what, until_ms| WaitingDocument {
            what,
            name: None,
            until_ms,
        };
        let (state, resumable, waiting) = match &summary.state {
            State::Running => (TaskState::Running, None, None),
            State::Suspended(Waiting::Ready) => (
                TaskState::Suspended,
                None,
                Some(waiting(WaitingFor::NextSlice, None)),
            ),
            State::Suspended(Waiting::BackingOff { due_ms }) => (
                TaskState::Suspended,
                None,
                Some(waiting(WaitingFor::Backoff, Some(*due_ms))),
            ),
            State::Suspended(Waiting::For(_) | Waiting::CodeChanged(_)) => {
                (TaskState::Suspended, None, None)
            }
            State::Cancelled => (TaskState::Cancelled, None, None),
            State::Succeeded => (TaskState::Succeeded, None, None),
            State::Failed { resumable } => (TaskState::Failed, Some(*resumable), None),
            // For every sender the key is new; nobody is shown this one.
            State::Forgotten => (TaskState::Failed, Some(false), None),
        };
        let error = summary.failure.as_ref().map(|failure| ErrorDocument {
            code: failure.code.clone(),
            message: failure.message.clone(),
            step: failure.step.clone(),
        });
        Self {
            resumable,
            generation: summary.generation,
            attempts: summary.attempts,
            updated_ms: summary.updated_ms,
            finished_ms: summary.finished_ms,
            expires_ms: summary.expires_ms,
            waiting,
            error,
            answer_status: summary.answer_status,
            duplicates: Some(summary.duplicates),
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

fn id<S: Serializer>(id: &TaskId, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(id)
}

// The signatures of the functions below are serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn time<S: Serializer>(at_ms: &u64, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&rfc3339(*at_ms))
}

#[allow(clippy::ref_option)]
fn maybe_time<S: Serializer>(at_ms: &Option<u64>, out: S) -> Result<S::Ok, S::Error> {
    match at_ms {
        Some(at_ms) => time(at_ms, out),
        None => out.serialize_none(),
    }
}

#[allow(clippy::ref_option)]
fn maybe_step<S: Serializer>(step: &Option<StepId>, out: S) -> Result<S::Ok, S::Error> {
    match step {
        Some(step) => out.collect_str(step),
        None => out.serialize_none(),
    }
}
