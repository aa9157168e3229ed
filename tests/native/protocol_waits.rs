//! Sleeps and signals: what ends a wait, what is kept, what is known again.

use crate::protocol_fixture::{
    Object, T0, alarms, id, is_unchanged, retryable, signal, signal_wait, sleep, step, succeeded,
    wait_for,
};
use onceward::limits;
use onceward::protocol::{
    Claimed, Effect, Event, NEVER_MS, Next, NextInput, Outcome, Reply, State, StepRecord,
    Transition, Verdict, WaitFor, Waiting, next_due_ms,
};

const DAY: u64 = 24 * 3_600_000;

fn value(text: &str) -> Outcome {
    Outcome::Value(text.to_owned())
}

fn go_on(out: &Transition) -> Vec<StepRecord> {
    match &out.reply {
        Reply::GoOn { records, .. } => records.clone(),
        other => panic!("wanted to go on, got {other:?}"),
    }
}

fn outcomes(records: &[StepRecord]) -> Vec<Outcome> {
    records.iter().map(|r| r.outcome.clone()).collect()
}

fn waits(object: &Object) -> bool {
    matches!(object.task().state, State::Suspended(Waiting::For(_)))
}

/// A task that waits for the signal `go`.
fn waiting(due_ms: Option<u64>) -> (Object, Claimed) {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.wait(T0 + 1, ("s", 1), &first, vec![signal_wait("go", due_ms)]);
    assert!(waits(&object));
    (object, first)
}

#[test]
fn a_sleep_ends_at_its_time_and_not_a_millisecond_before() {
    for length in [1_001, DAY, 400 * DAY] {
        let due = T0 + length;
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        let out = object.wait(T0 + 1, ("s", 1), &first, vec![sleep("nap", due)]);
        let alone = Reply::Suspended {
            ticket: None,
            hop: 0,
        };
        assert_eq!(out.reply, alone);
        object.flushed(T0 + 1);
        object.ring_until(due - 1);
        assert!(waits(&object), "{length} ms: woken early");
        let out = object.alarm(due);
        assert_eq!(object.task().state, State::Suspended(Waiting::Ready));
        assert!(matches!(out.effects[0], Effect::Dispatch { hop: 0, .. }));
        let second = object.claimed(due, "b");
        assert_eq!((second.attempt, second.now_ms), (1, due));
    }
}

#[test]
fn an_alarm_is_never_set_further_ahead_than_an_engine_can_bear() {
    let century = T0 + 100 * 365 * DAY;
    for due in [century, NEVER_MS - 1, NEVER_MS, NEVER_MS + 1, u64::MAX] {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        object.wait(T0 + 1, ("s", 1), &first, vec![sleep("nap", due)]);
        assert!(next_due_ms(object.task()) <= NEVER_MS);
        object.flushed(T0 + 2);
        for n in 1..50 {
            let at = T0 + n * limits::MAX_ALARM_MS;
            let out = object.alarm(at);
            assert!(is_unchanged(&out) && waits(&object), "woken early");
            let furthest = at + limits::MAX_ALARM_MS;
            assert!(alarms(&out.effects).iter().all(|ms| *ms <= furthest));
            let rings = !alarms(&out.effects).is_empty();
            assert_eq!(rings, due < NEVER_MS, "it is never forgotten");
        }
    }
}

#[test]
fn a_sleep_that_is_over_by_the_clock_of_the_object_goes_on_at_once() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let nap = || vec![sleep("nap", T0 + 1_000)];
    let early = object.clone().wait(T0 + 999, ("s", 1), &first, nap());
    assert!(matches!(early.reply, Reply::Suspended { .. }));
    let out = object.wait(T0 + 1_000, ("s", 1), &first, nap());
    let expected = Reply::GoOn {
        records: Vec::new(),
        now_ms: T0 + 1_000,
    };
    assert_eq!(out.reply, expected);
    assert_eq!(object.task().state, State::Running);
    object.finish(T0 + 1_001, "f", &first.proof, succeeded());
    assert_eq!(object.task().state, State::Succeeded, "the lease went on");
}

#[test]
fn signals_that_nobody_waits_for_are_kept_in_order_for_each_name() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    for (n, (name, text)) in [("go", "1"), ("stop", "2"), ("go", "3")].iter().enumerate() {
        let out = object.signal(T0 + 1, name, &format!("id-{n}"), text);
        assert_eq!(out.reply, Reply::Signalled { repeated: false });
    }
    assert_eq!(object.task().unread.len(), 3);
    let mut take = |n: u32, name: &str| {
        let wait = onceward::protocol::Wait {
            id: onceward::types::StepId::new("", name, n),
            ..signal_wait(name, None)
        };
        outcomes(&go_on(&object.wait(
            T0 + 2,
            (&format!("s{n}"), n),
            &first,
            vec![wait],
        )))
    };
    assert_eq!(take(1, "go"), [value("1")]);
    assert_eq!(take(2, "go"), [value("3")]);
    assert_eq!(take(3, "stop"), [value("2")]);
    assert!(object.task().unread.is_empty());
    assert_eq!(object.journal().len(), 3);
}

#[test]
fn a_signal_between_the_decision_to_wait_and_the_suspension_is_not_slept_through() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.signal(T0 + 1, "go", "1", "7");
    let out = object.wait(T0 + 2, ("s", 1), &first, vec![signal_wait("go", None)]);
    assert_eq!(outcomes(&go_on(&out)), [value("7")]);
    assert_eq!(object.outcome("go"), Some(value("7")));
}

#[test]
fn a_signal_wakes_the_task_that_waits_for_it_by_its_alarm() {
    let (mut object, _) = waiting(None);
    object.flushed(T0 + 2);
    let out = object.signal(T0 + DAY, "other", "0", "0");
    assert!(waits(&object), "not the one that is waited for");
    assert_eq!(alarms(&out.effects), Vec::<u64>::new());
    let out = object.signal(T0 + DAY, "go", "1", "7");
    assert_eq!(alarms(&out.effects), [T0 + DAY + 1]);
    assert_eq!(object.outcome("go"), Some(value("7")));
    let out = object.alarm(T0 + DAY + 1);
    assert!(matches!(out.effects[0], Effect::Dispatch { .. }));
    assert_eq!(object.claimed(T0 + DAY + 2, "b").attempt, 1);
    assert_eq!(object.task().unread.len(), 1, "the other one is kept");
}

#[test]
fn a_signal_after_the_timeout_is_kept_for_the_next_wait() {
    let due = T0 + DAY;
    let (mut object, _) = waiting(Some(due));
    object.flushed(T0 + 2);
    object.ring_until(due - 1);
    assert!(waits(&object));
    object.alarm(due);
    let Some(Outcome::Failed(failure)) = object.outcome("go") else {
        panic!("wanted a timeout, got {:?}", object.outcome("go"));
    };
    assert_eq!(failure.code, "signal_timeout");
    assert_eq!(failure.step, Some(id("go")));
    let out = object.signal(due + 1, "go", "1", "7");
    assert_eq!(out.reply, Reply::Signalled { repeated: false });
    let second = object.claimed(due + 2, "b");
    let wait = onceward::protocol::Wait {
        id: onceward::types::StepId::new("", "go", 1),
        ..signal_wait("go", None)
    };
    let out = object.wait(due + 3, ("t", 1), &second, vec![wait]);
    assert_eq!(outcomes(&go_on(&out)), [value("7")]);
}

#[test]
fn a_signal_at_the_very_moment_of_the_timeout_has_come_too_late_only_once() {
    let due = T0 + DAY;
    // The alarm was first: the timeout stands.
    let (mut object, _) = waiting(Some(due));
    object.alarm(due);
    object.signal(due, "go", "1", "7");
    assert!(matches!(object.outcome("go"), Some(Outcome::Failed(_))));
    assert_eq!(object.task().unread.len(), 1);
    // The signal was first: it is taken.
    let (mut object, _) = waiting(Some(due));
    object.signal(due, "go", "1", "7");
    object.alarm(due + 1);
    assert_eq!(object.outcome("go"), Some(value("7")));
}

#[test]
fn a_repeated_signal_is_known_for_as_long_as_the_task() {
    let (mut object, _) = waiting(None);
    object.signal(T0 + 2, "go", "1", "7");
    let again = |object: &mut Object| {
        let out = object.signal(T0 + 3, "go", "1", "7");
        assert_eq!(out.reply, Reply::Signalled { repeated: true });
        assert!(is_unchanged(&out) && out.effects.is_empty());
        let out = object.signal(T0 + 3, "go", "1", "8");
        assert!(
            matches!(out.reply, Reply::KeyReused { .. }),
            "another payload"
        );
        assert!(is_unchanged(&out));
        // Ids belong to a name.
        let other = object.clone().signal(T0 + 3, "stop", "1", "7");
        assert_ne!(other.reply, Reply::Signalled { repeated: true });
    };
    again(&mut object);
    object.alarm(T0 + 4);
    let second = object.claimed(T0 + 5, "b");
    again(&mut object);
    let next = Verdict::ContinueAs(NextInput::default());
    object.finish(T0 + 6, "f", &second.proof, next);
    assert!(object.journal().is_empty());
    again(&mut object);
    let third = object.claimed(T0 + 7, "c");
    object.finish(T0 + 8, "g", &third.proof, succeeded());
    again(&mut object);
}

#[test]
fn two_waits_for_one_name_get_a_letter_each() {
    let both = || {
        vec![
            wait_for("x", signal_wait("go", None).what),
            wait_for("y", signal_wait("go", None).what),
        ]
    };
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.signal(T0 + 1, "go", "1", "1");
    object.signal(T0 + 1, "go", "2", "2");
    let out = object.wait(T0 + 2, ("s", 1), &first, both());
    assert_eq!(outcomes(&go_on(&out)), [value("1"), value("2")]);

    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.wait(T0 + 1, ("s", 1), &first, both());
    object.signal(T0 + 2, "go", "1", "1");
    object.signal(T0 + 2, "go", "2", "2");
    assert_eq!(object.outcome("x"), Some(value("1")));
    assert_eq!(object.outcome("y"), None, "the task is awake");
    assert_eq!(object.task().unread.len(), 1);
}

#[test]
fn a_full_mailbox_takes_no_more_but_what_is_waited_for() {
    let (mut object, _) = waiting(None);
    for n in 0..limits::MAX_UNREAD {
        object.signal(T0 + 2, "other", &n.to_string(), "0");
    }
    let out = object.signal(T0 + 3, "other", "more", "0");
    assert_eq!(out.reply, Reply::MailboxFull);
    assert!(is_unchanged(&out) && out.effects.is_empty());
    let again = object.signal(T0 + 3, "other", "0", "0");
    assert_eq!(again.reply, Reply::Signalled { repeated: true });
    let out = object.signal(T0 + 4, "go", "1", "7");
    assert_eq!(out.reply, Reply::Signalled { repeated: false });

    let (mut object, _) = waiting(None);
    object.task.as_mut().expect("a task").signals = limits::MAX_SIGNALS;
    let out = object.signal(T0 + 4, "other", "1", "7");
    assert_eq!(out.reply, Reply::MailboxFull, "so many were there ever");
}

#[test]
fn a_task_that_has_ended_takes_no_signal() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.task.as_mut().expect("a task").attempts = 3;
    let mut resumable = object.clone();
    resumable.finish(T0 + 1, "f", &first.proof, retryable());
    object.finish(T0 + 1, "f", &first.proof, succeeded());
    for mut ended in [object, resumable] {
        let out = ended.signal(T0 + 2, "go", "1", "7");
        assert!(matches!(out.reply, Reply::Ended(_)), "{:?}", out.reply);
        assert!(is_unchanged(&out));
        ended.at(T0 + 3, Event::Delete);
        let out = ended.signal(T0 + 4, "go", "1", "7");
        assert_eq!(out.reply, Reply::NotFound);
    }
    let out = Object::default().signal(T0, "go", "1", "7");
    assert_eq!(out.reply, Reply::NotFound);
}

#[test]
fn a_signal_for_another_generation_is_nobodys() {
    let (mut object, _) = waiting(None);
    let mut late = signal("go", "1", "7");
    late.generation = Some(T0 - 1);
    let out = object.at(T0 + 2, Event::Signal(Box::new(late)));
    assert_eq!(out.reply, Reply::Done);
    assert!(is_unchanged(&out));
}

#[test]
fn a_suspension_sent_again_is_told_the_same_and_an_older_one_is_stale() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.signal(T0 + 1, "go", "1", "7");
    let go = || vec![signal_wait("go", None)];
    let once = object.wait(T0 + 2, ("s", 1), &first, go());
    let again = object.wait(T0 + 2, ("s", 1), &first, go());
    assert_eq!(once.reply, again.reply);
    assert!(is_unchanged(&again) && again.effects.is_empty());
    let more = object.wait(T0 + 3, ("t", 2), &first, vec![sleep("nap", T0 + 3)]);
    assert!(go_on(&more).is_empty());
    for n in [1, 2] {
        let late = object.wait(T0 + 4, ("u", n), &first, vec![sleep("x", T0 + DAY)]);
        assert!(matches!(late.reply, Reply::Stale(_)), "{n}");
        assert!(is_unchanged(&late));
    }
    let out = object.wait(T0 + 4, ("v", 3), &first, vec![sleep("x", T0 + DAY)]);
    assert!(matches!(out.reply, Reply::Suspended { .. }));
    let again = object.wait(T0 + 5, ("v", 3), &first, vec![sleep("x", T0 + DAY)]);
    assert_eq!(out.reply, again.reply);
    assert!(is_unchanged(&again));
}

#[test]
fn what_is_on_record_is_not_waited_for_again() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.signal(T0 + 1, "go", "1", "1");
    object.signal(T0 + 1, "go", "2", "2");
    let go = || vec![signal_wait("go", None), sleep("nap", T0 + DAY)];
    object.wait(T0 + 2, ("s", 1), &first, go());
    let out = object.wait(T0 + 3, ("t", 2), &first, go());
    assert_eq!(outcomes(&go_on(&out)), [value("1")]);
    assert_eq!(object.task().unread.len(), 1, "no letter is lost");
}

#[test]
fn the_time_of_a_sleep_and_of_a_timeout_is_set_once() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let open = |due_ms| {
        let open = onceward::protocol::Open {
            due_ms: Some(due_ms),
            ..onceward::protocol::Open::default()
        };
        StepRecord {
            kind: onceward::protocol::Kind::Sleep,
            ..step("nap", Outcome::Open(Box::new(open)))
        }
    };
    object.record(T0 + 1, &first.proof, vec![open(T0 + 10)]);
    let out = object.record(T0 + 2, &first.proof, vec![open(T0 + 99)]);
    let Reply::Recorded { winners, .. } = &out.reply else {
        panic!("{:?}", out.reply);
    };
    assert_eq!(winners[0].outcome, open(T0 + 10).outcome);
    assert!(out.effects.is_empty());
}

#[test]
fn the_soonest_of_several_waits_makes_the_task_go_on() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let waits = vec![
        signal_wait("go", Some(T0 + 5 * DAY)),
        sleep("nap", T0 + 2 * DAY),
        wait_for(
            "pay",
            WaitFor::Retry {
                due_ms: T0 + 3 * DAY,
            },
        ),
    ];
    object.wait(T0 + 1, ("s", 1), &first, waits);
    assert_eq!(object.task().waits().len(), 3);
    object.flushed(T0 + 1);
    object.ring_until(T0 + 2 * DAY);
    assert_eq!(object.task().state, State::Suspended(Waiting::Ready));
    assert!(object.journal().is_empty(), "nothing has timed out");
}

#[test]
fn a_delivery_makes_a_task_whose_time_has_come_go_on() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.wait(T0 + 1, ("s", 1), &first, vec![sleep("nap", T0 + DAY)]);
    let out = object.begin(T0 + 2, "b");
    assert!(is_unchanged(&out) && waits(&object));
    let out = object.begin(T0 + DAY, "c");
    assert!(matches!(out.next, Next::Put(_)));
    assert_eq!(object.task().state, State::Suspended(Waiting::Ready));
}
