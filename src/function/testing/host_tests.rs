use super::*;
use crate::function::testing::bench::{Bench, Running};
use crate::function::testing::{Reaction, Sent};
use crate::function::{Ctx, Function};
use crate::protocol::{Outcome, Parent, State};
use crate::types::{About, Input, StepId, TaskKey, TaskKind};
use std::cell::RefCell;

fn greet() -> Function {
    Function::new("greet", |ctx: Ctx, name: String| async move {
        ctx.step("greet", move || {
            let name = name.clone();
            async move { Ok(format!("hello {name}")) }
        })
        .await
    })
}

fn key(name: &str) -> TaskKey {
    TaskKey::new(TaskKind::Function, name, "", "k")
}

fn child(function: &str, body: &[u8]) -> ChildBegin {
    ChildBegin {
        fingerprint: None,
        lineage: Vec::new(),
        about: About::default(),
        key: key(function),
        function: function.to_owned(),
        input: Input {
            body: body.to_vec(),
            ..Input::default()
        },
        parent: None,
        hop: 0,
    }
}

/// What comes of the messages of a host that belongs to no slice.
fn say<T: 'static, F>(bench: &mut Bench, talk: impl FnOnce(TestHost) -> F) -> Option<T>
where
    F: Future<Output = T> + 'static,
{
    let host = TestHost::new(&bench.world, key("nobody").task_id());
    let said = Rc::new(RefCell::new(None));
    let (talk, put) = (talk(host), Rc::clone(&said));
    bench.running.push(Running::errand(Box::pin(async move {
        *put.borrow_mut() = Some(talk.await);
        None
    })));
    bench.run_until_idle();
    said.take()
}

fn begun(bench: &mut Bench, begin: ChildBegin) -> Option<ChildSays> {
    say(bench, |host| async move {
        host.begin_child(begin).await.expect("a reply")
    })
}

fn seen(bench: &mut Bench) -> Option<ChildSays> {
    say(bench, |host| async move {
        let id = key("greet").task_id();
        host.look_at_child(id).await.expect("a reply")
    })
}

fn ended(says: Option<ChildSays>) -> Outcome {
    match says {
        Some(ChildSays::Ended(outcome)) => outcome,
        other => panic!("not ended: {other:?}"),
    }
}

#[test]
fn a_child_is_begun_seen_and_joined() {
    let mut bench = Bench::new(greet());
    assert_eq!(seen(&mut bench), Some(ChildSays::Gone));
    let says = begun(&mut bench, child("greet", br#""ada""#));
    assert_eq!(says, Some(ChildSays::Moving));
    let wanted = Outcome::Value(
        r#"{"status":200,"headers":{"content-type":"application/json"},"body":"hello ada"}"#.into(),
    );
    assert_eq!(ended(seen(&mut bench)), wanted);
    // A second one of the same key gets the answer of the first.
    let says = begun(&mut bench, child("greet", br#""eve""#));
    assert_eq!(ended(says), wanted);
    assert_eq!(
        bench.actions(),
        [
            Action::Look,
            Action::Begin,
            Action::Claim,
            Action::Finish,
            Action::Look,
            Action::Begin
        ]
    );
}

#[test]
fn what_cannot_be_begun_is_refused_before_anything_is_sent() {
    let mut bench = Bench::new(greet());
    for begin in [child("unknown", b"1"), child("greet", b"{}")] {
        match begun(&mut bench, begin) {
            Some(ChildSays::Refused(failure)) => assert_eq!(failure.code, "child_refused"),
            other => panic!("not refused: {other:?}"),
        }
    }
    assert!(bench.actions().is_empty() && bench.tasks().is_empty());
}

#[test]
fn a_doubled_or_lost_begin_is_one_task() {
    let disturbances: [fn(Bench) -> Bench; 2] = [
        |b| b.lose_reply(Action::Begin, 1),
        |b| b.send_twice(Action::Begin, 1),
    ];
    for disturb in disturbances {
        let mut bench = disturb(Bench::new(greet()));
        let parent = Parent {
            task_id: key("nobody").task_id(),
            generation: 1,
            step: StepId::new("", "call", 0),
        };
        let begin = ChildBegin {
            parent: Some(parent),
            ..child("greet", br#""ada""#)
        };
        assert!(begun(&mut bench, begin).is_some());
        let task = bench.task("k").expect("a child");
        assert_eq!((task.state, task.claims), (State::Succeeded, 1));
        assert!(task.debts.list.is_empty(), "a parent that is gone is told");
    }
}

#[test]
fn a_crash_at_a_begin_is_silence() {
    for (after, tasks) in [(false, 0), (true, 1)] {
        let bench = Bench::new(greet());
        let mut bench = if after {
            bench.crash_after(Action::Begin, 1)
        } else {
            bench.crash_before(Action::Begin, 1)
        };
        assert_eq!(begun(&mut bench, child("greet", br#""ada""#)), None);
        assert_eq!(bench.tasks().len(), tasks);
    }
}

#[test]
fn a_child_that_failed_says_so() {
    let function = Function::new("greet", |ctx: Ctx, _: Input| async move {
        let request = OutRequest {
            method: "GET".to_owned(),
            url: "http://h/".to_owned(),
            headers: std::iter::empty::<(&str, &str)>().collect(),
            body: Vec::new(),
        };
        let got = ctx.fetch("get", request).await;
        got.map_err(|f| Failure::terminal("no_luck", f.message))
    });
    let broken = |_: &Sent| Reaction::status(500);
    let mut bench = Bench::new(function).outside(broken);
    assert!(begun(&mut bench, child("greet", b"")).is_some());
    match ended(seen(&mut bench)) {
        Outcome::Failed(failure) => assert_eq!(failure.code, "child_failed"),
        other => panic!("not failed: {other:?}"),
    }
}
