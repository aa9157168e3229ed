//! Every kind of thing that a function can do, disturbed at every point.

use super::driver::send;
use onceward::function::{Contender, Ctx, Failure, Function, Input, Retry, StepScope, Undo};
use onceward::testing::{Bench, CRASH_KEY, Crashes, Reaction, Sent};
use onceward::types::Policy;

const DAY_MS: u64 = 24 * 3_600_000;

fn short() -> Policy {
    Policy {
        steps_per_slice: 2,
        ..Policy::default()
    }
}

fn crash(function: Function) -> Crashes {
    Crashes::of(function.policy_of(short()))
}

fn nothing() -> Input {
    json("null")
}

fn json(text: &str) -> Input {
    Input {
        body: text.as_bytes().to_vec(),
        ..Input::default()
    }
}

/// A step that can be undone by the handler `undo`, which sends a request to `undo-{name}`.
async fn undoable(ctx: &Ctx, name: &str) -> Result<u16, Failure> {
    let url = name.to_owned();
    ctx.step_scoped(name, move |scope: StepScope| {
        let url = url.clone();
        async move { Ok(scope.fetch(to(&url)).await?.status) }
    })
    .undo("undo", &name.to_owned())
    .await
}

fn to(name: &str) -> onceward::function::OutRequest {
    onceward::function::OutRequest {
        method: "POST".to_owned(),
        url: format!("http://h/{name}"),
        headers: std::iter::empty::<(&str, &str)>().collect(),
        body: Vec::new(),
    }
}

fn undoes(function: Function) -> Function {
    function.undo_unknown(
        "undo",
        |scope: StepScope, undo: Undo<String, u16>| async move {
            scope.fetch(to(&format!("undo-{}", undo.input))).await?;
            Ok(())
        },
    )
}

#[test]
fn sleeps() {
    let function = Function::new("sleeps", |ctx: Ctx, (): ()| async move {
        send(&ctx, "a").await?;
        ctx.sleep("short", 500).await?;
        send(&ctx, "b").await?;
        ctx.sleep("long", 50 * DAY_MS).await?;
        Ok::<u16, Failure>(send(&ctx, "c").await?.status)
    });
    crash(function).everywhere(&nothing());
}

#[test]
fn signals() {
    let function = Function::new("signals", |ctx: Ctx, (): ()| async move {
        let first: u8 = ctx.wait_for_signal("go").await?;
        send(&ctx, "a").await?;
        let second: u8 = ctx.wait_for_signal("go").timeout_ms(DAY_MS).await?;
        let never = ctx.wait_for_signal::<u8>("no").timeout_ms(DAY_MS).await;
        send(&ctx, "b").await?;
        Ok::<_, Failure>((first, second, never.is_err()))
    });
    crash(function)
        .script(|bench| {
            bench.signal(CRASH_KEY, "go", "1", "1");
            bench.signal(CRASH_KEY, "go", "2", "2");
        })
        .everywhere(&nothing());
}

#[test]
fn long_retries() {
    let function = Function::new("retries", |ctx: Ctx, (): ()| async move {
        let retry = Retry::constant(3, 60_000);
        let a = ctx.fetch("a", to("a")).retry(retry).await?;
        send(&ctx, "b").await?;
        Ok::<u16, Failure>(a.status)
    });
    crash(function)
        .outside(|sent: &Sent| {
            let early = sent.request.url.ends_with("/a") && sent.nth < 3;
            Reaction::status(if early { 500 } else { 201 })
        })
        .everywhere(&nothing());
}

#[test]
fn branches_and_races() {
    let function = Function::new("branches", |ctx: Ctx, (): ()| async move {
        let all = (0..3).map(|n| {
            let ctx = ctx.branch(&n.to_string());
            async move {
                ctx.sleep("nap", 700 * n).await?;
                Ok::<u16, Failure>(send(&ctx, "a").await?.status)
            }
        });
        let all = ctx.all(all).await?;
        let first = Contender::new("slow", |ctx: Ctx| async move {
            ctx.sleep("nap", DAY_MS).await?;
            Ok("slow")
        });
        let second = Contender::new("quick", |ctx: Ctx| async move {
            send(&ctx, "quick").await?;
            Ok("quick")
        });
        let won = ctx.race("won", vec![first, second]).await?;
        Ok::<_, Failure>((all, won))
    });
    Crashes::of(function).everywhere(&nothing());
}

#[test]
fn progress() {
    let function = Function::new("progress", |ctx: Ctx, (): ()| async move {
        let mut page: u32 = ctx.saved()?.unwrap_or(0);
        while page < 5 {
            send(&ctx, "page").await?;
            page += 1;
            ctx.save(&page).await?;
        }
        Ok::<u32, Failure>(page)
    });
    crash(function).everywhere(&nothing());
}

#[test]
fn generations() {
    let function = Function::new("generations", |ctx: Ctx, n: u8| async move {
        send(&ctx, "a").await?;
        if n < 2 {
            return ctx.continue_as(&(n + 1));
        }
        Ok::<u8, Failure>(n)
    });
    crash(function).everywhere(&json("0"));
}

#[test]
fn compensation() {
    let function = Function::new("compensates", |ctx: Ctx, (): ()| async move {
        undoable(&ctx, "a").await?;
        send(&ctx, "plain").await?;
        undoable(&ctx, "b").await?;
        send(&ctx, "refused").await?;
        Ok::<(), Failure>(())
    });
    crash(undoes(function))
        .outside(|sent: &Sent| {
            let refused = sent.request.url.ends_with("/refused");
            Reaction::status(if refused { 400 } else { 200 })
        })
        .everywhere(&nothing());
}

#[test]
fn compensation_over_generations() {
    let function = Function::new("compensates", |ctx: Ctx, n: u8| async move {
        undoable(&ctx, "a").await?;
        if n < 2 {
            return ctx.continue_as(&(n + 1));
        }
        Err::<(), _>(Failure::terminal("stop", "enough"))
    });
    let function = undoes(function).policy_of(short());
    let mut bench = Bench::new(function.clone());
    bench.deliver("k", json("0")).expect("a number");
    bench.run_until_idle();
    let requests = bench.requests();
    let undone = requests
        .iter()
        .filter(|s| s.request.url.ends_with("undo-a"));
    assert_eq!(undone.count(), 3, "once for each generation");
    Crashes::of(function).everywhere(&json("0"));
}

#[test]
fn cancellation() {
    let function = Function::new("cancelled", |ctx: Ctx, (): ()| async move {
        undoable(&ctx, "a").await?;
        ctx.call("child", None, &()).await?;
        Ok::<(), Failure>(())
    });
    let child = Function::new("child", |ctx: Ctx, (): ()| async move {
        undoable(&ctx, "inside").await?;
        ctx.wait_for_signal::<()>("never").await
    });
    crash(undoes(function))
        .with(undoes(child))
        .script(|bench| {
            bench.cancel(CRASH_KEY);
        })
        .everywhere(&nothing());
}

#[test]
fn children() {
    let function = Function::new("parent", |ctx: Ctx, (): ()| async move {
        let own = ctx.call("child", None, &1).await?;
        send(&ctx, "between").await?;
        let shared = ctx.call("child", Some("shared"), &2).await?;
        ctx.start("child", Some("detached"), &3).await?;
        Ok::<_, Failure>((own.body, shared.body))
    });
    let child = Function::new("child", |ctx: Ctx, n: u8| async move {
        send(&ctx, "inside").await?;
        ctx.sleep("nap", 5_000).await?;
        Ok::<u8, Failure>(n)
    });
    crash(function)
        .with(child.policy_of(short()))
        .everywhere(&nothing());
}

#[test]
fn children_that_fail() {
    let function = Function::new("parent", |ctx: Ctx, (): ()| async move {
        let failed = ctx.call("child", Some("c"), &()).await;
        send(&ctx, "after").await?;
        Ok::<_, Failure>(failed.is_err())
    });
    let child = Function::new("child", |ctx: Ctx, (): ()| async move {
        send(&ctx, "inside").await?;
        Err::<(), _>(Failure::terminal("stop", "enough"))
    });
    crash(function).with(child).everywhere(&nothing());
}

#[test]
fn a_letter_of_an_earlier_generation_is_not_for_the_next() {
    // The first generation joins a child that has ended long ago, and is owed its end all the same.
    let function = Function::new("parent", |ctx: Ctx, n: u8| async move {
        let child = ctx.call("child", Some(&n.to_string()), &n).await?;
        if n < 2 {
            send(&ctx, "a").await?;
            return ctx.continue_as(&(n + 1));
        }
        Ok::<_, Failure>(child.body)
    });
    let child = Function::new("child", |ctx: Ctx, n: u8| async move {
        ctx.sleep("nap", 5_000).await?;
        Ok::<u8, Failure>(n)
    });
    let mut bench = Bench::new(function)
        .with(child)
        .outside(|_| Reaction::status(200).after_ms(300));
    bench.deliver(("child", "1"), json("1")).expect("a number");
    bench.run_until_idle();
    bench.deliver("k", json("1")).expect("a number");
    bench.run_until_idle();
    assert_eq!(bench.answer("k").expect("an answer").body, b"2");
}
