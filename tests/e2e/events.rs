//! Live events, over a plain socket.

use crate::support::events::{Event, Events};
use crate::support::tasks::{signal_request, steer};
use crate::support::{
    Mode, Request, Server, Settings as _, TOKEN, check, eventually, fail, fresh, hook, program,
    shared, signal, sleep, throughout, unix_ms,
};
use serde_json::json;
use std::time::Duration;

#[track_caller]
fn open(server: &Server, request: &Request) -> Events {
    let events = Events::open(server.address(), request).expect("a stream");
    assert_eq!(events.status, 200);
    assert_eq!(events.field("content-type"), Some("text/event-stream"));
    assert_eq!(events.field("cache-control"), Some("no-store"));
    events
}

fn of_task(id: &str) -> Request {
    Request::get(&format!("/v1/tasks/{id}/events")).bearer(TOKEN)
}

fn of_all(query: &str) -> Request {
    Request::get(&format!("/v1/events{query}")).bearer(TOKEN)
}

fn states(events: &[Event]) -> Vec<&str> {
    let tasks = events.iter().filter(|event| event.name == "task");
    tasks
        .map(|event| event.data["state"].as_str().expect("a state"))
        .collect()
}

#[test]
fn a_task_is_followed_to_its_end_and_then_the_stream_is_over() {
    let server = shared();
    let key = fresh("followed");
    let id = hook(server, &key, &program([signal("go")]))
        .expect(202)
        .task_id();
    server.wait_waiting(&id, "signal");
    let mut events = open(server, &of_task(&id));
    assert_eq!(events.field("onceward-task-id"), Some(id.as_str()));
    let first = events.block().expect("a beginning");
    assert_eq!(first.retry.as_deref(), Some("1000"));
    let shown = events.next().expect("where it stands");
    assert_eq!(shown.name, "task");
    // What it has cost goes on: this asks as well.
    let (mut told, mut own) = (shown.data.clone(), server.task(&id));
    for document in [&mut told, &mut own] {
        assert!(document["cost"].take().is_object());
    }
    assert_eq!(told, own);
    server
        .send(&signal_request(&id, "go").key("g").json(&json!(1)))
        .expect(202);
    let came = events.until(|event| event.name == "end");
    let [.., last, end] = came.as_slice() else {
        panic!("{came:?}")
    };
    assert_eq!(last.data["state"], "succeeded", "{came:?}");
    assert_eq!(end.data, json!({ "task_id": id }));
    assert_eq!(events.next(), None, "over");

    // Who has seen the last state hears of the end; who has seen the end has nothing to come for.
    let last_id = last.id.clone().expect("an id");
    let mut again = open(server, &of_task(&id).field("Last-Event-ID", &last_id));
    let came: Vec<Event> = std::iter::from_fn(|| again.next()).collect();
    assert_eq!(came, std::slice::from_ref(end));
    let end_id = end.id.clone().expect("an id");
    server
        .send(&of_task(&id).field("Last-Event-ID", &end_id))
        .expect(204);
    let mut anew = open(server, &of_task(&id).field("Last-Event-ID", "nonsense"));
    let shown = anew.next().expect("the task");
    assert_eq!((shown.name.as_str(), &shown.id), ("task", &last.id));
}

#[test]
fn a_failure_that_can_be_resumed_is_not_the_end() {
    let server = shared();
    let body = program([fail("retryable")]).set("max_attempts", 1);
    let id = hook(server, &fresh("resumable"), &body)
        .expect(202)
        .task_id();
    server.wait_state(&id, "failed");
    let mut events = open(server, &of_task(&id));
    let shown = events.next().expect("where it stands");
    assert_eq!(shown.data["resumable"], true, "{shown:?}");
    server.send(&steer(&id, "cancel")).expect(200);
    let came = events.until(|event| event.name == "end");
    assert_eq!(states(&came), ["cancelled"]);
}

#[test]
fn a_task_that_is_forgotten_meanwhile_is_gone() {
    let server = shared();
    let body = program([fail("retryable")]).set("max_attempts", 1);
    let id = hook(server, &fresh("gone"), &body).expect(202).task_id();
    server.wait_state(&id, "failed");
    let mut events = open(server, &of_task(&id));
    events.next().expect("where it stands");
    let delete = Request::new("DELETE", &format!("/v1/tasks/{id}")).bearer(TOKEN);
    server.send(&delete).expect(204);
    let gone = events.next().expect("the news");
    assert_eq!(
        (gone.name.as_str(), gone.data),
        ("gone", json!({ "task_id": id }))
    );
    assert_eq!(events.next(), None);
    server
        .send(&of_task(&id))
        .expect_problem(404, "task_not_found");
}

#[test]
fn what_is_wrong_is_said_before_a_stream_begins() {
    let server = shared();
    let nobody = "00000000-0000-5000-8000-000000000000";
    server
        .send(&of_task(nobody))
        .expect_problem(404, "task_not_found");
    server
        .send(&of_all("?state=x"))
        .expect_problem(400, "input_invalid");
    server
        .send(&of_all("?limit=5"))
        .expect_problem(400, "input_invalid");
    let query = format!("/v1/tasks/{nobody}/events?wait=1");
    server
        .send(&Request::get(&query).bearer(TOKEN))
        .expect_problem(400, "input_invalid");
    for target in [
        "/v1/events".to_owned(),
        format!("/v1/tasks/{nobody}/events"),
    ] {
        server
            .send(&Request::get(&target))
            .expect_problem(401, "unauthorized");
        let post = Request::post(&target).bearer(TOKEN);
        let answer = server.send(&post).expect_problem(405, "method_not_allowed");
        assert_eq!(answer.field("Allow"), Some("GET, HEAD, OPTIONS"));
    }
    let head = Request::new("HEAD", "/v1/events").bearer(TOKEN);
    let answer = server.send(&head).expect(200);
    assert_eq!(answer.field("Content-Type"), Some("text/event-stream"));
    assert!(answer.body.is_empty());
}

#[test]
fn all_tasks_are_followed_and_a_stream_goes_on_where_the_last_one_ended() {
    let server = Server::start();
    let old = hook(&server, &fresh("old"), &program([signal("go")]))
        .expect(202)
        .task_id();
    let seen = |id: &str| {
        eventually(|| {
            let target = format!("/v1/tasks?key_prefix={id}");
            let page = server
                .send(&Request::get(&target).bearer(TOKEN))
                .expect(200);
            check(page.text().contains("task_id"), || page.shown())
        });
    };
    seen("old");
    // What is older than the stream, and its slack, is not told.
    let later = unix_ms() + 60_000;
    let mut events = open(&server, &of_all(""));
    let first = events.block().expect("a beginning");
    assert!(first.id.is_some() && first.retry.is_some(), "{first:?}");
    let id_of = |event: &Event| {
        event.data["task_id"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };

    let new = hook(&server, &fresh("new"), &program([]))
        .expect(200)
        .task_id();
    let came = events.until(|event| id_of(event) == new);
    assert_eq!(came.last().expect("one").data["state"], "succeeded");
    // A task that waited is in the reading of the open ones, and looked for when it is no more.
    server
        .send(&signal_request(&old, "go").key("g").json(&json!(1)))
        .expect(202);
    let came = events.until(|event| id_of(event) == old && event.data["state"] == "succeeded");
    let last_id = came
        .last()
        .and_then(|event| event.id.clone())
        .expect("an id");
    assert!(last_id.parse::<i64>().expect("a time") < later);
    drop(events);

    // While nobody listens …
    let missed = hook(&server, &fresh("missed"), &program([fail("terminal")]))
        .expect(200)
        .task_id();
    seen("missed");
    let mut events = open(&server, &of_all("").field("Last-Event-ID", &last_id));
    let came = events.until(|event| id_of(event) == missed);
    assert_eq!(came.last().expect("one").data["state"], "failed");
}

#[test]
fn a_stream_of_some_tasks_tells_of_these_only() {
    let server = Server::start();
    let mut events = open(&server, &of_all("?state=failed&function=lab"));
    hook(&server, &fresh("fine"), &program([])).expect(200);
    Mode::Webhook
        .deliver(&server, &fresh("sleeps"), &program([sleep("s", "1h")]))
        .expect(202);
    let failed = hook(&server, &fresh("fails"), &program([fail("terminal")]))
        .expect(200)
        .task_id();
    let came = events.next().expect("an event");
    assert_eq!(
        (came.name.as_str(), &came.data["task_id"]),
        ("task", &json!(failed))
    );
}

#[test]
fn who_hangs_up_costs_nothing_more() {
    let server = Server::start();
    let id = hook(&server, &fresh("left"), &program([signal("go")]))
        .expect(202)
        .task_id();
    server.wait_waiting(&id, "signal");
    let statements = || server.counters()["d1_statements"].as_u64().unwrap_or(0);
    let mut streams: Vec<Events> = (0..4).map(|_| open(&server, &of_all(""))).collect();
    streams.push(open(&server, &of_task(&id)));
    for stream in &mut streams {
        stream.block().expect("a beginning");
    }
    let before = statements();
    eventually(|| check(statements() > before + 8, || "they do not read".into()));
    drop(streams);
    // Readings that were on their way come to their end.
    let mut last = statements();
    let mut since = std::time::Instant::now();
    eventually(|| {
        let now = statements();
        if now != last {
            (last, since) = (now, std::time::Instant::now());
        }
        check(since.elapsed() > Duration::from_secs(3), || {
            format!("still reading: {now}")
        })
    });
    throughout(Duration::from_secs(3), || {
        let now = statements();
        check(now == last, || format!("{now} after {last}"))
    });
}

#[test]
fn a_database_that_fails_meanwhile_does_not_end_the_stream() {
    let server = Server::start();
    let mut events = open(&server, &of_all(""));
    events.block().expect("a beginning");
    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    while events.block().expect("a sign").comments == 0 {}
    let id = hook(&server, &fresh("meanwhile"), &program([]))
        .expect(200)
        .task_id();
    server.fault(&json!({ "d1": "ok", "times": 1 }));
    let came = events.next().expect("the news");
    assert_eq!(came.data["task_id"], json!(id));
}
