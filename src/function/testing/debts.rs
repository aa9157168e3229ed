//! How an object of the bench tells other tasks what it owes them.

use super::action::{Action, Fault};
use super::host::OBJECT_WAY_MS;
use super::world::World;
use crate::function::outcome_of;
use crate::protocol::{Debt, Event, Signal, child_signal};
use crate::types::TaskId;
use std::rc::Rc;

/// Takes one message to the task that it is owed to. Whatever that one answers is good: it has ended,
/// it is gone, it is another generation.
pub(super) async fn pay(world: Rc<World>, id: TaskId, debt: Debt) {
    let fault = world.enter(id, Action::Debt);
    let Some((to, event)) = message(&world, id, &debt) else {
        // A delivery has made the task go on meanwhile: its next end is told.
        world.tell(id, Event::DebtFailed);
        return;
    };
    if fault == Some(Fault::CrashBefore) {
        return;
    }
    world.clock.sleep(OBJECT_WAY_MS).await;
    if world.losing.get() > 0 {
        world.losing.set(world.losing.get() - 1);
        world.tell(id, Event::DebtFailed);
        return;
    }
    world.tell(to, event.clone());
    if fault == Some(Fault::Double) {
        world.tell(to, event);
    }
    world.clock.sleep(OBJECT_WAY_MS).await;
    let heard = match fault {
        Some(Fault::CrashAfter) => return,
        Some(Fault::LoseReply) => Event::DebtFailed,
        Some(Fault::CrashBefore | Fault::Double | Fault::Slow | Fault::Busy) | None => {
            Event::DebtPaid(debt)
        }
    };
    world.tell(id, heard);
}

/// Whom to tell, and what. `None` if there is nothing to tell as the task stands.
fn message(world: &World, id: TaskId, debt: &Debt) -> Option<(TaskId, Event)> {
    let task = world.task(id)?;
    match debt {
        // Nobody is to be told of anything here.
        Debt::Notice(_) => None,
        Debt::Cancel(child) => {
            let op = format!("{id}:{}", task.generation);
            Some((*child, Event::Abandon { op, parent: id }))
        }
        Debt::End(parent) => {
            let signal = Signal {
                name: child_signal(&parent.step),
                // One end has one id: a task that failed for now may end once more in its generation.
                id: format!("{id}:{}:{}", task.generation, task.finished_ms.unwrap_or(0)),
                outcome: outcome_of(&world.standing(id)?)?,
                generation: Some(parent.generation),
                known: None,
            };
            Some((parent.task_id, Event::Signal(Box::new(signal))))
        }
    }
}
