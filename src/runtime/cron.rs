//! The scheduled jobs: the rescuer pokes tasks whose row says that they should have moved, the
//! cleaner deletes what is dead. Both work in small pieces, and a run that is cut off, doubled or
//! missed does no harm: the next one goes on.

use super::ask;
use super::ports::{Edge, Level, Rows};
use crate::http::object_call::{Ask, Call, Told};
use crate::limits;
use crate::maintenance::{self, Run};
use crate::store::d1 as sql;
use crate::types::{Database, TaskId};
use futures::StreamExt as _;
use futures::stream;
use serde::Deserialize;
use serde_json::{Value, json};

/// Objects that are poked at a time: the platform gives six connections.
const POKES_AT_A_TIME: usize = 5;
/// How long one poke may take.
const POKE_MS: u64 = 5_000;

#[derive(Deserialize)]
struct Overdue {
    task_id: String,
    due_ms: f64,
}

/// One run of all jobs.
pub async fn tick(edge: &Edge) {
    let started = edge.now_ms();
    let clean = clean(edge, started).await;
    let rescue = rescue(edge, edge.now_ms()).await;
    let fields = json!({
        "poked": rescue.done, "rescue_error": rescue.error,
        "deleted": clean.done, "clean_error": clean.error,
        "ms": edge.now_ms() - started,
    });
    if rescue.error.is_some() || clean.error.is_some() {
        edge.log(Level::Error, "cron", fields);
    } else {
        edge.log(Level::Info, "cron", fields);
    }
}

fn overdue(results: Vec<Rows>) -> Vec<Overdue> {
    let rows = results.into_iter().next().unwrap_or_default().rows;
    let read = |row| serde_json::from_value(Value::Object(row)).ok();
    rows.into_iter().filter_map(read).collect()
}

async fn rescue(edge: &Edge, started_ms: u64) -> Run {
    let mut run = Run::default();
    let before = started_ms.saturating_sub(limits::RESCUE_AFTER_MS);
    let orphans = started_ms.saturating_sub(limits::ORPHAN_GRACE_MS);
    let mut after: (u64, String) = (0, String::new());
    while maintenance::goes_on(started_ms, edge.now_ms(), limits::CRON_BUDGET_MS) {
        let page = sql::overdue(before, orphans, (after.0, &after.1), limits::CRON_BATCH);
        let rows = match edge.d1(Database::default(), vec![page]).await {
            Ok(results) => overdue(results),
            Err(error) => {
                run.error = Some(error);
                break;
            }
        };
        let Some(last) = rows.last() else { break };
        after = (whole(last.due_ms), last.task_id.clone());
        let full = rows.len() == usize::try_from(limits::CRON_BATCH).unwrap_or(usize::MAX);
        let ids = rows.iter().filter_map(|r| TaskId::parse(&r.task_id));
        let pokes = stream::iter(ids.collect::<Vec<_>>())
            .map(|id| poke(edge, id))
            .buffer_unordered(POKES_AT_A_TIME);
        run.done += pokes
            .filter(|poked| std::future::ready(*poked))
            .count()
            .await as u64;
        if !full {
            break;
        }
    }
    run
}

/// Has an object look at itself. A row whose object has nothing is left to the cleaner.
async fn poke(edge: &Edge, task_id: TaskId) -> bool {
    let call = Call {
        task_id,
        ask: Ask::Poke,
    };
    let reply = ask::ask(edge, &call, edge.now_ms() + POKE_MS).await;
    matches!(reply.map(|r| r.told), Ok(Told::Done))
}

async fn clean(edge: &Edge, started_ms: u64) -> Run {
    let mut run = Run::default();
    for job in [sql::clean_checkpoints, sql::clean_tasks] {
        while maintenance::goes_on(started_ms, edge.now_ms(), limits::CRON_BUDGET_MS) {
            let statement = job(edge.now_ms(), limits::ORPHAN_GRACE_MS, limits::CLEAN_BATCH);
            match edge.d1(Database::default(), vec![statement]).await {
                Ok(results) => {
                    let changes = results.first().map_or(0, |result| result.changes);
                    run.done += changes;
                    if changes < u64::from(limits::CLEAN_BATCH) {
                        break;
                    }
                }
                Err(error) => {
                    run.error = Some(error);
                    return run;
                }
            }
        }
    }
    run
}

/// D1 gives integers as doubles; ours are below 2^53 and not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u64 {
    number as u64
}
