//! States that must be met somewhere, or the model would prove nothing.

use onceward::protocol::{Event, Next, Reply, State, Task, Transition, Waiting};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    Accepted,
    StoredAnswer,
    OtherBodyRefused,
    EffectRepeated,
    ZombieTold,
    LateReportTaken,
    TicketRefused,
    SameLeaseAgain,
    AlarmRestored,
    Succeeded,
    FailedForGood,
    Resumed,
    BackedOff,
    HandedOn,
    CancelledAtOnce,
    Compensated,
    CancelTooLate,
    NamedWait,
    SignalKept,
    SignalTaken,
    Forgotten,
    NewGeneration,
    EpochRaised,
    LateFlush,
}

pub const ALL: [Sight; 24] = [
    Sight::Accepted,
    Sight::StoredAnswer,
    Sight::OtherBodyRefused,
    Sight::EffectRepeated,
    Sight::ZombieTold,
    Sight::LateReportTaken,
    Sight::TicketRefused,
    Sight::SameLeaseAgain,
    Sight::AlarmRestored,
    Sight::Succeeded,
    Sight::FailedForGood,
    Sight::Resumed,
    Sight::BackedOff,
    Sight::HandedOn,
    Sight::CancelledAtOnce,
    Sight::Compensated,
    Sight::CancelTooLate,
    Sight::NamedWait,
    Sight::SignalKept,
    Sight::SignalTaken,
    Sight::Forgotten,
    Sight::NewGeneration,
    Sight::EpochRaised,
    Sight::LateFlush,
];

/// What has been met so far, by all threads.
#[derive(Clone, Debug, Default)]
pub struct Sights(Arc<AtomicU32>);

impl Sights {
    pub fn saw(&self, sight: Sight) {
        self.0.fetch_or(1 << sight as u32, Ordering::Relaxed);
    }

    pub fn has(&self, sight: Sight) -> bool {
        self.0.load(Ordering::Relaxed) & (1 << sight as u32) != 0
    }
}

impl Sights {
    /// What one event shows.
    pub fn watch(&self, before: Option<&Task>, event: &Event, out: &Transition) {
        self.replies(before, event, out);
        let Next::Put(task) = &out.next else { return };
        let changed = before.is_none_or(|old| old.state != task.state);
        if changed {
            match &task.state {
                State::Succeeded if task.cancel.is_some() => self.saw(Sight::CancelTooLate),
                State::Succeeded => self.saw(Sight::Succeeded),
                State::Failed { resumable: false } => self.saw(Sight::FailedForGood),
                State::Suspended(Waiting::BackingOff { .. }) => self.saw(Sight::BackedOff),
                State::Suspended(Waiting::For(_)) => self.saw(Sight::NamedWait),
                State::Cancelled if matches!(event, Event::Cancel { .. }) => {
                    self.saw(Sight::CancelledAtOnce);
                }
                _ => {}
            }
        }
        if before.is_some_and(|old| old.ending.is_some()) && task.undone.is_some() {
            self.saw(Sight::Compensated);
        }
        if let Some(old) = before {
            let anew = old.generation != task.generation;
            if anew {
                self.saw(Sight::NewGeneration);
            } else if old.version.epoch != task.version.epoch {
                self.saw(Sight::EpochRaised);
            }
        }
    }

    fn replies(&self, before: Option<&Task>, event: &Event, out: &Transition) {
        let same = matches!(out.next, Next::Unchanged);
        match (&out.reply, event) {
            (Reply::Claimed(_), Event::Begin(_)) if before.is_none() => self.saw(Sight::Accepted),
            (Reply::Claimed(_), _) if same => self.saw(Sight::SameLeaseAgain),
            (Reply::Claimed(_), Event::Begin(_)) => {
                let failed = before.is_some_and(|t| t.state == State::Failed { resumable: true });
                if failed {
                    self.saw(Sight::Resumed);
                }
            }
            (Reply::Stands(at), Event::Begin(_)) if at.answer.is_some() => {
                self.saw(Sight::StoredAnswer);
            }
            (Reply::KeyReused, _) => self.saw(Sight::OtherBodyRefused),
            (Reply::Stale(_), _) => self.saw(Sight::ZombieTold),
            (Reply::Recorded { stop: true, .. }, _) => self.saw(Sight::LateReportTaken),
            (Reply::Refused, _) => self.saw(Sight::TicketRefused),
            _ => {}
        }
    }
}
