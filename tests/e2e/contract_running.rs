//! The HTTP contract for tasks that succeed, in both modes: first deliveries and duplicates.

use crate::support::{Answer, Mode, Settings as _, Sink, call, fresh, program, shared, unix_ms};
use serde_json::json;

/// A 202 says where to look, when, and what for.
#[track_caller]
fn expect_accepted(answer: Answer) -> String {
    let answer = answer.expect(202);
    let (id, shown) = (answer.task_id(), answer.shown());
    assert_eq!(
        answer.field("Location"),
        Some(format!("/v1/tasks/{id}").as_str()),
        "{shown}"
    );
    let seconds = answer
        .field("Retry-After")
        .and_then(|v| v.parse::<u64>().ok());
    assert!(seconds.is_some_and(|s| s >= 1), "{shown}");
    assert_eq!(answer.json()["task_id"], id, "{shown}");
    assert!(answer.json()["state"].is_string(), "{shown}");
    id
}

#[test]
fn a_first_delivery_that_ends_in_time_gets_the_functions_answer() {
    for mode in Mode::BOTH {
        let own = json!({ "status": 201, "headers": { "location": "/x" }, "body": { "n": 1 } });
        let before = unix_ms();
        let answer = mode
            .deliver(shared(), &fresh("first"), &program([]).answer(own))
            .expect(201);
        let shown = answer.shown();
        assert_eq!(answer.body, br#"{"n":1}"#, "{shown}");
        assert_eq!(answer.field("Location"), Some("/x"), "{shown}");
        assert!(!answer.is_replay(), "{shown}");
        assert!(answer.expires_ms() > before, "{shown}");
        assert_eq!(shared().task(&answer.task_id())["state"], "succeeded");
    }
}

#[test]
fn a_function_that_takes_longer_gets_202_and_runs_on() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/d/700?{mode:?}");
        let body = program([call("slow", sink.url(&target))]).set("respond_within", "100ms");
        let id = expect_accepted(mode.deliver(shared(), &fresh("runs-on"), &body));
        shared().wait_state(&id, "succeeded");
        assert_eq!(sink.count(&target), 1);
    }
}

#[test]
fn who_prefers_an_asynchronous_answer_gets_202_at_once() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/d/300?{mode:?}");
        let body = program([call("quick", sink.url(&target))]).set("respond_within", "5s");
        let request = mode
            .request(&fresh("async"), &body)
            .field("Prefer", "respond-async");
        let answer = shared().send(&request);
        assert_eq!(
            answer.field("Preference-Applied"),
            Some("respond-async"),
            "{}",
            answer.shown()
        );
        let id = expect_accepted(answer);
        shared().wait_state(&id, "succeeded");
        assert_eq!(sink.count(&target), 1);
    }
}

#[test]
fn a_duplicate_of_a_running_task_waits_and_gets_the_same_result() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/d/700?{mode:?}");
        let body = program([call("slow", sink.url(&target))]).set("respond_within", "5s");
        let request = mode.request(&fresh("joins"), &body);
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| shared().send(&request));
            sink.wait_for(&target, 1);
            (shared().send(&request), first.join().expect("an answer"))
        });
        let (first, second) = (second.expect(200), first.expect(200));
        assert!(!first.is_replay(), "{}", first.shown());
        assert!(second.is_replay(), "{}", second.shown());
        assert_eq!(first.body, second.body);
        assert_eq!(first.task_id(), second.task_id());
        assert_eq!(sink.count(&target), 1);
    }
}

#[test]
fn a_duplicate_that_waited_in_vain_gets_202_as_a_webhook_and_409_as_a_call() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/d/1500?{mode:?}");
        let body = program([call("slow", sink.url(&target))]).set("respond_within", "100ms");
        let request = mode.request(&fresh("in-vain"), &body);
        let id = expect_accepted(shared().send(&request));
        let again = shared().send(&request);
        assert_eq!(again.task_id(), id);
        match mode {
            Mode::Webhook => assert_eq!(expect_accepted(again), id),
            Mode::Call => {
                let again = again.expect_problem(409, "task_in_progress");
                assert!(again.field("Retry-After").is_some(), "{}", again.shown());
                assert_eq!(again.json()["task_id"], id);
            }
        }
        shared().wait_state(&id, "succeeded");
        assert_eq!(sink.count(&target), 1);
    }
}

#[test]
fn a_caller_can_ask_to_wait_for_longer() {
    let sink = Sink::start();
    let body = program([call("slow", sink.url("/d/1500"))]).set("respond_within", "100ms");
    let request = Mode::Call.request(&fresh("waits"), &body);
    let id = expect_accepted(shared().send(&request));
    let answer = shared()
        .send(&request.field("Prefer", "wait=25"))
        .expect(200);
    assert!(answer.is_replay(), "{}", answer.shown());
    assert_eq!(answer.task_id(), id);
    assert_eq!(sink.count("/d/1500"), 1);
}

/// Waiting for the next attempt is as good as running.
#[test]
fn a_duplicate_of_a_task_that_backs_off_gets_the_same_handle() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/fail-then-ok/2?{mode:?}");
        let body = program([call("flaky", sink.url(&target))]).set("respond_within", "100ms");
        let request = mode.request(&fresh("backs-off"), &body);
        let id = expect_accepted(shared().send(&request));
        sink.wait_for(&target, 1);
        let again = shared().send(&request);
        assert_eq!(again.task_id(), id);
        again.expect(if mode == Mode::Webhook { 202 } else { 409 });
        let waited = shared().send(&request.field("Prefer", "wait=25"));
        if mode == Mode::Call {
            assert!(waited.expect(200).is_replay());
        }
        shared().wait_state(&id, "succeeded");
        assert_eq!(sink.count(&target), 3, "two failures, one success");
    }
}

#[test]
fn a_duplicate_of_a_finished_task_gets_the_stored_answer() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/once?{mode:?}");
        let body = program([call("once", sink.url(&target))]);
        let request = mode.request(&fresh("replay"), &body);
        let first = shared().send(&request).expect(200);
        for _ in 0..3 {
            let again = shared().send(&request).expect(200);
            assert!(again.is_replay(), "{}", again.shown());
            assert_eq!(again.body, first.body);
            assert_eq!(again.task_id(), first.task_id());
            assert_eq!(again.expires_ms(), first.expires_ms());
        }
        assert_eq!(sink.count(&target), 1);
    }
}

/// F37 in part: the way in and the name of source or function are part of what a key means.
#[test]
fn one_key_under_two_names_is_two_tasks() {
    use crate::support::{Request, TOKEN};
    let key = fresh("scope");
    let body = program([]);
    let requests = [
        Mode::Webhook.request(&key, &body),
        Mode::Call.request(&key, &body),
        Request::post("/hooks/inbox").key(&key).json(&body),
        Request::post("/v1/functions/inbox")
            .bearer(TOKEN)
            .key(&key)
            .json(&body),
        Request::post("/v1/functions/echo")
            .bearer(TOKEN)
            .key(&key)
            .json(&body),
    ];
    let mut ids = std::collections::HashSet::new();
    for request in &requests {
        let answer = shared().send(request).expect(200);
        assert!(!answer.is_replay(), "{}", answer.shown());
        assert!(ids.insert(answer.task_id()), "an id of its own");
    }
    for request in &requests {
        assert!(shared().send(request).expect(200).is_replay());
    }
}
