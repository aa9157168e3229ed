//! What operators can have done again, and how a function starts over by itself.

use crate::protocol_fixture::{
    LEASE, Object, T0, child_record, done, failing, id, intent, is_unchanged, journal, policy,
    retryable, signal_wait, step, succeeded, suspend, terminal, value,
};
use onceward::protocol::{
    Debt, Effect, Event, Mismatch, Outcome, Plan, Reply, Retry, State, StepRecord, Transition,
    Verdict, Waiting,
};
use onceward::store::journal::Purpose;
use onceward::types::{Failure, StepId, TaskKey, TaskKind};

fn op(name: &str) -> Retry {
    Retry {
        op: name.to_owned(),
        ..Retry::default()
    }
}

fn from(name: &str, step: &str) -> Retry {
    Retry {
        from: Some(step.to_owned()),
        ..op(name)
    }
}

fn plan(out: &Transition) -> Plan {
    match &out.reply {
        Reply::Planned(plan) => (**plan).clone(),
        other => panic!("wanted a plan, got {other:?}"),
    }
}

fn names(ids: &[StepId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn in_order(names: &[&str]) -> Vec<StepRecord> {
    let places = (1..).zip(names);
    let record = |(place, name): (u32, &&str)| StepRecord {
        place,
        ..value(name)
    };
    places.map(record).collect()
}

/// Failed at `pay`, after `a` and `b`.
fn failed(kind: &Verdict, attempts: u32) -> Object {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, in_order(&["a", "b"]));
    let Verdict::Failed(failure) = kind else {
        panic!("{kind:?}");
    };
    let failure = Failure {
        step: Some(id("pay")),
        ..failure.clone()
    };
    let pay = StepRecord {
        place: 3,
        ..step("pay", Outcome::Failed(failure.clone()))
    };
    object.task.as_mut().expect("a task").attempts = attempts;
    object.finish_with(
        T0 + 2,
        "f",
        &first.proof,
        vec![pay],
        Verdict::Failed(failure),
    );
    object.flushed(T0 + 3);
    object
}

fn for_good() -> Object {
    let object = failed(&terminal(), 1);
    assert_eq!(object.task().state, State::Failed { resumable: false });
    assert_eq!(object.journal().len(), 3);
    object
}

fn resumable() -> Object {
    let object = failed(&retryable(), policy().max_attempts);
    assert_eq!(object.task().state, State::Failed { resumable: true });
    object
}

#[test]
fn what_failed_for_now_goes_on_in_the_same_generation() {
    let mut object = resumable();
    let before = object.task().clone();
    let out = object.retry(T0 + 10, op("r"));
    let plan = plan(&out);
    assert_eq!((plan.new_generation, plan.new_keys), (false, false));
    assert_eq!(names(&plan.kept), ["a", "b"]);
    assert_eq!(names(&plan.again), ["pay"]);
    let task = object.task();
    assert_eq!(task.generation, before.generation);
    assert_eq!(task.state, State::Suspended(Waiting::Ready));
    assert_eq!(
        (task.attempts, task.revivals, task.expires_ms),
        (0, 0, None)
    );
    let dispatch = |e: &Effect| matches!(e, Effect::Dispatch { hop: 0, .. });
    assert!(out.effects.iter().any(dispatch));
    let holder = object.claimed(T0 + 11, "b");
    assert_eq!((holder.attempt, holder.resumed), (1, true));
}

#[test]
fn what_failed_for_good_becomes_a_new_generation_that_keeps_its_successes() {
    let mut object = for_good();
    let before = object.task().clone();
    let plan = plan(&object.retry(T0 + 10, op("r")));
    assert_eq!((plan.new_generation, plan.new_keys), (true, true));
    assert_eq!(
        (names(&plan.kept), names(&plan.again)),
        (vec!["a".into(), "b".into()], vec!["pay".to_owned()])
    );
    let task = object.task();
    assert!(task.generation > before.generation);
    assert_eq!(task.key_generation, task.generation);
    assert_eq!((task.answer.clone(), task.claims), (None, 0));
    assert_eq!(object.outcome("pay"), None);
    assert_eq!(object.journal().len(), 2);
    let holder = object.claimed(T0 + 11, "b");
    assert!(holder.resumed, "there is a journal");
    // A handled failure of another step is an outcome, and stays.
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let handled = Outcome::Failed(Failure::terminal("sold_out", "no"));
    object.record(T0 + 1, &first.proof, vec![step("stock", handled)]);
    object.finish(T0 + 2, "f", &first.proof, terminal());
    assert_eq!(
        names(&self::plan(&object.retry(T0 + 3, op("r"))).kept),
        ["stock"]
    );
}

#[test]
fn from_a_step_everything_behind_it_is_done_again() {
    for (step, kept, again) in [
        ("a", vec![], vec!["a", "b", "pay"]),
        ("b", vec!["a"], vec!["b", "pay"]),
        ("pay", vec!["a", "b"], vec!["pay"]),
    ] {
        for mut object in [for_good(), resumable()] {
            let plan = plan(&object.retry(T0 + 10, from("r", step)));
            assert_eq!(names(&plan.kept), kept);
            assert_eq!(names(&plan.again), again);
            assert!(plan.new_generation && plan.new_keys);
            assert_eq!(object.journal().len(), kept.len());
        }
    }
    let mut object = for_good();
    let out = object.retry(T0 + 10, from("r", "nonsense"));
    assert_eq!(out.reply, Reply::NoSuchStep);
    assert!(is_unchanged(&out) && out.effects.is_empty());
}

#[test]
fn edited_input_runs_everything_again_on_it() {
    let large = vec![7; onceward::limits::INLINE_BYTES + 1];
    for body in [b"new".to_vec(), Vec::new(), large] {
        let mut object = for_good();
        let retry = Retry {
            input: Some(body.clone()),
            ..op("r")
        };
        let plan = plan(&object.retry(T0 + 10, retry));
        assert_eq!(plan.again.len(), 3);
        assert!(plan.new_generation && object.journal().is_empty());
        assert_eq!(object.input(), body);
    }
    let mut object = for_good();
    let retry = Retry {
        input: Some(b"new".to_vec()),
        ..from("r", "b")
    };
    assert_eq!(names(&plan(&object.retry(T0 + 10, retry)).kept), ["a"]);
}

#[test]
fn the_same_keys_if_the_operator_says_so() {
    let mut object = for_good();
    let keys = object.task().key_generation;
    let retry = Retry {
        same_keys: true,
        ..op("r")
    };
    let plan = plan(&object.retry(T0 + 10, retry));
    assert!(plan.new_generation && !plan.new_keys);
    assert_eq!(object.task().key_generation, keys);
    assert!(object.task().generation > keys);
}

#[test]
fn a_dry_run_changes_nothing_and_says_the_same() {
    for object in [for_good(), resumable()] {
        for retry in [op("r"), from("r", "b")] {
            let (mut tried, mut real) = (object.clone(), object.clone());
            let dry = Retry {
                dry_run: true,
                ..retry.clone()
            };
            let out = tried.retry(T0 + 10, dry);
            assert!(is_unchanged(&out) && out.effects.is_empty());
            assert_eq!(tried.cells, object.cells);
            let done = plan(&real.retry(T0 + 10, retry));
            let without = |plan: Plan| Plan {
                standing: None,
                ..plan
            };
            assert_eq!(without(done), without(plan(&out)));
        }
    }
}

#[test]
fn a_retry_sent_again_changes_nothing() {
    let mut object = for_good();
    object.retry(T0 + 10, op("r"));
    let again = object.retry(T0 + 11, op("r"));
    assert!(is_unchanged(&again) && matches!(again.reply, Reply::Stands(_)));
    let holder = object.claimed(T0 + 12, "b");
    let other = object.retry(T0 + 13, op("s"));
    assert!(is_unchanged(&other) && matches!(other.reply, Reply::InProgress(_)));
    object.finish(T0 + 14, "g", &holder.proof, terminal());
    let again = object.retry(T0 + 15, op("r"));
    assert!(is_unchanged(&again), "not even after another failure");
    object.retry(T0 + 16, op("s"));
    assert_eq!(object.task().state, State::Suspended(Waiting::Ready));
}

#[test]
fn a_parked_task_is_woken_by_a_retry_and_by_nothing_else() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, vec![value("x")]);
    let mut parked = suspend("s", &first, false);
    parked.mismatch = Some(Box::new(Mismatch {
        index: 0,
        recorded: id("x"),
        attempted: Some(id("y")),
        difference: "another step".to_owned(),
    }));
    object.at(T0 + 2, Event::Suspend(Box::new(parked)));
    assert!(matches!(
        object.task().state,
        State::Suspended(Waiting::CodeChanged(_))
    ));
    assert_eq!(object.task().attempts, 0, "it does not pay for it");
    object.flushed(T0 + 3);
    object.ring_until(T0 + 100 * LEASE);
    let out = object.begin(T0 + 100 * LEASE, "dup");
    assert!(is_unchanged(&out) && matches!(out.reply, Reply::Stands(_)));
    object.signal(T0 + 100 * LEASE, "go", "1", "7");
    assert!(matches!(
        object.task().state,
        State::Suspended(Waiting::CodeChanged(_))
    ));
    let plan = plan(&object.retry(T0 + 200 * LEASE, op("r")));
    assert!(!plan.new_generation && names(&plan.kept) == ["x"]);
    let second = object.claimed(T0 + 200 * LEASE + 1, "b");
    assert_eq!((second.attempt, second.generation), (1, first.generation));
}

#[test]
fn a_retry_need_not_wait_for_the_backoff() {
    let mut object = failed(&retryable(), 1);
    assert!(matches!(
        object.task().state,
        State::Suspended(Waiting::BackingOff { .. })
    ));
    let out = object.retry(T0 + 4, op("r"));
    assert!(matches!(out.effects[0], Effect::Dispatch { .. }));
    assert_eq!(object.claimed(T0 + 5, "b").attempt, 2, "the count goes on");
    let mut object = failed(&retryable(), 1);
    let out = object.retry(T0 + 4, from("r", "a"));
    assert!(is_unchanged(&out) && matches!(out.reply, Reply::InProgress(_)));
}

#[test]
fn what_runs_or_has_ended_well_is_not_retried() {
    let mut object = Object::default();
    assert_eq!(object.retry(T0, op("r")).reply, Reply::NotFound);
    let first = object.begun(T0, "a");
    let busy = |object: &mut Object| {
        let out = object.retry(T0 + 2, op("r"));
        assert!(is_unchanged(&out) && matches!(out.reply, Reply::InProgress(_)));
    };
    busy(&mut object);
    let mut waiting = object.clone();
    waiting.wait(T0 + 1, ("s", 1), &first, vec![signal_wait("go", None)]);
    busy(&mut waiting);
    let mut cancelled = object.clone();
    cancelled.cancel(T0 + 1, "c");
    cancelled.finish(T0 + 1, "f", &first.proof, Verdict::Cancelled);
    object.finish(T0 + 1, "f", &first.proof, succeeded());
    for mut ended in [object, cancelled] {
        let out = ended.retry(T0 + 2, op("r"));
        assert!(is_unchanged(&out) && matches!(out.reply, Reply::Ended(_)));
    }
}

#[test]
fn what_was_undone_starts_with_an_empty_journal() {
    for verdict in [terminal(), retryable()] {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        object.record(T0 + 1, &first.proof, vec![done("charge"), value("x")]);
        object.task.as_mut().expect("a task").attempts = policy().max_attempts;
        object.finish(T0 + 2, "f", &first.proof, verdict);
        let second = object.claimed(T0 + 3, "b");
        let refund = crate::protocol_fixture::undo_record("charge", Outcome::Value("1".into()));
        object.record(T0 + 4, &second.proof, vec![refund]);
        object.finish(T0 + 5, "g", &second.proof, Verdict::Undone(Vec::new()));
        let plan = plan(&object.retry(T0 + 6, op("r")));
        assert_eq!(plan.again.len(), 2, "an undo is no step: {:?}", plan.again);
        assert!(plan.kept.is_empty() && plan.new_generation);
        assert!(object.journal().is_empty());
        assert!(journal(&object.cells, Purpose::Undoing).is_empty());
        assert_eq!(object.task().undone, None);
        assert_eq!(object.claimed(T0 + 7, "c").attempt, 1);
    }
}

#[test]
fn nobody_of_the_old_generation_is_heard_in_the_new_one() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, vec![value("x")]);
    let (ms, proof) = object.lose_all(T0, &first);
    assert_eq!(object.task().state, State::Failed { resumable: true });
    object.retry(ms + 1, from("r", "x"));
    let out = object.finish(ms + 2, "f", &proof, succeeded());
    assert!(matches!(out.reply, Reply::Stale(_)) && is_unchanged(&out));
    let out = object.record(ms + 2, &proof, vec![value("y")]);
    assert!(matches!(out.reply, Reply::Stale(_)) && out.effects.is_empty());
}

#[test]
fn a_child_that_is_kept_is_cancelled_with_the_new_generation() {
    let child = TaskKey::new(TaskKind::Function, "ship", "", "c").task_id();
    for (again, stopped) in [
        (op("r"), vec![Debt::Cancel(child)]),
        (from("r", "a"), vec![]),
    ] {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        let mut steps = in_order(&["a"]);
        steps.push(StepRecord {
            place: 2,
            ..child_record("child", child)
        });
        object.record(T0 + 1, &first.proof, steps);
        object.finish(T0 + 2, "f", &first.proof, terminal());
        object.retry(T0 + 3, again);
        object.cancel(T0 + 4, "c");
        assert_eq!(object.task().state, State::Cancelled);
        assert_eq!(object.task().debts.list, stopped);
    }
}

#[test]
fn saved_progress_behind_the_step_is_taken_back() {
    let build = || {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        object.record(T0 + 1, &first.proof, in_order(&["a"]));
        object.suspend(T0 + 2, "s", &first, true);
        let second = object.claimed(T0 + 3, "b");
        object.save(T0 + 4, &second.proof, 1, "7");
        object.suspend(T0 + 5, "t", &second, true);
        let third = object.claimed(T0 + 6, "c");
        object.record(T0 + 7, &third.proof, in_order(&["z"]));
        object.finish(T0 + 8, "f", &third.proof, terminal());
        assert_eq!(object.saved().map(|s| s.2).as_deref(), Some("7"));
        object
    };
    for (retry, kept) in [
        (op("r"), true),
        (from("r", "z"), true),
        (from("r", "a"), false),
    ] {
        let mut object = build();
        object.retry(T0 + 10, retry);
        assert_eq!(object.saved().is_some(), kept);
    }
    let mut object = build();
    let retry = Retry {
        input: Some(Vec::new()),
        ..op("r")
    };
    object.retry(T0 + 10, retry);
    assert_eq!(object.saved(), None, "another input, another journey");
}

#[test]
fn what_ended_an_attempt_is_opened_again_and_its_intent_kept() {
    // Known not to have happened: nothing is left of it.
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, vec![intent("pay")]);
    let failed = StepRecord {
        outcome: Outcome::Failed(failing("pay")),
        ..done("pay")
    };
    let why = Verdict::Failed(failing("pay"));
    object.finish_with(T0 + 2, "f", &first.proof, vec![failed.clone()], why);
    assert_eq!(object.outcome("pay"), None);
    // It may have happened: that stays known, whatever becomes of the next attempt.
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, vec![intent("pay")]);
    let unknown = failing("pay").with_unknown_effect();
    let failed = StepRecord {
        outcome: Outcome::Failed(unknown.clone()),
        ..failed
    };
    object.record(T0 + 2, &first.proof, vec![failed]);
    object.finish(T0 + 3, "f", &first.proof, Verdict::Failed(unknown));
    assert!(matches!(object.outcome("pay"), Some(Outcome::Open(open)) if open.in_flight));
    object.cancel(T0 + 4, "c");
    assert!(object.task().ending.is_some(), "so it is undone");
}
