//! What is saved, and what attempts cost.

use crate::protocol_fixture::{
    LEASE, Object, T0, child_record, intent, is_unchanged, policy, retryable, signal_wait, sleep,
    step, value, wait_for,
};
use onceward::protocol::{
    Claimed, Kind, Open, Outcome, Reply, State, StepRecord, WaitFor, own_due_ms,
};
use onceward::types::{Failure, TaskKey, TaskKind};

#[test]
fn a_save_that_comes_late_does_not_take_the_place_of_a_newer_one() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.save(T0 + 1, &first.proof, 2, "two");
    for n in [1, 2] {
        let out = object.save(T0 + 2, &first.proof, n, "late");
        assert!(out.effects.is_empty() && is_unchanged(&out));
    }
    assert_eq!(object.saved(), Some((1, 2, "two".to_owned())));
    object.suspend(T0 + 3, "s", &first, true);
    let second = object.claimed(T0 + 4, "b");
    let out = object.save(T0 + 5, &first.proof, 9, "zombie");
    assert!(matches!(out.reply, Reply::Stale(_)));
    object.save(T0 + 6, &second.proof, 1, "three");
    assert_eq!(object.saved(), Some((2, 1, "three".to_owned())));
}

#[test]
fn a_changed_cursor_is_progress_and_an_unchanged_one_is_not() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let tired = |object: &mut Object| object.task.as_mut().expect("a task").attempts = 3;
    for (n, text, attempts) in [(1, "1", 1), (2, "1", 3), (3, "2", 1)] {
        tired(&mut object);
        object.save(T0 + n, &first.proof, n, text);
        assert_eq!(object.task().attempts, attempts, "{n}");
    }
}

/// Two attempts have failed; the third one runs.
fn third_attempt() -> (Object, Claimed, u64) {
    let mut object = Object::default();
    let mut holder = object.begun(T0, "a");
    let mut ms = T0;
    for n in 1..policy().max_attempts {
        object.finish(ms + 1, &format!("f{n}"), &holder.proof, retryable());
        ms = own_due_ms(object.task());
        object.alarm(ms);
        holder = object.claimed(ms, &format!("c{n}"));
    }
    assert_eq!(holder.attempt, policy().max_attempts);
    (object, holder, ms)
}

#[test]
fn a_wait_that_has_a_name_takes_its_own_claim_back() {
    let (mut object, holder, ms) = third_attempt();
    object.wait(ms + 1, ("s", 1), &holder, vec![signal_wait("go", None)]);
    assert_eq!(object.task().attempts, 2);
    // Looking at a child and waiting for the next try are no progress: nothing is given, nothing taken.
    let (mut object, holder, ms) = third_attempt();
    let what = WaitFor::Retry { due_ms: ms + 5_000 };
    object.wait(ms + 1, ("s", 1), &holder, vec![wait_for("pay", what)]);
    object.alarm(ms + 5_000);
    assert_eq!(object.claimed(ms + 5_001, "b").attempt, 3);
}

#[test]
fn an_elapsed_sleep_and_a_consumed_signal_set_the_count_to_1() {
    let (mut object, holder, ms) = third_attempt();
    object.wait(ms + 1, ("s", 1), &holder, vec![sleep("nap", ms + 5_000)]);
    object.alarm(ms + 5_000);
    assert_eq!(object.claimed(ms + 5_001, "b").attempt, 1);
    let (mut object, holder, ms) = third_attempt();
    object.wait(ms + 1, ("s", 1), &holder, vec![signal_wait("go", None)]);
    object.signal(ms + 2, "go", "1", "7");
    object.alarm(ms + 3);
    assert_eq!(object.claimed(ms + 4, "b").attempt, 1);
    // … in the slice that finds them there as well.
    let (mut object, holder, ms) = third_attempt();
    object.wait(ms + 1, ("s", 1), &holder, vec![sleep("nap", ms)]);
    assert_eq!(object.task().attempts, 1);
    let (mut object, holder, ms) = third_attempt();
    object.signal(ms + 1, "go", "1", "7");
    object.wait(ms + 2, ("s", 1), &holder, vec![signal_wait("go", None)]);
    assert_eq!(object.task().attempts, 1);
}

#[test]
fn an_intent_a_try_a_failure_and_the_time_are_no_progress() {
    let (mut object, holder, ms) = third_attempt();
    let failure = Failure::retryable("busy", "no");
    let now = StepRecord {
        kind: Kind::Now,
        ..value("now")
    };
    let tries = Open {
        tries: 2,
        ..Open::default()
    };
    for step in [
        intent("charge"),
        step("try", Outcome::Open(Box::new(tries))),
        step("fails", Outcome::Failed(failure)),
        now,
        child_record(
            "child",
            TaskKey::new(TaskKind::Function, "c", "", "c").task_id(),
        ),
    ] {
        object.record(ms + 1, &holder.proof, vec![step.clone()]);
        assert_eq!(object.task().attempts, 3, "{step:?}");
    }
    object.record(ms + 1, &holder.proof, vec![value("x")]);
    assert_eq!(object.task().attempts, 1);
    object.task.as_mut().expect("a task").attempts = 3;
    object.record(ms + 1, &holder.proof, vec![value("x")]);
    assert_eq!(object.task().attempts, 3, "the same success once more");
}

#[test]
fn a_wait_does_not_hide_poison() {
    // Between two naps it dies, every time.
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.wait(T0 + 1, ("s", 1), &first, vec![sleep("nap", T0 + 5_000)]);
    object.alarm(T0 + 5_000);
    let second = object.claimed(T0 + 5_001, "b");
    let (ms, _) = object.lose_all(T0 + 5_001, &second);
    assert_eq!(object.task().state, State::Failed { resumable: true });
    assert!(ms < T0 + 5_001 + 5 * LEASE);
    assert_eq!(object.task().claims, 1 + policy().max_attempts);
}
