//! Slices: what they do next, and what they make of a reply. None of them stops by itself but by its
//! own clock; a slice that is not asked any more is a zombie.

use crate::monitor::EFFECT;
use crate::mutants::Mutant;
use crate::object::Setting;
use crate::sights::Sight;
use crate::world::{End, Message, Slice, Wire, World, number};
use onceward::protocol::{Claimed, Outcome, Reply};

/// What a slice can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Says that it is about to begin a step that can be undone.
    Intend,
    /// The next step has its effect.
    Effect(usize),
    /// Reports it.
    Tell(usize),
    /// Reports the end, and what is not yet recorded with it.
    End(End),
    Suspend,
    Wait,
}

impl World {
    /// What this slice can do now.
    pub fn works(&self, setting: &Setting, slice: &Slice) -> Vec<Work> {
        if slice.waits {
            return Vec::new();
        }
        let in_time = self.real < slice.until;
        if slice.undoing {
            return if in_time {
                vec![Work::End(End::Undone)]
            } else {
                Vec::new()
            };
        }
        let mut works = Vec::new();
        if slice.cancel {
            works.push(Work::End(End::Cancelled));
            return works;
        }
        let has = |step: usize| slice.did[step] || slice.view[step];
        if !has(0) {
            if in_time && setting.undo && !slice.intent {
                works.push(Work::Intend);
            } else if in_time {
                works.push(Work::Effect(0));
            }
        } else if !slice.view[0] {
            works.push(Work::Tell(0));
        } else if setting.waits && !slice.view[2] {
            works.extend(in_time.then_some(Work::Wait));
        } else if !has(1) {
            if in_time {
                works.push(Work::Effect(1));
                works.extend((self.left.fail > 0).then_some(Work::End(End::Failed)));
                works.extend((self.left.fatal > 0).then_some(Work::End(End::FailedForGood)));
            }
        } else {
            works.push(Work::End(End::Succeeded));
        }
        if in_time
            && self.left.suspend > 0
            && slice.did.iter().zip(slice.view).all(|(d, v)| !d || v)
        {
            works.push(Work::Suspend);
        }
        works
    }

    pub fn work(&mut self, setting: &Setting, lease: u8, work: Work) {
        match work {
            Work::End(End::Failed) => self.left.fail -= 1,
            Work::End(End::FailedForGood) => self.left.fatal -= 1,
            Work::Suspend => self.left.suspend -= 1,
            _ => {}
        }
        if let Work::Effect(step) = work {
            self.effect(setting, lease, step);
            return;
        }
        let Some(slice) = self.slice(lease) else {
            return;
        };
        slice.waits = true;
        let fence = slice.fence;
        let message = match work {
            Work::Intend => Message::Record {
                lease,
                step: 0,
                intent: true,
            },
            Work::Tell(step) => Message::Record {
                lease,
                step,
                intent: false,
            },
            Work::End(end) => {
                let untold = |s: &usize| slice.did[*s] && !slice.view[*s];
                let steps = (0..2).filter(untold).collect();
                Message::Finish { lease, steps, end }
            }
            Work::Suspend | Work::Wait => {
                slice.asked += 1;
                let (n, waits) = (slice.asked, work == Work::Wait);
                Message::Suspend { lease, n, waits }
            }
            Work::Effect(_) => return,
        };
        self.send(message, fence);
    }

    /// G3: a step has no effect after its record.
    fn effect(&mut self, setting: &Setting, lease: u8, step: usize) {
        let recorded = self.view()[step];
        let others = |s: &&Slice| s.lease != lease && s.did[step];
        if self.slices.iter().any(|s| others(&s)) {
            setting.sights.saw(Sight::EffectRepeated);
        }
        let generation = self.task.as_ref().map(|t| t.generation);
        let Some(slice) = self.slice(lease) else {
            return;
        };
        slice.did[step] = true;
        if recorded && generation == Some(slice.generation) {
            self.broke(EFFECT);
        }
    }

    /// A reply reaches whoever waits for it.
    pub fn hear(&mut self, setting: &Setting, wire: &Wire, reply: &Reply) {
        if let Reply::Claimed(claimed) = reply {
            self.begins(setting, wire, claimed);
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
                if let Message::Record { step, intent, .. } = &wire.message {
                    slice.intent |= *intent;
                    slice.view[*step] |= !*intent;
                }
                if !winners.is_empty() {
                    slice.view = view;
                }
                slice.cancel |= cancel;
                if *stop {
                    self.drop_slice(lease);
                }
            }
            Reply::GoOn { records, .. } => {
                let there = records
                    .iter()
                    .any(|r| matches!(r.outcome, Outcome::Value(_)));
                slice.view[2] |= there;
                setting.sights.saw(Sight::SignalTaken);
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

    fn begins(&mut self, setting: &Setting, wire: &Wire, claimed: &Claimed) {
        let lease = number(&claimed.proof.token);
        if self.slice(lease).is_some() {
            return;
        }
        let slice = Slice {
            lease,
            fence: claimed.proof.fence,
            generation: claimed.generation,
            until: wire.sent + 1,
            view: if setting.mutant == Some(Mutant::JournalHidden) {
                [false; 3]
            } else {
                self.view()
            },
            did: [false; 2],
            intent: false,
            asked: 0,
            waits: false,
            undoing: claimed.undoing,
            cancel: claimed.cancel,
        };
        self.slices.push(slice);
    }
}
