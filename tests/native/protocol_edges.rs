//! Branches that no other scenario takes: several records of one step in one message, a parent that asks
//! twice, a chain of long slices, a repeat of what nobody repeats.

use crate::protocol_family::{birth, parent, task_id};
use crate::protocol_fixture::{
    Object, T0, alarms, begin, child_record, failing, id, is_unchanged, policy, retryable, signal,
    signal_wait, sleep, step, succeeded,
};
use onceward::limits;
use onceward::protocol::{
    Begin, Claimed, Debt, Effect, Event, Letter, Moment, Next, Open, Outcome, Reply, State,
    StepRecord, Summary, Verdict, Version, Waiting, handle, is_lock_signal, lock_signal,
};
use onceward::types::{Policy, StepId};

fn text(name: &str, text: &str) -> StepRecord {
    step(name, Outcome::Value(text.to_owned()))
}

fn open(name: &str, tries: u32) -> StepRecord {
    let open = Open {
        tries,
        ..Open::default()
    };
    step(name, Outcome::Open(Box::new(open)))
}

pub fn at_place(place: u32, record: StepRecord) -> StepRecord {
    StepRecord { place, ..record }
}

/// Who looks at a task sees until when its lock is held; an old lease is none.
#[test]
fn the_lock_is_shown_while_it_is_held() {
    let mut object = Object::default();
    let shown = |object: &Object| Summary::of(object.task()).lease_ends_ms;
    let claimed = object.begun(T0, "a");
    let ends_ms = object.task().lease.as_ref().expect("a lease").ends_ms;
    assert_eq!(shown(&object), Some(ends_ms));
    object.suspend(T0 + 1, "s", &claimed, true);
    assert_eq!(shown(&object), None);
    let again = object.claimed(T0 + 2, "b");
    assert!(shown(&object) > Some(ends_ms));
    object.finish(T0 + 3, "f", &again.proof, succeeded());
    assert_eq!(shown(&object), None);
}

fn puts(effects: &[Effect]) -> Vec<(String, Outcome)> {
    let put = |effect: &Effect| match effect {
        Effect::PutStep(step) => Some((step.id.to_string(), step.outcome.clone())),
        _ => None,
    };
    effects.iter().filter_map(put).collect()
}

/// A child that failed resumably, and owes its parent `p` the end.
fn failed_child() -> (Object, Claimed) {
    let mut object = Object::default();
    object.at(T0, birth("a", "p", 0));
    let first = object.claimed(T0 + 1, "b");
    object.task.as_mut().expect("a task").attempts = policy().max_attempts;
    object.finish(T0 + 2, "f", &first.proof, retryable());
    assert_eq!(object.task().state, State::Failed { resumable: true });
    assert_eq!(object.task().debts.list, [Debt::End(parent("p"))]);
    (object, first)
}

#[test]
fn of_several_records_of_a_step_in_one_message_the_first_outcome_stays() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let out = object.record(
        T0 + 1,
        &first.proof,
        vec![
            text("other", "1"),
            open("pay", 1),
            open("ship", 1),
            open("pay", 2),
            text("pay", "3"),
            text("pay", "4"),
            open("pay", 5),
        ],
    );
    let value = |text: &str| Outcome::Value(text.to_owned());
    let wanted = [
        ("other".to_owned(), value("1")),
        ("ship".to_owned(), open("ship", 1).outcome),
        ("pay".to_owned(), value("3")),
    ];
    assert_eq!(puts(&out.effects), wanted);
    assert_eq!(object.outcome("pay"), Some(value("3")));
}

#[test]
fn a_failure_that_is_tried_again_keeps_a_record_only_if_its_branch_went_on() {
    let in_branch = |branch: &str, place: u32| StepRecord {
        place,
        ..StepRecord::new(
            StepId::new(branch, "later", 0),
            Outcome::Value("1".to_owned()),
        )
    };
    for (later, keeps) in [
        (None, false),
        (Some(in_branch("", 1)), false),
        (Some(in_branch("", 2)), false),
        (Some(in_branch("side", 3)), false),
        (Some(in_branch("", 3)), true),
    ] {
        let mut object = Object::default();
        let first = object.begun(T0, "a");
        let pay = at_place(2, step("pay", Outcome::Failed(failing("pay"))));
        let first_of_all = in_branch("first", 1);
        let records = [first_of_all, pay].into_iter().chain(later.clone());
        let verdict = Verdict::Failed(failing("pay"));
        object.finish_with(T0 + 1, "f", &first.proof, records.collect(), verdict);
        let journal = object.journal();
        let pay = journal.iter().find(|r| r.id == id("pay"));
        assert_eq!(pay.is_some(), keeps, "{later:?}");
        if let Some(pay) = pay {
            let Outcome::Open(open) = &pay.outcome else {
                panic!("{pay:?}");
            };
            assert_eq!(open.failure, Some(failing("pay")));
            assert_eq!(pay.opened, Some((first.proof.fence, 2)));
        }
        let others = 1 + usize::from(later.is_some());
        assert_eq!(journal.len(), others + usize::from(keeps));
    }
}

#[test]
fn a_row_that_d1_does_not_hold_yet_is_a_flush_that_failed() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.finish(T0 + 1, "f", &first.proof, succeeded());
    let sent = object.task().version;
    // An older row, and the tombstone of one: neither is the row that was sent.
    for (tries, n) in [(1, sent.n - 2), (2, sent.n - 1)] {
        let holds = Version { n, ..sent };
        let out = object.at(T0 + 2, Event::Flushed { sent, holds });
        assert!(!out.effects.contains(&Effect::Flush), "the alarm's");
        let task = object.task();
        assert_eq!(task.version, sent);
        assert_eq!(task.outbox.tries, tries);
        assert!(task.outbox.is_owing() && task.outbox.next_ms > T0 + 2);
    }
    object.flushed(T0 + 3);
    assert!(!object.task().outbox.is_owing());
}

#[test]
fn a_parent_that_is_owed_an_end_and_asks_again_waits_for_the_next_one() {
    // The message that began it, once more: nothing is owed twice.
    let (mut object, _) = failed_child();
    let again = object.at(T0 + 3, birth("a", "p", 0));
    assert!(is_unchanged(&again) && matches!(again.reply, Reply::Stands(_)));
    // The same once the end has been told: it waits again, and nothing runs.
    object.at(T0 + 4, Event::DebtPaid(Debt::End(parent("p"))));
    object.at(T0 + 5, birth("a", "p", 0));
    assert_eq!(object.task().state, State::Failed { resumable: true });
    assert_eq!(object.task().parents, [parent("p")]);
    // A new message of the parent's revives it, whether or not it has heard of the last end.
    for paid in [false, true] {
        let (mut object, _) = failed_child();
        if paid {
            object.at(T0 + 3, Event::DebtPaid(Debt::End(parent("p"))));
        }
        object.at(T0 + 4, birth("c", "p", 0));
        let task = object.task();
        assert_eq!(task.state, State::Suspended(Waiting::Ready));
        assert_eq!((task.revivals, &task.parents[..]), (1, &[parent("p")][..]));
        assert_eq!(task.debts.list.len(), usize::from(!paid));
    }
}

#[test]
fn only_so_many_parents_are_kept() {
    let mut object = Object::default();
    object.at(T0, birth("a", "p", 0));
    let parents = (1..limits::MAX_PARENTS).map(|n| parent(&n.to_string()));
    object.task.as_mut().expect("a task").parents = parents.collect();
    object.at(T0 + 1, birth("b", "last", 0));
    assert_eq!(object.task().parents.len(), limits::MAX_PARENTS);
    let out = object.at(T0 + 2, birth("c", "too many", 0));
    assert!(is_unchanged(&out) && matches!(out.reply, Reply::Stands(_)));
    assert_eq!(object.task().parents.len(), limits::MAX_PARENTS);
}

#[test]
fn an_abandoned_child_that_has_ended_stays_as_it_is_and_owes_nothing() {
    let abandon = |of: &str| Event::Abandon {
        op: "gone".to_owned(),
        parent: task_id(of),
    };
    let (mut object, _) = failed_child();
    let out = object.at(T0 + 3, abandon("q"));
    assert!(is_unchanged(&out), "nobody that it knows");
    assert_eq!(object.task().debts.list.len(), 1);
    let out = object.at(T0 + 4, abandon("p"));
    assert_eq!(out.reply, Reply::Done);
    assert_eq!(object.task().state, State::Failed { resumable: true });
    assert!(object.task().debts.list.is_empty() && object.task().cancel.is_none());
    let again = object.at(T0 + 5, abandon("p"));
    assert!(is_unchanged(&again));
}

#[test]
fn a_cancelled_child_tells_its_parent_and_its_own_child_in_one_go() {
    let mut object = Object::default();
    object.at(T0, birth("a", "p", 0));
    let first = object.claimed(T0 + 1, "b");
    let own = task_id("grandchild");
    object.record(T0 + 2, &first.proof, vec![child_record("call", own)]);
    object.cancel(T0 + 3, "stop");
    let out = object.finish(T0 + 4, "f", &first.proof, Verdict::Cancelled);
    let pays = out.effects.iter().filter(|e| **e == Effect::PayDebts);
    assert_eq!(pays.count(), 1);
    let wanted = [Debt::Cancel(own), Debt::End(parent("p"))];
    assert_eq!(object.task().debts.list, wanted);
}

#[test]
fn the_slices_of_a_long_task_are_all_started_by_the_alarm() {
    let long = Begin {
        policy: Policy {
            long_step_ms: 60_000,
            ..policy()
        },
        ..begin("a")
    };
    let mut object = Object::default();
    let out = object.at(T0, Event::Begin(Box::new(long)));
    assert!(matches!(out.reply, Reply::Stands(_)), "not the sender's");
    object.alarm(T0 + 1);
    let first = object.claimed(T0 + 2, "b");
    let out = object.suspend(T0 + 3, "s", &first, true);
    let wanted = Reply::Suspended {
        ticket: None,
        hop: 0,
    };
    assert_eq!(out.reply, wanted);
    assert_eq!(alarms(&out.effects), [T0 + 4]);
}

#[test]
fn a_letter_under_a_known_id_is_the_same_only_with_the_same_name_and_text() {
    let mut object = Object::default();
    object.begun(T0, "a");
    let told = |name: &str, text: &str| {
        let mut signal = signal("go", "1", "7");
        signal.known = Some(Letter {
            name: name.to_owned(),
            id: "1".to_owned(),
            outcome: Outcome::Value(text.to_owned()),
            at_ms: T0,
        });
        let event = Event::Signal(Box::new(signal));
        let out = handle(object.task.clone(), event, &Moment::at(T0 + 1));
        assert!(matches!(out.next, Next::Unchanged));
        out.reply
    };
    assert_eq!(told("go", "7"), Reply::Signalled { repeated: true });
    let reused = |reply| matches!(reply, Reply::KeyReused { .. });
    assert!(reused(told("go", "8")));
    assert!(reused(told("stop", "7")));
}

#[test]
fn a_suspension_sent_again_gets_what_is_settled_and_only_by_its_holder() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, vec![open("nap", 1)]);
    object.signal(T0 + 2, "go", "1", "7");
    let waits = || vec![signal_wait("go", None), sleep("nap", T0 + 1_000)];
    let once = object.wait(T0 + 3, ("s", 1), &first, waits());
    let again = object.wait(T0 + 3, ("s", 1), &first, waits());
    assert_eq!(once.reply, again.reply);
    let Reply::GoOn { records, .. } = &again.reply else {
        panic!("{:?}", again.reply);
    };
    assert_eq!((records.len(), &records[0].id), (1, &id("go")));
    // The operation alone proves nothing: without the token nobody is told what is recorded.
    let mut stranger = first.clone();
    stranger.proof.token = crate::protocol_fixture::token("guessed");
    let out = object.wait(T0 + 4, ("s", 1), &stranger, waits());
    assert!(matches!(out.reply, Reply::Suspended { ticket: None, .. }));
    let mut old = first.clone();
    old.proof.fence -= 1;
    let out = object.wait(T0 + 4, ("s", 1), &old, waits());
    assert!(matches!(out.reply, Reply::Suspended { ticket: None, .. }));
}

#[test]
fn tries_without_a_place_replace_each_other() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    for tries in [1, 2, 3] {
        let out = object.record(T0 + 1, &first.proof, vec![open("pay", tries)]);
        assert!(matches!(&out.reply, Reply::Recorded { winners, .. } if winners.is_empty()));
    }
    assert_eq!(object.outcome("pay"), Some(open("pay", 3).outcome));
}

/// Objects of two releases may speak of the same wait.
#[test]
fn the_signal_of_a_lock_has_a_name_of_its_own() {
    assert_eq!(lock_signal("6f6e"), "%lock/6f6e");
    assert!(is_lock_signal(&lock_signal("6f6e")));
    assert!(!is_lock_signal("lock/6f6e") && !is_lock_signal("%child/6f6e"));
}
