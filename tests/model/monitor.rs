//! The guarantees, watched from outside: what the machine says is held against what was said before.

use crate::states::UNDONE;
use crate::steps::WAIT;
use crate::world::{Ask, MAX_ATTEMPTS, Message, Pay, Wire, World, number};
use onceward::limits;
use onceward::protocol::{
    Effect, EndsAs, Event, Kind, Next, Outcome, Proof, Reply, State, StepRecord, Task, Transition,
    Verdict, Version, WaitFor, Waiting,
};
use onceward::types::{AfterExpiry, FailureKind};

pub const LEASE: &str = "G1 one valid lease";
pub const TICKET: &str = "G1 a ticket is claimed once";
pub const STALE: &str = "G1 what is stale changes nothing";
pub const CHAIN: &str = "G1 a chain of slices is short";
pub const RECORD: &str = "G2 a recorded outcome stays";
pub const DEADLINE: &str = "G2 a deadline is set once";
pub const CURSOR: &str = "G2 saved progress does not go back";
pub const FINAL: &str = "G2 a stored answer stays";
pub const REPEAT: &str = "G2 a repeat is not called stale";
pub const DELIVERY: &str = "G2 a delivery begins once";
pub const STEERED: &str = "G2 an operation is carried out once";
pub const EFFECT: &str = "G3 no effect after its record";
pub const SLEPT: &str = "G3 no step before its sleep is over";
pub const ANSWER: &str = "G5 another body gets no answer";
pub const USED_UP: &str = "G5 a used up key begins nothing";
pub const LIVING: &str = "G7 only the dead are deleted";
pub const ATTEMPTS: &str = "G9 attempts are bounded";
pub const SIGNAL: &str = "a signal is taken once";
pub const ANOTHERS: &str = "a child of another generation is not heard";
pub const ONCE: &str = "no undo handler after its record";
pub const BESIDE: &str = "no step beside its undoing";
pub const FRESH: &str = "what was undone is done anew";
pub const PARTLY: &str = "what is not undone is not begun anew";

/// `ms`: the object's clock, as far as its memory goes.
pub fn watch(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let ms = world.memory.latest.max(ms);
    if matches!(out.next, Next::Gone) {
        if ms < world.memory.used_up {
            world.broke(USED_UP);
        }
        world.memory.used_up = 0;
    }
    if let Next::Put(task) = &out.next {
        world.memory.latest = ms;
        if let (true, AfterExpiry::Gone { tombstone_ms }) =
            (task.has_ended(), task.policy.after_expiry)
        {
            world.memory.used_up = task.expires_ms.unwrap_or(0) + tombstone_ms;
        }
    }
    turns(world, before, event, out, ms);
    claims(world, before, event, out, ms);
    writes(world, before, event, out, ms);
    records(world, before, event, out);
    chains(world, event, out);
    finals(world, before, event, out, ms);
    deliveries(world, before, event, out, ms);
    deletes(world, before, event, out, ms);
    others(world, before, event, out);
    wishes(world, event, out);
    let anew = matches!(&out.next, Next::Put(task) if is_anew(before, task));
    // Another generation has no holder but who has just claimed it.
    world.memory.held &= !anew || matches!(out.reply, Reply::Claimed(_));
    world.memory.partial &= !anew;
}

fn is_anew(before: Option<&Task>, after: &Task) -> bool {
    before.is_none_or(|t| t.generation != after.generation)
}

/// Attempts are counted from here on anew.
fn turns(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let Next::Put(task) = &out.next else { return };
    let memory = &mut world.memory;
    let anew = is_anew(before, task);
    let Some(before) = before else {
        memory.barren = 0;
        return;
    };
    let revived = before.has_ended() && !task.has_ended();
    let undoing = before.ending.is_none() && task.ending.is_some();
    let time = |due: Option<u64>| due.is_some_and(|due| due <= ms);
    let waited = before.waits().iter().any(|wait| match wait.what {
        WaitFor::Sleep { due_ms } => time(Some(due_ms)),
        WaitFor::Signal { due_ms, .. } => time(due_ms),
        WaitFor::Child { .. } | WaitFor::Retry { .. } => false,
    });
    let woken = waited && task.state != before.state;
    // A delivery may find a task that is just failing, and revive it at once.
    let begun = matches!(event, Event::Begin(_)) && before.begin_op != task.begin_op;
    if anew || revived || begun || undoing || woken {
        memory.barren = 0;
    }
    let asleep = matches!(event, Event::Suspend(s)
        if s.waits.iter().any(|w| matches!(w.what, WaitFor::Sleep { due_ms } if due_ms <= ms)));
    if asleep {
        memory.barren = memory.barren.min(1);
    }
}

fn claims(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let op = match event {
        Event::Claim(claim) => &claim.op,
        Event::Begin(begin) => &begin.op,
        _ => return,
    };
    let valid = before.is_some() && world.memory.held && ms < world.memory.until;
    let (Reply::Claimed(claimed), Next::Put(_)) = (&out.reply, &out.next) else {
        // The same claim is given the same lease.
        let same =
            matches!(&out.reply, Reply::Claimed(c) if number(&c.proof.token) == world.leases);
        if valid && world.memory.claim_op == op.as_str() && !same {
            world.broke(REPEAT);
        }
        return;
    };
    if valid {
        world.broke(LEASE);
    }
    world.memory.until = ms + world.pace.lease_ms();
    if let Event::Claim(claim) = event {
        let bit = 1 << number(&claim.ticket).min(63);
        if world.memory.used & bit != 0 {
            world.broke(TICKET);
        }
        world.memory.used |= bit;
    }
    let fence = before.map_or(0, |t| t.fence);
    if before.is_some() && claimed.proof.fence <= fence {
        world.broke(LEASE);
    }
    let memory = &mut world.memory;
    op.as_str().clone_into(&mut memory.claim_op);
    memory.barren += 1;
    let most = if claimed.undoing {
        MAX_ATTEMPTS.max(limits::DEFAULT_MAX_ATTEMPTS)
    } else {
        MAX_ATTEMPTS
    };
    (memory.held, memory.moved) = (true, false);
    if memory.barren > most {
        world.broke(ATTEMPTS);
    }
}

fn proof(event: &Event) -> Option<&Proof> {
    match event {
        Event::Record(record) => Some(&record.proof),
        Event::Finish(finish) => Some(&finish.proof),
        Event::Suspend(suspend) => Some(&suspend.proof),
        _ => None,
    }
}

/// G1: only the last holder's messages count, and no more once it has handed on. A suspension counts
/// only while the lease is valid.
fn writes(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let Some(proof) = proof(event) else { return };
    let lease = number(&proof.token);
    let suspends = matches!(event, Event::Suspend(_));
    let holds = world.memory.held && lease == world.leases && before.is_some();
    let late = suspends && ms >= world.memory.until;
    let changed = !matches!(out.next, Next::Unchanged) || !out.effects.is_empty();
    if changed && (!holds || late) {
        world.broke(STALE);
    }
    if matches!(event, Event::Record(_)) || !changed || matches!(out.reply, Reply::GoOn { .. }) {
        return;
    }
    if let Next::Put(task) = &out.next {
        let memory = &mut world.memory;
        (memory.held, memory.ended_by) = (false, lease);
        let named = matches!(
            task.state,
            State::Suspended(Waiting::For(_) | Waiting::CodeChanged(_))
        );
        if suspends && memory.moved {
            memory.barren = 0;
        } else if suspends && named {
            memory.barren = memory.barren.saturating_sub(1);
        }
    }
}

/// G2: what is settled is not written again, but for the retryable failure that ended an attempt, or by
/// an operator who has the task begin anew.
fn records(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition) {
    let anew = matches!(&out.next, Next::Put(task) if is_anew(before, task));
    let mut empties = false;
    for effect in &out.effects {
        let (id, new) = match effect {
            Effect::PutStep(step) => (&step.id, Some(step)),
            Effect::ReopenStep(id) => (id, None),
            Effect::PutCursor(cursor) => {
                let progress = |text: &str| text.parse::<u8>().unwrap_or(0);
                let held = world.cursor.as_ref().map_or(0, |c| progress(&c.text));
                if progress(&cursor.text) < held && !anew {
                    world.broke(CURSOR);
                }
                if progress(&cursor.text) > held {
                    world.memory.barren = world.memory.barren.min(1);
                    world.memory.moved = true;
                }
                continue;
            }
            Effect::DropPayload => {
                (world.memory.signalled, empties) = (false, true);
                continue;
            }
            Effect::NewJournal { keep_undo, .. } => {
                empties = true;
                let undone = before.is_some_and(|t| t.undone.is_some());
                let mut done = world.journal.iter().chain(&world.kept);
                if !keep_undo && !undone && done.any(StepRecord::is_undoable) {
                    world.broke(UNDONE);
                }
                continue;
            }
            _ => continue,
        };
        let found = world.journal.iter().find(|r| r.id == *id).cloned();
        let opens = new.is_none_or(|r| !r.outcome.is_settled());
        let reopened = |old: &Outcome| {
            let ended = matches!(event, Event::Finish(_) | Event::Retry(_)) && opens;
            let failed = matches!(old, Outcome::Failed(f) if f.kind == FailureKind::Retryable);
            anew || (ended && failed)
        };
        let kept = |old: &&StepRecord| old.outcome.is_settled() && !reopened(&old.outcome);
        if found.as_ref().is_some_and(|old| kept(&old)) {
            world.broke(RECORD);
        }
        let (Some(new), memory) = (new, &mut world.memory) else {
            continue;
        };
        if matches!(new.outcome, Outcome::Value(_)) {
            let by_signal = matches!(event, Event::Signal(_));
            memory.barren = memory.barren.min(u32::from(!by_signal));
            memory.moved |= !by_signal;
            memory.signalled &= new.kind != Kind::Signal;
        }
        if found.is_some_and(|old| is_put_off(&old, new)) {
            world.broke(DEADLINE);
        }
    }
    if anew && !empties && before.is_some_and(|t| t.undone.is_some()) {
        world.broke(FRESH);
    }
}

fn is_put_off(old: &StepRecord, new: &StepRecord) -> bool {
    match (&old.outcome, &new.outcome) {
        (Outcome::Open(old), Outcome::Open(new)) => {
            old.due_ms.is_some() && old.due_ms != new.due_ms
        }
        _ => false,
    }
}

/// Slices start each other a few times; then the alarm goes on.
fn chains(world: &mut World, event: &Event, out: &Transition) {
    if let Event::Begin(begin) = event
        && let Next::Put(_) = &out.next
    {
        world.memory.chain = if begin.claims { 0 } else { begin.hop };
    }
    if matches!(event, Event::AlarmFired | Event::Poke | Event::Retry(_)) {
        let mints = out
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Dispatch { .. }));
        world.memory.chain *= u32::from(!mints);
    }
    let carried = matches!(
        out.reply,
        Reply::Suspended {
            ticket: Some(_),
            ..
        }
    );
    if carried && matches!(out.next, Next::Put(_)) {
        world.memory.chain += 1;
        if world.memory.chain > limits::MAX_HOPS {
            world.broke(CHAIN);
        }
    }
}

fn is_success(task: &Task) -> bool {
    let undoing = task
        .ending
        .as_ref()
        .is_some_and(|e| e.to == EndsAs::Succeeded);
    task.state == State::Succeeded || undoing
}

fn finals(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let lives = |t: &&Task| !t.has_ended() || t.expires_ms.is_some_and(|at| ms < at);
    let Some(old) = before.filter(lives) else {
        return;
    };
    if let (Event::Begin(begin), true) = (event, is_success(old)) {
        let shown = matches!(&out.reply, Reply::Stands(at) if at.answer == old.answer);
        if old.fingerprint == begin.fingerprint && !shown {
            world.broke(FINAL);
        }
    }
    let Next::Put(new) = &out.next else { return };
    let same = old.answer == new.answer && old.failure == new.failure;
    let stays = match &old.state {
        _ if matches!(event, Event::Delete) => true,
        _ if is_success(old) => is_success(new) && old.answer == new.answer,
        State::Failed { resumable: false } => {
            let anew = is_anew(before, new);
            let retried = matches!(event, Event::Retry(_)) && anew;
            let freed = matches!(event, Event::Begin(_)) && anew && !old.policy.keeps.keeps(500);
            retried || freed || (same && old.state == new.state)
        }
        State::Cancelled => same && old.state == new.state,
        _ => true,
    };
    if !stays {
        world.broke(FINAL);
    }
    let reported = matches!(event, Event::Finish(f) if matches!(f.verdict, Verdict::Succeeded(_)));
    if reported && new.state != State::Succeeded {
        world.broke(FINAL);
    }
}

fn deliveries(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let Event::Begin(begin) = event else { return };
    let print = begin
        .fingerprint
        .as_deref()
        .and_then(|p| p.strip_prefix("print-"));
    let print: u8 = print.and_then(|p| p.parse().ok()).unwrap_or(0);
    let put = match &out.next {
        Next::Put(task) => Some(task),
        Next::Unchanged | Next::Gone => None,
    };
    let fresh = put.is_some_and(|task| {
        before.is_none_or(|t| t.generation != task.generation || t.revivals != task.revivals)
    });
    let forgotten = before.is_some_and(|t| matches!(t.state, State::Forgotten));
    let deleted = before.is_none() || forgotten;
    if fresh && !deleted && world.memory.begin_op == begin.op.as_str() {
        world.broke(DELIVERY);
    }
    if fresh {
        begin.op.as_str().clone_into(&mut world.memory.begin_op);
    }
    let expired = before.is_some_and(|t| t.is_expired(ms));
    if fresh && world.memory.partial && !deleted && !expired {
        world.broke(PARTLY);
    }
    let anew = put.is_some_and(|task| is_anew(before, task));
    if anew {
        let memory = &mut world.memory;
        (memory.print, memory.cancelled) = (print, false);
        if deleted || expired {
            memory.steer_op.clear();
        }
    } else if print != world.memory.print
        && !matches!(out.reply, Reply::KeyReused { .. } | Reply::Expired)
    {
        world.broke(ANSWER);
    }
    used_up(world, before, out, ms);
}

/// A key that is used up begins nothing, whether or not anything of its task is left; and only then.
fn used_up(world: &mut World, before: Option<&Task>, out: &Transition, ms: u64) {
    let kept = |t: &Task| t.has_ended() && t.expires_ms.is_some_and(|at| ms < at);
    let alive = before.is_some_and(kept);
    let left = before.is_none_or(|t| t.has_ended() || matches!(t.state, State::Forgotten));
    let is = left && !alive && ms < world.memory.used_up;
    let refused = matches!(out.reply, Reply::Expired);
    let begun = before.is_none() || matches!(&out.next, Next::Put(task) if is_anew(before, task));
    if (is && begun) || (refused && !is) {
        world.broke(USED_UP);
    }
    if let (true, Next::Put(_)) = (begun, &out.next) {
        world.memory.used_up = 0;
    }
}

/// G7: its time is up, or an operator had it forgotten; and this tombstone is the one of its version.
fn deletes(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition, ms: u64) {
    let over = |t: &Task| t.has_ended() && t.expires_ms.is_some_and(|at| at <= ms);
    let forgotten = |t: &Task| matches!(t.state, State::Forgotten);
    if let (Some(old), Next::Put(new)) = (before, &out.next)
        && forgotten(new)
        && !forgotten(old)
    {
        let ordered = matches!(event, Event::Delete) && old.has_ended();
        if !over(old) && !ordered {
            world.broke(LIVING);
        }
    }
    if !matches!(out.next, Next::Gone) {
        return;
    }
    let dead = before.is_some_and(|t| over(t) || forgotten(t));
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
    let memory = &mut world.memory;
    memory.gone = row;
    (memory.held, memory.barren, memory.chain) = (false, 0, 0);
    (memory.cancelled, memory.partial, memory.signalled) = (false, false, false);
    memory.steer_op.clear();
    memory.begin_op.clear();
}

/// What other tasks are to hear, and what is heard of them.
fn others(world: &mut World, before: Option<&Task>, event: &Event, out: &Transition) {
    let put = match &out.next {
        Next::Put(task) => Some(task),
        Next::Unchanged | Next::Gone => None,
    };
    if let Event::Signal(signal) = event {
        let other =
            signal.generation.is_some() && signal.generation != before.map(|t| t.generation);
        if put.is_some() && other {
            world.broke(ANOTHERS);
        }
        let again = |e: &Effect| matches!(e, Effect::PutLetter(l) if world.letters.iter().any(|o| o.id == l.id));
        if out.effects.iter().any(again) {
            world.broke(SIGNAL);
        }
        let waited = |e: &Effect| matches!(e, Effect::PutStep(_));
        let kept = put.is_some() && !out.effects.iter().any(waited);
        world.memory.signalled |= kept && signal.generation.is_none();
    }
    let Some(task) = put else { return };
    let ended = |t: &Task| t.has_ended();
    if matches!(event, Event::Abandon { .. }) {
        // It waits no more.
        world.peer.owed = None;
    } else if matches!(event, Event::Delete) {
        world.peer.owed = world.peer.owed.filter(|pay| *pay == Pay::Cancel);
    } else if ended(task) && before.is_some_and(|t| !ended(t) && !t.parents.is_empty()) {
        world.peer.owed = Some(Pay::End);
    }
    let stops = |t: &Task| {
        let undoing = t.ending.as_ref().is_some_and(|e| e.to == EndsAs::Cancelled);
        undoing || t.state == State::Cancelled
    };
    let open = world
        .record(WAIT)
        .is_some_and(|r| r.kind == Kind::Child && !r.outcome.is_settled());
    if open && stops(task) && before.is_some_and(|t| !stops(t)) {
        let told = |e: &Effect| matches!(e, Effect::PutStep(r) if r.kind == Kind::Child && r.outcome.is_settled());
        if !out.effects.iter().any(told) {
            world.peer.owed = Some(Pay::Cancel);
        }
    }
}

fn wishes(world: &mut World, event: &Event, out: &Transition) {
    let Next::Put(_) = &out.next else { return };
    let op = match event {
        Event::Cancel { op } | Event::Undo { op } => op,
        Event::Retry(retry) => &retry.op,
        Event::Abandon { .. } => {
            world.memory.cancelled |= matches!(out.reply, Reply::Stands(_));
            return;
        }
        Event::Finish(finish) => {
            world.memory.partial |= matches!(&finish.verdict, Verdict::Undone(n) if !n.is_empty());
            return;
        }
        _ => return,
    };
    let memory = &mut world.memory;
    memory.cancelled |=
        matches!(event, Event::Cancel { .. }) && matches!(out.reply, Reply::Stands(_));
    let again = memory.steer_op == *op;
    memory.steer_op.clone_from(op);
    if again {
        world.broke(STEERED);
    }
}

/// A message that was carried out and comes once more: its sender hears what came of it.
pub fn repeated(world: &mut World, wire: &Wire, reply: &Reply) {
    let Some(lease) = wire.lease() else { return };
    let ends = match &wire.message {
        Message::Finish { .. } => true,
        Message::Suspend { ask, .. } => !matches!(ask, Ask::Nap),
        _ => false,
    };
    let last = world.memory.ended_by == lease && lease == world.leases && !world.memory.held;
    let known = |t: &Task| t.finish_op.is_some() || t.suspend_op.is_some();
    let kept = world.task.as_ref().is_some_and(known);
    if ends && last && kept && matches!(reply, Reply::Stale(_)) {
        world.broke(REPEAT);
    }
}
