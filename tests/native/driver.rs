//! One slice: when it tells its object what, and when it stops.

use futures::future::join;
use onceward::function::{
    Ctx, Failure, Fetched, Function, Input, OutRequest, Policy, Raw, Retry, SliceEnd,
};
use onceward::protocol::{Event, Proof, Record, Reply, State};
use onceward::testing::{Action, Bench, Reaction, Sent, crash_everywhere};
use onceward::types::{Answer, Token};

use Action::{Claim, Fetch, Finish, Record as Recorded, Suspend};

pub(super) async fn send(ctx: &Ctx, name: &str) -> Result<Fetched, Failure> {
    let request = OutRequest {
        method: "POST".to_owned(),
        url: format!("http://h/{name}"),
        headers: std::iter::empty::<(&str, &str)>().collect(),
        body: Vec::new(),
    };
    ctx.fetch(name, request).retry(Retry::none()).await
}

/// A function without input that sends one request after the other, and answers with their number.
pub(super) fn chain(names: &'static [&'static str]) -> Function {
    Function::new("chain", move |ctx: Ctx, _: Input| async move {
        for name in names {
            send(&ctx, name).await?;
        }
        Ok(names.len())
    })
}

pub(super) fn start(mut bench: Bench) -> Bench {
    bench
        .deliver("k", Input::default())
        .expect("any input will do");
    bench.run_until_idle();
    bench
}

pub(super) fn urls(bench: &Bench) -> Vec<String> {
    let requests = bench.requests();
    let path = |s: &Sent| s.request.url.trim_start_matches("http://h/").to_owned();
    requests.iter().map(path).collect()
}

pub(super) fn state(bench: &Bench) -> State {
    bench.task("k").expect("a task").state
}

#[test]
fn one_step_is_one_message() {
    let bench = start(Bench::new(chain(&["a"])));
    assert_eq!(
        bench.actions(),
        [Fetch, Finish],
        "its record travels with the finish"
    );
    assert_eq!(bench.journal("k").len(), 1);
    assert_eq!(bench.answer("k").expect("an answer").body, b"1");
    assert!(matches!(bench.ends(), [SliceEnd::Ended(s)] if s.answer == bench.answer("k")));
}

#[test]
fn a_record_is_there_before_the_next_effect() {
    let bench = start(Bench::new(chain(&["a", "b", "c"])));
    assert_eq!(
        bench.actions(),
        [Fetch, Recorded, Fetch, Recorded, Fetch, Finish]
    );
}

#[test]
fn the_next_effect_waits_for_the_reply() {
    // The reply of the record of `a` is lost: `b` goes out only after it was sent again.
    let bench = start(Bench::new(chain(&["a", "b"])).lose_reply(Recorded, 1));
    let at: Vec<u64> = bench.requests().iter().map(|s| s.at_ms).collect();
    assert!(at[1] - at[0] >= 500, "{at:?}");
    assert_eq!(urls(&bench), ["a", "b"]);
}

#[test]
fn concurrent_steps_do_not_wait_for_each_other() {
    let function = Function::new("both", |ctx: Ctx, _: Input| async move {
        let (a, b) = join(send(&ctx, "a"), send(&ctx, "b")).await;
        Ok((a?.status, b?.status))
    });
    let react = |sent: &Sent| {
        let slow = sent.request.url.ends_with('b');
        Reaction::status(200).after_ms(if slow { 500 } else { 10 })
    };
    crash_everywhere(&function, &Input::default(), react);
    let bench = start(Bench::new(function).outside(react));
    assert_eq!(bench.actions(), [Fetch, Fetch, Recorded, Finish]);
    let requests = bench.requests();
    assert_eq!(requests[0].at_ms, requests[1].at_ms);
    assert_eq!(bench.answer("k").expect("an answer").body, b"[200,200]");
}

#[test]
fn a_full_slice_hands_on_and_nothing_is_done_twice() {
    let policy = Policy {
        steps_per_slice: 2,
        ..Policy::default()
    };
    let names: &[&str] = &["a", "b", "c", "d", "e"];
    let bench = start(Bench::new(
        chain(&["a", "b", "c", "d", "e"]).policy_of(policy),
    ));
    assert_eq!(urls(&bench), names);
    assert_eq!(
        bench.actions(),
        [
            Fetch, Recorded, Fetch, Recorded, Suspend, Claim, Fetch, Recorded, Fetch, Recorded,
            Suspend, Claim, Fetch, Finish
        ]
    );
    let ends = bench.ends();
    assert!(
        matches!(
            ends[0],
            SliceEnd::Suspended {
                ticket: Some(_),
                hop: 1
            }
        ),
        "{ends:?}"
    );
    assert!(
        matches!(
            ends[1],
            SliceEnd::Suspended {
                ticket: Some(_),
                hop: 2
            }
        ),
        "{ends:?}"
    );
    assert_eq!(state(&bench), State::Succeeded);
}

#[test]
fn progress_counts_though_its_record_went_ahead_of_the_suspend() {
    let policy = Policy {
        steps_per_slice: 1,
        max_attempts: 1,
        ..Policy::default()
    };
    let bench = start(Bench::new(chain(&["a", "b", "c"]).policy_of(policy)));
    assert_eq!(state(&bench), State::Succeeded);
}

#[test]
fn a_long_chain_goes_on_by_the_alarm() {
    let policy = Policy {
        steps_per_slice: 1,
        ..Policy::default()
    };
    let function = Function::new("many", |ctx: Ctx, _: Input| async move {
        for _ in 0..30 {
            send(&ctx, "same").await?;
        }
        Ok(())
    });
    let bench = start(Bench::new(function.policy_of(policy)));
    assert_eq!(bench.requests().len(), 30);
    let alone = |e: &&SliceEnd| matches!(e, SliceEnd::Suspended { ticket: None, .. });
    assert_eq!(bench.ends().iter().filter(alone).count(), 3);
    assert_eq!(bench.journal("k")[29].id.occurrence, 29);
}

#[test]
fn a_step_that_no_longer_fits_is_for_the_next_slice() {
    let policy = Policy {
        slice_budget_ms: 5_000,
        slice_cut_ms: 6_000,
        ..Policy::default()
    };
    let bench = start(
        Bench::new(chain(&["a", "b", "c"]).policy_of(policy))
            .outside(|_| Reaction::status(200).after_ms(2_500)),
    );
    // Each may take 3 s: two do not fit into 5.
    assert_eq!(bench.actions().iter().filter(|a| **a == Suspend).count(), 2);
    assert_eq!(urls(&bench), ["a", "b", "c"]);
}

#[test]
fn a_foreign_proof_changes_nothing() {
    let mut bench = Bench::new(chain(&["a", "b", "c"])).outside(|sent| {
        let slow = sent.request.url.ends_with('b');
        Reaction::status(200).after_ms(if slow { 3_000 } else { 0 })
    });
    bench
        .deliver("k", Input::default())
        .expect("any input will do");
    bench.run_for(500);
    let task = bench.task("k").expect("a task");
    let lease = task.lease.expect("a holder");
    let foreign = Record {
        proof: Proof {
            fence: lease.fence,
            token: Token::new("wrong"),
        },
        steps: Vec::new(),
        known: Vec::new(),
        cursor: None,
        known_cursor: None,
    };
    let reply = bench.tell("k", Event::Record(Box::new(foreign)));
    assert!(matches!(reply, Reply::Stale(_)), "{reply:?}");
    bench.run_until_idle();
    assert_eq!(
        urls(&bench),
        ["a", "b", "c"],
        "a foreign proof changed nothing"
    );
}

#[test]
fn a_slice_that_lost_its_task_does_nothing_more() {
    // The finish of an attempt is forged in its name; the slice that is still busy must stop.
    let mut bench = Bench::new(chain(&["a", "b", "c"])).outside(|sent| {
        let slow = sent.request.url.ends_with('b');
        Reaction::status(200).after_ms(if slow { 3_000 } else { 0 })
    });
    bench
        .deliver("k", Input::default())
        .expect("any input will do");
    bench.run_for(500);
    let lease = bench.task("k").and_then(|t| t.lease).expect("a holder");
    let finish = onceward::protocol::Finish {
        op: Token::new("forged"),
        proof: Proof {
            fence: lease.fence,
            token: lease.token,
        },
        steps: Vec::new(),
        known: Vec::new(),
        verdict: onceward::protocol::Verdict::Succeeded(Answer::json(
            200,
            &serde_json::json!("other"),
        )),
    };
    bench.tell("k", Event::Finish(Box::new(finish)));
    bench.run_until_idle();
    assert_eq!(urls(&bench), ["a", "b"], "`c` is never sent");
    assert!(
        matches!(bench.ends(), [SliceEnd::Stopped]),
        "{:?}",
        bench.ends()
    );
    assert_eq!(bench.answer("k").expect("an answer").body, b"\"other\"");
}

#[test]
fn a_busy_function_runs_into_the_limit_of_its_slice() {
    let policy = Policy {
        slice_cut_ms: 5_000,
        slice_budget_ms: 4_000,
        max_attempts: 2,
        ..Policy::default()
    };
    let function = Function::new("waits", |ctx: Ctx, _: Input| async move {
        send(&ctx, "a").await?;
        ctx.pause(60_000).await;
        Ok(())
    });
    let bench = start(Bench::new(function.policy_of(policy)));
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, State::Failed { resumable: true });
    assert_eq!(task.failure.expect("a failure").code, "slice_timeout");
    assert_eq!(urls(&bench), ["a"], "what was recorded stays recorded");
    assert_eq!(bench.ends().len(), 2, "both slices could still say so");
}

#[test]
fn a_handled_failure_is_replayed_and_an_ending_one_is_tried_again() {
    let function = Function::new("handles", |ctx: Ctx, _: Input| async move {
        let first = send(&ctx, "broken").await;
        let second = send(&ctx, "flaky").await?;
        Ok((first.is_err(), second.status))
    });
    let bench = start(Bench::new(function).outside(|sent| {
        let broken = sent.request.url.ends_with("broken");
        Reaction::status(if broken || sent.nth == 1 { 500 } else { 200 })
    }));
    assert_eq!(urls(&bench), ["broken", "flaky", "flaky"]);
    assert_eq!(bench.answer("k").expect("an answer").body, b"[true,200]");
}

#[test]
fn an_answer_that_cannot_be_stored_fails_for_good() {
    let function = Function::new("large", |_: Ctx, _: Input| async {
        let body = vec![0; onceward::limits::MAX_ANSWER_BYTES + 1];
        Ok(Raw(Answer {
            status: 200,
            headers: std::iter::empty::<(&str, &str)>().collect(),
            body,
        }))
    });
    let bench = start(Bench::new(function));
    assert_eq!(state(&bench), State::Failed { resumable: false });
    let failure = bench.task("k").and_then(|t| t.failure).expect("a failure");
    assert_eq!(failure.code, "answer_too_large");
}
