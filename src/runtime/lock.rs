//! Locks of flows: each has an object, which decides who goes on and tells those who waited.
//!
//! A lock that nobody waits for costs two requests and two rows. Whoever has to wait costs four rows more: the
//! queue, the alarm, and the letter before and after it is told. While somebody waits the alarm looks at the
//! tasks of the holders, and frees what they left behind.

use super::Fault;
use super::ask;
use super::desk::Desk;
use super::kv::Over;
use super::ports::{Edge, Level};
use crate::flow::lock::{Asker, Letter, Lock, LockCall, LockReply, decide};
use crate::function::{CallError, has_let_go};
use crate::http::object_call::{Ask, Call, Reply, Told};
use crate::limits;
use crate::protocol::{Outcome, Signal, flush_backoff_ms, lock_signal};
use crate::store::cells::CellError;
use crate::types::TaskId;
use futures::StreamExt as _;
use futures::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::rc::Rc;

/// Tasks that are told or looked at at a time: the platform gives six connections.
const AT_A_TIME: usize = 5;
/// Rounds of one run; what is still owed then waits for the alarm.
const MAX_ROUNDS: u32 = 8;

/// What is kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    lock: Lock,
    /// When the alarm rings, as far as is known.
    armed_ms: u64,
}

fn cell(id: TaskId) -> String {
    format!("{id}/lock")
}

fn fault(error: CellError) -> Fault {
    Fault(error.0)
}

fn load(desk: &Desk, id: TaskId) -> Result<Option<Kept>, Fault> {
    let Some(bytes) = desk.storage.cells().get(&cell(id)).map_err(fault)? else {
        return Ok(None);
    };
    let kept = serde_json::from_slice(&bytes);
    kept.map_err(|error| Fault(format!("the lock cannot be read: {error}")))
}

/// When the alarm has something to do: a letter to bring, or holders to look at. The longer nothing has changed,
/// the rarer.
fn due_ms(lock: &Lock, now_ms: u64) -> Option<u64> {
    let guard_ms = now_ms + limits::FLUSH_TIMEOUT_MS;
    let letters = lock.letters.iter().map(|letter| match letter.next_ms {
        0 => guard_ms,
        at_ms => at_ms,
    });
    let age_ms = now_ms.saturating_sub(lock.changed_ms);
    let pause_ms = age_ms.clamp(limits::LOCK_LOOK_MS, limits::LOCK_LOOK_MAX_MS);
    let watch_ms = (!lock.queue.is_empty()).then_some(now_ms + pause_ms);
    letters.chain(watch_ms).min()
}

/// One atomic step: the cell, and the alarm unless it rings early enough. A lock that is empty leaves nothing.
async fn write(desk: &Desk, id: TaskId, mut kept: Kept) -> Result<(), Fault> {
    if kept.lock.is_empty() {
        desk.edge.count("object_rows", 1);
        return desk.storage.delete_all().await.map_err(Fault);
    }
    let now_ms = desk.edge.now_ms();
    let due_ms = due_ms(&kept.lock, now_ms).map(|at| at.max(now_ms + 1));
    let armed = kept.armed_ms > now_ms && due_ms.is_none_or(|at| kept.armed_ms <= at);
    let alarm_ms = due_ms.filter(|_| !armed);
    kept.armed_ms = alarm_ms.unwrap_or(kept.armed_ms);
    let bytes = serde_json::to_vec(&kept).map_err(|error| Fault(error.to_string()))?;
    desk.storage.cells().put(&cell(id), &bytes).map_err(fault)?;
    desk.edge.count("object_rows", 1);
    match alarm_ms {
        Some(at_ms) => arm(desk, at_ms).await,
        None => Ok(()),
    }
}

async fn arm(desk: &Desk, at_ms: u64) -> Result<(), Fault> {
    let set = desk.storage.set_alarm(at_ms);
    desk.edge.count("object_rows", 1);
    desk.edge.count("alarms", 1);
    set.await.map_err(Fault)
}

/// Answers a call of the lock.
pub(super) async fn answer(desk: &Rc<Desk>, id: TaskId, call: &LockCall) -> Result<Reply, Fault> {
    look_after_alarm(desk, id).await?;
    if TaskId::of_lock(&call.name) != id {
        let why = "this object is not that lock's";
        return Ok(Reply::of(Told::Unavailable(why.to_owned())));
    }
    let kept = load(desk, id)?;
    let armed_ms = kept.as_ref().map_or(0, |kept| kept.armed_ms);
    let decided = decide(kept.map(|kept| kept.lock), call, desk.edge.now_ms());
    let owes = !decided.lock.letters.is_empty();
    if decided.changed {
        let lock = decided.lock;
        write(desk, id, Kept { lock, armed_ms }).await?;
        if owes {
            let later = Rc::clone(desk);
            desk.edge.wait_until(Box::pin(async move {
                super::object::logged(&later.edge, "lock_letters", id, tell(&later, id).await);
            }));
        }
    }
    Ok(Reply::of(Told::Lock {
        reply: decided.reply,
    }))
}

/// Sets the alarm again if it was lost with an earlier instance. One look for each start of the object.
async fn look_after_alarm(desk: &Desk, id: TaskId) -> Result<(), Fault> {
    if desk.looked.replace(true) {
        return Ok(());
    }
    let alarm_ms = desk.storage.alarm_ms().await.map_err(Fault)?;
    let now_ms = desk.edge.now_ms();
    let due = load(desk, id)?.and_then(|kept| due_ms(&kept.lock, now_ms));
    match due {
        Some(due_ms) if alarm_ms.is_none_or(|at| at > due_ms) => {
            arm(desk, due_ms.max(now_ms + 1)).await
        }
        _ => Ok(()),
    }
}

/// What came of a letter.
enum Brought {
    Heard,
    /// The task is over, or it is another generation: it does not go on with the lock.
    Gone,
    Failed,
}

/// Brings what letters there are. At most one run at a time.
async fn tell(desk: &Desk, id: TaskId) -> Result<(), Fault> {
    if desk.paying.replace(true) {
        // The run on its way looks again when it is through.
        return Ok(());
    }
    let _over = Over(&desk.paying);
    for _ in 0..MAX_ROUNDS {
        let Some(kept) = load(desk, id)? else {
            return Ok(());
        };
        let (name, now_ms) = (kept.lock.name.as_str(), desk.edge.now_ms());
        let due = kept.lock.letters.iter().filter(|l| l.next_ms <= now_ms);
        let due: Vec<&Letter> = due.collect();
        if due.is_empty() {
            return Ok(());
        }
        let bringing = due.into_iter().map(|letter| async move {
            let brought = bring(&desk.edge, name, letter).await;
            (letter.clone(), brought)
        });
        let bringing = stream::iter(bringing).buffer_unordered(AT_A_TIME);
        let brought: Vec<(Letter, Brought)> = bringing.collect().await;
        // Others may have changed it meanwhile. From here to the write nothing is awaited.
        let Some(mut kept) = load(desk, id)? else {
            return Ok(());
        };
        let failed = note(desk, &mut kept.lock, brought);
        write(desk, id, kept).await?;
        if failed {
            return Ok(());
        }
    }
    Ok(())
}

/// Notes what came of letters. True if one has to be brought again.
fn note(desk: &Desk, lock: &mut Lock, brought: Vec<(Letter, Brought)>) -> bool {
    let now_ms = desk.edge.now_ms();
    let mut failed = false;
    for (letter, brought) in brought {
        match brought {
            Brought::Heard => lock.heard(letter.n),
            Brought::Gone => {
                lock.gone(&letter.to, now_ms);
            }
            Brought::Failed => {
                failed = true;
                let wait_ms = flush_backoff_ms(letter.tries, desk.edge.jitter());
                for again in lock.letters.iter_mut().filter(|l| l.n == letter.n) {
                    again.tries = letter.tries.saturating_add(1);
                    again.next_ms = now_ms + wait_ms;
                }
            }
        }
    }
    failed
}

async fn bring(edge: &Edge, name: &str, letter: &Letter) -> Brought {
    let Asker {
        task_id,
        generation,
        mark,
    } = &letter.to;
    let Some(task_id) = TaskId::parse(task_id) else {
        return Brought::Gone;
    };
    let call = Call {
        task_id,
        ask: Ask::Signal(Box::new(Signal {
            name: lock_signal(mark),
            id: format!("{name}:{mark}:{}", letter.n),
            outcome: Outcome::Value("null".to_owned()),
            generation: Some(*generation),
            known: None,
        })),
    };
    let until_ms = edge.now_ms() + limits::FLUSH_TIMEOUT_MS;
    let why = match ask::ask(edge, &call, until_ms).await.map(|r| r.told) {
        Ok(Told::Signalled { .. } | Told::KeyReused) => return Brought::Heard,
        // `Done`: it is for a generation that is over.
        Ok(Told::Ended(_) | Told::NotFound | Told::Expired | Told::Done) => return Brought::Gone,
        Ok(Told::Unavailable(why)) => why,
        Ok(other) => other.name().to_owned(),
        Err(error) => format!("{error:?}"),
    };
    edge.log(
        Level::Error,
        "lock_letter_failed",
        json!({"lock": TaskId::of_lock(name).to_string(), "to": task_id.to_string(), "error": why}),
    );
    Brought::Failed
}

/// Looks at the tasks of the holders, and frees what they left behind.
async fn look(desk: &Desk, id: TaskId) -> Result<(), Fault> {
    let Some(kept) = load(desk, id)?.filter(|kept| !kept.lock.queue.is_empty()) else {
        return Ok(());
    };
    let looks = kept.lock.holders.iter().map(|holder| async move {
        let gone = is_gone(&desk.edge, holder).await;
        gone.then(|| holder.clone())
    });
    let looks = stream::iter(looks).buffer_unordered(AT_A_TIME);
    let gone: Vec<Asker> = looks.filter_map(std::future::ready).collect().await;
    if gone.is_empty() {
        return Ok(());
    }
    // Others may have changed it meanwhile. From here to the write nothing is awaited.
    let Some(mut kept) = load(desk, id)? else {
        return Ok(());
    };
    let now_ms = desk.edge.now_ms();
    for holder in &gone {
        kept.lock.gone(holder, now_ms);
    }
    write(desk, id, kept).await?;
    tell(desk, id).await
}

/// True if a holder is known to have let go.
async fn is_gone(edge: &Edge, holder: &Asker) -> bool {
    let Some(task_id) = TaskId::parse(&holder.task_id) else {
        return true;
    };
    let call = Call {
        task_id,
        ask: Ask::Look { wait_ms: 0 },
    };
    let until_ms = edge.now_ms() + limits::FLUSH_TIMEOUT_MS;
    match ask::ask(edge, &call, until_ms).await.map(|r| r.told) {
        Ok(Told::Stands(standing)) => has_let_go(&standing.summary, holder.generation),
        Ok(Told::NotFound | Told::Expired) => true,
        Ok(_) | Err(_) => false,
    }
}

/// The alarm of a lock. Says whether it is one.
pub(super) async fn ring(desk: &Desk, id: TaskId) -> Result<bool, Fault> {
    let Some(kept) = load(desk, id)? else {
        return Ok(false);
    };
    let now_ms = desk.edge.now_ms();
    if let Some(at_ms) = due_ms(&kept.lock, now_ms) {
        // Should this run be cut off, or nothing have changed, that is the next one.
        arm(desk, at_ms.max(now_ms + limits::LOCK_LOOK_MS)).await?;
    }
    tell(desk, id).await?;
    look(desk, id).await?;
    Ok(true)
}

/// Asks the object of a lock.
pub(super) async fn ask(
    edge: &Edge,
    call: LockCall,
    until_ms: u64,
) -> Result<LockReply, CallError> {
    let call = Call {
        task_id: TaskId::of_lock(&call.name),
        ask: Ask::Lock(Box::new(call)),
    };
    match ask::ask(edge, &call, until_ms).await.map(|r| r.told) {
        Ok(Told::Lock { reply }) => Ok(reply),
        Ok(Told::Unavailable(why)) => Err(CallError::Unreachable(why)),
        Ok(other) => Err(CallError::Unreachable(other.name().into())),
        Err(error) => Err(error.into()),
    }
}
