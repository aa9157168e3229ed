//! What makes a task go on, and what is missing when it does not.

use onceward::limits;
use onceward::protocol::{
    Begin, Event, Lost, Moment, Next, State, Task, Ticket, Wait, WaitFor, Waiting, handle,
    invariant,
};
use onceward::types::{StepId, Token};

const NOW: u64 = 1_000_000;

fn running() -> Task {
    let begin: Begin = serde_json::from_value(serde_json::json!({
        "op": "op", "key": {"kind": "source", "name": "lab", "tenant": "", "key": "k"},
        "function": "f",
    }))
    .expect("a begin");
    let out = handle(None, Event::Begin(Box::new(begin)), &Moment::at(NOW));
    let Next::Put(task) = out.next else {
        panic!("begin writes")
    };
    *task
}

fn suspended(waiting: Waiting) -> Task {
    Task {
        state: State::Suspended(waiting),
        lease: None,
        ticket: Some(Ticket {
            token: Token::new("t"),
            hop: 0,
            due_ms: NOW + 10_000,
        }),
        ..running()
    }
}

fn sleeping(due_ms: u64) -> Task {
    suspended(Waiting::For(vec![Wait {
        id: StepId::new("", "s", 0),
        what: WaitFor::Sleep { due_ms },
    }]))
}

#[test]
fn every_state_is_lost_in_its_own_way() {
    for (task, at_ms, lost) in [
        (running(), NOW + limits::DEFAULT_LEASE_MS, Lost::Lease),
        (suspended(Waiting::Ready), NOW + 10_000, Lost::Ticket),
        (
            suspended(Waiting::BackingOff { due_ms: NOW + 5 }),
            NOW + 5,
            Lost::Wait,
        ),
        (sleeping(NOW + 7), NOW + 7, Lost::Wait),
    ] {
        assert_eq!(invariant(&task, Some(at_ms), NOW), None, "{lost:?}");
        assert_eq!(invariant(&task, Some(at_ms), at_ms), None, "it rings now");
        assert_eq!(invariant(&task, None, at_ms - 1), Some(Lost::Alarm));
        assert_eq!(invariant(&task, None, at_ms), Some(lost));
        let late = at_ms + limits::ALARM_SLACK_MS;
        assert_eq!(invariant(&task, Some(late), at_ms), None);
        assert_eq!(invariant(&task, Some(late + 1), at_ms), Some(lost));
        let dead = at_ms + limits::DEAD_ALARM_MS;
        assert_eq!(invariant(&task, Some(at_ms), dead), None);
        assert_eq!(invariant(&task, Some(at_ms), dead + 1), Some(lost));
    }
}

#[test]
fn a_long_sleep_is_slept_in_pieces() {
    let task = sleeping(NOW + 3 * limits::MAX_ALARM_MS);
    let first = Some(NOW + limits::MAX_ALARM_MS);
    assert_eq!(invariant(&task, first, NOW), None);
}

#[test]
fn what_only_a_signal_or_an_operator_moves_needs_no_alarm() {
    let task = suspended(Waiting::For(vec![Wait {
        id: StepId::new("", "s", 0),
        what: WaitFor::Signal {
            name: "approval".into(),
            due_ms: None,
        },
    }]));
    assert_eq!(invariant(&task, None, NOW), None);
    assert_eq!(
        invariant(&suspended(Waiting::For(Vec::new())), None, NOW),
        Some(Lost::Wait),
        "nothing names what it waits for"
    );
}

#[test]
fn what_has_no_lease_or_ticket_is_lost_whatever_the_alarm() {
    let soon = Some(NOW + 1);
    let task = Task {
        lease: None,
        ..running()
    };
    assert_eq!(invariant(&task, soon, NOW), Some(Lost::Lease));
    let task = Task {
        ticket: None,
        ..suspended(Waiting::Ready)
    };
    assert_eq!(invariant(&task, soon, NOW), Some(Lost::Ticket));
}

#[test]
fn what_is_over_needs_an_alarm_for_its_debts_and_its_end() {
    let mut task = Task {
        state: State::Succeeded,
        expires_ms: Some(NOW + 100),
        ..running()
    };
    assert_eq!(invariant(&task, Some(NOW + 100), NOW), None);
    assert_eq!(invariant(&task, None, NOW), Some(Lost::Alarm));
    task.outbox.owed_n = 2;
    task.outbox.next_ms = NOW - 1;
    assert_eq!(invariant(&task, None, NOW), Some(Lost::Debt));
}

/// Dashboards and the sweep's counters go by them.
#[test]
fn each_has_a_word_of_its_own() {
    let words: Vec<&str> = Lost::ALL.iter().map(|lost| lost.as_str()).collect();
    assert_eq!(words, ["alarm", "ticket", "lease", "wait", "debt"]);
}
