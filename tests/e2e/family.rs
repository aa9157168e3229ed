//! What parents and children must not do to each other, and what half an undo must not lead to.

use crate::support::{
    Mode, Settings as _, Sink, call, child, child_id, fail, fresh, hook, program, shared, signal,
    value,
};
use serde_json::{Value, json};

fn brief(steps: impl IntoIterator<Item = Value>) -> Value {
    program(steps)
        .set("respond_within", "50ms")
        .set("lease", "15m")
}

#[test]
fn a_shared_child_outlives_the_cancellation_of_one_parent() {
    let (server, key) = (shared(), fresh("shared"));
    let own = program([signal("go"), value("done", 1)]);
    let parents = [(); 2].map(|()| {
        let body = brief([child("own", &key, &own)]);
        hook(server, &fresh("parent"), &body).expect(202).task_id()
    });
    for id in &parents {
        server.wait_waiting(id, "child");
    }
    server.cancel(&parents[0]);
    server.wait_state(&parents[0], "cancelled");
    server
        .signal(&child_id(&key), "go", "1", &json!(true))
        .expect(202);
    server.wait_state(&parents[1], "succeeded");
    assert_eq!(server.task(&child_id(&key))["state"], "succeeded");
}

#[test]
fn a_child_of_a_key_that_is_anothers_is_refused_and_so_is_the_other() {
    let (server, key) = (shared(), fresh("key"));
    let own = program([value("secret", "a")]);
    let first = hook(server, &fresh("parent"), &brief([child("own", &key, &own)])).task_id();
    server.wait_state(&first, "succeeded");
    let other = program([value("secret", "b")]);
    let body = brief([child("own", &key, &other)]);
    let second = hook(server, &fresh("parent"), &body).task_id();
    let document = server.wait_state(&second, "failed");
    assert_eq!(document["error"]["code"], "child_refused", "{document}");
    Mode::Call
        .deliver(server, &key, &other)
        .expect_problem(422, "key_reused");
}

#[test]
fn a_task_that_would_wait_for_itself_is_refused() {
    let (server, key) = (shared(), fresh("circle"));
    let inner = program([value("a", 1)]);
    let body = program([child("own", &key, &inner)]).set("respond_within", "50ms");
    let id = Mode::Call.deliver(server, &key, &body).task_id();
    let document = server.wait_state(&id, "failed");
    assert_eq!(document["error"]["code"], "child_refused", "{document}");
}

#[test]
fn what_was_undone_in_part_is_not_paid_again() {
    let (server, sink) = (shared(), Sink::start());
    let body = brief([
        call("pay", sink.url("/pay")).undo(sink.url("/status/400?refund")),
        fail("retryable"),
    ])
    .set("max_attempts", 1);
    let request = Mode::Webhook.request(&fresh("partial"), &body);
    let id = server.send(&request).task_id();
    let document = server.wait_state(&id, "failed");
    assert_eq!(document["undone"], "partial", "{document}");
    assert_eq!(document["resumable"], false, "{document}");
    let again = server.send(&request).expect(200).json();
    assert_eq!(again["not_undone"][0]["step"], "pay", "{again}");
    assert_eq!(sink.count("/pay"), 1);
}

#[test]
fn a_call_whose_outcome_is_too_large_counts_as_one_that_may_have_happened() {
    let server = shared();
    // Too large for the record, and too large to be read at all.
    for bytes in [1_048_500, 1_048_577] {
        let sink = Sink::start();
        sink.answers("/large", "text/plain", vec![b'x'; bytes]);
        let mut undo = call("pay", sink.url("/large")).undo(sink.url("/undo"));
        undo["undo"]["body"] = json!({ "b": 1 });
        let id = hook(server, &fresh("large"), &brief([undo])).task_id();
        let document = server.wait_state(&id, "failed");
        assert_eq!(document["error"]["code"], "outcome_too_large", "{document}");
        assert_eq!(document["undone"], "complete", "{document}");
        assert_eq!(sink.count("/undo"), 1, "it happened, so it is undone");
    }
}

#[test]
fn a_body_where_none_belongs_does_nothing() {
    let server = shared();
    let id = hook(server, &fresh("body"), &brief([signal("go")])).task_id();
    server.wait_waiting(&id, "signal");
    for what in ["cancel", "undo"] {
        let request = crate::support::tasks::steer(&id, what).body("{bad");
        server.send(&request).expect_problem(400, "input_invalid");
    }
    assert_eq!(server.task(&id)["state"], "suspended");
    server.cancel(&id);
    server.wait_state(&id, "cancelled");
}
