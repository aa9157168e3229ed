//! What an author can rely on: steps, tries, intents, branches, races, changed code.

use super::author::{body, by_path, input, post, run, started, urls};
use futures::future::try_join;
use onceward::function::{Contender, Ctx, Function, OnUnknown, Retry, StepScope, Undo};
use onceward::protocol::{Kind, Outcome, State, WaitFor, Waiting};
use onceward::testing::{Action, Bench, Crashes, Reaction};
use onceward::types::Policy;
use std::future::IntoFuture as _;

fn state(bench: &Bench) -> State {
    bench.task("k").expect("a task").state
}

fn code(bench: &Bench) -> String {
    let task = bench.task("k").expect("a task");
    task.failure.expect("a failure").code
}

/// Calls `a`, tried by this policy.
fn tried(retry: Retry) -> Function {
    Function::new("tried", move |ctx: Ctx, (): ()| async move {
        let sent = ctx.fetch("a", post("a")).retry(retry).await?;
        Ok(sent.status)
    })
}

#[test]
fn a_long_wait_between_tries_suspends_and_keeps_the_count() {
    let function = tried(Retry::constant(3, 60_000)).policy_of(Policy {
        max_attempts: 1,
        ..Policy::default()
    });
    let mut bench = started(Bench::new(function).outside(|_| Reaction::status(503)));
    bench.run_for(1_000);
    let State::Suspended(Waiting::For(waits)) = state(&bench) else {
        panic!("{:?}", state(&bench));
    };
    assert!(matches!(waits[0].what, WaitFor::Retry { .. }), "{waits:?}");
    assert_eq!(waits[0].id.to_string(), "a");
    let attempts = bench.task("k").expect("a task").attempts;
    assert_eq!(attempts, 0, "a named wait takes its own claim back");
    bench.run_for(130_000);
    assert_eq!(
        urls(&bench).len(),
        3,
        "three tries in all, over suspensions"
    );
}

#[test]
fn tries_survive_a_crash() {
    let function = tried(Retry::constant(4, 10));
    let policy = Policy {
        max_attempts: 1,
        ..Policy::default()
    };
    let bench = Bench::new(function.policy_of(policy))
        .outside(|_| Reaction::status(503))
        .crash_after(Action::Record, 2);
    let bench = run(bench);
    // The crash costs the attempt; nothing more is tried, and two tries are on record.
    assert_eq!(state(&bench), State::Failed { resumable: true });
    assert_eq!(urls(&bench).len(), 2);
    let record = &bench.journal("k")[0];
    assert!(matches!(&record.outcome, Outcome::Open(open) if open.tries == 2));
    let mut bench = bench;
    bench.deliver("k", input("null")).expect("a delivery");
    bench.run_until_idle();
    assert_eq!(
        urls(&bench).len(),
        4,
        "the next delivery goes on with the third try"
    );
}

#[test]
fn a_hundred_tries_are_exactly_a_hundred() {
    let bench = Bench::new(tried(Retry::constant(100, 1)).policy_of(Policy {
        max_attempts: 1,
        ..Policy::default()
    }));
    let bench = run(bench.outside(|_| Reaction::status(500)));
    assert_eq!(urls(&bench).len(), 100);
    let keys: std::collections::BTreeSet<String> = bench
        .requests()
        .iter()
        .map(|s| s.key().to_owned())
        .collect();
    assert_eq!(keys.len(), 1, "one key for all tries");
}

#[test]
fn retry_after_and_max_elapsed_are_followed() {
    let bench = Bench::new(tried(Retry::constant(2, 10)));
    let bench = run(bench.outside(|sent| {
        if sent.nth == 1 {
            Reaction::status(429).header("retry-after", "90")
        } else {
            Reaction::status(200)
        }
    }));
    let sent = bench.requests();
    assert!(sent[1].at_ms - sent[0].at_ms >= 90_000, "{sent:?}");
    let impatient = Retry {
        max_elapsed_ms: Some(2_500),
        ..Retry::constant(100, 1_000)
    };
    let function = tried(impatient).policy_of(Policy {
        max_attempts: 1,
        ..Policy::default()
    });
    let bench = run(Bench::new(function).outside(|_| Reaction::status(500)));
    assert_eq!(urls(&bench).len(), 3, "at 0 s, 1 s and 2 s");
}

#[test]
fn statuses_that_no_retry_helps_are_terminal() {
    let bench = run(Bench::new(tried(Retry::exponential(5))).outside(|_| Reaction::status(404)));
    assert_eq!(state(&bench), State::Failed { resumable: false });
    assert_eq!(urls(&bench).len(), 1);
}

/// Charges once, with an intent.
fn charge(on_unknown: fn() -> OnUnknown<u32>) -> Function {
    Function::new("charge", move |ctx: Ctx, (): ()| async move {
        ctx.step_scoped("charge", |scope: StepScope| async move {
            scope.fetch(post("charge")).await?;
            Ok(7)
        })
        .on_unknown(on_unknown())
        .await
    })
}

#[test]
fn a_step_of_which_nothing_is_known_is_not_guessed_at() {
    let bench = Bench::new(charge(|| OnUnknown::Fail)).crash_after(Action::Fetch, 1);
    let bench = run(bench);
    assert_eq!(state(&bench), State::Failed { resumable: false });
    assert_eq!(code(&bench), "outcome_unknown");
    assert_eq!(urls(&bench), ["charge"], "never repeated");
}

#[test]
fn a_probe_decides() {
    let probe = || {
        OnUnknown::probe(|scope: StepScope| async move {
            let found = scope.send(post("probe")).await?;
            Ok((found.status == 200).then_some(7))
        })
    };
    for (status, wanted) in [(200, 1), (404, 2)] {
        let bench = Bench::new(charge(probe)).crash_after(Action::Fetch, 1);
        let bench = run(bench.outside(by_path("probe", status)));
        assert_eq!(body(&bench), "7", "probe says {status}");
        let charges = urls(&bench).iter().filter(|u| *u == "charge").count();
        assert_eq!(charges, wanted, "probe says {status}");
    }
}

#[test]
fn the_default_costs_no_intent() {
    let bench = run(Bench::new(charge(|| OnUnknown::Retry)));
    let records = bench
        .actions()
        .iter()
        .filter(|a| **a == Action::Record)
        .count();
    assert_eq!(records, 0, "its outcome goes with the finish");
    let bench = run(Bench::new(charge(|| OnUnknown::Fail)));
    let records = bench
        .actions()
        .iter()
        .filter(|a| **a == Action::Record)
        .count();
    assert_eq!(records, 1, "the intent");
}

#[test]
fn branches_keep_their_steps_apart_and_a_failure_lets_the_others_end() {
    let function = Function::new("both", |ctx: Ctx, (): ()| async move {
        let (a, b) = (ctx.branch("a"), ctx.branch("b"));
        let quick = async move { a.fetch("call", post("quick")).await };
        let slow = async move { b.fetch("call", post("slow")).undo("undo", &"slow").await };
        // The slow one is dropped here, and yet it ends and is undone.
        try_join(quick, slow).await?;
        Ok(())
    })
    .undo(
        "undo",
        |scope: StepScope, undo: Undo<String, serde_json::Value>| async move {
            assert_eq!(undo.input, "slow");
            assert_eq!(undo.outcome.expect("it happened")["status"], 200);
            scope.fetch(post("undo")).await.map(drop)
        },
    );
    let bench = run(Bench::new(function).outside(|sent| {
        let quick = sent.request.url.ends_with("quick");
        let reaction = Reaction::json(if quick { 400 } else { 200 }, "{}");
        reaction.after_ms(if quick { 10 } else { 900 })
    }));
    assert_eq!(urls(&bench), ["quick", "slow", "undo"]);
    let sent = bench.requests();
    assert!(sent[2].at_ms > sent[1].answered_ms, "undone after it ended");
    assert_eq!(state(&bench), State::Failed { resumable: false });
    assert!(
        bench
            .task("k")
            .and_then(|t| t.undone)
            .expect("undone")
            .is_complete()
    );
}

#[test]
fn the_same_name_twice_at_a_time_is_refused() {
    let function = Function::new("twice", |ctx: Ctx, (): ()| async move {
        try_join(
            ctx.fetch("a", post("1")).into_future(),
            ctx.fetch("a", post("2")).into_future(),
        )
        .await?;
        Ok(())
    });
    let bench = run(Bench::new(function));
    assert_eq!(code(&bench), "step_in_flight");
}

/// A race of three, then `d`.
fn racing() -> Function {
    Function::new("racing", |ctx: Ctx, (): ()| async move {
        let contender = |name: &'static str| {
            Contender::new(name, move |ctx: Ctx| async move {
                ctx.fetch(name, post(name)).await?;
                Ok(name.to_owned())
            })
        };
        let won = ctx
            .race(
                "fastest",
                vec![contender("b"), contender("a"), contender("c")],
            )
            .await?;
        ctx.fetch("d", post("d")).await?;
        Ok(won)
    })
}

fn race_outside(sent: &onceward::testing::Sent) -> Reaction {
    let ms = match sent.request.url.rsplit('/').next() {
        Some("a") => 1_000,
        Some("b") => 2_000,
        Some("c") => 3_000,
        _ => 1,
    };
    Reaction::status(200).after_ms(ms)
}

#[test]
fn a_race_is_won_once() {
    let bench = run(Bench::new(racing()).outside(race_outside));
    assert_eq!(body(&bench), "\"a\"");
    for url in ["a", "b", "c", "d"] {
        assert_eq!(
            urls(&bench).iter().filter(|u| *u == url).count(),
            1,
            "{url}"
        );
    }
    let sent = bench.requests();
    assert!(
        sent[3].at_ms - sent[0].at_ms < 1_500,
        "nobody waits for the losers"
    );
    let bench = Bench::new(racing())
        .outside(race_outside)
        .crash_after(Action::Fetch, 4);
    let bench = run(bench);
    assert_eq!(body(&bench), "\"a\"", "who won is on record");
    for (url, times) in [("a", 1), ("b", 1), ("c", 1), ("d", 2)] {
        assert_eq!(
            urls(&bench).iter().filter(|u| *u == url).count(),
            times,
            "{url}"
        );
    }
}

#[test]
fn a_harmless_change_goes_on_and_another_one_is_parked() {
    let first = || {
        Function::new("changes", |ctx: Ctx, (): ()| async move {
            ctx.fetch("a", post("a")).await?;
            ctx.sleep("nap", 60_000).await?;
            ctx.fetch("b", post("b")).await?;
            Ok(1)
        })
    };
    let harmless = Function::new("changes", |ctx: Ctx, (): ()| async move {
        ctx.fetch("a", post("a")).await?;
        ctx.sleep("nap", 60_000).await?;
        ctx.fetch("new", post("new")).await?;
        ctx.fetch("b", post("b")).await?;
        Ok(2)
    });
    let mut bench = started(Bench::new(first()));
    bench.run_for(1_000);
    bench.deploy(harmless);
    bench.run_until_idle();
    assert_eq!(urls(&bench), ["a", "new", "b"]);

    let breaking = Function::new("changes", |ctx: Ctx, (): ()| async move {
        ctx.fetch("before", post("before")).await?;
        ctx.fetch("a", post("a")).await?;
        ctx.sleep("nap", 60_000).await?;
        Ok(3)
    });
    let mut bench = started(Bench::new(first()));
    bench.run_for(1_000);
    bench.deploy(breaking);
    bench.run_until_idle();
    let State::Suspended(Waiting::CodeChanged(mismatch)) = state(&bench) else {
        panic!("{:?}", state(&bench));
    };
    assert_eq!(mismatch.recorded.to_string(), "a");
    assert_eq!(
        mismatch.attempted.as_ref().expect("a step").to_string(),
        "before"
    );
    assert_eq!(urls(&bench), ["a"], "nothing was done");
    bench.deploy(first());
    let retry = onceward::protocol::Retry::default();
    bench.retry("k", retry);
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Succeeded);
    assert_eq!(urls(&bench), ["a", "b"]);
}

#[test]
fn an_end_before_what_is_on_record_is_parked_and_a_kind_is_kept() {
    let first = || {
        Function::new("changes", |ctx: Ctx, (): ()| async move {
            ctx.fetch("a", post("a")).await?;
            ctx.sleep("nap", 60_000).await?;
            Ok(1)
        })
    };
    let ends = Function::new("changes", |_: Ctx, (): ()| async move { Ok(2) });
    let other_kind = Function::new("changes", |ctx: Ctx, (): ()| async move {
        ctx.sleep("a", 5).await?;
        Ok(3)
    });
    for changed in [ends, other_kind] {
        let mut bench = started(Bench::new(first()));
        bench.run_for(1_000);
        bench.deploy(changed);
        bench.run_until_idle();
        assert!(
            matches!(state(&bench), State::Suspended(Waiting::CodeChanged(_))),
            "{:?}",
            state(&bench)
        );
    }
}

#[test]
fn steps_beside_each_other_replay_in_any_order() {
    // `b` is recorded while `a` is still under way; a crash then replays `b` behind the new `a`.
    let function = Function::new("beside", |ctx: Ctx, (): ()| async move {
        let a = ctx.fetch("a", post("a")).into_future();
        let b = ctx.fetch("b", post("b")).into_future();
        let (a, b) = futures::join!(a, b);
        Ok(a?.status + b?.status)
    });
    let outside = |sent: &onceward::testing::Sent| {
        let slow = sent.request.url.ends_with('a');
        Reaction::status(200).after_ms(if slow { 500 } else { 10 })
    };
    let bench = Bench::new(function.clone())
        .outside(outside)
        .crash_after(Action::Record, 1);
    let bench = run(bench);
    assert_eq!(body(&bench), "400");
    assert_eq!(urls(&bench).iter().filter(|u| *u == "b").count(), 1);
    Crashes::of(function)
        .outside(outside)
        .everywhere(&input("null"));
}

#[test]
fn the_time_is_recorded_and_values_are_drawn_alike() {
    let function = Function::new("draws", |ctx: Ctx, (): ()| async move {
        let before = (ctx.now().await?, ctx.uuid(), ctx.random(), ctx.key("a"));
        ctx.sleep("nap", 5_000).await?;
        let sent = ctx.fetch("a", post("a")).await?;
        let _ = sent;
        assert!(before.0 > 1_700_000_000_000);
        Ok((before.1.to_string(), before.2, before.3.to_string()))
    });
    let bench = run(Bench::new(function.clone()));
    let got: serde_json::Value = serde_json::from_str(&body(&bench)).expect("JSON");
    let key = bench.requests()[0].key().trim_matches('"').to_owned();
    assert_eq!(got[2], key.as_str(), "the key that the step then has");
    let nows: Vec<_> = bench
        .journal("k")
        .into_iter()
        .filter(|r| r.kind == Kind::Now)
        .collect();
    assert_eq!(nows.len(), 1);
    Crashes::of(function).everywhere(&input("null"));
}

/// One call that takes longer than any slice.
fn patient(chooses: bool) -> Function {
    let function = Function::new("patient", move |ctx: Ctx, (): ()| async move {
        ctx.fetch("quick", post("quick")).await?;
        let step = ctx.fetch("slow", post("slow")).timeout_ms(100_000);
        let step = if chooses {
            step.on_unknown(OnUnknown::Fail)
        } else {
            step
        };
        Ok(step.await?.status)
    });
    function.policy_of(Policy::default().with_long_steps(100_000))
}

fn slow(sent: &onceward::testing::Sent) -> Reaction {
    let slow = sent.request.url.ends_with("slow");
    Reaction::status(200).after_ms(if slow { 90_000 } else { 1 })
}

#[test]
fn a_long_step_is_started_by_the_alarm_and_has_its_time() {
    let mut bench = Bench::new(patient(true)).outside(slow);
    let reply = bench.deliver("k", input("null")).expect("null is taken");
    let onceward::protocol::Reply::Stands(standing) = reply else {
        panic!("the sender is given no claim: {reply:?}");
    };
    assert_eq!(standing.summary.claims, 0, "pending");
    bench.run_until_idle();
    assert_eq!(body(&bench), "200");
    assert_eq!(urls(&bench), ["quick", "slow"]);
    let task = bench.task("k").expect("a task");
    assert_eq!(task.attempts, 1);
    let bench = run(Bench::new(patient(true))
        .outside(slow)
        .crash_after(Action::Fetch, 2));
    assert_eq!(code(&bench), "outcome_unknown");
    let bench = run(Bench::new(patient(false)).outside(slow));
    assert_eq!(code(&bench), "on_unknown_missing");
    assert_eq!(urls(&bench), ["quick"], "nothing was done");
}

#[test]
fn a_panic_in_a_step_is_an_error_of_one_attempt() {
    let function = Function::new("boom", |ctx: Ctx, (): ()| async move {
        ctx.fetch("before", post("before")).await?;
        let attempt = ctx.attempt();
        ctx.step("boom", move || async move {
            assert!(attempt > 1, "poison");
            Ok(attempt)
        })
        .await
    });
    let bench = run(Bench::new(function));
    assert_eq!(body(&bench), "2");
    assert_eq!(urls(&bench), ["before"]);
    assert_eq!(bench.ends().len(), 2, "the first slice could still say so");
}

#[test]
fn limits_are_errors_with_names() {
    let once = Policy {
        max_attempts: 1,
        ..Policy::default()
    };
    let wide = Function::new("wide", |ctx: Ctx, (): ()| async move {
        let naps = (0..=1_000).map(|n| {
            let ctx = ctx.branch(&n.to_string());
            async move { ctx.sleep("nap", 60_000).await }
        });
        ctx.all(naps).await.map(|_| ())
    });
    let bench = run(Bench::new(wide.policy_of(once.clone())));
    assert_eq!(code(&bench), "fan_out");
    let large = Function::new("large", |ctx: Ctx, (): ()| async move {
        for _ in 0..40 {
            ctx.step("mega", || async { Ok("m".repeat(1_000_000)) })
                .await?;
        }
        Ok(())
    });
    let bench = run(Bench::new(large.policy_of(once.clone())));
    assert_eq!(code(&bench), "state_too_large");
    let huge = Function::new("huge", |ctx: Ctx, (): ()| async move {
        ctx.step("huge", || async { Ok("m".repeat(1 << 20)) }).await
    });
    let bench = run(Bench::new(huge));
    assert_eq!(code(&bench), "outcome_too_large");
    let long = Function::new("long", |ctx: Ctx, (): ()| async move {
        loop {
            ctx.now().await?;
            if ctx.key("now").is_nil() {
                return Ok(());
            }
        }
    });
    let bench = run(Bench::new(long.policy_of(once)));
    assert_eq!(code(&bench), "too_many_steps");
    let deep = Function::new("deep", |ctx: Ctx, (): ()| async move {
        let mut ctx = ctx;
        for _ in 0..10 {
            ctx = ctx.branch(&"b".repeat(150));
        }
        ctx.sleep("nap", 5).await
    });
    let bench = run(Bench::new(deep));
    assert_eq!(code(&bench), "branch_name");
}
