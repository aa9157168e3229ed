//! Steps that take longer than a slice: held by the object, started by its alarm.

use crate::support::{Mode, Server, Settings as _, Sink, call, fresh, hook, program, shared};
use serde_json::{Value, json};

/// A slice of two seconds, and a step that may take ten.
fn patient(sink: &Sink, name: &str, target: &str) -> Value {
    let slow = call("slow", sink.url(target))
        .with("timeout", "10s")
        .with("on_unknown", "fail");
    program([
        call("before", sink.url(&format!("/before?{name}"))),
        slow,
        call("after", sink.url(&format!("/after?{name}"))),
    ])
    .set("respond_within", "300ms")
    .set("slice_budget", "1500ms")
    .set("slice_cut", "2s")
    .set("lease", "4s")
}

#[test]
fn a_step_longer_than_a_slice_runs_once() {
    let (server, sink) = (shared(), Sink::start());
    let slow = "/d/4000?long";
    let body = patient(&sink, "long", slow);
    for mode in Mode::BOTH {
        let answer = server
            .send(&mode.request(&fresh("long"), &body))
            .expect(202);
        let document = server.wait_state(&answer.task_id(), "succeeded");
        assert_eq!(document["attempts"], json!(1), "{document}");
    }
    for target in ["/before?long", slow, "/after?long"] {
        assert_eq!(sink.count(target), 2, "{target}: once for each mode");
    }
}

#[test]
fn a_long_step_that_dies_is_not_guessed_at() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let slow = "/seq/hold,200?dies";
    let id = hook(&server, &fresh("dies"), &patient(&sink, "dies", slow))
        .expect(202)
        .task_id();
    sink.wait_for(slow, 1);
    server.restart();
    let document = server.wait_state(&id, "failed");
    assert_eq!(document["error"]["code"], "outcome_unknown", "{document}");
    assert_eq!(sink.count(slow), 1);
    assert_eq!(sink.count("/before?dies"), 1);
    assert_eq!(sink.count("/after?dies"), 0);
}
