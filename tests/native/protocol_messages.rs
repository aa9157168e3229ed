//! Tasks and messages for the tests of the machine.

use crate::protocol_fixture::Object;
use onceward::protocol::{
    Begin, Claimed, Effect, Kind, Next, Open, Outcome, Proof, Record, Reply, Signal, StepRecord,
    Suspend, Transition, UndoPlan, Verdict, Version, Wait, WaitFor,
};
use onceward::types::{
    About, Answer, Failure, Input, Policy, StepId, TaskId, TaskKey, TaskKind, Token,
};

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
        parts: Vec::new(),
        input: Input::default(),
        claims: true,
        hop: 0,
        parent: None,
        lineage: Vec::new(),
        about: About::default(),
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
