//! To the millisecond and to the number: what comes after a clock that stands still, when something is
//! tried again, who stays a parent.

use crate::protocol_family::{birth, parent, task_id};
use crate::protocol_fixture::{
    LEASE, Object, T0, child_record, claimed, id, is_unchanged, policy, retryable, signal, step,
    succeeded, terminal,
};
use onceward::limits::{FLUSH_TIMEOUT_MS, TICKET_UNCLAIMED_MS};
use onceward::protocol::{
    CHILD_ABANDONED, Claimed, Debt, Effect, Event, Kind, Outcome, Reply, Retry, Signal, State,
    StepRecord, Version, Waiting, child_signal,
};
use onceward::types::{Failure, TaskId};

fn abandon(of: &str) -> Event {
    Event::Abandon {
        op: format!("{of} is gone"),
        parent: task_id(of),
    }
}

/// A running child of these parents.
fn child_of(parents: &[&str]) -> (Object, Claimed) {
    let mut object = Object::default();
    for name in parents {
        object.at(T0, birth(name, name, 0));
    }
    let first = object.claimed(T0 + 1, "claim");
    (object, first)
}

#[test]
fn a_key_that_begins_anew_within_the_same_millisecond_is_another_generation() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0, "f", &first.proof, succeeded());
    // D1 turned out to hold something higher: the epoch runs ahead of the generation.
    let sent = object.task().version;
    let holds = Version {
        epoch: T0 + 1_000,
        n: 2,
    };
    object.at(T0, Event::Flushed { sent, holds });
    assert_eq!(object.task().version.epoch, T0 + 1_001);
    object.at(T0, Event::Delete);
    let second = object.begun(T0, "b");
    assert_eq!(second.generation, T0 + 1);
    assert_eq!(object.task().version.epoch, T0 + 1_002);
    assert_eq!(second.proof.fence, first.proof.fence + 1);
}

#[test]
fn a_revival_has_its_flush_guarded_by_the_end_of_its_lease() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.task.as_mut().expect("a task").attempts = policy().max_attempts;
    object.finish(T0 + 1, "f", &first.proof, retryable());
    object.flushed(T0 + 2);
    let out = object.begin(T0 + 3, "b");
    claimed(&out);
    assert_eq!(object.task().outbox.next_ms, T0 + 3 + LEASE);
    let place = |wanted: &Effect| out.effects.iter().position(|e| e == wanted);
    let record = |e: &Effect| matches!(e, Effect::PutStep(_) | Effect::PutInput(_));
    assert!(place(&Effect::Flush).is_some() && !out.effects.iter().any(record));
    assert!(object.task().outbox.is_owing());
}

#[test]
fn debts_are_offered_one_after_another_each_with_its_time() {
    let (mut object, first) = child_of(&["p", "q"]);
    object.finish(T0 + 2, "f", &first.proof, succeeded());
    assert_eq!(object.task().debts.next_ms, T0 + 2 + FLUSH_TIMEOUT_MS);
    object.at(T0 + 3, Event::DebtFailed);
    assert_eq!(object.task().debts.tries, 1);
    object.at(T0 + 4, Event::DebtPaid(Debt::End(parent("p"))));
    let debts = &object.task().debts;
    assert_eq!(debts.list, [Debt::End(parent("q"))]);
    let wanted = (0, T0 + 4 + FLUSH_TIMEOUT_MS);
    assert_eq!((debts.tries, debts.next_ms), wanted);
}

#[test]
fn a_child_goes_with_the_parent_that_began_it_if_no_other_one_waits() {
    let cancelled = |object: &Object| object.task().cancel.is_some();
    // Alone with it.
    let (mut object, _) = child_of(&["p"]);
    let out = object.at(T0 + 2, abandon("q"));
    assert!(is_unchanged(&out) && !cancelled(&object), "a stranger");
    let out = object.at(T0 + 3, abandon("p"));
    assert!(matches!(out.reply, Reply::Stands(_)) && cancelled(&object));
    let again = object.at(T0 + 4, abandon("p"));
    assert!(is_unchanged(&again));
    // Another one waits; that one did not begin it.
    let (mut object, _) = child_of(&["p", "q"]);
    let out = object.at(T0 + 2, abandon("p"));
    assert_eq!(out.reply, Reply::Done);
    assert_eq!(object.task().parents, [parent("q")]);
    object.at(T0 + 3, abandon("q"));
    assert!(object.task().parents.is_empty() && !cancelled(&object));
    let (mut object, _) = child_of(&["p", "q"]);
    object.at(T0 + 2, abandon("q"));
    assert_eq!(object.task().parents, [parent("p")]);
    assert!(!cancelled(&object));
    // One that a sender began is nobody's.
    let mut object = Object::default();
    object.begun(T0, "a");
    object.at(T0 + 1, birth("b", "p", 0));
    object.at(T0 + 2, abandon("p"));
    assert!(object.task().parents.is_empty() && !cancelled(&object));
    // Of several ends that are owed, only that of the parent that is gone is not.
    let (mut object, first) = child_of(&["p", "q"]);
    object.finish(T0 + 2, "f", &first.proof, succeeded());
    object.at(T0 + 3, abandon("p"));
    assert_eq!(object.task().debts.list, [Debt::End(parent("q"))]);
    assert_eq!(object.task().state, State::Succeeded);
}

#[test]
fn what_is_owed_goes_with_whatever_else_is_due_and_before_the_flush() {
    // Failed resumably, its parent not told, and at work again.
    let (mut object, first) = child_of(&["p"]);
    let own = task_id("grandchild");
    object.record(T0 + 2, &first.proof, vec![child_record("call", own)]);
    object.task.as_mut().expect("a task").attempts = policy().max_attempts;
    object.finish(T0 + 3, "f", &first.proof, retryable());
    object.flushed(T0 + 4);
    object.at(T0 + 5, birth("again", "q", 0));
    assert_eq!(object.task().state, State::Suspended(Waiting::Ready));
    object.at(T0 + 6, Event::DebtFailed);
    let due = T0 + 5 + TICKET_UNCLAIMED_MS;
    assert!(object.task().debts.next_ms < due);
    object.task.as_mut().expect("a task").outbox.next_ms = due;
    let out = object.alarm(due);
    let place = |wanted: &Effect| out.effects.iter().position(|e| e == wanted);
    assert!(place(&Effect::PayDebts).is_some());
    assert!(place(&Effect::PayDebts) < place(&Effect::Flush), "{out:?}");
    assert_eq!(object.task().debts.next_ms, due + FLUSH_TIMEOUT_MS);
    assert_eq!(object.task().outbox.next_ms, due + FLUSH_TIMEOUT_MS);
}

/// The outcome of a child as its parent records it.
fn outcome_of(name: &str, outcome: Outcome) -> StepRecord {
    StepRecord {
        kind: Kind::Child,
        ..step(name, outcome)
    }
}

#[test]
fn a_child_that_is_waited_for_no_more_is_cancelled_at_once() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let (call, other) = (task_id("c"), task_id("d"));
    let children = vec![child_record("call", call), child_record("other", other)];
    object.record(T0 + 1, &first.proof, children);
    object.task.as_mut().expect("a task").debts.tries = 4;
    let gone = Outcome::Failed(Failure::terminal(CHILD_ABANDONED, "no longer waited for"));
    object.record(T0 + 2, &first.proof, vec![outcome_of("call", gone)]);
    let debts = &object.task().debts;
    assert_eq!(debts.list, [Debt::Cancel(call)]);
    assert_eq!((debts.tries, debts.next_ms), (0, T0 + 3));
    assert_eq!(object.alarm, Some(T0 + 3));
    let left: Vec<TaskId> = object.task().children.iter().map(|c| c.task_id).collect();
    assert_eq!(left, [other]);
    // Any other failure is its own end.
    let failed = Outcome::Failed(Failure::terminal("child_failed", "no"));
    object.record(T0 + 3, &first.proof, vec![outcome_of("other", failed)]);
    assert_eq!(object.task().debts.list.len(), 1);
    assert!(object.task().children.is_empty());
}

#[test]
fn the_letter_of_a_child_whose_end_is_known_is_not_kept() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let end = |name: &str| Signal {
        name: child_signal(&id(name)),
        generation: Some(T0),
        ..signal("", "end", "1")
    };
    for name in ["call", "other"] {
        object.at(T0 + 1, Event::Signal(Box::new(end(name))));
    }
    object.signal(T0 + 1, "go", "1", "7");
    assert_eq!(object.task().unread.len(), 3);
    // It has no child on record: the letter alone makes this a change.
    let known = outcome_of("call", Outcome::Value("1".to_owned()));
    let out = object.record(T0 + 2, &first.proof, vec![known]);
    assert!(!is_unchanged(&out));
    let names = object.task().unread.iter().map(|u| u.name.clone());
    let wanted = [child_signal(&id("other")), "go".to_owned()];
    assert_eq!(names.collect::<Vec<_>>(), wanted);
    let none = outcome_of("third", Outcome::Value("1".to_owned()));
    let out = object.record(T0 + 3, &first.proof, vec![none]);
    assert!(is_unchanged(&out), "nothing of it in the task");
}

#[test]
fn letters_of_children_do_not_pass_on_to_the_next_generation_and_others_do() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let end = Signal {
        name: child_signal(&id("call")),
        generation: Some(T0),
        ..signal("", "end", "1")
    };
    object.at(T0 + 1, Event::Signal(Box::new(end)));
    object.signal(T0 + 1, "go", "1", "7");
    object.finish(T0 + 2, "f", &first.proof, terminal());
    assert_eq!(object.task().unread.len(), 2);
    let retry = Retry {
        op: "r".to_owned(),
        ..Retry::default()
    };
    object.retry(T0 + 3, retry);
    assert!(object.task().generation > T0);
    let names: Vec<&str> = object
        .task()
        .unread
        .iter()
        .map(|u| u.name.as_str())
        .collect();
    assert_eq!(names, ["go"]);
}

#[test]
fn deliveries_of_one_moment_hand_a_task_to_the_alarm_once() {
    let mut object = Object::default();
    object.at(T0, birth("a", "p", 0));
    let due = T0 + TICKET_UNCLAIMED_MS;
    let out = object.begin(due, "b");
    assert!(!is_unchanged(&out));
    assert_eq!(object.alarm, Some(due + 1));
    let dispatches = object.task().dispatches;
    for op in ["c", "d"] {
        assert!(is_unchanged(&object.begin(due, op)), "under way");
    }
    assert_eq!(object.task().dispatches, dispatches);
}
