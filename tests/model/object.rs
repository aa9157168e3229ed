//! The object: looks up, lets the machine decide, writes, acts. A commit may be the last thing that
//! it does before it starts anew: then nobody hears of it and nothing is carried out.

use crate::blind::handle_as;
use crate::events::{debt, may_end, told};
use crate::monitor;
use crate::mutants::Mutant;
use crate::sights::{Sight, Sights};
use crate::world::{Message, Pay, Row, Wire, World, lease_token, ticket_token};
use onceward::protocol::{
    Debt, Effect, Event, Fresh, Moment, Next, Reply, StepRecord, Version, next_due_ms,
};
use onceward::types::{Cost, Database, Keeps};

/// What the function does between its two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    No,
    /// It waits for a signal.
    Signal,
    /// The same, with a deadline.
    Until,
    /// It waits for a signal, then sleeps for no time at all.
    Nap,
    Sleep,
    /// It waits for a signal and sleeps, in two branches.
    Both,
    /// It waits for another task.
    Child,
}

/// What stays the same over a whole run.
#[derive(Clone, Debug)]
pub struct Setting {
    pub mutant: Option<Mutant>,
    /// Both steps can be undone.
    pub undo: bool,
    pub waits: Waits,
    /// Writes to D1 are messages of their own; otherwise they arrive at once.
    pub d1: bool,
    /// Another task has begun this one, and waits for its end.
    pub parent: bool,
    /// Which answers are kept. Unless all are, a key is used up for a time after its task.
    pub keeps: Keeps,
    pub sights: Sights,
}

impl World {
    /// The start of an object: the due time in its row is armed again.
    pub fn crash(&mut self) {
        self.floor = 0;
        let soon = self.clock() + 1;
        let mut repeated = false;
        for wire in self.wires.iter_mut().filter(|w| w.is_outward()) {
            repeated |= matches!(wire.message, Message::Tombstone(_, true)) && !wire.echo;
            wire.echo = true;
        }
        if repeated {
            self.alarm = Some(self.alarm.map_or(soon, |at| at.min(soon)));
        }
        if let Some(task) = &mut self.task {
            let at = next_due_ms(task).max(soon);
            let armed = self.alarm.map_or(at, |alarm| alarm.min(at));
            self.alarm = Some(armed);
            task.armed_ms = Some(armed);
            self.alarm_lost = false;
        }
    }

    /// One event. `cut`: the object dies right after the commit.
    pub fn apply(&mut self, setting: &Setting, event: &Event, cut: bool) -> Reply {
        self.floor = self.floor.max(self.clock());
        let moment = Moment {
            ms: self.floor,
            fresh: Fresh {
                lease: lease_token(self.leases + 1),
                ticket: ticket_token(self.tickets + 1),
                jitter: 1_000,
            },
            duplicates: 0,
            undoable: may_end(event) && self.has_to_undo(event),
            database: Database::default(),
            cost: Cost::default(),
            watch: None,
        };
        let before = self.task.clone();
        let out = handle_as(setting.mutant, self, event, &moment);
        setting.sights.watch(before.as_ref(), event, &out);
        monitor::watch(self, before.as_ref(), event, &out, moment.ms);
        let by_alarm = matches!(event, Event::AlarmFired);
        for effect in &out.effects {
            self.write(effect);
        }
        let had = before.and_then(|t| t.ticket);
        match &out.next {
            Next::Unchanged => {}
            Next::Put(task) => {
                let fresh = task.ticket.as_ref().map(|t| &t.token) == Some(&moment.fresh.ticket);
                self.tickets += u8::from(fresh && task.ticket != had);
                let lease = task.lease.as_ref().map(|l| &l.token);
                self.leases += u8::from(lease == Some(&moment.fresh.lease));
                self.task = Some((**task).clone());
            }
            Next::Gone => {
                (self.task, self.alarm, self.alarm_lost) = (None, None, false);
                self.write(&Effect::DropPayload);
                setting.sights.saw(Sight::Forgotten);
            }
        }
        if cut {
            // An alarm whose run is cut off is repeated by the platform.
            if by_alarm && self.task.is_some() {
                self.alarm = Some(self.clock() + 1);
            }
            self.crash();
        } else {
            for effect in &out.effects {
                self.act(setting, effect, by_alarm);
            }
        }
        out.reply
    }

    /// What is on record and can be undone, but for what the message at hand knows better.
    fn has_to_undo(&self, event: &Event) -> bool {
        let told = told(event);
        let stands = |r: &StepRecord| r.outcome.is_settled() || !told.contains(&r.id);
        let kept = self.kept.iter().any(StepRecord::is_undoable);
        kept || self.journal.iter().any(|r| r.is_undoable() && stands(r))
    }

    fn write(&mut self, effect: &Effect) {
        match effect {
            Effect::PutStep(step) => {
                self.journal.retain(|r| r.id != step.id);
                self.journal.push(step.clone());
                self.journal.sort_by(|a, b| a.id.cmp(&b.id));
            }
            Effect::ReopenStep(id) => self.journal.retain(|r| r.id != *id),
            Effect::DropPayload | Effect::Strip => {
                self.journal.clear();
                self.kept.clear();
                self.letters.clear();
                self.cursor = None;
            }
            Effect::NewJournal {
                generation,
                keep_undo,
            } => {
                self.cursor = None;
                let records = std::mem::take(&mut self.journal);
                if *keep_undo {
                    let done = records.into_iter().filter(StepRecord::is_undoable);
                    self.kept.extend(done.map(|record| StepRecord {
                        generation: Some(*generation),
                        ..record
                    }));
                } else {
                    self.kept.clear();
                }
            }
            Effect::PutCursor(cursor) => self.cursor = Some(cursor.clone()),
            Effect::RewindCursor { fence } => {
                self.cursor = self.cursor.take().filter(|c| c.fence < *fence);
            }
            Effect::PutLetter(letter) => self.letters.push(letter.clone()),
            Effect::SetAlarm { at_ms } => (self.alarm, self.alarm_lost) = (Some(*at_ms), false),
            Effect::PutInput(_)
            | Effect::ReplaceInput(_)
            | Effect::PutAnswer(_)
            | Effect::Dispatch { .. }
            | Effect::PayDebts
            | Effect::Flush
            | Effect::Forget { .. }
            | Effect::WakeJoined => {}
        }
    }

    fn act(&mut self, setting: &Setting, effect: &Effect, by_alarm: bool) {
        match effect {
            Effect::Dispatch { ticket, .. } => self.carry(ticket.as_str()),
            Effect::Flush => {
                let Some(version) = self.task.as_ref().map(|t| t.version) else {
                    return;
                };
                self.tell_d1(setting, Message::Flush(version));
            }
            Effect::Forget { version } => {
                self.tell_d1(setting, Message::Tombstone(*version, by_alarm));
            }
            Effect::PayDebts => self.pay(setting),
            _ => {}
        }
    }

    /// Another task is told what it is owed; while there is nothing to say, it is tried again later.
    fn pay(&mut self, setting: &Setting) {
        let Some(task) = &self.task else { return };
        let (debts, ended) = (task.debts.list.clone(), task.has_ended());
        if !ended && debts.iter().any(|d| matches!(d, Debt::End(_))) {
            self.apply(setting, &Event::DebtFailed, false);
        }
        for pay in debts.iter().map(Pay::of) {
            if ended || pay == Pay::Cancel {
                self.send(Message::Pay(pay), 0);
            }
        }
    }

    /// The other task hears what it was owed.
    fn peer_hears(&mut self, pay: Pay) {
        if self.peer.owed == Some(pay) {
            self.peer.owed = None;
        }
    }

    /// A ticket on its way to a slice.
    pub fn carry(&mut self, ticket: &str) {
        let op = format!("claim-{ticket}");
        let ticket = ticket.to_owned();
        self.send(Message::Claim { op, ticket }, 0);
    }

    fn tell_d1(&mut self, setting: &Setting, message: Message) {
        if setting.d1 {
            self.send(message, 0);
        } else {
            self.d1_answers(setting, &message, true, false);
        }
    }

    /// D1 takes a row that is newer than its own; what it holds then.
    pub fn upsert(&mut self, setting: &Setting, version: Version, is_tombstone: bool) -> Row {
        let row = Row {
            version,
            is_tombstone,
        };
        let guarded = setting.mutant != Some(Mutant::OlderRowWins);
        let held = self.d1.filter(|held| guarded && held.version >= version);
        let held = held.unwrap_or(row);
        self.d1 = Some(held);
        held
    }

    /// A write to D1 and its answer. `applied`: it got there in time.
    pub fn d1_answers(&mut self, setting: &Setting, message: &Message, applied: bool, cut: bool) {
        match *message {
            Message::Flush(sent) if applied => {
                let holds = self.upsert(setting, sent, false).version;
                self.apply(setting, &Event::Flushed { sent, holds }, cut);
            }
            Message::Flush(sent) => {
                self.apply(setting, &Event::FlushFailed { sent }, cut);
            }
            Message::Tombstone(sent, _) if applied => {
                let held = self.upsert(setting, sent, true);
                let event = if held.is_tombstone && held.version == sent {
                    Event::TombstoneAcked(sent)
                } else {
                    let holds = Some(held.version);
                    Event::TombstoneFailed { sent, holds }
                };
                self.apply(setting, &event, cut);
            }
            Message::Tombstone(sent, _) => {
                let holds = None;
                self.apply(setting, &Event::TombstoneFailed { sent, holds }, cut);
            }
            Message::Pay(pay) => {
                if applied {
                    self.peer_hears(pay);
                    self.apply(setting, &Event::DebtPaid(debt(pay)), cut);
                } else {
                    setting.sights.saw(Sight::DebtRepeated);
                    self.apply(setting, &Event::DebtFailed, cut);
                }
            }
            _ => {}
        }
    }

    /// A write that everybody has given up arrives.
    pub fn d1_late(&mut self, setting: &Setting, wire: &Wire) {
        match wire.message {
            Message::Flush(sent) => {
                self.upsert(setting, sent, false);
            }
            Message::Tombstone(sent, _) => {
                self.upsert(setting, sent, true);
            }
            Message::Pay(pay) => {
                self.peer_hears(pay);
                return;
            }
            _ => return,
        }
        setting.sights.saw(Sight::LateFlush);
    }
}
