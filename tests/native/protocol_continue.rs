//! A function that starts over by its own wish, with another input.

use crate::protocol_fixture::{Object, T0, done, intent, is_unchanged, journal, terminal, value};
use onceward::protocol::{Claimed, EndsAs, NextInput, Reply, Retry, State, Transition, Verdict};
use onceward::store::journal::Purpose;

fn continued(object: &mut Object, ms: u64, holder: &Claimed, body: &[u8]) -> Transition {
    let next = NextInput {
        body: body.to_vec(),
    };
    object.finish(
        ms,
        &format!("next-{ms}"),
        &holder.proof,
        Verdict::ContinueAs(next),
    )
}

#[test]
fn a_function_that_continues_starts_over_with_another_input() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(
        T0 + 1,
        &first.proof,
        vec![value("x"), done("charge"), intent("ship")],
    );
    object.save(T0 + 2, &first.proof, 1, "7");
    object.signal(T0 + 3, "go", "1", "7");
    object.task.as_mut().expect("a task").revivals = 2;
    let out = continued(&mut object, T0 + 4, &first, b"two");
    let ticket = |out: &Transition| {
        matches!(
            out.reply,
            Reply::Suspended {
                ticket: Some(_),
                hop: 1
            }
        )
    };
    assert!(ticket(&out), "{:?}", out.reply);
    let again = continued(&mut object, T0 + 4, &first, b"two");
    assert!(is_unchanged(&again) && again.reply == out.reply);
    let task = object.task();
    assert!(task.generation > first.generation && task.key_generation == task.generation);
    assert_eq!((task.unread.len(), task.revivals, task.attempts), (1, 2, 0));
    assert!(object.journal().is_empty());
    assert_eq!(object.saved(), None);
    assert_eq!(object.input(), b"two");
    assert!(journal(&object.cells, Purpose::Replay).is_empty());
    let kept = journal(&object.cells, Purpose::Undoing);
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|r| r.generation == Some(first.generation)));
    let second = object.claimed(T0 + 5, "b");
    assert!(second.resumed, "its input is not the one of a delivery");
    // The same identities are free again, and what was kept is undone with the rest.
    object.record(T0 + 6, &second.proof, vec![done("charge")]);
    let out = continued(&mut object, T0 + 7, &second, b"three");
    assert!(matches!(out.reply, Reply::Suspended { .. }));
    let third = object.claimed(T0 + 8, "c");
    assert_eq!(journal(&object.cells, Purpose::Undoing).len(), 3);
    object.finish(T0 + 9, "f", &third.proof, terminal());
    let ends = object.task().ending.as_ref().map(|e| e.to);
    assert_eq!(ends, Some(EndsAs::Failed { restarts: false }));
    let fourth = object.claimed(T0 + 10, "d");
    object.finish(T0 + 11, "g", &fourth.proof, Verdict::Undone(Vec::new()));
    assert_eq!(object.task().state, State::Failed { resumable: false });
    object.retry(T0 + 12, Retry::default());
    assert!(journal(&object.cells, Purpose::Undoing).is_empty());
}

#[test]
fn a_cancellation_meets_the_next_generation_as_well() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0 + 1, &first.proof, vec![done("charge")]);
    continued(&mut object, T0 + 2, &first, b"two");
    object.cancel(T0 + 3, "c");
    let ends = object.task().ending.as_ref().map(|e| e.to);
    assert_eq!(
        ends,
        Some(EndsAs::Cancelled),
        "what an earlier generation did is undone"
    );
}
