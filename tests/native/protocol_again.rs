//! Retries of what was opened, undone or had succeeded; and what others are told meanwhile.

use crate::protocol_edges::at_place;
use crate::protocol_fixture::{
    Object, T0, done, failing, id, is_unchanged, policy, retryable, signal_wait, sleep, step,
    succeeded, suspend, terminal, value, wait_for,
};
use onceward::limits;
use onceward::protocol::{
    Effect, Event, Outcome, Reply, Retry, State, StepRecord, Summary, Suspend, Verdict, WaitFor,
    Waiting,
};
use onceward::types::{Answer, Failure, StepId};

#[test]
fn a_retry_can_be_planned_again_after_it_was_carried_out() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0 + 1, "f", &first.proof, terminal());
    let op = || Retry {
        op: "r".to_owned(),
        ..Retry::default()
    };
    object.retry(T0 + 2, op());
    let second = object.claimed(T0 + 3, "b");
    object.finish(T0 + 4, "g", &second.proof, terminal());
    let dry = Retry {
        dry_run: true,
        ..op()
    };
    let planned = object.retry(T0 + 5, dry);
    assert!(is_unchanged(&planned) && matches!(planned.reply, Reply::Planned(_)));
    let again = object.retry(T0 + 6, op());
    assert!(is_unchanged(&again) && matches!(again.reply, Reply::Stands(_)));
}

/// Fails with `failing("pay")` after these records, with its attempts used up.
fn used_up(records: Vec<StepRecord>) -> Object {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, records);
    object.task.as_mut().expect("a task").attempts = policy().max_attempts;
    let verdict = Verdict::Failed(failing("pay"));
    object.finish(T0 + 2, "f", &first.proof, verdict);
    assert_eq!(object.task().state, State::Failed { resumable: true });
    object
}

fn retried(object: &mut Object, from: Option<&str>) -> (Vec<String>, Vec<String>) {
    let retry = Retry {
        op: "r".to_owned(),
        from: from.map(str::to_owned),
        ..Retry::default()
    };
    let out = object.retry(T0 + 10, retry);
    let Reply::Planned(plan) = out.reply else {
        panic!("{:?}", out.reply);
    };
    let names = |ids: &[StepId]| ids.iter().map(ToString::to_string).collect();
    (names(&plan.kept), names(&plan.again))
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_retry_leaves_what_its_attempt_has_opened_and_what_succeeded() {
    // Its branch went on after it had failed: it was opened, and says why.
    let pay = at_place(1, step("pay", Outcome::Failed(failing("pay"))));
    let mut object = used_up(vec![pay, at_place(2, value("later"))]);
    let before = object.outcome("pay");
    assert!(matches!(&before, Some(Outcome::Open(open)) if open.failure.is_some()));
    let plan = retried(&mut object, None);
    assert_eq!(plan, (strings(&["later"]), strings(&["pay"])));
    assert_eq!(object.outcome("pay"), before);
    // The function failed by it though it had succeeded: that is kept.
    let mut object = used_up(vec![at_place(1, value("pay"))]);
    let plan = retried(&mut object, None);
    assert_eq!(plan, (strings(&["pay"]), strings(&[])));
    assert_eq!(object.outcome("pay"), Some(Outcome::Value("1".to_owned())));
}

#[test]
fn a_retry_of_what_failed_for_good_keeps_its_record_only_if_its_branch_went_on() {
    let later = |branch: &str, place: u32| StepRecord {
        place,
        ..StepRecord::new(
            StepId::new(branch, "later", 0),
            Outcome::Value("1".to_owned()),
        )
    };
    for (later, keeps) in [
        (later("", 1), false),
        (later("", 2), false),
        (later("side", 3), false),
        (later("", 3), true),
    ] {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        let why = onceward::types::Failure {
            step: Some(id("pay")),
            ..onceward::types::Failure::terminal("declined", "no")
        };
        let pay = at_place(2, step("pay", Outcome::Failed(why.clone())));
        object.record(T0 + 1, &first.proof, vec![pay, later.clone()]);
        object.finish(T0 + 2, "f", &first.proof, Verdict::Failed(why));
        retried(&mut object, None);
        let pay = object.outcome("pay");
        assert_eq!(pay.is_some(), keeps, "{later:?}");
        assert!(pay.is_none_or(|outcome| !outcome.is_settled()));
    }
}

#[test]
fn what_was_undone_is_done_again_from_its_first_step_wherever_a_retry_begins() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let records = vec![at_place(1, done("charge")), at_place(2, value("x"))];
    object.record(T0 + 1, &first.proof, records);
    object.finish(T0 + 2, "f", &first.proof, terminal());
    let second = object.claimed(T0 + 3, "b");
    let verdict = Verdict::Undone(Vec::new());
    object.finish(T0 + 4, "g", &second.proof, verdict);
    let plan = retried(&mut object, Some("x"));
    assert_eq!(plan, (strings(&[]), strings(&["charge", "x"])));
    assert!(object.journal().is_empty());
}

#[test]
fn waiting_for_a_task_makes_sense_while_it_moves_or_will_within_moments() {
    let moves = |object: &Object, ms: u64| Summary::of(object.task()).is_moving(ms);
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    assert!(moves(&object, T0));
    let (mut failing, mut napping, mut parked) = (object.clone(), object.clone(), object.clone());
    failing.finish(T0 + 1, "f", &first.proof, retryable());
    let State::Suspended(Waiting::BackingOff { due_ms }) = failing.task().state else {
        panic!("{:?}", failing.task().state);
    };
    // Within brief moments of its time, and not before.
    let due_ms = due_ms + 60_000;
    let state = State::Suspended(Waiting::BackingOff { due_ms });
    failing.task.as_mut().expect("a task").state = state;
    assert!(!moves(&failing, due_ms - limits::BRIEF_WAIT_MS - 1));
    assert!(moves(&failing, due_ms - limits::BRIEF_WAIT_MS));
    let wakes = T0 + 60_000;
    napping.wait(T0 + 1, ("s", 1), &first, vec![sleep("nap", wakes)]);
    assert!(!moves(&napping, wakes - limits::BRIEF_WAIT_MS - 1));
    assert!(moves(&napping, wakes - limits::BRIEF_WAIT_MS));
    let out = napping.alarm(wakes);
    assert!(matches!(out.effects[0], Effect::Dispatch { .. }));
    assert!(moves(&napping, wakes), "ready");
    let mismatch = onceward::protocol::Mismatch {
        index: 0,
        recorded: id("x"),
        attempted: None,
        difference: "another step".to_owned(),
    };
    let parks = Suspend {
        mismatch: Some(Box::new(mismatch)),
        ..suspend("s", &first, false)
    };
    parked.at(T0 + 1, Event::Suspend(Box::new(parks)));
    assert!(!moves(&parked, T0 + 1));
    object.record(T0 + 1, &first.proof, vec![done("charge")]);
    let mut undoing = object.clone();
    undoing.finish(T0 + 2, "f", &first.proof, terminal());
    assert!(moves(&undoing, T0 + 2), "it is to fail");
    object.finish(T0 + 2, "f", &first.proof, succeeded());
    assert!(!moves(&object, T0 + 2));
    object.undo(T0 + 3, "u");
    let summary = Summary::of(object.task());
    assert!(summary.is_undoing_success(), "its answer stands already");
    assert!(!summary.is_moving(T0 + 3));
}

#[test]
fn a_failure_starts_over_only_once_everything_is_undone() {
    let restarts = |object: &Object| Summary::of(object.task()).restarts();
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, vec![done("charge")]);
    object.task.as_mut().expect("a task").attempts = policy().max_attempts;
    object.finish(T0 + 2, "f", &first.proof, retryable());
    assert!(!restarts(&object), "it is being undone");
    let second = object.claimed(T0 + 3, "b");
    object.finish(T0 + 4, "g", &second.proof, Verdict::Undone(Vec::new()));
    assert!(restarts(&object));
    assert!(!restarts(&used_up(Vec::new())), "nothing was undone");
    let mut declined = Object::default();
    let first = declined.begun(T0, "a");
    declined.record(T0 + 1, &first.proof, vec![done("charge")]);
    declined.finish(T0 + 2, "f", &first.proof, terminal());
    let second = declined.claimed(T0 + 3, "b");
    declined.finish(T0 + 4, "g", &second.proof, Verdict::Undone(Vec::new()));
    assert!(!restarts(&declined), "it failed for good");
}

#[test]
fn a_retry_within_the_same_millisecond_is_another_generation() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0, "f", &first.proof, terminal());
    let failure = Summary::of(object.task()).failure.expect("a failure");
    assert_eq!((failure.code.as_str(), failure.answer), ("declined", None));
    assert!(object.task().answer.is_some(), "it is kept, and not shown");
    let retry = Retry {
        op: "r".to_owned(),
        ..Retry::default()
    };
    object.retry(T0, retry);
    let task = object.task();
    assert_eq!((task.generation, task.key_generation), (T0 + 1, T0 + 1));
}

#[test]
fn a_slice_that_hands_on_a_cancelled_task_carries_it_to_its_undo() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, vec![done("charge")]);
    object.cancel(T0 + 2, "stop");
    let out = object.suspend(T0 + 3, "s", &first, true);
    let Reply::Suspended { ticket, hop } = &out.reply else {
        panic!("{:?}", out.reply);
    };
    assert_eq!((hop, ticket.is_some()), (&1, true));
    // With nothing to undo it is over.
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.cancel(T0 + 2, "stop");
    let out = object.suspend(T0 + 3, "s", &first, true);
    assert!(matches!(out.reply, Reply::Stands(_)), "{:?}", out.reply);
    assert_eq!(object.task().state, State::Cancelled);
}

#[test]
fn only_what_is_waited_for_and_settled_makes_a_slice_go_on() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, vec![value("go"), value("x")]);
    let mut there = object.clone();
    let out = there.wait(T0 + 2, ("s", 1), &first, vec![signal_wait("go", None)]);
    let Reply::GoOn { records, .. } = &out.reply else {
        panic!("{:?}", out.reply);
    };
    assert_eq!((records.len(), &records[0].id), (1, &id("go")));
    // Told once more with a wait for something else: that is not there.
    let waits = Suspend {
        steps: vec![value("x")],
        waits: vec![signal_wait("stop", None)],
        n: 1,
        ..suspend("s", &first, false)
    };
    let out = object.at(T0 + 2, Event::Suspend(Box::new(waits)));
    assert!(matches!(out.reply, Reply::Suspended { ticket: None, .. }));
    assert!(matches!(
        object.task().state,
        State::Suspended(Waiting::For(_))
    ));
}

#[test]
fn a_slice_at_its_last_attempt_without_progress_hands_on_what_is_to_be_undone() {
    let last = |undoable: bool| {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        if undoable {
            object.record(T0 + 1, &first.proof, vec![done("charge")]);
        }
        object.task.as_mut().expect("a task").attempts = policy().max_attempts;
        let out = object.suspend(T0 + 2, "s", &first, false);
        (object, out.reply)
    };
    let (object, reply) = last(true);
    assert!(object.task().ending.is_some());
    let Reply::Suspended { ticket, hop } = reply else {
        panic!("{reply:?}");
    };
    assert_eq!((ticket.is_some(), hop), (true, 1));
    let (object, reply) = last(false);
    assert_eq!(object.task().state, State::Failed { resumable: true });
    assert!(matches!(reply, Reply::Stale(_)));
}

#[test]
fn going_on_without_progress_keeps_the_count_of_attempts() {
    let retry = WaitFor::Retry { due_ms: T0 + 1 };
    for (wait, attempts) in [(wait_for("try", retry), 3), (sleep("nap", T0 + 1), 1)] {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        object.task.as_mut().expect("a task").attempts = 3;
        // A release that does not count its suspensions: the object does.
        for (op, times) in [("s", 1), ("t", 2)] {
            let out = object.wait(T0 + 1, (op, 0), &first, vec![wait.clone()]);
            assert!(matches!(out.reply, Reply::GoOn { .. }), "{:?}", out.reply);
            assert_eq!(object.task().attempts, attempts);
            let lease = object.task().lease.as_ref().expect("a lease");
            assert_eq!(lease.suspends, times);
        }
        object.wait(T0 + 1, ("u", 7), &first, vec![wait]);
        let lease = object.task().lease.as_ref().expect("a lease");
        assert_eq!(lease.suspends, 7);
    }
}

#[test]
fn the_answer_of_a_recorded_failure_comes_back_byte_for_byte() {
    let with = |body: &[u8]| {
        let answer = Answer {
            body: body.to_vec(),
            ..crate::protocol_fixture::answer(402)
        };
        Failure::terminal("declined", "no").with_answer(answer)
    };
    let plain = Failure::terminal("declined", "no");
    for (failure, has_body) in [
        (with(b"\x00\xff, no"), true),
        (with(b""), false),
        (plain, false),
    ] {
        let record = step("pay", Outcome::Failed(failure));
        let json = serde_json::to_value(&record).expect("JSON");
        let written = json["outcome"]["failed"].get("answer_body");
        assert_eq!(written.is_some(), has_body, "{json}");
        let read: StepRecord = serde_json::from_value(json).expect("a record");
        assert_eq!(read, record);
    }
}
