//! Tasks and messages for the tests of the machine.

use onceward::http::object_call::Frame;
use onceward::protocol::{
    Begin, Claim, Claimed, Effect, Event, Finish, Kind, Moment, Next, Open, Outcome, Proof, Record,
    Reply, Retry, Signal, StepRecord, Suspend, Task, Transition, UndoPlan, Verdict, Version, Wait,
    WaitFor,
};
use onceward::store::cells::{Cells, MemoryCells};
use onceward::store::commit::{Committed, Decided, decide, write};
use onceward::store::journal::{Purpose, page};
use onceward::types::{Answer, Failure, Input, Policy, StepId, TaskId, TaskKey, TaskKind, Token};

/// The first moment of every scenario.
pub const T0: u64 = 1_000_000_000;

/// Of the policy below.
pub const LEASE: u64 = onceward::limits::DEFAULT_LEASE_MS;

/// Defaults, but three attempts.
pub fn policy() -> Policy {
    Policy {
        max_attempts: 3,
        ..Policy::default()
    }
}

/// Attempts that undoing has.
pub fn undo_attempts() -> u32 {
    policy()
        .max_attempts
        .max(onceward::limits::DEFAULT_MAX_ATTEMPTS)
}

pub fn token(text: &str) -> Token {
    Token::new(text)
}

pub fn key() -> TaskKey {
    TaskKey::new(TaskKind::Source, "github", "", "k1")
}

pub fn begin(op: &str) -> Begin {
    Begin {
        op: token(op),
        key: key(),
        function: "sync".to_owned(),
        policy: policy(),
        fingerprint: Some("print-1".to_owned()),
        input: Input::default(),
        claims: true,
        hop: 0,
        parent: None,
    }
}

pub fn value(name: &str) -> StepRecord {
    step(name, Outcome::Value("1".to_owned()))
}

pub fn step(name: &str, outcome: Outcome) -> StepRecord {
    StepRecord {
        tries: 1,
        ..StepRecord::new(StepId::new("", name, 0), outcome)
    }
}

/// A retryable failure of the function that comes from a step.
pub fn failing(name: &str) -> Failure {
    Failure {
        step: Some(StepId::new("", name, 0)),
        ..Failure::retryable("busy", "try again")
    }
}

pub fn answer(status: u16) -> Answer {
    Answer::json(status, &serde_json::json!({ "status": status }))
}

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

pub fn suspend(op: &str, claimed: &Claimed, progressed: bool) -> Suspend {
    Suspend {
        op: token(op),
        proof: claimed.proof.clone(),
        steps: Vec::new(),
        known: Vec::new(),
        progressed,
        hop: claimed.hop,
        n: 0,
        waits: Vec::new(),
        letters: Vec::new(),
        mismatch: None,
    }
}

pub fn record(proof: &Proof, steps: Vec<StepRecord>) -> Record {
    Record {
        proof: proof.clone(),
        steps,
        known: Vec::new(),
        cursor: None,
        known_cursor: None,
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

pub fn id(name: &str) -> StepId {
    StepId::new("", name, 0)
}

pub fn wait_for(name: &str, what: WaitFor) -> Wait {
    Wait { id: id(name), what }
}

/// A step `name` that sleeps.
pub fn sleep(name: &str, due_ms: u64) -> Wait {
    wait_for(name, WaitFor::Sleep { due_ms })
}

/// A step that waits for the signal of the same name.
pub fn signal_wait(name: &str, due_ms: Option<u64>) -> Wait {
    let what = WaitFor::Signal {
        name: name.to_owned(),
        due_ms,
    };
    wait_for(name, what)
}

pub fn signal(name: &str, id: &str, value: &str) -> Signal {
    Signal {
        name: name.to_owned(),
        id: id.to_owned(),
        outcome: Outcome::Value(value.to_owned()),
        generation: None,
        known: None,
    }
}

/// A step that can be undone.
pub fn undoable(name: &str, outcome: Outcome) -> StepRecord {
    StepRecord {
        undo: Some(UndoPlan {
            handler: "refund".to_owned(),
            input: "{}".to_owned(),
            key: String::new(),
        }),
        ..step(name, outcome)
    }
}

/// A step that can be undone and has been done.
pub fn done(name: &str) -> StepRecord {
    undoable(name, Outcome::Value("1".to_owned()))
}

/// What is recorded before a step that can be undone.
pub fn intent(name: &str) -> StepRecord {
    let open = Open {
        in_flight: true,
        ..Open::default()
    };
    undoable(name, Outcome::Open(Box::new(open)))
}

/// The record of a child that has been accepted.
pub fn child_record(name: &str, task_id: TaskId) -> StepRecord {
    let open = Open {
        child: Some(task_id),
        ..Open::default()
    };
    StepRecord {
        kind: Kind::Child,
        ..step(name, Outcome::Open(Box::new(open)))
    }
}

/// What came of undoing a step.
pub fn undo_record(name: &str, outcome: Outcome) -> StepRecord {
    StepRecord {
        kind: Kind::Undo,
        ..StepRecord::new(StepId::new("%undo/0", name, 0), outcome)
    }
}

pub fn claimed(out: &Transition) -> Claimed {
    match &out.reply {
        Reply::Claimed(claimed) => (**claimed).clone(),
        other => panic!("wanted a claim, got {other:?}"),
    }
}

pub fn succeeded() -> Verdict {
    Verdict::Succeeded(answer(200))
}

pub fn retryable() -> Verdict {
    Verdict::Failed(Failure::retryable("busy", "try again"))
}

pub fn terminal() -> Verdict {
    Verdict::Failed(Failure::terminal("declined", "no").with_answer(answer(402)))
}

/// Times of the alarm writes among these effects.
pub fn alarms(effects: &[Effect]) -> Vec<u64> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::SetAlarm { at_ms } => Some(*at_ms),
            _ => None,
        })
        .collect()
}

pub fn is_unchanged(out: &Transition) -> bool {
    matches!(out.next, Next::Unchanged)
}

/// The version that a tombstone of this task has.
pub fn tombstone(object: &Object) -> Version {
    let version = object.task().version;
    Version {
        n: version.n + 1,
        ..version
    }
}
