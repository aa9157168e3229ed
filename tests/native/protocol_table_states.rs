//! The states of the table.

use crate::protocol_fixture::{
    LEASE, Object, T0, begin, child_record, claimed, done, id, policy, retryable, signal_wait,
    sleep, succeeded, suspend, terminal, undo_attempts, value, wait_for,
};
use onceward::protocol::{
    Begin, Claimed, Event, Mismatch, NotUndone, Parent, Verdict, Version, Wait, WaitFor,
};
use onceward::types::{AfterExpiry, Keeps, TaskId, TaskKey, TaskKind};

/// The moment that the table is looked at.
pub const NOW: u64 = T0 + 1_000_000;

/// All of them, but for nothing.
pub fn states() -> Vec<Case> {
    let parts = [
        living(),
        waiting(),
        cancelling(),
        undoing(),
        over(),
        over_and_undone(),
        less_is_kept(),
    ];
    parts.into_iter().flatten().collect()
}

/// A task in a state, with what its last holder knows.
pub struct Case {
    pub name: &'static str,
    pub object: Object,
    pub holder: Claimed,
}

impl Case {
    pub fn new(name: &'static str, object: Object, holder: &Claimed) -> Self {
        Self {
            name,
            object,
            holder: holder.clone(),
        }
    }
}

/// A task that began this long before [`NOW`].
pub fn running(before_ms: u64) -> (Object, Claimed) {
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

pub fn other_task(key: &str) -> TaskId {
    TaskKey::new(TaskKind::Function, "other", "", key).task_id()
}

pub fn parent() -> Parent {
    Parent {
        task_id: other_task("parent"),
        generation: T0,
        step: id("child"),
    }
}

/// Suspended five seconds ago.
fn waits(name: &'static str, waits: Vec<Wait>) -> Case {
    let (mut object, holder) = running(6_000);
    object.record(
        NOW - 5_500,
        &holder.proof,
        vec![child_record("child", other_task("child"))],
    );
    object.wait(NOW - 5_000, ("op-suspend", 1), &holder, waits);
    object.flushed(NOW - 5_000);
    Case::new(name, object, &holder)
}

fn waiting() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut object = Object::default();
    let birth = Begin {
        claims: false,
        parent: Some(parent()),
        ..begin("op-begin")
    };
    object.at(NOW - 5_000, Event::Begin(Box::new(birth)));
    let (_, nobody) = running(0);
    cases.push(Case::new("pending, of a parent", object, &nobody));
    let child = WaitFor::Child {
        task_id: other_task("child"),
        due_ms: NOW + 25_000,
    };
    cases.extend([
        waits("asleep", vec![sleep("nap", NOW + 60_000)]),
        waits("asleep, due", vec![sleep("nap", NOW)]),
        waits("waiting for a signal", vec![signal_wait("go", None)]),
        waits(
            "waiting for a signal, too long",
            vec![signal_wait("go", Some(NOW))],
        ),
        waits("waiting for a child", vec![wait_for("child", child)]),
    ]);
    let (mut object, holder) = running(6_000);
    object.at(
        NOW - 5_000,
        Event::Suspend(Box::new(parks("op-suspend", &holder))),
    );
    object.flushed(NOW - 5_000);
    cases.push(Case::new("parked", object, &holder));
    let (mut object, holder) = running(10_000);
    object.signal(NOW - 9_000, "go", "known", "1");
    object.wait(
        NOW - 8_000,
        ("op-suspend", 1),
        &holder,
        vec![signal_wait("go", None)],
    );
    cases.push(Case::new("running, went on", object, &holder));
    cases
}

/// A suspension because the code has changed.
pub fn parks(op: &str, holder: &Claimed) -> onceward::protocol::Suspend {
    onceward::protocol::Suspend {
        mismatch: Some(Box::new(Mismatch {
            index: 1,
            recorded: id("fetch"),
            attempted: Some(id("load")),
            difference: "another step".to_owned(),
        })),
        ..suspend(op, holder, false)
    }
}

fn cancelling() -> Vec<Case> {
    let mut cases = Vec::new();
    let (mut object, holder) = running(10_000);
    object.cancel(NOW - 5_000, "op-steer");
    cases.push(Case::new("running, cancel wanted", object, &holder));
    let (mut object, holder) = running(LEASE);
    object.cancel(NOW - 5_000, "op-steer");
    cases.push(Case::new(
        "running, cancel wanted, lease over",
        object,
        &holder,
    ));
    let (mut object, holder) = running(10_000);
    object.cancel(NOW - 6_000, "op-steer");
    object.finish(NOW - 5_000, "op-finish", &holder.proof, Verdict::Cancelled);
    object.flushed(NOW - 5_000);
    cases.push(Case::new("cancelled", object, &holder));
    cases
}

/// A task with something to undo that has ended so, after all its attempts.
fn ends(verdict: Verdict, attempts: u32, cancel: bool) -> (Object, Claimed) {
    let (mut object, holder) = running(10_000);
    object.record(NOW - 9_500, &holder.proof, vec![done("charge")]);
    if cancel {
        object.cancel(NOW - 9_000, "op-steer");
    }
    object.task.as_mut().expect("a task").attempts = attempts;
    object.finish(NOW - 8_000, "op-finish", &holder.proof, verdict);
    object.flushed(NOW - 8_000);
    (object, holder)
}

/// … and whose undoing has begun.
fn undoes(name: &'static str, (mut object, _): (Object, Claimed)) -> Case {
    let holder = object.claimed(NOW - 7_000, "op-claim");
    Case::new(name, object, &holder)
}

fn undoing() -> Vec<Case> {
    let mut cases = Vec::new();
    let all = policy().max_attempts;
    let (object, holder) = ends(terminal(), 1, false);
    cases.push(Case::new("to be undone, failed for good", object, &holder));
    let (mut object, holder) = running(10_000 + LEASE);
    object.record(NOW - LEASE - 9_000, &holder.proof, vec![done("charge")]);
    object.task.as_mut().expect("a task").attempts = all;
    object.alarm(NOW - 5_000);
    object.flushed(NOW - 5_000);
    cases.push(Case::new("to be undone, lost leases", object, &holder));
    cases.push(undoes(
        "undoing, failed for good",
        ends(terminal(), 1, false),
    ));
    cases.push(undoes("undoing, restarts", ends(retryable(), all, false)));
    cases.push(undoes("undoing, cancelled", ends(retryable(), 1, true)));
    cases.push(undoes("undoing, succeeded", sold()));
    let (mut object, holder) = running(5_000 + LEASE);
    object.record(NOW - LEASE - 4_000, &holder.proof, vec![done("charge")]);
    let began = NOW - LEASE - 2_000;
    object.finish(began, "op-finish", &holder.proof, terminal());
    object.flushed(began);
    let holder = object.claimed(NOW - LEASE, "op-claim");
    object.task.as_mut().expect("a task").attempts = undo_attempts();
    cases.push(Case::new("undoing, last lease over", object, &holder));
    cases
}

/// A success that is to be undone.
fn sold() -> (Object, Claimed) {
    let (mut object, holder) = ends(succeeded(), 1, false);
    object.undo(NOW - 7_500, "op-steer");
    (object, holder)
}

fn undone(name: &'static str, of: (Object, Claimed), left: bool) -> Case {
    let Case {
        mut object, holder, ..
    } = undoes(name, of);
    let rest = NotUndone {
        step: Some(id("charge")),
        code: "refused".to_owned(),
        message: "no".to_owned(),
    };
    let rest = Vec::from_iter(left.then_some(rest));
    object.finish(
        NOW - 6_000,
        "op-undone",
        &holder.proof,
        Verdict::Undone(rest),
    );
    object.flushed(NOW - 6_000);
    Case::new(name, object, &holder)
}

/// Tasks whose failures are not kept, and whose keys are used up for some time.
fn less_is_kept() -> Vec<Case> {
    let strict = |(mut object, holder): (Object, Claimed)| {
        let task = object.task.as_mut().expect("a task");
        task.policy.keeps = Keeps::Success;
        task.policy.after_expiry = AfterExpiry::Gone {
            tombstone_ms: 60_000,
        };
        (object, holder)
    };
    let mut cases = Vec::new();
    for (name, verdict) in [
        ("succeeded, only such is kept", succeeded()),
        ("failed for good, not kept", terminal()),
    ] {
        let (object, holder) = strict(ended(verdict, 5_000));
        cases.push(Case::new(name, object, &holder));
    }
    let left = undone("", ends(terminal(), 1, false), true);
    let (object, holder) = strict((left.object, left.holder));
    cases.push(Case::new("undone in part, not kept", object, &holder));
    let (mut object, holder) = strict(ended(succeeded(), 5_000));
    object.task.as_mut().expect("a task").expires_ms = Some(NOW - 1_000);
    cases.push(Case::new("expired, key used up", object.clone(), &holder));
    let placed = Version {
        n: object.task().version.n + 1,
        ..object.task().version
    };
    object.alarm(NOW - 500);
    object.at(NOW - 400, Event::TombstoneAcked(placed));
    cases.push(Case::new("forgotten, key used up", object, &holder));
    cases
}

fn over_and_undone() -> Vec<Case> {
    let all = policy().max_attempts;
    let mut cases = vec![
        undone("failed for good, undone", ends(terminal(), 1, false), false),
        undone(
            "failed for good, undone in part",
            ends(terminal(), 1, false),
            true,
        ),
        undone("failed, restarts", ends(retryable(), all, false), false),
        undone("cancelled, undone", ends(retryable(), 1, true), false),
        undone("succeeded, undone", sold(), false),
    ];
    let mut object = Object::default();
    let birth = Begin {
        claims: false,
        parent: Some(parent()),
        ..begin("op-begin")
    };
    object.at(NOW - 9_000, Event::Begin(Box::new(birth)));
    let ticket = object.task().ticket.clone().expect("a ticket").token;
    let holder = claimed(&object.claim(NOW - 8_000, "op-claim", &ticket));
    object.finish(NOW - 5_000, "op-finish", &holder.proof, succeeded());
    object.flushed(NOW - 5_000);
    cases.push(Case::new("succeeded, owes its end", object, &holder));
    cases
}
