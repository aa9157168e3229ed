//! What must hold of every state by itself.

use crate::events::debt;
use crate::steps::undoes;
use crate::world::{Row, World};
use onceward::protocol::{
    NEVER_MS, State, StepRecord, Task, Undone, WaitFor, Waiting, invariant, next_due_ms,
};

pub const ALONE: &str = "G6 two slices never act at once";
pub const ENDS: &str = "G4 it ends, or waits by name";
pub const ALARM: &str = "G4 an alarm is set";
pub const PROJECTED: &str = "G4 D1 holds what counts as told";
pub const OWED: &str = "G4 what is owed is kept until it is heard";
pub const BURIED: &str = "G7 no row above its tombstone";
pub const WISH: &str = "a cancellation is carried out";
pub const UNDONE: &str = "what can be undone is undone";
pub const ALL_OF_IT: &str = "undone means all of it";

/// G1, G6: never do two slices act at a time, each by its own clock.
pub fn acts_alone(world: &World) -> bool {
    let acting = world
        .slices
        .iter()
        .filter(|s| !s.waits && world.real < s.until);
    acting.count() <= 1
}

/// G4: what is stored has what makes it go on, and an alarm that rings for it in time, unless only a signal or
/// an operator makes it go on.
pub fn has_alarm(world: &World) -> bool {
    let Some(task) = &world.task else { return true };
    let never = next_due_ms(task) >= NEVER_MS;
    let placing = world.wires.iter().any(|w| !w.echo && w.is_for_d1());
    if world.alarm_lost || never || placing {
        return true;
    }
    // One that is due may ring at any step from now on.
    let alarm = world.alarm.map(|at| at.max(world.clock()));
    let now = world.clock().max(task.seen_ms);
    world.alarm.is_some() && invariant(task, alarm, now).is_none()
}

/// G4: D1 holds the row that counts as told.
pub fn is_projected(world: &World) -> bool {
    let Some(task) = &world.task else { return true };
    if task.outbox.owed_n == 0 || task.outbox.is_owing() || matches!(task.state, State::Forgotten) {
        return true;
    }
    let own = |row: &Row| row.version.epoch == task.version.epoch;
    let expired = task
        .expires_ms
        .is_some_and(|at| at <= world.clock().max(task.seen_ms));
    expired
        || world
            .d1
            .filter(own)
            .is_some_and(|row| row.version.n >= task.outbox.owed_n && !row.is_tombstone)
}

/// G7: D1 never goes back behind a tombstone after which everything was deleted.
pub fn is_buried(world: &World) -> bool {
    let Some(gone) = world.memory.gone else {
        return true;
    };
    world.d1.is_some_and(|row| {
        row.version >= gone && (row.is_tombstone || row.version.epoch > gone.epoch)
    })
}

/// G4: what another task has not heard is still to be told.
pub fn owes_still(world: &World) -> bool {
    let Some(pay) = world.peer.owed else {
        return true;
    };
    world.task.as_ref().is_some_and(|task| {
        let owed = debt(pay);
        let again = |p: &_| owed == onceward::protocol::Debt::End(Clone::clone(p));
        task.debts.list.contains(&owed) || task.parents.iter().any(again)
    })
}

/// What an operator has cancelled in time is cancelled or had succeeded; and it waits for nothing.
pub fn obeys(world: &World) -> bool {
    let Some(task) = world.task.as_ref().filter(|_| world.memory.cancelled) else {
        return true;
    };
    let waits = |w: &onceward::protocol::Wait| !matches!(w.what, WaitFor::Retry { .. });
    match &task.state {
        State::Failed { .. } | State::Suspended(Waiting::CodeChanged(_)) => false,
        State::Suspended(Waiting::For(list)) => !list.iter().any(waits),
        _ => true,
    }
}

/// A task that failed or was cancelled has been undone, as far as it can be.
pub fn is_undone(world: &World) -> bool {
    let mut done = world.journal.iter().chain(&world.kept);
    let ended = |t: &&Task| matches!(t.state, State::Failed { .. } | State::Cancelled);
    let ended = world.task.as_ref().filter(ended);
    ended.is_none_or(|task| task.undone.is_some() || !done.any(StepRecord::is_undoable))
}

/// Where nothing is named as not undone, everything on record was.
pub fn is_undone_whole(world: &World) -> bool {
    let undone = world.task.as_ref().and_then(|t| t.undone.as_ref());
    if !undone.is_some_and(Undone::is_complete) {
        return true;
    }
    let (view, placed) = (world.view(), world.journal.iter().chain(&world.kept));
    let mut done = placed.filter(|r| r.is_undoable());
    done.all(|record| view[undoes(record)])
}
