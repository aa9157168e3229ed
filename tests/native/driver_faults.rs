//! Crashes, lost replies, doubled messages and panics of one slice.

use super::driver::{chain, send, start, state, urls};
use onceward::function::{Ctx, Function, Input, Policy, SliceEnd};
use onceward::protocol::State;
use onceward::testing::Action::{Claim, Fetch, Finish, Record as Recorded, Suspend};
use onceward::testing::Bench;
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn a_lost_reply_changes_nothing() {
    let undisturbed = start(Bench::new(chain(&["a", "b"])));
    let disturbances: [fn(Bench) -> Bench; 4] = [
        |b| b.lose_reply(Recorded, 1),
        |b| b.lose_reply(Finish, 1),
        |b| b.send_twice(Recorded, 1),
        |b| b.send_twice(Finish, 1),
    ];
    for disturb in disturbances {
        let bench = start(disturb(Bench::new(chain(&["a", "b"]))));
        assert_eq!(urls(&bench), ["a", "b"]);
        assert_eq!(bench.answer("k"), undisturbed.answer("k"));
        assert_eq!(bench.task("k").expect("a task").claims, 1);
        assert!(
            matches!(bench.ends(), [SliceEnd::Ended(_)]),
            "{:?}",
            bench.ends()
        );
    }
}

#[test]
fn a_lost_reply_of_a_suspend_or_claim_costs_no_lease() {
    let policy = Policy {
        steps_per_slice: 1,
        ..Policy::default()
    };
    for action in [Suspend, Claim] {
        let function = chain(&["a", "b"]).policy_of(policy.clone());
        let bench = start(Bench::new(function).lose_reply(action, 1));
        assert_eq!(urls(&bench), ["a", "b"]);
        let task = bench.task("k").expect("a task");
        assert_eq!(
            (task.state, task.claims),
            (State::Succeeded, 2),
            "{action:?}"
        );
    }
}

#[test]
fn a_panic_right_after_a_step_keeps_its_record() {
    let calls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&calls);
    let function = Function::new("panics", move |ctx: Ctx, _: Input| {
        let calls = Rc::clone(&counted);
        async move {
            send(&ctx, "a").await?;
            calls.set(calls.get() + 1);
            assert!(calls.get() > 1, "the first time it panics");
            Ok(calls.get())
        }
    });
    let bench = start(Bench::new(function));
    assert_eq!(urls(&bench), ["a"]);
    assert_eq!(state(&bench), State::Succeeded);
    assert_eq!(calls.get(), 2);
}

#[test]
fn a_panic_before_the_first_await_is_caught() {
    let function = Function::new("panics", |_: Ctx, _: Input| {
        assert!(std::hint::black_box(false), "at once");
        async { Ok(()) }
    });
    let bench = start(Bench::new(function));
    let failure = bench.task("k").and_then(|t| t.failure).expect("a failure");
    assert_eq!(failure.code, "panic");
    assert!(failure.message.contains("at once"), "{failure}");
}

#[test]
fn a_crash_waits_for_the_lease_and_the_alarm_goes_on() {
    let bench = start(Bench::new(chain(&["a", "b"])).crash_after(Fetch, 2));
    assert_eq!(urls(&bench), ["a", "b", "b"]);
    let requests = bench.requests();
    assert_eq!(requests[1].key(), requests[2].key());
    let wait_ms = requests[2].at_ms - requests[1].at_ms;
    assert!(
        wait_ms >= 70_000,
        "{wait_ms} ms: not before the lease is over"
    );
    let task = bench.task("k").expect("a task");
    assert_eq!((task.claims, task.fence), (2, 2));
}

#[test]
fn a_lost_dispatch_is_made_good_by_the_alarm() {
    let policy = Policy {
        steps_per_slice: 1,
        ..Policy::default()
    };
    let bench = start(Bench::new(chain(&["a", "b"]).policy_of(policy)).crash_before(Claim, 1));
    assert_eq!(urls(&bench), ["a", "b"]);
    let requests = bench.requests();
    let wait_ms = requests[1].at_ms - requests[0].at_ms;
    assert!(
        wait_ms < 75_000,
        "{wait_ms} ms: a ticket is replaced long before a lease would be over"
    );
}
