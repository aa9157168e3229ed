//! What D1 is owed, when the alarm rings, when a task is forgotten, and what all of it costs.

use crate::protocol_fixture::{
    LEASE, Object, T0, alarms, begin, is_unchanged, succeeded, token, tombstone, value,
};
use onceward::limits;
use onceward::protocol::{
    Effect, Event, Moment, Next, Reply, State, Waiting, attempt_backoff_ms, flush_backoff_ms,
    handle, next_due_ms,
};

/// The row of D1 stays above its tombstone, should the task live on after a clock stepped back.
#[test]
fn a_live_row_beats_the_tombstone_that_was_sent_before() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.lose_all(T0, &first);
    let placed = tombstone(&object);
    let expires = object.task().expires_ms.expect("an expiry");
    let out = object.alarm(expires);
    assert_eq!(out.effects, vec![Effect::Forget { version: placed }]);
    // The clock steps back, and the object lost its memory of it.
    object.begun(expires - 10, "b");
    assert!(object.task().version > placed);
    let out = object.at(expires - 5, Event::TombstoneAcked(placed));
    assert!(is_unchanged(&out), "nothing is deleted");
    assert_eq!(alarms(&out.effects).len(), 1, "its due time is armed");
}

#[test]
fn a_tombstone_in_d1_is_no_acknowledgement_of_a_row() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0 + 1, "f", &first.proof, succeeded());
    let sent = object.task().version;
    let holds = tombstone(&object);
    let out = object.at(T0 + 2, Event::Flushed { sent, holds });
    assert!(object.task().outbox.is_owing());
    assert!(object.task().version > holds);
    assert!(out.effects.contains(&Effect::Flush));
    // D1 that is always ahead is not asked in a circle.
    let sent = object.task().version;
    let holds = tombstone(&object);
    let out = object.at(T0 + 3, Event::Flushed { sent, holds });
    assert!(!out.effects.contains(&Effect::Flush));
    assert!(object.task().outbox.next_ms > T0 + 3);
}

/// Forgotten and begun again within one millisecond: both have the same epoch.
#[test]
fn a_tombstone_of_the_same_epoch_is_no_acknowledgement_either() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0, "f", &first.proof, succeeded());
    object.at(T0, Event::Delete);
    let placed = tombstone(&object);
    object.at(T0, Event::TombstoneAcked(placed));
    let second = object.begun(T0, "b");
    object.suspend(T0, "s", &second, true);
    let sent = object.task().version;
    object.claimed(T0, "c");
    assert!(sent < placed && placed < object.task().version);
    let holds = placed;
    object.at(T0, Event::Flushed { sent, holds });
    assert!(object.task().outbox.is_owing());
    assert!(object.task().version.epoch > placed.epoch);
}

/// An alarm that rings before its time is used up, though the row says that it is still to come.
#[test]
fn an_alarm_that_rings_early_is_not_trusted_by_what_follows() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0, "f", &first.proof, succeeded());
    let expires = object.task().expires_ms.expect("an expiry");
    object.flushed(expires);
    assert_eq!(object.task().armed_ms, Some(expires + 1));
    let out = object.alarm(expires);
    assert!(matches!(out.effects[0], Effect::Forget { .. }));
    assert_eq!(alarms(&out.effects), vec![expires + 1]);
    let out = object.begin(expires, "b");
    assert_eq!(alarms(&out.effects), vec![expires + LEASE]);
}

#[test]
fn a_task_from_begin_to_forgotten_has_two_alarms_and_three_writes() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let steps = vec![value("pay")];
    let duplicate = object.begin(T0 + 5, "b");
    assert!(is_unchanged(&duplicate) && duplicate.effects.is_empty());
    let out = object.finish_with(T0 + 10, "f", &first.proof, steps, succeeded());
    assert_eq!(alarms(&out.effects), Vec::<u64>::new());
    object.flushed(T0 + 20);
    let expires = object.task().expires_ms.expect("an expiry");
    assert_eq!(alarms(&object.effects), vec![T0 + LEASE, expires]);
    object.alarm(expires);
    let placed = tombstone(&object);
    object.at(expires + 1, Event::TombstoneAcked(placed));
    assert!(object.task.is_none());
    assert_eq!(object.puts, 3);
    assert_eq!(alarms(&object.effects).len(), 2);
    let count = |wanted: fn(&Effect) -> bool| object.effects.iter().filter(|e| wanted(e)).count();
    assert_eq!(count(|e| matches!(e, Effect::PutStep(_))), 1);
    assert_eq!(count(|e| matches!(e, Effect::Flush)), 1);
    assert_eq!(count(|e| matches!(e, Effect::Forget { .. })), 1);
}

#[test]
fn a_record_costs_its_rows_only() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let out = object.record(T0 + 1, &first.proof, vec![value("x"), value("x")]);
    assert!(is_unchanged(&out));
    assert_eq!(
        out.effects.len(),
        1,
        "the first of two outcomes in a message"
    );
}

#[test]
fn an_alarm_that_rings_early_sets_itself_without_a_write_of_the_task() {
    let mut object = Object::default();
    object.begun(T0, "a");
    let out = object.alarm(T0 + 10);
    assert!(is_unchanged(&out));
    assert_eq!(alarms(&out.effects), vec![T0 + LEASE]);
}

#[test]
fn the_alarm_is_never_put_behind_the_time_that_the_row_knows() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.suspend(T0 + 1, "s", &first, true);
    let known = object.task().armed_ms.expect("armed");
    let second = object.claimed(T0 + 2, "b");
    for event in [Event::AlarmFired, Event::Poke] {
        let out = object.clone().at(T0 + 3, event);
        assert_eq!(alarms(&out.effects), vec![known]);
    }
    // Else this ticket would trust an alarm that is no longer there.
    let out = object.suspend(T0 + 4, "t", &second, true);
    assert_eq!(alarms(&out.effects), Vec::<u64>::new());
    assert!(next_due_ms(object.task()) >= known);
}

#[test]
fn a_poke_heals_a_lost_alarm() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let out = object.at(T0 + 1, Event::Poke);
    assert_eq!(alarms(&out.effects), vec![T0 + LEASE]);
    object.finish(T0 + 2, "f", &first.proof, succeeded());
    object.flushed(T0 + 3);
    let expires = object.task().expires_ms.expect("an expiry");
    let out = object.at(expires, Event::Poke);
    assert!(matches!(out.effects[0], Effect::Forget { .. }));
    assert_eq!(
        alarms(&out.effects).len(),
        1,
        "a cut off poke is not repeated"
    );
}

#[test]
fn a_flush_that_is_not_heard_of_is_sent_again_by_the_alarm() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0 + 10, "f", &first.proof, succeeded());
    let out = object.alarm(T0 + LEASE);
    assert!(is_unchanged(&out));
    assert_eq!(out.effects[0], Effect::Flush);
    assert_eq!(
        alarms(&out.effects),
        vec![T0 + LEASE + 2 * limits::FLUSH_TIMEOUT_MS]
    );
}

#[test]
fn a_failed_tombstone_deletes_the_payload_and_keeps_the_debt() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0 + 1, "f", &first.proof, succeeded());
    let expires = object.task().expires_ms.expect("an expiry");
    let sent = tombstone(&object);
    let out = object.at(expires, Event::TombstoneFailed { sent, holds: None });
    assert!(out.effects.contains(&Effect::DropPayload));
    let task = object.task();
    assert_eq!(task.state, State::Forgotten);
    assert!(task.answer.is_none() && task.failure.is_none() && task.fingerprint.is_none());
    let out = object.at(expires + 1, Event::TombstoneAcked(sent));
    assert!(matches!(out.next, Next::Gone));
}

#[test]
fn duplicates_counted_in_memory_belong_to_their_generation() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let proof = first.proof;
    let mut moment = Moment::at(T0 + 1);
    moment.duplicates = 2;
    object.finish(T0 + 1, "f", &proof, succeeded());
    let delete = handle(object.task.clone(), Event::Delete, &moment);
    let Next::Put(task) = delete.next else {
        panic!("wanted a write, got {:?}", delete.next);
    };
    assert_eq!(task.duplicates, 2);
    let again = Event::Begin(Box::new(begin("b")));
    let Next::Put(task) = handle(Some(*task), again, &moment).next else {
        panic!("wanted a new task");
    };
    assert_eq!(task.duplicates, 0);
    assert_eq!(task.begin_op, Some(token("b")));
}

#[test]
fn backoffs_grow_up_to_their_longest_and_are_never_0() {
    let grow = |wait: fn(u32, u32) -> u64, most: u64| {
        for jitter in [0, 1, 500, 1_000, u32::MAX] {
            let waits: Vec<u64> = (1..100).map(|n| wait(n, jitter)).collect();
            assert!(waits.iter().all(|ms| (1..=most).contains(ms)), "{waits:?}");
            assert!(waits.is_sorted(), "{waits:?}");
            assert_eq!(wait(u32::MAX, jitter), waits[98]);
        }
        assert_eq!(wait(u32::MAX, 1_000), most);
        assert!(wait(0, 0) >= 1);
    };
    grow(attempt_backoff_ms, limits::ATTEMPT_BACKOFF_MAX_MS);
    grow(flush_backoff_ms, limits::FLUSH_BACKOFF_MAX_MS);
}

#[test]
fn unclaimed_tickets_are_replaced_after_10_s_then_up_to_15_min() {
    for jitter in [0, 1_000] {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        object.suspend(T0 + 1, "s", &first, true);
        object.flushed(T0 + 1);
        let mut at = T0 + 1;
        let mut last = 0;
        for n in 0..40 {
            let due = next_due_ms(object.task());
            assert!(due - at >= last && due - at <= limits::TICKET_BACKOFF_MAX_MS);
            assert!(n > 0 || due - at == limits::TICKET_UNCLAIMED_MS);
            (last, at) = (due - at, due);
            let mut moment = Moment::at(at);
            moment.fresh.jitter = jitter;
            let out = handle(object.task.clone(), Event::AlarmFired, &moment);
            let Next::Put(task) = out.next else {
                panic!("wanted a new ticket, got {:?}", out.next);
            };
            object.task = Some(*task);
        }
        assert!(last >= limits::TICKET_BACKOFF_MAX_MS / 2);
    }
    let mut task = Object::default();
    task.begun(T0, "a");
    let mut task = task.task.expect("a task");
    (task.state, task.dispatches) = (State::Suspended(Waiting::Ready), u32::MAX);
    let out = handle(Some(task), Event::AlarmFired, &Moment::at(T0));
    assert!(matches!(out.next, Next::Put(_)), "no overflow");
}

/// The alarm waits for D1, up to its limit; nobody else shall wait with it.
#[test]
fn a_flush_is_the_last_of_what_is_carried_out() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let out = object.clone().alarm(T0 + LEASE);
    assert!(matches!(out.effects[0], Effect::Dispatch { .. }));
    assert_eq!(out.effects[1], Effect::Flush);
    let out = object.finish(T0 + 1, "f", &first.proof, succeeded());
    let end = &out.effects[out.effects.len() - 2..];
    assert_eq!(end, [Effect::WakeJoined, Effect::Flush]);
}

/// Each half of the condition under which everything is deleted.
#[test]
fn a_tombstone_deletes_only_what_it_stands_for_and_only_when_its_time_is_up() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0 + 1, "f", &first.proof, succeeded());
    let of_first = tombstone(&object);
    let expires = object.task().expires_ms.expect("an expiry");
    let early = object
        .clone()
        .at(expires - 1, Event::TombstoneAcked(of_first));
    assert!(is_unchanged(&early), "the clock stepped back");

    let second = object.begun(expires, "b");
    object.finish(expires + 1, "g", &second.proof, succeeded());
    let later = object.task().expires_ms.expect("an expiry");
    let late = object.clone().at(later, Event::TombstoneAcked(of_first));
    assert!(is_unchanged(&late), "another task stands here");
    let of_second = tombstone(&object);
    let out = object.at(later, Event::TombstoneAcked(of_second));
    assert_eq!(out.next, Next::Gone);
}

#[test]
fn the_living_are_not_deleted() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let mut waiting = object.clone();
    waiting.suspend(T0 + 1, "s", &first, true);
    for mut living in [object, waiting] {
        let out = living.at(T0 + 2, Event::Delete);
        assert!(is_unchanged(&out) && out.effects.is_empty());
        assert!(matches!(out.reply, Reply::InProgress(_)));
    }
}
