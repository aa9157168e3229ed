//! Who may act. Fences and tokens are compared here and nowhere else.

use super::effect::{Effect, Reply, Transition};
use super::event::{Claim, Claimed, Moment, Proof};
use super::task::{Lease, State, Task, Ticket};
use super::waits::Waiting;
use crate::limits;

/// How far a proof carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is the holder's, and the lease is valid.
    Valid,
    /// It is the last holder's; the lease is over but nobody has claimed since.
    Over,
    /// It is somebody else's, or the lease was ended by its holder, or the task is final or expired:
    /// what is final never changes, and what is expired is nobody's any more.
    Stale,
}

pub(super) fn check(task: &Task, proof: &Proof, moment: &Moment) -> Standing {
    if task.is_final() || task.is_expired(moment.ms) {
        return Standing::Stale;
    }
    match &task.lease {
        Some(lease) if lease.fence == proof.fence && lease.token == proof.token => {
            if moment.ms < lease.ends_ms {
                Standing::Valid
            } else {
                Standing::Over
            }
        }
        _ => Standing::Stale,
    }
}

/// Gives the task to the claimer: a new fence, a fresh token, a new lease. Voids any ticket.
pub(super) fn grant(
    task: &mut Task,
    op: &crate::types::Token,
    hop: u32,
    moment: &Moment,
) -> Claimed {
    task.fence += 1;
    task.claims += 1;
    task.attempts += 1;
    task.dispatches = 0;
    task.ticket = None;
    task.state = State::Running;
    let lease = Lease {
        fence: task.fence,
        token: moment.fresh.lease.clone(),
        op: op.clone(),
        hop,
        suspends: 0,
        ends_ms: moment.ms.saturating_add(task.policy.lease_ms),
    };
    let claimed = claimed(task, &lease);
    task.lease = Some(lease);
    task.touch(moment.ms);
    claimed
}

/// What the holder of a lease is told, whenever it asks.
fn claimed(task: &Task, lease: &Lease) -> Claimed {
    Claimed {
        proof: Proof {
            fence: lease.fence,
            token: lease.token.clone(),
        },
        lease_ms: task.policy.lease_ms,
        key_generation: task.key_generation,
        generation: task.generation,
        attempt: task.attempts,
        hop: lease.hop,
        // A ticket may have gone to anybody, and a new generation may keep records of the old one.
        resumed: task.claims > 1 || task.begin_op.as_ref() != Some(&lease.op),
        function: task.function.clone(),
        policy: task.policy.clone(),
        lineage: task.lineage.clone(),
        tenant: task.key.tenant.clone(),
        // When it was granted: the holder counts from there, whichever reply it gets to see.
        now_ms: lease.ends_ms.saturating_sub(task.policy.lease_ms),
        undoing: task.ending.is_some(),
        cancel: task.cancel.is_some() && task.ending.is_none(),
        slice: task.claims,
        about: task.about.clone(),
    }
}

/// The lease that this very operation was given before, if its reply was lost: never a second one.
pub(super) fn same_claim(
    task: &Task,
    op: &crate::types::Token,
    moment: &Moment,
) -> Option<Claimed> {
    let lease = task.lease.as_ref()?;
    let running = matches!(task.state, State::Running);
    (running && lease.op == *op && moment.ms < lease.ends_ms).then(|| claimed(task, lease))
}

pub(super) fn claim(mut task: Task, claim: &Claim, moment: &Moment) -> Transition {
    if let Some(claimed) = same_claim(&task, &claim.op, moment) {
        return Transition::unchanged(Reply::Claimed(Box::new(claimed)));
    }
    match &task.ticket {
        Some(ticket) if ticket.token == claim.ticket => {
            let hop = ticket.hop;
            let claimed = grant(&mut task, &claim.op, hop, moment);
            Transition::put(task, Vec::new(), Reply::Claimed(Box::new(claimed)))
        }
        _ => Transition::unchanged(Reply::Refused),
    }
}

/// Mints a ticket for the next slice; an older one is void from here on.
pub(super) fn mint<'t>(
    task: &'t mut Task,
    hop: u32,
    moment: &Moment,
    effects: &mut Vec<Effect>,
) -> &'t mut Ticket {
    let doubled = limits::TICKET_UNCLAIMED_MS << task.dispatches.min(16);
    let wait = doubled.min(limits::TICKET_BACKOFF_MAX_MS);
    // The first wait is kept whole; later ones lose up to half to jitter.
    let wait = if task.dispatches == 0 {
        wait
    } else {
        wait / 2 + super::schedule::jittered(wait / 2, moment.fresh.jitter)
    };
    task.dispatches = task.dispatches.saturating_add(1);
    task.state = State::Suspended(Waiting::Ready);
    effects.push(Effect::Dispatch {
        ticket: moment.fresh.ticket.clone(),
        hop,
    });
    task.ticket.insert(Ticket {
        token: moment.fresh.ticket.clone(),
        hop,
        due_ms: moment.ms + wait,
    })
}

/// Has the next slice started: by the slice at hand, if it is part of a chain that may go on
/// (`hop`), else by the alarm.
pub(super) fn hand_on(task: &mut Task, hop: Option<u32>, moment: &Moment) {
    // Slices of a long task are held by the object, whose alarm starts them. And whoever asks without
    // a hop may be at the end of a long chain itself.
    let chained = hop.filter(|hop| *hop < limits::MAX_HOPS && !task.policy.is_long());
    match chained {
        Some(hop) => {
            mint(task, hop.saturating_add(1), moment, &mut Vec::new());
        }
        None => by_alarm(task, moment),
    }
}

/// Takes back a dispatch that would lengthen a chain of unknown length: the alarm does it, at once.
pub(super) fn leave_to_alarm(task: &mut Task, moment: &Moment, effects: &mut Vec<Effect>) {
    let before = effects.len();
    effects.retain(|effect| !matches!(effect, Effect::Dispatch { .. }));
    if effects.len() < before {
        // It counts once, when the alarm does it.
        task.dispatches = task.dispatches.saturating_sub(1);
        if let Some(ticket) = &mut task.ticket {
            ticket.due_ms = moment.ms + 1;
        }
    }
}

/// Has the next slice started by the alarm, at once.
pub(super) fn by_alarm(task: &mut Task, moment: &Moment) {
    // Nobody carries this ticket: the alarm replaces it.
    mint(task, 0, moment, &mut Vec::new()).due_ms = moment.ms + 1;
    task.dispatches = 0;
}

/// What a slice is told that has handed its task on.
pub(super) fn handed(task: &Task) -> Reply {
    let ticket = task.ticket.as_ref();
    Reply::Suspended {
        ticket: ticket.filter(|t| t.hop > 0).map(|t| t.token.clone()),
        hop: ticket.map_or(0, |t| t.hop),
    }
}
