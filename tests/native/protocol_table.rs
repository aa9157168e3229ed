//! The whole table of the machine: what every event does in every state. The snapshot
//! `snapshots/native__protocol_table__table.snap` is its documentation; a change of behaviour is a
//! change of that file.

use crate::protocol_fixture::{
    Object, T0, begin, failing, policy, record, retryable, step, succeeded, suspend, terminal,
    token, value,
};
use crate::protocol_words::line;
use onceward::protocol::{
    Begin, Claim, Claimed, Event, Finish, Outcome, Proof, StepRecord, Verdict, Version,
};
use onceward::types::Token;
use std::fmt::Write as _;

/// The moment that the table is looked at.
const NOW: u64 = T0 + 1_000_000;

/// A task in a state, with what its last holder knows.
struct Case {
    name: &'static str,
    object: Object,
    holder: Claimed,
}

impl Case {
    fn new(name: &'static str, object: Object, holder: &Claimed) -> Self {
        Self {
            name,
            object,
            holder: holder.clone(),
        }
    }
}

/// A task that began this long before [`NOW`].
fn running(before_ms: u64) -> (Object, Claimed) {
    let mut object = Object::default();
    let holder = object.begun(NOW - before_ms, "op-begin");
    object.record(NOW - before_ms, &holder.proof, vec![value("fetch")]);
    (object, holder)
}

/// … and ended or handed itself on later.
fn ended(verdict: Verdict, before_ms: u64) -> (Object, Claimed) {
    let (mut object, holder) = running(before_ms + 1_000);
    object.finish(NOW - before_ms, "op-finish", &holder.proof, verdict);
    object.flushed(NOW - before_ms);
    (object, holder)
}

fn handed_on(before_ms: u64) -> (Object, Claimed) {
    let (mut object, holder) = running(before_ms + 1_000);
    object.suspend(NOW - before_ms, "op-suspend", &holder, true);
    object.flushed(NOW - before_ms);
    (object, holder)
}

fn lost_all(revivals: u32) -> (Object, Claimed) {
    let (mut object, holder) = running(400_000);
    if let Some(task) = &mut object.task {
        task.revivals = revivals;
    }
    let (ms, proof) = object.lose_all(NOW - 400_000, &holder);
    object.flushed(ms);
    (object, Claimed { proof, ..holder })
}

fn living() -> Vec<Case> {
    let mut cases = Vec::new();
    let (object, holder) = running(10_000);
    cases.push(Case::new("running, lease valid", object, &holder));
    let (object, holder) = running(75_000);
    cases.push(Case::new("running, lease over", object, &holder));
    let (object, holder) = handed_on(5_000);
    cases.push(Case::new("ready, ticket fresh", object, &holder));
    let (object, holder) = handed_on(10_000);
    cases.push(Case::new("ready, ticket overdue", object, &holder));
    let (mut object, holder) = running(80_000);
    object.alarm(NOW - 5_000);
    cases.push(Case::new("ready after a lost lease", object, &holder));
    let (object, holder) = ended(retryable(), 500);
    cases.push(Case::new("backing off", object, &holder));
    let (object, holder) = ended(retryable(), 1_000);
    cases.push(Case::new("backing off, due", object, &holder));
    let (mut object, holder) = running(151_000);
    object.alarm(NOW - 76_000);
    let holder = Claimed {
        proof: object.claimed(NOW - 75_500, "op-claim").proof,
        ..holder
    };
    object.alarm(NOW - 500);
    cases.push(Case::new("backing off after a lost lease", object, &holder));
    cases
}

fn over() -> Vec<Case> {
    let mut cases = Vec::new();
    let (mut object, holder) = running(11_000);
    object.finish(NOW - 5_000, "op-finish", &holder.proof, succeeded());
    cases.push(Case::new("succeeded, flush under way", object, &holder));
    let (mut object, holder) = running(75_000);
    object.finish(NOW - 65_000, "op-finish", &holder.proof, succeeded());
    cases.push(Case::new("succeeded, flush not heard of", object, &holder));
    let (object, holder) = ended(succeeded(), 5_000);
    cases.push(Case::new("succeeded", object, &holder));
    let (mut object, holder) = running(policy().retention_succeeded_ms);
    let ms = NOW - policy().retention_succeeded_ms;
    object.finish(ms, "op-finish", &holder.proof, succeeded());
    object.flushed(ms);
    cases.push(Case::new("succeeded, expired", object, &holder));
    let (mut object, holder) = running(9_000);
    if let Some(task) = &mut object.task {
        task.attempts = task.policy.max_attempts;
    }
    object.finish(NOW - 5_000, "op-finish", &holder.proof, retryable());
    object.flushed(NOW - 5_000);
    cases.push(Case::new("failed, resumable", object, &holder));
    let (object, holder) = lost_all(0);
    cases.push(Case::new(
        "failed, resumable, by lost leases",
        object,
        &holder,
    ));
    let (object, holder) = ended(terminal(), 5_000);
    cases.push(Case::new("failed for good", object, &holder));
    let (object, holder) = lost_all(10);
    cases.push(Case::new("failed for good by lost leases", object, &holder));
    let (mut object, holder) = ended(succeeded(), 5_000);
    object.at(NOW - 1_000, Event::Delete);
    cases.push(Case::new(
        "forgotten, tombstone under way",
        object.clone(),
        &holder,
    ));
    let sent = Version {
        n: object.task().version.n + 1,
        ..object.task().version
    };
    let failed = Event::TombstoneFailed { sent, holds: None };
    object.at(NOW - 1_000, failed);
    cases.push(Case::new("forgotten, tombstone due", object, &holder));
    cases
}

/// Every kind of message, as seen by a state.
fn events(case: &Case) -> Vec<(&'static str, Event)> {
    let mut events = deliveries();
    events.extend(claims(case));
    events.extend(writes(case));
    events.extend(endings(case));
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
    vec![
        ("record, new step", record(mine, vec![value("store")])),
        ("record, known step", record(mine, vec![value("fetch")])),
        ("record, stale", record(&stale(), vec![value("store")])),
        ("suspend, after progress", suspended(true)),
        ("suspend, no progress", suspended(false)),
        ("suspend, sent again", Event::Suspend(Box::new(again))),
        ("suspend, stale", Event::Suspend(Box::new(old))),
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

#[test]
fn table() {
    let (_, nobody) = running(0);
    let mut cases = vec![Case::new("nothing", Object::default(), &nobody)];
    cases.extend(living());
    cases.extend(over());
    let mut text = String::new();
    for case in &cases {
        for (name, event) in events(case) {
            let before = case.object.task.as_ref();
            let out = case.object.clone().at(NOW, event);
            let told = line(before, &out, NOW);
            writeln!(text, "{} × {name} → {told}", case.name).expect("a string");
        }
        text.push('\n');
    }
    insta::assert_snapshot!("table", text);
}
