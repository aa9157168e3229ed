//! Cron asks an object to look at itself.

use super::Fault;
use super::desk::Desk;
use super::object::Object;
use super::ports::Level;
use crate::http::object_call::{Poked, Reply, Told};
use crate::protocol::{self, Event, Lost, Task, Version};
use crate::store::commit::Stored;
use crate::types::TaskId;
use serde_json::json;

impl Object {
    /// Looks whether anything is missing that should make the task go on, and has the machine move it if so.
    /// Where nothing is, nothing is written.
    ///
    /// # Errors
    /// When storage fails.
    pub(super) async fn poked(&self, id: TaskId) -> Result<Reply, Fault> {
        let desk = &self.desk;
        if desk.ringing.get() {
            // Its alarm is at it; the platform rings again if that run is cut off.
            return Ok(Reply::poked(&Poked::default()));
        }
        let (task, lost) = match look(desk, id).await? {
            Ok(found) => found,
            Err(reply) => return Ok(reply),
        };
        if lost.is_none() && protocol::next_due_ms(&task) > desk.edge.now_ms() {
            return Ok(Reply::poked(&Poked {
                acknowledged: acknowledged(&task),
                ..Poked::default()
            }));
        }
        let step = match self.step(id, Event::Poke).await {
            Ok(step) => step,
            Err(fault) => return Ok(Reply::of(Told::Unavailable(fault.0))),
        };
        for effect in step.after {
            self.act(id, effect, &step.runs);
        }
        let healed = match (lost, look(desk, id).await?) {
            (None, _) => false,
            // Nothing is left of it that could lack anything.
            (Some(_), Err(_)) => true,
            (Some(_), Ok((_, now))) => now.is_none(),
        };
        if let Some(lost) = lost {
            let (id, lost) = (id.to_string(), lost.as_str());
            let fields = json!({"task_id": id, "lost": lost, "healed": healed});
            desk.edge.log(Level::Error, "lost", fields);
        }
        Ok(Reply::poked(&Poked {
            lost,
            healed,
            acknowledged: None,
        }))
    }
}

/// The task, and what it lacks; or what is answered where there is none.
async fn look(desk: &Desk, id: TaskId) -> Result<Result<(Task, Option<Lost>), Reply>, Fault> {
    let alarm_ms = desk.storage.alarm_ms().await.map_err(Fault)?;
    Ok(match Stored::load(&desk.storage.cells(), id) {
        Ok(Some(stored)) => {
            let now_ms = desk.edge.now_ms().max(stored.task.seen_ms);
            let lost = protocol::invariant(&stored.task, alarm_ms, now_ms);
            Ok((stored.task, lost))
        }
        Ok(None) => Err(Reply::of(Told::NotFound)),
        Err(error) => Err(Reply::of(Told::Unavailable(error.to_string()))),
    })
}

/// What D1 must have at the least, as long as it is owed nothing.
fn acknowledged(task: &Task) -> Option<Version> {
    let n = task.outbox.flushed_n;
    let settled = n > 0 && !task.outbox.is_owing();
    settled.then_some(Version {
        epoch: task.version.epoch,
        n,
    })
}
