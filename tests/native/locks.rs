//! Locks and keys as functions use them, on the bench.

use onceward::flow::kv::{KvCall, KvOp, KvReply, KvType, KvWhen};
use onceward::function::{Ctx, Failure, Fetched, Function, Retry};
use onceward::protocol::State;
use onceward::testing::{Action, Bench, Crashes, Reaction};
use onceward::types::Input;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn input(json: &str) -> Input {
    Input {
        body: json.as_bytes().to_vec(),
        ..Input::default()
    }
}

fn set(when: KvWhen, ttl_ms: Option<u64>) -> KvOp {
    KvOp::Set {
        value: "done".into(),
        kind: KvType::String,
        ttl_ms,
        when,
    }
}

/// Under a lock: what is not there yet is set after some work. The race that the lock is for.
async fn guarded(ctx: Ctx, (): ()) -> Result<bool, Failure> {
    let held = ctx.lock("order-1", 1, 1_000).await?;
    let found = ctx
        .step_scoped("look", |scope| async move {
            scope.kv("shop", "order-1", KvOp::Get).await
        })
        .await?;
    let first = found == KvReply::Found(None);
    if first {
        ctx.sleep("work", 5_000).await?;
        ctx.step_scoped("mark", |scope| async move {
            scope.kv("shop", "order-1", set(KvWhen::Always, None)).await
        })
        .await?;
    }
    ctx.unlock(&held).await?;
    Ok(first)
}

#[test]
fn of_fifty_tasks_one_finds_the_key_missing() {
    let mut bench = Bench::new(Function::new("guarded", guarded));
    for n in 0..50 {
        bench
            .deliver(n.to_string().as_str(), input("null"))
            .unwrap();
    }
    bench.run_until_idle();
    let firsts = (0..50).filter(|n| {
        let answer = bench.answer(n.to_string().as_str()).expect("an answer");
        answer.body == b"true"
    });
    assert_eq!(firsts.count(), 1);
    assert_eq!(bench.lock_of("order-1"), (vec![], vec![]));
    assert!(bench.kv("shop", "order-1").is_some());
}

#[test]
fn a_lock_is_given_in_the_order_of_asking() {
    let order: Rc<RefCell<Vec<String>>> = Rc::default();
    let kept = Rc::clone(&order);
    let f = Function::new("queue", move |ctx: Ctx, name: String| {
        let order = Rc::clone(&kept);
        async move {
            let held = ctx.lock("one", 1, 100).await?;
            let noted = Rc::clone(&order);
            ctx.step("note", move || {
                noted.borrow_mut().push(name.clone());
                async { Ok(()) }
            })
            .await?;
            ctx.sleep("long", 60_000).await?;
            ctx.unlock(&held).await
        }
    });
    let mut bench = Bench::new(f);
    let names: Vec<String> = (0..12).map(|n| format!("{n:02}")).collect();
    for name in &names {
        bench
            .deliver(name.as_str(), input(&format!("{name:?}")))
            .unwrap();
        bench.run_for(100);
    }
    bench.run_until_idle();
    assert_eq!(*order.borrow(), names);
}

#[test]
fn no_more_than_the_limit_hold_it_and_the_queue_is_bounded() {
    let (now, most) = (Rc::new(Cell::new(0_i32)), Rc::new(Cell::new(0)));
    let (counted, peak) = (Rc::clone(&now), Rc::clone(&most));
    let f = Function::new("permits", move |ctx: Ctx, (): ()| {
        let (now, most) = (Rc::clone(&counted), Rc::clone(&peak));
        async move {
            let held = ctx.lock("three", 3, 5).await?;
            let (n, m) = (Rc::clone(&now), Rc::clone(&most));
            ctx.step("in", move || {
                n.set(n.get() + 1);
                m.set(m.get().max(n.get()));
                async { Ok(()) }
            })
            .await?;
            ctx.sleep("work", 10_000).await?;
            let n = Rc::clone(&now);
            ctx.step("out", move || {
                n.set(n.get() - 1);
                async { Ok(()) }
            })
            .await?;
            ctx.unlock(&held).await
        }
    });
    let mut bench = Bench::new(f);
    for n in 0..10 {
        bench
            .deliver(n.to_string().as_str(), input("null"))
            .unwrap();
    }
    bench.run_until_idle();
    assert_eq!((now.get(), most.get()), (0, 3));
    let failed: Vec<String> = bench
        .tasks()
        .into_iter()
        .filter_map(|task| task.failure.map(|f| f.code))
        .collect();
    assert_eq!(failed, ["lock_full", "lock_full"]);
}

#[test]
fn a_task_that_ends_without_letting_go_is_passed_over() {
    let f = Function::new("leaky", |ctx: Ctx, lets_go: bool| async move {
        let held = ctx.lock("one", 1, 10).await?;
        ctx.sleep("work", 5_000).await?;
        if lets_go {
            ctx.unlock(&held).await?;
        }
        Ok::<(), Failure>(())
    });
    let mut bench = Bench::new(f);
    bench.deliver("a", input("false")).unwrap();
    bench.run_for(100);
    for key in ["b", "c"] {
        bench.deliver(key, input("true")).unwrap();
    }
    bench.run_for(100);
    // Whoever is cancelled while it waits leaves its place.
    bench.cancel("b");
    bench.run_until_idle();
    assert_eq!(bench.task("b").unwrap().state, State::Cancelled);
    for key in ["a", "c"] {
        assert_eq!(bench.task(key).unwrap().state, State::Succeeded, "{key}");
    }
    assert_eq!(bench.lock_of("one"), (vec![], vec![]));
}

#[test]
fn one_that_failed_for_now_gets_in_line_again() {
    let f = Function::new("weak", |ctx: Ctx, fails: bool| async move {
        let held = ctx.lock("one", 1, 10).await?;
        let tries: u32 = ctx.step("seen", || async { Ok(1) }).await?;
        let response: Fetched = ctx
            .fetch("work", request(fails))
            .retry(Retry::none())
            .await?;
        ctx.unlock(&held).await?;
        Ok::<(u16, u32), Failure>((response.status, tries))
    });
    let up = Rc::new(Cell::new(false));
    let works = Rc::clone(&up);
    let mut bench = Bench::new(f).outside(move |sent| {
        let weak = sent.request.url.ends_with("weak");
        Reaction::status(if weak && !works.get() { 503 } else { 200 })
    });
    bench.deliver("a", input("true")).unwrap();
    bench.run_until_idle();
    assert_eq!(
        bench.task("a").unwrap().state,
        State::Failed { resumable: true }
    );
    // Nobody waited, so it stands there as its holder still; the next one frees it.
    let slow = Function::new("slow", |ctx: Ctx, (): ()| async move {
        let held = ctx.lock("one", 1, 10).await?;
        ctx.sleep("long", 600_000).await?;
        ctx.unlock(&held).await
    });
    bench = bench.with(slow);
    bench.deliver(("slow", "s"), input("null")).unwrap();
    bench.run_for(1_000);
    up.set(true);
    bench.deliver("a", input("true")).unwrap();
    bench.run_for(60_000);
    let (holders, waiting) = bench.lock_of("one");
    assert_eq!(
        holders,
        [bench.task_of("slow", "s").unwrap().id().to_string()]
    );
    assert_eq!(waiting, [bench.task("a").unwrap().id().to_string()]);
    bench.run_until_idle();
    assert_eq!(bench.answer("a").unwrap().body, b"[200,1]");
    assert_eq!(bench.lock_of("one"), (vec![], vec![]));
}

fn request(weak: bool) -> onceward::function::OutRequest {
    onceward::function::OutRequest {
        method: "POST".into(),
        url: format!("https://example.com/{}", if weak { "weak" } else { "good" }),
        headers: onceward::types::Headers::default(),
        body: Vec::new(),
    }
}

#[test]
fn a_crash_anywhere_leaves_one_mark_and_a_free_lock() {
    let f = Function::new("guarded", |ctx: Ctx, (): ()| async move {
        let held = ctx.lock("order-1", 1, 10).await?;
        let found = ctx
            .step_scoped("look", |scope| async move {
                scope.kv("shop", "k", KvOp::Get).await
            })
            .await?;
        ctx.fetch("pay", request(false)).await?;
        let marked = ctx
            .step_scoped("mark", |scope| async move {
                scope.kv("shop", "k", set(KvWhen::Missing, None)).await
            })
            .await?;
        ctx.sleep("settle", 30_000).await?;
        let gone = ctx
            .step_scoped("drop", |scope| async move {
                scope.kv("shop", "k", KvOp::Delete).await
            })
            .await?;
        ctx.unlock(&held).await?;
        ctx.fetch("tell", request(false)).await?;
        Ok::<_, Failure>((found, marked, gone))
    });
    let tried = Crashes::of(f).everywhere(&input("null"));
    assert!(tried.runs > 40, "{tried:?}");
}

#[test]
fn a_crash_anywhere_of_one_that_waits_for_its_child_passes_the_lock_on() {
    // The child wants what the parent lets go of, while the parent wants it again.
    let parent = Function::new("parent", |ctx: Ctx, (): ()| async move {
        let held = ctx.lock("one", 1, 10).await?;
        ctx.start("child", Some("c"), &()).await?;
        ctx.sleep("a while", 3_000).await?;
        ctx.unlock(&held).await?;
        let held = ctx.lock("one", 1, 10).await?;
        ctx.fetch("second", request(false)).await?;
        ctx.unlock(&held).await?;
        let child: Fetched = ctx.call("child", Some("c"), &()).named("end").await?;
        Ok::<_, Failure>(child.status)
    });
    let child = Function::new("child", |ctx: Ctx, (): ()| async move {
        let held = ctx.lock("one", 1, 10).await?;
        ctx.fetch("inside", request(false)).await?;
        ctx.sleep("on", 2_000).await?;
        ctx.unlock(&held).await
    });
    let tried = Crashes::of(parent).with(child).everywhere(&input("null"));
    assert!(tried.runs > 60, "{tried:?}");
}

#[test]
fn two_branches_of_one_task_exclude_each_other() {
    let f = Function::new("both", |ctx: Ctx, (): ()| async move {
        let one = |ctx: Ctx| async move {
            let held = ctx.lock("one", 1, 10).await?;
            ctx.sleep("work", 10_000).await?;
            ctx.unlock(&held).await
        };
        let (a, b) = futures::join!(one(ctx.branch("a")), one(ctx.branch("b")));
        a.and(b)
    });
    let mut bench = Bench::new(f);
    let from_ms = bench.now_ms();
    bench.deliver("k", input("null")).unwrap();
    bench.run_until_idle();
    assert_eq!(bench.task("k").unwrap().state, State::Succeeded);
    assert!(bench.now_ms() - from_ms >= 20_000);
}

#[test]
fn what_waits_for_a_lock_behind_somebody_outside_is_idle() {
    let f = Function::new("asks", |ctx: Ctx, (): ()| async move {
        let held = ctx.lock("one", 1, 10).await?;
        ctx.wait_for_signal::<u8>("go").await?;
        ctx.unlock(&held).await
    });
    let mut bench = Bench::new(f);
    for key in ["a", "b"] {
        bench.deliver(key, input("null")).unwrap();
        bench.run_until_idle();
    }
    // Its letter may be late: it asks from time to time, and keeps its place.
    bench.run_for(3_600_000);
    bench.signal("a", "go", "1", "1");
    bench.run_until_idle();
    assert_eq!(bench.task("a").unwrap().state, State::Succeeded);
    bench.signal("b", "go", "1", "1");
    bench.run_until_idle();
    assert_eq!(bench.task("b").unwrap().state, State::Succeeded);
    assert!(bench.actions().contains(&Action::Lock));
}

#[test]
fn a_key_that_cannot_be_fails_clearly() {
    let f = Function::new("keys", |ctx: Ctx, key: String| async move {
        ctx.step_scoped("get", move |scope| {
            let key = key.clone();
            async move { scope.kv("shop", &key, KvOp::Get).await }
        })
        .await
    });
    let mut bench = Bench::new(f);
    for (n, key) in ["", "a b", "ä", "../etc", "%lock"].iter().enumerate() {
        let name = n.to_string();
        bench
            .deliver(name.as_str(), input(&format!("{key:?}")))
            .unwrap();
        bench.run_until_idle();
        let failure = bench.task(name.as_str()).unwrap().failure.unwrap();
        assert_eq!(failure.code, "kv_invalid", "{key:?}");
    }
}

#[test]
fn keys_are_listed_by_their_beginning() {
    let f = Function::new("list", |ctx: Ctx, (): ()| async move {
        ctx.step_scoped("keys", |scope| async move {
            scope.kv_keys("shop", "order-").await
        })
        .await
    });
    let mut bench = Bench::new(f);
    for key in ["order-2", "order-1", "user-1"] {
        let call = KvCall {
            namespace: "shop".into(),
            key: key.into(),
            op: set(KvWhen::Always, None),
            mark: String::new(),
        };
        bench.kv_call(&call);
    }
    bench.deliver("k", input("null")).unwrap();
    bench.run_until_idle();
    assert_eq!(bench.answer("k").unwrap().body, br#"["order-1","order-2"]"#);
}
