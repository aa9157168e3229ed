//! What operators are told of: once each, and whatever dies in between.

use crate::protocol_fixture::{Object, T0, signal_wait, token};
use onceward::protocol::{
    Claimed, Debt, Effect, Event, Finish, Moment, NotUndone, Notice, Transition, Undone, Verdict,
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
    let place = |wanted: &Effect| out.effects.iter().position(|effect| effect == wanted);
    assert!(
        place(&Effect::PayDebts) < place(&Effect::Flush),
        "{:?}",
        out.effects
    );
    // Not heard of: the alarm sees to it, and only then is it forgotten.
    let due_ms = object.task().debts.next_ms;
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
    object.at_moment(&watched(T0 + 3), Event::Poke);
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

#[test]
fn a_poke_without_a_watch_tells_nobody() {
    let mut object = Object::default();
    waiting(&mut object);
    let since = object.task().updated_ms;
    object.at(since + 10 * WATCH.waiting_ms, Event::Poke);
    assert!(owed(&object).is_empty());
}
