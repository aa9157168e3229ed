//! The row of a task, its tombstone, its checkpoints.

use super::{Statement, Value, stats};
use crate::http::document::{CancelWord, TaskDocument, UndoneWord};
use crate::limits;
use crate::protocol::{Outcome, State, StepRecord, Summary, Task, Version, own_due_ms};

const UPSERT_TASK: &str = "
INSERT INTO tasks (task_id, epoch, n, generation, state, waiting, resumable, kind, name, tenant, key,
  function, attempts, claims, revivals, duplicates, created_ms, updated_ms, finished_ms, expires_ms,
  due_ms, error_code, error_message, error_step, answer_status, answer_headers, answer_body, stub_reason,
  waiting_name, undone, cancel, labels, trace_id, object_requests, object_rows, object_ms, d1_rows,
  fence, retries)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
  ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31,
  ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39)
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
  waiting_name = excluded.waiting_name, undone = excluded.undone, cancel = excluded.cancel,
  labels = excluded.labels, trace_id = excluded.trace_id, object_requests = excluded.object_requests,
  object_rows = excluded.object_rows, object_ms = excluded.object_ms, d1_rows = excluded.d1_rows,
  fence = excluded.fence, retries = excluded.retries
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
        labels_of(task).into(),
        document.trace_id.as_deref().into(),
        task.cost.requests.into(),
        task.cost.rows.into(),
        task.cost.ms.into(),
        task.cost.d1_rows.into(),
        task.fence.into(),
        task.retries.into(),
    ];
    let mut statements = stats::of(task, &document);
    statements.push(Statement {
        sql: UPSERT_TASK,
        values,
    });
    statements.push(read_version(&id));
    statements
}

/// As JSON; a text map always is.
fn labels_of(task: &Task) -> Option<String> {
    let labels = &task.about.labels;
    let text = (!labels.is_empty()).then(|| serde_json::to_string(labels));
    text.and_then(Result::ok)
}

/// Which version of a task's row D1 holds.
pub fn read_version(id: &str) -> Statement {
    Statement {
        sql: READ_VERSION,
        values: vec![id.into()],
    }
}

/// Writes a tombstone: nothing but what keeps late writes out, for a day.
pub fn tombstone(task: &Task, version: Version, now_ms: u64) -> Vec<Statement> {
    let id = task.id().to_string();
    let mut values = vec![Value::Null; 39];
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
    for count in &mut values[33..39] {
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
