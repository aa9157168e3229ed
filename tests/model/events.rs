//! Messages as the machine gets them, with what the object looks up for them.

use crate::object::{Setting, Waits};
use crate::steps::{self, WAIT, id};
use crate::world::{Ask, End, MAX_ATTEMPTS, Message, Pace, Pay, T0, TICK, What, Wire, World};
use onceward::protocol::{
    Begin, Claim, Cursor, Debt, Event, Finish, Kind, Mismatch, NextInput, NotUndone, Outcome,
    Parent, Record, Retry, Signal, StepRecord, Suspend, Verdict, Wait, WaitFor, child_signal,
    signal_of,
};
use onceward::types::{
    About, AfterExpiry, Answer, Input, Keeps, Policy, StepId, TaskKey, TaskKind, Token,
};

/// Hops behind a task that its parent begins: near the end of a chain.
pub const PARENT_HOP: u32 = 7;

/// For one step of the clock after its expiry.
const USED_UP: AfterExpiry = AfterExpiry::Gone { tombstone_ms: TICK };

pub fn policy(pace: Pace, keeps: Keeps) -> Policy {
    let usual = Policy::default();
    let after_expiry = match keeps {
        Keeps::All => usual.after_expiry,
        Keeps::Below500 | Keeps::Success => USED_UP,
    };
    Policy {
        keeps,
        after_expiry,
        max_attempts: MAX_ATTEMPTS,
        lease_ms: pace.lease_ms(),
        retention_succeeded_ms: TICK,
        retention_failed_ms: TICK,
        ..usual
    }
}

fn parent() -> Parent {
    Parent {
        task_id: steps::other_task(),
        generation: 1,
        step: id(WAIT),
    }
}

pub fn debt(pay: Pay) -> Debt {
    match pay {
        Pay::End => Debt::End(parent()),
        Pay::Cancel => Debt::Cancel(steps::other_task()),
    }
}

fn verdict(end: End, lease: u8) -> Verdict {
    match end {
        End::Succeeded => {
            let mut answer = Answer::json(200, &serde_json::Value::Null);
            answer.body = vec![lease];
            Verdict::Succeeded(answer)
        }
        End::Failed => Verdict::Failed(steps::failure(false)),
        End::FailedForGood => Verdict::Failed(steps::failure(true)),
        End::Cancelled => Verdict::Cancelled,
        End::Again => Verdict::ContinueAs(NextInput::default()),
        End::Undone => Verdict::Undone(Vec::new()),
        End::Partly => Verdict::Undone(vec![NotUndone {
            step: Some(id(steps::PAY)),
            code: "refused".to_owned(),
            message: "no refund".to_owned(),
        }]),
    }
}

/// A signal from outside.
pub fn signal(world: &World) -> Event {
    told_by(world, steps::id(WAIT).name, "s1".to_owned(), None)
}

/// A child has ended.
fn child_end(world: &World, generation: u64) -> Event {
    let name = child_signal(&id(WAIT));
    told_by(world, name, format!("c{generation}"), Some(generation))
}

fn told_by(world: &World, name: String, id: String, generation: Option<u64>) -> Event {
    let known = world.letters.iter().find(|l| l.id == id).cloned();
    Event::Signal(Box::new(Signal {
        name,
        id,
        outcome: Outcome::Value("yes".to_owned()),
        generation,
        known,
    }))
}

/// The parent was cancelled.
pub fn abandon(op: String) -> Event {
    let parent = steps::other_task();
    Event::Abandon { op, parent }
}

/// An operator wants it tried again, from its first step or from what failed.
pub fn retry(world: &World, op: String, from: bool) -> Event {
    Event::Retry(Box::new(Retry {
        op,
        from: from.then(|| id(steps::PAY).to_string()),
        journal: world.journal.clone(),
        ..Retry::default()
    }))
}

fn known(world: &World, steps: &[StepId]) -> Vec<StepRecord> {
    let asked = world.journal.iter().filter(|r| steps.contains(&r.id));
    asked.cloned().collect()
}

/// What the object makes of a message that is for it.
pub fn event(world: &World, wire: &Wire, setting: &Setting) -> Option<Event> {
    Some(match &wire.message {
        Message::Begin { op, print } => begin(world, op, *print, setting),
        Message::Claim { op, ticket } => Event::Claim(Claim {
            op: Token::new(op.clone()),
            ticket: Token::new(ticket.clone()),
        }),
        Message::Record { lease, what } => {
            let steps: Vec<_> = steps::report(*what, *lease, setting.undo)
                .into_iter()
                .collect();
            let ids: Vec<StepId> = steps.iter().map(|s| s.id.clone()).collect();
            let cursor = match what {
                What::Save(n, progress) => Some(Cursor {
                    fence: 0,
                    n: u64::from(*n),
                    text: progress.to_string(),
                    skips: Vec::new(),
                }),
                What::Intent(_) | What::Outcome(_) => None,
            };
            Event::Record(Box::new(Record {
                proof: wire.proof()?,
                known: known(world, &ids),
                steps,
                cursor,
                known_cursor: world.cursor.clone(),
            }))
        }
        Message::Finish { lease, steps, end } => {
            let undo = setting.undo;
            let told = steps.iter().map(|s| steps::outcome(*s, *lease, undo));
            let mut records: Vec<StepRecord> = told.collect();
            if matches!(end, End::Failed | End::FailedForGood) {
                records.push(steps::failed(*end == End::FailedForGood, undo));
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
        Message::Suspend { .. } => suspend(world, wire, setting)?,
        Message::ChildEnd(generation) => child_end(world, *generation),
        Message::Flush(_) | Message::Tombstone(..) | Message::Pay(_) => return None,
    })
}

fn begin(world: &World, op: &str, print: u8, setting: &Setting) -> Event {
    let child = setting.parent;
    Event::Begin(Box::new(Begin {
        op: Token::new(op.to_owned()),
        key: TaskKey::new(TaskKind::Source, "shop", "", "k1"),
        function: "sync".to_owned(),
        policy: policy(world.pace, setting.keeps),
        fingerprint: Some(format!("print-{print}")),
        parts: Vec::new(),
        input: Input::default(),
        claims: !child,
        hop: if child { PARENT_HOP } else { 0 },
        parent: child.then(parent),
        lineage: Vec::new(),
        about: About::default(),
    }))
}

fn suspend(world: &World, wire: &Wire, setting: &Setting) -> Option<Event> {
    let Message::Suspend { lease, n, ask } = &wire.message else {
        return None;
    };
    let lease_hop = world.task.as_ref()?.lease.as_ref().map_or(0, |l| l.hop);
    let mut suspend = Suspend {
        op: Token::new(format!("suspend-{lease}-{n}")),
        proof: wire.proof()?,
        steps: Vec::new(),
        known: Vec::new(),
        progressed: matches!(ask, Ask::Budget(true)),
        hop: lease_hop,
        n: *n,
        waits: Vec::new(),
        letters: Vec::new(),
        mismatch: (*ask == Ask::Parked).then(|| Box::new(mismatch())),
    };
    for (step, what) in asked(*ask, setting) {
        let due = what.due_ms();
        let kind = match what {
            WaitFor::Sleep { .. } => Some(Kind::Sleep),
            WaitFor::Signal { .. } => Some(Kind::Signal),
            WaitFor::Child { .. } | WaitFor::Retry { .. } => None,
        };
        let recorded = kind
            .zip(due)
            .map(|(k, due)| steps::deadline(step.clone(), k, due));
        suspend.steps.extend(recorded);
        suspend.waits.push(Wait { id: step, what });
    }
    suspend.known = known(world, &suspend.ids());
    let name = suspend.waits.iter().find_map(signal_of);
    let unread = &world.task.as_ref()?.unread;
    let first = unread.iter().find(|u| Some(&u.name) == name.as_ref());
    let letter = first.and_then(|u| world.letters.iter().find(|l| l.id == u.id));
    suspend.letters.extend(letter.cloned());
    Some(Event::Suspend(Box::new(suspend)))
}

fn mismatch() -> Mismatch {
    Mismatch {
        index: 0,
        recorded: id(steps::PAY),
        attempted: None,
        difference: "it ended".to_owned(),
    }
}

fn asked(ask: Ask, setting: &Setting) -> Vec<(StepId, WaitFor)> {
    let sleep = |due_ms| (steps::nap(), WaitFor::Sleep { due_ms });
    match ask {
        Ask::Budget(_) | Ask::Parked => Vec::new(),
        Ask::Wait(due) => vec![(id(WAIT), wait_for(setting.waits, due))],
        Ask::Nap => vec![sleep(T0)],
        Ask::Both(waits, due) => {
            let signal = waits.then(|| (id(WAIT), wait_for(Waits::Both, None)));
            signal.into_iter().chain(due.map(sleep)).collect()
        }
    }
}

fn wait_for(waits: Waits, due_ms: Option<u64>) -> WaitFor {
    let due = due_ms.unwrap_or_default();
    match waits {
        Waits::Sleep => WaitFor::Sleep { due_ms: due },
        Waits::Child => WaitFor::Child {
            task_id: steps::other_task(),
            due_ms: due,
        },
        Waits::No | Waits::Signal | Waits::Until | Waits::Nap | Waits::Both => WaitFor::Signal {
            name: id(WAIT).name,
            due_ms,
        },
    }
}

/// What this very message says of steps: they are judged by it, not by the journal.
pub fn told(event: &Event) -> Vec<StepId> {
    match event {
        Event::Finish(finish) => finish.steps.iter().map(|s| s.id.clone()).collect(),
        Event::Suspend(suspend) => suspend.steps.iter().map(|s| s.id.clone()).collect(),
        _ => Vec::new(),
    }
}

/// True of events for which the object looks whether there is something to undo.
pub fn may_end(event: &Event) -> bool {
    matches!(
        event,
        Event::Finish(_)
            | Event::Suspend(_)
            | Event::Begin(_)
            | Event::AlarmFired
            | Event::Poke
            | Event::Cancel { .. }
            | Event::Abandon { .. }
            | Event::Undo { .. }
    )
}
