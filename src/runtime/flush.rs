//! The object tells D1: rows, checkpoints, tombstones.

use super::Fault;
use super::desk::Desk;
use super::ports::{Level, Rows};
use super::within;
use crate::http::object_call::{Reply, Told};
use crate::limits;
use crate::protocol::{Effect, Event, State, Task, Version};
use crate::store::commit::{Committed, Stored};
use crate::store::d1 as sql;
use crate::store::d1::Statement;
use crate::store::journal::{self, Purpose};
use crate::types::{Cost, Database, History, TaskId};
use serde::Deserialize;
use serde_json::Value as Json;
use serde_json::json;
use std::cell::Cell;

/// Rounds of one flush; what is still owed then waits for the alarm.
const MAX_ROUNDS: u32 = 4;
/// Checkpoints in one transaction.
const CHECKPOINTS_PER_BATCH: usize = 40;
/// Bytes of outcomes in one transaction, but for a single larger one.
const CHECKPOINT_BYTES: usize = 512 << 10;

/// Sends what is owed until D1 has acknowledged it or a try has failed. At most one at a time.
pub(super) async fn flush(desk: &Desk, id: TaskId) -> Result<(), Fault> {
    if desk.flushing.replace(true) {
        // The one on its way looks at the outbox again when its answer comes.
        return Ok(());
    }
    let _over = Over(&desk.flushing);
    rounds(desk, id).await
}

/// Says that the flush is over, also when it is dropped half-way.
struct Over<'a>(&'a Cell<bool>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

async fn rounds(desk: &Desk, id: TaskId) -> Result<(), Fault> {
    for _ in 0..MAX_ROUNDS {
        let Some(stored) = load(desk, id)? else {
            return Ok(());
        };
        let task = &stored.task;
        if !task.outbox.is_owing() || matches!(task.state, State::Forgotten) {
            return Ok(());
        }
        let sent = task.version;
        let event = match send(desk, &stored).await {
            Ok(holds) => Event::Flushed { sent, holds },
            Err(error) => {
                desk.edge.log(
                    Level::Error,
                    "flush_failed",
                    json!({
                        "task_id": id.to_string(), "tries": task.outbox.tries + 1, "error": error,
                    }),
                );
                Event::FlushFailed { sent }
            }
        };
        let committed = desk.step(id, event).await?;
        if !again_owed(&committed) {
            return Ok(());
        }
    }
    Ok(())
}

fn again_owed(committed: &Committed) -> bool {
    committed.after.contains(&Effect::Flush)
}

/// Sends the row that D1 has acknowledged once more: a database that was set back to an earlier time no
/// longer has it. Nothing is noted; if it fails, whoever asked for it asks again.
pub(super) async fn again(desk: &Desk, id: TaskId) -> Reply {
    let stored = match load(desk, id) {
        Ok(Some(stored)) => stored,
        Ok(None) => return Reply::of(Told::NotFound),
        Err(fault) => return Reply::of(Told::Unavailable(fault.0)),
    };
    let task = &stored.task;
    let dead = matches!(task.state, State::Forgotten) || task.is_expired(desk.edge.now_ms());
    if dead || task.outbox.is_owing() {
        // A tombstone or the flush that is owed brings it up to date.
        return Reply::of(Told::Done);
    }
    match send(desk, &stored).await {
        Ok(_) => Reply::of(Told::Done),
        Err(error) => Reply::of(Told::Unavailable(error)),
    }
}

fn load(desk: &Desk, id: TaskId) -> Result<Option<Stored>, Fault> {
    Stored::load(&desk.storage.cells(), id).map_err(|e| Fault(e.to_string()))
}

/// Sends the whole row, and before it the checkpoints if they are wanted. The version that D1 holds
/// then, or why that is not known.
async fn send(desk: &Desk, stored: &Stored) -> Result<Version, String> {
    let task = &stored.task;
    if wants_history(task) {
        checkpoints(desk, task).await?;
    }
    let body = stored
        .answer_body(&desk.storage.cells())
        .map_err(|e| e.to_string())?;
    let database = task.database;
    match ask(desk, database, &sql::flush(task, Some(body))).await {
        Err(error) if sql::is_about_the_row(&error) => {
            ask(desk, database, &sql::flush_stub(task, &error)).await
        }
        other => other,
    }
}

fn wants_history(task: &Task) -> bool {
    if task.policy.retention_payload_ms.is_some() {
        return false;
    }
    match (&task.state, task.policy.history) {
        (State::Failed { .. } | State::Cancelled, History::Full | History::FailedOnly)
        | (State::Succeeded, History::Full) => true,
        (
            State::Running
            | State::Suspended(_)
            | State::Succeeded
            | State::Failed { .. }
            | State::Cancelled
            | State::Forgotten,
            _,
        ) => false,
    }
}

async fn checkpoints(desk: &Desk, task: &Task) -> Result<(), String> {
    let mut after: Option<String> = None;
    loop {
        let (records, more) = journal::page(
            &desk.storage.cells(),
            task.id(),
            Purpose::Show,
            after.as_deref(),
        )
        .map_err(|e| e.to_string())?;
        let mut batch: Vec<Statement> = Vec::new();
        let mut bytes = 0;
        // What has no outcome yet may get one: it would never be replaced.
        for record in records.iter().filter(|r| r.outcome.is_settled()) {
            let statement = sql::checkpoint(task, record);
            let size: usize = statement.values.iter().map(sql::Value::size).sum();
            let full = batch.len() >= CHECKPOINTS_PER_BATCH || bytes + size > CHECKPOINT_BYTES;
            if full && !batch.is_empty() {
                timed(desk, task.database, &batch).await?;
                batch.clear();
                bytes = 0;
            }
            bytes += size;
            batch.push(statement);
        }
        if !batch.is_empty() {
            timed(desk, task.database, &batch).await?;
        }
        let Some(next) = more else { return Ok(()) };
        after = Some(next);
    }
}

async fn timed(
    desk: &Desk,
    database: Database,
    statements: &[Statement],
) -> Result<Vec<Rows>, String> {
    within(
        &desk.edge,
        limits::FLUSH_TIMEOUT_MS,
        desk.edge.d1(database, statements.to_vec()),
    )
    .await
    .unwrap_or_else(|| {
        Err(format!(
            "no answer within {} ms; it may still be applied",
            limits::FLUSH_TIMEOUT_MS
        ))
    })
    .inspect(|results| {
        desk.billed(Cost {
            d1_rows: results.iter().map(|result| result.written).sum(),
            ..Cost::default()
        });
    })
}

/// Sends an upsert with its read-back.
async fn ask(desk: &Desk, database: Database, statements: &[Statement]) -> Result<Version, String> {
    #[derive(Deserialize)]
    struct Row {
        epoch: f64,
        n: f64,
    }
    let results = timed(desk, database, statements).await?;
    let last = results.into_iter().last().ok_or("no result")?;
    let row = last.rows.into_iter().next().ok_or("the row is not there")?;
    let row: Row = serde_json::from_value(Json::Object(row)).map_err(|e| e.to_string())?;
    Ok(Version {
        epoch: whole(row.epoch),
        n: whole(row.n),
    })
}

/// D1 gives integers as doubles; ours are below 2^53 and not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u64 {
    number as u64
}

/// Places the tombstone, and deletes everything once D1 holds it, if nothing has changed meanwhile.
pub(super) async fn forget(desk: &Desk, id: TaskId, version: Version) -> Result<(), Fault> {
    let Some(stored) = load(desk, id)? else {
        return Ok(());
    };
    let statements = sql::tombstone(&stored.task, version, desk.edge.now_ms());
    let event = match ask(desk, stored.task.database, &statements).await {
        Ok(holds) if holds == version => Event::TombstoneAcked(version),
        Ok(holds) => Event::TombstoneFailed {
            sent: version,
            holds: Some(holds),
        },
        Err(error) => {
            desk.edge.log(
                Level::Error,
                "forget_failed",
                json!({"task_id": id.to_string(), "error": error}),
            );
            Event::TombstoneFailed {
                sent: version,
                holds: None,
            }
        }
    };
    desk.step(id, event).await?;
    desk.wake();
    Ok(())
}
