//! Messages as the machine gets them, with what the object looks up for them.

use crate::world::{End, MAX_ATTEMPTS, Message, TICK, Wire, World};
use onceward::protocol::{
    Begin, Claim, Event, Finish, Kind, Open, Outcome, Record, Signal, StepRecord, Suspend,
    UndoPlan, Verdict, Wait, WaitFor,
};
use onceward::types::{Answer, Failure, Input, Policy, StepId, TaskKey, TaskKind, Token};

/// The steps of the function; the third is a wait for a signal in between.
pub const STEPS: [&str; 3] = ["pay", "ship", "approval"];

pub fn id(step: usize) -> StepId {
    StepId::new("", STEPS[step], 0)
}

pub fn policy() -> Policy {
    Policy {
        max_attempts: MAX_ATTEMPTS,
        lease_ms: TICK,
        retention_succeeded_ms: TICK,
        retention_failed_ms: TICK,
        ..Policy::default()
    }
}

/// The outcome tells which lease it comes from, so that two of them differ.
fn outcome(step: usize, lease: u8, undo: bool) -> StepRecord {
    StepRecord {
        undo: (undo && step == 0).then(plan),
        place: u32::try_from(step).unwrap_or(0) * 2 + 1,
        tries: 1,
        ..StepRecord::new(id(step), Outcome::Value(lease.to_string()))
    }
}

fn plan() -> UndoPlan {
    UndoPlan {
        handler: "refund".to_owned(),
        input: "{}".to_owned(),
        key: String::new(),
    }
}

fn intent() -> StepRecord {
    let open = Open {
        in_flight: true,
        ..Open::default()
    };
    StepRecord {
        undo: Some(plan()),
        ..StepRecord::new(id(0), Outcome::Open(Box::new(open)))
    }
}

/// A failure of the second step ends the attempt.
fn failure(terminal: bool) -> Failure {
    let failure = if terminal {
        Failure::terminal("declined", "no")
    } else {
        Failure::retryable("busy", "later")
    };
    Failure {
        step: Some(id(1)),
        ..failure
    }
}

fn verdict(end: End, lease: u8) -> Verdict {
    match end {
        End::Succeeded => {
            let mut answer = Answer::json(200, &serde_json::Value::Null);
            answer.body = vec![lease];
            Verdict::Succeeded(answer)
        }
        End::Failed => Verdict::Failed(failure(false)),
        End::FailedForGood => Verdict::Failed(failure(true)),
        End::Cancelled => Verdict::Cancelled,
        End::Undone => Verdict::Undone(Vec::new()),
    }
}

pub fn signal(world: &World) -> Event {
    let known = world.letters.iter().find(|l| l.id == "s1").cloned();
    Event::Signal(Box::new(Signal {
        name: STEPS[2].to_owned(),
        id: "s1".to_owned(),
        outcome: Outcome::Value("yes".to_owned()),
        generation: None,
        known,
    }))
}

fn known(world: &World, steps: &[StepId]) -> Vec<StepRecord> {
    let asked = world.journal.iter().filter(|r| steps.contains(&r.id));
    asked.cloned().collect()
}

/// What the object makes of a message that is for it.
pub fn event(world: &World, wire: &Wire, undo: bool) -> Option<Event> {
    Some(match &wire.message {
        Message::Begin { op, print } => Event::Begin(Box::new(Begin {
            op: Token::new(op.clone()),
            key: TaskKey::new(TaskKind::Source, "shop", "", "k1"),
            function: "sync".to_owned(),
            policy: policy(),
            fingerprint: Some(format!("print-{print}")),
            input: Input::default(),
            claims: true,
            hop: 0,
            parent: None,
            lineage: Vec::new(),
        })),
        Message::Claim { op, ticket } => Event::Claim(Claim {
            op: Token::new(op.clone()),
            ticket: Token::new(ticket.clone()),
        }),
        Message::Record {
            lease,
            step,
            intent: is_intent,
        } => {
            let record = if *is_intent {
                intent()
            } else {
                outcome(*step, *lease, undo)
            };
            Event::Record(Box::new(Record {
                proof: wire.proof()?,
                known: known(world, std::slice::from_ref(&record.id)),
                steps: vec![record],
                cursor: None,
                known_cursor: None,
            }))
        }
        Message::Finish { lease, steps, end } => {
            let mut records: Vec<StepRecord> =
                steps.iter().map(|s| outcome(*s, *lease, undo)).collect();
            if matches!(end, End::Failed | End::FailedForGood) {
                let failed = Outcome::Failed(failure(*end == End::FailedForGood));
                records.push(StepRecord {
                    place: 3,
                    ..StepRecord::new(id(1), failed)
                });
            }
            let mut finish = Finish {
                op: Token::new(format!("finish-{lease}")),
                proof: wire.proof()?,
                steps: records,
                known: Vec::new(),
                verdict: verdict(*end, *lease),
            };
            finish.known = known(world, &finish.ids());
            Event::Finish(Box::new(finish))
        }
        Message::Suspend { lease, n, waits } => {
            let what = WaitFor::Signal {
                name: STEPS[2].to_owned(),
                due_ms: None,
            };
            let wait = Wait { id: id(2), what };
            let mut suspend = Suspend {
                op: Token::new(format!("suspend-{lease}-{n}")),
                proof: wire.proof()?,
                steps: Vec::new(),
                known: Vec::new(),
                progressed: false,
                hop: 0,
                n: *n,
                waits: if *waits { vec![wait] } else { Vec::new() },
                letters: world.letters.clone(),
                mismatch: None,
            };
            suspend.known = known(world, &suspend.ids());
            Event::Suspend(Box::new(suspend))
        }
        Message::Flush(_) | Message::Tombstone(..) => return None,
    })
}

/// What this very message says of steps: they are judged by it, not by the journal.
pub fn told(event: &Event) -> Vec<StepId> {
    match event {
        Event::Finish(finish) => finish.steps.iter().map(|s| s.id.clone()).collect(),
        Event::Suspend(suspend) => suspend.steps.iter().map(|s| s.id.clone()).collect(),
        _ => Vec::new(),
    }
}

/// True of the record of a wait that a signal has ended, or of work that was done.
pub fn is_settled(world: &World, step: usize) -> bool {
    let found = world.journal.iter().find(|r| r.id == id(step));
    found.is_some_and(|r| r.outcome.is_settled() && matches!(r.kind, Kind::Step | Kind::Signal))
}
