//! Slices: what a function does, how it reports it, and what it makes of the replies.

use crate::monitor::{BESIDE, EFFECT, ONCE, SLEPT};
use crate::mutants::Mutant;
use crate::object::{Setting, Waits};
use crate::sights::Sight;
use crate::steps::{PAY, SHIP, Steps, UNDO_PAY, UNDOING, WAIT};
use crate::world::{Ask, End, Message, Slice, What, Wire, World, number};
use onceward::protocol::{Claimed, Outcome, Reply};

/// What a slice can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Says that it is about to begin a step that can be undone, or that a child was accepted.
    Intend(usize),
    /// The next step has its effect.
    Effect(usize),
    /// Reports it.
    Tell(usize),
    /// Saves how far it got.
    Save,
    /// Its undo handler fails for good.
    Stuck,
    /// Reports the end, and what is not yet recorded with it.
    End(End),
    Suspend(Ask),
}

impl World {
    /// What this slice can do now.
    pub fn works(&self, setting: &Setting, slice: &Slice) -> Vec<Work> {
        if slice.waits {
            return Vec::new();
        }
        let in_time = self.real < slice.until;
        if slice.undoing {
            return self.undoes(slice, in_time);
        }
        if slice.cancel {
            return vec![Work::End(End::Cancelled)];
        }
        let mut works = self.next_step(setting, slice, in_time);
        let told = slice.did.iter().zip(slice.view).all(|(d, v)| !d || v);
        if in_time && told {
            let budget = Work::Suspend(Ask::Budget(slice.moved));
            works.extend((self.left.suspend > 0).then_some(budget));
            let parks = self.left.parked > 0 && slice.view[PAY];
            works.extend(parks.then_some(Work::Suspend(Ask::Parked)));
            let saves = self.left.save > 0 && !slice.view[PAY];
            works.extend(saves.then_some(Work::Save));
        }
        works
    }

    fn next_step(&self, setting: &Setting, slice: &Slice, in_time: bool) -> Vec<Work> {
        let (has, mut works) = (|step: usize| slice.did[step], Vec::new());
        let begins = |step: usize| {
            let first = setting.undo && !slice.intents[step];
            vec![if first {
                Work::Intend(step)
            } else {
                Work::Effect(step)
            }]
        };
        if !slice.view[PAY] {
            if has(PAY) {
                works.push(Work::Tell(PAY));
            } else if in_time {
                works.extend(begins(PAY));
            }
        } else if setting.waits == Waits::Both && !(slice.view[WAIT] && slice.napped) {
            let due = slice.due.filter(|_| !slice.napped);
            let both = Work::Suspend(Ask::Both(!slice.view[WAIT], due));
            works.extend(in_time.then_some(both));
        } else if setting.waits != Waits::No && !slice.view[WAIT] {
            works.extend(self.waits(setting, slice, in_time));
        } else if setting.waits == Waits::Nap && !slice.napped {
            works.extend(in_time.then_some(Work::Suspend(Ask::Nap)));
        } else if has(SHIP) || slice.view[SHIP] {
            works.push(Work::End(End::Succeeded));
        } else if in_time {
            works.extend(begins(SHIP));
            if works == [Work::Effect(SHIP)] {
                works.extend((self.left.fail > 0).then_some(Work::End(End::Failed)));
                works.extend((self.left.fatal > 0).then_some(Work::End(End::FailedForGood)));
            }
            works.extend((self.left.again > 0).then_some(Work::End(End::Again)));
        }
        works
    }

    fn waits(&self, setting: &Setting, slice: &Slice, in_time: bool) -> Vec<Work> {
        let wait = Work::Suspend(Ask::Wait(slice.due));
        if setting.waits != Waits::Child {
            return if in_time { vec![wait] } else { Vec::new() };
        }
        if !slice.intents[WAIT] {
            return if in_time {
                vec![Work::Intend(WAIT)]
            } else {
                Vec::new()
            };
        }
        let mut works = vec![wait];
        // It looks at its child before it waits on.
        if self.peer.ended {
            works.insert(0, Work::Tell(WAIT));
        }
        // What runs beside the wait fails.
        works.extend((self.left.fatal > 0).then_some(Work::End(End::FailedForGood)));
        works
    }

    /// Handlers, last record first. An outcome is recorded before the next handler begins; the last one
    /// may travel with the end.
    fn undoes(&self, slice: &Slice, in_time: bool) -> Vec<Work> {
        let open = |step: &usize| slice.todo[*step] && !slice.view[*step];
        let mut left = UNDOING.into_iter().filter(open);
        let end = Work::End(if slice.stuck {
            End::Partly
        } else {
            End::Undone
        });
        match (left.next(), left.next()) {
            (None, _) => vec![end],
            (Some(step), next) if slice.did[step] => {
                let told = Work::Tell(step);
                if next.is_none() {
                    vec![end, told]
                } else {
                    vec![told]
                }
            }
            (Some(_), _) if !in_time => Vec::new(),
            (Some(step), _) => {
                let fails = step == UNDO_PAY && self.left.stuck > 0;
                let mut works = vec![Work::Effect(step)];
                works.extend(fails.then_some(Work::Stuck));
                works
            }
        }
    }

    fn uses_up(&mut self, work: Work) {
        let left = &mut self.left;
        match work {
            Work::End(End::Failed) => left.fail -= 1,
            Work::End(End::FailedForGood) => left.fatal -= 1,
            Work::End(End::Again) => left.again -= 1,
            Work::Suspend(Ask::Budget(_)) => left.suspend -= 1,
            Work::Suspend(Ask::Parked) => left.parked -= 1,
            Work::Stuck => left.stuck -= 1,
            Work::Save => left.save -= 1,
            _ => {}
        }
    }

    pub fn work(&mut self, setting: &Setting, lease: u8, work: Work) {
        self.uses_up(work);
        if let Work::Effect(step) = work {
            self.effect(setting, lease, step);
            return;
        }
        if work == Work::Intend(WAIT) {
            self.begin_child(lease);
        }
        let Some(slice) = self.slice(lease) else {
            return;
        };
        let fence = slice.fence;
        let record = |what| Message::Record { lease, what };
        let message = match work {
            Work::Effect(_) => return,
            Work::Stuck => {
                // Nothing is said of it but by the end.
                slice.stuck = true;
                slice.todo[UNDO_PAY] = false;
                return;
            }
            Work::Intend(step) => record(What::Intent(step)),
            Work::Tell(step) => record(What::Outcome(step)),
            Work::Save => {
                let (progress, n) = slice.saved;
                record(What::Save(n + 1, progress + 1))
            }
            Work::End(end) => {
                let untold = |s: &usize| slice.did[*s] && !slice.view[*s];
                let steps = (0..slice.did.len()).filter(untold).collect();
                Message::Finish { lease, steps, end }
            }
            Work::Suspend(ask) => {
                slice.asked += 1;
                let n = slice.asked;
                Message::Suspend { lease, n, ask }
            }
        };
        slice.waits = true;
        self.send(message, fence);
    }

    /// The same message again finds the same child; another generation has another one.
    fn begin_child(&mut self, lease: u8) {
        let generation = self.slice(lease).map_or(0, |s| s.generation);
        if generation > self.peer.begun {
            (self.peer.begun, self.peer.ended) = (generation, false);
        }
    }

    /// G3: a step has no effect after its record.
    fn effect(&mut self, setting: &Setting, lease: u8, step: usize) {
        let recorded = self.view()[step];
        let others = |s: &&Slice| s.lease != lease && s.did[step];
        if self.slices.iter().any(|s| others(&s)) {
            setting.sights.saw(if step < WAIT {
                Sight::EffectRepeated
            } else {
                Sight::HandlerRepeated
            });
        }
        let task = self.task.as_ref();
        let generation = task.map(|t| t.generation);
        let undoing = task.is_some_and(|t| t.ending.is_some());
        let sleeps = matches!(setting.waits, Waits::Sleep | Waits::Both);
        let early = sleeps && self.due(setting.waits) > Some(self.memory.latest);
        let Some(slice) = self.slice(lease) else {
            return;
        };
        slice.did[step] = true;
        let current = generation == Some(slice.generation);
        if recorded && current {
            self.broke(if step < WAIT { EFFECT } else { ONCE });
        }
        if undoing && current && step < WAIT {
            self.broke(BESIDE);
        }
        if early && current && step == SHIP {
            self.broke(SLEPT);
        }
    }

    /// A reply reaches whoever waits for it. `skew`: by how much the clock of a slice that begins is
    /// behind at the end of its lease.
    pub fn hear(&mut self, setting: &Setting, wire: &Wire, reply: &Reply, skew: i8) {
        if let Reply::Claimed(claimed) = reply {
            self.begins(setting, wire, claimed, skew);
            return;
        }
        let Some(lease) = wire.lease() else { return };
        let view = self.view();
        let Some(slice) = self.slice(lease) else {
            return;
        };
        slice.waits = false;
        match reply {
            Reply::Recorded {
                stop,
                winners,
                cancel,
            } => {
                if let Message::Record { what, .. } = &wire.message {
                    slice.told(*what, winners.is_empty());
                }
                if !winners.is_empty() {
                    slice.view = view;
                }
                slice.cancel |= cancel;
                if *stop {
                    self.drop_slice(lease);
                }
            }
            Reply::GoOn { records, now_ms } => {
                slice.goes_on(setting, wire, records.len(), *now_ms);
                let value =
                    |r: &onceward::protocol::StepRecord| matches!(r.outcome, Outcome::Value(_));
                if records.iter().any(value) {
                    setting.sights.saw(Sight::SignalTaken);
                }
            }
            Reply::Suspended { ticket, .. } => {
                self.drop_slice(lease);
                if let Some(ticket) = ticket {
                    setting.sights.saw(Sight::HandedOn);
                    self.carry(ticket.as_str());
                }
            }
            _ => self.drop_slice(lease),
        }
    }

    fn begins(&mut self, setting: &Setting, wire: &Wire, claimed: &Claimed, skew: i8) {
        let lease = number(&claimed.proof.token);
        if self.slice(lease).is_some() {
            return;
        }
        let hides = |mutant: Mutant| setting.mutant == Some(mutant);
        let show = |steps: Steps, hidden: bool| if hidden { Steps::default() } else { steps };
        let recorded = self.due(setting.waits);
        let over = recorded.is_some_and(|due| due <= claimed.now_ms);
        let fresh = |ticks: u64| Some(claimed.now_ms + ticks * self.pace.tick);
        let recorded = recorded.filter(|_| !hides(Mutant::DeadlineMoves));
        let due = match setting.waits {
            Waits::Sleep | Waits::Until => recorded.or(fresh(1)),
            Waits::Both => recorded.or(fresh(2)),
            Waits::Child => fresh(1),
            Waits::No | Waits::Signal | Waits::Nap => None,
        };
        let mut view = show(self.view(), hides(Mutant::JournalHidden));
        if hides(Mutant::HandlersHidden) {
            view[UNDO_PAY..].fill(false);
        }
        if setting.waits == Waits::Sleep {
            view[WAIT] = over;
        }
        if skew > 0 {
            setting.sights.saw(Sight::SlowClock);
        }
        let margin = self.pace.margin * u16::from(!hides(Mutant::NoMargin));
        let lasts = self.pace.lease - margin;
        let saved = self.cursor.as_ref().and_then(|c| c.text.parse().ok());
        let slice = Slice {
            lease,
            fence: claimed.proof.fence,
            generation: claimed.generation,
            until: (wire.sent + lasts).saturating_add_signed(skew.into()),
            view,
            did: Steps::default(),
            intents: show(self.intents(), hides(Mutant::JournalHidden)),
            todo: show(self.todo(), !claimed.undoing || hides(Mutant::UndoHidden)),
            due,
            saved: (saved.unwrap_or(0), 0),
            asked: 0,
            moved: false,
            napped: setting.waits == Waits::Both && over,
            stuck: false,
            waits: false,
            undoing: claimed.undoing,
            cancel: claimed.cancel,
        };
        self.slices.push(slice);
    }
}

impl Slice {
    fn told(&mut self, what: What, first: bool) {
        match what {
            What::Intent(step) => self.intents[step] = true,
            What::Outcome(step) => {
                self.view[step] = true;
                self.moved |= first;
            }
            What::Save(n, progress) => {
                self.saved = (progress, n);
                self.moved = true;
            }
        }
    }

    fn goes_on(&mut self, setting: &Setting, wire: &Wire, records: usize, now_ms: u64) {
        match wire.message {
            Message::Suspend { ask: Ask::Nap, .. } => self.napped = true,
            _ if setting.waits == Waits::Sleep => {
                self.view[WAIT] |= self.due.is_some_and(|due| due <= now_ms);
            }
            Message::Suspend {
                ask: Ask::Both(..), ..
            } => {
                self.view[WAIT] |= records > 0;
                self.napped |= self.due.is_some_and(|due| due <= now_ms);
            }
            _ => self.view[WAIT] |= records > 0,
        }
    }
}
