//! F96: compensation, its order, its keys, and what becomes of a task afterwards.

use crate::support::{
    Answer, Mode, Server, Settings as _, Sink, call, check, eventually, fail, fresh, hook, program,
    shared, sleep,
};
use serde_json::{Value, json};
use std::collections::HashSet;

fn brief(steps: impl IntoIterator<Item = Value>) -> Value {
    program(steps)
        .set("respond_within", "50ms")
        .set("max_attempts", 1)
}

/// A call of `/{name}`, undone by a call of `/undo/{name}`.
fn undoable(sink: &Sink, name: &str) -> Value {
    let target = format!("/{name}");
    sink.answers(
        &target,
        "application/json",
        format!("{{\"made\":\"{name}\"}}"),
    );
    call(name, sink.url(&target)).undo(sink.url(&format!("/undo/{name}")))
}

fn undos(sink: &Sink) -> Vec<String> {
    let mut order = sink.order();
    order.retain(|target| target.starts_with("/undo/"));
    order
}

#[track_caller]
fn assert_undone_complete(document: &Value) {
    assert_eq!(document["undone"], "complete", "{document}");
    let left = document["not_undone"].as_array().map_or(0, Vec::len);
    assert_eq!(left, 0, "{document}");
}

#[test]
fn what_was_done_is_undone_in_reverse_order_with_its_outcomes() {
    let (server, kinds) = (shared(), ["terminal", "retryable", "status"]);
    for kind in kinds {
        let sink = Sink::start();
        // Its failure is known, so there is nothing to undo of it.
        let third = match kind {
            "status" => call("three", sink.url("/status/500")).undo(sink.url("/undo/three")),
            kind => fail(kind),
        };
        let steps = [
            undoable(&sink, "one"),
            undoable(&sink, "two"),
            third,
            undoable(&sink, "four"),
        ];
        let id = hook(server, &fresh("order"), &brief(steps)).task_id();
        let document = server.wait_state(&id, "failed");
        assert_undone_complete(&document);
        assert_eq!(document["resumable"], kind != "terminal", "{document}");
        assert_eq!(undos(&sink), ["/undo/two", "/undo/one"], "{kind}");
        assert_eq!(sink.count("/four"), 0);
        for name in ["one", "two"] {
            let undo = &sink.calls(&format!("/undo/{name}"))[0];
            let outcome = undo.json();
            assert_eq!(outcome["status"], 200, "{outcome}");
            assert_eq!(outcome["body"], json!({ "made": name }), "{outcome}");
        }
        let all = ["/one", "/two", "/undo/one", "/undo/two"];
        let keys: HashSet<String> = all.iter().flat_map(|t| sink.keys(t)).collect();
        assert_eq!(keys.len(), 4, "each has a key of its own: {keys:?}");
    }
}

#[test]
fn a_task_that_fails_in_its_first_step_has_nothing_to_undo() {
    let (server, sink) = (shared(), Sink::start());
    let first = call("one", sink.url("/status/500")).undo(sink.url("/undo/one"));
    let steps = [first, undoable(&sink, "two")];
    let id = hook(server, &fresh("first"), &brief(steps)).task_id();
    let document = server.wait_state(&id, "failed");
    assert!(document["not_undone"].is_null(), "{document}");
    assert_eq!(sink.order(), ["/status/500"]);
}

/// An undo of its own request, and of another method.
#[test]
fn an_undo_is_sent_as_it_was_written() {
    let (server, sink) = (shared(), Sink::start());
    let undo = json!({ "method": "PUT", "url": sink.url("/undo/a"), "body": { "amount": 1.10 } });
    let steps = [
        call("a", sink.url("/a")).with("undo", undo),
        fail("terminal"),
    ];
    let id = hook(server, &fresh("written"), &brief(steps)).task_id();
    server.wait_state(&id, "failed");
    assert_eq!(sink.calls("/undo/a")[0].body, br#"{"amount":1.1}"#);
}

#[test]
fn while_it_is_undone_a_task_shows_as_compensating_and_senders_wait() {
    let (server, sink) = (shared(), Sink::start());
    for mode in Mode::BOTH {
        let undo = sink.url(&format!("/d/700?{mode:?}"));
        let steps = [call("a", sink.url("/a")).undo(undo), fail("terminal")];
        let request = mode.request(&fresh("compensating"), &brief(steps));
        let id = server.send(&request).task_id();
        sink.wait_for(&format!("/d/700?{mode:?}"), 1);
        let document = server.task(&id);
        assert_eq!(document["state"], "compensating", "{document}");
        let during = server.send(&request);
        match mode {
            Mode::Webhook => assert_eq!(during.expect(202).json()["state"], "compensating"),
            Mode::Call => drop(during.expect_problem(409, "task_in_progress")),
        }
        assert_undone_complete(&server.wait_state(&id, "failed"));
        assert_eq!(sink.count(&format!("/d/700?{mode:?}")), 1);
    }
}

/// The journal alone is enough to undo by: replay cannot pass the panic.
#[test]
fn what_was_done_before_a_panic_is_undone() {
    let (server, sink) = (shared(), Sink::start());
    let steps = [
        undoable(&sink, "one"),
        undoable(&sink, "two"),
        json!({ "do": "panic" }),
    ];
    let body = brief(steps).short().set("max_attempts", 2);
    let id = hook(server, &fresh("panic"), &body).task_id();
    let document = server.wait_state(&id, "failed");
    assert_undone_complete(&document);
    assert_eq!(undos(&sink), ["/undo/two", "/undo/one"]);
    assert_eq!((sink.count("/one"), sink.count("/two")), (1, 1));
}

/// What cannot be undone is named, and the rest is undone all the same.
#[test]
fn an_undo_that_fails_is_named_and_the_others_still_run() {
    let (server, sink) = (shared(), Sink::start());
    let steps = [
        undoable(&sink, "one"),
        call("two", sink.url("/two")).undo(sink.url("/status/500?undo")),
        undoable(&sink, "three"),
        fail("terminal"),
    ];
    let id = hook(server, &fresh("partial"), &brief(steps)).task_id();
    let document = server.wait_state(&id, "failed");
    assert_eq!(document["undone"], "partial", "{document}");
    let left = document["not_undone"].as_array().expect("a list");
    assert_eq!(left.len(), 1, "{document}");
    assert_eq!(left[0]["step"], "two", "{document}");
    assert!(left[0]["code"].is_string(), "{document}");
    assert!(left[0]["message"].is_string(), "{document}");
    assert_eq!(undos(&sink), ["/undo/three", "/undo/one"]);
    // A bounded number of tries, all of them under one key.
    sink.assert_same_key("/status/500?undo", 5);
    assert_eq!(document["error"]["code"], "lab_fail", "{document}");
}

#[test]
fn an_undo_that_fails_once_is_tried_again_with_the_same_key() {
    let (server, sink) = (shared(), Sink::start());
    let a = call("a", sink.url("/a")).undo(sink.url("/seq/503,drop,200"));
    let id = hook(server, &fresh("again"), &brief([a, fail("terminal")])).task_id();
    assert_undone_complete(&server.wait_state(&id, "failed"));
    sink.assert_same_key("/seq/503,drop,200", 3);
}

/// A failure that may pass: no goods without payment, and no second undo.
#[test]
fn a_delivery_after_an_undo_begins_anew_with_new_keys() {
    let (server, sink) = (shared(), Sink::start());
    for mode in Mode::BOTH {
        let flaky = format!("/seq/500,200?{mode:?}");
        let paid = format!("/pay?{mode:?}");
        let refund = format!("/undo/pay?{mode:?}");
        let steps = [
            call("pay", sink.url(&paid)).undo(sink.url(&refund)),
            call("flaky", sink.url(&flaky)),
        ];
        let request = mode.request(&fresh("anew"), &brief(steps));
        let id = server.send(&request).task_id();
        let document = server.wait_state(&id, "failed");
        assert_eq!(document["resumable"], true, "{document}");
        assert_undone_complete(&document);
        let again = server.send(&request.clone().field("Prefer", "wait=20"));
        assert_eq!(again.task_id(), id);
        let after = server.wait_state(&id, "succeeded");
        assert!(
            after["generation"].as_u64() > document["generation"].as_u64(),
            "{after}"
        );
        assert!(after["undone"].is_null(), "{after}");
        for target in [&paid, &flaky] {
            let keys = sink.keys(target);
            assert_eq!(keys.len(), 2, "{target}");
            assert_ne!(keys[0], keys[1], "another run is another key");
        }
        assert_eq!(sink.count(&refund), 1, "the second payment stands");
        assert!(server.send(&request).expect(200).is_replay());
    }
}

#[test]
fn a_terminal_failure_that_was_undone_is_stored() {
    let (server, sink) = (shared(), Sink::start());
    for mode in Mode::BOTH {
        let (done, undo) = (format!("/a?{mode:?}"), format!("/undo/a?{mode:?}"));
        let steps = [
            call("a", sink.url(&done)).undo(sink.url(&undo)),
            fail("terminal"),
        ];
        let request = mode.request(&fresh("stored"), &brief(steps));
        let id = server.send(&request).task_id();
        server.wait_state(&id, "failed");
        for _ in 0..2 {
            let again: Answer = server.send(&request);
            assert_eq!(again.task_id(), id);
            match mode {
                Mode::Webhook => {
                    let document = again.expect(200).json();
                    assert_eq!(document["state"], "failed", "{document}");
                    assert_undone_complete(&document);
                }
                Mode::Call => {
                    let again = again.expect_problem(500, "task_failed");
                    assert_eq!(again.field("Retry-After"), None, "{}", again.shown());
                }
            }
        }
        assert_eq!((sink.count(&done), sink.count(&undo)), (1, 1));
    }
}

#[test]
fn a_success_can_be_undone_once_and_keeps_its_answer() {
    let (server, sink) = (shared(), Sink::start());
    for mode in Mode::BOTH {
        let undo = format!("/d/500?{mode:?}");
        let steps = [call("pay", sink.url("/pay")).undo(sink.url(&undo))];
        let body = program(steps).set("respond_within", "5s");
        let request = mode.request(&fresh("refund"), &body);
        let first = server.send(&request).expect(200);
        let id = first.task_id();
        let document = server.undo(&id).expect(202).json();
        assert_eq!(document["state"], "compensating", "{document}");
        sink.wait_for(&undo, 1);
        assert_eq!(server.task(&id)["state"], "compensating");
        let same = |answer: Answer| {
            let answer = answer.expect(200);
            assert!(answer.is_replay(), "{}", answer.shown());
            assert_eq!(answer.body, first.body);
        };
        same(server.send(&request));
        server.undo(&id).expect(202);
        assert_undone_complete(&server.wait_state(&id, "succeeded"));
        same(server.send(&request));
        assert_undone_complete(&server.undo(&id).expect(200).json());
        assert_eq!(sink.count(&undo), 1, "once");
    }
}

#[test]
fn only_what_has_succeeded_can_be_undone_by_an_operator() {
    let (server, sink) = (shared(), Sink::start());
    let nothing = hook(server, &fresh("nothing"), &program([])).expect(200);
    let done = server.undo(&nothing.task_id());
    assert!(matches!(done.status, 200 | 202), "{}", done.shown());
    assert_undone_complete(&server.wait_state(&nothing.task_id(), "succeeded"));

    let failed = hook(server, &fresh("failed"), &brief([fail("terminal")])).task_id();
    server.wait_state(&failed, "failed");
    server.undo(&failed).expect_problem(409, "task_ended");
    let running = brief([call("slow", sink.url("/d/600"))]);
    let running = hook(server, &fresh("running"), &running).task_id();
    server
        .undo(&running)
        .expect_problem(409, "task_in_progress");
    let asleep = hook(server, &fresh("asleep"), &brief([sleep("nap", "30d")])).task_id();
    server.wait_waiting(&asleep, "sleep");
    server.undo(&asleep).expect_problem(409, "task_in_progress");
    server.cancel(&asleep).expect(200);
    server.undo(&asleep).expect_problem(409, "task_ended");
    let nobody = uuid::Uuid::new_v4().to_string();
    server.undo(&nobody).expect_problem(404, "task_not_found");
    server.wait_state(&running, "succeeded");
}

/// One crash that falls on six tasks: between the effect of a step and its record, and in the midst
/// of undoing.
#[test]
fn a_crash_before_or_while_undoing_loses_nothing_and_repeats_only_what_is_in_flight() {
    let (mut server, sink) = (Server::start(), Sink::start());
    // The lease that the crash costs is an attempt as well.
    let crash = |steps: Vec<Value>| brief(steps).short().set("max_attempts", 2);
    let held = |name: &str| format!("/seq/hold,200?{name}");
    let unsure = |name: &str| call("unsure", sink.url(&held(name))).with("on_unknown", "fail");
    let own = json!({ "url": sink.url("/undo/unsure"), "body": { "order": 7 } });
    let undoing = |name: &str, kind: &str| {
        let undo = sink.url(&held(name));
        vec![
            undoable(&sink, &format!("first-{name}")),
            call("second", sink.url("/second")).undo(undo),
            fail(kind),
        ]
    };
    let bodies = [
        // Its handler takes it as it is: unknown.
        vec![undoable(&sink, "before-a"), unsure("a").with("undo", own)],
        // Its handler wants the outcome, which nobody knows.
        vec![
            undoable(&sink, "before-b"),
            unsure("b").undo(sink.url("/undo/never")),
        ],
        undoing("c", "terminal"),
    ];
    let begin = |steps| hook(&server, &fresh("crash"), &crash(steps)).task_id();
    // This one takes a second attempt before it fails; no held call may time out meanwhile.
    let last = begin(undoing("d", "retryable"));
    sink.wait_for(&held("d"), 1);
    let [a, b, c] = bodies.map(begin);
    let ids = [a, b, c, last];
    for name in ["a", "b", "c"] {
        sink.wait_for(&held(name), 1);
    }
    server.restart();
    let documents = ids.each_ref().map(|id| server.wait_state(id, "failed"));

    for (document, name) in documents.iter().zip(["a", "b"]) {
        assert_eq!(document["error"]["code"], "outcome_unknown", "{document}");
        assert_eq!(document["resumable"], false, "{document}");
        assert_eq!(sink.count(&held(name)), 1, "it is not repeated");
        assert_eq!(sink.count(&format!("/undo/before-{name}")), 1);
    }
    assert_undone_complete(&documents[0]);
    assert_eq!(sink.count("/undo/unsure"), 1);
    assert_eq!(sink.calls("/undo/unsure")[0].json(), json!({ "order": 7 }));
    assert_eq!(documents[1]["undone"], "partial", "{}", documents[1]);
    let left = &documents[1]["not_undone"];
    assert_eq!(left[0]["step"], "unsure", "{}", documents[1]);
    assert_eq!(left[0]["code"], "outcome_unknown", "{}", documents[1]);
    assert_eq!(sink.count("/undo/never"), 0);

    for (document, name) in documents.iter().zip(["a", "b", "c", "d"]).skip(2) {
        assert_undone_complete(document);
        assert_eq!(document["error"]["code"], "lab_fail", "{document}");
        let undo = sink.assert_same_key(&held(name), 2);
        let first = sink.assert_same_key(&format!("/undo/first-{name}"), 1);
        assert_ne!(undo, first);
        assert!(!sink.keys("/second").contains(&undo), "a key of its own");
        // The earlier step is undone after the later one, also across the crash.
        let order = sink.order();
        let place = |t: &str| order.iter().rposition(|o| o == t);
        let last = place(&format!("/undo/first-{name}"));
        assert!(last > place(&held(name)), "{order:?}");
    }
    eventually(|| {
        let rows = ids.each_ref().map(|id| server.files().row(id));
        let failed = rows.iter().all(|r| {
            let row = r.as_ref().ok().and_then(Option::as_ref);
            row.is_some_and(|r| r.state == "failed")
        });
        check(failed, || format!("{rows:?}"))
    });
}
