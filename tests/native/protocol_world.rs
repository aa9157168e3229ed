//! A small world round the machine: one object with its rows and its alarm, D1, slices that keep
//! their proofs, and messages that are lost, late or doubled. It carries out what the machine says
//! and watches the guarantees with a model of its own (`protocol_watch`).

use crate::protocol_fixture::{decided, journal, put_head, token, written};
use crate::protocol_watch::Model;
use onceward::protocol::{
    Begin, Claim, Claimed, Effect, Event, Finish, Fresh, Moment, Next, Reply, StepRecord, Suspend,
    Task, Version, next_due_ms,
};
use onceward::store::cells::MemoryCells;
use onceward::store::journal::Purpose;
use onceward::types::{AfterExpiry, Cost, Database, Keeps, Policy, Token};
use std::collections::BTreeMap;

/// Short times, so that a few steps of the clock reach everything.
pub fn policy() -> Policy {
    Policy {
        max_attempts: 3,
        lease_ms: 1_000,
        retention_succeeded_ms: 20_000,
        retention_failed_ms: 30_000,
        ..Policy::default()
    }
}

/// The same, where only successes are kept, and a key is used up for some time after its task.
pub fn strict() -> Policy {
    Policy {
        keeps: Keeps::Success,
        after_expiry: AfterExpiry::Gone {
            tombstone_ms: 15_000,
        },
        ..policy()
    }
}

/// One thing that can happen. Numbers choose among what there is, the newest first.
#[derive(Clone, Debug)]
pub enum Act {
    Deliver { print: bool },
    BeginAgain(usize),
    Claim(usize),
    ClaimAgain(usize),
    Record { slice: usize, step: u8, kind: u8 },
    Suspend { slice: usize, step: u8 },
    SuspendAgain(usize),
    WaitFor { slice: usize, what: u8, ms: u64 },
    Save { slice: usize, n: u8 },
    Birth(u8),
    Signal { name: u8, id: u8, text: u8 },
    Cancel,
    Undo,
    Retry { from: u8, input: bool },
    DebtPaid,
    DebtFailed,
    Finish { slice: usize, step: u8, kind: u8 },
    FinishAgain(usize),
    Alarm,
    DoubledAlarm,
    LoseAlarm,
    Poke,
    Wait(u64),
    StepBack(u64),
    FlushArrives { which: usize, heard: bool },
    FlushLost(usize),
    TombstoneArrives { heard: bool },
    TombstoneLost,
    NewerRow,
    Delete,
    Crash,
}

/// A row of D1.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub version: Version,
    pub is_tombstone: bool,
}

/// The object, and everything that talks with it.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Of the tasks that begin.
    pub policy: Policy,
    pub now: u64,
    /// The latest time in the object's memory.
    pub floor: u64,
    /// As the object has it in memory.
    pub task: Option<Task>,
    /// It has been noted there and not in the row.
    noted: bool,
    pub cells: MemoryCells,
    /// What is recorded, as the effects say.
    pub journal: BTreeMap<String, StepRecord>,
    pub alarm: Option<u64>,
    /// The alarm was taken away and nobody has looked since.
    pub alarm_lost: bool,
    pub d1: Option<Row>,
    pub flushes: Vec<Version>,
    /// Tombstones under way; true if within the run of an alarm, which the platform repeats.
    pub forgets: Vec<(Version, bool)>,
    pub tickets: Vec<Token>,
    /// Tickets that the object itself wants carried.
    pub dispatched: Vec<Token>,
    pub slices: Vec<Claimed>,
    pub progressed: Vec<bool>,
    /// Suspensions of each slice so far.
    pub asked: Vec<u32>,
    pub begins: Vec<Begin>,
    pub claims: Vec<Claim>,
    pub suspends: Vec<Suspend>,
    pub finishes: Vec<Finish>,
    pub turn: u64,
    pub jitter: u32,
    pub model: Model,
}

/// The newest first.
pub fn pick<T: Clone>(among: &[T], n: usize) -> Option<T> {
    let last = among.len().checked_sub(1)?;
    Some(among[last - n % among.len()].clone())
}

impl World {
    pub fn new() -> Self {
        Self {
            now: 1_000_000,
            policy: policy(),
            jitter: 1_000,
            ..Self::default()
        }
    }

    pub fn act(&mut self, act: &Act) {
        self.turn += 1;
        match act {
            Act::Wait(ms) => self.now += ms,
            Act::StepBack(ms) => self.now = self.now.saturating_sub(*ms),
            Act::LoseAlarm => {
                self.alarm = None;
                self.alarm_lost = self.task.is_some();
            }
            Act::Crash => self.crash(),
            Act::NewerRow => self.newer_row(),
            Act::Alarm => self.ring(true),
            Act::DoubledAlarm => self.ring(false),
            Act::Poke => {
                self.alarm_lost = false;
                self.apply(Event::Poke);
            }
            Act::Delete => {
                self.apply(Event::Delete);
            }
            Act::FlushArrives { which, heard } => self.flush_arrives(*which, *heard),
            Act::FlushLost(which) => {
                if let Some(sent) = pick(&self.flushes, *which) {
                    self.apply(Event::FlushFailed { sent });
                }
            }
            Act::TombstoneArrives { heard } => self.tombstone_arrives(*heard),
            Act::TombstoneLost => self.tombstone_lost(),
            Act::Deliver { .. }
            | Act::Birth(_)
            | Act::BeginAgain(_)
            | Act::Claim(_)
            | Act::ClaimAgain(_) => {
                self.ask(act);
            }
            Act::Signal { .. }
            | Act::Cancel
            | Act::Undo
            | Act::Retry { .. }
            | Act::DebtPaid
            | Act::DebtFailed => self.steer(act),
            Act::Record { .. }
            | Act::Suspend { .. }
            | Act::SuspendAgain(_)
            | Act::WaitFor { .. }
            | Act::Save { .. }
            | Act::Finish { .. }
            | Act::FinishAgain(_) => self.write(act),
        }
    }

    /// Rings now, however early or late. `used`: the alarm is gone with it.
    pub fn ring(&mut self, used: bool) {
        if self.alarm.is_none() {
            return;
        }
        if used {
            self.alarm = None;
        }
        self.apply(Event::AlarmFired);
    }

    /// Memory is gone. Cut off runs of the alarm are repeated; the due time is armed at the start,
    /// and what is known of the alarm is asked for.
    pub fn crash(&mut self) {
        self.floor = 0;
        self.model.latest = self.model.latest.max(self.now);
        let repeated = self.forgets.iter().any(|(_, alarm)| *alarm);
        self.forgets.clear();
        let soon = self.now + 1;
        if repeated {
            self.alarm = Some(self.alarm.map_or(soon, |at| at.min(soon)));
        }
        if let Some(task) = &mut self.task {
            let at = next_due_ms(task).max(soon);
            let armed = self.alarm.map_or(at, |alarm| alarm.min(at));
            self.alarm = Some(armed);
            task.armed_ms = Some(armed);
            self.noted = true;
            self.alarm_lost = false;
        }
    }

    fn newer_row(&mut self) {
        let epoch = self.task.as_ref().map_or(self.now, |t| t.version.epoch) + 5;
        let version = Version { epoch, n: 2 };
        if self.d1.is_none_or(|row| row.version < version) {
            self.d1 = Some(Row {
                version,
                is_tombstone: false,
            });
        }
    }

    /// D1 takes a row that is newer than its own.
    fn upsert(&mut self, version: Version, is_tombstone: bool) -> Row {
        let row = Row {
            version,
            is_tombstone,
        };
        let held = self
            .d1
            .filter(|held| held.version >= version)
            .unwrap_or(row);
        self.d1 = Some(held);
        held
    }

    pub fn flush_arrives(&mut self, which: usize, heard: bool) {
        if let Some(sent) = pick(&self.flushes, which) {
            let holds = self.upsert(sent, false).version;
            if heard {
                self.apply(Event::Flushed { sent, holds });
            }
        }
    }

    pub fn tombstone_arrives(&mut self, heard: bool) {
        let Some((sent, alarm)) = self.forgets.pop() else {
            return;
        };
        let held = self.upsert(sent, true);
        if !heard {
            self.forgets.push((sent, alarm));
        } else if held.is_tombstone && held.version == sent {
            self.apply(Event::TombstoneAcked(sent));
        } else {
            let holds = Some(held.version);
            self.apply(Event::TombstoneFailed { sent, holds });
        }
    }

    fn tombstone_lost(&mut self) {
        if let Some((sent, _)) = self.forgets.pop() {
            self.apply(Event::TombstoneFailed { sent, holds: None });
        }
    }

    /// The object's part: looks up, decides, writes, acts.
    pub fn apply(&mut self, event: Event) -> Reply {
        self.turn += 1;
        self.floor = self.floor.max(self.now);
        let n = self.turn;
        let moment = Moment {
            ms: self.floor,
            fresh: Fresh {
                lease: token(&format!("lease-{n}")),
                ticket: token(&format!("ticket-{n}")),
                jitter: self.jitter,
            },
            duplicates: 0,
            undoable: false,
            database: Database::default(),
            cost: Cost::default(),
            watch: None,
        };
        if let Some(task) = self.task.as_ref().filter(|_| self.noted) {
            put_head(&self.cells, task);
        }
        self.noted = false;
        let watched = event.clone();
        let decided = decided(&self.cells, event, &moment);
        let out = decided.transition.clone();
        let seen = self.task.as_ref().map_or(0, |t| t.seen_ms);
        let ms = moment.ms.max(seen);
        let mut model = std::mem::take(&mut self.model);
        model.watch(self, &watched, &out, ms);
        self.model = model;
        let committed = written(&self.cells, &decided);
        let rang = matches!(watched, Event::AlarmFired);
        for effect in &out.effects {
            self.carry_out(effect, &out.next, rang);
        }
        if let Next::Put(task) = &out.next {
            self.task = Some((**task).clone());
        }
        if committed.gone {
            (self.task, self.alarm, self.alarm_lost) = (None, None, false);
            self.journal.clear();
        }
        let records = |e: &Effect| matches!(e, Effect::PutStep(_) | Effect::ReopenStep(_));
        if let (Reply::Claimed(claimed), true) = (&out.reply, committed.put) {
            let undoing = journal(&self.cells, Purpose::Undoing);
            self.model.ledger.claimed(claimed, &undoing);
        }
        if committed.put || out.effects.iter().any(records) {
            self.is_written();
        }
        for effect in &out.effects {
            if matches!(effect, Effect::Flush) {
                self.flushes.extend(self.task.as_ref().map(|t| t.version));
            }
        }
        self.hear(&out.reply);
        let mut model = std::mem::take(&mut self.model);
        model.watch_alarm(self, ms);
        self.model = model;
        out.reply
    }

    fn hear(&mut self, reply: &Reply) {
        match reply {
            Reply::Claimed(claimed) => {
                if self.slices.iter().all(|s| s.proof != claimed.proof) {
                    self.slices.push((**claimed).clone());
                    self.progressed.push(false);
                    self.asked.push(0);
                }
            }
            Reply::Suspended { ticket, .. } => self.tickets.extend(ticket.clone()),
            Reply::Stands(_)
            | Reply::KeyReused { .. }
            | Reply::Expired
            | Reply::KeyCollision
            | Reply::Refused
            | Reply::Recorded { .. }
            | Reply::Stale(_)
            | Reply::NotFound
            | Reply::InProgress(_)
            | Reply::GoOn { .. }
            | Reply::Signalled { .. }
            | Reply::MailboxFull
            | Reply::Ended(_)
            | Reply::Planned(_)
            | Reply::NoSuchStep
            | Reply::Done => {}
        }
    }

    fn carry_out(&mut self, effect: &Effect, next: &Next, rang: bool) {
        match effect {
            Effect::PutStep(step) => {
                self.journal.insert(step.id.cell(), step.clone());
            }
            Effect::ReopenStep(id) => {
                self.journal.remove(&id.cell());
            }
            Effect::DropPayload | Effect::Strip | Effect::NewJournal { .. } => self.journal.clear(),
            Effect::SetAlarm { at_ms } => {
                self.alarm = Some(*at_ms);
                // Half of the objects note it in memory, as they may.
                if let (Next::Unchanged, Some(task), true) =
                    (next, &mut self.task, self.turn.is_multiple_of(2))
                {
                    task.armed_ms = Some(*at_ms);
                    self.noted = true;
                }
            }
            Effect::Dispatch { ticket, .. } => {
                self.tickets.push(ticket.clone());
                self.dispatched.push(ticket.clone());
            }
            Effect::Forget { version } => self.forgets.push((*version, rang)),
            Effect::PutInput(_)
            | Effect::ReplaceInput(_)
            | Effect::PutAnswer(_)
            | Effect::PutCursor(_)
            | Effect::RewindCursor { .. }
            | Effect::PutLetter(_)
            | Effect::PayDebts
            | Effect::Flush
            | Effect::WakeJoined => {}
        }
    }

    /// What is stored is what the effects say.
    fn is_written(&self) {
        let stored = journal(&self.cells, Purpose::Show);
        let stored: BTreeMap<String, StepRecord> =
            stored.into_iter().map(|s| (s.id.cell(), s)).collect();
        assert_eq!(stored, self.journal);
    }
}
