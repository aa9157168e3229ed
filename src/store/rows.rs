//! Rows of D1 as values.

use crate::protocol::{State, Summary, Waiting};
use crate::types::{Failure, FailureKind, TaskId, TaskKey, TaskKind};
use serde::Deserialize;

/// One row of the list. D1 gives every number as a double.
#[derive(Clone, Debug, Deserialize)]
pub struct TaskRow {
    task_id: String,
    generation: f64,
    state: String,
    waiting: Option<String>,
    resumable: f64,
    kind: String,
    name: String,
    tenant: String,
    key: Option<String>,
    function: String,
    attempts: f64,
    claims: f64,
    revivals: f64,
    duplicates: f64,
    created_ms: f64,
    updated_ms: f64,
    finished_ms: Option<f64>,
    expires_ms: Option<f64>,
    due_ms: f64,
    error_code: Option<String>,
    error_message: Option<String>,
    answer_status: Option<f64>,
}

/// Ours are below 2^53 and not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u64 {
    number as u64
}

fn small(number: f64) -> u32 {
    u32::try_from(whole(number)).unwrap_or(u32::MAX)
}

impl TaskRow {
    /// The task that the row shows; `None` for a row that this release cannot read.
    pub fn summary(self) -> Option<Summary> {
        let kind = match self.kind.as_str() {
            "source" => TaskKind::Source,
            "function" => TaskKind::Function,
            _ => return None,
        };
        let state = match (self.state.as_str(), self.waiting.as_deref()) {
            ("running", _) => State::Running,
            ("suspended", Some("backing_off")) => State::Suspended(Waiting::BackingOff {
                due_ms: whole(self.due_ms),
            }),
            ("suspended", _) => State::Suspended(Waiting::Ready),
            ("succeeded", _) => State::Succeeded,
            ("failed", _) => State::Failed {
                resumable: self.resumable > 0.0,
            },
            _ => return None,
        };
        let failure = self.error_code.map(|code| Failure {
            kind: FailureKind::Retryable,
            code,
            message: self.error_message.unwrap_or_default(),
            step: None,
            answer: None,
            unknown: false,
            retry_after_ms: None,
            details: None,
        });
        Some(Summary {
            task_id: TaskId::parse(&self.task_id)?,
            key: TaskKey::new(kind, &self.name, &self.tenant, self.key.as_deref()?),
            function: self.function,
            state,
            generation: whole(self.generation),
            attempts: small(self.attempts),
            claims: small(self.claims),
            revivals: small(self.revivals),
            created_ms: whole(self.created_ms),
            updated_ms: whole(self.updated_ms),
            finished_ms: self.finished_ms.map(whole),
            expires_ms: self.expires_ms.map(whole),
            failure,
            answer_status: self
                .answer_status
                .and_then(|s| u16::try_from(whole(s)).ok()),
            duplicates: whole(self.duplicates),
            ending: None,
            undone: None,
            cancel: None,
            unread: 0,
        })
    }
}

/// Where a page of the list ends, as an opaque word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Time of the last row that was seen.
    pub created_ms: u64,
    /// Its id.
    pub task_id: TaskId,
}

impl Cursor {
    /// Reads one that [`Cursor::word`] wrote.
    ///
    /// ```
    /// use onceward::store::rows::Cursor;
    /// use onceward::types::{TaskKey, TaskKind};
    /// let task_id = TaskKey::new(TaskKind::Source, "s", "", "k").task_id();
    /// let cursor = Cursor { created_ms: 1_795_989_751_097, task_id };
    /// assert_eq!(Cursor::read(&cursor.word()), Some(cursor));
    /// assert_eq!(Cursor::read("nonsense"), None);
    /// ```
    pub fn read(word: &str) -> Option<Self> {
        let (time, id) = word.split_once('.')?;
        let created_ms = u64::from_str_radix(time, 16).ok()?;
        // Above this D1 would compare rounded numbers.
        if created_ms >= 1 << 52 || format!("{created_ms:x}") != time {
            return None;
        }
        let task_id = TaskId::parse(id)?;
        Some(Self {
            created_ms,
            task_id,
        })
    }

    /// The word.
    pub fn word(self) -> String {
        format!("{:x}.{}", self.created_ms, self.task_id)
    }
}
