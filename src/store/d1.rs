//! All SQL for D1, as text with its values, so that every statement also runs natively against the
//! same migrations (`tests/native/sql.rs`).

use crate::http::document::{CancelWord, TaskDocument, UndoneWord};
use crate::limits;
use crate::protocol::{Outcome, State, StepRecord, Summary, Task, Version, own_due_ms};
use crate::types::TaskId;

/// A value to bind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// NULL.
    Null,
    /// An integer; D1 takes it as a double, so below 2^53.
    Int(u64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Value {
    /// Bytes that it adds to a message, roughly.
    pub fn size(&self) -> usize {
        match self {
            Self::Null | Self::Int(_) => 8,
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
        }
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A statement with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// SQL with `?1`, `?2`, …
    pub sql: &'static str,
    /// The values, in order.
    pub values: Vec<Value>,
}

const UPSERT_TASK: &str = "
INSERT INTO tasks (task_id, epoch, n, generation, state, waiting, resumable, kind, name, tenant, key,
  function, attempts, claims, revivals, duplicates, created_ms, updated_ms, finished_ms, expires_ms,
  due_ms, error_code, error_message, error_step, answer_status, answer_headers, answer_body, stub_reason,
  waiting_name, undone, cancel)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
  ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31)
ON CONFLICT (task_id) DO UPDATE SET epoch = excluded.epoch, n = excluded.n,
  generation = excluded.generation, state = excluded.state, waiting = excluded.waiting,
  resumable = excluded.resumable, kind = excluded.kind, name = excluded.name,
  tenant = excluded.tenant, key = excluded.key, function = excluded.function,
  attempts = excluded.attempts, claims = excluded.claims, revivals = excluded.revivals,
  duplicates = excluded.duplicates, created_ms = excluded.created_ms,
  updated_ms = excluded.updated_ms, finished_ms = excluded.finished_ms,
  expires_ms = excluded.expires_ms, due_ms = excluded.due_ms, error_code = excluded.error_code,
  error_message = excluded.error_message, error_step = excluded.error_step,
  answer_status = excluded.answer_status, answer_headers = excluded.answer_headers,
  answer_body = excluded.answer_body, stub_reason = excluded.stub_reason,
  waiting_name = excluded.waiting_name, undone = excluded.undone, cancel = excluded.cancel
WHERE (excluded.epoch, excluded.n) > (tasks.epoch, tasks.n)";

const READ_VERSION: &str = "SELECT epoch, n FROM tasks WHERE task_id = ?1";

/// The state of a tombstone; those of tasks are the words of their documents.
const FORGOTTEN: &str = "forgotten";

/// Writes the whole row of a task, and reads back which version D1 holds then.
pub fn flush(task: &Task, answer_body: Option<Vec<u8>>) -> Vec<Statement> {
    upsert(task, answer_body, None)
}

/// Writes the row without what D1 refused, under the same version.
pub fn flush_stub(task: &Task, reason: &str) -> Vec<Statement> {
    upsert(task, None, Some(reason))
}

fn upsert(task: &Task, answer_body: Option<Vec<u8>>, stub: Option<&str>) -> Vec<Statement> {
    let id = task.id().to_string();
    let answer = task.answer.as_ref();
    let failure = task
        .failure
        .as_ref()
        .filter(|_| !matches!(task.state, State::Succeeded));
    let whole = stub.is_none();
    let document = TaskDocument::of(&Summary::of(task));
    let waiting = document.waiting.as_ref();
    let headers = answer.map(|a| serde_json::to_string(&a.headers).unwrap_or_default());
    let values = vec![
        id.as_str().into(),
        task.version.epoch.into(),
        task.version.n.into(),
        task.generation.into(),
        document.state.as_str().into(),
        waiting.map(|w| w.what.as_str()).into(),
        matches!(task.state, State::Failed { resumable: true }).into(),
        task.key.kind.as_str().into(),
        task.key.name.as_str().into(),
        task.key.tenant.as_str().into(),
        task.key.key.as_str().into(),
        task.function.as_str().into(),
        task.attempts.into(),
        task.claims.into(),
        task.revivals.into(),
        task.duplicates.into(),
        task.created_ms.into(),
        task.updated_ms.into(),
        task.finished_ms.into(),
        task.expires_ms.into(),
        own_due_ms(task).into(),
        failure.map(|f| f.code.as_str()).into(),
        failure.filter(|_| whole).map(|f| f.message.as_str()).into(),
        failure
            .and_then(|f| f.step.as_ref())
            .map(ToString::to_string)
            .into(),
        answer.map(|a| u32::from(a.status)).into(),
        headers.filter(|_| whole).into(),
        answer_body
            .filter(|_| whole && answer.is_some())
            .map_or(Value::Null, Value::Blob),
        stub.into(),
        waiting.and_then(|w| w.name.as_deref()).into(),
        document.undone.map(UndoneWord::as_str).into(),
        document.cancel.map(CancelWord::as_str).into(),
    ];
    vec![
        Statement {
            sql: UPSERT_TASK,
            values,
        },
        read_version(&id),
    ]
}

fn read_version(id: &str) -> Statement {
    Statement {
        sql: READ_VERSION,
        values: vec![id.into()],
    }
}

/// Writes a tombstone: nothing but what keeps late writes out, for a day.
pub fn tombstone(task: &Task, version: Version, now_ms: u64) -> Vec<Statement> {
    let id = task.id().to_string();
    let mut values = vec![Value::Null; 31];
    values[0] = id.as_str().into();
    values[1] = version.epoch.into();
    values[2] = version.n.into();
    values[3] = task.generation.into();
    values[4] = FORGOTTEN.into();
    values[6] = false.into();
    values[7] = task.key.kind.as_str().into();
    values[8] = task.key.name.as_str().into();
    values[9] = "".into();
    values[11] = task.function.as_str().into();
    for count in &mut values[12..16] {
        *count = 0_u32.into();
    }
    values[16] = task.created_ms.into();
    values[17] = now_ms.into();
    values[20] = (now_ms + limits::TOMBSTONE_MS).into();
    vec![
        Statement {
            sql: UPSERT_TASK,
            values,
        },
        read_version(&id),
    ]
}

const INSERT_CHECKPOINT: &str = "
INSERT INTO checkpoints (task_id, generation, step, place, fence, tries, at_ms, failed, outcome)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (task_id, generation, step) DO UPDATE SET place = excluded.place, fence = excluded.fence,
  tries = excluded.tries, at_ms = excluded.at_ms, failed = excluded.failed, outcome = excluded.outcome
WHERE (excluded.fence, excluded.place) > (checkpoints.fence, checkpoints.place)";

/// Writes one record of a journal, once; a later one of a step that was opened again replaces it.
pub fn checkpoint(task: &Task, record: &StepRecord) -> Statement {
    let (failed, outcome) = match &record.outcome {
        Outcome::Value(text) => (false, text.clone()),
        Outcome::Failed(failure) => (true, serde_json::to_string(failure).unwrap_or_default()),
        Outcome::Open(open) => (false, serde_json::to_string(open).unwrap_or_default()),
    };
    Statement {
        sql: INSERT_CHECKPOINT,
        values: vec![
            task.id().to_string().into(),
            task.generation.into(),
            record.id.cell().into(),
            record.place.into(),
            record.fence.into(),
            record.tries.into(),
            record.at_ms.into(),
            failed.into(),
            outcome.into(),
        ],
    }
}

/// One page of the list, newest first, from behind `(created_ms, task_id)`.
pub fn list(before: Option<(u64, TaskId)>, limit: u32, now_ms: u64) -> Statement {
    // The cursor is the last row that was seen; ids break ties, so equal times neither skip nor double.
    let (created_ms, id) = match before {
        Some((created_ms, id)) => (created_ms, id.to_string()),
        None => (1 << 52, String::new()),
    };
    Statement {
        sql: "
SELECT task_id, generation, state, waiting, resumable, kind, name, tenant, key, function, attempts,
  claims, revivals, duplicates, created_ms, updated_ms, finished_ms, expires_ms, due_ms, error_code,
  error_message, error_step, answer_status, stub_reason, waiting_name, undone, cancel
FROM tasks
WHERE created_ms <= ?1 AND (created_ms < ?1 OR task_id < ?2)
  AND state <> 'forgotten'
  AND NOT (state IN ('succeeded', 'failed', 'cancelled') AND expires_ms IS NOT NULL AND expires_ms <= ?3)
ORDER BY created_ms DESC, task_id DESC
LIMIT ?4",
        values: vec![created_ms.into(), id.into(), now_ms.into(), limit.into()],
    }
}

/// Tasks whose row says that they should have moved by `before_ms`, oldest first. Tombstones are the
/// cleaner's, and so is what has expired by `orphans_ms`: its object has had its chance.
pub fn overdue(before_ms: u64, orphans_ms: u64, after: (u64, &str), limit: u32) -> Statement {
    Statement {
        sql: "
SELECT task_id, due_ms FROM tasks
WHERE due_ms <= ?1 AND (due_ms, task_id) > (?2, ?3) AND state <> 'forgotten'
  AND NOT (state IN ('succeeded', 'failed', 'cancelled') AND expires_ms IS NOT NULL AND expires_ms <= ?5)
ORDER BY due_ms, task_id LIMIT ?4",
        values: vec![
            before_ms.into(),
            after.0.into(),
            after.1.into(),
            limit.into(),
            orphans_ms.into(),
        ],
    }
}

/// Deletes some checkpoints of tasks that are dead: tombstones, and rows whose task has expired. In
/// pieces, so that a task with ten thousand of them goes as well.
pub fn clean_checkpoints(now_ms: u64, grace_ms: u64, limit: u32) -> Statement {
    Statement {
        sql: "
DELETE FROM checkpoints WHERE (task_id, generation, step) IN (
  SELECT c.task_id, c.generation, c.step
  FROM tasks t JOIN checkpoints c ON c.task_id = t.task_id
  WHERE t.due_ms <= ?1 + ?2
    AND (t.state = 'forgotten'
      OR (t.state IN ('succeeded', 'failed', 'cancelled') AND t.expires_ms IS NOT NULL AND t.expires_ms <= ?1 - ?3))
  LIMIT ?4)",
        values: vec![
            now_ms.into(),
            limits::TOMBSTONE_MS.into(),
            grace_ms.into(),
            limit.into(),
        ],
    }
}

/// Deletes some rows that are dead and have no checkpoints left: tombstones whose day is over, and
/// expired tasks that no object has claimed back within the grace. The condition is repeated on the
/// row itself, so that a task that has begun anew in between is not touched.
pub fn clean_tasks(now_ms: u64, grace_ms: u64, limit: u32) -> Statement {
    Statement {
        sql: "
DELETE FROM tasks WHERE task_id IN (
  SELECT task_id FROM tasks t
  WHERE t.due_ms <= ?1
    AND (t.state = 'forgotten'
      OR (t.state IN ('succeeded', 'failed', 'cancelled') AND t.expires_ms IS NOT NULL AND t.expires_ms <= ?1 - ?2))
    AND NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.task_id = t.task_id)
  ORDER BY t.due_ms LIMIT ?3)
AND due_ms <= ?1
AND (state = 'forgotten'
  OR (state IN ('succeeded', 'failed', 'cancelled') AND expires_ms IS NOT NULL AND expires_ms <= ?1 - ?2))",
        values: vec![now_ms.into(), grace_ms.into(), limit.into()],
    }
}

/// An error text of D1 that is about this row itself: trying again cannot help, a stub row can.
pub fn is_about_the_row(error: &str) -> bool {
    [
        "SQLITE_TOOBIG",
        "string or blob too big",
        "SQLITE_CONSTRAINT",
        "constraint failed",
    ]
    .iter()
    .any(|text| error.contains(text))
}
