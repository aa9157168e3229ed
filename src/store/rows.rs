//! Rows of D1 as values.

use crate::http::document::{
    CancelWord, ErrorDocument, LockDocument, TaskDocument, TaskState, UndoneWord,
};
use crate::http::waiting::{WaitingDocument, WaitingFor};
use crate::protocol::NEVER_MS;
use crate::types::{Cost, TaskId, TaskKey, TaskKind};
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
    duplicates: f64,
    created_ms: f64,
    updated_ms: f64,
    finished_ms: Option<f64>,
    expires_ms: Option<f64>,
    due_ms: f64,
    error_code: Option<String>,
    error_message: Option<String>,
    #[serde(default)]
    error_step: Option<String>,
    answer_status: Option<f64>,
    #[serde(default)]
    waiting_name: Option<String>,
    #[serde(default)]
    undone: Option<String>,
    #[serde(default)]
    cancel: Option<String>,
    labels: Option<String>,
    trace_id: Option<String>,
    object_requests: f64,
    object_rows: f64,
    object_ms: f64,
    d1_rows: f64,
    fence: f64,
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
    /// The task that the row shows, in the words that the task's own document has; `None` for a row
    /// that this release cannot read.
    pub fn document(self) -> Option<TaskDocument> {
        let kind = match self.kind.as_str() {
            "source" => TaskKind::Source,
            "function" => TaskKind::Function,
            _ => return None,
        };
        let state = TaskState::parse(&self.state)?;
        let key = TaskKey::new(kind, &self.name, &self.tenant, self.key.as_deref()?);
        let waiting = self.waiting();
        let error = self.error_code.map(|code| ErrorDocument {
            code,
            message: self.error_message.unwrap_or_default(),
            step: self.error_step,
        });
        let created_ms = whole(self.created_ms);
        let labels = self.labels.as_deref();
        let cost = Cost {
            requests: whole(self.object_requests),
            rows: whole(self.object_rows),
            d1_rows: whole(self.d1_rows),
            ms: whole(self.object_ms),
        };
        Some(TaskDocument {
            task_id: TaskId::parse(&self.task_id)?,
            resumable: (state == TaskState::Failed).then_some(self.resumable > 0.0),
            generation: whole(self.generation),
            attempts: small(self.attempts),
            updated_ms: whole(self.updated_ms),
            finished_ms: self.finished_ms.map(whole),
            expires_ms: self
                .expires_ms
                .filter(|_| state != TaskState::Compensating)
                .map(whole),
            waiting,
            undone: match self.undone.as_deref() {
                Some("complete") => Some(UndoneWord::Complete),
                Some("partial") => Some(UndoneWord::Partial),
                _ => None,
            },
            cancel: match self.cancel.as_deref() {
                Some("requested") => Some(CancelWord::Requested),
                Some("too_late") => Some(CancelWord::TooLate),
                _ => None,
            },
            error,
            answer_status: self
                .answer_status
                .and_then(|s| u16::try_from(whole(s)).ok()),
            duplicates: Some(whole(self.duplicates)),
            labels: labels
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
            trace_id: self.trace_id,
            lock: (state == TaskState::Running).then(|| LockDocument {
                fence: whole(self.fence),
                until_ms: whole(self.due_ms),
            }),
            cost: Some(cost.into()),
            ..TaskDocument::new(&key, &self.function, state, created_ms)
        })
    }

    /// Its place in the list; `None` for a row that this release cannot read.
    pub fn place(&self) -> Option<Cursor> {
        Cursor::of_row(self.created_ms, &self.task_id)
    }

    fn waiting(&self) -> Option<WaitingDocument> {
        let word = match self.waiting.as_deref()? {
            // Words of the last release.
            "ready" => "next_slice",
            "backing_off" => "backoff",
            other => other,
        };
        let what = WaitingFor::parse(word)?;
        let due_ms = whole(self.due_ms);
        let timed = match what {
            WaitingFor::Sleep | WaitingFor::Signal | WaitingFor::Backoff => due_ms < NEVER_MS,
            WaitingFor::NextSlice
            | WaitingFor::Child
            | WaitingFor::Lock
            | WaitingFor::CodeChanged => false,
        };
        Some(WaitingDocument {
            name: self.waiting_name.clone(),
            ..WaitingDocument::plain(what, timed.then_some(due_ms))
        })
    }
}

/// Where a page of the list ends, as an opaque word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

    /// From the two columns; `None` if they are none of ours.
    pub fn of_row(created_ms: f64, task_id: &str) -> Option<Self> {
        Some(Self {
            created_ms: whole(created_ms),
            task_id: TaskId::parse(task_id)?,
        })
    }

    /// The word.
    pub fn word(self) -> String {
        format!("{:x}.{}", self.created_ms, self.task_id)
    }
}
