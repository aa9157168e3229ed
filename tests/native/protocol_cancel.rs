//! Cancellation: in every state, and in every race with the end.

use crate::protocol_fixture::{
    LEASE, Object, T0, child_record, claimed, done, id, intent, is_unchanged, retryable,
    signal_wait, sleep, succeeded, suspend, terminal, value,
};
use onceward::protocol::{
    Child, Claimed, Debt, Effect, EndsAs, Event, Mismatch, NextInput, Outcome, Reply, State,
    StepRecord, Verdict, Waiting, own_due_ms,
};
use onceward::types::{TaskId, TaskKey, TaskKind};

fn state(object: &Object) -> &State {
    &object.task().state
}

fn running() -> (Object, Claimed) {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, vec![value("x")]);
    (object, first)
}

fn child_id(key: &str) -> TaskId {
    TaskKey::new(TaskKind::Function, "pay", "", key).task_id()
}

fn child(name: &str) -> StepRecord {
    child_record(name, child_id(name))
}

fn is_compensating(object: &Object) -> bool {
    object.task().ending.as_ref().map(|e| e.to) == Some(EndsAs::Cancelled)
}

#[test]
fn without_a_holder_it_is_cancelled_at_once() {
    let mut states: Vec<(&str, Object)> = Vec::new();
    let (mut object, first) = running();
    object.suspend(T0 + 2, "s", &first, true);
    states.push(("ready", object));
    let (mut object, first) = running();
    object.finish(T0 + 2, "f", &first.proof, retryable());
    states.push(("backing off", object));
    let (mut object, first) = running();
    object.wait(T0 + 2, ("s", 1), &first, vec![sleep("nap", T0 + 100_000)]);
    states.push(("asleep", object));
    let (mut object, first) = running();
    object.wait(T0 + 2, ("s", 1), &first, vec![signal_wait("go", None)]);
    states.push(("waiting for a signal", object));
    let (mut object, first) = running();
    let mut parked = suspend("s", &first, false);
    parked.mismatch = Some(Box::new(Mismatch {
        index: 0,
        recorded: id("x"),
        attempted: None,
        difference: "it ended".to_owned(),
    }));
    object.at(T0 + 2, Event::Suspend(Box::new(parked)));
    states.push(("code changed", object));
    let (mut object, first) = running();
    object.task.as_mut().expect("a task").attempts = 3;
    object.finish(T0 + 2, "f", &first.proof, retryable());
    assert_eq!(state(&object), &State::Failed { resumable: true });
    states.push(("failed, resumable", object));
    let mut object = Object::default();
    let begin = onceward::protocol::Begin {
        claims: false,
        ..crate::protocol_fixture::begin("a")
    };
    object.at(T0, Event::Begin(Box::new(begin)));
    states.push(("pending", object));
    let (mut object, first) = running();
    object.alarm(T0 + LEASE);
    object.claimed(T0 + LEASE, "b");
    object.alarm(T0 + 2 * LEASE);
    states.push(("backing off after lost leases", object));
    drop(first);
    for (name, mut object) in states {
        let ms = T0 + 3 * LEASE;
        let ms = if name.contains("lost") {
            T0 + 2 * LEASE + 1
        } else {
            ms
        };
        let out = object.cancel(ms, "op");
        assert!(
            matches!(out.reply, Reply::Stands(_)),
            "{name}: {:?}",
            out.reply
        );
        assert_eq!(state(&object), &State::Cancelled, "{name}");
        assert!(out.effects.contains(&Effect::Flush), "{name}: D1 is told");
        assert!(object.task().ticket.is_none() && object.task().expires_ms.is_some());
        let again = object.cancel(ms + 1, "another");
        assert!(matches!(again.reply, Reply::Stands(_)) && is_unchanged(&again));
        let out = object.begin(ms + 2, "z");
        assert!(
            matches!(out.reply, Reply::Stands(_)),
            "{name}: it runs no more"
        );
        object.flushed(ms + 3);
        assert_eq!(
            own_due_ms(object.task()),
            object.task().expires_ms.expect("an expiry")
        );
    }
}

#[test]
fn a_holder_is_told_and_ends_it_itself() {
    let (mut object, first) = running();
    let out = object.cancel(T0 + 2, "op");
    assert!(matches!(out.reply, Reply::Stands(_)));
    assert_eq!(state(&object), &State::Running);
    let again = object.cancel(T0 + 3, "another");
    assert!(matches!(again.reply, Reply::Stands(_)) && is_unchanged(&again));
    let out = object.record(T0 + 3, &first.proof, vec![value("y")]);
    assert!(matches!(
        out.reply,
        Reply::Recorded {
            cancel: true,
            stop: false,
            ..
        }
    ));
    let again = claimed(&object.begin(T0 + 3, "a"));
    assert!(again.cancel, "a claim sent again says so too");
    object.finish(T0 + 4, "f", &first.proof, Verdict::Cancelled);
    assert_eq!(state(&object), &State::Cancelled);
    assert_eq!(object.outcome("y"), Some(Outcome::Value("1".into())));
}

#[test]
fn a_success_that_meets_the_flag_wins() {
    let (mut object, first) = running();
    object.cancel(T0 + 2, "op");
    object.finish(T0 + 3, "f", &first.proof, succeeded());
    assert_eq!(state(&object), &State::Succeeded);
    assert!(object.task().cancel.as_ref().is_some_and(|c| c.too_late));
    let out = object.cancel(T0 + 4, "op");
    assert!(matches!(out.reply, Reply::Ended(_)) && is_unchanged(&out));
}

#[test]
fn whatever_else_meets_the_flag_cancels() {
    for verdict in [
        retryable(),
        terminal(),
        Verdict::Cancelled,
        Verdict::ContinueAs(NextInput::default()),
    ] {
        for undoable in [false, true] {
            let (mut object, first) = running();
            if undoable {
                object.record(T0 + 1, &first.proof, vec![done("charge")]);
            }
            object.cancel(T0 + 2, "op");
            let out = object.finish(T0 + 3, "f", &first.proof, verdict.clone());
            if undoable {
                assert!(is_compensating(&object), "{verdict:?}");
                assert!(matches!(
                    out.reply,
                    Reply::Suspended {
                        ticket: Some(_),
                        hop: 1
                    }
                ));
                let second = object.claimed(T0 + 4, "b");
                assert!(second.undoing && !second.cancel);
                object.finish(T0 + 5, "g", &second.proof, Verdict::Undone(Vec::new()));
            }
            assert_eq!(state(&object), &State::Cancelled, "{verdict:?}");
            assert_eq!(object.task().answer, None, "no answer of a failure");
        }
    }
    let parked = Some(Box::new(Mismatch {
        index: 0,
        recorded: id("x"),
        attempted: None,
        difference: "it ended".to_owned(),
    }));
    for (waits, mismatch) in [
        (Vec::new(), None),
        (vec![signal_wait("go", None)], None),
        (Vec::new(), parked),
    ] {
        let (mut object, first) = running();
        object.cancel(T0 + 2, "op");
        let suspend = onceward::protocol::Suspend {
            waits,
            mismatch,
            ..suspend("s", &first, true)
        };
        let out = object.at(T0 + 3, Event::Suspend(Box::new(suspend.clone())));
        assert!(matches!(out.reply, Reply::Stands(_)), "{:?}", out.reply);
        assert_eq!(state(&object), &State::Cancelled);
        let again = object.at(T0 + 4, Event::Suspend(Box::new(suspend)));
        assert_eq!(again.reply, out.reply);
    }
}

#[test]
fn a_dead_holder_is_waited_for_until_the_end_of_its_lease() {
    for undoable in [false, true] {
        let (mut object, first) = running();
        if undoable {
            object.record(T0 + 1, &first.proof, vec![intent("charge")]);
        }
        object.cancel(T0 + 2, "op");
        object.alarm(T0 + LEASE - 1);
        assert_eq!(state(&object), &State::Running);
        object.alarm(T0 + LEASE);
        assert_eq!(is_compensating(&object), undoable);
        let ended = matches!(state(&object), State::Cancelled);
        assert_eq!(ended, !undoable);
        // Where nothing is undone yet, what the holder did is still heard.
        let late = object.finish(T0 + LEASE + 1, "f", &first.proof, succeeded());
        assert_eq!(matches!(late.reply, Reply::Stale(_)), !undoable);
    }
}

#[test]
fn a_lease_that_is_over_does_not_hold_up_a_cancellation() {
    let (mut object, first) = running();
    object.cancel(T0 + LEASE, "op");
    assert_eq!(state(&object), &State::Cancelled);
    let late = object.finish(T0 + LEASE + 1, "f", &first.proof, succeeded());
    assert!(matches!(late.reply, Reply::Stale(_)) && is_unchanged(&late));
}

#[test]
fn a_cancellation_while_a_failure_is_undone_keeps_it_from_starting_over() {
    let begin = |verdict: Verdict, attempts| {
        let (mut object, first) = running();
        object.record(T0 + 1, &first.proof, vec![done("charge")]);
        object.task.as_mut().expect("a task").attempts = attempts;
        object.finish(T0 + 2, "f", &first.proof, verdict);
        object
    };
    let mut restarts = begin(retryable(), 3);
    let out = restarts.cancel(T0 + 3, "op");
    assert!(matches!(out.reply, Reply::Stands(_)) && is_compensating(&restarts));
    let second = restarts.claimed(T0 + 4, "b");
    restarts.finish(T0 + 5, "g", &second.proof, Verdict::Undone(Vec::new()));
    assert_eq!(state(&restarts), &State::Cancelled);
    // What has failed for good stays what it is.
    let mut for_good = begin(terminal(), 1);
    let out = for_good.cancel(T0 + 3, "op");
    assert!(is_unchanged(&out) && matches!(out.reply, Reply::Stands(_)));
    let second = for_good.claimed(T0 + 4, "b");
    for_good.finish(T0 + 5, "g", &second.proof, Verdict::Undone(Vec::new()));
    assert_eq!(state(&for_good), &State::Failed { resumable: false });
}

#[test]
fn what_was_undone_is_not_undone_again_by_a_cancellation() {
    let (mut object, first) = running();
    object.record(T0 + 1, &first.proof, vec![done("charge")]);
    object.task.as_mut().expect("a task").attempts = 3;
    object.finish(T0 + 2, "f", &first.proof, retryable());
    let second = object.claimed(T0 + 3, "b");
    object.finish(T0 + 4, "g", &second.proof, Verdict::Undone(Vec::new()));
    assert_eq!(state(&object), &State::Failed { resumable: true });
    object.cancel(T0 + 5, "op");
    assert_eq!(state(&object), &State::Cancelled);
    assert!(
        object
            .task()
            .undone
            .as_ref()
            .is_some_and(|u| u.at_ms == T0 + 4)
    );
}

#[test]
fn what_has_ended_otherwise_cannot_be_cancelled() {
    for verdict in [succeeded(), terminal()] {
        let (mut object, first) = running();
        object.finish(T0 + 2, "f", &first.proof, verdict);
        let out = object.cancel(T0 + 3, "op");
        assert!(matches!(out.reply, Reply::Ended(_)) && is_unchanged(&out));
        let expires = object.task().expires_ms.expect("an expiry");
        assert_eq!(object.cancel(expires, "op").reply, Reply::NotFound);
    }
    assert_eq!(Object::default().cancel(T0, "op").reply, Reply::NotFound);
}

#[test]
fn children_that_are_under_way_are_cancelled_with_it() {
    let (mut object, first) = running();
    object.record(T0 + 2, &first.proof, vec![child("pay"), child("ship")]);
    let ended = StepRecord {
        outcome: Outcome::Value("1".into()),
        ..child("ship")
    };
    object.record(T0 + 3, &first.proof, vec![ended]);
    let left = Child {
        step: id("pay"),
        task_id: child_id("pay"),
    };
    assert_eq!(object.task().children, [left]);
    object.suspend(T0 + 4, "s", &first, true);
    let out = object.cancel(T0 + 5, "op");
    assert!(out.effects.contains(&Effect::PayDebts));
    let debt = Debt::Cancel(child_id("pay"));
    assert_eq!(object.task().debts.list, std::slice::from_ref(&debt));
    // Not heard of, so the alarm tries again, and again, with growing pauses.
    object.flushed(T0 + 6);
    object.at(T0 + 6, Event::DebtFailed);
    let again = object.alarm(object.task().debts.next_ms);
    assert!(again.effects.contains(&Effect::PayDebts));
    object.at(T0 + 60_000, Event::DebtPaid(debt));
    assert!(object.task().debts.list.is_empty());
    assert_eq!(
        own_due_ms(object.task()),
        object.task().expires_ms.expect("an expiry")
    );
}

#[test]
fn the_last_records_of_a_holder_count_for_what_is_undone() {
    // A step that can be undone comes with the very message that ends it.
    let (mut object, first) = running();
    object.cancel(T0 + 2, "op");
    object.finish_with(
        T0 + 3,
        "f",
        &first.proof,
        vec![done("charge")],
        Verdict::Cancelled,
    );
    assert!(is_compensating(&object));
    assert_eq!(
        object.task().ending.as_ref().expect("ending").since_ms,
        T0 + 3
    );
    assert!(matches!(state(&object), State::Suspended(Waiting::Ready)));
}
