//! One object, for scenarios that are told step by step.

pub use crate::protocol_messages::*;
use onceward::http::object_call::Frame;
use onceward::protocol::{
    Claim, Claimed, Cursor, Effect, Event, Finish, Moment, Next, Outcome, Proof, Record, Reply,
    Retry, StepRecord, Suspend, Task, Transition, Verdict, Wait,
};
use onceward::store::cells::{Cells, MemoryCells};
use onceward::store::commit::{Committed, Decided, Stored, decide, write};
use onceward::store::journal::{Purpose, cursor, page};
use onceward::types::{Answer, Token};

/// One object, for scenarios that are told step by step: the machine on cells in memory.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// What is stored. A scenario may change it between two events.
    pub task: Option<Task>,
    stored: Option<Task>,
    /// When the alarm rings.
    pub alarm: Option<u64>,
    pub cells: MemoryCells,
    /// All effects so far, of the last event at the end.
    pub effects: Vec<Effect>,
    /// Writes of the task so far.
    pub puts: usize,
}

impl Object {
    pub fn task(&self) -> &Task {
        self.task.as_ref().expect("a stored task")
    }

    /// Lets an event happen and does what the machine says.
    pub fn at(&mut self, ms: u64, event: Event) -> Transition {
        self.at_moment(&Moment::at(ms), event)
    }

    pub fn at_moment(&mut self, moment: &Moment, event: Event) -> Transition {
        if self.task != self.stored
            && let Some(task) = &self.task
        {
            put_head(&self.cells, task);
        }
        if matches!(event, Event::AlarmFired) {
            self.alarm = None;
        }
        let out = decided(&self.cells, event, moment);
        let committed = written(&self.cells, &out);
        self.puts += usize::from(committed.put);
        self.task = match &out.transition.next {
            Next::Unchanged => self.task.take(),
            Next::Put(task) => Some((**task).clone()),
            Next::Gone => None,
        };
        self.stored.clone_from(&self.task);
        let out = out.transition;
        self.alarm = alarms(&out.effects).last().copied().or(self.alarm);
        self.effects.extend(out.effects.clone());
        out
    }

    /// What is recorded.
    pub fn journal(&self) -> Vec<StepRecord> {
        journal(&self.cells, Purpose::Show)
    }

    pub fn begin(&mut self, ms: u64, op: &str) -> Transition {
        self.at(ms, Event::Begin(Box::new(begin(op))))
    }

    /// A begin that must be granted.
    pub fn begun(&mut self, ms: u64, op: &str) -> Claimed {
        claimed(&self.begin(ms, op))
    }

    pub fn claim(&mut self, ms: u64, op: &str, ticket: &Token) -> Transition {
        self.at(
            ms,
            Event::Claim(Claim {
                op: token(op),
                ticket: ticket.clone(),
            }),
        )
    }

    /// A claim of the ticket that is out, which must be granted.
    pub fn claimed(&mut self, ms: u64, op: &str) -> Claimed {
        let ticket = self.task().ticket.clone().expect("a ticket").token;
        claimed(&self.claim(ms, op, &ticket))
    }

    pub fn record(&mut self, ms: u64, proof: &Proof, steps: Vec<StepRecord>) -> Transition {
        self.at(ms, Event::Record(Box::new(record(proof, steps))))
    }

    pub fn suspend(&mut self, ms: u64, op: &str, claimed: &Claimed, moved: bool) -> Transition {
        self.at(ms, Event::Suspend(Box::new(suspend(op, claimed, moved))))
    }

    /// Asks for what the function waits for; `n` counts these within the lease.
    pub fn wait(
        &mut self,
        ms: u64,
        (op, n): (&str, u32),
        claimed: &Claimed,
        waits: Vec<Wait>,
    ) -> Transition {
        let suspend = Suspend {
            n,
            waits,
            ..suspend(op, claimed, false)
        };
        self.at(ms, Event::Suspend(Box::new(suspend)))
    }

    pub fn signal(&mut self, ms: u64, name: &str, id: &str, value: &str) -> Transition {
        self.at(ms, Event::Signal(Box::new(signal(name, id, value))))
    }

    pub fn cancel(&mut self, ms: u64, op: &str) -> Transition {
        self.at(ms, Event::Cancel { op: op.to_owned() })
    }

    pub fn undo(&mut self, ms: u64, op: &str) -> Transition {
        self.at(ms, Event::Undo { op: op.to_owned() })
    }

    pub fn retry(&mut self, ms: u64, retry: Retry) -> Transition {
        self.at(ms, Event::Retry(Box::new(retry)))
    }

    /// The outcome on record of a step.
    pub fn outcome(&self, name: &str) -> Option<Outcome> {
        let journal = self.journal();
        let found = journal.iter().find(|r| r.id.name == name);
        found.map(|record| record.outcome.clone())
    }

    /// Saves progress; `n` counts the saves of one lease.
    pub fn save(&mut self, ms: u64, proof: &Proof, n: u64, text: &str) -> Transition {
        let cursor = Cursor {
            fence: 0,
            n,
            text: text.to_owned(),
            skips: Vec::new(),
        };
        let record = Record {
            cursor: Some(cursor),
            ..record(proof, Vec::new())
        };
        self.at(ms, Event::Record(Box::new(record)))
    }

    /// The progress that is saved: fence, count, text.
    pub fn saved(&self) -> Option<(u64, u64, String)> {
        let cursor = cursor(&self.cells, self.task().id()).expect("readable");
        cursor.map(|c| (c.fence, c.n, c.text))
    }

    /// The bytes of the input.
    pub fn input(&self) -> Vec<u8> {
        let stored = Stored::load(&self.cells, self.task().id()).expect("readable");
        let stored = stored.expect("a stored task");
        stored.input_body(&self.cells).expect("readable")
    }

    /// Rings whenever the alarm is set, until this time.
    pub fn ring_until(&mut self, ms: u64) {
        while let Some(at) = self.alarm.filter(|at| *at <= ms) {
            self.alarm(at);
            assert!(
                self.alarm.is_none_or(|next| next > at),
                "it rings in a circle"
            );
        }
    }

    pub fn finish(&mut self, ms: u64, op: &str, proof: &Proof, verdict: Verdict) -> Transition {
        self.finish_with(ms, op, proof, Vec::new(), verdict)
    }

    pub fn finish_with(
        &mut self,
        ms: u64,
        op: &str,
        proof: &Proof,
        steps: Vec<StepRecord>,
        verdict: Verdict,
    ) -> Transition {
        let finish = Finish {
            op: token(op),
            proof: proof.clone(),
            steps,
            known: Vec::new(),
            verdict,
        };
        self.at(ms, Event::Finish(Box::new(finish)))
    }

    pub fn alarm(&mut self, ms: u64) -> Transition {
        self.at(ms, Event::AlarmFired)
    }

    /// D1 takes what the object has.
    pub fn flushed(&mut self, ms: u64) -> Transition {
        let sent = self.task().version;
        self.at(ms, Event::Flushed { sent, holds: sent })
    }

    /// Loses leases until the attempts of this claim are used up; the last proof.
    pub fn lose_all(&mut self, mut ms: u64, first: &Claimed) -> (u64, Proof) {
        let mut proof = first.proof.clone();
        let most = self.task().fence + 50;
        while matches!(
            self.task().state,
            onceward::protocol::State::Running | onceward::protocol::State::Suspended(_)
        ) {
            assert!(self.task().fence < most, "it never ends");
            ms = onceward::protocol::own_due_ms(self.task()).max(ms + 1);
            self.alarm(ms);
            if self.task().ticket.is_some() {
                proof = self.claimed(ms, &format!("claim-{ms}")).proof;
            }
        }
        (ms, proof)
    }
}

/// What the machine says, with the bodies of stored answers where they belong.
pub fn decided(cells: &MemoryCells, event: Event, moment: &Moment) -> Decided {
    let mut out = decide(cells, key().task_id(), event, moment).expect("readable");
    let body = out
        .stored
        .as_ref()
        .map(|stored| stored.answer_body(cells).expect("readable"));
    let fill = |answer: &mut Option<Answer>| {
        if let Some(answer) = answer.as_mut().filter(|a| a.body.is_empty()) {
            answer.body = body.clone().unwrap_or_default();
        }
    };
    if let Next::Put(task) = &mut out.transition.next {
        fill(&mut task.answer);
    }
    if let Reply::Stands(at) | Reply::Stale(at) | Reply::InProgress(at) | Reply::Ended(at) =
        &mut out.transition.reply
    {
        fill(&mut at.answer);
    }
    out
}

/// Writes what was decided.
pub fn written(cells: &MemoryCells, decided: &Decided) -> Committed {
    let committed = write(cells, key().task_id(), decided.clone()).expect("written");
    if committed.gone {
        cells.clear();
    }
    committed
}

/// All pages of a journal.
pub fn journal(cells: &MemoryCells, purpose: Purpose) -> Vec<StepRecord> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let (page, more) =
            page(cells, key().task_id(), purpose, after.as_deref()).expect("readable");
        all.extend(page);
        after = more;
        if after.is_none() {
            return all;
        }
    }
}

/// Puts a task that a scenario has changed in the place of the one that is stored.
pub fn put_head(cells: &MemoryCells, task: &Task) {
    let cell = format!("{}/head", key().task_id());
    let bytes = cells.get(&cell).expect("readable").expect("a stored task");
    let mut frame = Frame::decode(&bytes).expect("a frame");
    let mut head: serde_json::Value = serde_json::from_slice(&frame.head).expect("JSON");
    head["task"] = serde_json::to_value(task).expect("a task has a JSON form");
    frame.head = head.to_string().into_bytes();
    cells.put(&cell, &frame.encode()).expect("written");
}
