//! F81, F83, F85, F102: tasks that sleep.

use crate::support::{
    Mode, Request, Server, Settings as _, Sink, call, check, eventually, fresh, hook, program,
    repeat, shared, signal, sleep, throughout, time_ms, unix_ms,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const DAY_MS: i64 = 24 * 3_600_000;
/// A slice reads its object's clock over a message, so a sleep may begin later by that, never earlier.
const ROUND_TRIP_MS: i64 = 1_000;

fn quick(body: Value) -> Value {
    body.set("respond_within", "50ms")
}

/// A task that sleeps and then calls `target`.
fn sleeper(server: &Server, sink: &Sink, nap: Value, target: &str) -> String {
    let body = quick(program([nap, call("after", sink.url(target))]));
    hook(server, &fresh("sleeper"), &body).task_id()
}

fn until(time: &str) -> Value {
    json!({ "do": "sleep", "name": "nap", "until": time })
}

fn rfc3339(ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(ms).expect("a date");
    format!("{at:.3}")
}

/// Timers of 2^31 ms, that is 24.8 days, and more have fired at once on more than one engine.
#[test]
fn long_sleeps_are_kept_exactly_do_not_end_at_once_and_can_be_cancelled() {
    let (server, sink) = (shared(), Sink::start());
    let days = [25, 30, 365, 400, 3_650];
    let asleep: Vec<(String, Value)> = days
        .iter()
        .map(|days| {
            let before = unix_ms();
            let nap = sleep("nap", &format!("{days}d"));
            let id = sleeper(server, &sink, nap, "/after");
            let document = server.wait_waiting(&id, "sleep");
            assert_eq!(document["waiting"]["name"], "nap", "{document}");
            let due = time_ms(&document["waiting"]["until"]) - days * DAY_MS;
            let latest = unix_ms() + ROUND_TRIP_MS;
            assert!((before..=latest).contains(&due), "{days} d: {document}");
            (id, document["waiting"].clone())
        })
        .collect();
    throughout(Duration::from_millis(1_500), || {
        for (id, waiting) in &asleep {
            let document = server.task(id);
            check(document["waiting"] == *waiting, || document.to_string())?;
        }
        Ok(())
    });
    for (id, _) in &asleep {
        let document = server.cancel(id).expect(200).json();
        assert_eq!(document["state"], "cancelled", "{document}");
        assert!(document["waiting"].is_null(), "{document}");
        assert_eq!(server.task(id)["state"], "cancelled");
    }
    assert_eq!(sink.total(), 0);
}

#[test]
fn a_sleep_until_a_time_is_shown_with_that_time() {
    let (server, sink) = (shared(), Sink::start());
    let time = "2031-02-03T04:05:06.789Z";
    let id = sleeper(server, &sink, until(time), "/after");
    let document = server.wait_waiting(&id, "sleep");
    assert_eq!(document["waiting"]["until"], time, "{document}");
    server.cancel(&id).expect(200);

    let soon = unix_ms() + 1_700;
    let id = sleeper(server, &sink, until(&rfc3339(soon)), "/after");
    sink.wait_for("/after", 1);
    assert!(unix_ms() >= soon, "it woke {} ms early", soon - unix_ms());
    server.wait_state(&id, "succeeded");
}

/// F85: no sleep at all is as good as a sleep.
#[test]
fn sleeps_of_no_time_and_into_the_past_go_on_at_once_and_are_recorded() {
    let (server, sink) = (shared(), Sink::start());
    let yesterday = rfc3339(unix_ms() - DAY_MS);
    for steps_per_slice in [100, 1] {
        let target = format!("/after?{steps_per_slice}");
        let body = program([
            sleep("none", "0s"),
            json!({ "do": "sleep", "name": "past", "until": yesterday }),
            json!({ "do": "sleep", "name": "epoch", "until": "1970-01-01T00:00:00Z" }),
            call("after", sink.url(&target)),
        ])
        .set("respond_within", "5s")
        .set("steps_per_slice", steps_per_slice);
        let id = hook(server, &fresh("no-sleep"), &body)
            .expect(200)
            .task_id();
        assert_eq!(sink.count(&target), 1);
        let journal = server.journal(&id);
        for name in ["none", "past", "epoch"] {
            let found = journal.iter().any(|r| r["step"] == name);
            assert!(found, "{name} is not in {journal:?}");
        }
    }
}

/// F85: two hundred short sleeps, in the slice and out of it.
#[test]
fn two_hundred_short_sleeps_are_all_slept() {
    let (server, began) = (shared(), Instant::now());
    let body = quick(program([repeat("naps", 200, &sleep("nap", "50ms"))])).set("max_attempts", 1);
    let requests = [
        Mode::Webhook.request(&fresh("naps"), &body),
        Mode::Webhook.request(&fresh("naps"), &body.set("steps_per_slice", 70)),
    ];
    let ids = requests.each_ref().map(|r| server.send(r).task_id());
    for (id, request) in ids.iter().zip(&requests) {
        let document = server.end_of(id);
        assert_eq!(document["state"], "succeeded", "{document}");
        assert!(began.elapsed() >= Duration::from_secs(10), "it slept less");
        let answer = server.send(request).expect(200);
        assert_eq!(answer.json()["steps"]["naps"], 200, "{}", answer.shown());
    }
}

/// F83: every duration either works exactly or is refused with its place.
#[test]
fn durations_have_units() {
    let server = shared();
    let refused = [
        json!(30),
        json!("30"),
        json!("-1s"),
        json!("0"),
        json!("9e99s"),
        json!("36500d"),
        json!(""),
        json!("30 S"),
    ];
    for bad in refused {
        let body = program([json!({ "do": "sleep", "name": "nap", "for": bad })]);
        let answer = hook(server, &fresh("duration"), &body);
        let answer = answer.expect_problem(400, "input_invalid");
        let names = answer.text().contains("steps[0].for");
        assert!(names, "{bad}: {}", answer.shown());
    }
    for (text, ms) in [("30s", 30_000), ("PT30S", 30_000), ("2h", 7_200_000)] {
        let before = unix_ms();
        let body = quick(program([sleep("nap", text)]));
        let id = hook(server, &fresh("duration"), &body)
            .expect(202)
            .task_id();
        let document = server.wait_waiting(&id, "sleep");
        let began = time_ms(&document["waiting"]["until"]) - ms;
        let latest = unix_ms() + ROUND_TRIP_MS;
        assert!((before..=latest).contains(&began), "{text}: {document}");
        server.cancel(&id).expect(200);
    }
    let both =
        json!({ "do": "sleep", "name": "nap", "for": "1s", "until": "2031-01-01T00:00:00Z" });
    let neither = json!({ "do": "sleep", "name": "nap" });
    for bad in [both, neither, until("tomorrow")] {
        let answer = hook(server, &fresh("duration"), &program([bad]));
        let answer = answer.expect_problem(400, "input_invalid");
        assert!(answer.text().contains("steps[0]"), "{}", answer.shown());
    }
}

#[test]
fn duplicates_of_a_sleeping_task_are_answered_at_once() {
    let (server, sink) = (shared(), Sink::start());
    for mode in Mode::BOTH {
        let steps = [sleep("nap", "30d"), call("after", sink.url("/after"))];
        let body = program(steps).set("respond_within", "5s");
        let request = mode.request(&fresh("asleep"), &body);
        let first = server
            .send(&request.clone().field("Prefer", "respond-async"))
            .expect(202);
        let id = first.task_id();
        server.wait_waiting(&id, "sleep");
        let began = Instant::now();
        let again = server.send(&request);
        let took = began.elapsed();
        assert_eq!(again.task_id(), id);
        assert!(took < Duration::from_secs(4), "it waited for {took:?}");
        assert!(again.field("Retry-After").is_some(), "{}", again.shown());
        match mode {
            Mode::Webhook => {
                let document = again.expect(202).json();
                assert_eq!(document["waiting"]["for"], "sleep", "{document}");
            }
            Mode::Call => {
                again.expect_problem(409, "task_in_progress");
            }
        }
        server.cancel(&id).expect(200);
    }
}

/// A first delivery need not wait for a sleep either.
#[test]
fn who_begins_a_task_that_sleeps_for_long_gets_202() {
    let body = program([sleep("nap", "30d")]).set("respond_within", "5s");
    for mode in Mode::BOTH {
        let answer = mode.deliver(shared(), &fresh("to-bed"), &body).expect(202);
        let id = answer.task_id();
        shared().wait_waiting(&id, "sleep");
        shared().cancel(&id).expect(200);
    }
}

#[test]
fn sleepers_wake_after_a_crash_without_anybody_asking() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let naps = [1_500, 3_000, 4_500];
    let began = Instant::now();
    let ids = naps.map(|ms| {
        let nap = sleep("nap", &format!("{ms}ms"));
        sleeper(&server, &sink, nap, &format!("/after?{ms}"))
    });
    let long = sleeper(&server, &sink, sleep("nap", "400d"), "/never");
    for id in ids.iter().chain([&long]) {
        server.wait_waiting(id, "sleep");
    }
    let due = server.task(&long)["waiting"]["until"].clone();
    server.restart();
    for (ms, id) in naps.iter().zip(&ids) {
        let target = format!("/after?{ms}");
        sink.wait_for(&target, 1);
        let woke = sink.calls(&target)[0].began - began;
        assert!(woke >= Duration::from_millis(*ms), "{ms}: woke at {woke:?}");
        server.wait_state(id, "succeeded");
        assert_eq!(sink.count(&target), 1);
    }
    let document = server.wait_waiting(&long, "sleep");
    assert_eq!(document["waiting"]["until"], due, "kept exactly");
    assert_eq!(
        server.cancel(&long).expect(200).json()["state"],
        "cancelled"
    );
    assert_eq!(sink.count("/never"), 0);
}

/// F102: what is alive is not cleaned up, whatever it waits for.
#[test]
fn sleeping_waiting_and_compensating_tasks_are_never_cleaned_up() {
    let (server, sink) = (Server::start(), Sink::start());
    let kept = |body: Value| {
        let retention = json!({ "succeeded": "500ms", "failed": "500ms" });
        quick(body)
            .set("retention", retention)
            .set("max_attempts", 1)
    };
    let undone = call("done", sink.url("/done")).undo(sink.url("/d/2300?undo"));
    let mut flaky = call("flaky", sink.url("/seq/500,200"));
    flaky["retry"] = json!({ "max_attempts": 2, "initial": "3s" });
    let bodies = [
        program([sleep("nap", "3s"), call("woke", sink.url("/woke"))]),
        program([signal("go"), call("told", sink.url("/told"))]),
        program([flaky]),
        program([undone, crate::support::fail("terminal")]),
    ];
    let ids = bodies.map(|body| hook(&server, &fresh("alive"), &kept(body)).task_id());
    sink.wait_for("/d/2300?undo", 1);
    throughout(Duration::from_millis(1_500), || {
        server.cron();
        ids.iter().try_for_each(|id| {
            let answer = server.look(id);
            check(answer.status == 200, || answer.shown())
        })
    });
    server.signal(&ids[1], "go", "s", &json!(1)).expect(202);
    for target in ["/woke", "/told", "/d/2300?undo"] {
        sink.wait_for(target, 1);
    }
    sink.wait_for("/seq/500,200", 2);
    // They end as they should, and then go.
    for id in &ids {
        eventually(|| {
            let answer = server.look(id);
            check(answer.status == 404, || answer.shown())
        });
    }
    let counts = ["/woke", "/told", "/d/2300?undo", "/done"].map(|t| sink.count(t));
    assert_eq!(counts, [1, 1, 1, 1]);
    assert_eq!(sink.count("/seq/500,200"), 2);
}

/// Sleeping costs no attempt and holds no slice.
#[test]
fn a_task_that_sleeps_often_is_charged_no_attempt() {
    let server = shared();
    let naps = (0..4).map(|n| sleep(&format!("nap{n}"), "1100ms"));
    let body = quick(program(naps)).set("max_attempts", 1);
    let request: Request = Mode::Call.request(&fresh("often"), &body);
    let id = server.send(&request).expect(202).task_id();
    assert_eq!(server.end_of(&id)["state"], "succeeded");
    assert_eq!(server.journal(&id).len(), 4);
}
