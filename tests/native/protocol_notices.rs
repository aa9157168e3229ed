//! What operators are told of: once each, and whatever dies in between.

use crate::protocol_fixture::{Object, T0, done, id, signal_wait, suspend, token};
use onceward::limits::FLUSH_TIMEOUT_MS;
use onceward::protocol::{
    Claimed, Debt, Effect, Event, Finish, Mismatch, Moment, NotUndone, Notice, Suspend, Transition,
    Undone, Verdict,
};
use onceward::types::{Failure, NoticeKind, Watch};

const WATCH: Watch = Watch { waiting_ms: 60_000 };

fn watched(ms: u64) -> Moment {
    Moment {
        watch: Some(WATCH),
        ..Moment::at(ms)
    }
}

fn owed(object: &Object) -> Vec<NoticeKind> {
    let debts = object.task().debts.list.iter();
    debts
        .filter_map(|debt| match debt {
            Debt::Notice(notice) => Some(notice.kind),
            Debt::End(_) | Debt::Cancel(_) => None,
        })
        .collect()
}

fn finish(claimed: &Claimed) -> Finish {
    Finish {
        op: token("f"),
        proof: claimed.proof.clone(),
        steps: Vec::new(),
        known: Vec::new(),
        verdict: Verdict::Failed(Failure::terminal("x", "y")),
    }
}

fn fails(object: &mut Object, ms: u64, watch: Option<Watch>) -> Transition {
    let claimed = object.begun(ms, "a");
    let finish = finish(&claimed);
    let moment = Moment {
        watch,
        ..Moment::at(ms + 1)
    };
    object.at_moment(&moment, Event::Finish(Box::new(finish)))
}

#[test]
fn a_failure_is_owed_in_the_step_that_makes_it_one() {
    let mut object = Object::default();
    let out = fails(&mut object, T0, Some(WATCH));
    assert_eq!(owed(&object), [NoticeKind::Failed]);
    let told: Vec<&Effect> = out
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::PayDebts | Effect::Flush))
        .collect();
    assert_eq!(told, [&Effect::PayDebts, &Effect::Flush]);
    // Not heard of: the alarm sees to it, and only then is it forgotten.
    let due_ms = object.task().debts.next_ms;
    assert_eq!(due_ms, T0 + 1 + FLUSH_TIMEOUT_MS);
    let out = object.at_moment(&watched(due_ms), Event::AlarmFired);
    assert!(out.effects.contains(&Effect::PayDebts));
    let notice = Debt::Notice(Notice {
        kind: NoticeKind::Failed,
        at_ms: T0 + 1,
    });
    object.at_moment(&watched(due_ms + 1), Event::DebtPaid(notice));
    assert!(owed(&object).is_empty());
}

#[test]
fn where_nobody_wants_to_know_nothing_is_owed() {
    let mut object = Object::default();
    fails(&mut object, T0, None);
    assert!(owed(&object).is_empty());
    let mut quiet = Object::default();
    let claimed = quiet.begun(T0, "a");
    quiet.task.as_mut().expect("a task").policy.quiet = true;
    let finish = finish(&claimed);
    quiet.at_moment(&watched(T0 + 1), Event::Finish(Box::new(finish)));
    assert!(owed(&quiet).is_empty());
}

#[test]
fn what_could_not_be_undone_is_told_beside_the_failure() {
    let mut object = Object::default();
    fails(&mut object, T0, None);
    let left = NotUndone {
        step: None,
        code: "x".into(),
        message: String::new(),
    };
    let task = object.task.as_mut().expect("a task");
    task.undone = Some(Undone {
        at_ms: T0 + 2,
        not_undone: vec![left],
    });
    // What was so before the event is not told again.
    let sent = object.task().version;
    let puts = object.puts;
    object.at_moment(&watched(T0 + 3), Event::Flushed { sent, holds: sent });
    assert!(object.puts > puts, "it is written");
    assert!(owed(&object).is_empty());
}

fn waiting(object: &mut Object) {
    let claimed = object.begun(T0, "a");
    object.wait(
        T0 + 1,
        ("s", 1),
        &claimed,
        vec![signal_wait("approval", None)],
    );
}

#[test]
fn a_long_wait_is_told_once_for_each_wait() {
    let mut object = Object::default();
    waiting(&mut object);
    let since = object.task().updated_ms;
    object.at_moment(&watched(since + WATCH.waiting_ms - 1), Event::Poke);
    assert!(owed(&object).is_empty());
    object.at_moment(&watched(since + WATCH.waiting_ms), Event::Poke);
    assert_eq!(owed(&object), [NoticeKind::Waiting]);
    for later in 1..5 {
        object.at_moment(&watched(since + later * WATCH.waiting_ms), Event::Poke);
    }
    assert_eq!(owed(&object), [NoticeKind::Waiting]);
    let still = object.task().clone();
    assert_eq!(still.updated_ms, since, "it waits as long as it has");
}

/// Whoever was told of one wait is told of the next one as well.
#[test]
fn a_second_wait_is_told_as_well() {
    let mut object = Object::default();
    waiting(&mut object);
    let since = object.task().updated_ms;
    object.at_moment(&watched(since + WATCH.waiting_ms), Event::Poke);
    object.signal(since + WATCH.waiting_ms + 1, "approval", "1", "\"yes\"");
    let claimed = object.claimed(since + WATCH.waiting_ms + 2, "b");
    object.wait(
        since + WATCH.waiting_ms + 3,
        ("t", 1),
        &claimed,
        vec![signal_wait("second", None)],
    );
    let again = object.task().updated_ms;
    object.at_moment(&watched(again + WATCH.waiting_ms - 1), Event::Poke);
    assert_eq!(owed(&object), [NoticeKind::Waiting]);
    object.at_moment(&watched(again + WATCH.waiting_ms), Event::Poke);
    assert_eq!(owed(&object), [NoticeKind::Waiting, NoticeKind::Waiting]);
}

#[test]
fn a_poke_without_a_watch_tells_nobody() {
    let mut object = Object::default();
    waiting(&mut object);
    let since = object.task().updated_ms;
    object.at(since + 10 * WATCH.waiting_ms, Event::Poke);
    assert!(owed(&object).is_empty());
}

#[test]
fn what_is_not_undone_is_told_with_the_failure() {
    let mut object = Object::default();
    let claimed = object.begun(T0, "a");
    object.record(T0 + 1, &claimed.proof, vec![done("a")]);
    let end = Event::Finish(Box::new(finish(&claimed)));
    object.at_moment(&watched(T0 + 2), end);
    assert!(owed(&object).is_empty(), "it is being undone first");
    let undoing = object.claimed(T0 + 3, "b");
    let left = NotUndone {
        step: None,
        code: "x".into(),
        message: String::new(),
    };
    let over = Finish {
        op: token("g"),
        proof: undoing.proof,
        steps: Vec::new(),
        known: Vec::new(),
        verdict: Verdict::Undone(vec![left]),
    };
    let out = object.at_moment(&watched(T0 + 4), Event::Finish(Box::new(over)));
    assert_eq!(
        owed(&object),
        [NoticeKind::Failed, NoticeKind::UndonePartially]
    );
    let pays = |effect: &&Effect| matches!(effect, Effect::PayDebts);
    assert_eq!(out.effects.iter().filter(pays).count(), 1, "both at once");
}

#[test]
fn what_is_undone_in_full_is_a_failure_and_nothing_more() {
    let mut object = Object::default();
    let claimed = object.begun(T0, "a");
    object.record(T0 + 1, &claimed.proof, vec![done("a")]);
    let end = Event::Finish(Box::new(finish(&claimed)));
    object.at_moment(&watched(T0 + 2), end);
    let undoing = object.claimed(T0 + 3, "b");
    let over = Finish {
        op: token("g"),
        proof: undoing.proof,
        steps: Vec::new(),
        known: Vec::new(),
        verdict: Verdict::Undone(Vec::new()),
    };
    object.at_moment(&watched(T0 + 4), Event::Finish(Box::new(over)));
    assert!(object.task().undone.is_some());
    assert_eq!(owed(&object), [NoticeKind::Failed]);
}

#[test]
fn a_parked_task_is_told_of_once() {
    let mut object = Object::default();
    let claimed = object.begun(T0, "a");
    let parked = Suspend {
        mismatch: Some(Box::new(Mismatch {
            index: 0,
            recorded: id("a"),
            attempted: None,
            difference: "it ended".into(),
        })),
        ..suspend("s", &claimed, false)
    };
    let park = Event::Suspend(Box::new(parked));
    object.at_moment(&watched(T0 + 1), park);
    assert_eq!(owed(&object), [NoticeKind::Stuck]);
    object.at_moment(&watched(T0 + 2), Event::Poke);
    assert_eq!(owed(&object), [NoticeKind::Stuck]);
    // It waits as well, and somebody knows.
    object.at_moment(&watched(T0 + 1 + WATCH.waiting_ms), Event::Poke);
    assert_eq!(owed(&object), [NoticeKind::Stuck]);
}
