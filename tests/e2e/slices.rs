//! F123: tasks of many slices. Chains of continuations are short; none of it counts as an attempt.

use crate::support::{
    Mode, Request, Server, Settings as _, Sink, TOKEN, call, check, eventually, fresh, hook,
    parallel, program, repeat, shared, sleep, value,
};
use serde_json::{Value, json};
use std::collections::HashSet;

/// Whatever had to wait for the end of a lease would take longer than a test may.
fn small(body: Value) -> Value {
    body.set("lease", "15m")
        .set("respond_within", "20ms")
        .set("max_attempts", 1)
        .set("steps_per_slice", 1)
}

fn sixty(sink: &Sink) -> (Vec<String>, Value) {
    let targets: Vec<String> = (0..60).map(|n| format!("/step?{n}")).collect();
    let steps = targets
        .iter()
        .enumerate()
        .map(|(n, t)| call(&format!("s{n}"), sink.url(t)));
    let body = small(program(steps));
    (targets, body)
}

#[test]
fn sixty_slices_are_hops_and_alarms_and_no_attempts() {
    let (server, sink) = (Server::start(), Sink::start());
    let (targets, body) = sixty(&sink);
    let id = hook(&server, &fresh("sixty"), &body).expect(202).task_id();
    let mut most = 0;
    eventually(|| {
        let answer = server.look(&id);
        let document = answer.json();
        most = most.max(document["attempts"].as_u64().unwrap_or(99));
        check(document["state"] == "succeeded", || answer.shown())
    });
    assert!(most <= 1, "{most} attempts were counted");
    assert_eq!(sink.order(), targets, "each once, in order");
    let count = server.counters();
    let number = |name: &str| count[name].as_u64().expect("a count");
    let (deepest, hops) = (number("deepest_chain"), number("hops"));
    assert!((2..=8).contains(&deepest), "{count}");
    // The first slice of a chain is no hop: eight of nine hand-overs are.
    assert!((48..60).contains(&hops), "{count}");
    assert!(number("alarm_runs") >= 6, "the alarm began chains: {count}");
    let row = eventually(|| {
        let row = server.files().row(&id)?.ok_or("no row")?;
        check(row.state == "succeeded", || format!("{row:?}"))?;
        Ok(row)
    });
    assert_eq!(row.claims, 60, "one claim for each slice");
}

/// Sleeps, branches and short slices together, while continuations get lost and come twice.
fn napping(sink: &Sink, name: &str) -> (Vec<String>, Value) {
    let targets = ["a", "b", "c", "d"].map(|s| format!("/{s}?{name}"));
    let step = |n: usize| call(&targets[n][1..2], sink.url(&targets[n]));
    let body = small(program([
        step(0),
        sleep("nap", "1200ms"),
        parallel("both", [vec![step(1)], vec![step(2)]]),
        sleep("again", "1100ms"),
        step(3),
    ]));
    (targets.to_vec(), body)
}

#[test]
fn lost_and_doubled_continuations_repeat_nothing() {
    let (server, sink) = (Server::start(), Sink::start());
    for (fault, times) in [("double", 50), ("lose", 1)] {
        server.fault(&json!({ "self": fault, "times": times }));
        let (targets, body) = napping(&sink, fault);
        let id = hook(&server, &fresh("naps"), &body).expect(202).task_id();
        server.wait_state(&id, "succeeded");
        for target in targets {
            assert_eq!(sink.count(&target), 1, "{fault}: {target}");
        }
        let struck = server.faults()["self"]["struck"].as_u64();
        assert!(struck >= Some(1), "{fault} did not strike");
        server.fault(&json!({ "self": "ok" }));
    }
}

#[test]
fn five_thousand_turns_are_recorded_one_by_one() {
    let one = value("one", 1);
    let body = program([repeat("many", 5_000, &one), value("after", "all")])
        .set("steps_per_slice", 1_500)
        .set("max_attempts", 1);
    let request = Mode::Webhook.request(&fresh("five-thousand"), &body);
    let id = shared().send(&request).task_id();
    let document = shared().end_of(&id);
    assert_eq!(document["state"], "succeeded", "{document}");
    let answer = shared().send(&request).expect(200);
    assert_eq!(answer.json()["steps"]["many"], 5_000);
    assert_eq!(answer.json()["steps"]["after"], "all");
    // All of them are shown, a page at a time.
    let journal = shared().journal(&id);
    let steps: HashSet<&str> = journal.iter().filter_map(|r| r["step"].as_str()).collect();
    assert_eq!((journal.len(), steps.len()), (5_001, 5_001));
    let page = Request::get(&format!("/v1/tasks/{id}/journal")).bearer(TOKEN);
    let page = shared().send(&page).expect(200).json();
    let first = page["records"].as_array().map_or(0, Vec::len);
    assert!((1..5_001).contains(&first), "{first} records in one page");
}

/// F90: one name in a loop is one step for each turn.
#[test]
fn each_turn_of_a_loop_has_a_checkpoint_and_a_key_of_its_own() {
    let sink = Sink::start();
    let turn = call("turn", sink.url("/turn"));
    let body = small(program([repeat("loop", 12, &turn)])).set("steps_per_slice", 5);
    let id = hook(shared(), &fresh("loop"), &body).task_id();
    shared().wait_state(&id, "succeeded");
    let keys = sink.keys("/turn");
    let unique: HashSet<_> = keys.iter().collect();
    assert_eq!((keys.len(), unique.len()), (12, 12), "{keys:?}");
}
