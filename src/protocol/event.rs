//! What can happen to a task.

use super::debts::Debt;
use super::ending::NotUndone;
use super::journal::{Cursor, StepRecord};
use super::mailbox::{Letter, Signal};
use super::steer::Retry;
use super::task::{Parent, Version};
use super::waits::{Mismatch, Wait};
use crate::types::{
    About, Answer, Cost, Database, Failure, Input, Policy, StepId, TaskId, TaskKey, Token, Watch,
};
use serde::{Deserialize, Serialize};

/// The moment of an event: the object's clock, and randomness drawn for it by the caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub ms: u64,
    /// Fresh secrets, in case that the event needs some.
    pub fresh: Fresh,
    /// Duplicates counted in memory since the last write.
    pub duplicates: u64,
    /// Whether the journal holds something to undo; looked up by the object.
    pub undoable: bool,
    /// Where the row of a task goes that begins now.
    pub database: Database,
    /// What the object was billed for since the last write, as far as it is counted in memory.
    pub cost: Cost,
    /// What operators want to be told of, if anything.
    pub watch: Option<Watch>,
}

impl Moment {
    /// A moment with fixed randomness, for examples and tests.
    pub fn at(ms: u64) -> Self {
        Self {
            ms,
            fresh: Fresh {
                lease: Token::new(format!("lease-{ms}")),
                ticket: Token::new(format!("ticket-{ms}")),
                jitter: 1_000,
            },
            duplicates: 0,
            undoable: false,
            database: Database::default(),
            cost: Cost::default(),
            watch: None,
        }
    }
}

/// Random values, never used for more than one event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fresh {
    /// For a lease that may be granted.
    pub lease: Token,
    /// For a ticket that may be minted.
    pub ticket: Token,
    /// 0–1000: how much of a backoff is waited for.
    pub jitter: u32,
}

/// Something that happens to a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A delivery came in.
    Begin(Box<Begin>),
    /// A slice shows a ticket.
    Claim(Claim),
    /// A slice reports outcomes of steps.
    Record(Box<Record>),
    /// A slice is at its budget and hands the task on.
    Suspend(Box<Suspend>),
    /// A slice reports how the function ended.
    Finish(Box<Finish>),
    /// The object's alarm rang.
    AlarmFired,
    /// Cron asks the object to look at itself.
    Poke,
    /// D1 answered a flush.
    Flushed {
        /// What was sent.
        sent: Version,
        /// What D1 holds now.
        holds: Version,
    },
    /// A flush failed or did not answer in time; it may have been applied.
    FlushFailed {
        /// What was sent.
        sent: Version,
    },
    /// D1 holds the tombstone.
    TombstoneAcked(Version),
    /// The tombstone could not be placed.
    TombstoneFailed {
        /// What was sent.
        sent: Version,
        /// The higher version that D1 turned out to hold, if that is why.
        holds: Option<Version>,
    },
    /// A signal came in.
    Signal(Box<Signal>),
    /// An operator wants it ended; `op` is the operator's own, to tell a repeat.
    Cancel {
        /// Names the operation.
        op: String,
    },
    /// A parent has been cancelled, and wants it ended with itself.
    Abandon {
        /// Names the operation.
        op: String,
        /// The parent.
        parent: TaskId,
    },
    /// An operator wants it tried again.
    Retry(Box<Retry>),
    /// An operator wants undone what a succeeded task did.
    Undo {
        /// Names the operation.
        op: String,
    },
    /// Another task has heard of what it was owed, or is gone.
    DebtPaid(Debt),
    /// Another task could not be told.
    DebtFailed,
    /// An operator has it forgotten.
    Delete,
}

/// A delivery, with the wish to run it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Begin {
    /// Drawn by the invocation that sends this, the same only over its own re-sends.
    pub op: Token,
    /// Scope and key.
    pub key: TaskKey,
    /// The function to run.
    pub function: String,
    /// How it is run.
    #[serde(default)]
    pub policy: Policy,
    /// What must be equal under the same key; `None`: not compared.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// Short hashes of what the fingerprint is made of, by name, so that a refusal can say what differs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<(String, String)>,
    /// What the function gets; travels beside the JSON of the message.
    #[serde(skip)]
    pub input: Input,
    /// Whether the sender runs the first slice; otherwise the object sends a ticket.
    #[serde(default = "yes")]
    pub claims: bool,
    /// Hops behind the ticket that is sent.
    #[serde(default)]
    pub hop: u32,
    /// The task that waits for the end.
    #[serde(default)]
    pub parent: Option<Parent>,
    /// The tasks that it comes from, the first one first: parent, grandparent and so on.
    #[serde(default)]
    pub lineage: Vec<TaskId>,
    /// Labels and trace.
    #[serde(default, skip_serializing_if = "About::is_empty")]
    pub about: About,
}

const fn yes() -> bool {
    true
}

/// A ticket shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    /// As in [`Begin`].
    pub op: Token,
    /// The ticket.
    pub ticket: Token,
}

/// What a slice shows with every write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Proof {
    /// The fence of its claim.
    pub fence: u64,
    /// The token of its claim.
    pub token: Token,
}

/// Outcomes of steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// Who says so.
    pub proof: Proof,
    /// What it says.
    pub steps: Vec<StepRecord>,
    /// What is already recorded under these identities; looked up by the object.
    #[serde(skip)]
    pub known: Vec<StepRecord>,
    /// Progress to keep, in place of the last.
    #[serde(default)]
    pub cursor: Option<Cursor>,
    /// The progress that is kept; looked up by the object.
    #[serde(skip)]
    pub known_cursor: Option<Cursor>,
}

/// A slice hands its task on, or asks whether what it waits for is there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Suspend {
    /// As in [`Begin`].
    pub op: Token,
    /// Who says so.
    pub proof: Proof,
    /// Outcomes not yet recorded.
    #[serde(default)]
    pub steps: Vec<StepRecord>,
    /// What is already recorded under these identities; looked up by the object.
    #[serde(skip)]
    pub known: Vec<StepRecord>,
    /// Whether this slice recorded a first success of a step.
    #[serde(default)]
    pub progressed: bool,
    /// Hops of its chain so far.
    #[serde(default)]
    pub hop: u32,
    /// Counts the suspensions of one lease: 1, 2, …; 0 from a release that did not count.
    #[serde(default)]
    pub n: u32,
    /// What the function waits for; nothing if the slice is only at its budget.
    #[serde(default)]
    pub waits: Vec<Wait>,
    /// The first unread letter for each signal that is waited for; looked up by the object.
    #[serde(skip)]
    pub letters: Vec<Letter>,
    /// The code no longer fits the journal.
    #[serde(default)]
    pub mismatch: Option<Box<Mismatch>>,
}

impl Suspend {
    /// The identities that the object looks up in its journal to fill `known`.
    pub fn ids(&self) -> Vec<StepId> {
        let steps = self.steps.iter().map(|step| step.id.clone());
        steps
            .chain(self.waits.iter().map(|wait| wait.id.clone()))
            .collect()
    }
}

/// How the function ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Finish {
    /// As in [`Begin`].
    pub op: Token,
    /// Who says so.
    pub proof: Proof,
    /// Outcomes not yet recorded.
    #[serde(default)]
    pub steps: Vec<StepRecord>,
    /// What is already recorded under the [identities](Finish::ids) of this; looked up by the object.
    #[serde(skip)]
    pub known: Vec<StepRecord>,
    /// Success or failure.
    pub verdict: Verdict,
}

impl Finish {
    /// The identities that the object looks up in its journal to fill `known`: those of the outcomes
    /// in here, and the step whose failure ended the attempt.
    pub fn ids(&self) -> Vec<StepId> {
        let mut ids: Vec<StepId> = self.steps.iter().map(|step| step.id.clone()).collect();
        if let Verdict::Failed(failure) = &self.verdict {
            ids.extend(failure.step.clone());
        }
        ids
    }
}

/// Success or failure of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The function's answer.
    Succeeded(Answer),
    /// Why it failed.
    Failed(Failure),
    /// It stopped because an operator wants it ended.
    Cancelled,
    /// It starts over, with an empty journal and another input.
    ContinueAs(NextInput),
    /// Compensation is over.
    Undone(Vec<NotUndone>),
}

/// The input of the next generation; its bytes travel beside the JSON of the message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NextInput {
    /// The bytes.
    #[serde(skip)]
    pub body: Vec<u8>,
}

/// A granted claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claimed {
    /// To be shown with every write.
    pub proof: Proof,
    /// Counted by the holder from before the first send of its claim.
    pub lease_ms: u64,
    /// Part of what derived keys are made of.
    pub key_generation: u64,
    /// The current generation.
    pub generation: u64,
    /// Claims since the last progress, this one included.
    pub attempt: u32,
    /// Hops of the chain so far.
    pub hop: u32,
    /// True if there may be a journal, and an input other than the claimer's.
    pub resumed: bool,
    /// The function to run.
    pub function: String,
    /// How it is run.
    pub policy: Policy,
    /// The tasks that it comes from: it must not wait for one of them.
    #[serde(default)]
    pub lineage: Vec<TaskId>,
    /// Tenant label of the task's key: children inherit it.
    #[serde(default)]
    pub tenant: String,
    /// The object's clock. Times on record are compared with this and with nothing else.
    #[serde(default)]
    pub now_ms: u64,
    /// What has been done is to be undone; the function itself is not run.
    #[serde(default)]
    pub undoing: bool,
    /// An operator wants it ended.
    #[serde(default)]
    pub cancel: bool,
    /// Claims of this generation, this one included: the number of the slice.
    #[serde(default)]
    pub slice: u32,
    /// Labels and trace of the task.
    #[serde(default, skip_serializing_if = "About::is_empty")]
    pub about: About,
}
