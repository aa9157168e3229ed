//! What the machine answers, and what it has carried out.

use super::event::Claimed;
use super::journal::{Cursor, StepRecord};
use super::mailbox::Letter;
use super::steer::Plan;
use super::summary::Standing;
use super::task::{Task, Version};
use crate::types::{Answer, Input, StepId, Token};

/// The answer to an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// Go.
    Claimed(Box<Claimed>),
    /// This is where the task stands; nothing for the sender to do but wait or take it.
    Stands(Standing),
    /// Same key, other fingerprint.
    KeyReused {
        /// What differs: names of parts; `bytes` if all parts are alike; empty if that is not known.
        differs: Vec<String>,
    },
    /// The key is used up: its task has expired, and it is not new yet.
    Expired,
    /// Two different keys have the same id. That takes an attack on SHA-1.
    KeyCollision,
    /// The ticket was used, replaced or never given: stop.
    Refused,
    /// Recorded.
    Recorded {
        /// The lease is over: stop after this.
        stop: bool,
        /// Outcomes that had been recorded before and stay.
        winners: Vec<StepRecord>,
        /// An operator wants the task ended: start nothing more.
        cancel: bool,
    },
    /// What was waited for is there: the lease goes on.
    GoOn {
        /// The records of what was waited for.
        records: Vec<StepRecord>,
        /// The object's clock.
        now_ms: u64,
    },
    /// Fence or token is not the current one: stop, nothing was changed.
    Stale(Standing),
    /// Suspended: send the ticket on, or leave it to the alarm.
    Suspended {
        /// For the next slice; none when the chain is long enough.
        ticket: Option<Token>,
        /// Hops that the next slice has behind it.
        hop: u32,
    },
    /// No such task.
    NotFound,
    /// Taken; `repeated` if it had been before.
    Signalled {
        /// Whether this one had come before.
        repeated: bool,
    },
    /// Too many signals.
    MailboxFull,
    /// It has ended, or its state does not allow this.
    Ended(Standing),
    /// What a retry would do, or does.
    Planned(Box<Plan>),
    /// No step has this name.
    NoSuchStep,
    /// It is not final.
    InProgress(Standing),
    /// Carried out.
    Done,
}

/// What becomes of the stored task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// No write.
    Unchanged,
    /// Write this.
    Put(Box<Task>),
    /// Delete everything.
    Gone,
}

/// Something to carry out. The first group belongs into the same atomic step as [`Next`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Write: the input.
    PutInput(Input),
    /// Write: another body of the input, under the fields that it has.
    ReplaceInput(Vec<u8>),
    /// Write: the body of the answer.
    PutAnswer(Answer),
    /// Write: the outcome of a step.
    PutStep(StepRecord),
    /// Write: take this outcome out, so that the next attempt tries again.
    ReopenStep(StepId),
    /// Write: the progress that the author keeps.
    PutCursor(Cursor),
    /// Write: take out the progress that the author keeps, unless it was saved before this fence.
    RewindCursor {
        /// Fence of the first record that is dropped.
        fence: u64,
    },
    /// Write: a signal.
    PutLetter(Letter),
    /// Write: empty the journal for a new generation. What can still be undone is kept apart if
    /// `keep_undo`, under the generation that it belongs to.
    NewJournal {
        /// The generation that ends.
        generation: u64,
        /// Whether what it did may still have to be undone.
        keep_undo: bool,
    },
    /// Write: delete input, answer, journal, signals.
    DropPayload,
    /// Write: delete input, journal and signals; the answer stays.
    Strip,
    /// Write: the alarm. Together with [`Next::Unchanged`] the caller may note the time as `armed_ms`
    /// of the task that it keeps in memory; the row is left alone.
    SetAlarm {
        /// Milliseconds since 1970; later than now.
        at_ms: u64,
    },
    /// After: send this ticket to a new slice.
    Dispatch {
        /// The ticket.
        ticket: Token,
        /// Hops of the chain so far.
        hop: u32,
    },
    /// After: tell other tasks what they are owed.
    PayDebts,
    /// After: tell D1 the current row.
    Flush,
    /// After: place a tombstone of this version in D1. If the alarm asks for it, then within the
    /// alarm's own run, so that a crash in between makes the platform ring again.
    Forget {
        /// Higher than everything that was flushed.
        version: Version,
    },
    /// After: those who wait for this task look again.
    WakeJoined,
}

/// What the machine decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// What becomes of the stored task.
    pub next: Next,
    /// What to carry out, in order. A flush comes after whatever a sender or a slice waits for.
    pub effects: Vec<Effect>,
    /// What to answer.
    pub reply: Reply,
}

impl Transition {
    /// Nothing but an answer.
    pub(super) fn unchanged(reply: Reply) -> Self {
        Self {
            next: Next::Unchanged,
            effects: Vec::new(),
            reply,
        }
    }

    /// A changed task.
    pub(super) fn put(task: Task, effects: Vec<Effect>, reply: Reply) -> Self {
        Self {
            next: Next::Put(Box::new(task)),
            effects,
            reply,
        }
    }
}
