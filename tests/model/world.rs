//! The state of the model: one object, D1, what is in flight, slices, and how many faults are left.

use onceward::protocol::{Letter, Proof, State, StepRecord, Task, Version, Waiting};
use onceward::types::Token;

/// The first moment.
pub const T0: u64 = 1_000_000_000;
/// One step of the clock: a lease, and longer than every other wait but retention.
pub const TICK: u64 = 20_000;
/// Claims without progress.
pub const MAX_ATTEMPTS: u32 = 2;

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
    /// Retryable failures of the function.
    pub fail: u8,
    /// Terminal ones.
    pub fatal: u8,
    /// Suspensions at the budget.
    pub suspend: u8,
    /// Writes to D1 that are applied after their time.
    pub late: u8,
    pub cancel: u8,
    pub signal: u8,
    pub delete: u8,
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
        step: usize,
        intent: bool,
    },
    Finish {
        lease: u8,
        steps: Vec<usize>,
        end: End,
    },
    Suspend {
        lease: u8,
        n: u32,
        waits: bool,
    },
    Flush(Version),
    /// True if it was sent in the run of an alarm, which the platform repeats.
    Tombstone(Version, bool),
}

/// How a slice says that it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    Succeeded,
    Failed,
    FailedForGood,
    Cancelled,
    Undone,
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
    /// Outcomes that it knows to be recorded; the last one is the signal.
    pub view: [bool; 3],
    /// Effects that it has had.
    pub did: [bool; 2],
    pub intent: bool,
    pub asked: u32,
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

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// True time, in ticks.
    pub real: u16,
    /// How far the object's clock is behind.
    pub back: u16,
    /// The latest time in the object's memory.
    pub floor: u64,
    pub task: Option<Task>,
    pub journal: Vec<StepRecord>,
    pub letters: Vec<Letter>,
    pub alarm: Option<u64>,
    /// It was taken away, and nobody has looked since.
    pub alarm_lost: bool,
    pub d1: Option<Row>,
    pub wires: Vec<Wire>,
    pub slices: Vec<Slice>,
    pub left: Left,
    /// Leases and tickets so far; they are named by these numbers.
    pub leases: u8,
    pub tickets: u8,
    pub delivered: u8,
    // What the monitors remember, apart from the machine.
    /// The last lease has not been ended by its holder.
    pub held: bool,
    /// Until then nobody else may be given the task, by the object's clock.
    pub until: u64,
    /// Tickets that were claimed.
    pub used: u64,
    /// The body that the task was accepted with.
    pub print: u8,
    /// Claims since the last progress.
    pub barren: u32,
    /// The lease whose finish or suspension was carried out last.
    pub ended_by: u8,
    /// A cancellation was accepted in time.
    pub cancelled: bool,
    /// The last tombstone after which everything was deleted.
    pub gone: Option<Version>,
    /// Guarantees that were broken.
    pub broken: Vec<&'static str>,
}

impl World {
    pub fn new(left: Left) -> Self {
        Self {
            real: 0,
            back: 0,
            floor: 0,
            task: None,
            journal: Vec::new(),
            letters: Vec::new(),
            alarm: None,
            alarm_lost: false,
            d1: None,
            wires: Vec::new(),
            slices: Vec::new(),
            left,
            leases: 0,
            tickets: 0,
            delivered: 0,
            held: false,
            until: 0,
            used: 0,
            print: 0,
            barren: 0,
            ended_by: 0,
            cancelled: false,
            gone: None,
            broken: Vec::new(),
        }
    }

    /// The object's clock, in milliseconds.
    pub fn clock(&self) -> u64 {
        T0 + u64::from(self.real.saturating_sub(self.back)) * TICK
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

    pub fn sleeps_by_name(&self) -> bool {
        let state = self.task.as_ref().map(|t| &t.state);
        matches!(state, Some(State::Suspended(Waiting::For(_))))
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
            let has_to_tell = (0..2).any(|step| slice.did[step] && !slice.view[step]);
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
            | Message::Flush(_)
            | Message::Tombstone(..) => None,
        }
    }

    pub fn is_for_d1(&self) -> bool {
        matches!(self.message, Message::Flush(_) | Message::Tombstone(..))
    }

    pub fn proof(&self) -> Option<Proof> {
        let lease = self.lease()?;
        Some(Proof {
            fence: self.fence,
            token: lease_token(lease),
        })
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
