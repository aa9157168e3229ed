//! The machine without one of its guards.

use crate::mutants::Mutant;
use crate::world::{TICK, World, number};
use onceward::protocol::{
    Debt, Effect, EndsAs, Event, Moment, NEVER_MS, Next, Proof, Reply, State, Task, Ticket,
    Transition, Verdict, Version, WaitFor, handle,
};
use onceward::types::{AfterExpiry, Token};

/// The machine, or what is left of it without one guard.
pub fn handle_as(
    mutant: Option<Mutant>,
    world: &World,
    event: &Event,
    moment: &Moment,
) -> Transition {
    let mut event = event.clone();
    let mut task = world.task.clone();
    let mut moment = moment.clone();
    let Some(mutant) = mutant else {
        return handle(task, event, &moment);
    };
    let mut kept = None;
    if let Some(task) = &mut task {
        kept = show(mutant, world, task, &mut event);
        hide(mutant, task, &mut event, moment.ms);
        steer(mutant, task, &mut event, moment.ms);
    }
    moment.undoable &= mutant != Mutant::NothingToUndo;
    if let (Mutant::AnyBody, Event::Begin(begin)) = (mutant, &mut event) {
        begin.fingerprint = None;
    }
    if mutant == Mutant::AlarmIdle && matches!(event, Event::AlarmFired) {
        let at_ms = moment.ms + TICK;
        return Transition {
            next: Next::Unchanged,
            effects: vec![Effect::SetAlarm { at_ms }],
            reply: Reply::Done,
        };
    }
    let mut out = handle(task, event.clone(), &moment);
    if let (Next::Put(task), true) = (&mut out.next, kept.is_some()) {
        task.ticket = kept;
    }
    lose(mutant, world, &event, &mut out);
    out
}

fn current(task: &Task) -> Option<Proof> {
    let lease = task.lease.as_ref()?;
    Some(Proof {
        fence: lease.fence,
        token: lease.token.clone(),
    })
}

/// A message shows what it does not have. The ticket that comes back is not used up.
fn show(mutant: Mutant, world: &World, task: &Task, event: &mut Event) -> Option<Ticket> {
    if let (Mutant::AnyProof | Mutant::AnyToken, event) = (mutant, &mut *event) {
        let proof = match event {
            Event::Record(record) => &mut record.proof,
            Event::Finish(finish) => &mut finish.proof,
            Event::Suspend(suspend) => &mut suspend.proof,
            _ => return None,
        };
        let current = current(task);
        let any = mutant == Mutant::AnyProof;
        if let Some(current) = current.filter(|c| any || c.fence == proof.fence) {
            *proof = current;
        }
        return None;
    }
    let (Event::Claim(claim), Some(ticket)) = (event, &task.ticket) else {
        return None;
    };
    match mutant {
        Mutant::AnyTicket => claim.ticket = ticket.token.clone(),
        Mutant::TicketStays if claim.ticket == ticket.token => return Some(ticket.clone()),
        Mutant::OldTicketToo if claim.ticket != ticket.token => {
            let used = world.memory.used & (1 << number(&claim.ticket).min(63)) != 0;
            if !used {
                claim.ticket = ticket.token.clone();
                return Some(ticket.clone());
            }
        }
        _ => {}
    }
    None
}

/// Something that the task or the object knows is not seen.
fn hide(mutant: Mutant, task: &mut Task, event: &mut Event, ms: u64) {
    match (mutant, event) {
        (Mutant::LeaseNotHeld, Event::AlarmFired | Event::Poke)
        | (Mutant::CancelAtOnce, Event::Cancel { .. }) => {
            if let Some(lease) = &mut task.lease {
                lease.ends_ms = lease.ends_ms.min(ms);
            }
        }
        (Mutant::ClaimUnknown, Event::Claim(_) | Event::Begin(_)) => {
            if let Some(lease) = &mut task.lease {
                lease.op = Token::new("");
            }
        }
        (Mutant::ClockGoesBack, _) => task.seen_ms = 0,
        (Mutant::UsedUpIsNew, Event::Begin(_)) => task.policy.after_expiry = AfterExpiry::New,
        (Mutant::LateSuspension, Event::Suspend(_)) => {
            if let Some(lease) = &mut task.lease {
                lease.ends_ms = lease.ends_ms.max(ms + 1);
            }
        }
        (Mutant::SuspensionsUncounted, Event::Suspend(_)) => {
            if let Some(lease) = &mut task.lease {
                lease.suspends = 0;
            }
        }
        (Mutant::ChainEndless, Event::Suspend(suspend)) => suspend.hop = suspend.hop.min(1),
        (Mutant::LastOutcomeWins, Event::Record(record)) => record.known.clear(),
        (Mutant::LastOutcomeWins, Event::Finish(finish)) => finish.known.clear(),
        (Mutant::DeadlineMoves, Event::Suspend(suspend)) => {
            suspend.known.retain(|r| r.outcome.is_settled());
        }
        (Mutant::TimeIgnored, Event::Suspend(suspend)) => {
            for wait in &mut suspend.waits {
                if let WaitFor::Sleep { due_ms } = &mut wait.what {
                    *due_ms = 0;
                }
            }
        }
        (Mutant::SavesUncounted, Event::Record(record)) => record.known_cursor = None,
        (Mutant::FinishUnknown, Event::Finish(_)) => task.finish_op = None,
        (Mutant::SuspendUnknown, Event::Suspend(_)) => task.suspend_op = None,
        (Mutant::FinalIsRevived, Event::Begin(_)) if task.state == State::Succeeded => {
            task.state = State::Failed { resumable: true };
        }
        (Mutant::BeginUnknown, Event::Begin(_)) => task.begin_op = None,
        (Mutant::NoAttempts, _) => task.attempts = task.attempts.min(1),
        (Mutant::SuspendTakesBack, Event::Suspend(suspend)) => suspend.progressed = true,
        (Mutant::SignalUnknown, Event::Signal(signal)) => signal.known = None,
        (Mutant::AnyGeneration, Event::Signal(signal)) => signal.generation = None,
        _ => {}
    }
}

/// The same, where the task ends.
fn steer(mutant: Mutant, task: &mut Task, event: &mut Event, ms: u64) {
    match (mutant, event) {
        (Mutant::ChildForgotten, Event::Cancel { .. }) => task.children.clear(),
        (
            Mutant::ForgottenThoughOwed,
            Event::AlarmFired | Event::Poke | Event::TombstoneAcked(_),
        ) if task.has_ended() && task.expires_ms.is_some_and(|at| at <= ms) => {
            task.debts.list.retain(|d| matches!(d, Debt::Cancel(_)));
        }
        (Mutant::NoCancel, Event::Finish(_)) | (Mutant::CancelSleeps, Event::Suspend(_)) => {
            task.cancel = None;
        }
        (Mutant::CancelAnyTime, Event::Cancel { .. }) if task.state == State::Succeeded => {
            (task.state, task.lease) = (State::Running, None);
        }
        (Mutant::PartlyIsAll, Event::Finish(finish)) => {
            if let Verdict::Undone(left) = &mut finish.verdict {
                left.clear();
            }
        }
        (Mutant::AnswerHidden, Event::Begin(_)) => {
            if let Some(ending) = &mut task.ending {
                ending.to = EndsAs::Cancelled;
            }
        }
        (Mutant::OperationUnknown, Event::Retry(_) | Event::Cancel { .. } | Event::Undo { .. }) => {
            task.steer_op = None;
        }
        (Mutant::FlagForVersion, Event::Flushed { sent, holds }) => {
            (*sent, *holds) = (task.version, task.version);
        }
        (Mutant::HigherRowIgnored, Event::Flushed { sent, holds }) => {
            *holds = (*holds).min(*sent);
        }
        (Mutant::AnyTombstone, Event::TombstoneAcked(version)) => {
            *version = Version {
                epoch: task.version.epoch,
                n: task.version.n + 1,
            };
        }
        (Mutant::DeletesRunning, Event::Delete) if task.state == State::Running => {
            task.state = State::Failed { resumable: false };
        }
        _ => {}
    }
}

/// Something that the machine says is lost.
fn lose(mutant: Mutant, world: &World, event: &Event, out: &mut Transition) {
    let before = world.task.as_ref();
    match (mutant, event) {
        (Mutant::DeletesTheLiving, Event::TombstoneAcked(_)) => {
            out.next = Next::Gone;
            out.effects.clear();
        }
        (Mutant::NoAlarm, _) => {
            let alarm = |e: &Effect| matches!(e, Effect::SetAlarm { .. });
            out.effects.retain(|e| !alarm(e));
        }
        (Mutant::DebtGivenUp, Event::DebtFailed) => {
            if let Next::Put(task) = &mut out.next {
                task.debts.list.clear();
            }
        }
        (Mutant::LeaseOutlivesGeneration, Event::Retry(_)) => {
            if let Next::Put(task) = &mut out.next {
                task.lease = before.and_then(|t| t.lease.clone());
            }
        }
        (Mutant::TimeIgnored, _) => {
            if let Reply::GoOn { now_ms, .. } = &mut out.reply {
                *now_ms = NEVER_MS;
            }
        }
        (Mutant::SignalLost, Event::Signal(_)) => {
            if let Next::Put(task) = &mut out.next {
                task.unread.clear();
            }
        }
        (Mutant::LateUndoIgnored, Event::Record(_)) if before.is_some_and(Task::has_ended) => {
            out.next = Next::Unchanged;
            let written = |e: &Effect| matches!(e, Effect::PutStep(_));
            out.effects.retain(written);
        }
        (Mutant::ContinueForgets, Event::Finish(_)) => {
            for effect in &mut out.effects {
                if let Effect::NewJournal { keep_undo, .. } = effect {
                    *keep_undo = false;
                }
            }
        }
        (Mutant::UndoneIsKept, Event::Begin(_) | Event::Retry(_)) => {
            let empties = |e: &Effect| matches!(e, Effect::NewJournal { .. });
            out.effects.retain(|e| !empties(e));
        }
        _ => {}
    }
}
