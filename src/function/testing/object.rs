//! An object in memory: the real storage code on cells in memory, and an alarm.

use crate::protocol::{
    Cursor, Debt, Effect, Event, Moment, Reply, Standing, State, StepRecord, Summary, Task,
};
use crate::store::cells::MemoryCells;
use crate::store::commit::{Stored, commit};
use crate::store::journal::{self, Purpose};
use crate::types::{Input, TaskId, Token};
use std::cell::OnceCell;

/// Something to do after a transition is written.
pub(super) enum After {
    /// Start a slice with this ticket.
    Dispatch(Token),
    /// D1 is told at once, and always answers.
    Tell(Event),
    /// Tell another task.
    Pay(Debt),
}

pub(super) struct Object {
    id: TaskId,
    cells: MemoryCells,
    alarm_ms: Option<u64>,
    /// The task as it was read last; nothing once a step may have written it.
    read: OnceCell<Option<Task>>,
}

impl Object {
    pub(super) fn new(id: TaskId) -> Self {
        Self {
            id,
            cells: MemoryCells::default(),
            alarm_ms: None,
            read: OnceCell::new(),
        }
    }

    fn stored(&self) -> Option<Stored> {
        Stored::load(&self.cells, self.id).expect("an object reads what it wrote")
    }

    pub(super) fn task(&self) -> Option<Task> {
        let read = || self.stored().map(|stored| stored.task);
        self.read.get_or_init(read).clone()
    }

    /// Where the task stands, with the body of its answer.
    pub(super) fn standing(&self) -> Option<Standing> {
        let task = self.task()?;
        let mut standing = Standing {
            began: false,
            summary: Summary::of(&task),
            answer: task.answer.clone().filter(|_| task.answers()),
        };
        self.fill(&mut standing);
        Some(standing)
    }

    /// True if there is a task that somebody may know of.
    pub(super) fn is_known(&self, now_ms: u64) -> bool {
        let forgotten = |task: &Task| matches!(task.state, State::Forgotten);
        self.task()
            .is_some_and(|task| !task.is_expired(now_ms) && !forgotten(&task))
    }

    /// Puts the stored bytes to the status and fields of an answer.
    fn fill(&self, standing: &mut Standing) {
        let Some(answer) = &mut standing.answer else {
            return;
        };
        if let Some(stored) = self.stored() {
            let body = stored.answer_body(&self.cells);
            answer.body = body.expect("an answer is kept whole");
        }
    }

    pub(super) fn input(&self) -> Input {
        let Some(stored) = self.stored() else {
            return Input::default();
        };
        let body = stored.input_body(&self.cells);
        Input {
            headers: stored.input_headers,
            body: body.expect("an input is kept whole"),
        }
    }

    /// Every page of the journal.
    pub(super) fn journal(&self, purpose: Purpose) -> Vec<StepRecord> {
        let mut out = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = journal::page(&self.cells, self.id, purpose, after.as_deref());
            let (records, more) = page.expect("a journal is read as it was written");
            out.extend(records);
            let Some(more) = more else {
                return out;
            };
            assert_ne!(after.as_ref(), Some(&more), "a page moves on");
            after = Some(more);
        }
    }

    pub(super) fn cursor(&self) -> Option<Cursor> {
        journal::cursor(&self.cells, self.id).expect("a cursor is read as it was written")
    }

    pub(super) fn alarm_ms(&self) -> Option<u64> {
        self.alarm_ms
    }

    pub(super) fn cells(&self) -> Vec<String> {
        self.cells.names()
    }

    /// Rings the alarm: it is used up, whatever comes of it.
    pub(super) fn ring(&mut self, moment: &Moment) -> Vec<After> {
        self.alarm_ms = None;
        self.handle(Event::AlarmFired, moment).1
    }

    /// One atomic step, and what is to be done once it is durable.
    pub(super) fn handle(&mut self, event: Event, moment: &Moment) -> (Reply, Vec<After>) {
        self.read.take();
        let committed = commit(&self.cells, self.id, event, moment);
        let committed = committed.unwrap_or_else(|error| panic!("no step: {error}"));
        if committed.gone {
            self.cells.clear();
            self.alarm_ms = None;
        } else if let Some(at_ms) = committed.alarm_ms {
            assert!(at_ms > moment.ms, "an alarm is never set to now");
            self.alarm_ms = Some(at_ms);
        }
        let mut after = Vec::new();
        for effect in committed.after {
            follow(effect, committed.stored.as_ref(), &mut after);
        }
        let mut reply = committed.reply;
        if let Reply::Stands(standing)
        | Reply::Stale(standing)
        | Reply::InProgress(standing)
        | Reply::Ended(standing) = &mut reply
        {
            self.fill(standing);
        }
        (reply, after)
    }
}

fn follow(effect: Effect, stored: Option<&Stored>, after: &mut Vec<After>) {
    match effect {
        Effect::Dispatch { ticket, .. } => after.push(After::Dispatch(ticket)),
        Effect::Flush => after.extend(stored.map(|stored| {
            let version = stored.task.version;
            After::Tell(Event::Flushed {
                sent: version,
                holds: version,
            })
        })),
        Effect::Forget { version } => after.push(After::Tell(Event::TombstoneAcked(version))),
        Effect::PayDebts => {
            let debts = stored.map(|s| s.task.debts.list.clone());
            after.extend(debts.unwrap_or_default().into_iter().map(After::Pay));
        }
        // Nobody waits in an object of the bench.
        Effect::WakeJoined => {}
        Effect::PutInput(_)
        | Effect::ReplaceInput(_)
        | Effect::PutAnswer(_)
        | Effect::PutStep(_)
        | Effect::ReopenStep(_)
        | Effect::PutCursor(_)
        | Effect::RewindCursor { .. }
        | Effect::PutLetter(_)
        | Effect::NewJournal { .. }
        | Effect::DropPayload
        | Effect::Strip
        | Effect::SetAlarm { .. } => unreachable!("written by the step itself"),
    }
}
