//! Tasks that begin other tasks and wait for their end.

use crate::support::{
    Mode, Request, Server, Settings as _, Sink, call, check, child, child_id, eventually, fail,
    fresh, hook, program, shared, sleep, value,
};
use serde_json::{Value, json};

fn brief(steps: impl IntoIterator<Item = Value>) -> Value {
    program(steps)
        .set("respond_within", "50ms")
        .set("lease", "15m")
}

/// Begins a parent of such a child; the request and the id.
fn begin(server: &Server, key: &str, own: &Value) -> (Request, String) {
    let body = brief([child("own", key, own), value("after", 1)]);
    let request = Mode::Webhook.request(&fresh("parent"), &body);
    let id = server.send(&request).task_id();
    (request, id)
}

#[track_caller]
fn outcome(server: &Server, request: &Request) -> Value {
    let answer = server.send(request).expect(200);
    assert!(answer.is_replay(), "{}", answer.shown());
    answer.json()["steps"]["own"].clone()
}

#[test]
fn the_answer_of_a_child_is_the_outcome_of_its_step() {
    let (server, sink) = (shared(), Sink::start());
    let own = program([call("made", sink.url("/made"))])
        .answer(json!({ "status": 201, "headers": { "location": "/x" }, "body": { "n": 1 } }));
    let key = fresh("child");
    let (request, id) = begin(server, &key, &own);
    server.wait_state(&id, "succeeded");
    let outcome = outcome(server, &request);
    assert_eq!(outcome["status"], 201, "{outcome}");
    assert_eq!(outcome["headers"]["location"], "/x", "{outcome}");
    assert_eq!(outcome["body"], json!({ "n": 1 }), "{outcome}");
    let own = server.task(&child_id(&key));
    assert_eq!(own["state"], "succeeded", "{own}");
    assert_eq!(own["key"], key, "{own}");
    assert_eq!(sink.count("/made"), 1);
}

#[test]
fn the_failure_of_a_child_is_the_failure_of_its_step() {
    let (server, sink) = (shared(), Sink::start());
    let own = program([call("tried", sink.url("/tried")), fail("terminal")]);
    let body = brief([
        call("a", sink.url("/a")).undo(sink.url("/undo/a")),
        child("own", &fresh("child"), &own),
        call("after", sink.url("/after")),
    ]);
    let id = hook(server, &fresh("parent"), &body).task_id();
    let document = server.wait_state(&id, "failed");
    assert_eq!(document["error"]["step"], "own", "{document}");
    assert_eq!(document["undone"], "complete", "{document}");
    let counts = ["/tried", "/a", "/undo/a", "/after"].map(|t| sink.count(t));
    assert_eq!(counts, [1, 1, 1, 0]);
}

#[test]
fn a_child_of_several_parents_runs_once_and_tells_each_of_them() {
    let (server, sink) = (shared(), Sink::start());
    let own = program([call("made", sink.url("/d/700"))]);
    let key = fresh("shared");
    let parents = [(); 3].map(|()| begin(server, &key, &own));
    for (request, id) in &parents {
        server.wait_state(id, "succeeded");
        assert_eq!(outcome(server, request)["status"], 200);
    }
    assert_eq!(sink.count("/d/700"), 1);
    // One that has ended long ago is joined as well.
    let (request, id) = begin(server, &key, &own);
    server.wait_state(&id, "succeeded");
    let joined = outcome(server, &request);
    assert_eq!(joined, outcome(server, &parents[0].0));
    assert_eq!(sink.count("/d/700"), 1);
}

#[test]
fn a_task_that_waits_for_its_child_says_so() {
    let server = shared();
    let key = fresh("slow");
    let (request, id) = begin(server, &key, &program([sleep("nap", "1500ms")]));
    let document = server.wait_waiting(&id, "child");
    assert_eq!(document["waiting"]["name"], "own", "{document}");
    assert_eq!(server.send(&request).expect(202).task_id(), id);
    server.wait_waiting(&child_id(&key), "sleep");
    server.wait_state(&id, "succeeded");
}

/// The end of a child is owed until its parent has it.
#[test]
fn the_end_of_a_child_whose_reply_is_lost_is_told_once() {
    let (server, sink) = (Server::start(), Sink::start());
    for on in ["signal", "begin", "suspend"] {
        for times in [1, 3] {
            let target = format!("/d/60?{on}{times}");
            let own = program([call("made", sink.url(&target))]);
            let (request, id) = {
                let body = brief([child("own", &fresh("lost"), &own)]);
                let request = Mode::Webhook.request(&fresh("parent"), &body);
                let id = server.send(&request).task_id();
                server.fault(&json!({ "object_reply": "lose", "on": on, "times": times }));
                (request, id)
            };
            server.wait_state(&id, "succeeded");
            assert_eq!(outcome(&server, &request)["status"], 200, "{on} {times}");
            assert_eq!(sink.count(&target), 1, "{on} {times}");
            server.fault(&json!({ "object_reply": "ok" }));
        }
    }
}

/// Continuations carry children as well: one that gets lost is made good.
#[test]
fn a_child_whose_start_is_lost_or_doubled_runs_once() {
    let (server, sink) = (Server::start(), Sink::start());
    for (fault, times) in [("double", 20), ("lose", 1)] {
        server.fault(&json!({ "self": fault, "times": times }));
        let target = format!("/made?{fault}");
        let own = program([call("made", sink.url(&target))]);
        let (_, id) = begin(&server, &fresh("start"), &own);
        server.wait_state(&id, "succeeded");
        assert_eq!(sink.count(&target), 1, "{fault}");
        assert!(server.faults()["self"]["struck"].as_u64() >= Some(1));
        server.fault(&json!({ "self": "ok" }));
    }
    let count = server.counters();
    assert!(count["deepest_chain"].as_u64() <= Some(8), "{count}");
}

#[test]
fn a_crash_while_parents_wait_loses_no_end() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let begin = |key: &str, step: Value| {
        let own = program([step, call("made", sink.url(&format!("/{key}")))]).short();
        let body = program([
            child("own", key, &own),
            call("after", sink.url(&format!("/after-{key}"))),
        ]);
        let body = body.short().set("respond_within", "50ms");
        hook(&server, &fresh("parent"), &body).task_id()
    };
    let asleep = begin("asleep", sleep("nap", "2500ms"));
    let at_work = begin("at-work", call("held", sink.url("/seq/hold,200")));
    server.wait_waiting(&child_id("asleep"), "sleep");
    sink.wait_for("/seq/hold,200", 1);
    server.wait_waiting(&asleep, "child");
    server.wait_waiting(&at_work, "child");
    server.restart();
    // Nobody asks for any of them.
    for key in ["asleep", "at-work"] {
        sink.wait_for(&format!("/after-{key}"), 1);
    }
    for id in [&asleep, &at_work] {
        server.wait_state(id, "succeeded");
    }
    for key in ["asleep", "at-work"] {
        assert_eq!(sink.count(&format!("/{key}")), 1);
        assert_eq!(sink.count(&format!("/after-{key}")), 1);
    }
    sink.assert_same_key("/seq/hold,200", 2);
}

/// Whoever calls the function with the same key meets the same task.
#[test]
fn a_child_is_a_task_like_any_other() {
    let server = shared();
    let key = fresh("visible");
    let (_, id) = begin(server, &key, &program([sleep("nap", "30d")]));
    let own = child_id(&key);
    let document = server.wait_waiting(&own, "sleep");
    assert_eq!(document["function"], "lab", "{document}");
    server.cancel(&own).expect(200);
    // Its end is told, whatever it is.
    let document = eventually(|| {
        let document = server.task(&id);
        let over = matches!(document["state"].as_str(), Some("failed" | "succeeded"));
        check(over, || document.to_string())?;
        Ok(document)
    });
    assert_eq!(document["state"], "failed", "{document}");
    assert_eq!(document["error"]["step"], "own", "{document}");
}

#[test]
fn a_child_of_a_function_that_does_not_exist_is_a_failure_with_a_name() {
    let server = shared();
    let step = child("own", &fresh("nobody"), &json!({})).with("function", "nobody");
    let body = brief([step]).set("max_attempts", 1);
    let id = hook(server, &fresh("parent"), &body).task_id();
    let document = server.wait_state(&id, "failed");
    assert_eq!(document["error"]["step"], "own", "{document}");
    assert!(
        document["error"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("nobody")),
        "{document}"
    );
}
