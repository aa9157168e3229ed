//! The state of one task: everything that must survive a crash, but for bodies and records.

use super::debts::Debts;
use super::ending::{Cancel, Ending, Undone};
use super::mailbox::Unread;
use super::waits::Waiting;
use crate::types::{
    About, AfterExpiry, Answer, Cost, Database, Failure, Policy, StepId, TaskId, TaskKey, Token,
};
use serde::{Deserialize, Serialize};

/// Version of the stored form. An object that meets a higher one changes nothing.
pub const SCHEMA: u32 = 2;

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A slice holds the lease, or held it and has not been heard of since.
    Running,
    /// No slice; something that can be named makes it go on.
    Suspended(Waiting),
    /// Final: the function's answer is stored.
    Succeeded,
    /// `resumable`: a new delivery goes on from the last checkpoint. Otherwise final.
    Failed {
        /// Retryable error, attempts used up, revivals left.
        resumable: bool,
    },
    /// Final: an operator ended it.
    Cancelled,
    /// Only the debt of a tombstone is left; for every sender the key is new.
    Forgotten,
}

/// The right to act, of one slice, for a limited time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// Grows with every claim.
    pub fence: u64,
    /// Fresh with every claim.
    pub token: Token,
    /// The operation that claimed it: a re-sent claim gets the same lease.
    pub op: Token,
    /// Hops of the chain that claimed it.
    #[serde(default)]
    pub hop: u32,
    /// The last suspension that was answered "go on", counted from 1: an earlier one came late.
    #[serde(default)]
    pub suspends: u32,
    /// From this moment on another slice may be given the task.
    pub ends_ms: u64,
}

/// Permission to claim, once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ticket {
    /// What the claimer has to show.
    pub token: Token,
    /// Hops of the chain that carries it.
    #[serde(default)]
    pub hop: u32,
    /// If nobody has claimed it by then it is replaced.
    pub due_ms: u64,
}

/// Version of a task's row in D1: epoch first, then `n`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Version {
    /// Starts as the generation; raised when D1 turns out to hold a higher one.
    pub epoch: u64,
    /// Grows by two with every change, so that a tombstone has its place between a row and the next.
    pub n: u64,
}

impl Version {
    /// True of the version of a tombstone: rows have even numbers.
    pub(super) fn is_tombstone(self) -> bool {
        self.n % 2 == 1
    }
}

/// What D1 still has to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Outbox {
    /// The `n` that D1 must come to hold; 0: nothing is owed.
    pub owed_n: u64,
    /// The highest `n` that D1 has acknowledged in this epoch.
    pub flushed_n: u64,
    /// Failed tries since the last acknowledgement.
    pub tries: u32,
    /// The next try, if the one at hand is not heard of.
    pub next_ms: u64,
}

impl Outbox {
    /// True while D1 does not hold what it must.
    pub fn is_owing(&self) -> bool {
        self.owed_n > self.flushed_n
    }
}

/// A task that another one waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Child {
    /// The step of the parent that began it.
    pub step: StepId,
    /// The task.
    pub task_id: TaskId,
}

/// A task that waits for this one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parent {
    /// The task.
    pub task_id: TaskId,
    /// Its generation when it began this one: another one does not wait for this end.
    pub generation: u64,
    /// Its step.
    pub step: StepId,
}

/// One task, as its object keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    /// Version of this form.
    pub schema: u32,
    /// Scope and idempotency key.
    pub key: TaskKey,
    /// The function that runs.
    pub function: String,
    /// How it is run.
    #[serde(default)]
    pub policy: Policy,
    /// What must be equal under the same key; `None`: not compared.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// Short hashes of what the fingerprint is made of, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<(String, String)>,
    /// Accepting time in ms, raised whenever the journal starts empty.
    pub generation: u64,
    /// Generation that derived keys are made of.
    pub key_generation: u64,
    /// Version for D1.
    pub version: Version,
    /// Where it stands.
    pub state: State,
    /// Claims since the last progress.
    #[serde(default)]
    pub attempts: u32,
    /// All claims of this generation, for people.
    #[serde(default)]
    pub claims: u32,
    /// Times that a new delivery made it go on after it had failed.
    #[serde(default)]
    pub revivals: u32,
    /// The last fence that was given out.
    #[serde(default)]
    pub fence: u64,
    /// The current or last lease; none after its holder has ended it.
    #[serde(default)]
    pub lease: Option<Lease>,
    /// The ticket that is out.
    #[serde(default)]
    pub ticket: Option<Ticket>,
    /// Tickets minted since the last claim.
    #[serde(default)]
    pub dispatches: u32,
    /// The operation of the delivery that began or revived it last: sent again it does so no more.
    #[serde(default)]
    pub begin_op: Option<Token>,
    /// The operation that suspended it last.
    #[serde(default)]
    pub suspend_op: Option<Token>,
    /// The operation that finished its last attempt.
    #[serde(default)]
    pub finish_op: Option<Token>,
    /// When it was accepted.
    pub created_ms: u64,
    /// Last change of state.
    pub updated_ms: u64,
    /// When it succeeded or failed.
    #[serde(default)]
    pub finished_ms: Option<u64>,
    /// From this moment on the key is new.
    #[serde(default)]
    pub expires_ms: Option<u64>,
    /// Status and headers of the stored answer; its body is kept beside.
    #[serde(default)]
    pub answer: Option<Answer>,
    /// Why the last attempt failed.
    #[serde(default)]
    pub failure: Option<Failure>,
    /// How it is to end once everything is undone; while this is here the task is compensating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// What came of undoing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Undone>,
    /// An operator wants it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Cancel>,
    /// Signals that nobody has waited for yet, in the order in which they came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
    /// Signals so far.
    #[serde(default)]
    pub signals: u32,
    /// Tasks that it has begun and waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Child>,
    /// Tasks that wait for its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<Parent>,
    /// The parent that began it: with no other one left, it is cancelled with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<TaskId>,
    /// The tasks that it comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<TaskId>,
    /// What other tasks are owed.
    #[serde(default)]
    pub debts: Debts,
    /// The last operation of an operator: sent again it changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steer_op: Option<String>,
    /// What D1 is owed.
    #[serde(default)]
    pub outbox: Outbox,
    /// When the alarm rings, as far as is known.
    #[serde(default)]
    pub armed_ms: Option<u64>,
    /// The latest time that was seen here.
    #[serde(default)]
    pub seen_ms: u64,
    /// Duplicates so far; approximate, for they are counted in memory between writes.
    #[serde(default)]
    pub duplicates: u64,
    /// Attempts that failed and were followed by another one.
    #[serde(default)]
    pub retries: u32,
    /// Input and journal are gone; the answer is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stripped: bool,
    /// When operators were last told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noticed_ms: Option<u64>,
    /// Labels and trace.
    #[serde(default, skip_serializing_if = "About::is_empty")]
    pub about: About,
    /// The database that has its row, for as long as the key is known.
    #[serde(default)]
    pub database: Database,
    /// What its object was billed for.
    #[serde(default)]
    pub cost: Cost,
}

impl Task {
    /// The id that follows from its key.
    pub fn id(&self) -> TaskId {
        self.key.task_id()
    }

    /// True when its stored answer can no longer change.
    pub fn is_final(&self) -> bool {
        match self.state {
            State::Succeeded | State::Failed { resumable: false } | State::Cancelled => true,
            State::Failed { resumable: true }
            | State::Running
            | State::Suspended(_)
            | State::Forgotten => false,
        }
    }

    /// True when it is over, for good or resumably.
    pub fn has_ended(&self) -> bool {
        match self.state {
            State::Succeeded | State::Failed { .. } | State::Cancelled => true,
            State::Running | State::Suspended(_) | State::Forgotten => false,
        }
    }

    /// True when senders get its stored answer: it is final, or it was and is being undone.
    pub fn answers(&self) -> bool {
        let undoing_success = self
            .ending
            .as_ref()
            .is_some_and(|e| matches!(e.to, super::ending::EndsAs::Succeeded));
        self.is_final() || undoing_success
    }

    /// True when it has ended, for good or resumably, and its time is up. `now` itself is too late.
    /// One whose end is owed to a parent is kept until the parent knows.
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.has_ended() && !self.owes_end() && self.expires_ms.is_some_and(|at| now_ms >= at)
    }

    /// True when it is over and its answer is not kept: for the next delivery the key is new. What an
    /// operator cancelled, what is not undone, what may have been done all the same, and what a parent is
    /// still owed the end of stays.
    pub fn is_free(&self) -> bool {
        let status = match self.state {
            State::Succeeded | State::Failed { resumable: false } => {
                self.answer.as_ref().map_or(500, |answer| answer.status)
            }
            State::Failed { resumable: true }
            | State::Cancelled
            | State::Running
            | State::Suspended(_)
            | State::Forgotten => return false,
        };
        let undone = self
            .undone
            .as_ref()
            .is_none_or(super::ending::Undone::is_complete);
        let failed = matches!(self.state, State::Failed { .. });
        let unknown = failed && self.failure.as_ref().is_some_and(|f| f.unknown);
        !self.policy.keeps.keeps(status) && undone && !unknown && !self.owes_end()
    }

    /// Until when a sender is told that the key is used up, once it is.
    pub(super) fn gone_until_ms(&self) -> Option<u64> {
        match self.policy.after_expiry {
            AfterExpiry::New => None,
            AfterExpiry::Gone { tombstone_ms } => {
                let at_ms = self.expires_ms?;
                Some(at_ms.saturating_add(tombstone_ms))
            }
        }
    }

    /// True while the key is used up: its time is over, and it is not new yet.
    pub fn is_used_up(&self, now_ms: u64) -> bool {
        let over = self.is_expired(now_ms) || matches!(self.state, State::Forgotten);
        over && self.gone_until_ms().is_some_and(|until| now_ms < until)
    }

    /// True while a parent is still to be told of its end.
    fn owes_end(&self) -> bool {
        self.debts
            .list
            .iter()
            .any(|d| matches!(d, super::debts::Debt::End(_)))
    }

    /// Attempts without progress before it is over. What is to be undone gets as many as any function
    /// has by default, whatever its own policy says: a crash must not leave it half undone.
    pub(super) fn max_attempts(&self) -> u32 {
        let own = self.policy.max_attempts;
        if self.ending.is_some() {
            own.max(crate::limits::DEFAULT_MAX_ATTEMPTS)
        } else {
            own
        }
    }

    /// A change that D1 will see: a new version.
    pub(super) fn touch(&mut self, now_ms: u64) {
        self.version.n += 2;
        self.updated_ms = now_ms;
    }

    /// The version of its tombstone: above every row that was sent of it, and below the next one,
    /// should it turn out to live on.
    pub(super) fn tombstone(&self) -> Version {
        Version {
            epoch: self.version.epoch,
            n: self.version.n + 1,
        }
    }

    /// Puts the current version into the outbox. The try at hand is made at once by the caller; an
    /// alarm that is set anyway within a lease guards it, so that the guard costs no write.
    pub(super) fn owe(&mut self, now_ms: u64) {
        let soon = now_ms.saturating_add(self.policy.lease_ms);
        self.outbox.owed_n = self.version.n;
        self.outbox.tries = 0;
        self.outbox.next_ms = self
            .armed_ms
            .filter(|at| *at > now_ms && *at <= soon)
            .unwrap_or(now_ms + crate::limits::FLUSH_TIMEOUT_MS);
    }
}
