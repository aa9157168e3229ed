//! The state of the model: one object, D1, another task, what is in flight, slices, and how many faults
//! are left.

use crate::steps::{Steps, WAIT};
use onceward::protocol::{
    Cursor, Debt, Letter, Proof, State, StepRecord, Task, Version, WaitFor, Waiting,
};
use onceward::types::Token;

/// The first moment.
pub const T0: u64 = 1_000_000_000;
/// One step of the clock: a lease, and longer than every other wait but retention.
pub const TICK: u64 = 20_000;
/// Claims without progress.
pub const MAX_ATTEMPTS: u32 = 2;

/// How time goes in a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// One step of every clock, in milliseconds.
    pub tick: u64,
    /// A lease, in steps.
    pub lease: u16,
    /// How long before its end a slice begins nothing more.
    pub margin: u16,
}

impl Pace {
    /// A lease is one step, and no clock is slow.
    pub const EVEN: Self = Self {
        tick: TICK,
        lease: 1,
        margin: 0,
    };

    pub fn lease_ms(self) -> u64 {
        u64::from(self.lease) * self.tick
    }
}

/// How often each thing may still happen. Every fault costs one; so no history is endless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    /// Deliveries with the first body.
    pub same: u8,
    /// Deliveries with another body.
    pub other: u8,
    /// Steps of the clock.
    pub ticks: u8,
    /// Messages sent or delivered twice, tickets included.
    pub double: u8,
    /// Starts of the object, in between or right after a commit.
    pub crash: u8,
    /// Alarms that ring early or twice, or are lost.
    pub alarm: u8,
    /// Steps back of the object's clock.
    pub back: u8,
    /// Slices whose clock runs slow or fast.
    pub skew: u8,
    /// Retryable failures of the function.
    pub fail: u8,
    /// Terminal ones.
    pub fatal: u8,
    /// Undo handlers that fail for good.
    pub stuck: u8,
    /// Times that the function continues as another.
    pub again: u8,
    /// Suspensions at the budget.
    pub suspend: u8,
    /// Slices that find that the code has changed.
    pub parked: u8,
    /// Progress that is saved.
    pub save: u8,
    /// Messages to D1 or another task that are applied after their time, or not heard.
    pub late: u8,
    pub cancel: u8,
    /// Retries by an operator.
    pub retry: u8,
    /// The same, from the first step.
    pub from: u8,
    /// Undos of a success by an operator.
    pub undo: u8,
    pub signal: u8,
    pub delete: u8,
    /// Ends of a child.
    pub child: u8,
}

/// What a slice reports under its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// A step is about to begin.
    Intent(usize),
    Outcome(usize),
    /// Progress: which save of this lease, and how far it got.
    Save(u8, u8),
}

/// Why a slice suspends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ask {
    /// It is at its budget; true if it has recorded a success.
    Budget(bool),
    /// It waits, until then if it has a deadline.
    Wait(Option<u64>),
    /// A sleep that is over at once.
    Nap,
    /// The code no longer fits the journal.
    Parked,
    /// Two branches: one waits for a signal, if it has not come; one sleeps, if that is not over.
    Both(bool, Option<u64>),
}

/// A message to another task that is owed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pay {
    End,
    Cancel,
}

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message {
    Begin {
        op: String,
        print: u8,
    },
    Claim {
        op: String,
        ticket: String,
    },
    Record {
        lease: u8,
        what: What,
    },
    Finish {
        lease: u8,
        steps: Vec<usize>,
        end: End,
    },
    Suspend {
        lease: u8,
        n: u32,
        ask: Ask,
    },
    /// A child tells of its end; it was begun in this generation.
    ChildEnd(u64),
    Flush(Version),
    /// True if it was sent in the run of an alarm, which the platform repeats.
    Tombstone(Version, bool),
    Pay(Pay),
}

/// How a slice says that it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    Succeeded,
    Failed,
    FailedForGood,
    Cancelled,
    /// The function continues as another.
    Again,
    Undone,
    /// A handler failed: what it was to undo is named.
    Partly,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wire {
    pub message: Message,
    /// Nobody waits for the reply.
    pub echo: bool,
    /// The same message was carried out before.
    pub accepted: bool,
    /// When it was sent first; a slice counts its lease from then on.
    pub sent: u16,
    /// Proof of the sender.
    pub fence: u64,
}

/// A slice that may still act. It dies by not acting any more.
#[allow(clippy::struct_excessive_bools)] // each is independent of the others
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slice {
    /// The number of its lease.
    pub lease: u8,
    pub fence: u64,
    pub generation: u64,
    /// It begins nothing from then on, by its own clock.
    pub until: u16,
    /// Outcomes that it knows to be recorded.
    pub view: Steps,
    /// Effects that it has had.
    pub did: Steps,
    /// Steps that it knows to be recorded as begun.
    pub intents: Steps,
    /// What it was told to undo, by the step that undoes it.
    pub todo: Steps,
    /// The end of its wait.
    pub due: Option<u64>,
    /// How far its saved progress has got, and how often it has saved.
    pub saved: (u8, u8),
    pub asked: u32,
    /// It has recorded a success.
    pub moved: bool,
    pub napped: bool,
    /// A handler has failed.
    pub stuck: bool,
    /// It waits for a reply.
    pub waits: bool,
    pub undoing: bool,
    pub cancel: bool,
}

/// A row of D1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub version: Version,
    pub is_tombstone: bool,
}

/// Another task: the child of this one, or its parent.
#[allow(clippy::struct_excessive_bools)] // each is independent of the others
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peer {
    /// The generation that began it as a child; 0: none.
    pub begun: u64,
    /// As a child it has ended.
    pub ended: bool,
    /// It is to be told the end, or the cancellation, of this task, and has not heard it.
    pub owed: Option<Pay>,
}

/// What the monitors remember, apart from the machine.
#[allow(clippy::struct_excessive_bools)] // each is independent of the others
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// The last lease has not been ended by its holder.
    pub held: bool,
    /// Until then nobody else may be given the task, by the object's clock.
    pub until: u64,
    /// The operation that was given the last lease.
    pub claim_op: String,
    /// The delivery that made the task go last.
    pub begin_op: String,
    /// The last operation of an operator that was carried out.
    pub steer_op: String,
    /// Tickets that were claimed.
    pub used: u64,
    /// The body that the task was accepted with.
    pub print: u8,
    /// Claims since the last progress.
    pub barren: u32,
    /// The holder has recorded a success.
    pub moved: bool,
    /// Slices that started each other so far.
    pub chain: u32,
    /// The lease whose finish or suspension was carried out last.
    pub ended_by: u8,
    /// A cancellation was accepted in time.
    pub cancelled: bool,
    /// Something was named that could not be undone.
    pub partial: bool,
    /// A signal was accepted, and nobody has had it.
    pub signalled: bool,
    /// The last tombstone after which everything was deleted.
    pub gone: Option<Version>,
    /// The latest time at which the object has written.
    pub latest: u64,
    /// Until then the key is used up, if the task has ended.
    pub used_up: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub pace: Pace,
    /// True time, in ticks.
    pub real: u16,
    /// How far the object's clock is behind.
    pub back: u16,
    /// The latest time in the object's memory.
    pub floor: u64,
    pub task: Option<Task>,
    pub journal: Vec<StepRecord>,
    /// What earlier generations have done that may have to be undone.
    pub kept: Vec<StepRecord>,
    pub cursor: Option<Cursor>,
    pub letters: Vec<Letter>,
    pub alarm: Option<u64>,
    /// It was taken away, and nobody has looked since.
    pub alarm_lost: bool,
    pub d1: Option<Row>,
    pub peer: Peer,
    pub wires: Vec<Wire>,
    pub slices: Vec<Slice>,
    pub left: Left,
    /// Leases, tickets, deliveries and operations of operators so far; they are named by these numbers.
    pub leases: u8,
    pub tickets: u8,
    pub delivered: u8,
    pub steers: u8,
    pub memory: Memory,
    /// Guarantees that were broken.
    pub broken: Vec<&'static str>,
}

impl World {
    pub fn new(left: Left, pace: Pace) -> Self {
        Self {
            pace,
            real: 0,
            back: 0,
            floor: 0,
            task: None,
            journal: Vec::new(),
            kept: Vec::new(),
            cursor: None,
            letters: Vec::new(),
            alarm: None,
            alarm_lost: false,
            d1: None,
            peer: Peer::default(),
            wires: Vec::new(),
            slices: Vec::new(),
            left,
            leases: 0,
            tickets: 0,
            delivered: 0,
            steers: 0,
            memory: Memory::default(),
            broken: Vec::new(),
        }
    }

    /// The object's clock, in milliseconds.
    pub fn clock(&self) -> u64 {
        T0 + u64::from(self.real.saturating_sub(self.back)) * self.pace.tick
    }

    pub fn broke(&mut self, what: &'static str) {
        if !self.broken.contains(&what) {
            self.broken.push(what);
        }
    }

    pub fn slice(&mut self, lease: u8) -> Option<&mut Slice> {
        self.slices.iter_mut().find(|s| s.lease == lease)
    }

    pub fn drop_slice(&mut self, lease: u8) {
        self.slices.retain(|s| s.lease != lease);
    }

    pub fn send(&mut self, message: Message, fence: u64) {
        self.wires.push(Wire {
            message,
            echo: false,
            accepted: false,
            sent: self.real,
            fence,
        });
    }

    /// It waits for something that only somebody else can do.
    pub fn sleeps_by_name(&self) -> bool {
        let waits = match self.task.as_ref().map(|t| &t.state) {
            Some(State::Suspended(Waiting::For(waits))) => waits,
            Some(State::Suspended(Waiting::CodeChanged(_))) => return true,
            _ => return false,
        };
        waits.iter().all(|wait| match wait.what {
            WaitFor::Signal { due_ms: None, .. } => !self.memory.signalled,
            WaitFor::Child { .. } => !self.peer.ended,
            _ => false,
        })
    }

    /// The same state has one form: order of messages does not count, what no decision reads is blank,
    /// and a slice that can do nothing more is gone.
    pub fn tidied(mut self) -> Self {
        if let Some(task) = &mut self.task {
            (task.created_ms, task.updated_ms, task.duplicates) = (0, 0, 0);
        }
        let (wires, real) = (&self.wires, self.real);
        let listens = |slice: &Slice| {
            wires
                .iter()
                .any(|w| !w.echo && w.lease() == Some(slice.lease))
        };
        self.slices.retain(|slice| {
            let untold = |step: &usize| *step != WAIT && slice.did[*step] && !slice.view[*step];
            let has_to_tell = (0..slice.did.len()).any(|step| untold(&step));
            (!slice.waits || listens(slice)) && (slice.waits || has_to_tell || real < slice.until)
        });
        self.wires.sort();
        self.wires.dedup();
        self.slices.sort();
        self
    }
}

impl Wire {
    pub fn lease(&self) -> Option<u8> {
        match &self.message {
            Message::Record { lease, .. }
            | Message::Finish { lease, .. }
            | Message::Suspend { lease, .. } => Some(*lease),
            Message::Begin { .. }
            | Message::Claim { .. }
            | Message::ChildEnd(_)
            | Message::Flush(_)
            | Message::Tombstone(..)
            | Message::Pay(_) => None,
        }
    }

    /// To D1, or another task.
    pub fn is_outward(&self) -> bool {
        self.is_for_d1() || matches!(self.message, Message::Pay(_))
    }

    pub fn is_for_d1(&self) -> bool {
        matches!(self.message, Message::Flush(_) | Message::Tombstone(..))
    }

    pub fn claims(&self) -> bool {
        matches!(self.message, Message::Claim { .. } | Message::Begin { .. })
    }

    pub fn proof(&self) -> Option<Proof> {
        let lease = self.lease()?;
        Some(Proof {
            fence: self.fence,
            token: lease_token(lease),
        })
    }
}

impl Pay {
    pub fn of(debt: &Debt) -> Self {
        match debt {
            Debt::End(_) => Self::End,
            Debt::Cancel(_) => Self::Cancel,
            Debt::Notice(_) => unreachable!("nobody watches in here"),
        }
    }
}

pub fn lease_token(lease: u8) -> Token {
    Token::new(format!("lease-{lease}"))
}

pub fn ticket_token(ticket: u8) -> Token {
    Token::new(format!("ticket-{ticket}"))
}

/// The number in such a token.
pub fn number(token: &Token) -> u8 {
    let digits = token.as_str().rsplit('-').next();
    digits.and_then(|d| d.parse().ok()).unwrap_or(0)
}
