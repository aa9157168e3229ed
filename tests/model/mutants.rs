//! Guards of the machine, taken away one at a time: not in its code, but by changing what it is shown
//! or what it says. The model must notice each.

use crate::monitor as m;
use crate::states as s;
use crate::world::{TICK, World};
use onceward::protocol::{
    Effect, Event, Moment, Next, Proof, Reply, State, Task, Transition, Version, handle,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Whoever writes shows the current fence and token.
    AnyProof,
    /// Whoever knows the fence shows the current token.
    AnyToken,
    /// A lease is over whenever an alarm rings.
    LeaseNotHeld,
    /// Whoever claims shows the ticket that is out.
    AnyTicket,
    /// A claim leaves the ticket where it is.
    TicketStays,
    /// A delivery takes a success for a failure that can be resumed.
    FinalIsRevived,
    /// A claim comes without what is recorded.
    JournalHidden,
    /// No fingerprint is compared.
    AnyBody,
    /// A finish that was carried out is not known again.
    FinishUnknown,
    /// The same of a suspension.
    SuspendUnknown,
    /// What is recorded is not looked up.
    LastOutcomeWins,
    /// Whatever was flushed counts for the current row.
    FlagForVersion,
    /// D1 takes rows that are older than its own.
    OlderRowWins,
    /// Any tombstone stands for the task as it is.
    AnyTombstone,
    /// An acknowledged tombstone deletes whatever there is.
    DeletesTheLiving,
    /// Lost leases are not counted.
    NoAttempts,
    /// No alarm is set.
    NoAlarm,
    /// An alarm that rings moves nothing on.
    AlarmIdle,
    /// A finish does not see the wish of an operator.
    NoCancel,
    /// What can be undone is not looked up.
    NothingToUndo,
}

/// Each with the bound that is searched for it, and the property that must notice it. Every property
/// is named here, so that none of them is idle.
pub const ALL: [(Mutant, &str, &str); 20] = [
    (Mutant::AnyProof, "slices", m::STALE),
    (Mutant::AnyToken, "old slices", m::STALE),
    (Mutant::LeaseNotHeld, "clock", m::LEASE),
    (Mutant::AnyTicket, "attempts", m::TICKET),
    (Mutant::TicketStays, "slices", s::ALONE),
    (Mutant::FinalIsRevived, "old slices", m::FINAL),
    (Mutant::JournalHidden, "slices", m::EFFECT),
    (Mutant::AnyBody, "slices", m::ANSWER),
    (Mutant::FinishUnknown, "slices", m::REPEAT),
    (Mutant::SuspendUnknown, "attempts", m::REPEAT),
    (Mutant::LastOutcomeWins, "slices", m::RECORD),
    (Mutant::FlagForVersion, "retention", s::PROJECTED),
    (Mutant::OlderRowWins, "retention", s::BURIED),
    (Mutant::AnyTombstone, "retention", m::LIVING),
    (Mutant::DeletesTheLiving, "retention", m::LIVING),
    (Mutant::NoAttempts, "attempts", m::ATTEMPTS),
    (Mutant::NoAlarm, "clock", s::ALARM),
    (Mutant::AlarmIdle, "slices", s::ENDS),
    (Mutant::NoCancel, "cancel", s::WISH),
    (Mutant::NothingToUndo, "cancel", s::UNDONE),
];

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
    let ticket = task.as_ref().and_then(|t| t.ticket.clone());
    if let Some(task) = &mut task {
        blind(mutant, task, &mut event, &moment);
    }
    if mutant == Mutant::NothingToUndo {
        moment.undoable = false;
    }
    if mutant == Mutant::AnyBody
        && let Event::Begin(begin) = &mut event
    {
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
    let acked = matches!(event, Event::TombstoneAcked(_));
    let mut out = handle(task, event, &moment);
    match mutant {
        Mutant::DeletesTheLiving if acked => {
            out.next = Next::Gone;
            out.effects.clear();
        }
        Mutant::NoAlarm => out
            .effects
            .retain(|e| !matches!(e, Effect::SetAlarm { .. })),
        Mutant::TicketStays => {
            if let (Reply::Claimed(_), Next::Put(task)) = (&out.reply, &mut out.next) {
                task.ticket = ticket;
            }
        }
        _ => {}
    }
    out
}

fn current(task: &Task) -> Option<Proof> {
    let lease = task.lease.as_ref()?;
    Some(Proof {
        fence: lease.fence,
        token: lease.token.clone(),
    })
}

fn blind(mutant: Mutant, task: &mut Task, event: &mut Event, moment: &Moment) {
    match (mutant, event) {
        (Mutant::AnyProof | Mutant::AnyToken, event) => {
            let proof = match event {
                Event::Record(record) => &mut record.proof,
                Event::Finish(finish) => &mut finish.proof,
                Event::Suspend(suspend) => &mut suspend.proof,
                _ => return,
            };
            let current = current(task);
            let any = mutant == Mutant::AnyProof;
            if let Some(current) = current.filter(|c| any || c.fence == proof.fence) {
                *proof = current;
            }
        }
        (Mutant::LeaseNotHeld, Event::AlarmFired | Event::Poke) => {
            if let Some(lease) = &mut task.lease {
                lease.ends_ms = lease.ends_ms.min(moment.ms);
            }
        }
        (Mutant::AnyTicket, Event::Claim(claim)) => {
            if let Some(ticket) = &task.ticket {
                claim.ticket = ticket.token.clone();
            }
        }
        (Mutant::FinalIsRevived, Event::Begin(_)) if task.state == State::Succeeded => {
            task.state = State::Failed { resumable: true };
        }
        (Mutant::FinishUnknown, Event::Finish(_)) => task.finish_op = None,
        (Mutant::SuspendUnknown, Event::Suspend(_)) => task.suspend_op = None,
        (Mutant::LastOutcomeWins, Event::Record(record)) => record.known.clear(),
        (Mutant::LastOutcomeWins, Event::Finish(finish)) => finish.known.clear(),
        (Mutant::FlagForVersion, Event::Flushed { sent, holds }) => {
            (*sent, *holds) = (task.version, task.version);
        }
        (Mutant::AnyTombstone, Event::TombstoneAcked(version)) => {
            *version = Version {
                epoch: task.version.epoch,
                n: task.version.n + 1,
            };
        }
        (Mutant::NoAttempts, _) => task.attempts = task.attempts.min(1),
        (Mutant::NoCancel, Event::Finish(_)) => task.cancel = None,
        _ => {}
    }
}
