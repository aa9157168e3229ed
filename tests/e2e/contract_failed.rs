//! The HTTP contract for tasks that fail, in both modes.

use crate::support::{Answer, Mode, Settings as _, Sink, call, fail, fresh, program, shared};
use serde_json::json;

/// What somebody gets who waits while a task becomes failed but can be resumed.
#[track_caller]
fn expect_resumable(mode: Mode, answer: Answer) {
    match mode {
        Mode::Webhook => {
            let answer = answer.expect(202);
            assert_eq!(answer.json()["state"], "failed", "{}", answer.shown());
            assert_eq!(answer.json()["resumable"], true, "{}", answer.shown());
        }
        Mode::Call => {
            let answer = answer.expect_problem(500, "task_failed");
            assert!(answer.field("Retry-After").is_some(), "{}", answer.shown());
        }
    }
}

/// What everybody gets once a task has failed for good.
#[track_caller]
fn expect_for_good(mode: Mode, answer: Answer) -> Answer {
    match mode {
        Mode::Webhook => {
            let answer = answer.expect(200);
            assert_eq!(answer.json()["state"], "failed", "{}", answer.shown());
            assert_eq!(answer.json()["task_id"], answer.task_id());
            assert_ne!(answer.json()["resumable"], true, "{}", answer.shown());
            answer
        }
        Mode::Call => {
            let answer = answer.expect_problem(500, "task_failed");
            assert_eq!(answer.field("Retry-After"), None, "{}", answer.shown());
            answer
        }
    }
}

/// F74: a failure that may pass is not given out for as long as the key lives.
#[test]
fn a_new_delivery_resumes_a_failed_task_from_its_last_checkpoint() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let done = format!("/done?{mode:?}");
        let flaky = format!("/fail-then-ok/1?{mode:?}");
        let steps = [
            call("done", sink.url(&done)),
            call("flaky", sink.url(&flaky)),
        ];
        let request = mode.request(&fresh("resumes"), &program(steps).set("max_attempts", 1));
        let first = shared().send(&request);
        let id = first.task_id();
        expect_resumable(mode, first);
        assert_eq!(shared().task(&id)["resumable"], true);

        let second = shared().send(&request).expect(200);
        assert_eq!(second.task_id(), id);
        assert_eq!((sink.count(&done), sink.count(&flaky)), (1, 2));
        let third = shared().send(&request).expect(200);
        assert!(third.is_replay());
        assert_eq!(third.body, second.body);
        assert_eq!((sink.count(&done), sink.count(&flaky)), (1, 2));
        // The key that goes out is the same for every try of a step.
        let keys: Vec<_> = sink
            .calls(&flaky)
            .iter()
            .map(|c| c.field("Idempotency-Key").map(str::to_owned))
            .collect();
        assert!(keys[0].is_some() && keys[0] == keys[1], "{keys:?}");
    }
}

#[test]
fn after_ten_revivals_a_task_has_failed_for_good() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/status/500?{mode:?}");
        let body = program([call("broken", sink.url(&target))]).set("max_attempts", 1);
        let request = mode.request(&fresh("revivals"), &body);
        for _ in 0..10 {
            expect_resumable(mode, shared().send(&request));
        }
        expect_for_good(mode, shared().send(&request));
        assert_eq!(sink.count(&target), 11, "the first try and ten revivals");
        expect_for_good(mode, shared().send(&request));
        assert_eq!(sink.count(&target), 11);
    }
}

#[test]
fn a_terminal_failure_is_final_at_once() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/before?{mode:?}");
        let body = program([call("before", sink.url(&target)), fail("terminal")]);
        let request = mode.request(&fresh("terminal"), &body);
        let first = expect_for_good(mode, shared().send(&request));
        let again = expect_for_good(mode, shared().send(&request));
        assert_eq!(first.task_id(), again.task_id());
        assert_eq!(first.json()["detail"], again.json()["detail"]);
        assert_eq!(sink.count(&target), 1);
    }
}

#[test]
fn an_attempt_that_failed_is_tried_again_without_the_sender() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let done = format!("/done?{mode:?}");
        let flaky = format!("/fail-then-ok/1?{mode:?}");
        let steps = [
            call("done", sink.url(&done)),
            call("flaky", sink.url(&flaky)),
        ];
        let body = program(steps).set("respond_within", "100ms");
        let id = mode
            .deliver(shared(), &fresh("retried"), &body)
            .expect(202)
            .task_id();
        shared().wait_state(&id, "succeeded");
        assert_eq!((sink.count(&done), sink.count(&flaky)), (1, 2));
    }
}

#[test]
fn retries_of_a_step_stay_within_its_attempt() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/fail-then-ok/2?{mode:?}");
        let mut step = call("flaky", sink.url(&target));
        step["retry"] = json!({ "max_attempts": 3, "initial": "10ms" });
        let body = program([step]).set("max_attempts", 1);
        mode.deliver(shared(), &fresh("tries"), &body).expect(200);
        assert_eq!(sink.count(&target), 3);
    }
}

/// A 5xx would make a webhook sender repeat its delivery for days.
#[test]
fn a_5xx_that_a_function_answers_reaches_callers_but_no_webhook_sender() {
    for mode in Mode::BOTH {
        let body = program([]).answer(json!({ "status": 503, "body": "closed today" }));
        let request = mode.request(&fresh("own-5xx"), &body);
        for replay in [false, true] {
            let answer = shared().send(&request);
            match mode {
                Mode::Webhook => {
                    let answer = answer.expect(200);
                    assert_eq!(answer.json()["state"], "succeeded", "{}", answer.shown());
                    assert_eq!(answer.json()["task_id"], answer.task_id());
                }
                Mode::Call => {
                    let answer = answer.expect(503);
                    assert_eq!(answer.json(), json!("closed today"));
                    assert_eq!(answer.is_replay(), replay);
                }
            }
        }
    }
}

#[test]
fn a_4xx_that_a_function_answers_is_its_answer() {
    for mode in Mode::BOTH {
        let body = program([]).answer(json!({ "status": 404, "body": "no such order" }));
        let request = mode.request(&fresh("own-4xx"), &body);
        for replay in [false, true] {
            let answer = shared().send(&request).expect(404);
            assert_eq!(answer.json(), json!("no such order"));
            assert_eq!(answer.is_replay(), replay);
        }
    }
}

/// A program that no run could carry out is refused before anything is reserved.
#[test]
fn an_input_that_the_function_cannot_read_reserves_no_key() {
    for mode in Mode::BOTH {
        let key = fresh("bad-program");
        let bad = json!({ "steps": [{ "do": "call", "name": "a", "url": "http://127.0.0.1:9/", "retry": { "factor": "x" } }] });
        let answer = mode
            .deliver(shared(), &key, &bad)
            .expect_problem(400, "input_invalid");
        assert!(
            answer.text().contains("steps[0].retry.factor"),
            "{}",
            answer.shown()
        );
        let good = mode.deliver(shared(), &key, &program([])).expect(200);
        assert!(!good.is_replay(), "{}", good.shown());
    }
}
