//! The scheduled jobs: the rescuer pokes tasks whose row says that they should have moved, the
//! cleaner deletes what is dead. Both work in small pieces, and a run that is cut off, doubled or
//! missed does no harm: the next one goes on.

use super::clock;
use super::d1;
use super::log;
use super::stub;
use crate::http::object_call::{Ask, Call, Told};
use crate::limits;
use crate::maintenance::{self, Run};
use crate::store::d1 as sql;
use crate::types::TaskId;
use futures::StreamExt as _;
use futures::stream;
use serde::Deserialize;
use serde_json::json;
use worker::Env;

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
pub(super) async fn tick(env: &Env) {
    let started = clock::now_ms();
    let clean = clean(env, started).await;
    let rescue = rescue(env, clock::now_ms()).await;
    let fields = json!({
        "poked": rescue.done, "rescue_error": rescue.error,
        "deleted": clean.done, "clean_error": clean.error,
        "ms": clock::now_ms() - started,
    });
    if rescue.error.is_some() || clean.error.is_some() {
        log::error("cron", fields);
    } else {
        log::info("cron", fields);
    }
}

async fn rescue(env: &Env, started_ms: u64) -> Run {
    let mut run = Run::default();
    let before = started_ms.saturating_sub(limits::RESCUE_AFTER_MS);
    let orphans = started_ms.saturating_sub(limits::ORPHAN_GRACE_MS);
    let mut after: (u64, String) = (0, String::new());
    while maintenance::goes_on(started_ms, clock::now_ms(), limits::CRON_BUDGET_MS) {
        let page = sql::overdue(before, orphans, (after.0, &after.1), limits::CRON_BATCH);
        let rows: Vec<Overdue> = match d1::batch(env, &[page]).await {
            Ok(results) => results
                .first()
                .and_then(|r| r.results().ok())
                .unwrap_or_default(),
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
            .map(|id| poke(env, id))
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
async fn poke(env: &Env, task_id: TaskId) -> bool {
    let call = Call {
        task_id,
        ask: Ask::Poke,
    };
    let reply = stub::ask(env, &call, clock::now_ms() + POKE_MS).await;
    matches!(reply.map(|r| r.told), Ok(Told::Done))
}

async fn clean(env: &Env, started_ms: u64) -> Run {
    let mut run = Run::default();
    for job in [sql::clean_checkpoints, sql::clean_tasks] {
        while maintenance::goes_on(started_ms, clock::now_ms(), limits::CRON_BUDGET_MS) {
            let statement = job(
                clock::now_ms(),
                limits::ORPHAN_GRACE_MS,
                limits::CLEAN_BATCH,
            );
            match d1::batch(env, &[statement]).await {
                Ok(results) => {
                    let changes = results
                        .first()
                        .and_then(|r| r.meta().ok().flatten())
                        .and_then(|m| m.changes)
                        .unwrap_or(0) as u64;
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
