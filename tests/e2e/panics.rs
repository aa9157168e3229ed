//! Functions that panic, and inputs that would make a careless parser do so.

use crate::support::http::Connection;
use crate::support::{
    Mode, Request, Server, Settings as _, Sink, TOKEN, call, check, eventually, fresh, hook,
    program, shared,
};
use serde_json::{Value, json};

fn panics() -> Value {
    program([json!({ "do": "panic" })]).short()
}

fn twenty_normal_requests(connection: &mut Connection, sink: &Sink) {
    for n in 0..20 {
        let target = format!("/normal?{n}");
        let body = program([call("normal", sink.url(&target))]);
        let request = Mode::Webhook.request(&fresh("normal"), &body);
        connection.send(&request).expect("sent");
        connection.receive("POST").expect("an answer").expect(200);
        assert_eq!(sink.count(&target), 1);
    }
}

/// F15, F13 in part.
#[test]
fn a_panicking_function_fails_alone() {
    let (server, sink) = (Server::start(), Sink::start());
    let mut connection = server.connect();
    let others: Vec<(String, String)> = (0..4)
        .map(|n| {
            let target = format!("/d/700?{n}");
            let body = program([call("slow", sink.url(&target))]).short();
            let request = Mode::Webhook
                .request(&fresh("beside"), &body)
                .field("Prefer", "respond-async");
            (server.send(&request).expect(202).task_id(), target)
        })
        .collect();
    for (_, target) in &others {
        sink.wait_for(target, 1);
    }
    for mode in Mode::BOTH {
        let (key, body) = (fresh("panics"), panics().set("max_attempts", 2));
        let first = mode.deliver(&server, &key, &body);
        let id = if first.status == 500 && first.field("Onceward-Task-Id").is_none() {
            // The instance did not survive; a repeat joins.
            eventually(|| {
                let again = mode.deliver(&server, &key, &body);
                check(again.field("Onceward-Task-Id").is_some(), || again.shown())?;
                Ok(again.task_id())
            })
        } else {
            first.expect(202).task_id()
        };
        let document = server.wait_state(&id, "failed");
        assert_eq!(document["task_id"], id, "it is listed, not locked");
        // To the same key as well: the next delivery is a new chance, never a lock.
        let again = mode.deliver(&server, &key, &body);
        assert!(matches!(again.status, 200 | 202 | 500), "{}", again.shown());
        assert_eq!(again.task_id(), id);
    }
    twenty_normal_requests(&mut connection, &sink);
    for (id, target) in &others {
        server.wait_state(id, "succeeded");
        assert!((1..=2).contains(&sink.count(target)), "{target}");
    }
}

#[test]
fn what_a_panicking_function_had_recorded_stays_recorded() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/before?{mode:?}");
        let steps = [call("before", sink.url(&target)), json!({ "do": "panic" })];
        let body = program(steps).short().set("max_attempts", 2);
        let id = mode
            .deliver(shared(), &fresh("panics-late"), &body)
            .task_id();
        shared().wait_state(&id, "failed");
        assert_eq!(sink.count(&target), 1);
    }
}

/// F13: an operator's deletion frees the key.
#[test]
fn a_task_that_panicked_can_be_deleted_and_its_key_used_again() {
    let key = fresh("freed");
    let body = panics().set("max_attempts", 1);
    let id = hook(shared(), &key, &body).task_id();
    shared().wait_state(&id, "failed");
    let delete = Request::new("DELETE", &format!("/v1/tasks/{id}")).bearer(TOKEN);
    shared().send(&delete).expect(204);
    let answer = hook(shared(), &key, &program([])).expect(200);
    assert!(!answer.is_replay());
}

/// F15, F60: hostile bodies are refused, and the requests after them are normal.
#[test]
fn hostile_bodies_disturb_nobody() {
    let (server, sink) = (Server::start(), Sink::start());
    let mut connection = server.connect();
    let key = fresh("hostile");
    let deep = |levels: usize| {
        let nested = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"steps":[{{"do":"value","name":"v","value":{nested}}}]}}"#)
    };
    for body in [
        deep(129),
        deep(5_000),
        "[".repeat(500_000),
        "{\"steps\":".repeat(1_000),
    ] {
        let request = Request::post("/hooks/lab").key(&key).body(body);
        server.send(&request).expect_problem(400, "input_invalid");
    }
    let huge = Request::post("/hooks/lab")
        .key(&key)
        .body(vec![b'['; 60 << 20]);
    if let Ok(answer) = server.try_send(&huge) {
        answer.expect_problem(413, "body_too_large");
    }
    let good = Request::post("/hooks/lab").key(&key).body(deep(120));
    let answer = server.send(&good).expect(200);
    assert!(
        !answer.is_replay(),
        "no refused body holds the key: {}",
        answer.shown()
    );
    twenty_normal_requests(&mut connection, &sink);
}

/// CPU that a function burns is its own.
#[test]
fn a_busy_function_ends_and_leaves_the_server_well() {
    let body = program([json!({ "do": "burn", "for": "300ms" })]);
    let id = hook(shared(), &fresh("busy"), &body).task_id();
    shared().wait_state(&id, "succeeded");
}
