//! Replies of the object that get lost, and continuations that get lost or doubled. A lease of these
//! tests lasts longer than a test may take: whatever had to wait for its end would fail.

use crate::support::{
    Mode, Server, Settings as _, Sink, call, check, eventually, fresh, hook, program,
};
use serde_json::{Value, json};

fn long_lease(body: Value) -> Value {
    body.set("lease", "15m")
}

/// Runs one program in both modes under a fault that strikes it.
fn under(fault: &Value, steps_per_slice: u32) {
    let (server, sink) = (Server::start(), Sink::start());
    for mode in Mode::BOTH {
        let targets = ["a", "b", "c"].map(|s| format!("/{s}?{mode:?}"));
        let steps = targets.each_ref().map(|t| call(&t[1..2], sink.url(t)));
        let body = long_lease(program(steps))
            .set("respond_within", "5s")
            .set("steps_per_slice", steps_per_slice);
        server.fault(fault);
        let request = mode.request(&fresh("message"), &body);
        let first = server.send(&request);
        assert!(
            matches!(first.status, 200 | 202),
            "{fault}: {}",
            first.shown()
        );
        let id = first.task_id();
        server.wait_state(&id, "succeeded");
        let again = server.send(&request).expect(200);
        assert!(again.is_replay(), "{fault}: {}", again.shown());
        if first.status == 200 {
            assert_eq!(first.body, again.body, "{fault}");
            assert!(!first.is_replay(), "{fault}: {}", first.shown());
        }
        for target in &targets {
            assert_eq!(sink.count(target), 1, "{fault}: {target}");
        }
        let row = eventually(|| {
            let row = server.files().row(&id)?.ok_or("no row")?;
            check(row.state == "succeeded", || format!("{row:?}"))?;
            Ok(row)
        });
        assert_eq!(
            row.claims,
            3_u32.div_ceil(steps_per_slice),
            "{fault}: one claim for each slice"
        );
        let faults = server.faults();
        let kind = if fault["self"].is_string() {
            "self"
        } else {
            "object_reply"
        };
        assert!(
            faults[kind]["struck"].as_u64() >= Some(1),
            "{fault} did not strike: {faults}"
        );
        server.fault(&json!({ "object_reply": "ok", "self": "ok", "times": 1 }));
    }
}

fn lost(on: &str, times: u32) -> Value {
    json!({ "object_reply": "lose", "on": on, "times": times })
}

#[test]
fn a_lost_reply_to_begin_costs_nothing() {
    under(&lost("begin", 1), 100);
}

#[test]
fn a_lost_reply_to_record_costs_nothing() {
    under(&lost("record", 1), 100);
}

#[test]
fn a_lost_reply_to_finish_costs_nothing() {
    under(&lost("finish", 1), 100);
}

#[test]
fn lost_replies_to_suspend_and_claim_cost_nothing() {
    under(&lost("suspend", 1), 1);
    under(&lost("claim", 1), 1);
}

#[test]
fn replies_that_are_lost_several_times_in_a_row_cost_nothing() {
    under(&lost("record", 3), 100);
    under(&lost("finish", 3), 100);
}

#[test]
fn doubled_tickets_are_claimed_once() {
    under(&json!({ "self": "double", "times": 10 }), 1);
}

#[test]
fn a_lost_continuation_is_made_good_by_the_alarm() {
    under(&json!({ "self": "lose", "times": 1 }), 2);
}

/// What a step has done is known to the object before the next step may build on it.
#[test]
fn a_step_begins_only_when_the_one_before_is_recorded() {
    let (server, sink) = (Server::start(), Sink::start());
    for mode in Mode::BOTH {
        let targets = ["a", "b"].map(|s| format!("/{s}?{mode:?}"));
        let steps = targets.each_ref().map(|t| call(&t[1..2], sink.url(t)));
        let body = long_lease(program(steps)).set("respond_within", "5s");
        server.fault(&lost("record", 5));
        let request = mode
            .request(&fresh("before"), &body)
            .field("Prefer", "respond-async");
        let id = server.send(&request).expect(202).task_id();
        sink.wait_for(&targets[1], 1);
        let fault = server.faults()["object_reply"].clone();
        assert_eq!(
            fault["left"], 0,
            "the second step has begun before the first was recorded"
        );
        server.wait_state(&id, "succeeded");
        for target in &targets {
            assert_eq!(sink.count(target), 1, "{target}");
        }
    }
}

/// F39: when nothing can be learned of a key the sender is told so, and nothing runs twice.
#[test]
fn while_the_object_cannot_be_heard_the_answer_is_503_and_nothing_runs_twice() {
    let (server, sink) = (Server::start(), Sink::start());
    let body = program([call("once", sink.url("/once"))]).short();
    let request = Mode::Call.request(&fresh("unheard"), &body);
    server.fault(&lost("begin", 1_000_000));
    let answer = server.send(&request);
    server.fault(&json!({ "object_reply": "ok", "times": 1 }));
    let answer = answer.expect_problem(503, "unavailable");
    assert!(answer.field("Retry-After").is_some(), "{}", answer.shown());
    // It had been accepted: the alarm sees that nobody works on it.
    sink.wait_for("/once", 1);
    let done = server.send(&request.field("Prefer", "wait=25")).expect(200);
    assert!(done.is_replay(), "{}", done.shown());
    assert_eq!(sink.count("/once"), 1);
}

/// A chain of continuations is cut by the hop limit and goes on from the alarm.
#[test]
fn thirty_slices_in_a_row_run_each_step_once() {
    let (server, sink) = (Server::start(), Sink::start());
    let targets: Vec<String> = (0..30).map(|n| format!("/step?{n}")).collect();
    let steps = targets
        .iter()
        .enumerate()
        .map(|(n, t)| call(&format!("s{n}"), sink.url(t)));
    let body = long_lease(program(steps))
        .set("respond_within", "20ms")
        .set("steps_per_slice", 1);
    let id = hook(&server, &fresh("chain"), &body).task_id();
    server.wait_state(&id, "succeeded");
    let order: Vec<String> = sink.log().into_iter().map(|c| c.target).collect();
    assert_eq!(order, targets);
}
