//! What the alarm does and when it rings again, to the millisecond; and what a record looks like.

use crate::protocol_fixture::{
    LEASE, Object, T0, alarms, begin, id, is_unchanged, policy, retryable, signal_wait, succeeded,
    tombstone, value, wait_for,
};
use onceward::limits::{
    self, ATTEMPT_BACKOFF_MS, FLUSH_TIMEOUT_MS, MAX_ALARM_MS, MAX_SIGNALS, MAX_UNREAD,
};
use onceward::protocol::{
    Begin, Claimed, Debt, Effect, Event, Kind, Moment, NEVER_MS, Open, Outcome, Parent, Reply, State, StepRecord, Task,
    Unread, Version, WaitFor, Waiting, jittered, next_due_ms,
};
use onceward::types::{TaskKey, TaskKind};

fn change(object: &mut Object) -> &mut Task {
    object.task.as_mut().expect("a task")
}

fn ended(ms: u64) -> (Object, Claimed) {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(ms, "f", &first.proof, succeeded());
    (object, first)
}

fn expires(object: &Object) -> u64 {
    object.task().expires_ms.expect("an expiry")
}

fn forgets(effects: &[Effect]) -> Vec<Version> {
    let version = |effect: &Effect| match effect {
        Effect::Forget { version } => Some(*version),
        _ => None,
    };
    effects.iter().filter_map(version).collect()
}

#[test]
fn what_says_nothing_is_not_written() {
    let text = |record: &StepRecord| serde_json::to_value(record).expect("JSON");
    let wanted = serde_json::json!({
        "id": { "name": "x", "occurrence": 0 },
        "outcome": { "value": "1" },
        "place": 0, "fence": 0, "at_ms": 0, "tries": 1,
    });
    assert_eq!(text(&value("x")), wanted);
    let open = |open: Open| Outcome::Open(Box::new(open));
    let record = StepRecord::new(id("x"), open(Open::default()));
    assert_eq!(text(&record)["outcome"], serde_json::json!({ "open": {} }));
    let record = StepRecord::new(
        id("x"),
        open(Open {
            in_flight: true,
            tries: 2,
            first_ms: 3,
            ..Open::default()
        }),
    );
    let wanted = serde_json::json!({ "open": { "in_flight": true, "tries": 2, "first_ms": 3 } });
    assert_eq!(text(&record)["outcome"], wanted);
}

#[test]
fn a_row_that_is_behind_is_followed_by_the_next_one_at_once() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.suspend(T0 + 1, "s", &first, true);
    let sent = object.task().version;
    let second = object.claimed(T0 + 2, "b");
    object.finish(T0 + 3, "f", &second.proof, succeeded());
    change(&mut object).outbox.tries = 3;
    let out = object.at(T0 + 4, Event::Flushed { sent, holds: sent });
    assert!(out.effects.contains(&Effect::Flush));
    let outbox = &object.task().outbox;
    let wanted = (sent.n, 0, T0 + 4 + FLUSH_TIMEOUT_MS);
    assert_eq!((outbox.flushed_n, outbox.tries, outbox.next_ms), wanted);
    let again = object.at(T0 + 5, Event::Flushed { sent, holds: sent });
    assert!(is_unchanged(&again), "known");
    object.flushed(T0 + 6);
    assert!(!object.task().outbox.is_owing());
}

#[test]
fn a_tombstone_is_placed_by_the_alarm_alone_and_guarded_where_the_platform_does_not() {
    let guard = 2 * FLUSH_TIMEOUT_MS;
    let (mut object, _) = ended(T0 + 1);
    object.flushed(T0 + 2);
    let at = expires(&object);
    // Its own run is repeated by the platform: no alarm.
    let out = object.clone().alarm(at);
    assert_eq!(forgets(&out.effects), [tombstone(&object)]);
    assert!(alarms(&out.effects).is_empty());
    let out = object.clone().at(at, Event::Poke);
    assert_eq!(forgets(&out.effects), [tombstone(&object)]);
    assert_eq!(alarms(&out.effects), [at + guard]);
    // An alarm that rings before the time in the row.
    let mut early = object.clone();
    change(&mut early).armed_ms = Some(at + 1);
    assert_eq!(alarms(&early.clone().alarm(at).effects), [at + 1]);
    change(&mut early).armed_ms = Some(at + MAX_ALARM_MS);
    assert_eq!(alarms(&early.alarm(at).effects), [at + guard]);
    let mut due = object.clone();
    change(&mut due).armed_ms = Some(at);
    assert!(alarms(&due.alarm(at).effects).is_empty(), "just in time");
    // Forgotten already: tried again at its time, and not before.
    let mut deleted = object;
    let out = deleted.at(T0 + 3, Event::Delete);
    assert_eq!(forgets(&out.effects).len(), 1);
    let next = T0 + 3 + FLUSH_TIMEOUT_MS;
    let outbox = &deleted.task().outbox;
    assert_eq!((outbox.tries, outbox.next_ms), (0, next));
    let out = deleted.clone().alarm(next - 1);
    assert!(forgets(&out.effects).is_empty());
    assert_eq!(alarms(&out.effects), [next]);
    let out = deleted.clone().alarm(next);
    assert_eq!(forgets(&out.effects), [tombstone(&deleted)]);
    assert_eq!(alarms(&out.effects), [next + guard]);
}

#[test]
fn a_tombstone_that_failed_goes_above_what_d1_holds_and_no_higher() {
    let (mut object, _) = ended(T0 + 1);
    object.flushed(T0 + 2);
    let at = expires(&object);
    let sent = tombstone(&object);
    let holds = |version: Option<Version>| Event::TombstoneFailed {
        sent,
        holds: version,
    };
    let epoch = |version: Option<Version>| {
        let mut object = object.clone();
        object.at(at, holds(version));
        assert_eq!(object.task().state, State::Forgotten);
        let outbox = &object.task().outbox;
        assert_eq!((outbox.tries, outbox.next_ms), (1, at + 1_000));
        object.task().version.epoch
    };
    assert_eq!(epoch(None), sent.epoch);
    assert_eq!(epoch(Some(sent)), sent.epoch);
    let older = Version {
        n: sent.n - 1,
        ..sent
    };
    assert_eq!(epoch(Some(older)), sent.epoch);
    let newer = Version {
        epoch: sent.epoch + 7,
        n: 2,
    };
    assert_eq!(epoch(Some(newer)), newer.epoch + 1);
}

/// A running task that owes D1 a row from `flush` on, and another task a word from `debt` on.
fn owing(flush: Option<u64>, debt: Option<u64>) -> Object {
    let mut object = Object::default();
    object.begun(T0, "a");
    let task = change(&mut object);
    if let Some(at) = flush {
        task.outbox.owed_n = task.version.n;
        task.outbox.next_ms = at;
    }
    if let Some(at) = debt {
        let child = TaskKey::new(TaskKind::Function, "child", "", "c").task_id();
        task.debts.list.push(Debt::Cancel(child));
        task.debts.next_ms = at;
    }
    task.armed_ms = None;
    object
}

#[test]
fn the_alarm_does_what_is_due_and_rings_again_for_what_is_not() {
    let now = T0 + 100;
    let guard = now + 2 * FLUSH_TIMEOUT_MS;
    let lease = T0 + LEASE;
    for (flush, debt, does, rings) in [
        (None, None, vec![], lease),
        (Some(now), None, vec![Effect::Flush], guard),
        (Some(now + 1), None, vec![], now + 1),
        (None, Some(now), vec![Effect::PayDebts], guard),
        (None, Some(now + 1), vec![], now + 1),
        (
            Some(now),
            Some(now),
            vec![Effect::PayDebts, Effect::Flush],
            guard,
        ),
        (Some(now), Some(now + 5), vec![Effect::Flush], now + 5),
        (Some(now + 5), Some(now), vec![Effect::PayDebts], now + 5),
        (Some(lease + 9), Some(lease + 9), vec![], lease),
    ] {
        let mut object = owing(flush, debt);
        let due = [flush, debt, Some(lease)].into_iter().flatten().min();
        assert_eq!(Some(next_due_ms(object.task())), due);
        let out = object.alarm(now);
        assert!(is_unchanged(&out));
        assert_eq!(alarms(&out.effects), [rings], "{flush:?} {debt:?}");
        let acts = |e: &&Effect| !matches!(e, Effect::SetAlarm { .. });
        let acts: Vec<&Effect> = out.effects.iter().filter(acts).collect();
        assert_eq!(acts, does.iter().collect::<Vec<_>>(), "{flush:?} {debt:?}");
    }
}

#[test]
fn what_has_ended_and_owes_its_end_rings_for_that_alone() {
    let (mut object, _) = ended(T0 + 1);
    object.flushed(T0 + 2);
    let at = expires(&object);
    let parent = Parent {
        task_id: TaskKey::new(TaskKind::Function, "parent", "", "p").task_id(),
        generation: T0,
        step: id("child"),
    };
    let task = change(&mut object);
    task.debts.list.push(Debt::End(parent));
    task.debts.next_ms = at + 50;
    task.armed_ms = None;
    // Not due, and kept beyond its time: it rings for the debt.
    let out = object.clone().alarm(at + 10);
    assert!(forgets(&out.effects).is_empty());
    assert_eq!(alarms(&out.effects), [at + 50]);
    let out = object.clone().alarm(at + 50);
    assert!(out.effects.contains(&Effect::PayDebts) && forgets(&out.effects).is_empty());
    assert_eq!(alarms(&out.effects), [at + 50 + 2 * FLUSH_TIMEOUT_MS]);
    assert_eq!(next_due_ms(object.task()), at + 50);
    // Its time is up before a try would be repeated: it looks again then.
    change(&mut object).debts.next_ms = at - 5;
    let out = object.alarm(at - 5);
    assert!(out.effects.contains(&Effect::PayDebts));
    assert_eq!(alarms(&out.effects), [at]);
}

#[test]
fn an_alarm_that_moves_a_task_on_leaves_a_flush_that_is_under_way() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.suspend(T0 + 1, "s", &first, true);
    let due = object.task().ticket.as_ref().expect("a ticket").due_ms;
    for (owes, next, flushes) in [
        (true, due + 1, false),
        (true, due, true),
        (false, due + 1, false),
        (false, due, false),
    ] {
        let mut object = object.clone();
        let task = change(&mut object);
        task.outbox.next_ms = next;
        task.outbox.owed_n = if owes { task.version.n } else { 0 };
        let out = object.alarm(due);
        assert!(!is_unchanged(&out), "another ticket");
        let flushed = out.effects.contains(&Effect::Flush);
        assert_eq!(flushed, flushes, "{owes} {next}");
    }
}

#[test]
fn the_alarm_of_what_waits_for_its_time_alone_is_set_once() {
    let (mut object, _) = ended(T0 + 1);
    let out = object.flushed(T0 + 2);
    assert_eq!(alarms(&out.effects), [expires(&object)]);
    // The task is written once more: its alarm is not.
    let parent = |name: &str| Parent {
        task_id: TaskKey::new(TaskKind::Function, "parent", "", name).task_id(),
        generation: T0,
        step: id("child"),
    };
    let p = parent("p");
    change(&mut object).parents.push(p.clone());
    let event = Event::Abandon {
        op: "gone".to_owned(),
        parent: p.task_id,
    };
    let out = object.at(T0 + 3, event);
    assert!(!is_unchanged(&out));
    assert!(alarms(&out.effects).is_empty(), "{:?}", out.effects);
    assert_eq!(NEVER_MS, 9_007_199_254_740_991, "exact in every client");
}

#[test]
fn so_many_signals_and_no_more() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let full = |object: &mut Object, id: &str| {
        let out = object.signal(T0 + 1, "go", id, "7");
        out.reply == Reply::MailboxFull
    };
    change(&mut object).signals = MAX_SIGNALS - 1;
    assert!(!full(&mut object, "1"), "the last one");
    assert_eq!(object.task().signals, MAX_SIGNALS);
    assert!(full(&mut object, "2"));
    let unread = |n: usize| Unread {
        name: "other".to_owned(),
        id: n.to_string(),
    };
    let task = change(&mut object);
    task.signals = 0;
    task.unread = (1..MAX_UNREAD).map(unread).collect();
    assert!(!full(&mut object, "3"), "the last one");
    assert!(full(&mut object, "4"));
    // What is waited for has room.
    change(&mut object).unread = (0..MAX_UNREAD).map(unread).collect();
    object.wait(T0 + 2, ("s", 1), &first, vec![signal_wait("go", None)]);
    assert!(!full(&mut object, "5"));
}

#[test]
fn attempts_wait_longer_and_longer_lost_leases_one_less() {
    let backoff = |attempts: u32| {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        change(&mut object).policy.max_attempts = 10;
        change(&mut object).attempts = attempts;
        let mut lost = object.clone();
        object.finish(T0 + 1, "f", &first.proof, retryable());
        lost.alarm(T0 + LEASE);
        let due = |object: &Object, from: u64| match object.task().state {
            State::Suspended(Waiting::BackingOff { due_ms }) => Some(due_ms - from),
            _ => None,
        };
        (due(&object, T0 + 1), due(&lost, T0 + LEASE))
    };
    let ms = ATTEMPT_BACKOFF_MS;
    // The fixture's jitter keeps the longest wait.
    let full = Moment::at(T0).fresh.jitter;
    let wait = |ms: u64| ms - ms / 4 + jittered(ms / 4, full);
    assert_eq!(backoff(1), (Some(wait(ms)), None));
    assert_eq!(backoff(2), (Some(wait(2 * ms)), Some(wait(ms))));
    assert_eq!(backoff(3), (Some(wait(4 * ms)), Some(wait(2 * ms))));
    assert_eq!(jittered(1_000, 2_000), 1_000, "never more than all of it");
    assert_eq!(jittered(1_000, 999), 999);
    assert_eq!(jittered(1_000, 0), 0);
}

#[test]
fn the_soonest_wait_is_what_the_alarm_is_set_to() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let sleep = wait_for("nap", WaitFor::Sleep { due_ms: T0 + 900 });
    let retry = wait_for("try", WaitFor::Retry { due_ms: T0 + 800 });
    let waits = vec![signal_wait("go", None), sleep, retry];
    object.wait(T0 + 1, ("s", 1), &first, waits);
    assert_eq!(next_due_ms(object.task()), T0 + 800);
    object.alarm(T0 + 800);
    assert_eq!(object.task().state, State::Suspended(Waiting::Ready));
    // The time of a try is no progress: the claim that waited was taken back, and comes again.
    assert_eq!(object.task().attempts, 0);
    assert_eq!(policy().max_attempts, 3);
}

#[test]
fn the_first_wait_for_a_claim_is_whole_and_later_ones_lose_up_to_half() {
    let moment = |ms: u64, jitter: u32| {
        let mut moment = Moment::at(ms);
        moment.fresh.jitter = jitter;
        moment
    };
    let first = limits::TICKET_UNCLAIMED_MS;
    for (jitter, second) in [(0, first), (500, first * 3 / 2), (1_000, 2 * first)] {
        let mut object = Object::default();
        let begin = Begin {
            claims: false,
            ..begin("a")
        };
        object.at_moment(&moment(T0, jitter), Event::Begin(Box::new(begin)));
        let due = |object: &Object| object.task().ticket.as_ref().map(|t| t.due_ms);
        assert_eq!(due(&object), Some(T0 + first), "{jitter}");
        let at = T0 + first;
        object.at_moment(&moment(at, jitter), Event::AlarmFired);
        assert_eq!(due(&object), Some(at + second), "{jitter}");
        assert_eq!(object.task().dispatches, 2);
    }
}

#[test]
fn what_a_letter_or_a_timeout_records_comes_behind_all_that_its_slice_did() {
    let mut object = Object::default();
    object.begun(T0, "a");
    object.alarm(T0 + LEASE);
    let second = object.claimed(T0 + LEASE + 1, "b");
    let now = T0 + LEASE + 2;
    object.record(now, &second.proof, vec![value("x")]);
    let waits = vec![signal_wait("go", None), signal_wait("stop", Some(now + 50))];
    object.wait(now, ("s", 1), &second, waits);
    object.signal(now + 10, "go", "1", "7");
    let third = object.claimed(now + 20, "c");
    let waits = vec![signal_wait("stop", Some(now + 50))];
    object.wait(now + 20, ("t", 1), &third, waits);
    object.alarm(now + 50);
    let order = |name: &str| {
        let journal = object.journal();
        let record = journal.iter().find(|r| r.id.name == name);
        record.map(|r| (r.kind, r.fence, r.place, r.at_ms))
    };
    let wanted = (Kind::Signal, 2, u32::MAX, now + 10);
    assert_eq!(order("go"), Some(wanted));
    let wanted = (Kind::Signal, 3, u32::MAX, now + 50);
    assert_eq!(order("stop"), Some(wanted));
    assert_eq!(order("x"), Some((Kind::Step, 2, 0, now)));
}
