//! What an author can rely on: compensation, cancellation, children.

use super::author::{body, by_path, input, post, run, started, urls};
use onceward::function::{Ctx, Failure, Fetched, Function, OnUnknown, StepScope, Undo};
use onceward::protocol::{Reply, Retry, State, Wait, WaitFor, Waiting};
use onceward::testing::{Action, Bench, Crashes, Reaction, Sent};
use onceward::types::Policy;
use serde_json::Value;

fn state(bench: &Bench) -> State {
    bench.task("k").expect("a task").state
}

fn undo_of(name: &str) -> Function {
    let _ = name;
    booking()
}

/// Three bookings, each undone by its own request; then whatever the input says.
fn booking() -> Function {
    Function::new("booking", |ctx: Ctx, end: String| async move {
        for name in ["flight", "hotel", "car"] {
            ctx.fetch(name, post(name)).undo("cancel", &name).await?;
        }
        match end.as_str() {
            "terminal" => Err(Failure::terminal("no", "not wanted")),
            "retryable" => Err(Failure::retryable("later", "not now")),
            "panic" => panic!("poison"),
            "wait" => ctx.wait_for_signal::<Value>("go").await,
            _ => Ok(Value::String(end)),
        }
    })
    .undo(
        "cancel",
        |scope: StepScope, undo: Undo<String, Fetched>| async move {
            let booked = undo.outcome.expect("what did not happen is not given here");
            assert_eq!(booked.status, 200);
            scope
                .fetch(post(&format!("undo-{}", undo.input)))
                .await
                .map(drop)
        },
    )
}

const ALL: [&str; 6] = [
    "flight",
    "hotel",
    "car",
    "undo-car",
    "undo-hotel",
    "undo-flight",
];

fn ended(end: &str, policy: Policy) -> Bench {
    let mut bench = Bench::new(booking().policy_of(policy));
    bench
        .deliver("k", input(&format!("{end:?}")))
        .expect("text");
    bench.run_until_idle();
    bench
}

#[test]
fn what_was_done_is_undone_in_reverse() {
    let once = Policy {
        max_attempts: 1,
        ..Policy::default()
    };
    for (end, resumable) in [("terminal", false), ("retryable", true), ("panic", true)] {
        let bench = ended(end, once.clone());
        assert_eq!(urls(&bench), ALL, "{end}");
        assert_eq!(state(&bench), State::Failed { resumable }, "{end}");
        let task = bench.task("k").expect("a task");
        assert!(task.undone.expect("undone").is_complete(), "{end}");
        assert!(task.ending.is_none());
        let keys: std::collections::BTreeSet<String> = bench
            .requests()
            .iter()
            .map(|s| s.key().to_owned())
            .collect();
        assert_eq!(keys.len(), 6, "an undo has a key of its own");
    }
}

#[test]
fn a_delivery_after_an_undo_starts_over_with_new_keys() {
    let once = Policy {
        max_attempts: 1,
        ..Policy::default()
    };
    let mut bench = ended("retryable", once);
    let before = bench.task("k").expect("a task");
    let reply = bench.deliver("k", input("\"fine\"")).expect("text");
    assert!(matches!(reply, Reply::Claimed(_)), "{reply:?}");
    bench.run_until_idle();
    let after = bench.task("k").expect("a task");
    assert_eq!(after.state, State::Succeeded);
    assert!(after.generation > before.generation);
    assert_eq!(after.revivals, 1);
    assert!(after.undone.is_none());
    assert_eq!(body(&bench), "\"fine\"");
    let sent = bench.requests();
    assert_eq!(sent.len(), 9);
    assert_ne!(sent[0].key(), sent[6].key(), "no goods for the old payment");
}

#[test]
fn a_success_is_undone_on_demand_and_keeps_its_answer() {
    let mut bench = ended("fine", Policy::default());
    assert_eq!(urls(&bench).len(), 3);
    bench.undo("k");
    bench.run_until_idle();
    assert_eq!(urls(&bench), ALL);
    assert_eq!(state(&bench), State::Succeeded);
    assert_eq!(body(&bench), "\"fine\"");
    assert!(
        bench
            .task("k")
            .and_then(|t| t.undone)
            .expect("undone")
            .is_complete()
    );
    bench.undo("k");
    bench.run_until_idle();
    assert_eq!(urls(&bench).len(), 6, "once");
}

#[test]
fn a_cancelled_task_is_undone() {
    let mut bench = ended("wait", Policy::default());
    assert!(matches!(state(&bench), State::Suspended(_)));
    bench.cancel("k");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Cancelled);
    assert_eq!(urls(&bench), ALL);
    bench.cancel("k");
    assert_eq!(state(&bench), State::Cancelled);
}

#[test]
fn a_running_step_ends_before_a_cancellation() {
    let mut bench = Bench::new(booking()).outside(|sent| {
        let slow = sent.request.url.ends_with("hotel");
        Reaction::json(200, "{}").after_ms(if slow { 900 } else { 5 })
    });
    bench.deliver("k", input("\"fine\"")).expect("text");
    bench.run_for(300);
    bench.cancel("k");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Cancelled);
    assert_eq!(
        urls(&bench),
        ["flight", "hotel", "undo-hotel", "undo-flight"]
    );
    let sent = bench.requests();
    assert!(sent[2].at_ms >= sent[1].answered_ms);
}

#[test]
fn an_undo_that_fails_is_named_and_the_others_still_run() {
    let mut bench = Bench::new(booking()).outside(by_path("undo-hotel", 400));
    bench.deliver("k", input("\"terminal\"")).expect("text");
    bench.run_until_idle();
    assert_eq!(urls(&bench), ALL);
    let undone = bench.task("k").and_then(|t| t.undone).expect("undone");
    let named: Vec<String> = undone
        .not_undone
        .iter()
        .map(|n| n.step.as_ref().expect("a step").to_string())
        .collect();
    assert_eq!(named, ["hotel"]);
    let mut bench = Bench::new(booking()).outside(by_path("undo-hotel", 503));
    bench.deliver("k", input("\"terminal\"")).expect("text");
    bench.run_until_idle();
    let tries = urls(&bench).iter().filter(|u| *u == "undo-hotel").count();
    assert_eq!(tries, 5, "a bounded number of tries");
    assert_eq!(urls(&bench).last().map(String::as_str), Some("undo-flight"));
}

#[test]
fn what_is_unknown_goes_only_to_a_handler_that_can_take_it() {
    let function = |takes_unknown: bool| {
        let function = Function::new("unknown", |ctx: Ctx, (): ()| async move {
            ctx.fetch("charge", post("charge"))
                .on_unknown(OnUnknown::Fail)
                .undo("refund", &1)
                .await?;
            Ok(())
        });
        let refund = |scope: StepScope, undo: Undo<u32, Fetched>| async move {
            assert!(undo.outcome.is_none());
            scope.fetch(post("refund")).await.map(drop)
        };
        if takes_unknown {
            function.undo_unknown("refund", refund)
        } else {
            function.undo("refund", refund)
        }
    };
    for takes_unknown in [true, false] {
        let bench = Bench::new(function(takes_unknown)).crash_after(Action::Fetch, 1);
        let bench = run(bench);
        let task = bench.task("k").expect("a task");
        assert_eq!(task.failure.expect("a failure").code, "outcome_unknown");
        let undone = task.undone.expect("undone");
        if takes_unknown {
            assert_eq!(urls(&bench), ["charge", "refund"]);
            assert!(undone.is_complete());
        } else {
            assert_eq!(urls(&bench), ["charge"]);
            assert_eq!(undone.not_undone[0].code, "outcome_unknown");
        }
    }
}

#[test]
fn a_step_that_is_known_to_have_failed_is_not_undone() {
    let mut bench = Bench::new(booking()).outside(by_path("car", 402));
    bench.deliver("k", input("\"fine\"")).expect("text");
    bench.run_until_idle();
    assert_eq!(
        urls(&bench),
        ["flight", "hotel", "car", "undo-hotel", "undo-flight"]
    );
    // Nothing to undo at all: the task resumes like any other.
    let once = Policy {
        max_attempts: 1,
        ..Policy::default()
    };
    let mut bench = Bench::new(booking().policy_of(once)).outside(|_: &Sent| Reaction::status(503));
    bench.deliver("k", input("\"fine\"")).expect("text");
    bench.run_until_idle();
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, State::Failed { resumable: true });
    assert!(task.undone.is_none());
}

#[test]
fn compensation_is_disturbed_at_every_point() {
    for end in ["terminal", "fine"] {
        let tried = Crashes::of(undo_of("booking"))
            .failing()
            .outside(|_: &Sent| Reaction::json(200, "{}"))
            .everywhere(&input(&format!("{end:?}")));
        assert!(tried.runs > 20, "{tried:?}");
    }
}

/// Calls `child` and answers with its body.
fn parent() -> Function {
    Function::new("parent", |ctx: Ctx, key: Option<String>| async move {
        let child: Fetched = ctx.call("child", key.as_deref(), &"in").await?;
        Ok(child.body)
    })
}

fn child() -> Function {
    Function::new("child", |ctx: Ctx, what: String| async move {
        ctx.fetch("work", post("work")).await?;
        ctx.sleep("nap", 20_000).await?;
        Ok(format!("{what} and out"))
    })
}

#[test]
fn a_child_runs_once_for_all_its_parents() {
    let mut bench = Bench::new(parent()).with(child());
    for key in ["k", "k2"] {
        bench.deliver(key, input("\"shared\"")).expect("a key");
    }
    bench.run_until_idle();
    assert_eq!(body(&bench), "\"in and out\"");
    assert_eq!(
        bench.answer("k2").expect("an answer").body,
        b"\"in and out\""
    );
    assert_eq!(urls(&bench), ["work"]);
}

#[test]
fn the_end_of_a_child_is_heard_of_though_word_is_lost() {
    let mut bench = Bench::new(parent()).with(child());
    bench.lose_debts(3);
    bench.deliver("k", input("null")).expect("no key");
    bench.run_until_idle();
    assert_eq!(body(&bench), "\"in and out\"");
    assert_eq!(urls(&bench), ["work"]);
}

#[test]
fn a_child_that_fails_or_is_cancelled_fails_the_step() {
    let mut bench = Bench::new(parent())
        .with(child())
        .outside(by_path("work", 404));
    bench.deliver("k", input("null")).expect("no key");
    bench.run_until_idle();
    let failure = bench.task("k").and_then(|t| t.failure).expect("a failure");
    assert_eq!(failure.code, "child_failed");
    assert!(failure.message.contains("404"), "{failure}");

    let mut bench = Bench::new(parent()).with(child());
    bench.deliver("k", input("null")).expect("no key");
    bench.run_for(5_000);
    bench.cancel("k");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Cancelled);
    let states: Vec<State> = bench.tasks().into_iter().map(|t| t.state).collect();
    assert_eq!(
        states,
        [State::Cancelled, State::Cancelled],
        "cancellation is passed on"
    );
}

#[test]
fn an_unknown_function_is_refused_and_start_does_not_wait() {
    let bench = run(Bench::new(parent()));
    let failure = bench.task("k").and_then(|t| t.failure).expect("a failure");
    assert_eq!(failure.code, "child_refused");
    let starter = Function::new("starter", |ctx: Ctx, (): ()| async move {
        let began: Fetched = ctx.start("child", Some("own"), &"in").await?;
        Ok(began.body["task_id"].clone())
    });
    let bench = started(Bench::new(starter).with(child()));
    let mut bench = bench;
    bench.run_for(1_000);
    let id = bench.task_of("child", "own").expect("begun").id();
    assert_eq!(body(&bench), format!("\"{id}\""));
    bench.run_until_idle();
    let child = bench.task_of("child", "own").expect("begun");
    assert_eq!(child.state, State::Succeeded);
}

#[test]
fn children_are_disturbed_at_every_point() {
    let tried = Crashes::of(parent())
        .with(child())
        .everywhere(&input("null"));
    assert!(tried.runs > 20, "{tried:?}");
}

#[test]
fn a_shared_child_outlives_the_parent_that_is_cancelled() {
    let mut bench = Bench::new(parent()).with(child());
    for key in ["k", "k2"] {
        bench.deliver(key, input("\"shared\"")).expect("a key");
    }
    bench.run_for(5_000);
    bench.cancel("k");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Cancelled);
    assert_eq!(
        bench.answer("k2").expect("an answer").body,
        b"\"in and out\""
    );
    // One that somebody else began is not a parent's to end.
    let mut bench = Bench::new(parent()).with(child());
    bench
        .deliver(("child", "shared"), input("\"in\""))
        .expect("text");
    bench.run_for(1_000);
    bench.deliver("k", input("\"shared\"")).expect("a key");
    bench.run_for(1_000);
    bench.cancel("k");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Cancelled);
    let child = bench.task_of("child", "shared").expect("a task");
    assert_eq!(child.state, State::Succeeded);
}

#[test]
fn a_key_of_the_author_is_for_one_input() {
    let two = Function::new("two", |ctx: Ctx, what: String| async move {
        let child: Fetched = ctx.call("child", Some("shared"), &what).await?;
        Ok(child.body)
    });
    let mut bench = Bench::new(two).with(child());
    bench.deliver("k", input("\"one\"")).expect("text");
    bench.deliver("k2", input("\"other\"")).expect("text");
    bench.run_until_idle();
    assert_eq!(body(&bench), "\"one and out\"");
    let failure = bench.task("k2").and_then(|t| t.failure).expect("a failure");
    assert_eq!(failure.code, "child_refused", "{failure}");
}

#[test]
fn nobody_waits_for_itself() {
    let ring = |name: &'static str, next: &'static str| {
        Function::new(name, move |ctx: Ctx, (): ()| async move {
            let child: Fetched = ctx.call(next, Some("k"), &()).await?;
            Ok(child.status)
        })
    };
    let mut bench = Bench::new(ring("a", "b"))
        .with(ring("b", "c"))
        .with(ring("c", "a"));
    bench.deliver("k", input("null")).expect("null is taken");
    bench.run_until_idle();
    for function in ["a", "b", "c"] {
        let task = bench.task_of(function, "k").expect("a task");
        assert_eq!(task.state, State::Failed { resumable: false }, "{function}");
    }
    let failure = bench.task_of("c", "k").and_then(|t| t.failure);
    assert_eq!(failure.expect("a failure").code, "child_refused");
}

#[test]
fn attempts_of_a_parent_end_though_its_child_fails_at_once() {
    let limited = |n: u32| Policy {
        max_attempts: n,
        ..Policy::default()
    };
    let quick = Function::new("child", |ctx: Ctx, (): ()| async move {
        ctx.fetch("work", post("work"))
            .retry(onceward::function::Retry::none())
            .await?;
        Ok(())
    });
    let asks = Function::new("parent", |ctx: Ctx, (): ()| async move {
        ctx.call("child", None, &()).await.map(|c| c.status)
    });
    let bench = Bench::new(asks.policy_of(limited(2)))
        .with(quick.policy_of(limited(1)))
        .outside(|_: &Sent| Reaction::status(500));
    let bench = run(bench);
    let failure = bench.task("k").and_then(|t| t.failure).expect("a failure");
    assert_eq!(
        state(&bench),
        State::Failed { resumable: true },
        "{failure}"
    );
    assert_eq!(urls(&bench).len(), 2, "one for each attempt of the parent");
}

#[test]
fn what_was_undone_in_part_does_not_begin_anew_by_itself() {
    let once = Policy {
        max_attempts: 1,
        ..Policy::default()
    };
    let mut bench = Bench::new(booking().policy_of(once)).outside(by_path("undo-hotel", 400));
    bench.deliver("k", input("\"retryable\"")).expect("text");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Failed { resumable: false });
    let before = urls(&bench).len();
    bench.deliver("k", input("\"retryable\"")).expect("text");
    bench.run_until_idle();
    assert_eq!(urls(&bench).len(), before, "nothing is paid twice");
    let undone = bench.task("k").and_then(|t| t.undone).expect("undone");
    assert_eq!(undone.not_undone.len(), 1, "and what is owed stays named");
}

#[test]
fn the_child_of_a_loser_is_cancelled() {
    let race = Function::new("race", |ctx: Ctx, (): ()| async move {
        let asks = onceward::function::Contender::new("child", |ctx: Ctx| async move {
            ctx.call("child", None, &"in").await.map(|c| c.body)
        });
        let naps = onceward::function::Contender::new("nap", |ctx: Ctx| async move {
            ctx.sleep("nap", 5_000).await?;
            Ok(Value::Null)
        });
        ctx.race("first", vec![asks, naps]).await
    });
    let bench = run(Bench::new(race).with(child()));
    assert_eq!(body(&bench), "null");
    assert!(bench.task("k").expect("a task").children.is_empty());
    let states: Vec<State> = bench.tasks().into_iter().map(|t| t.state).collect();
    assert!(states.contains(&State::Cancelled), "{states:?}");
}

/// A retry with new keys keeps what is on record, and the child with it: its own key is that of the old generation.
#[test]
fn a_retry_goes_on_waiting_for_the_child_that_is_on_record() {
    let parent = Function::new("parent", |ctx: Ctx, (): ()| async move {
        let (calls, pays) = (ctx.branch("calls"), ctx.branch("pays"));
        let child = async { calls.call("child", None, &"in").await };
        let pay = async {
            pays.sleep("first", 5_000).await?;
            pays.fetch("pay", post("pay")).await.map(drop)
        };
        let (child, ()): (Fetched, ()) = futures::try_join!(child, pay)?;
        Ok(child.body)
    });
    let child = Function::new("child", |ctx: Ctx, what: String| async move {
        ctx.sleep("nap", 100_000).await?;
        Ok(format!("{what} and out"))
    });
    let refused = |sent: &Sent| match (sent.request.url.ends_with("pay"), sent.nth) {
        (true, 1) if sent.at_ms < 1_796_000_020_000 => Reaction::status(402),
        _ => Reaction::status(200),
    };
    let mut bench = Bench::new(parent).with(child).outside(refused);
    bench.deliver("k", input("null")).expect("nothing");
    bench.run_for(20_000);
    assert_eq!(state(&bench), State::Failed { resumable: false });
    let children = bench.task("k").expect("a task").children;
    let child = children.first().expect("a child").task_id;
    bench.retry("k", Retry::default());
    bench.run_for(1_000);
    let State::Suspended(Waiting::For(waits)) = state(&bench) else {
        panic!("it waits: {:?}", state(&bench))
    };
    let of_child =
        |wait: &Wait| matches!(wait.what, WaitFor::Child { task_id, .. } if task_id == child);
    assert!(waits.iter().any(of_child), "{waits:?}");
    bench.run_until_idle();
    assert_eq!(body(&bench), "\"in and out\"", "{:?}", bench.task("k"));
}
