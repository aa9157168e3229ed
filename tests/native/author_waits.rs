//! What an author can rely on: sleeps, signals, progress, starting over.

use super::author::{body, by_path, input, post, run, started, urls};
use onceward::function::{Ctx, Failure, Function, StepScope, Undo};
use onceward::protocol::{Kind, Outcome, Reply, State, WaitFor, Waiting};
use onceward::testing::{Action, Bench, Crashes, Reaction};
use onceward::types::Policy;
use serde_json::Value;

const DAY_MS: u64 = 24 * 3_600_000;

fn state(bench: &Bench) -> State {
    bench.task("k").expect("a task").state
}

fn failure(bench: &Bench) -> Failure {
    bench.task("k").and_then(|t| t.failure).expect("a failure")
}

/// Sleeps for as long as the input says, and calls `after`.
fn sleeper() -> Function {
    Function::new("sleeper", |ctx: Ctx, ms: u64| async move {
        ctx.sleep("nap", ms).await?;
        ctx.fetch("after", post("after")).await?;
        Ok(())
    })
}

#[test]
fn sleeps_are_as_long_as_they_say() {
    for ms in [
        1,
        900,
        1_001,
        60_000,
        25 * DAY_MS,
        30 * DAY_MS,
        400 * DAY_MS,
        3_650 * DAY_MS,
    ] {
        let mut bench = Bench::new(sleeper());
        let began_ms = bench.now_ms();
        bench
            .deliver("k", input(&ms.to_string()))
            .expect("a number");
        bench.run_until_idle();
        let slept = bench.requests()[0].at_ms - began_ms;
        assert!((ms..ms + 100).contains(&slept), "{ms} ms took {slept} ms");
        assert_eq!(bench.journal("k").len(), 2, "one record for the sleep");
    }
}

#[test]
fn no_time_and_too_much_time() {
    let mut bench = Bench::new(sleeper());
    bench.deliver("k", input("0")).expect("a number");
    bench.run_until_idle();
    assert_eq!(
        bench.journal("k").len(),
        2,
        "a sleep of nothing is recorded"
    );
    assert!(!bench.actions().contains(&Action::Suspend));
    let mut bench = Bench::new(sleeper());
    bench
        .deliver("k", input(&u64::MAX.to_string()))
        .expect("a number");
    bench.run_until_idle();
    assert_eq!(failure(&bench).code, "sleep_too_long");
    let past = Function::new("past", |ctx: Ctx, (): ()| async move {
        ctx.sleep_until("yesterday", 1_000).await?;
        for _ in 0..200 {
            ctx.sleep("short", 50).await?;
        }
        Ok(())
    });
    let bench = run(Bench::new(past));
    assert_eq!(state(&bench), State::Succeeded);
    assert_eq!(bench.journal("k").len(), 201);
}

/// Waits for two signals of one name, one after the other.
fn waiter() -> Function {
    Function::new("waiter", |ctx: Ctx, timeout_ms: Option<u64>| async move {
        ctx.fetch("before", post("before")).await?;
        let wait = || ctx.wait_for_signal::<Value>("go");
        let first = match timeout_ms {
            Some(ms) => wait().timeout_ms(ms).await?,
            None => wait().await?,
        };
        ctx.fetch("between", post("between")).await?;
        let second = wait().await?;
        Ok((first, second))
    })
}

#[test]
fn signals_are_kept_in_order_and_given_out_once() {
    let mut bench = started(Bench::new(waiter()));
    assert_eq!(
        bench.signal("k", "go", "1", "\"one\""),
        Reply::Signalled { repeated: false }
    );
    assert_eq!(
        bench.signal("k", "other", "1", "0"),
        Reply::Signalled { repeated: false }
    );
    assert_eq!(
        bench.signal("k", "go", "1", "\"one\""),
        Reply::Signalled { repeated: true }
    );
    let other = bench.signal("k", "go", "1", "\"else\"");
    assert!(matches!(other, Reply::KeyReused { .. }));
    bench.run_until_idle();
    assert!(
        matches!(state(&bench), State::Suspended(Waiting::For(_))),
        "{:?}",
        state(&bench)
    );
    assert_eq!(
        bench.signal("k", "go", "1", "\"one\""),
        Reply::Signalled { repeated: true }
    );
    bench.run_until_idle();
    assert!(matches!(state(&bench), State::Suspended(Waiting::For(_))));
    bench.signal("k", "go", "2", "{\"n\": 12345678901234567890}");
    bench.run_until_idle();
    assert_eq!(
        body(&bench),
        r#"["one",{"n":12345678901234567890}]"#,
        "digits are kept"
    );
    assert_eq!(urls(&bench), ["before", "between"]);
    assert!(matches!(bench.signal("k", "go", "3", "0"), Reply::Ended(_)));
}

#[test]
fn a_signal_that_does_not_come_is_a_failure_of_its_own() {
    let mut bench = Bench::new(waiter());
    bench.deliver("k", input("60000")).expect("a number");
    let began_ms = bench.now_ms();
    bench.run_for(30_000);
    let State::Suspended(Waiting::For(waits)) = state(&bench) else {
        panic!("{:?}", state(&bench));
    };
    let WaitFor::Signal {
        due_ms: Some(due_ms),
        ..
    } = &waits[0].what
    else {
        panic!("{waits:?}");
    };
    assert!((60_000..60_100).contains(&(due_ms - began_ms)));
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Failed { resumable: false });
    assert_eq!(failure(&bench).code, "signal_timeout");
}

#[test]
fn waiting_is_disturbed_at_every_point() {
    let send = |bench: &mut Bench| {
        bench.signal("crash-everywhere", "go", "1", "\"one\"");
        bench.signal("crash-everywhere", "go", "2", "\"two\"");
    };
    for timeout in ["null", "3600000"] {
        let tried = Crashes::of(waiter())
            .failing()
            .script(send)
            .everywhere(&input(timeout));
        assert!(tried.runs > 10, "{tried:?}");
    }
    Crashes::of(sleeper()).failing().everywhere(&input("5000"));
    Crashes::of(sleeper()).failing().everywhere(&input("500"));
}

/// Imports as many pages as the input says.
fn importer(policy: Policy) -> Function {
    Function::new("importer", |ctx: Ctx, pages: u32| async move {
        ctx.fetch("open", post("open")).await?;
        let mut page: u32 = ctx.saved()?.unwrap_or_default();
        while page < pages {
            ctx.fetch("page", post(&format!("page-{page}"))).await?;
            page += 1;
            ctx.save(&page).await?;
        }
        ctx.fetch("close", post("close")).await?;
        Ok(page)
    })
    .policy_of(policy)
}

#[test]
fn saved_progress_is_gone_on_from_and_not_replayed() {
    let policy = Policy {
        steps_per_slice: 10,
        ..Policy::default()
    };
    let mut bench = Bench::new(importer(policy));
    bench.deliver("k", input("35")).expect("a number");
    bench.run_until_idle();
    assert_eq!(body(&bench), "35");
    let wanted: Vec<String> = std::iter::once("open".to_owned())
        .chain((0..35).map(|n| format!("page-{n}")))
        .chain(std::iter::once("close".to_owned()))
        .collect();
    assert_eq!(urls(&bench), wanted, "each page once, over several slices");
    let keys: std::collections::BTreeSet<String> = bench
        .requests()
        .iter()
        .map(|s| s.key().to_owned())
        .collect();
    assert_eq!(keys.len(), 37, "each with a key of its own");
    assert_eq!(bench.cursor("k").expect("a cursor").text, "35");
    let resumed: Vec<String> = bench
        .replayed("k")
        .iter()
        .map(|r| r.id.to_string())
        .collect();
    assert_eq!(
        resumed,
        ["close", "open"],
        "the pages lie before the saved progress"
    );
}

#[test]
fn progress_survives_every_disturbance() {
    Crashes::of(importer(Policy::default()))
        .failing()
        .everywhere(&input("4"));
    let policy = Policy {
        steps_per_slice: 2,
        ..Policy::default()
    };
    Crashes::of(importer(policy))
        .failing()
        .everywhere(&input("4"));
}

#[test]
fn a_function_that_starts_over_begins_with_an_empty_journal() {
    let function = Function::new("rounds", |ctx: Ctx, n: u32| async move {
        let scope = ctx
            .fetch("round", post(&format!("round-{n}")))
            .undo("back", &n);
        scope.await?;
        if n < 3 {
            return ctx.continue_as(&(n + 1));
        }
        let go: Value = ctx.wait_for_signal("go").await?;
        if go == Value::Bool(false) {
            return Err(Failure::terminal("no", "not wanted after all"));
        }
        Ok(n)
    })
    .undo(
        "back",
        |scope: StepScope, undo: Undo<u32, Value>| async move {
            scope
                .fetch(post(&format!("back-{}", undo.input)))
                .await
                .map(drop)
        },
    );
    for (go, wanted) in [
        ("true", State::Succeeded),
        ("false", State::Failed { resumable: false }),
    ] {
        let mut bench = Bench::new(function.clone()).outside(by_path("nothing", 200));
        bench.deliver("k", input("0")).expect("a number");
        // Sent to the first generation, read by the last.
        bench.signal("k", "go", "1", go);
        let first = bench.task("k").expect("a task").generation;
        bench.run_until_idle();
        let task = bench.task("k").expect("a task");
        assert_eq!(task.state, wanted);
        assert!(
            task.generation >= first + 3,
            "{} after {first}",
            task.generation
        );
        let sent = urls(&bench);
        let mut journal = bench.journal("k");
        journal.retain(|r| r.kind != Kind::Undo);
        assert_eq!(journal.len(), 2, "of the last generation alone");
        assert_eq!(sent[..4], ["round-0", "round-1", "round-2", "round-3"]);
        if go == "false" {
            assert_eq!(sent[4..], ["back-3", "back-2", "back-1", "back-0"]);
            assert!(task.undone.expect("undone").is_complete());
        }
        let keys: std::collections::BTreeSet<String> = bench
            .requests()
            .iter()
            .map(|s| s.key().to_owned())
            .collect();
        assert_eq!(
            keys.len(),
            sent.len(),
            "new derived keys in each generation"
        );
    }
}

#[test]
fn a_kept_signal_outlives_a_timeout() {
    let function = Function::new("late", |ctx: Ctx, (): ()| async move {
        let first = ctx.wait_for_signal::<u32>("go").timeout_ms(10_000).await;
        assert_eq!(first.expect_err("none came").code, "signal_timeout");
        ctx.sleep("nap", 60_000).await?;
        let second: u32 = ctx.wait_for_signal("go").timeout_ms(10_000).await?;
        Ok(second)
    });
    let mut bench = started(Bench::new(function).outside(|_| Reaction::status(200)));
    bench.run_for(20_000);
    bench.signal("k", "go", "1", "5");
    bench.run_until_idle();
    assert_eq!(body(&bench), "5");
    let failed = bench
        .journal("k")
        .into_iter()
        .filter(|r| matches!(r.outcome, Outcome::Failed(_)));
    assert_eq!(failed.count(), 1);
}
