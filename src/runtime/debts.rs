//! The object tells other tasks what they are owed: parents of the end, children of a cancellation,
//! operators what has become of it.

use super::Fault;
use super::ask;
use super::desk::Desk;
use super::notices;
use super::ports::Level;
use crate::function::outcome_of;
use crate::http::object_call::{Ask, Call, Told};
use crate::limits;
use crate::protocol::{Debt, Event, Parent, Signal, Standing, Summary, child_signal};
use crate::store::commit::Stored;
use crate::types::TaskId;
use futures::StreamExt as _;
use futures::stream;
use serde_json::json;
use std::cell::Cell;

/// Others that are told at a time: the platform gives six connections.
const AT_A_TIME: usize = 5;
/// Rounds of one run; what is still owed then waits for the alarm.
const MAX_ROUNDS: u32 = 4;
/// How long one run begins anything, in milliseconds: no other alarm rings while it is at it.
const BUDGET_MS: u64 = 2 * limits::FLUSH_TIMEOUT_MS;

/// Pays what is owed until nothing is left or somebody could not be told. At most one at a time.
pub(super) async fn pay(desk: &Desk, id: TaskId) -> Result<(), Fault> {
    if desk.paying.replace(true) {
        // The run on its way looks at the debts again when it is through.
        return Ok(());
    }
    let _over = Over(&desk.paying);
    let until_ms = desk.edge.now_ms() + BUDGET_MS;
    for _ in 0..MAX_ROUNDS {
        let Some(stored) = load(desk, id)? else {
            return Ok(());
        };
        if stored.task.debts.list.is_empty() {
            return Ok(());
        }
        if !round(desk, &stored, until_ms).await? {
            desk.step(id, Event::DebtFailed).await?;
            return Ok(());
        }
    }
    Ok(())
}

/// Says that the run is over, also when it is dropped half-way.
struct Over<'a>(&'a Cell<bool>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

fn load(desk: &Desk, id: TaskId) -> Result<Option<Stored>, Fault> {
    Stored::load(&desk.storage.cells(), id).map_err(|e| Fault(e.to_string()))
}

/// Pays each debt once. True if all of them are.
async fn round(desk: &Desk, stored: &Stored, until_ms: u64) -> Result<bool, Fault> {
    let id = stored.task.id();
    let calls = stored.task.debts.list.iter().map(|debt| async move {
        for call in messages(desk, stored, debt)? {
            if !tell(desk, id, call, until_ms).await {
                return None;
            }
        }
        Some(debt.clone())
    });
    let mut telling = stream::iter(calls).buffer_unordered(AT_A_TIME);
    let mut all = true;
    while let Some(paid) = telling.next().await {
        match paid {
            Some(debt) => {
                desk.step(id, Event::DebtPaid(debt)).await?;
            }
            None => all = false,
        }
    }
    Ok(all)
}

/// What is to be said, one after the other; `None` while there is nothing to say: the task has been begun
/// again.
fn messages(desk: &Desk, stored: &Stored, debt: &Debt) -> Option<Vec<Call>> {
    match debt {
        Debt::End(parent) => end(desk, stored, parent).map(|call| vec![call]),
        Debt::Notice(notice) => Some(notices::calls(desk, &stored.task, notice)),
        Debt::Cancel(child) => Some(vec![Call {
            task_id: *child,
            ask: Ask::Abandon {
                op: format!("{}:{}", stored.task.id(), stored.task.generation),
                parent: stored.task.id(),
            },
        }]),
    }
}

fn end(desk: &Desk, stored: &Stored, parent: &Parent) -> Option<Call> {
    let task = &stored.task;
    let mut answer = task.answer.clone().filter(|_| task.answers());
    if let Some(answer) = &mut answer {
        answer.body = stored.answer_body(&desk.storage.cells()).ok()?;
    }
    let outcome = outcome_of(&Standing {
        began: false,
        summary: Summary::of(task),
        answer,
    })?;
    // One end has one id: a task that failed for now may end once more within its generation.
    let ended_ms = task.finished_ms.unwrap_or(0);
    Some(Call {
        task_id: parent.task_id,
        ask: Ask::Signal(Box::new(Signal {
            name: child_signal(&parent.step),
            id: format!("{}:{}:{ended_ms}", task.id(), task.generation),
            outcome,
            generation: Some(parent.generation),
            known: None,
        })),
    })
}

/// True if somebody has answered: whoever is gone, has ended or has heard of it before needs nothing.
async fn tell(desk: &Desk, id: TaskId, call: Call, until_ms: u64) -> bool {
    let now = desk.edge.now_ms();
    let until_ms = until_ms.min(now + limits::FLUSH_TIMEOUT_MS);
    if now >= until_ms {
        return false;
    }
    let why = match ask::ask(&desk.edge, &call, until_ms).await.map(|r| r.told) {
        Ok(Told::Unavailable(why)) => why,
        Ok(_) => return true,
        Err(error) => format!("{error:?}"),
    };
    desk.edge.log(
        Level::Error,
        "debt_failed",
        json!({
            "task_id": id.to_string(), "to": call.task_id.to_string(),
            "ask": call.ask.name(), "error": why,
        }),
    );
    false
}
