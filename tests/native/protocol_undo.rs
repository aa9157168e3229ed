//! Compensation: when it begins, how it ends, and what comes after it.

use crate::protocol_fixture::{
    LEASE, Object, T0, begin, claimed, done, id, intent, is_unchanged, journal, policy, retryable,
    step, succeeded, suspend, terminal, undo_attempts, undo_record, undoable, value,
};
use onceward::limits;
use onceward::protocol::{
    Claimed, EndsAs, Event, NotUndone, Outcome, Reply, State, StepRecord, Transition, Verdict,
    Waiting, own_due_ms,
};
use onceward::store::journal::Purpose;
use onceward::types::{Failure, Input};

fn state(object: &Object) -> &State {
    &object.task().state
}

fn running(records: Vec<StepRecord>) -> (Object, Claimed) {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, records);
    (object, first)
}

fn ends_as(object: &Object) -> Option<EndsAs> {
    object.task().ending.as_ref().map(|ending| ending.to)
}

/// A task that has failed for good (or for now) and is being undone.
fn failed(restarts: bool) -> (Object, Claimed) {
    let (mut object, first) = running(vec![done("charge"), value("x")]);
    let verdict = if restarts { retryable() } else { terminal() };
    if restarts {
        object.task.as_mut().expect("a task").attempts = policy().max_attempts;
    }
    object.finish(T0 + 2, "f", &first.proof, verdict);
    assert_eq!(ends_as(&object), Some(EndsAs::Failed { restarts }));
    let second = object.claimed(T0 + 3, "b");
    assert!(second.undoing);
    (object, second)
}

fn undone(object: &mut Object, ms: u64, holder: &Claimed, left: Vec<NotUndone>) -> Transition {
    let op = format!("undone-{ms}");
    object.finish(ms, &op, &holder.proof, Verdict::Undone(left))
}

fn left(name: &str) -> NotUndone {
    NotUndone {
        step: Some(id(name)),
        code: "refused".to_owned(),
        message: "no".to_owned(),
    }
}

#[test]
fn compensation_begins_only_if_something_may_have_happened() {
    let known = Outcome::Failed(Failure::terminal("declined", "no"));
    let unknown = Outcome::Failed(Failure::terminal("timeout", "?").with_unknown_effect());
    for (record, begins) in [
        (value("x"), false),
        (undoable("x", known), false),
        (undoable("x", unknown.clone()), true),
        (step("x", unknown), false),
        (intent("x"), true),
        (done("x"), true),
    ] {
        // On record before, and with the message that fails.
        let (mut before, first) = running(vec![record.clone()]);
        before.finish(T0 + 2, "f", &first.proof, terminal());
        let (mut within, first) = running(Vec::new());
        within.finish_with(T0 + 2, "f", &first.proof, vec![record.clone()], terminal());
        for object in [before, within] {
            assert_eq!(ends_as(&object).is_some(), begins, "{record:?}");
            let ended = matches!(state(&object), State::Failed { resumable: false });
            assert_eq!(ended, !begins, "{record:?}");
        }
    }
}

#[test]
fn an_intent_whose_step_turns_out_not_to_have_happened_is_not_undone() {
    let (mut object, first) = running(vec![intent("charge")]);
    let declined = Outcome::Failed(Failure::terminal("declined", "no"));
    let steps = vec![undoable("charge", declined)];
    object.finish_with(T0 + 2, "f", &first.proof, steps, terminal());
    assert_eq!(state(&object), &State::Failed { resumable: false });
}

/// What is on record stays, so a later word on it does not keep it from being undone.
#[test]
fn a_success_on_record_is_undone_whatever_the_last_message_says_of_it() {
    let (mut object, first) = running(vec![done("charge")]);
    let declined = Outcome::Failed(Failure::terminal("declined", "no"));
    let steps = vec![undoable("charge", declined)];
    object.finish_with(T0 + 2, "f", &first.proof, steps, terminal());
    assert!(ends_as(&object).is_some());
}

#[test]
fn no_attempt_is_undone_that_another_one_may_complete() {
    let (mut object, first) = running(vec![done("charge")]);
    object.finish(T0 + 2, "f", &first.proof, retryable());
    assert!(matches!(
        state(&object),
        State::Suspended(Waiting::BackingOff { .. })
    ));
    assert_eq!(ends_as(&object), None);
}

#[test]
fn lost_leases_undo_as_well() {
    let (mut object, first) = running(vec![done("charge")]);
    let task = object.task.as_mut().expect("a task");
    task.attempts = task.policy.max_attempts;
    object.alarm(T0 + LEASE);
    assert_eq!(ends_as(&object), Some(EndsAs::Failed { restarts: true }));
    // The holder turns up before anybody has begun to undo.
    let mut late = object.clone();
    late.record(T0 + LEASE + 1, &first.proof, vec![done("ship")]);
    assert_eq!(journal(&late.cells, Purpose::Undoing).len(), 2);
    late.finish(T0 + LEASE + 2, "f", &first.proof, terminal());
    assert!(ends_as(&late).is_some(), "a failure changes nothing");
    late.finish(T0 + LEASE + 3, "g", &first.proof, succeeded());
    assert_eq!((state(&late), ends_as(&late)), (&State::Succeeded, None));
    // … and after it.
    object.claimed(T0 + LEASE + 1, "b");
    let out = object.finish(T0 + LEASE + 2, "f", &first.proof, succeeded());
    assert!(matches!(out.reply, Reply::Stale(_)) && is_unchanged(&out));
}

#[test]
fn a_late_record_of_a_task_that_failed_by_lost_leases_is_undone() {
    let (mut object, first) = running(Vec::new());
    let task = object.task.as_mut().expect("a task");
    task.attempts = task.policy.max_attempts;
    object.alarm(T0 + LEASE);
    assert_eq!(state(&object), &State::Failed { resumable: true });
    object.record(T0 + LEASE + 1, &first.proof, vec![done("charge")]);
    assert_eq!(ends_as(&object), Some(EndsAs::Failed { restarts: true }));
    let second = object.claimed(T0 + LEASE + 2, "b");
    assert!(second.undoing);
}

#[test]
fn an_undo_slice_is_one_under_the_usual_rules() {
    let (mut object, second) = failed(false);
    object.record(
        T0 + 4,
        &second.proof,
        vec![undo_record("charge", Outcome::Value("1".into()))],
    );
    let areas = journal(&object.cells, Purpose::Undoing);
    assert_eq!(areas.len(), 2, "the step and what came of undoing it");
    assert_eq!(journal(&object.cells, Purpose::Replay).len(), 2);
    // It hands itself on, waits for its next try, and joins no delivery.
    let out = object.suspend(T0 + 5, "s", &second, true);
    assert!(matches!(
        out.reply,
        Reply::Suspended {
            ticket: Some(_),
            ..
        }
    ));
    let third = object.claimed(T0 + 6, "c");
    assert!(third.undoing);
    let out = object.begin(T0 + 7, "d");
    assert!(is_unchanged(&out), "{:?}", out.reply);
    let retry = onceward::protocol::WaitFor::Retry { due_ms: T0 + 9_000 };
    let wait = vec![crate::protocol_fixture::wait_for("undo of it", retry)];
    object.wait(T0 + 8, ("t", 1), &third, wait);
    object.alarm(T0 + 9_000);
    let fourth = object.claimed(T0 + 9_001, "e");
    assert_eq!((fourth.undoing, fourth.attempt), (true, 1));
    undone(&mut object, T0 + 9_002, &fourth, Vec::new());
    assert_eq!(state(&object), &State::Failed { resumable: false });
}

#[test]
fn the_end_says_whether_everything_was_undone() {
    let (mut object, second) = failed(false);
    undone(&mut object, T0 + 4, &second, Vec::new());
    let task = object.task();
    assert!(
        task.undone
            .as_ref()
            .is_some_and(onceward::protocol::Undone::is_complete)
    );
    assert_eq!(
        task.answer.as_ref().map(|a| a.status),
        Some(402),
        "its own answer"
    );
    assert_eq!(
        task.failure.as_ref().map(|f| f.code.as_str()),
        Some("declined")
    );

    let (mut object, second) = failed(false);
    undone(&mut object, T0 + 4, &second, vec![left("charge")]);
    let task = object.task();
    let undone = task.undone.as_ref().expect("undone");
    assert_eq!(undone.not_undone, [left("charge")]);
    assert_eq!(state(&object), &State::Failed { resumable: false });
}

#[test]
fn attempts_used_up_while_undoing_name_what_is_left() {
    let (mut object, mut holder) = failed(false);
    let mut ms = T0 + 4;
    for n in 1..=undo_attempts() {
        assert_eq!(holder.attempt, n);
        let broken = Failure::retryable("broken", "the refund service is away");
        object.finish(ms, &format!("u{n}"), &holder.proof, Verdict::Failed(broken));
        if n < undo_attempts() {
            assert!(object.task().ending.is_some());
            ms = own_due_ms(object.task());
            object.alarm(ms);
            holder = object.claimed(ms, &format!("c{n}"));
        }
    }
    let task = object.task();
    let undone = task.undone.as_ref().expect("undone");
    assert_eq!(undone.not_undone[0].code, "broken");
    assert_eq!(
        task.failure.as_ref().map(|f| f.code.as_str()),
        Some("declined")
    );
    assert_eq!(task.state, State::Failed { resumable: false });
}

#[test]
fn lost_leases_while_undoing_name_what_is_left() {
    let (mut object, second) = failed(false);
    let (ms, proof) = object.lose_all(T0 + 4, &second);
    let task = object.task();
    assert_eq!(task.state, State::Failed { resumable: false });
    let undone = task.undone.as_ref().expect("undone");
    assert_eq!(undone.not_undone[0].code, "lease_lost");
    assert_eq!(
        task.failure.as_ref().map(|f| f.code.as_str()),
        Some("declined")
    );
    let late = object.finish(ms + 1, "late", &proof, Verdict::Undone(Vec::new()));
    assert!(matches!(late.reply, Reply::Stale(_)) && is_unchanged(&late));

    // The same after a retryable error: what is half undone does not begin anew.
    let (mut object, second) = failed(true);
    let (ms, proof) = object.lose_all(T0 + 4, &second);
    assert_eq!(state(&object), &State::Failed { resumable: false });
    for verdict in [Verdict::Undone(Vec::new()), retryable(), succeeded()] {
        let late = object.finish(ms + 1, "late", &proof, verdict);
        assert!(matches!(late.reply, Reply::Stale(_)) && is_unchanged(&late));
    }
}

#[test]
fn a_slice_that_undoes_nothing_new_does_not_go_on_for_ever() {
    let (mut object, mut holder) = failed(false);
    let mut ms = T0 + 4;
    for n in 1..=undo_attempts() {
        assert_eq!(holder.attempt, n);
        object.at(
            ms,
            Event::Suspend(Box::new(suspend(&format!("s{n}"), &holder, false))),
        );
        if n < undo_attempts() {
            ms += 1;
            holder = object.claimed(ms, &format!("c{n}"));
        }
    }
    let undone = object.task().undone.as_ref().expect("undone");
    assert_eq!(undone.not_undone[0].code, "no_progress");
}

#[test]
fn the_function_does_not_run_while_it_is_undone() {
    let (mut object, second) = failed(false);
    for verdict in [succeeded(), Verdict::Cancelled] {
        let out = object.finish(T0 + 4, "x", &second.proof, verdict);
        assert!(matches!(out.reply, Reply::Stale(_)) && is_unchanged(&out));
    }
    let (mut object, first) = running(Vec::new());
    let out = object.finish(T0 + 4, "x", &first.proof, Verdict::Undone(Vec::new()));
    assert!(matches!(out.reply, Reply::Stale(_)) && is_unchanged(&out));
}

#[test]
fn after_a_retryable_error_and_its_undo_the_next_delivery_starts_over() {
    let (mut object, second) = failed(true);
    undone(&mut object, T0 + 4, &second, Vec::new());
    assert_eq!(state(&object), &State::Failed { resumable: true });
    let old = object.task().clone();
    let mut delivery = begin("again");
    delivery.input = Input {
        body: b"new".to_vec(),
        ..Input::default()
    };
    let out = object.at(T0 + 5, Event::Begin(Box::new(delivery)));
    let third = claimed(&out);
    let task = object.task();
    assert!(third.generation > old.generation && third.key_generation == third.generation);
    assert!(!third.resumed && !third.undoing && third.attempt == 1);
    assert_eq!((task.revivals, task.undone.clone()), (1, None));
    assert!(object.journal().is_empty());
    assert!(journal(&object.cells, Purpose::Undoing).is_empty());
    // Now it succeeds.
    object.finish(T0 + 6, "g", &third.proof, succeeded());
    assert_eq!(state(&object), &State::Succeeded);
}

#[test]
fn what_could_not_be_undone_is_named_and_no_delivery_starts_over() {
    let (mut object, _) = failed(true);
    object.task.as_mut().expect("a task").attempts = undo_attempts();
    // The last lease of undoing is lost, and a delivery is the first to notice.
    let out = object.begin(T0 + 3 + LEASE, "again");
    assert!(matches!(out.reply, Reply::Stands(_)), "{:?}", out.reply);
    assert_eq!(state(&object), &State::Failed { resumable: false });
    let undone = object.task().undone.as_ref().expect("undone");
    assert_eq!(undone.not_undone[0].code, "lease_lost");
    let third = object.begin(T0 + 4 + LEASE, "once more");
    assert!(matches!(third.reply, Reply::Stands(_)));
    assert!(is_unchanged(&third));
}

#[test]
fn restarts_and_revivals_share_ten() {
    let mut object = Object::default();
    let mut ms = T0;
    for n in 0..=limits::MAX_REVIVALS {
        let holder = object.begun(ms, &format!("begin-{n}"));
        assert_eq!(object.task().revivals, n);
        let undo = n % 2 == 0;
        if undo {
            object.record(ms, &holder.proof, vec![done("charge")]);
        }
        object.task.as_mut().expect("a task").attempts = policy().max_attempts;
        object.finish(ms + 1, &format!("f{n}"), &holder.proof, retryable());
        if undo {
            let second = object.claimed(ms + 2, &format!("u{n}"));
            undone(&mut object, ms + 3, &second, Vec::new());
        }
        ms += 10;
    }
    assert_eq!(state(&object), &State::Failed { resumable: false });
    let out = object.begin(ms, "late");
    assert!(matches!(out.reply, Reply::Stands(_)) && is_unchanged(&out));
}

#[test]
fn after_a_terminal_error_and_its_undo_it_stays() {
    let (mut object, second) = failed(false);
    undone(&mut object, T0 + 4, &second, Vec::new());
    let out = object.begin(T0 + 5, "again");
    let Reply::Stands(standing) = &out.reply else {
        panic!("{:?}", out.reply);
    };
    assert_eq!(standing.answer.as_ref().map(|a| a.status), Some(402));
    assert!(is_unchanged(&out));
}

/// A succeeded task with something to undo.
fn sold() -> Object {
    let (mut object, first) = running(vec![done("charge")]);
    object.finish(T0 + 2, "f", &first.proof, succeeded());
    object.flushed(T0 + 3);
    object
}

#[test]
fn the_undo_of_a_success_keeps_its_answer_before_while_and_after() {
    let mut object = sold();
    let answers = |object: &mut Object, ms| {
        let out = object.begin(ms, "dup");
        let Reply::Stands(standing) = &out.reply else {
            panic!("{:?}", out.reply);
        };
        assert!(is_unchanged(&out));
        assert_eq!(standing.answer, Some(crate::protocol_fixture::answer(200)));
    };
    answers(&mut object, T0 + 4);
    let out = object.undo(T0 + 5, "op");
    assert!(matches!(out.reply, Reply::Stands(_)));
    assert_eq!(ends_as(&object), Some(EndsAs::Succeeded));
    answers(&mut object, T0 + 5);
    assert!(matches!(
        object.at(T0 + 6, Event::Delete).reply,
        Reply::InProgress(_)
    ));
    assert!(matches!(object.cancel(T0 + 6, "c").reply, Reply::Ended(_)));
    let again = object.undo(T0 + 6, "another");
    assert!(is_unchanged(&again) && matches!(again.reply, Reply::Stands(_)));
    let second = object.claimed(T0 + 7, "b");
    assert!(second.undoing && second.resumed);
    undone(&mut object, T0 + 8, &second, Vec::new());
    assert_eq!(state(&object), &State::Succeeded);
    assert!(object.task().undone.is_some() && object.task().failure.is_none());
    answers(&mut object, T0 + 9);
    for op in ["op", "third"] {
        let again = object.undo(T0 + 10, op);
        assert!(is_unchanged(&again), "twice is once");
    }
}

#[test]
fn an_undo_of_a_success_that_goes_wrong_leaves_a_success_without_a_failure() {
    let mut object = sold();
    object.undo(T0 + 5, "op");
    let second = object.claimed(T0 + 7, "b");
    object.lose_all(T0 + 8, &second);
    let task = object.task();
    assert_eq!((&task.state, &task.failure), (&State::Succeeded, &None));
    assert!(task.undone.as_ref().is_some_and(|u| !u.is_complete()));
    assert_eq!(task.answer.as_ref().map(|a| a.status), Some(200));
}

#[test]
fn the_undo_of_a_success_without_anything_to_undo_is_over_at_once() {
    let (mut object, first) = running(vec![value("x")]);
    object.finish(T0 + 2, "f", &first.proof, succeeded());
    object.undo(T0 + 3, "op");
    assert_eq!(state(&object), &State::Succeeded);
    assert!(
        object
            .task()
            .undone
            .as_ref()
            .is_some_and(onceward::protocol::Undone::is_complete)
    );
}

#[test]
fn only_a_success_can_be_undone_by_an_operator() {
    let (mut object, first) = running(vec![done("charge")]);
    assert!(matches!(
        object.undo(T0 + 2, "op").reply,
        Reply::InProgress(_)
    ));
    object.cancel(T0 + 3, "c");
    object.finish(T0 + 4, "f", &first.proof, Verdict::Cancelled);
    assert!(matches!(
        object.undo(T0 + 5, "op").reply,
        Reply::InProgress(_)
    ));
    let second = object.claimed(T0 + 6, "b");
    undone(&mut object, T0 + 7, &second, Vec::new());
    assert!(matches!(object.undo(T0 + 8, "op").reply, Reply::Ended(_)));
    let expires = object.task().expires_ms.expect("an expiry");
    assert_eq!(object.undo(expires, "op").reply, Reply::NotFound);
}
