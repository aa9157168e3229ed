//! What is counted, per hour and function: with the row that it is counted of, in one transaction, so that
//! a row which is written twice counts once.

use super::{Statement, Value};
use crate::http::document::{TaskDocument, TaskState, UndoneWord};
use crate::limits;
use crate::protocol::Task;

const HOUR_MS: u64 = 3_600_000;

/// The difference to the row that D1 holds; nothing if that one is as new or newer. `?3` and `?4`: whether
/// acceptance is counted in this hour, and whether the rest is.
const COUNT_TASK: &str = "
INSERT INTO stats (hour_ms, function, accepted, succeeded, failed, cancelled, undone_partial, retries,
  revivals, object_requests, object_rows, object_ms, d1_rows, took_ms, took_0, took_1, took_2, took_3,
  took_4, took_5, took_6, took_7, took_8, took_9, took_10, took_11, took_12, took_13, took_14, took_15)
SELECT ?1, ?2, ?3 * d.fresh, d.ended * (?5 = 'succeeded'), d.ended * (?5 = 'failed'),
  d.ended * (?5 = 'cancelled'), ?4 * (?6 = 'partial') * (d.undone <> 'partial'),
  ?4 * (?7 - d.retries), ?4 * (?8 - d.revivals), ?4 * (?9 - d.requests), ?4 * (?10 - d.rows),
  ?4 * (?11 - d.ms), ?4 * (?12 - d.d1_rows), d.ended * ?13,
  d.ended * (?14 = 0), d.ended * (?14 = 1), d.ended * (?14 = 2), d.ended * (?14 = 3),
  d.ended * (?14 = 4), d.ended * (?14 = 5), d.ended * (?14 = 6), d.ended * (?14 = 7),
  d.ended * (?14 = 8), d.ended * (?14 = 9), d.ended * (?14 = 10), d.ended * (?14 = 11),
  d.ended * (?14 = 12), d.ended * (?14 = 13), d.ended * (?14 = 14), d.ended * (?14 = 15)
FROM (
  SELECT o.task_id IS NULL AS fresh,
    ?4 * (?15 IS NOT NULL) * (?5 IN ('succeeded', 'failed', 'cancelled')) * (o.finished_ms IS NOT ?15) AS ended,
    COALESCE(o.undone, '') AS undone, COALESCE(o.retries, 0) AS retries,
    COALESCE(o.revivals, 0) AS revivals, COALESCE(o.object_requests, 0) AS requests,
    COALESCE(o.object_rows, 0) AS rows, COALESCE(o.object_ms, 0) AS ms, COALESCE(o.d1_rows, 0) AS d1_rows
  FROM (SELECT 1) LEFT JOIN tasks o ON o.task_id = ?16 AND o.created_ms = ?17 AND o.state <> 'forgotten'
  WHERE NOT EXISTS (SELECT 1 FROM tasks n WHERE n.task_id = ?16 AND (n.epoch, n.n) >= (?18, ?19))
) d
WHERE true
ON CONFLICT (hour_ms, function) DO UPDATE SET accepted = accepted + excluded.accepted,
  succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed,
  cancelled = cancelled + excluded.cancelled, undone_partial = undone_partial + excluded.undone_partial,
  retries = retries + excluded.retries, revivals = revivals + excluded.revivals,
  object_requests = object_requests + excluded.object_requests,
  object_rows = object_rows + excluded.object_rows, object_ms = object_ms + excluded.object_ms,
  d1_rows = d1_rows + excluded.d1_rows, took_ms = took_ms + excluded.took_ms,
  took_0 = took_0 + excluded.took_0, took_1 = took_1 + excluded.took_1,
  took_2 = took_2 + excluded.took_2, took_3 = took_3 + excluded.took_3,
  took_4 = took_4 + excluded.took_4, took_5 = took_5 + excluded.took_5,
  took_6 = took_6 + excluded.took_6, took_7 = took_7 + excluded.took_7,
  took_8 = took_8 + excluded.took_8, took_9 = took_9 + excluded.took_9,
  took_10 = took_10 + excluded.took_10, took_11 = took_11 + excluded.took_11,
  took_12 = took_12 + excluded.took_12, took_13 = took_13 + excluded.took_13,
  took_14 = took_14 + excluded.took_14, took_15 = took_15 + excluded.took_15";

/// Counts what is new in the row of a task. To be run before the row is written.
pub(super) fn of(task: &Task, document: &TaskDocument) -> Vec<Statement> {
    let (accepted_ms, now_ms) = (hour_of(task.created_ms), hour_of(task.updated_ms));
    if accepted_ms == now_ms {
        return vec![statement(task, document, now_ms, [true, true])];
    }
    vec![
        statement(task, document, accepted_ms, [true, false]),
        statement(task, document, now_ms, [false, true]),
    ]
}

/// The hour that a moment is in.
fn hour_of(at_ms: u64) -> u64 {
    at_ms - at_ms % HOUR_MS
}

fn statement(task: &Task, document: &TaskDocument, hour_ms: u64, counts: [bool; 2]) -> Statement {
    let took_ms = task
        .finished_ms
        .map_or(0, |at| at.saturating_sub(task.created_ms));
    let part = limits::TOOK_MS.iter().take_while(|bound| took_ms > **bound);
    let undone = document.undone.map_or("", UndoneWord::as_str);
    // While a success is being undone it has not ended anew.
    let finished_ms = task
        .finished_ms
        .filter(|_| document.state != TaskState::Compensating);
    Statement {
        sql: COUNT_TASK,
        values: vec![
            hour_ms.into(),
            task.function.as_str().into(),
            counts[0].into(),
            counts[1].into(),
            document.state.as_str().into(),
            undone.into(),
            task.retries.into(),
            task.revivals.into(),
            task.cost.requests.into(),
            task.cost.rows.into(),
            task.cost.ms.into(),
            task.cost.d1_rows.into(),
            took_ms.into(),
            Value::Int(part.count() as u64),
            finished_ms.into(),
            task.id().to_string().into(),
            task.created_ms.into(),
            task.version.epoch.into(),
            task.version.n.into(),
        ],
    }
}

/// Deliveries that ran nothing, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The key was known.
    pub same_key: u64,
    /// The signed bytes had come before, under another key.
    pub same_bytes: u64,
    /// The key was known with other content.
    pub mismatch: u64,
    /// The key was used up.
    pub late: u64,
}

/// Adds counts that were kept in memory.
pub fn count_duplicates(now_ms: u64, function: &str, counts: Counts) -> Statement {
    Statement {
        sql: "
INSERT INTO stats (hour_ms, function, same_key, same_bytes, mismatch, late)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (hour_ms, function) DO UPDATE SET same_key = same_key + excluded.same_key,
  same_bytes = same_bytes + excluded.same_bytes, mismatch = mismatch + excluded.mismatch,
  late = late + excluded.late",
        values: vec![
            hour_of(now_ms).into(),
            function.into(),
            counts.same_key.into(),
            counts.same_bytes.into(),
            counts.mismatch.into(),
            counts.late.into(),
        ],
    }
}
