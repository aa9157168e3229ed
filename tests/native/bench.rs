//! The bench itself: objects, alarms, signals, operators, and what objects owe each other.

use super::driver::{chain, send, start, state, urls};
use onceward::function::{Answer, Ctx, Failure, Function, Input, Raw};
use onceward::limits;
use onceward::protocol::{
    Begin, Event, Kind, Outcome, Proof, Record, Reply, Retry, State, StepRecord, Waiting,
    child_signal,
};
use onceward::testing::{Action, Bench, CRASH_KEY, Crashes, Reaction};
use onceward::types::{About, Policy, StepId, TaskKey, TaskKind, Token};

const DAY_MS: u64 = 24 * 3_600_000;

fn key(function: &str, key: &str) -> TaskKey {
    TaskKey::new(TaskKind::Function, function, "", key)
}

fn begin(function: &str, name: &str) -> Event {
    Event::Begin(Box::new(Begin {
        op: Token::new(format!("begin {function} {name}")),
        key: key(function, name),
        function: function.to_owned(),
        policy: Policy::default(),
        fingerprint: None,
        parts: Vec::new(),
        input: Input::default(),
        claims: true,
        hop: 0,
        parent: None,
        lineage: Vec::new(),
        about: About::default(),
    }))
}

/// Begins a task and claims it, but runs no slice: what it does, the test says.
fn held(bench: &mut Bench, function: &str, name: &str) -> Proof {
    let reply = bench.tell((function, name), begin(function, name));
    let Reply::Claimed(claimed) = reply else {
        panic!("not claimed: {reply:?}")
    };
    claimed.proof
}

/// What a deployment would refuse to store does not pass here.
#[test]
fn an_answer_that_cannot_be_sent_fails_the_task() {
    for (name, value) in [
        ("content-type", "caf\u{e9}"),
        ("x-a", "1\r\nx-b: 2"),
        ("a b", "1"),
    ] {
        let answers = move |_: Ctx, _: Input| async move {
            let headers = [(name, value)].into_iter().collect();
            Ok::<_, Failure>(Raw(Answer {
                status: 200,
                headers,
                body: Vec::new(),
            }))
        };
        let mut bench = Bench::new(Function::new("odd", answers));
        bench.deliver("k", Input::default()).expect("any input");
        bench.run_until_idle();
        let task = bench.task("k").expect("a task");
        assert_eq!(task.state, State::Failed { resumable: false });
        let failure = task.failure.expect("a failure");
        assert_eq!(failure.code, "answer_invalid", "{name}");
    }
}

#[test]
fn a_signal_is_kept_and_known_again() {
    let mut bench = Bench::new(chain(&["a"])).outside(|_| Reaction::status(200).after_ms(2_000));
    let unknown = bench.signal("k", "go", "1", "true");
    assert_eq!(unknown, Reply::NotFound);
    bench.deliver("k", Input::default()).expect("any input");
    bench.run_for(500);
    let taken = |repeated| Reply::Signalled { repeated };
    assert_eq!(bench.signal("k", "go", "1", "true"), taken(false));
    assert_eq!(bench.signal("k", "go", "1", "true"), taken(true));
    let other = bench.signal("k", "go", "1", "false");
    assert!(matches!(other, Reply::KeyReused { .. }));
    assert_eq!(bench.signal("k", "go", "2", "false"), taken(false));
    let unread = bench.task("k").expect("a task").unread;
    let ids: Vec<&str> = unread.iter().map(|u| u.id.as_str()).collect();
    assert_eq!(ids, ["1", "2"]);
    bench.run_until_idle();
    assert!(matches!(bench.signal("k", "go", "3", "0"), Reply::Ended(_)));
    assert_eq!(bench.signal("k", "go", "2", "false"), taken(true));
}

#[test]
fn a_wait_without_a_time_is_idle_until_its_signal_comes() {
    let function = Function::new("waits", |ctx: Ctx, _: Input| async move {
        ctx.wait_for_signal::<serde_json::Value>("go").await
    });
    let mut bench = start(Bench::new(function));
    let began_ms = bench.now_ms();
    bench.run_until_idle();
    assert!(matches!(state(&bench), State::Suspended(Waiting::For(_))));
    assert!(bench.now_ms() - began_ms < DAY_MS);
    bench.signal("k", "go", "1", r#"{"yes":true}"#);
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Succeeded);
    let journal = bench.journal("k");
    assert_eq!(journal[0].kind, Kind::Signal);
    let wanted = Outcome::Value(r#"{"yes":true}"#.into());
    assert_eq!(journal[0].outcome, wanted);
}

#[test]
fn a_sleep_of_400_days_is_slept_in_pieces() {
    let function = Function::new("sleeps", |ctx: Ctx, _: Input| async move {
        ctx.sleep("long", 400 * DAY_MS).await?;
        Ok::<u16, Failure>(send(&ctx, "a").await?.status)
    });
    let mut bench = Bench::new(function);
    let began_ms = bench.now_ms();
    bench.deliver("k", Input::default()).expect("any input");
    bench.run_for(1_000);
    for _ in 0..19 {
        let alarm_ms = bench.alarm_ms("k").expect("an alarm");
        assert!(alarm_ms <= bench.now_ms() + limits::MAX_ALARM_MS);
        bench.run_for(alarm_ms - bench.now_ms());
        assert!(urls(&bench).is_empty(), "it sleeps");
    }
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Succeeded);
    let slept_ms = bench.requests()[0].at_ms - began_ms;
    let wanted = 400 * DAY_MS;
    assert!((wanted..wanted + 1_000).contains(&slept_ms), "{slept_ms}");
}

#[test]
fn a_task_that_has_ended_is_forgotten_in_time() {
    let mut bench = Bench::new(chain(&["a"]));
    bench.deliver("k", Input::default()).expect("any input");
    bench.run_until_idle();
    bench.run_for(limits::DEFAULT_RETENTION_SUCCEEDED_MS - DAY_MS);
    assert_eq!(bench.answer("k").expect("an answer").body, b"1");
    bench.run_for(2 * DAY_MS);
    assert!(bench.task("k").is_none());
    assert!(bench.cells("k").is_empty(), "{:?}", bench.cells("k"));
    assert_eq!(bench.alarm_ms("k"), None);
}

#[test]
fn a_task_that_backs_off_is_cancelled_at_once() {
    let function = Function::new("backs off", |ctx: Ctx, _: Input| async move {
        send(&ctx, "a").await?;
        Err::<(), _>(Failure::retryable("later", "not now"))
    });
    let mut bench = Bench::new(function);
    bench.deliver("k", Input::default()).expect("any input");
    bench.run_for(500);
    assert!(matches!(
        state(&bench),
        State::Suspended(Waiting::BackingOff { .. })
    ));
    assert!(matches!(bench.cancel("k"), Reply::Stands(_)));
    assert_eq!(state(&bench), State::Cancelled);
    bench.run_until_idle();
    assert_eq!(urls(&bench), ["a"]);
    assert!(matches!(bench.cancel("k"), Reply::Stands(_)), "again");
}

#[test]
fn a_failed_task_is_retried_from_what_failed() {
    let function = Function::new("chain", |ctx: Ctx, _: Input| async move {
        send(&ctx, "a").await?;
        Ok::<u16, Failure>(send(&ctx, "b").await?.status)
    });
    let mut bench = Bench::new(function).outside(|sent| {
        let broken = sent.request.url.ends_with('b') && sent.nth == 1;
        Reaction::status(if broken { 400 } else { 201 })
    });
    bench.deliver("k", Input::default()).expect("any input");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Failed { resumable: false });
    let from = Retry {
        from: Some("b".to_owned()),
        same_keys: true,
        ..Retry::default()
    };
    let dry_run = Retry {
        dry_run: true,
        ..from.clone()
    };
    let Reply::Planned(plan) = bench.retry("k", dry_run) else {
        panic!("no plan")
    };
    assert_eq!(plan.kept, [StepId::new("", "a", 0)]);
    assert_eq!(plan.again, [StepId::new("", "b", 0)]);
    assert!(matches!(bench.retry("k", from), Reply::Planned(_)));
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Succeeded);
    assert_eq!(urls(&bench), ["a", "b", "b"]);
    assert_eq!(bench.answer("k").expect("an answer").body, b"201");
    assert!(matches!(bench.undo("k"), Reply::Stands(_)));
    let undone = bench.task("k").and_then(|t| t.undone);
    assert!(undone.is_some_and(|u| u.is_complete()), "there was nothing");
}

/// A task that has begun another one, of the key `c`, and waits for it.
fn family(child: Function) -> Bench {
    let name = child.name().to_owned();
    let parent = Function::new("parent", move |ctx: Ctx, _: Input| {
        let name = name.clone();
        async move {
            let child = ctx.call(&name, Some("c"), &()).named("kid").await?;
            send(&ctx, "a").await?;
            Ok::<_, Failure>(child.body)
        }
    });
    let mut bench = Bench::new(parent).with(child);
    bench.deliver("k", Input::default()).expect("any input");
    bench
}

fn child() -> Function {
    Function::new("child", |ctx: Ctx, _: Input| async move {
        ctx.sleep("a while", 10_000).await?;
        send(&ctx, "inside").await?;
        Ok::<u8, Failure>(7)
    })
}

fn waiting_child() -> Function {
    Function::new("child", |ctx: Ctx, _: Input| async move {
        ctx.wait_for_signal::<()>("go").await?;
        Ok::<u16, Failure>(send(&ctx, "inside").await?.status)
    })
}

#[test]
fn a_parent_hears_of_the_end_however_often_the_message_is_lost() {
    for lost in [0, 1, 3] {
        let mut bench = family(child());
        bench.lose_debts(lost);
        bench.run_until_idle();
        assert_eq!(state(&bench), State::Succeeded, "{lost} lost");
        assert_eq!(urls(&bench), ["inside", "a"]);
        let journal = bench.journal("k");
        let kid = journal.iter().find(|r| r.id.name == "kid");
        let Outcome::Value(text) = &kid.expect("the child is on record").outcome else {
            panic!("no outcome")
        };
        assert!(text.contains(r#""body":7"#), "{text}");
        assert_eq!(bench.answer_of("child", "c").expect("an answer").body, b"7");
        let task = bench.task_of("child", "c").expect("a child");
        assert!(task.debts.list.is_empty() && task.parents.is_empty());
        assert_eq!(bench.journal_of("child", "c").len(), 2);
    }
}

#[test]
fn a_debt_that_an_object_forgot_to_cross_off_is_paid_again() {
    let disturbances: [fn(Bench) -> Bench; 4] = [
        |b| b.crash_before(Action::Debt, 1),
        |b| b.crash_after(Action::Debt, 1),
        |b| b.lose_reply(Action::Debt, 1),
        |b| b.send_twice(Action::Debt, 1),
    ];
    for disturb in disturbances {
        let mut bench = disturb(family(child()));
        bench.run_until_idle();
        assert_eq!(state(&bench), State::Succeeded, "{}", bench.schedule());
        assert_eq!(urls(&bench), ["inside", "a"]);
        let task = bench.task_of("child", "c").expect("a child");
        assert!(task.debts.list.is_empty());
        assert!(bench.task("k").expect("a parent").unread.is_empty());
    }
}

#[test]
fn a_cancellation_reaches_the_children() {
    for lost in [0, 2] {
        let mut bench = family(waiting_child());
        bench.lose_debts(lost);
        bench.run_for(1_000);
        bench.cancel("k");
        assert_eq!(state(&bench), State::Cancelled);
        bench.run_until_idle();
        let task = bench.task_of("child", "c").expect("a child");
        assert!(task.cancel.is_some(), "{lost} lost: {:?}", task.state);
        let debts = bench.task("k").expect("a parent").debts;
        assert!(debts.list.is_empty());
    }
}

#[test]
fn a_parent_of_a_child_that_waits_for_ever_is_idle() {
    let mut bench = family(waiting_child());
    bench.run_until_idle();
    assert!(urls(&bench).is_empty());
    bench.run_for(DAY_MS);
    let looks = bench.actions();
    let looks = looks.iter().filter(|a| **a == Action::Look).count();
    assert!(looks > 10, "it looks at the child from time to time");
    bench.signal(("child", "c"), "go", "1", "null");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Succeeded);
    assert_eq!(urls(&bench), ["inside", "a"]);
}

#[test]
fn a_journal_of_many_pages_is_loaded_whole() {
    const STEPS: usize = limits::JOURNAL_PAGE + 200;
    let policy = Policy {
        steps_per_slice: 450,
        ..Policy::default()
    };
    let function = Function::new("many", |ctx: Ctx, _: Input| async move {
        for n in 0..STEPS {
            ctx.step("n", move || async move { Ok(n) }).await?;
        }
        Ok::<usize, Failure>(STEPS)
    });
    let mut bench = Bench::new(function.policy_of(policy));
    bench.deliver("k", Input::default()).expect("any input");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Succeeded);
    assert_eq!(bench.journal("k").len(), STEPS);
}

#[test]
fn a_schedule_names_the_place_of_the_fault() {
    let mut bench = Bench::new(chain(&["a", "b"])).crash_after(Action::Fetch, 2);
    bench.deliver("k", Input::default()).expect("any input");
    bench.run_until_idle();
    let schedule = bench.schedule();
    let lines: Vec<&str> = schedule.lines().collect();
    assert_eq!(lines[0], "           0 ms  chain k: Fetch 1");
    assert!(
        lines[2].ends_with("chain k: Fetch 2  <== CrashAfter"),
        "{schedule}"
    );
    assert_eq!(lines.iter().filter(|l| l.contains("<==")).count(), 1);
}

#[test]
fn a_script_plays_the_outside_of_a_crash_run() {
    let policy = Policy {
        max_attempts: 1,
        ..Policy::default()
    };
    let function = Function::new("attempts", |ctx: Ctx, _: Input| async move {
        send(&ctx, "a").await?;
        Err::<(), _>(Failure::terminal("stop", "by its own wish"))
    });
    let tried = Crashes::of(function.policy_of(policy))
        .script(|bench| {
            bench.signal(CRASH_KEY, "go", "1", "true");
        })
        .everywhere(&Input::default());
    assert_eq!((tried.points, tried.runs), (2, 7));
}

#[test]
#[should_panic(expected = "derived keys")]
fn a_function_whose_steps_depend_on_chance_is_found_out() {
    let calls = std::cell::Cell::new(0);
    let calls = std::rc::Rc::new(calls);
    let function = Function::new("fickle", move |ctx: Ctx, _: Input| {
        calls.set(calls.get() + 1);
        let name = if calls.get() % 2 == 0 { "even" } else { "odd" };
        async move {
            send(&ctx, name).await?;
            Ok::<(), Failure>(())
        }
    });
    Crashes::of(function).everywhere(&Input::default());
}

#[test]
fn a_signal_of_a_child_is_named_like_no_other() {
    let mut bench = family(child());
    let name = child_signal(&StepId::new("", "kid", 0));
    bench.run_for(1_000);
    let id = key("child", "c").task_id();
    // A forged end of an earlier generation is heard by nobody.
    let signal = onceward::protocol::Signal {
        name,
        id: format!("{id}:1"),
        outcome: Outcome::Value("1".into()),
        generation: Some(1),
        known: None,
    };
    assert_eq!(
        bench.tell("k", Event::Signal(Box::new(signal))),
        Reply::Done
    );
    bench.run_until_idle();
    assert_eq!(urls(&bench), ["inside", "a"]);
}

#[test]
fn a_record_under_a_foreign_proof_is_not_written() {
    let mut bench = Bench::new(chain(&["a"]));
    let proof = held(&mut bench, "chain", "k");
    let cells = bench.cells("k");
    let record = Record {
        proof: Proof {
            fence: proof.fence + 1,
            ..proof
        },
        steps: vec![StepRecord::new(
            StepId::new("", "a", 0),
            Outcome::Value("1".into()),
        )],
        known: Vec::new(),
        cursor: None,
        known_cursor: None,
    };
    let reply = bench.tell("k", Event::Record(Box::new(record)));
    assert!(matches!(reply, Reply::Stale(_)), "{reply:?}");
    assert_eq!(bench.cells("k"), cells);
}
