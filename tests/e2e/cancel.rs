//! F94: cancellation, of whatever a task is doing.

use crate::support::chance::Chance;
use crate::support::tasks::steer;
use crate::support::{
    Mode, Request, Server, Settings as _, Sink, at_once, call, check, child, child_id, eventually,
    fail, fresh, hook, parallel, program, shared, signal, sleep, throughout,
};
use serde_json::{Value, json};
use std::time::Duration;

fn brief(steps: impl IntoIterator<Item = Value>) -> Value {
    program(steps).set("respond_within", "50ms")
}

/// What senders get of a cancelled task.
#[track_caller]
fn assert_told(server: &Server, mode: Mode, request: &Request, id: &str) {
    let answer = server.send(request);
    assert_eq!(answer.task_id(), id);
    match mode {
        Mode::Webhook => {
            let answer = answer.expect(200);
            assert_eq!(answer.json()["state"], "cancelled", "{}", answer.shown());
        }
        Mode::Call => drop(answer.expect_problem(409, "task_cancelled")),
    }
}

#[test]
fn a_step_in_flight_is_finished_recorded_and_then_undone() {
    let (server, sink) = (shared(), Sink::start());
    for mode in Mode::BOTH {
        let at = |what: &str| format!("{what}?{mode:?}");
        let (a, slow, after) = (at("/a"), at("/d/900"), at("/after"));
        let (undo_a, undo_slow) = (at("/undo/a"), at("/undo/slow"));
        let steps = [
            call("a", sink.url(&a)).undo(sink.url(&undo_a)),
            call("slow", sink.url(&slow)).undo(sink.url(&undo_slow)),
            call("after", sink.url(&after)),
        ];
        let request = mode.request(&fresh("running"), &brief(steps));
        let id = server.send(&request).task_id();
        sink.wait_for(&slow, 1);
        let answer = server.cancel(&id).expect(202);
        assert_eq!(answer.json()["cancel"], "requested", "{}", answer.shown());
        server.cancel(&id).expect(202);
        let document = server.wait_state(&id, "cancelled");
        assert_eq!(document["undone"], "complete", "{document}");
        assert!(!sink.calls(&slow)[0].hung_up, "it was broken off");
        assert_eq!(sink.calls(&undo_slow)[0].json()["status"], 200, "recorded");
        let order = sink.order();
        let tail: Vec<&str> = order.iter().rev().take(2).map(String::as_str).collect();
        assert_eq!(tail, [&undo_a, &undo_slow], "the last one first");
        let counts = [&a, &slow, &after, &undo_a, &undo_slow].map(|t| sink.count(t));
        assert_eq!(counts, [1, 1, 0, 1, 1]);
        assert_told(server, mode, &request, &id);
        let again = server.cancel(&id).expect(200).json();
        assert_eq!(again["state"], "cancelled", "{again}");
        assert_told(server, mode, &request, &id);
    }
}

#[test]
fn tasks_that_wait_are_cancelled_at_once() {
    let (server, sink) = (shared(), Sink::start());
    let waits = [
        ("sleep", sleep("nap", "30d")),
        ("signal", signal("go")),
        ("backoff", call("broken", sink.url("/status/500"))),
        (
            "backoff",
            call("tries", sink.url("/status/500")).with(
                "retry",
                json!({ "max_attempts": 9, "initial": "1h", "max": "1h" }),
            ),
        ),
    ];
    for mode in Mode::BOTH {
        for (what, wait) in &waits {
            let body = brief([wait.clone(), call("after", sink.url("/after"))]);
            let request = mode.request(&fresh(what), &body);
            let id = server.send(&request).task_id();
            server.wait_waiting(&id, what);
            let document = server.cancel(&id).expect(200).json();
            assert_eq!(document["state"], "cancelled", "{document}");
            assert!(document["expires_at"].is_string(), "{document}");
            assert_told(server, mode, &request, &id);
            assert_eq!(server.cancel(&id).expect(200).json()["state"], "cancelled");
        }
    }
    assert_eq!(sink.count("/after"), 0);
}

#[test]
fn what_a_waiting_task_did_is_undone_when_it_is_cancelled() {
    let (server, sink) = (shared(), Sink::start());
    for (name, wait) in [("nap", sleep("w", "30d")), ("go", signal("w"))] {
        let undo = format!("/undo?{name}");
        let steps = [call("a", sink.url("/a")).undo(sink.url(&undo)), wait];
        let id = hook(server, &fresh("undone"), &brief(steps)).task_id();
        eventually(|| {
            let document = server.task(&id);
            check(document["waiting"]["name"] == "w", || document.to_string())
        });
        server.cancel(&id).expect(202);
        let document = server.wait_state(&id, "cancelled");
        assert_eq!(document["undone"], "complete", "{document}");
        assert_eq!(sink.count(&undo), 1);
    }
}

/// One that failed and would go on with the next delivery never does.
#[test]
fn a_failed_task_that_could_be_resumed_can_be_cancelled() {
    let (server, sink) = (shared(), Sink::start());
    let body = brief([call("broken", sink.url("/status/500"))]).set("max_attempts", 1);
    let request = Mode::Webhook.request(&fresh("resumable"), &body);
    let id = server.send(&request).task_id();
    server.wait_state(&id, "failed");
    server.cancel(&id).expect(200);
    assert_told(server, Mode::Webhook, &request, &id);
    assert_eq!(sink.total(), 1);
}

#[test]
fn what_has_ended_or_never_was_cannot_be_cancelled() {
    let server = shared();
    for body in [program([]), program([fail("terminal")])] {
        let id = hook(server, &fresh("ended"), &body).expect(200).task_id();
        let before = server.task(&id);
        let answer = server.cancel(&id).expect_problem(409, "task_ended");
        assert_eq!(answer.task_id(), id);
        assert_eq!(server.task(&id)["state"], before["state"]);
    }
    let nobody = uuid::Uuid::new_v4().to_string();
    server.cancel(&nobody).expect_problem(404, "task_not_found");
    server.cancel("not-an-id").expect(404);
    let open = Request::post(&format!("/v1/tasks/{nobody}/cancel"));
    server.send(&open).expect(401);
}

/// F94.
#[test]
fn only_the_task_that_was_meant_is_cancelled() {
    let (server, sink) = (shared(), Sink::start());
    let begin = |n: usize| {
        let steps = [
            sleep("nap", "1500ms"),
            call("after", sink.url(&format!("/after?{n}"))),
        ];
        let id = hook(server, &fresh(&format!("k{n}")), &brief(steps)).task_id();
        server.wait_waiting(&id, "sleep");
        id
    };
    let ids = [1, 2, 3].map(begin);
    server.cancel(&ids[1]).expect(200);
    let nobody = uuid::Uuid::new_v4().to_string();
    server.cancel(&nobody).expect_problem(404, "task_not_found");
    server.cancel(&ids[1]).expect(200);
    for id in [&ids[0], &ids[2]] {
        server.wait_state(id, "succeeded");
    }
    assert_eq!(server.task(&ids[1])["state"], "cancelled");
    let counts = [1, 2, 3].map(|n| sink.count(&format!("/after?{n}")));
    assert_eq!(counts, [1, 0, 1]);
}

/// F04: cancellation, a duplicate, cron and the end fall together.
#[test]
fn a_race_between_the_end_and_a_cancellation_has_one_winner() {
    const LANES: u64 = 3;
    const ROUNDS: u64 = 12;
    let (server, seed) = (Server::start(), Chance::seed());
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let server = &server;
            scope.spawn(move || {
                let mut chance = Chance::new(seed.wrapping_add(lane));
                let outcomes: Vec<String> =
                    (0..ROUNDS).map(|_| one_race(server, &mut chance)).collect();
                println!("lane {lane}: {outcomes:?}");
            });
        }
    });
}

fn one_race(server: &Server, chance: &mut Chance) -> String {
    let sink = Sink::start();
    let steps = [
        call("a", sink.url("/a")).undo(sink.url("/undo/a")),
        call("b", sink.url("/d/20")),
    ];
    let body = brief(steps).set("steps_per_slice", 1);
    let request = Mode::Webhook.request(&fresh("race"), &body);
    let asynchronous = request.clone().field("Prefer", "respond-async");
    let id = server.send(&asynchronous).expect(202).task_id();
    let (offset, other) = (chance.ms(0, 60), chance.ms(0, 60));
    let later = |time: Duration| throughout(time, || Ok(()));
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            later(other);
            server.send(&request);
            server.cron();
        });
        later(offset);
        server.cancel(&id)
    });
    let mut ended: Option<String> = None;
    let mut looks_after_the_end = 0;
    let document = eventually(|| {
        let document = server.task(&id);
        let state = document["state"].as_str().unwrap_or_default().to_owned();
        if let Some(ended) = &ended {
            assert_eq!(&state, ended, "{offset:?}: it changed after the end");
            looks_after_the_end += 1;
        } else if matches!(state.as_str(), "succeeded" | "failed" | "cancelled") {
            ended = Some(state);
        }
        check(looks_after_the_end > 5, || document.to_string())?;
        Ok(document)
    });
    let state = ended.unwrap_or_default();
    let again = server.send(&request).expect(200);
    match (state.as_str(), answer.status) {
        ("cancelled", 200 | 202) => {
            assert_eq!(again.json()["state"], "cancelled", "{}", again.shown());
            assert_eq!(sink.count("/undo/a"), sink.count("/a"), "{offset:?}");
        }
        ("succeeded", 202) => {
            assert_eq!(document["cancel"], "too_late", "{document}");
            assert_eq!(sink.count("/undo/a"), 0, "{offset:?}");
        }
        ("succeeded", 409) => {
            assert_eq!(answer.code(), "task_ended", "{}", answer.shown());
            assert_eq!(sink.count("/undo/a"), 0, "{offset:?}");
        }
        _ => panic!("{offset:?}: {state} after {}", answer.shown()),
    }
    if state == "succeeded" {
        assert!(again.is_replay(), "{}", again.shown());
        assert_eq!(again.json()["steps"]["b"]["status"], 200);
    }
    assert!(sink.count("/a") <= 1 && sink.count("/d/20") <= 1);
    state
}

#[test]
fn many_cancellations_at_once_are_one() {
    let (server, sink) = (shared(), Sink::start());
    let steps = [
        call("a", sink.url("/a")).undo(sink.url("/undo")),
        sleep("nap", "30d"),
    ];
    let id = hook(server, &fresh("many"), &brief(steps)).task_id();
    server.wait_waiting(&id, "sleep");
    for answer in at_once(server, &vec![steer(&id, "cancel"); 10]) {
        assert!(matches!(answer.status, 200 | 202), "{}", answer.shown());
    }
    server.wait_state(&id, "cancelled");
    assert_eq!(sink.count("/undo"), 1);
}

#[test]
fn a_cancellation_passes_on_to_children() {
    let (server, sink) = (shared(), Sink::start());
    let keys = [fresh("child"), fresh("grandchild")];
    let youngest = brief([
        call("made", sink.url("/made")).undo(sink.url("/undo/made")),
        sleep("nap", "30d"),
    ]);
    let middle = brief([child("own", &keys[1], &youngest)]);
    let id = hook(
        server,
        &fresh("parent"),
        &brief([child("own", &keys[0], &middle)]),
    )
    .task_id();
    let below = keys.each_ref().map(|key| child_id(key));
    eventually(|| {
        let answer = server.look(&below[1]);
        check(answer.json()["waiting"]["for"] == "sleep", || {
            answer.shown()
        })
    });
    let waits = server.wait_waiting(&id, "child");
    assert_eq!(waits["waiting"]["name"], "own", "{waits}");
    server.cancel(&id).expect(200);
    for id in &below {
        server.wait_state(id, "cancelled");
    }
    assert_eq!(server.task(&id)["state"], "cancelled");
    assert_eq!(sink.count("/undo/made"), 1);
}

/// Branches that are under way are finished and recorded before anything is undone.
#[test]
fn a_cancellation_waits_for_every_branch() {
    let (server, sink) = (shared(), Sink::start());
    let slow = |ms: u32| {
        let target = format!("/d/{ms}");
        vec![
            call("slow", sink.url(&target)).undo(sink.url(&format!("/undo/{ms}"))),
            call("next", sink.url("/next")),
        ]
    };
    let steps = [parallel("both", [slow(500), slow(900)])];
    let id = hook(server, &fresh("branches"), &brief(steps)).task_id();
    sink.wait_for("/d/900", 1);
    server.cancel(&id).expect(202);
    let document = server.wait_state(&id, "cancelled");
    assert_eq!(document["undone"], "complete", "{document}");
    let last = sink.calls("/d/900")[0].clone();
    assert!(!last.hung_up, "it was broken off");
    for target in ["/undo/500", "/undo/900"] {
        let undo = &sink.calls(target)[0];
        assert!(undo.began >= last.ended.expect("an end"), "{target}");
        assert_eq!(sink.count(target), 1);
    }
}
