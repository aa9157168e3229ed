//! Children and parents, what is saved, and what attempts cost.

use crate::protocol_fixture::{
    Object, T0, begin, child_record, claimed, id, is_unchanged, succeeded, terminal, wait_for,
};
use onceward::limits;
use onceward::protocol::{
    Begin, Claimed, Debt, Effect, Event, Kind, Outcome, Parent, Reply, Signal, State, WaitFor,
    Waiting, child_signal, next_due_ms,
};
use onceward::types::{TaskId, TaskKey, TaskKind};

/// A parent, by its key.
pub fn task_id(key: &str) -> TaskId {
    TaskKey::new(TaskKind::Function, "parent", "", key).task_id()
}

/// Who is owed the end.
pub fn parent(key: &str) -> Parent {
    Parent {
        task_id: task_id(key),
        generation: T0,
        step: id("child"),
    }
}

/// A begin of a parent's: it does not run the first slice itself.
pub fn birth(op: &str, of: &str, hop: u32) -> Event {
    Event::Begin(Box::new(Begin {
        claims: false,
        hop,
        parent: Some(parent(of)),
        ..begin(op)
    }))
}

fn ends(object: &Object) -> Vec<Parent> {
    let debts = object.task().debts.list.iter();
    debts
        .filter_map(|debt| match debt {
            Debt::End(parent) => Some(parent.clone()),
            Debt::Cancel(_) | Debt::Notice(_) => None,
        })
        .collect()
}

#[test]
fn a_child_is_accepted_without_a_claim_and_dispatched() {
    let mut object = Object::default();
    let out = object.at(T0, birth("a", "p", 3));
    assert!(matches!(out.reply, Reply::Stands(_)));
    assert!(matches!(out.effects[1], Effect::Dispatch { hop: 3, .. }));
    let task = object.task();
    assert_eq!(
        (&task.state, task.claims),
        (&State::Suspended(Waiting::Ready), 0)
    );
    let again = object.at(T0 + 1, birth("a", "p", 3));
    assert!(is_unchanged(&again) && matches!(again.reply, Reply::Stands(_)));
    // Nobody came: the alarm goes on.
    let out = object.alarm(T0 + limits::TICKET_UNCLAIMED_MS);
    assert!(matches!(out.effects[0], Effect::Dispatch { hop: 0, .. }));
    let first = object.claimed(T0 + 10_001, "b");
    assert!(first.resumed, "whoever claims does not have its input");
    assert_eq!((first.attempt, first.generation), (1, T0));
    // At the end of a chain the alarm begins it.
    let mut object = Object::default();
    let out = object.at(T0, birth("a", "p", limits::MAX_HOPS));
    assert!(
        !out.effects
            .iter()
            .any(|e| matches!(e, Effect::Dispatch { .. }))
    );
    assert_eq!(object.alarm, Some(T0 + 1));
}

#[test]
fn each_parent_is_owed_the_end_once() {
    let mut object = Object::default();
    object.at(T0, birth("a", "p", 0));
    let first = object.claimed(T0 + 1, "b");
    for _ in 0..2 {
        object.at(T0 + 2, birth("x", "q", 0));
    }
    assert_eq!(object.task().parents, [parent("p"), parent("q")]);
    let out = object.finish(T0 + 3, "f", &first.proof, succeeded());
    assert!(out.effects.contains(&Effect::PayDebts));
    assert_eq!(ends(&object), [parent("p"), parent("q")]);
    assert!(object.task().parents.is_empty());
    object.at(T0 + 4, Event::DebtPaid(Debt::End(parent("p"))));
    assert_eq!(ends(&object), [parent("q")]);
    let again = object.at(T0 + 5, Event::DebtPaid(Debt::End(parent("p"))));
    assert!(is_unchanged(&again));
}

#[test]
fn a_child_is_kept_until_its_parents_know_its_end() {
    let mut object = Object::default();
    object.at(T0, birth("a", "p", 0));
    let first = object.claimed(T0 + 1, "b");
    object.finish(T0 + 2, "f", &first.proof, succeeded());
    object.flushed(T0 + 3);
    let expires = object.task().expires_ms.expect("an expiry");
    let mut rings = 0;
    while object.alarm.is_some_and(|at| at < expires + 3_600_000) {
        let at = object.alarm.expect("set");
        let out = object.alarm(at);
        assert!(
            !out.effects
                .iter()
                .any(|e| matches!(e, Effect::Forget { .. }))
        );
        if out.effects.contains(&Effect::PayDebts) {
            object.at(at + 10, Event::DebtFailed);
        }
        rings += 1;
        assert!(rings < 2_000, "it rings in a circle");
    }
    let out = object.begin(expires + 3_600_000, "dup");
    assert!(
        matches!(out.reply, Reply::Stands(_)),
        "the key is not new yet"
    );
    object.at(expires + 3_600_001, Event::DebtPaid(Debt::End(parent("p"))));
    let at = object.alarm.expect("set");
    let out = object.alarm(at);
    assert!(matches!(out.effects[0], Effect::Forget { .. }));
}

#[test]
fn a_debt_that_nobody_takes_is_offered_with_growing_pauses_and_never_given_up() {
    let mut object = Object::default();
    object.at(T0, birth("a", "p", 0));
    let first = object.claimed(T0 + 1, "b");
    object.finish(T0 + 2, "f", &first.proof, terminal());
    object.flushed(T0 + 3);
    let mut ms = T0 + 3;
    let mut last = 0;
    for _ in 0..30 {
        object.at(ms, Event::DebtFailed);
        let due = next_due_ms(object.task());
        assert!(due - ms >= last, "{due} {ms}");
        last = (due - ms).min(limits::FLUSH_BACKOFF_MAX_MS / 2);
        let out = object.alarm(due);
        assert!(out.effects.contains(&Effect::PayDebts));
        ms = due;
    }
    // Should the run be cut off, the alarm rings again.
    assert!(
        object
            .alarm
            .is_some_and(|at| at <= ms + 2 * limits::FLUSH_TIMEOUT_MS)
    );
}

#[test]
fn deleting_a_child_does_not_keep_its_tombstone_waiting() {
    let mut object = Object::default();
    object.at(T0, birth("a", "p", 0));
    let first = object.claimed(T0 + 1, "b");
    let child = child_record("grandchild", task_id("g"));
    object.record(T0 + 2, &first.proof, vec![child]);
    object.cancel(T0 + 3, "c");
    object.finish(
        T0 + 4,
        "f",
        &first.proof,
        onceward::protocol::Verdict::Cancelled,
    );
    assert_eq!(object.task().debts.list.len(), 2);
    object.at(T0 + 5, Event::Delete);
    let cancel = Debt::Cancel(task_id("g"));
    assert_eq!(
        object.task().debts.list,
        std::slice::from_ref(&cancel),
        "the cancellation is still owed"
    );
    let placed = crate::protocol_fixture::tombstone(&object);
    let out = object.at(T0 + 6, Event::TombstoneAcked(placed));
    assert!(is_unchanged(&out));
    let at = object.task().debts.next_ms;
    object.ring_until(at - 1);
    let out = object.alarm(at);
    assert_eq!(out.effects[0], Effect::PayDebts);
    assert!(
        object.alarm.is_some_and(|next| next >= at + 1_000),
        "no circle"
    );
    object.at(at + 1, Event::DebtPaid(cancel));
    let at = object.alarm.expect("set");
    let out = object.alarm(at);
    assert!(matches!(out.effects[0], Effect::Forget { .. }));
    let placed = crate::protocol_fixture::tombstone(&object);
    let out = object.at(at + 1, Event::TombstoneAcked(placed));
    assert_eq!(out.next, onceward::protocol::Next::Gone);
}

#[test]
fn a_cancellation_that_is_owed_outlives_the_task_that_owes_it() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let child = child_record("child", task_id("g"));
    object.record(T0 + 2, &first.proof, vec![child]);
    object.cancel(T0 + 3, "c");
    object.finish(
        T0 + 4,
        "f",
        &first.proof,
        onceward::protocol::Verdict::Cancelled,
    );
    let expires = object.task().expires_ms.expect("an expiry");
    let out = object.begin(expires, "new");
    assert!(!claimed(&out).resumed, "the key is new");
    assert_eq!(object.task().debts.list, [Debt::Cancel(task_id("g"))]);
    let due = object.task().debts.next_ms.max(expires + 1);
    object.ring_until(due);
    assert!(object.effects.contains(&Effect::PayDebts));
}

fn end_of(step: &str, outcome: Outcome, generation: u64) -> Signal {
    Signal {
        name: child_signal(&id(step)),
        id: "child-1".to_owned(),
        outcome,
        generation: Some(generation),
        known: None,
    }
}

/// A parent that waits for its child.
fn expecting() -> (Object, Claimed) {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(
        T0 + 1,
        &first.proof,
        vec![child_record("child", task_id("c"))],
    );
    let what = WaitFor::Child {
        task_id: task_id("c"),
        due_ms: T0 + limits::CHILD_LOOK_MS,
    };
    object.wait(T0 + 2, ("s", 1), &first, vec![wait_for("child", what)]);
    object.flushed(T0 + 3);
    (object, first)
}

#[test]
fn the_end_of_a_child_wakes_its_parent() {
    let failure = onceward::types::Failure::terminal("child_failed", "no");
    for outcome in [Outcome::Value("1".into()), Outcome::Failed(failure)] {
        let (mut object, _) = expecting();
        let end = end_of("child", outcome, T0);
        let out = object.at(T0 + 4, Event::Signal(Box::new(end.clone())));
        assert_eq!(out.reply, Reply::Signalled { repeated: false });
        let journal = object.journal();
        assert_eq!(
            (journal[0].kind, journal[0].outcome.is_settled()),
            (Kind::Child, true)
        );
        if let Outcome::Failed(failure) = &journal[0].outcome {
            assert_eq!(failure.step, Some(id("child")));
        }
        assert!(
            object.task().children.is_empty(),
            "nothing to cancel any more"
        );
        let again = object.at(T0 + 5, Event::Signal(Box::new(end)));
        assert_eq!(again.reply, Reply::Signalled { repeated: true });
        assert_eq!(object.alarm, Some(T0 + 5));
    }
}

#[test]
fn an_end_that_comes_before_the_parent_waits_is_kept() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(
        T0 + 1,
        &first.proof,
        vec![child_record("child", task_id("c"))],
    );
    let end = end_of("child", Outcome::Value("1".into()), T0);
    object.at(T0 + 2, Event::Signal(Box::new(end)));
    let what = WaitFor::Child {
        task_id: task_id("c"),
        due_ms: T0 + limits::CHILD_LOOK_MS,
    };
    let out = object.wait(T0 + 3, ("s", 1), &first, vec![wait_for("child", what)]);
    assert!(matches!(out.reply, Reply::GoOn { .. }));
    assert_eq!(object.outcome("child"), Some(Outcome::Value("1".into())));
}

#[test]
fn a_parent_that_has_ended_or_started_over_needs_no_end() {
    let (mut object, _) = expecting();
    let other = end_of("child", Outcome::Value("1".into()), T0 - 1);
    let out = object.at(T0 + 4, Event::Signal(Box::new(other)));
    assert_eq!(out.reply, Reply::Done);
    object.cancel(T0 + 5, "c");
    let end = end_of("child", Outcome::Value("1".into()), T0);
    let out = object.at(T0 + 6, Event::Signal(Box::new(end)));
    assert!(matches!(out.reply, Reply::Ended(_)) && is_unchanged(&out));
}

#[test]
fn a_parent_looks_at_its_child_should_the_end_not_be_heard_of() {
    let (mut object, _) = expecting();
    object.ring_until(T0 + limits::CHILD_LOOK_MS);
    assert_eq!(object.task().state, State::Suspended(Waiting::Ready));
    assert!(matches!(object.outcome("child"), Some(Outcome::Open(_))));
    assert_eq!(object.task().children.len(), 1);
}
