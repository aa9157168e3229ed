//! States that must be met somewhere, or the model would prove nothing.

use onceward::protocol::{
    Debt, EndsAs, Event, Kind, Next, Outcome, Proof, Reply, State, Task, Transition, WaitFor,
    Waiting,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! sights {
    ($($sight:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Sight { $($sight),* }

        pub const ALL: &[Sight] = &[$(Sight::$sight),*];
    };
}

sights![
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
    LeftToAlarm,
    CancelledAtOnce,
    Compensated,
    CancelTooLate,
    NamedWait,
    SignalKept,
    SignalTaken,
    SignalRepeated,
    SignalTimedOut,
    SleepOver,
    Forgotten,
    NewGeneration,
    EpochRaised,
    LateFlush,
    RetriedAsResumed,
    RetriedAnew,
    OldGenerationTold,
    SuccessUndone,
    AnswerWhileUndoing,
    HandlerRepeated,
    HandlerRecorded,
    LostWhileUndoing,
    UndoneInPart,
    ContinuedAs,
    KeptIsUndone,
    ChildEndTaken,
    ChildOfAnotherGeneration,
    ChildCancelled,
    EndPaid,
    DebtRepeated,
    LateSaveIgnored,
    CodeChanged,
    GoesOnAfterChange,
    Abandoned,
    SlowClock,
    KeyFreed,
    UsedUpRefused,
];

/// What has been met so far, by all threads.
#[derive(Clone, Debug, Default)]
pub struct Sights(Arc<AtomicU64>);

impl Sights {
    pub fn saw(&self, sight: Sight) {
        self.0.fetch_or(1 << sight as u64, Ordering::Relaxed);
    }

    pub fn has(&self, sight: Sight) -> bool {
        self.0.load(Ordering::Relaxed) & (1 << sight as u64) != 0
    }

    /// What one event shows.
    pub fn watch(&self, before: Option<&Task>, event: &Event, out: &Transition) {
        self.replies(before, event, out);
        let Next::Put(task) = &out.next else { return };
        if before.is_none_or(|old| old.state != task.state) {
            self.states(event, task);
        }
        if let Some(old) = before {
            self.turns(old, event, task);
        }
        self.records(event, out);
    }

    fn states(&self, event: &Event, task: &Task) {
        match &task.state {
            State::Succeeded if task.cancel.is_some() => self.saw(Sight::CancelTooLate),
            State::Succeeded => self.saw(Sight::Succeeded),
            State::Failed { resumable: false } => self.saw(Sight::FailedForGood),
            State::Suspended(Waiting::BackingOff { .. }) => self.saw(Sight::BackedOff),
            State::Suspended(Waiting::CodeChanged(_)) => self.saw(Sight::CodeChanged),
            State::Suspended(Waiting::For(_)) => self.saw(Sight::NamedWait),
            State::Cancelled if matches!(event, Event::Abandon { .. }) => {
                self.saw(Sight::Abandoned);
            }
            State::Cancelled if matches!(event, Event::Cancel { .. }) => {
                self.saw(Sight::CancelledAtOnce);
            }
            _ => {}
        }
    }

    fn turns(&self, old: &Task, event: &Event, task: &Task) {
        let anew = old.generation != task.generation;
        let parked = matches!(old.state, State::Suspended(Waiting::CodeChanged(_)));
        match event {
            Event::Retry(_) if parked => self.saw(Sight::GoesOnAfterChange),
            Event::Retry(_) if anew => self.saw(Sight::RetriedAnew),
            Event::Retry(_) => self.saw(Sight::RetriedAsResumed),
            Event::Finish(_) if anew => self.saw(Sight::ContinuedAs),
            Event::DebtPaid(Debt::End(_)) => self.saw(Sight::EndPaid),
            Event::DebtPaid(Debt::Cancel(_)) => self.saw(Sight::ChildCancelled),
            _ => {}
        }
        if anew {
            self.saw(Sight::NewGeneration);
        } else if old.version.epoch != task.version.epoch {
            self.saw(Sight::EpochRaised);
        }
        let slept = |t: &Task| {
            let waits = t.waits();
            waits
                .iter()
                .any(|w| matches!(w.what, WaitFor::Sleep { .. }))
        };
        if slept(old) && !slept(task) {
            self.saw(Sight::SleepOver);
        }
        let Some(ending) = &old.ending else { return };
        if let Some(undone) = &task.undone {
            self.saw(match ending.to {
                _ if !undone.is_complete() => Sight::UndoneInPart,
                EndsAs::Succeeded => Sight::SuccessUndone,
                EndsAs::Failed { .. } | EndsAs::Cancelled => Sight::Compensated,
            });
        } else if old.state == State::Running && matches!(event, Event::AlarmFired) {
            self.saw(Sight::LostWhileUndoing);
        }
    }

    fn records(&self, event: &Event, out: &Transition) {
        use onceward::protocol::Effect::PutStep;
        for effect in &out.effects {
            let PutStep(step) = effect else { continue };
            let kept = step.id.branch == "%undo/1/";
            match (&step.outcome, step.kind) {
                (_, Kind::Undo) if kept => self.saw(Sight::KeptIsUndone),
                (_, Kind::Undo) if matches!(event, Event::Record(_)) => {
                    self.saw(Sight::HandlerRecorded);
                }
                (Outcome::Failed(_), Kind::Signal) => self.saw(Sight::SignalTimedOut),
                (Outcome::Value(_), Kind::Child) => self.saw(Sight::ChildEndTaken),
                _ => {}
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
                if before.is_some_and(Task::is_free) {
                    self.saw(Sight::KeyFreed);
                }
            }
            (Reply::Stands(at), Event::Begin(_)) if at.answer.is_some() => {
                self.saw(Sight::StoredAnswer);
                if at.summary.ending.is_some() {
                    self.saw(Sight::AnswerWhileUndoing);
                }
            }
            (Reply::KeyReused { .. }, _) => self.saw(Sight::OtherBodyRefused),
            (Reply::Expired, _) => self.saw(Sight::UsedUpRefused),
            (Reply::Stale(_), _) => self.stale(before, event),
            (Reply::Recorded { stop: true, .. }, _) => self.saw(Sight::LateReportTaken),
            (Reply::Recorded { .. }, Event::Record(r))
                if r.cursor.is_some() && out.effects.is_empty() =>
            {
                self.saw(Sight::LateSaveIgnored);
            }
            (Reply::Refused, _) => self.saw(Sight::TicketRefused),
            (Reply::Signalled { repeated: true }, _) => self.saw(Sight::SignalRepeated),
            (Reply::Done, Event::Signal(_)) => self.saw(Sight::ChildOfAnotherGeneration),
            (Reply::Suspended { ticket: None, .. }, Event::Suspend(s))
                if s.hop == onceward::limits::MAX_HOPS =>
            {
                self.saw(Sight::LeftToAlarm);
            }
            _ => {}
        }
    }

    fn stale(&self, before: Option<&Task>, event: &Event) {
        self.saw(Sight::ZombieTold);
        let fence = |proof: &Proof| proof.fence;
        let fence = match event {
            Event::Record(record) => fence(&record.proof),
            Event::Finish(finish) => fence(&finish.proof),
            Event::Suspend(suspend) => fence(&suspend.proof),
            _ => return,
        };
        // Claims of this generation have the last fences.
        let first = before.map_or(0, |t| (t.fence + 1).saturating_sub(u64::from(t.claims)));
        if fence < first {
            self.saw(Sight::OldGenerationTold);
        }
    }
}
