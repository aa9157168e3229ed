//! The events of the table.

use crate::protocol_fixture::{
    begin, child_record, done, failing, id, intent, key, record, signal, signal_wait, sleep, step,
    succeeded, suspend, terminal, token, value,
};
use crate::protocol_table_states::{Case, NOW, other_task, parent, parks};
use onceward::protocol::{
    Begin, Claim, Cursor, Debt, Event, Finish, NextInput, NotUndone, Outcome, Proof, Record, Retry,
    Signal, StepRecord, Suspend, Verdict, Version, Wait, child_signal,
};
use onceward::types::{TaskId, Token};

/// Every kind of message, as seen by a state.
pub fn events(case: &Case) -> Vec<(&'static str, Event)> {
    let mut events = deliveries();
    events.extend(claims(case));
    events.extend(writes(case));
    events.extend(endings(case));
    events.extend(endings_and_more(case));
    events.extend(steering());
    events.extend(own(case));
    events
}

fn deliveries() -> Vec<(&'static str, Event)> {
    let deliver = |begin: Begin| Event::Begin(Box::new(begin));
    vec![
        ("begin, new delivery", deliver(begin("op-new"))),
        (
            "begin, other fingerprint",
            deliver(Begin {
                fingerprint: Some("print-2".to_owned()),
                ..begin("op-new")
            }),
        ),
        ("begin, sent again", deliver(begin("op-begin"))),
        (
            "begin, of a parent",
            deliver(Begin {
                claims: false,
                parent: Some(parent()),
                ..begin("op-new")
            }),
        ),
    ]
}

fn claims(case: &Case) -> Vec<(&'static str, Event)> {
    let claim = |op: Token, ticket: Token| Event::Claim(Claim { op, ticket });
    let task = case.object.task.as_ref();
    let ticket = task.and_then(|t| t.ticket.clone());
    let held = task.and_then(|t| t.lease.clone());
    let right = ticket.map_or_else(|| token("used"), |t| t.token);
    let again = held.map_or_else(|| token("op-begin"), |l| l.op);
    vec![
        ("claim, ticket shown", claim(token("op-new"), right)),
        (
            "claim, ticket unknown",
            claim(token("op-new"), token("guessed")),
        ),
        ("claim, sent again", claim(again, token("used"))),
    ]
}

fn stale() -> Proof {
    Proof {
        fence: 0,
        token: token("stale"),
    }
}

fn writes(case: &Case) -> Vec<(&'static str, Event)> {
    let record =
        |proof: &Proof, steps: Vec<StepRecord>| Event::Record(Box::new(record(proof, steps)));
    let mine = &case.holder.proof;
    let suspended = |moved| Event::Suspend(Box::new(suspend("op-now", &case.holder, moved)));
    let mut old = suspend("op-now", &case.holder, true);
    old.proof = stale();
    let again = suspend("op-suspend", &case.holder, true);
    let waits = |waits: Vec<Wait>| {
        Event::Suspend(Box::new(Suspend {
            n: 2,
            waits,
            ..suspend("op-now", &case.holder, false)
        }))
    };
    vec![
        ("record, new step", record(mine, vec![value("store")])),
        ("record, known step", record(mine, vec![value("fetch")])),
        ("record, stale", record(&stale(), vec![value("store")])),
        ("suspend, after progress", suspended(true)),
        ("suspend, no progress", suspended(false)),
        ("suspend, sent again", Event::Suspend(Box::new(again))),
        ("suspend, stale", Event::Suspend(Box::new(old))),
        ("suspend, asleep", waits(vec![sleep("rest", NOW + 60_000)])),
        ("suspend, slept", waits(vec![sleep("rest", NOW)])),
        (
            "suspend, for a signal",
            waits(vec![signal_wait("stop", None)]),
        ),
        (
            "suspend, parks",
            Event::Suspend(Box::new(parks("op-now", &case.holder))),
        ),
        ("record, intent", record(mine, vec![intent("ship")])),
        (
            "record, child",
            record(mine, vec![child_record("call", other_task("call"))]),
        ),
        ("save", save(mine)),
    ]
}

fn save(proof: &Proof) -> Event {
    let cursor = Cursor {
        fence: 0,
        n: 1,
        text: "7".to_owned(),
        skips: Vec::new(),
    };
    let record = Record {
        cursor: Some(cursor),
        ..record(proof, Vec::new())
    };
    Event::Record(Box::new(record))
}

fn endings_and_more(case: &Case) -> Vec<(&'static str, Event)> {
    let finish = |steps: Vec<StepRecord>, verdict: Verdict| {
        Event::Finish(Box::new(Finish {
            op: token("op-now"),
            proof: case.holder.proof.clone(),
            known: Vec::new(),
            steps,
            verdict,
        }))
    };
    let left = NotUndone {
        step: Some(id("charge")),
        code: "refused".to_owned(),
        message: "no".to_owned(),
    };
    vec![
        (
            "finish, terminal, can be undone",
            finish(vec![done("ship")], terminal()),
        ),
        ("finish, cancelled", finish(Vec::new(), Verdict::Cancelled)),
        (
            "finish, continues",
            finish(Vec::new(), Verdict::ContinueAs(NextInput::default())),
        ),
        (
            "finish, undone",
            finish(Vec::new(), Verdict::Undone(Vec::new())),
        ),
        (
            "finish, undone in part",
            finish(Vec::new(), Verdict::Undone(vec![left])),
        ),
    ]
}

fn abandon(parent: TaskId) -> Event {
    Event::Abandon {
        op: "op-now".to_owned(),
        parent,
    }
}

fn steering() -> Vec<(&'static str, Event)> {
    let send = |name: &str, id: &str, text: &str| Event::Signal(Box::new(signal(name, id, text)));
    let end = Signal {
        name: child_signal(&id("child")),
        generation: Some(1),
        ..signal("", "end", "1")
    };
    let cancel = |op: &str| Event::Cancel { op: op.to_owned() };
    let undo = |op: &str| Event::Undo { op: op.to_owned() };
    let retry = |from: Option<&str>, input: bool, dry_run| {
        Event::Retry(Box::new(Retry {
            op: "op-now".to_owned(),
            from: from.map(str::to_owned),
            input: input.then(Vec::new),
            dry_run,
            ..Retry::default()
        }))
    };
    vec![
        ("signal", send("go", "1", "1")),
        ("signal, of another name", send("stop", "1", "1")),
        ("signal, sent again", send("go", "known", "1")),
        ("signal, same id, other payload", send("go", "known", "2")),
        (
            "end of a child, other generation",
            Event::Signal(Box::new(end)),
        ),
        ("cancel", cancel("op-now")),
        ("cancel, sent again", cancel("op-steer")),
        ("retry", retry(None, false, false)),
        ("retry, dry run", retry(None, false, true)),
        ("retry, from a step", retry(Some("fetch"), false, false)),
        ("retry, from no step", retry(Some("nothing"), false, false)),
        ("retry, other input", retry(None, true, false)),
        ("undo", undo("op-now")),
        ("undo, sent again", undo("op-steer")),
        ("abandoned by its parent", abandon(parent().task_id)),
        ("abandoned by a stranger", abandon(key().task_id())),
        ("debt paid", Event::DebtPaid(Debt::End(parent()))),
        ("debt failed", Event::DebtFailed),
    ]
}

fn endings(case: &Case) -> Vec<(&'static str, Event)> {
    let finish = |op: &str, proof: &Proof, steps: Vec<StepRecord>, verdict: Verdict| {
        Event::Finish(Box::new(Finish {
            op: token(op),
            proof: proof.clone(),
            known: Vec::new(),
            steps,
            verdict,
        }))
    };
    let mine = &case.holder.proof;
    let failed = vec![step("store", Outcome::Failed(failing("store")))];
    let because = Verdict::Failed(failing("store"));
    let done = vec![value("store")];
    vec![
        (
            "finish, succeeded",
            finish("op-now", mine, done, succeeded()),
        ),
        ("finish, retryable", finish("op-now", mine, failed, because)),
        (
            "finish, terminal",
            finish("op-now", mine, Vec::new(), terminal()),
        ),
        (
            "finish, sent again",
            finish("op-finish", mine, Vec::new(), succeeded()),
        ),
        (
            "finish, stale",
            finish("op-now", &stale(), Vec::new(), succeeded()),
        ),
    ]
}

fn own(case: &Case) -> Vec<(&'static str, Event)> {
    let task = case.object.task.as_ref();
    let sent = task.map_or(Version { epoch: 7, n: 2 }, |t| t.version);
    let above = Version {
        epoch: sent.epoch + 1,
        n: 2,
    };
    let below = Version {
        n: sent.n.saturating_sub(2),
        ..sent
    };
    let tombstone = Version {
        n: sent.n + 1,
        ..sent
    };
    let flushed = |holds| Event::Flushed { sent, holds };
    let misplaced = |holds| Event::TombstoneFailed {
        sent: tombstone,
        holds,
    };
    vec![
        ("alarm", Event::AlarmFired),
        ("poke", Event::Poke),
        ("flushed", flushed(sent)),
        ("flushed, D1 holds a newer row", flushed(above)),
        ("flushed, D1 holds an older row", flushed(below)),
        ("flush failed", Event::FlushFailed { sent }),
        ("tombstone placed", Event::TombstoneAcked(tombstone)),
        ("tombstone of another placed", Event::TombstoneAcked(above)),
        ("tombstone failed", misplaced(None)),
        (
            "tombstone failed, D1 holds a newer row",
            misplaced(Some(above)),
        ),
        ("delete", Event::Delete),
    ]
}
