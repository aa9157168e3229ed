//! F90, F92: branches that run side by side.

use crate::support::{
    Mode, Server, Settings as _, Sink, call, check, eventually, fail, fresh, hook, parallel,
    program, shared, sleep, value,
};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::Duration;

fn brief(steps: impl IntoIterator<Item = Value>) -> Value {
    program(steps)
        .set("respond_within", "50ms")
        .set("max_attempts", 1)
}

#[test]
fn branches_have_checkpoints_and_keys_of_their_own_though_names_are_equal() {
    let (server, sink) = (shared(), Sink::start());
    let branch = |n: u32| vec![value("x", n), call("y", sink.url("/y"))];
    let steps = [
        parallel("left", [branch(1), branch(2), branch(3)]),
        parallel("right", [branch(4), Vec::new()]),
        value("x", 5),
    ];
    let body = program(steps).set("respond_within", "5s");
    let request = Mode::Webhook.request(&fresh("own"), &body);
    let outcomes = server.send(&request).expect(200).json()["steps"].clone();
    for (place, x) in [
        ("/left/0", 1),
        ("/left/1", 2),
        ("/left/2", 3),
        ("/right/0", 4),
    ] {
        let branch = outcomes.pointer(place).expect("a branch");
        assert_eq!(branch["x"], x, "{outcomes}");
        assert_eq!(branch["y"]["status"], 200, "{outcomes}");
    }
    assert_eq!(outcomes["right"][1], json!({}), "{outcomes}");
    assert_eq!(outcomes["x"], 5, "{outcomes}");
    let keys: HashSet<String> = sink.keys("/y").into_iter().collect();
    assert_eq!(keys.len(), 4, "{keys:?}");
}

/// No branch is broken off, and nothing is undone before all of it is known.
#[test]
fn when_one_branch_fails_the_others_finish_and_are_recorded_before_anything_is_undone() {
    let (server, sink) = (shared(), Sink::start());
    for kind in ["terminal", "retryable"] {
        let slow = format!("/d/800?{kind}");
        let (quick, undo_quick) = (format!("/quick?{kind}"), format!("/undo/quick?{kind}"));
        let undo_slow = format!("/undo/slow?{kind}");
        let branches = [
            vec![
                call("quick", sink.url(&quick)).undo(sink.url(&undo_quick)),
                fail(kind),
            ],
            vec![
                call("slow", sink.url(&slow)).undo(sink.url(&undo_slow)),
                value("seen", 1),
            ],
        ];
        let body = brief([
            parallel("both", branches),
            call("never", sink.url("/never")),
        ]);
        let id = hook(server, &fresh("one-fails"), &body).task_id();
        let document = server.wait_state(&id, "failed");
        assert_eq!(document["error"]["code"], "lab_fail", "{document}");
        assert_eq!(document["undone"], "complete", "{document}");
        let call = sink.calls(&slow)[0].clone();
        assert!(!call.hung_up, "the other branch was broken off");
        assert_eq!(sink.calls(&undo_slow)[0].json()["status"], 200, "recorded");
        for undo in [&undo_slow, &undo_quick] {
            let began = sink.calls(undo)[0].began;
            assert!(
                began >= call.ended.expect("an end"),
                "{undo} came too early"
            );
            assert_eq!(sink.count(undo), 1);
        }
        assert_eq!((sink.count(&quick), sink.count(&slow)), (1, 1));
    }
    assert_eq!(sink.count("/never"), 0);
}

#[test]
fn after_a_crash_only_the_branch_that_was_at_work_goes_on() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let held = ["/seq/hold,200?a2", "/seq/hold,200?c1"];
    let branches = [
        vec![
            call("one", sink.url("/a1")),
            call("two", sink.url(held[0])),
            call("three", sink.url("/a3")),
        ],
        vec![call("one", sink.url("/b1")), call("two", sink.url("/b2"))],
        vec![call("one", sink.url(held[1]))],
    ];
    let body = program([parallel("all", branches), call("after", sink.url("/after"))]).short();
    let request = Mode::Webhook.request(&fresh("crash"), &body);
    let id = server
        .send(&request.clone().field("Prefer", "respond-async"))
        .task_id();
    for target in held {
        sink.wait_for(target, 1);
    }
    // All of the other branch is on record, although its neighbours are at work.
    eventually(|| {
        let journal = server.journal(&id);
        let done = |r: &&Value| r["state"] == "succeeded";
        let count = journal.iter().filter(done).count();
        check(count == 3, || format!("{journal:?}"))
    });
    server.restart();
    sink.wait_for("/after", 1);
    server.wait_state(&id, "succeeded");
    let counts = ["/a1", "/b1", "/b2", "/a3", "/after"].map(|t| sink.count(t));
    assert_eq!(counts, [1; 5], "what was recorded is not repeated");
    for target in held {
        sink.assert_same_key(target, 2);
    }
    let answer = server.send(&request).expect(200);
    assert_eq!(answer.json()["steps"]["all"][2]["one"]["status"], 200);
}

#[test]
fn branches_wait_side_by_side() {
    let (server, sink) = (shared(), Sink::start());
    let branch = |time: &str| {
        vec![
            sleep("nap", time),
            call("woke", sink.url(&format!("/{time}"))),
        ]
    };
    let branches = [branch("1300ms"), branch("1500ms"), branch("1700ms")];
    let began = std::time::Instant::now();
    let id = hook(server, &fresh("naps"), &brief([parallel("all", branches)])).task_id();
    let document = server.wait_waiting(&id, "sleep");
    let all = document["waiting_for"].as_array().map_or(0, Vec::len);
    assert_eq!(all, 3, "{document}");
    server.wait_state(&id, "succeeded");
    // One after the other they would have slept for 4.5 s.
    let last = sink.calls("/1700ms")[0].began - began;
    assert!(last < Duration::from_secs(4), "{last:?}");
    for (target, ms) in [("/1300ms", 1_300), ("/1500ms", 1_500), ("/1700ms", 1_700)] {
        let woke = sink.calls(target)[0].began - began;
        assert!(woke >= Duration::from_millis(ms), "{target}: {woke:?}");
        assert_eq!(sink.count(target), 1);
    }
}

/// Slices end while branches are under way, and begin again among them.
#[test]
fn short_slices_cut_branches_without_repeating_a_step() {
    let (server, sink) = (shared(), Sink::start());
    let targets: Vec<Vec<String>> = (0..5)
        .map(|b| (0..4).map(|s| format!("/step?{b}-{s}")).collect())
        .collect();
    let branch = |b: usize| -> Vec<Value> {
        let step = |(s, t): (usize, &String)| call(&format!("s{s}"), sink.url(t));
        targets[b].iter().enumerate().map(step).collect()
    };
    for steps_per_slice in [1, 3] {
        let before = sink.total();
        let body = brief([parallel("all", [0, 1, 2, 3, 4].map(branch))])
            .set("steps_per_slice", steps_per_slice)
            .set("lease", "15m");
        let id = hook(server, &fresh("cut"), &body).task_id();
        server.wait_state(&id, "succeeded");
        assert_eq!(sink.total() - before, 20, "{steps_per_slice}");
    }
    for target in targets.iter().flatten() {
        assert_eq!(sink.count(target), 2, "{target}: once for each task");
    }
}

#[test]
fn branches_within_branches_give_outcomes_within_outcomes() {
    let deep = parallel("deep", [vec![value("v", "a")], vec![value("v", "b")]]);
    let body = program([parallel(
        "top",
        [vec![deep, value("v", "c")], vec![value("v", "d")]],
    )]);
    let answer = hook(shared(), &fresh("deep"), &body).expect(200);
    let wanted = json!({ "top": [
        { "deep": [{ "v": "a" }, { "v": "b" }], "v": "c" },
        { "v": "d" },
    ]});
    assert_eq!(answer.json()["steps"], wanted, "{}", answer.shown());
}
