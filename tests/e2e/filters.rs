//! Filters of the task list over HTTP, and what it shows of a task that is stuck: F13, F98.

use crate::support::{
    Mode, Request, Server, Settings as _, Sink, TOKEN, at_once, call, check, eventually, fail,
    fresh, hook, program, shared, signal, time_ms, unix_ms,
};
use serde_json::{Value, json};

fn list(server: &Server, query: &str) -> Value {
    let target = format!("/v1/tasks?{query}");
    server
        .send(&Request::get(&target).bearer(TOKEN))
        .expect(200)
        .json()
}

fn ids(server: &Server, query: &str) -> Vec<String> {
    let document = list(server, query);
    let tasks = document["tasks"].as_array().expect("tasks").iter();
    tasks
        .map(|task| task["task_id"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn filters_find_what_they_name_and_all_of_them_together() {
    let server = Server::start();
    let began_ms = unix_ms();
    let done = hook(&server, "order-1", &program([])).expect(200).task_id();
    let failed = hook(&server, "order-2", &program([fail("terminal")]))
        .expect(200)
        .task_id();
    let waits = hook(&server, "other-3", &program([signal("go")]))
        .expect(202)
        .task_id();
    let called = Mode::Call
        .deliver(&server, "order-4", &program([]))
        .expect(200)
        .task_id();
    eventually(|| {
        let found = ids(&server, "");
        check(found == [&*called, &*waits, &*failed, &*done], || {
            format!("{found:?}")
        })
    });
    let created = list(&server, "key=other-3")["tasks"][0]["created_at"].clone();
    let created_ms = time_ms(&created);
    let created = created.as_str().expect("a time");
    let since = |wanted: bool| -> Vec<String> {
        let document = list(&server, "");
        let tasks = document["tasks"].as_array().expect("tasks").iter();
        let some = tasks.filter(|task| (time_ms(&task["created_at"]) >= created_ms) == wanted);
        some.map(|task| task["task_id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(
        ids(&server, &format!("created_after={created}")),
        since(true)
    );
    assert_eq!(
        ids(&server, &format!("created_before={created_ms}")),
        since(false)
    );
    for (query, want) in [
        ("state=succeeded".to_owned(), vec![&called, &done]),
        ("state=failed,suspended".into(), vec![&waits, &failed]),
        ("state=failed&state=suspended".into(), vec![&waits, &failed]),
        ("state=running".into(), vec![]),
        ("source=lab".into(), vec![&waits, &failed, &done]),
        ("function=lab&source=lab&state=failed".into(), vec![&failed]),
        ("function=nobody".into(), vec![]),
        ("tenant=".into(), vec![&called, &waits, &failed, &done]),
        ("tenant=acme".into(), vec![]),
        ("key=order-2".into(), vec![&failed]),
        ("key=order-".into(), vec![]),
        ("key_prefix=order-".into(), vec![&called, &failed, &done]),
        (
            "key_prefix=order-&state=succeeded&limit=1".into(),
            vec![&called],
        ),
        ("error_code=lab_fail".into(), vec![&failed]),
        ("resumable=false".into(), vec![&failed]),
        ("resumable=true".into(), vec![]),
        ("label=shop:eu".into(), vec![]),
        (format!("trace_id={}", "a".repeat(32)), vec![]),
        (format!("updated_before={began_ms}"), vec![]),
        (format!("updated_after={began_ms}&key=order-1"), vec![&done]),
    ] {
        let found = ids(&server, &query);
        assert_eq!(found.iter().collect::<Vec<_>>(), want, "{query}");
    }
}

#[test]
fn every_mistake_of_a_query_is_named() {
    let query = "state=done&label=x&created_after=soon&resumable=1&since=3&limit=0&cursor=%00";
    let target = format!("/v1/tasks?{query}");
    let answer = shared().send(&Request::get(&target).bearer(TOKEN));
    let document = answer.expect_problem(400, "input_invalid").json();
    let errors = document["errors"].as_array().expect("errors");
    let named: Vec<&str> = errors
        .iter()
        .map(|error| error["pointer"].as_str().expect("a name"))
        .collect();
    let want = [
        "state",
        "label",
        "created_after",
        "resumable",
        "since",
        "limit",
        "cursor",
    ];
    assert_eq!(named, want, "{document}");
}

#[test]
fn cursors_that_are_none_are_refused_whatever_they_hold() {
    let id = "00000000-0000-5000-8000-000000000000";
    for cursor in [
        "x",
        "1.x",
        ".",
        "1",
        id,
        &format!("-1.{id}"),
        &format!("01.{id}"),
        &format!("1.{id}.1"),
        &format!("10000000000000.{id}"),
        "%F0%9F%98%80",
        "1'--.1",
        &"f".repeat(5_000),
    ] {
        let target = format!("/v1/tasks?cursor={cursor}");
        let answer = shared().send(&Request::get(&target).bearer(TOKEN));
        answer.expect_problem(400, "input_invalid");
    }
}

/// F98: a stalled database makes the list unavailable, in time, and nothing else.
#[test]
fn a_list_that_d1_does_not_answer_is_a_503_while_tasks_go_on() {
    let server = Server::start();
    let id = hook(&server, "k", &program([])).expect(200).task_id();
    eventually(|| check(ids(&server, "") == [&*id], || "not there yet".into()));
    // Longer than the client waits for anything.
    server.fault(&json!({ "d1": "stall:600s", "times": 1_000_000 }));
    let ask = |target: &str| Request::get(target).bearer(TOKEN);
    let requests = ["/v1/tasks", "/v1/tasks?key=k", "/v1/events"].map(ask);
    for answer in at_once(&server, &requests) {
        let answer = answer.expect_problem(503, "unavailable");
        assert!(answer.field("Retry-After").is_some(), "{}", answer.shown());
    }
    hook(&server, &fresh("beside"), &program([])).expect(200);
    assert_eq!(server.task(&id)["state"], "succeeded");
}

/// F13: a task whose holder has died is listed with its lock, until it is free again.
#[test]
fn a_stuck_task_is_listed_with_its_lock_and_can_be_freed() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let body = program([call("hang", sink.url("/seq/500,hold"))])
        .set("max_attempts", 1)
        .set("slice_budget", "10s")
        .set("slice_cut", "11s")
        .set("lease", "30s");
    let request = Mode::Webhook.request(&fresh("stuck"), &body);
    let id = server.send(&request).expect(202).task_id();
    server.wait_state(&id, "failed");
    // A new delivery goes on with it, and then its holder dies.
    let again = request.clone().field("Prefer", "respond-async");
    server.send(&again).expect(202);
    eventually(|| check(sink.count("/seq/500,hold") == 2, || "not begun".into()));
    let running = |server: &Server| {
        eventually(|| {
            let document = list(server, "state=running");
            let task = document["tasks"][0].clone();
            check(task["task_id"] == *id, || document.to_string())?;
            Ok(task)
        })
    };
    let before = running(&server);
    assert_eq!(before["lock"], server.task(&id)["lock"]);
    server.kill9();
    server.restart();
    let stuck = running(&server);
    assert_eq!(stuck["lock"], before["lock"]);
    assert!(stuck["lock"]["fence"].as_u64() >= Some(2), "{stuck}");
    assert!(time_ms(&stuck["lock"]["until"]) > time_ms(&stuck["updated_at"]));
    // Its lock runs out, and an operator ends it for good.
    let freed = server.wait_state(&id, "failed");
    assert!(freed["lock"].is_null(), "{freed}");
    eventually(|| {
        let found = ids(&server, "state=failed&error_code=lease_lost");
        check(found == [&*id], || format!("{found:?}"))
    });
    assert!(ids(&server, "state=running").is_empty());
    let delete = Request::new("DELETE", &format!("/v1/tasks/{id}")).bearer(TOKEN);
    server.send(&delete).expect(204);
    sink.refuses("/seq/500,hold", 200);
    let anew = server.send(&request).expect(200);
    assert!(!anew.is_replay());
}
