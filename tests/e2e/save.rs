//! Saved progress, and the journal as operators see it.

use crate::support::{
    Mode, Request, Server, Settings as _, Sink, TOKEN, call, fail, fresh, hook, parallel, program,
    repeat, shared, signal, sleep, time_ms, unix_ms, value,
};
use serde_json::{Value, json};

fn save(cursor: impl Into<Value>) -> Value {
    json!({ "do": "save", "cursor": cursor.into() })
}

#[test]
fn a_crash_in_a_long_loop_with_saved_progress_repeats_one_step() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let turn = |name: &str| repeat(name, 80, &value(&format!("{name}-turn"), 1));
    let held = "/seq/hold,200";
    let steps = [
        turn("first"),
        save(json!({ "page": 1 })),
        call("a", sink.url("/a")),
        turn("second"),
        save(json!({ "page": 2 })),
        call("held", sink.url(held)),
        save(json!({ "page": 3 })),
        call("b", sink.url("/b")),
    ];
    let body = program(steps).short().set("steps_per_slice", 70);
    let request = Mode::Webhook.request(&fresh("saves"), &body);
    let id = server
        .send(&request.clone().field("Prefer", "respond-async"))
        .task_id();
    sink.wait_for(held, 1);
    server.restart();
    sink.wait_for("/b", 1);
    server.wait_state(&id, "succeeded");
    sink.assert_same_key(held, 2);
    assert_eq!((sink.count("/a"), sink.count("/b")), (1, 1));
    let answer = server.send(&request).expect(200);
    let steps = &answer.json()["steps"];
    assert_eq!(steps["first"], 80, "{}", answer.shown());
    assert_eq!(steps["second"], 80, "{}", answer.shown());
}

#[test]
fn a_lost_reply_to_save_costs_nothing() {
    let (server, sink) = (Server::start(), Sink::start());
    for times in [1, 3] {
        server.fault(&json!({ "object_reply": "lose", "on": "save", "times": times }));
        let targets = ["a", "b"].map(|s| format!("/{s}?{times}"));
        let steps = [
            call("a", sink.url(&targets[0])),
            save("here"),
            call("b", sink.url(&targets[1])),
            save("there"),
        ];
        let body = program(steps).set("lease", "15m");
        let id = hook(&server, &fresh("lost"), &body).task_id();
        server.wait_state(&id, "succeeded");
        for target in &targets {
            assert_eq!(sink.count(target), 1, "{target}");
        }
        let struck = server.faults()["object_reply"]["struck"].as_u64();
        assert!(struck >= Some(1), "it did not strike");
        server.fault(&json!({ "object_reply": "ok" }));
    }
}

/// Every turn may save: the last cursor replaces the one before.
#[test]
fn a_loop_may_save_in_every_turn() {
    let steps = [repeat("pages", 40, &save("page")), value("after", 1)];
    let body = program(steps).set("steps_per_slice", 1);
    let request = Mode::Webhook.request(&fresh("every"), &body);
    let id = shared().send(&request).task_id();
    shared().wait_state(&id, "succeeded");
    let answer = shared().send(&request).expect(200);
    assert_eq!(answer.json()["steps"]["pages"], 40, "{}", answer.shown());
}

fn of<'a>(journal: &'a [Value], step: &str) -> &'a Value {
    let found = journal.iter().find(|r| r["step"] == step);
    found.unwrap_or_else(|| panic!("no {step} in {journal:?}"))
}

#[test]
fn the_journal_shows_what_each_step_is_and_what_came_of_it() {
    let (server, sink) = (shared(), Sink::start());
    let began = unix_ms();
    let retry = json!({ "max_attempts": 3, "initial": "5ms" });
    let steps = [
        value("number", json!({ "id": 616_581_622_363_398_142_u64 })),
        call("flaky", sink.url("/seq/500,200")).with("retry", retry),
        call("paid", sink.url("/paid")).undo(sink.url("/undo")),
        sleep("nap", "1100ms"),
        parallel("both", [vec![value("v", 1)], vec![value("v", 2)]]),
        signal("go"),
        fail("terminal"),
    ];
    let body = program(steps)
        .set("respond_within", "50ms")
        .set("max_attempts", 1);
    let id = hook(server, &fresh("journal"), &body).task_id();
    server.wait_waiting(&id, "signal");
    server.signal(&id, "go", "s", &json!("yes")).expect(202);
    server.wait_state(&id, "failed");
    let target = format!("/v1/tasks/{id}/journal");
    let answer = server
        .send(&Request::get(&target).bearer(TOKEN))
        .expect(200);
    let document = answer.json();
    assert_eq!(document["task_id"], id, "{document}");
    assert_eq!(document["generation"], server.task(&id)["generation"]);
    assert!(answer.text().contains("616581622363398142"), "{document}");
    let journal = server.journal(&id);
    for (step, kind) in [
        ("number", "step"),
        ("flaky", "step"),
        ("paid", "step"),
        ("nap", "sleep"),
        ("go", "signal"),
    ] {
        let record = of(&journal, step);
        assert_eq!(record["kind"], kind, "{record}");
        let at = time_ms(&record["at"]);
        assert!((began..=unix_ms()).contains(&at), "{record}");
    }
    assert_eq!(of(&journal, "flaky")["tries"], 2);
    assert_eq!(of(&journal, "flaky")["state"], "succeeded");
    assert_eq!(of(&journal, "go")["value"], "yes");
    assert!(of(&journal, "paid")["undo"].is_string());
    assert!(of(&journal, "flaky")["undo"].is_null());
    let undone = journal.iter().filter(|r| r["kind"] == "undo").count();
    assert_eq!(undone, 1, "{journal:?}");
    let inner = journal.iter().filter(|r| {
        let step = r["step"].as_str().unwrap_or_default();
        step.contains("both") && step.ends_with("/v")
    });
    assert_eq!(inner.count(), 2, "{journal:?}");
}

#[test]
fn the_journal_is_for_those_who_may_read() {
    let server = shared();
    let id = hook(server, &fresh("guarded"), &program([value("a", "SEC-1")])).task_id();
    let request = Request::get(&format!("/v1/tasks/{id}/journal"));
    let answer = server.send(&request).expect(401);
    assert!(!answer.text().contains("SEC-1"), "{}", answer.shown());
    server.send(&request.bearer("wrong")).expect(401);
    let nobody = format!("/v1/tasks/{}/journal", uuid::Uuid::new_v4());
    let answer = server.send(&Request::get(&nobody).bearer(TOKEN));
    answer.expect_problem(404, "task_not_found");
    let odd = format!("/v1/tasks/{id}/journal?after=what");
    let answer = server.send(&Request::get(&odd).bearer(TOKEN));
    answer.expect_problem(400, "input_invalid");
}
