//! F77, F79: tries of one step, across suspensions and crashes.

use crate::support::{
    Mode, Server, Settings as _, Sink, call, check, eventually, fresh, hook, program, shared,
    throughout, time_ms, unix_ms,
};
use serde_json::{Value, json};
use std::time::Duration;

/// One attempt of the task: only the step itself tries again.
fn once(steps: impl IntoIterator<Item = Value>) -> Value {
    program(steps)
        .set("respond_within", "50ms")
        .set("max_attempts", 1)
}

fn tries(max_attempts: u32, delay: &str) -> Value {
    json!({ "max_attempts": max_attempts, "initial": delay, "factor": 1, "max": delay })
}

/// The times between the calls of a target.
fn gaps(sink: &Sink, target: &str) -> Vec<Duration> {
    let calls = sink.calls(target);
    calls.windows(2).map(|w| w[1].began - w[0].began).collect()
}

#[test]
fn all_tries_of_a_step_carry_the_same_key() {
    let (server, sink) = (shared(), Sink::start());
    let mut keys = Vec::new();
    for run in ["one", "two"] {
        let target = format!("/seq/drop,500,429,200?{run}");
        let steps = [
            call("flaky", sink.url(&target)).with("retry", tries(4, "20ms")),
            call("other", sink.url("/other")),
        ];
        let id = hook(server, &fresh("same-key"), &once(steps)).task_id();
        server.wait_state(&id, "succeeded");
        keys.push(sink.assert_same_key(&target, 4));
    }
    keys.extend(sink.keys("/other"));
    let unique: std::collections::HashSet<_> = keys.iter().collect();
    assert_eq!(unique.len(), 4, "another step, another run: {keys:?}");
}

/// F77: neither more nor fewer, whatever the delays grow to.
#[test]
fn a_hundred_tries_are_exactly_a_hundred() {
    let (server, sink) = (shared(), Sink::start());
    let grown = json!({ "max_attempts": 70, "initial": "1ms", "factor": 1000, "max": "3ms" });
    let cases = [(100, tries(100, "1ms")), (70, grown), (1, tries(1, "1ms"))];
    for (n, retry) in cases {
        let target = format!("/status/500?{n}");
        let step = call("broken", sink.url(&target)).with("retry", retry);
        let id = hook(server, &fresh("hundred"), &once([step])).task_id();
        let document = server.wait_state(&id, "failed");
        assert_eq!(document["error"]["step"], "broken", "{document}");
        sink.assert_same_key(&target, n);
        // What is shown of it, if anything is, is not a wait: nothing waits any more.
        let journal = server.journal(&id);
        assert!(
            journal.iter().all(|r| r["state"] != "waiting"),
            "{journal:?}"
        );
    }
}

#[test]
fn a_longer_wait_between_tries_suspends_the_task_and_says_for_what() {
    let (server, sink) = (shared(), Sink::start());
    let step = call("flaky", sink.url("/seq/500,500,200")).with("retry", tries(3, "1500ms"));
    let began = unix_ms();
    let id = hook(server, &fresh("waits"), &once([step])).task_id();
    let document = server.wait_waiting(&id, "backoff");
    assert_eq!(document["waiting"]["name"], "flaky", "{document}");
    let until = time_ms(&document["waiting"]["until"]);
    assert!((began + 1_500..=unix_ms() + 1_500).contains(&until));
    assert!(document["attempts"].as_u64() <= Some(1), "{document}");
    server.wait_state(&id, "succeeded");
    sink.assert_same_key("/seq/500,500,200", 3);
    for gap in gaps(&sink, "/seq/500,500,200") {
        assert!(gap >= Duration::from_millis(1_490), "{gap:?}");
    }
}

#[test]
fn what_a_service_says_of_when_to_come_back_is_followed() {
    let (server, sink) = (shared(), Sink::start());
    // A date has whole seconds, so up to one of them is lost.
    let cases = [
        // Clocks are read in whole milliseconds on both sides.
        ("/seq/busy2,200", 1_990),
        ("/seq/busydate3,200", 2_000),
        ("/seq/busy0,200", 0),
        ("/seq/busydate-60,200", 0),
    ];
    let ids = cases.map(|(target, _)| {
        let step = call("busy", sink.url(target)).with("retry", tries(2, "10ms"));
        hook(server, &fresh("busy"), &once([step])).task_id()
    });
    for ((target, least), id) in cases.iter().zip(&ids) {
        server.wait_state(id, "succeeded");
        sink.assert_same_key(target, 2);
        let gap = gaps(&sink, target)[0];
        assert!(gap >= Duration::from_millis(*least), "{target}: {gap:?}");
        let most = Duration::from_millis(least + 4_000);
        assert!(gap < most, "{target}: {gap:?} is too long");
    }
}

/// A service that asks for a week is not waited for that long.
#[test]
fn a_wish_to_come_back_very_late_is_capped() {
    let (server, sink) = (shared(), Sink::start());
    let step = call("busy", sink.url("/seq/busy604800,200")).with("retry", tries(2, "10ms"));
    let id = hook(server, &fresh("capped"), &once([step])).task_id();
    let document = server.wait_waiting(&id, "backoff");
    let left = time_ms(&document["waiting"]["until"]) - unix_ms();
    assert!((1..=3_601_000).contains(&left), "{document}");
    server.cancel(&id).expect(200);
}

/// The count of tries and the time of the next one are on record.
#[test]
fn tries_and_the_time_of_the_next_one_survive_a_crash() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let begin = |target: &str, max: u32, delay: &str| {
        let step = call("flaky", sink.url(target)).with("retry", tries(max, delay));
        hook(&server, &fresh("crash"), &once([step]).short()).task_id()
    };
    let exact = begin("/status/500?exact", 4, "1500ms");
    let last = begin("/seq/500,500,200?last", 3, "2500ms");
    let due = begin("/seq/500,200?due", 2, "5s");
    sink.wait_for("/status/500?exact", 2);
    sink.wait_for("/seq/500,200?due", 1);
    server.wait_waiting(&exact, "backoff");
    let before = server.wait_waiting(&due, "backoff");
    server.wait_waiting(&last, "backoff");
    server.restart();
    let restarted = std::time::Instant::now();
    let after = server.task(&due);
    if after["state"] == "suspended" {
        let until = &after["waiting"]["until"];
        assert_eq!(*until, before["waiting"]["until"], "{after}");
    }
    let document = server.wait_state(&exact, "failed");
    assert_eq!(document["error"]["step"], "flaky", "{document}");
    sink.assert_same_key("/status/500?exact", 4);
    for (id, target, times) in [
        (&last, "/seq/500,500,200?last", 3),
        (&due, "/seq/500,200?due", 2),
    ] {
        server.wait_state(id, "succeeded");
        sink.assert_same_key(target, times);
    }
    let [first, second] = [0, 1].map(|n| sink.calls("/seq/500,200?due")[n].began);
    let wait = Duration::from_secs(5);
    assert!(second - first >= Duration::from_millis(4_950));
    let latest = (first + wait).max(restarted) + wait / 2;
    assert!(second < latest, "the wait has begun anew");
    throughout(Duration::from_millis(500), || {
        let n = sink.count("/status/500?exact");
        check(n == 4, || format!("{n} tries"))
    });
}

/// F79: a crash in a try itself: it is made again, under the key that it had.
#[test]
fn a_crash_in_a_try_repeats_that_try_with_its_key() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let target = "/seq/500,hold,drop,200";
    let step = call("flaky", sink.url(target)).with("retry", tries(5, "50ms"));
    let body = program([step, call("after", sink.url("/after"))]).short();
    let request = Mode::Webhook.request(&fresh("in-a-try"), &body);
    let id = server
        .send(&request.clone().field("Prefer", "respond-async"))
        .task_id();
    sink.wait_for(target, 2);
    server.restart();
    sink.wait_for("/after", 1);
    server.wait_state(&id, "succeeded");
    let key = sink.assert_same_key(target, 4);
    assert_ne!(sink.keys("/after"), [key]);
    assert!(server.send(&request).expect(200).is_replay());
}

/// A step that has used up its tries is tried again by the next attempt of its task only, which has
/// all of them again; whether the tries waited in the slice or out of it.
#[test]
fn tries_that_are_used_up_fail_the_attempt_and_begin_anew_with_the_next() {
    let (server, sink) = (shared(), Sink::start());
    for (delay, target) in [
        ("10ms", "/seq/500,500,500,500,500,200?in"),
        ("1100ms", "/seq/500,500,500,500,500,200?out"),
    ] {
        let step = call("flaky", sink.url(target)).with("retry", tries(3, delay));
        let body = program([step])
            .set("respond_within", "50ms")
            .set("max_attempts", 2);
        let id = hook(server, &fresh("attempts"), &body).task_id();
        // A wait between two tries names its step; the one between attempts does not.
        eventually(|| {
            let document = server.task(&id);
            let waiting = &document["waiting"];
            let used_up = waiting["for"] == "backoff" && waiting["name"].is_null();
            check(used_up, || document.to_string())
        });
        assert!(sink.count(target) >= 3);
        let end = server.end_of(&id);
        assert_eq!(end["state"], "succeeded", "{end}");
        sink.assert_same_key(target, 6);
    }
}
