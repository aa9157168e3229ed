//! The guarantees, watched from outside: what the machine says is held against what was said before.

use crate::world::{MAX_ATTEMPTS, TICK, World, number};
use onceward::protocol::{
    Effect, Event, Next, Outcome, Proof, Reply, State, Task, Transition, Version,
};
use onceward::types::FailureKind;

pub const LEASE: &str = "G1 one valid lease";
pub const ALONE: &str = "G6 two slices never act at once";
pub const TICKET: &str = "G1 a ticket is claimed once";
pub const STALE: &str = "G1 what is stale changes nothing";
pub const RECORD: &str = "G2 a recorded outcome stays";
pub const FINAL: &str = "G2 a stored answer stays";
pub const REPEAT: &str = "G2 a repeat is not called stale";
pub const EFFECT: &str = "G3 no effect after its record";
pub const ENDS: &str = "G4 it ends, or waits by name";
pub const ALARM: &str = "G4 an alarm is set";
pub const PROJECTED: &str = "G4 D1 holds what counts as told";
pub const ANSWER: &str = "G5 another body gets no answer";
pub const LIVING: &str = "G7 only the dead are deleted";
pub const BURIED: &str = "G7 no row above its tombstone";
pub const ATTEMPTS: &str = "G9 attempts are bounded";
pub const WISH: &str = "cancelled is not failed";
pub const UNDONE: &str = "what can be undone is undone";

pub fn watch(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    claims(world, before, event, out, ms);
    writes(world, before, event, out);
    records(world, event, out);
    finals(world, before, event, out, ms);
    deliveries(world, before, event, out);
    if matches!(out.next, Next::Gone) {
        buried(world, before, event, ms);
    }
    wishes(world, event, out);
}

fn claims(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let (Reply::Claimed(claimed), Next::Put(_)) = (&out.reply, &out.next) else {
        return;
    };
    if before.is_some() && world.held && ms < world.until {
        world.broke(LEASE);
    }
    world.until = ms + TICK;
    if let Event::Claim(claim) = event {
        let bit = 1 << number(&claim.ticket).min(63);
        if world.used & bit != 0 {
            world.broke(TICKET);
        }
        world.used |= bit;
    }
    let fence = before.map_or(0, |t| t.fence);
    if before.is_some() && claimed.proof.fence <= fence {
        world.broke(LEASE);
    }
    let anew = before.is_none_or(|t| t.generation != claimed.generation);
    let revived = matches!(event, Event::Begin(_));
    world.barren = if anew || revived { 1 } else { world.barren + 1 };
    if world.barren > MAX_ATTEMPTS && !claimed.undoing {
        world.broke(ATTEMPTS);
    }
    world.held = true;
}

fn proof(event: &Event) -> Option<&Proof> {
    match event {
        Event::Record(record) => Some(&record.proof),
        Event::Finish(finish) => Some(&finish.proof),
        Event::Suspend(suspend) => Some(&suspend.proof),
        _ => None,
    }
}

/// G1: only the last holder's messages count, and no more once it has handed on.
fn writes(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition) {
    let Some(proof) = proof(event) else { return };
    let lease = number(&proof.token);
    let holds = world.held && lease == world.leases && before.is_some();
    let changed = !matches!(out.next, Next::Unchanged) || !out.effects.is_empty();
    if changed && !holds {
        world.broke(STALE);
    }
    if matches!(event, Event::Record(_)) || !changed || matches!(out.reply, Reply::GoOn { .. }) {
        return;
    }
    if let Next::Put(_) = out.next {
        world.held = false;
        world.ended_by = lease;
        world.barren = world
            .barren
            .saturating_sub(u32::from(matches!(event, Event::Suspend(_))));
    }
}

/// G2: what is settled is not written again, but for the retryable failure that ended an attempt.
fn records(world: &mut World, event: &Event, out: &Transition) {
    for effect in &out.effects {
        let (id, new) = match effect {
            Effect::PutStep(step) => (&step.id, Some(step)),
            Effect::ReopenStep(id) => (id, None),
            Effect::DropPayload => {
                world.barren = 0;
                continue;
            }
            _ => continue,
        };
        let old = world
            .journal
            .iter()
            .find(|r| r.id == *id)
            .map(|r| r.outcome.clone());
        let opens = new.is_none_or(|r| !r.outcome.is_settled());
        let reopened = |old: &Outcome| {
            let ended = matches!(event, Event::Finish(_)) && opens;
            ended && matches!(old, Outcome::Failed(f) if f.kind == FailureKind::Retryable)
        };
        if old.as_ref().is_some_and(|o| o.is_settled() && !reopened(o)) {
            world.broke(RECORD);
        }
        if new.is_some_and(|r| matches!(r.outcome, Outcome::Value(_))) {
            let taken = matches!(event, Event::Signal(_));
            world.barren = u32::from(!taken);
        }
    }
}

fn finals(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let ended = |t: &&Task| {
        matches!(
            t.state,
            State::Succeeded | State::Cancelled | State::Failed { resumable: false }
        ) && t.expires_ms.is_some_and(|at| ms < at)
    };
    let (Some(old), Next::Put(new)) = (before.filter(ended), &out.next) else {
        return;
    };
    let deleted = matches!(event, Event::Delete);
    if !deleted
        && (old.state != new.state || old.answer != new.answer || old.failure != new.failure)
    {
        world.broke(FINAL);
    }
}

fn deliveries(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition) {
    let Event::Begin(begin) = event else { return };
    let print = begin
        .fingerprint
        .as_deref()
        .and_then(|p| p.strip_prefix("print-"));
    let print: u8 = print.and_then(|p| p.parse().ok()).unwrap_or(0);
    let anew = match &out.next {
        Next::Put(task) => before.is_none_or(|t| t.generation != task.generation),
        Next::Unchanged | Next::Gone => false,
    };
    if anew {
        world.print = print;
        world.cancelled = false;
    } else if print != world.print && !matches!(out.reply, Reply::KeyReused) {
        world.broke(ANSWER);
    }
}

/// G7: its time is up, or an operator had it forgotten; and this tombstone is the one of its version.
fn buried(world: &mut World, before: Option<&Task>, event: &Event, ms: u64) {
    let dead = before.is_some_and(|t| {
        let over = t.has_ended() && t.expires_ms.is_some_and(|at| at <= ms);
        over || matches!(t.state, State::Forgotten)
    });
    let row = world
        .d1
        .filter(|row| row.is_tombstone)
        .map(|row| row.version);
    let stands = before.map(|t| Version {
        epoch: t.version.epoch,
        n: t.version.n + 1,
    });
    if !dead || !matches!(event, Event::TombstoneAcked(_)) || row.is_none() || row < stands {
        world.broke(LIVING);
    }
    world.gone = row;
    (world.held, world.barren, world.cancelled) = (false, 0, false);
}

fn wishes(world: &mut World, event: &Event, out: &Transition) {
    let Next::Put(task) = &out.next else { return };
    let cancels = matches!(event, Event::Cancel { .. });
    world.cancelled |= cancels && matches!(out.reply, Reply::Stands(_));
    if world.cancelled && matches!(task.state, State::Failed { .. }) {
        world.broke(WISH);
    }
    let undoable = |e: &Effect| matches!(e, Effect::PutStep(r) if r.is_undoable());
    let told = |id| {
        out.effects
            .iter()
            .any(|e| matches!(e, Effect::PutStep(r) if r.id == id))
    };
    let kept = world
        .journal
        .iter()
        .any(|r| r.is_undoable() && !told(r.id.clone()));
    let left = kept || out.effects.iter().any(undoable);
    let ends = matches!(task.state, State::Failed { .. } | State::Cancelled);
    let forgets = out.effects.contains(&Effect::DropPayload);
    if ends && left && task.undone.is_none() && !forgets {
        world.broke(UNDONE);
    }
}

/// A message that was carried out and comes once more: its sender hears what came of it.
pub fn repeated(world: &mut World, lease: u8, reply: &Reply) {
    let last = world.ended_by == lease && lease == world.leases && !world.held;
    if last
        && matches!(reply, Reply::Stale(_))
        && world
            .task
            .as_ref()
            .is_some_and(|t| t.finish_op.is_some() || t.suspend_op.is_some())
    {
        world.broke(REPEAT);
    }
}

/// G1, G6: never do two slices act at a time, each by its own clock.
pub fn acts_alone(world: &World) -> bool {
    let acting = world
        .slices
        .iter()
        .filter(|s| !s.waits && world.real < s.until);
    acting.count() <= 1
}

/// G4: what is stored has an alarm, unless only a signal or an operator makes it go on.
pub fn has_alarm(world: &World) -> bool {
    let Some(task) = &world.task else { return true };
    let never = onceward::protocol::next_due_ms(task) >= onceward::protocol::NEVER_MS;
    let placing = world.wires.iter().any(|w| !w.echo && w.is_for_d1());
    world.alarm.is_some() || world.alarm_lost || never || placing
}

/// G4: D1 holds the row that counts as told.
pub fn is_projected(world: &World) -> bool {
    let Some(task) = &world.task else { return true };
    if task.outbox.owed_n == 0 || task.outbox.is_owing() || matches!(task.state, State::Forgotten) {
        return true;
    }
    let own = |row: &crate::world::Row| row.version.epoch == task.version.epoch;
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
    let Some(gone) = world.gone else { return true };
    world.d1.is_some_and(|row| {
        row.version >= gone && (row.is_tombstone || row.version.epoch > gone.epoch)
    })
}
