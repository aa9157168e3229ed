//! The key-value store of flows: each key has an object, which decides; D1 follows, for queries.
//!
//! A change costs a request and three rows: the key, the alarm that guards the row of D1, the note that D1 has it.
//! Reading costs a request. A value whose time is over is dropped by the alarm; the last version is known for a
//! week longer.

use super::Fault;
use super::ask;
use super::desk::Desk;
use super::ports::{Edge, Level, Rows};
use super::within;
use crate::flow::kv::{KvCall, KvReply, Stored, decide};
use crate::function::CallError;
use crate::http::object_call::{Ask, Call, Reply, Told};
use crate::limits;
use crate::protocol::flush_backoff_ms;
use crate::store::cells::CellError;
use crate::store::d1 as sql;
use crate::types::{Database, TaskId};
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cell::Cell;
use std::rc::Rc;

/// Rounds of one run of the mirror; what is still owed then waits for the alarm.
const MAX_ROUNDS: u32 = 4;
/// Databases that are asked at a time: the platform gives six connections.
const DATABASES_AT_A_TIME: usize = 4;

/// What is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    stored: Stored,
    /// The database that has its row, for as long as anything is known of the key.
    #[serde(default)]
    database: Database,
    /// What D1 is owed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owed: Option<Owed>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Owed {
    tries: u32,
    next_ms: u64,
}

impl Kept {
    /// When the alarm has something to do.
    fn due_ms(&self) -> Option<u64> {
        let owed = self.owed.map(|owed| owed.next_ms);
        // What D1 is owed is not forgotten before.
        let trace = self.stored.entry.is_none() && owed.is_some();
        let own = self.stored.due_ms().filter(|_| !trace);
        owed.into_iter().chain(own).min()
    }
}

fn cell(id: TaskId) -> String {
    format!("{id}/kv")
}

fn fault(error: CellError) -> Fault {
    Fault(error.0)
}

fn load(desk: &Desk, id: TaskId) -> Result<Option<Kept>, Fault> {
    let Some(bytes) = desk.storage.cells().get(&cell(id)).map_err(fault)? else {
        return Ok(None);
    };
    let kept = serde_json::from_slice(&bytes);
    kept.map_err(|error| Fault(format!("the key cannot be read: {error}")))
}

/// One atomic step: the cell, and the alarm if there is anything to ring for.
async fn write(desk: &Desk, id: TaskId, kept: &Kept) -> Result<(), Fault> {
    let bytes = serde_json::to_vec(kept).map_err(|error| Fault(error.to_string()))?;
    desk.storage.cells().put(&cell(id), &bytes).map_err(fault)?;
    desk.edge.count("object_rows", 1);
    match kept.due_ms() {
        Some(at_ms) => arm(desk, at_ms, 1).await,
        None => Ok(()),
    }
}

async fn arm(desk: &Desk, at_ms: u64, least_ms: u64) -> Result<(), Fault> {
    let now_ms = desk.edge.now_ms();
    let at_ms = at_ms.clamp(now_ms + least_ms, now_ms + limits::MAX_ALARM_MS);
    let set = desk.storage.set_alarm(at_ms);
    desk.edge.count("object_rows", 1);
    desk.edge.count("alarms", 1);
    set.await.map_err(Fault)
}

/// Answers a call of the key.
pub(super) async fn answer(desk: &Rc<Desk>, id: TaskId, call: &KvCall) -> Result<Reply, Fault> {
    look_after_alarm(desk, id).await?;
    if TaskId::of_key(&call.namespace, &call.key) != id {
        let why = "this object is not that key's";
        return Ok(Reply::of(Told::Unavailable(why.to_owned())));
    }
    let kept = load(desk, id)?;
    let now_ms = desk.edge.now_ms();
    let (next, reply) = decide(kept.as_ref().map(|k| &k.stored), call, now_ms);
    if let Some(stored) = next {
        let of = || Database::of(id, desk.edge.databases());
        let next = Kept {
            stored,
            database: kept.map_or_else(of, |k| k.database),
            owed: Some(Owed {
                tries: 0,
                next_ms: now_ms + limits::FLUSH_TIMEOUT_MS,
            }),
        };
        write(desk, id, &next).await?;
        let later = Rc::clone(desk);
        desk.edge.wait_until(Box::pin(async move {
            super::object::logged(&later.edge, "kv_mirror", id, mirror(&later, id).await);
        }));
    }
    Ok(Reply::of(Told::Kv { reply }))
}

/// Sets the alarm again if it was lost with an earlier instance. One look for each start of the object.
async fn look_after_alarm(desk: &Desk, id: TaskId) -> Result<(), Fault> {
    if desk.looked.replace(true) {
        return Ok(());
    }
    let alarm_ms = desk.storage.alarm_ms().await.map_err(Fault)?;
    let Some(due_ms) = load(desk, id)?.and_then(|kept| kept.due_ms()) else {
        return Ok(());
    };
    let latest_ms = due_ms.max(desk.edge.now_ms() + 1);
    if alarm_ms.is_none_or(|at| at > latest_ms) {
        arm(desk, due_ms, 1).await?;
    }
    Ok(())
}

/// Says that a run is over, also when it is dropped half-way.
pub(super) struct Over<'a>(pub(super) &'a Cell<bool>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Sends D1 what it is owed. At most one at a time.
async fn mirror(desk: &Desk, id: TaskId) -> Result<(), Fault> {
    if desk.flushing.replace(true) {
        // The one on its way looks again when its answer comes.
        return Ok(());
    }
    let _over = Over(&desk.flushing);
    for _ in 0..MAX_ROUNDS {
        let Some(sent) = load(desk, id)?.filter(|kept| kept.owed.is_some()) else {
            return Ok(());
        };
        let told = send(desk, &sent).await;
        // Others may have changed it meanwhile. From here to the write nothing is awaited.
        let Some(mut kept) = load(desk, id)? else {
            return Ok(());
        };
        let same = kept.stored.changed_ms == sent.stored.changed_ms;
        match told {
            Ok(holds) if holds == sent.stored.changed_ms => {
                if same {
                    kept.owed = None;
                    return write(desk, id, &kept).await;
                }
            }
            Ok(holds) if holds > kept.stored.changed_ms => {
                // D1 has what cannot be ours: a clock stepped back over a key that was forgotten.
                kept.stored.changed_ms = holds + 1;
                write(desk, id, &kept).await?;
            }
            Ok(_) if !same => {}
            told => {
                let error = told.err();
                return later(desk, id, kept, &error.unwrap_or_else(|| "older".to_owned())).await;
            }
        }
    }
    Ok(())
}

/// A try that failed: the next one is the alarm's.
async fn later(desk: &Desk, id: TaskId, mut kept: Kept, error: &str) -> Result<(), Fault> {
    let tries = kept.owed.map_or(0, |owed| owed.tries);
    desk.edge.log(
        Level::Error,
        "kv_mirror_failed",
        json!({"object": id.to_string(), "tries": tries + 1, "error": error}),
    );
    kept.owed = Some(Owed {
        tries: tries.saturating_add(1),
        next_ms: desk.edge.now_ms() + flush_backoff_ms(tries, desk.edge.jitter()),
    });
    write(desk, id, &kept).await
}

/// When the row that D1 has now was changed.
async fn send(desk: &Desk, kept: &Kept) -> Result<u64, String> {
    let asked = desk.edge.d1(kept.database, sql::put_key(&kept.stored));
    let results = timed(&desk.edge, asked).await?;
    let last = results.into_iter().last().ok_or("no result")?;
    let row = last.rows.into_iter().next().ok_or("the row is not there")?;
    whole(row.get("updated_at_ms")).ok_or_else(|| "the row has no time".to_owned())
}

async fn timed(
    edge: &Edge,
    asked: super::Later<Result<Vec<Rows>, String>>,
) -> Result<Vec<Rows>, String> {
    let within = within(edge, limits::FLUSH_TIMEOUT_MS, asked).await;
    within.unwrap_or_else(|| Err("no answer in time; it may still be applied".to_owned()))
}

/// D1 gives integers as doubles; ours are below 2^53 and not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: Option<&Value>) -> Option<u64> {
    number?.as_f64().map(|number| number as u64)
}

/// The alarm of a key. Says whether it is one.
pub(super) async fn ring(desk: &Desk, id: TaskId) -> Result<bool, Fault> {
    let Some(mut kept) = load(desk, id)? else {
        return Ok(false);
    };
    let now_ms = desk.edge.now_ms();
    let expired = kept.stored.expired(now_ms);
    let has_expired = expired.is_some();
    kept.stored = expired.unwrap_or(kept.stored);
    if let Some(owed) = kept.owed.as_mut().filter(|owed| owed.next_ms <= now_ms) {
        // Should this run be cut off, the next one is later.
        owed.next_ms = now_ms + 2 * limits::FLUSH_TIMEOUT_MS;
        write(desk, id, &kept).await?;
        mirror(desk, id).await?;
        return Ok(true);
    }
    match kept.due_ms() {
        Some(due_ms) if due_ms <= now_ms => {
            // The trace is over, and D1 is owed nothing.
            desk.storage.delete_all().await.map_err(Fault)?;
            desk.edge.count("object_rows", 1);
        }
        _ if has_expired => write(desk, id, &kept).await?,
        // Rung by a clock that is ahead, or for what has been done since.
        Some(due_ms) => arm(desk, due_ms, limits::IDLE_RING_MAX_MS).await?,
        None => {}
    }
    Ok(true)
}

/// Asks the object of a key.
pub(super) async fn ask(edge: &Edge, call: KvCall, until_ms: u64) -> Result<KvReply, CallError> {
    let call = Call {
        task_id: TaskId::of_key(&call.namespace, &call.key),
        ask: Ask::Kv(Box::new(call)),
    };
    match ask::ask(edge, &call, until_ms).await.map(|r| r.told) {
        Ok(Told::Kv { reply }) => Ok(reply),
        Ok(Told::Unavailable(why)) => Err(CallError::Unreachable(why)),
        Ok(other) => Err(CallError::Unreachable(other.name().into())),
        Err(error) => Err(error.into()),
    }
}

/// Keys of a namespace that begin with this, in order, from all databases.
pub(super) async fn keys(
    edge: &Edge,
    namespace: &str,
    prefix: &str,
    limit: u32,
) -> Result<Vec<String>, String> {
    let asked = Database::all(edge.databases()).map(|database| {
        let statement = sql::keys(namespace, prefix, edge.now_ms(), limit);
        timed(edge, edge.d1(database, vec![statement]))
    });
    let mut asked = futures::stream::iter(asked).buffer_unordered(DATABASES_AT_A_TIME);
    let mut keys = Vec::new();
    while let Some(results) = asked.next().await {
        let rows = results?.into_iter().next().unwrap_or_default().rows;
        let named = rows.into_iter().filter_map(|mut row| row.remove("key"));
        keys.extend(named.filter_map(|key| key.as_str().map(str::to_owned)));
    }
    keys.sort();
    keys.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(keys)
}
