//! A task as JSON, for senders and operators.

use super::waiting::{MismatchDocument, WaitingDocument};
use crate::protocol::{State, Summary, Waiting};
use crate::types::time::rfc3339;
use crate::types::{Answer, TaskId, TaskKind};
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

impl TaskState {
    /// Every state.
    pub const ALL: &'static [Self] = &[
        Self::Pending,
        Self::Running,
        Self::Suspended,
        Self::Compensating,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// From what the object says of its task.
    pub fn of(summary: &Summary) -> Self {
        if summary.ending.is_some() {
            return Self::Compensating;
        }
        match &summary.state {
            State::Running => Self::Running,
            State::Suspended(Waiting::Ready) if summary.claims == 0 => Self::Pending,
            State::Suspended(_) => Self::Suspended,
            State::Succeeded => Self::Succeeded,
            // For every sender the key of a forgotten one is new; nobody is shown it.
            State::Failed { .. } | State::Forgotten => Self::Failed,
            State::Cancelled => Self::Cancelled,
        }
    }

    /// The word used in documents, rows and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Compensating => "compensating",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads the word.
    ///
    /// ```
    /// use onceward::http::document::TaskState;
    /// for state in TaskState::ALL {
    ///     assert_eq!(TaskState::parse(state.as_str()), Some(*state));
    /// }
    /// ```
    pub fn parse(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|state| state.as_str() == word)
    }
}

/// What came of undoing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoneWord {
    /// Everything was undone.
    Complete,
    /// Something was not, or it is not known; `not_undone` names it.
    Partial,
}

impl UndoneWord {
    /// The word used in documents and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
        }
    }
}

/// What became of the wish to have the task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelWord {
    /// It ends, or has ended, because of it.
    Requested,
    /// The task had succeeded before anybody could stop it.
    TooLate,
}

impl CancelWord {
    /// The word used in documents and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::TooLate => "too_late",
        }
    }
}

/// A step that was not undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

fn id<S: Serializer>(id: &TaskId, out: S) -> Result<S::Ok, S::Error> {
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
