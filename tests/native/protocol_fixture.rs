//! Tasks and messages for the tests of the machine.

use onceward::protocol::{
    Begin, Claim, Claimed, Effect, Event, Finish, Moment, Next, Outcome, Proof, Record, Reply,
    StepRecord, Suspend, Task, Transition, Verdict, Version, handle,
};
use onceward::types::{Answer, Failure, Input, Policy, StepId, TaskKey, TaskKind, Token};

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
    }
}

pub fn value(name: &str) -> StepRecord {
    step(name, Outcome::Value("1".to_owned()))
}

pub fn step(name: &str, outcome: Outcome) -> StepRecord {
    StepRecord {
        id: StepId::new("", name, 0),
        outcome,
        place: 0,
        fence: 0,
        at_ms: 0,
        tries: 1,
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

/// One object, for scenarios that are told step by step.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// What is stored.
    pub task: Option<Task>,
    /// What is recorded.
    pub journal: Vec<StepRecord>,
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
        let out = handle(self.task.clone(), event, &Moment::at(ms));
        for effect in &out.effects {
            match effect {
                Effect::PutStep(step) => self.journal.push(step.clone()),
                Effect::ReopenStep(id) => self.journal.retain(|s| s.id != *id),
                Effect::DropPayload => self.journal.clear(),
                Effect::PutInput(_)
                | Effect::PutAnswer(_)
                | Effect::SetAlarm { .. }
                | Effect::Dispatch { .. }
                | Effect::Flush
                | Effect::Forget { .. }
                | Effect::WakeJoined => {}
            }
        }
        match &out.next {
            Next::Unchanged => {}
            Next::Put(task) => {
                self.puts += 1;
                self.task = Some((**task).clone());
            }
            Next::Gone => self.task = None,
        }
        self.effects.extend(out.effects.clone());
        out
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
        let known = self.known(&steps.iter().map(|s| s.id.clone()).collect::<Vec<_>>());
        self.at(
            ms,
            Event::Record(Box::new(Record {
                proof: proof.clone(),
                steps,
                known,
            })),
        )
    }

    pub fn suspend(&mut self, ms: u64, op: &str, claimed: &Claimed, moved: bool) -> Transition {
        self.at(ms, Event::Suspend(Box::new(suspend(op, claimed, moved))))
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
        let mut finish = Finish {
            op: token(op),
            proof: proof.clone(),
            steps,
            known: Vec::new(),
            verdict,
        };
        finish.known = self.known(&finish.ids());
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

    fn known(&self, ids: &[StepId]) -> Vec<StepRecord> {
        let known = self.journal.iter().filter(|s| ids.contains(&s.id));
        known.cloned().collect()
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
            ms = onceward::protocol::next_due_ms(self.task()).max(ms + 1);
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
