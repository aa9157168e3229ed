//! What went wrong once: failures in the middle, unknown effects over several tries, odd calls.

use super::author::{body, by_path, input, post, run, started, urls};
use onceward::function::{Ctx, Failure, FetchError, Function, Retry, StepScope, Undo};
use onceward::protocol::{State, Waiting};
use onceward::testing::{Bench, Reaction, Sent};
use onceward::types::{Answer, Policy};
use std::future::IntoFuture as _;

fn state(bench: &Bench) -> State {
    bench.task("k").expect("a task").state
}

fn count(bench: &Bench, url: &str) -> usize {
    urls(bench).iter().filter(|u| *u == url).count()
}

/// Tells somebody how the work went before it fails with it.
fn notifies() -> Function {
    Function::new("notifies", |ctx: Ctx, (): ()| async move {
        let work = ctx.fetch("work", post("work")).retry(Retry::none()).await;
        ctx.fetch("notify", post("notify")).await?;
        Ok(work?.status)
    })
}

#[test]
fn a_failure_that_other_steps_followed_is_tried_again() {
    let outside = |sent: &Sent| {
        let first = sent.request.url.ends_with("work") && sent.nth == 1;
        Reaction::status(if first { 503 } else { 200 })
    };
    let bench = run(Bench::new(notifies()).outside(outside));
    assert_eq!(state(&bench), State::Succeeded, "{:?}", urls(&bench));
    assert_eq!(urls(&bench), ["work", "notify", "work"]);
}

#[test]
fn an_operator_can_retry_a_failure_that_other_steps_followed() {
    // The retry has keys of its own.
    let failed = std::cell::Cell::new(false);
    let outside = move |sent: &Sent| {
        let first = sent.request.url.ends_with("work") && !failed.replace(true);
        Reaction::status(if first { 404 } else { 200 })
    };
    let mut bench = run(Bench::new(notifies()).outside(outside));
    assert_eq!(state(&bench), State::Failed { resumable: false });
    bench.retry("k", onceward::protocol::Retry::default());
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Succeeded, "{:?}", urls(&bench));
    assert_eq!(urls(&bench), ["work", "notify", "work"]);
}

/// Charges by a step that can be undone and is tried twice.
fn charges() -> Function {
    Function::new("charges", |ctx: Ctx, (): ()| async move {
        ctx.step_scoped("charge", |scope: StepScope| async move {
            scope.fetch(post("charge")).await.map(|sent| sent.status)
        })
        .retry(Retry::constant(2, 10))
        .undo("refund", &())
        .await?;
        Ok(())
    })
    .undo_unknown(
        "refund",
        |scope: StepScope, undo: Undo<(), u16>| async move {
            assert_eq!(undo.outcome, None);
            scope.fetch(post("refund")).await.map(drop)
        },
    )
    .policy_of(Policy {
        max_attempts: 1,
        ..Policy::default()
    })
}

#[test]
fn what_one_try_left_unknown_a_later_failure_does_not_settle() {
    // The first try may have charged; the second one is turned away.
    for second in [429, 400] {
        let bench = Bench::new(charges()).outside(move |sent| {
            match (sent.request.url.ends_with("charge"), sent.nth) {
                (true, 1) => Reaction::error(FetchError::Network("cut".into())),
                (true, _) => Reaction::status(second),
                (false, _) => Reaction::status(200),
            }
        });
        let bench = run(bench);
        assert_eq!(urls(&bench), ["charge", "charge", "refund"], "{second}");
    }
}

#[test]
fn an_undo_input_that_no_row_can_hold_is_refused_before_the_step() {
    let function = Function::new("large", |ctx: Ctx, (): ()| async move {
        let large = "x".repeat(1_100_000);
        ctx.fetch("a", post("a")).undo("u", &large).await?;
        Ok(())
    })
    .undo(
        "u",
        |_: StepScope, _: Undo<String, serde_json::Value>| async move { Ok(()) },
    );
    let bench = run(Bench::new(function));
    assert_eq!(state(&bench), State::Failed { resumable: false });
    let failure = bench.task("k").expect("a task").failure.expect("a failure");
    assert_eq!(failure.code, "undo_input_too_large");
    assert!(urls(&bench).is_empty());
}

#[test]
fn an_outcome_that_cannot_be_kept_is_undone_as_unknown() {
    let function = Function::new("large", |ctx: Ctx, (): ()| async move {
        ctx.step_scoped("charge", |scope: StepScope| async move {
            scope.fetch(post("charge")).await?;
            Ok("\\\"".repeat(300_000))
        })
        .undo("refund", &())
        .await
    })
    .undo_unknown(
        "refund",
        |scope: StepScope, _: Undo<(), String>| async move {
            scope.fetch(post("refund")).await.map(drop)
        },
    );
    let bench = run(Bench::new(function));
    let failure = bench.task("k").expect("a task").failure.expect("a failure");
    assert_eq!(failure.code, "outcome_too_large");
    assert_eq!(urls(&bench), ["charge", "refund"]);
}

#[test]
fn the_answer_of_a_failed_step_survives_a_suspension() {
    let function = Function::new("declined", |ctx: Ctx, (): ()| async move {
        let paid = ctx.step("pay", || async {
            let answer = Answer::json(402, &serde_json::json!({"why": "no money"}));
            Err::<(), _>(Failure::terminal("declined", "no").with_answer(answer))
        });
        let paid = paid.await;
        ctx.sleep("nap", 60_000).await?;
        paid
    });
    let bench = run(Bench::new(function));
    assert_eq!(state(&bench), State::Failed { resumable: false });
    assert_eq!(body(&bench), r#"{"why":"no money"}"#);
}

#[test]
fn a_branch_that_was_left_does_not_go_on_when_it_is_replayed() {
    let function = Function::new("left", |ctx: Ctx, (): ()| async move {
        let (left, right) = (ctx.branch("l"), ctx.branch("r"));
        let long = async {
            for name in ["s1", "s2", "s3"] {
                left.fetch(name, post(name)).await?;
            }
            Ok(())
        };
        let short = async { right.fetch("no", post("no")).await.map(drop) };
        let ended: Result<_, Failure> = futures::try_join!(long, short);
        ctx.sleep("nap", 60_000).await?;
        Ok(ended.is_err())
    });
    let bench = Bench::new(function).outside(|sent| {
        let refused = sent.request.url.ends_with("no");
        let slow = sent.request.url.ends_with("s2");
        let ms = if slow {
            2_000
        } else if refused {
            500
        } else {
            10
        };
        Reaction::status(if refused { 404 } else { 200 }).after_ms(ms)
    });
    let bench = run(bench);
    assert_eq!(body(&bench), "true");
    assert_eq!(urls(&bench).len(), 3, "{:?}", urls(&bench));
    assert_eq!(count(&bench, "s3"), 0);
}

#[test]
fn an_intent_that_nothing_came_of_is_not_undone() {
    let function = Function::new("left", |ctx: Ctx, (): ()| async move {
        let charge = ctx.fetch("charge", post("charge")).undo("refund", &());
        let refused = async { Err::<(), _>(Failure::terminal("no", "no")) };
        futures::try_join!(charge.into_future(), refused)?;
        Ok(())
    })
    .undo(
        "refund",
        |_: StepScope, _: Undo<(), serde_json::Value>| async move { Ok(()) },
    );
    let bench = run(Bench::new(function));
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, State::Failed { resumable: false });
    assert!(task.undone.is_none(), "{:?}", task.undone);
    assert!(urls(&bench).is_empty());
}

#[test]
fn addresses_of_signals_are_new_after_starting_over() {
    let function = Function::new("links", |ctx: Ctx, seen: Vec<String>| async move {
        let mut seen = seen;
        for _ in 0..2 {
            seen.push(ctx.signal_url("go").expect("a secret"));
        }
        if seen.len() < 4 {
            return ctx.continue_as(&seen);
        }
        let distinct: std::collections::BTreeSet<&String> = seen.iter().collect();
        Ok(distinct.len())
    });
    let mut bench = Bench::new(function);
    bench.deliver("k", input("[]")).expect("a list");
    bench.run_until_idle();
    assert_eq!(body(&bench), "4");
}

#[test]
fn a_task_that_would_wait_for_itself_is_refused() {
    let function = Function::new("own", |ctx: Ctx, key: String| async move {
        ctx.call("own", Some(&key), &key).await.map(|_| ())
    });
    let mut bench = Bench::new(function);
    bench.deliver("k", input("\"k\"")).expect("text");
    bench.run_for(60_000);
    let failure = bench.task("k").expect("a task").failure;
    assert_eq!(failure.expect("a failure").code, "child_refused");
    assert_eq!(state(&bench), State::Failed { resumable: false });
}

#[test]
fn a_step_within_a_step_is_refused() {
    let function = Function::new("nested", |ctx: Ctx, (): ()| async move {
        let inner = ctx.clone();
        let outer = ctx.step("outer", move || {
            let inner = inner.clone();
            async move { inner.fetch("a", post("a")).await.map(|sent| sent.status) }
        });
        outer.await
    });
    let bench = run(Bench::new(function));
    let failure = bench.task("k").expect("a task").failure;
    assert_eq!(failure.expect("a failure").code, "step_in_step");
    assert!(urls(&bench).is_empty());
}

#[test]
fn a_change_that_forgets_its_progress_is_parked() {
    let first = || {
        Function::new("loops", |ctx: Ctx, (): ()| async move {
            let mut n: u32 = ctx.saved()?.unwrap_or_default();
            while n < 3 {
                ctx.fetch("page", post("page")).await?;
                n += 1;
                ctx.save(&n).await?;
            }
            // A crash right behind the save leaves nothing else on record.
            ctx.branch("rest").sleep("nap", 60_000).await?;
            Ok(n)
        })
    };
    let forgets = Function::new("loops", |ctx: Ctx, (): ()| async move {
        for _ in 0..3 {
            ctx.fetch("page", post("page")).await?;
        }
        ctx.branch("rest").sleep("nap", 60_000).await?;
        Ok(3)
    });
    let mut bench = started(Bench::new(first()));
    bench.run_for(1_000);
    assert_eq!(count(&bench, "page"), 3);
    bench.deploy(forgets);
    bench.run_until_idle();
    assert!(
        matches!(state(&bench), State::Suspended(Waiting::CodeChanged(_))),
        "{:?}",
        state(&bench)
    );
    assert_eq!(count(&bench, "page"), 3, "nothing is done twice");
    bench.deploy(first());
    bench.retry("k", onceward::protocol::Retry::default());
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Succeeded);
}

#[test]
fn another_kind_in_one_branch_parks_whatever_happens_beside() {
    let first = || {
        Function::new("beside", |ctx: Ctx, (): ()| async move {
            ctx.branch("l").fetch("a", post("a")).await?;
            ctx.branch("r").fetch("b", post("b")).await?;
            ctx.sleep("nap", 60_000).await?;
            Ok(())
        })
    };
    // `b` is met behind the new `c`, which is in doubt until then; or the other branch just fails.
    let doubted = Function::new("beside", |ctx: Ctx, (): ()| async move {
        let (left, right) = (ctx.branch("l"), ctx.branch("r"));
        let a = left.sleep("a", 5);
        let c = right.fetch("c", post("c")).into_future();
        let b = right.fetch("b", post("b")).into_future();
        let ended = futures::join!(a, c, b);
        ended.0?;
        ended.1?;
        ended.2.map(drop)
    });
    let failing = Function::new("beside", |ctx: Ctx, (): ()| async move {
        let a = ctx.branch("l");
        let a = a.sleep("a", 5);
        let b = async { Err::<(), _>(Failure::terminal("no", "no")) };
        futures::try_join!(a, b)?;
        Ok(())
    });
    for changed in [doubted, failing] {
        let mut bench = started(Bench::new(first()).outside(by_path("none", 500)));
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
fn a_loop_that_saves_is_not_stopped_by_what_lies_behind() {
    let function = Function::new("saves", |ctx: Ctx, (): ()| async move {
        let mut n: u32 = ctx.saved()?.unwrap_or_default();
        while n < 40 {
            ctx.step("page", || async { Ok("x".repeat(1_000_000)) })
                .await?;
            n += 1;
            ctx.save(&n).await?;
        }
        Ok(n)
    });
    let bench = run(Bench::new(function));
    assert_eq!(state(&bench), State::Succeeded);
}
