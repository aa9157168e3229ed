//! Keys and locks that tasks share: over contention, crashes, cancellations and outages of D1.

use crate::support::files::read;
use crate::support::{
    Mode, Request, Server, Settings as _, Sink, at_once, call, check, eventually, fail, fresh,
    hook, program, shared, signal, throughout,
};
use onceward::types::TaskId;
use serde_json::{Value, json};
use std::time::Duration;

fn get(name: &str, key: &str) -> Value {
    json!({ "do": "kv", "name": name, "op": "get", "key": key })
}

fn set(name: &str, key: &str, value: impl Into<Value>) -> Value {
    json!({ "do": "kv", "name": name, "op": "set", "key": key, "value": value.into() })
}

fn lock(name: &str, steps: impl IntoIterator<Item = Value>) -> Value {
    json!({ "do": "lock", "name": name, "steps": steps.into_iter().collect::<Vec<_>>() })
}

/// D1's row of a key: type, value, version; an error if there is none yet.
fn row(server: &Server, key: &str) -> Result<(Option<String>, Option<String>, i64), String> {
    let copy = read(&server.files().d1_path())?;
    let sql = "SELECT kind, value, version FROM kv WHERE namespace = 'lab' AND key = ?1";
    let row = copy.db.query_row(sql, [key], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    });
    row.map_err(|error| error.to_string())
}

/// What a program's steps came to.
#[track_caller]
fn outcomes(server: &Server, program: &Value) -> Value {
    let body = program.clone().set("respond_within", "5s");
    hook(server, &fresh("ask"), &body).expect(200).json()["steps"].clone()
}

/// Deliveries of one program under keys of their own; their ids.
#[track_caller]
fn deliver(server: &Server, program: &Value, n: usize) -> Vec<String> {
    let request = |n: usize| Mode::Webhook.request(&fresh(&n.to_string()), program);
    let requests: Vec<Request> = (0..n).map(request).collect();
    let answers = at_once(server, &requests);
    answers.into_iter().map(|answer| answer.task_id()).collect()
}

#[track_caller]
fn answer(server: &Server, id: &str) -> Value {
    let target = format!("/v1/tasks/{id}/answer");
    let request = Request::get(&target).bearer(crate::support::TOKEN);
    server.send(&request).expect(200).json()
}

/// The guard that orchestrators have, "look, work, mark", is a race. Under a lock it is none.
#[test]
fn of_fifty_tasks_under_one_lock_one_finds_the_key_missing() {
    const TASKS: usize = 50;
    let (server, sink) = (Server::start(), Sink::start());
    let guarded = lock(
        "guard",
        [
            get("seen", "order-1"),
            call("work", sink.url("/d/20")),
            set("mark", "order-1", "done"),
        ],
    );
    let ids = deliver(&server, &program([guarded]), TASKS);
    let mut missing = 0;
    for id in &ids {
        let end = server.end_of(id);
        assert_eq!(end["state"], "succeeded", "{end}");
        let seen = &answer(&server, id)["steps"]["guard"]["seen"];
        missing += usize::from(seen.is_null());
        assert!(seen.is_null() || *seen == "done", "{seen}");
    }
    assert_eq!(missing, 1);
    assert_eq!(sink.count("/d/20"), TASKS);
    sink.assert_no_overlap("/d/20");
}

#[test]
fn of_fifty_tasks_that_set_a_missing_key_one_does() {
    let server = shared();
    let key = fresh("once");
    let step = json!({ "do": "kv", "name": "first", "op": "set_missing", "key": key, "value": 1 });
    let ids = deliver(server, &program([step]).set("respond_within", "5s"), 50);
    let firsts = ids.iter().filter(|id| {
        server.wait_state(id, "succeeded");
        answer(server, id)["steps"]["first"] == true
    });
    assert_eq!(firsts.count(), 1);
}

#[test]
fn a_lock_is_held_over_kill_9_and_those_who_wait_get_it_afterwards() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let short = |body: Value| {
        body.set("respond_within", "100ms")
            .set("slice_budget", "6s")
            .set("slice_cut", "7s")
            .set("lease", "9s")
    };
    let work = |name: &str| call("work", sink.url(&format!("/d/900?{name}")));
    let held = short(program([lock("one", [signal("go"), work("a")])]));
    let first = hook(&server, &fresh("first"), &held).task_id();
    server.wait_waiting(&first, "signal");
    let next = short(program([lock("one", [work("b")])]));
    let second = hook(&server, &fresh("second"), &next).task_id();
    let waiting = server.wait_waiting(&second, "lock");
    assert_eq!(waiting["waiting"]["name"], "one", "{waiting}");
    // While its holder sleeps, and while it works.
    server.restart();
    server.signal(&first, "go", "go-1", &json!(1)).expect(202);
    sink.wait_into("/d/900?a", Duration::from_millis(300));
    server.restart();
    for id in [&first, &second] {
        server.wait_state(id, "succeeded");
    }
    assert_eq!((sink.count("/d/900?a"), sink.count("/d/900?b")), (2, 1));
    let begun = |target: &str| sink.order().iter().rposition(|t| t == target);
    assert!(begun("/d/900?a") < begun("/d/900?b"), "{:?}", sink.order());
}

#[test]
fn what_a_task_leaves_behind_is_freed() {
    let (server, sink) = (Server::start(), Sink::start());
    let held = |steps: Vec<Value>| program([lock("one", steps)]).set("respond_within", "100ms");
    // A holder that is cancelled, one that fails for good, and a waiter that is cancelled.
    let cancelled = hook(&server, &fresh("a"), &held(vec![signal("go")])).task_id();
    server.wait_waiting(&cancelled, "signal");
    let wait = |name: &str, steps: Vec<Value>| {
        let id = hook(&server, &fresh(name), &held(steps)).task_id();
        server.wait_waiting(&id, "lock");
        id
    };
    let gives_up = wait("b", vec![call("never", sink.url("/never"))]);
    let fails = wait("c", vec![call("once", sink.url("/once")), fail("terminal")]);
    let last = wait("d", vec![call("last", sink.url("/last"))]);
    server.cancel(&gives_up).expect(200);
    server.cancel(&cancelled).expect(200);
    server.wait_state(&last, "succeeded");
    assert_eq!(server.task(&fails)["state"], "failed");
    assert_eq!(sink.order(), ["/once", "/last"]);
}

#[test]
fn while_d1_fails_keys_are_set_and_read_and_it_follows_later() {
    let server = Server::start();
    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    for n in 1..=3 {
        outcomes(&server, &program([set("set", "k", n)]));
        assert_eq!(outcomes(&server, &program([get("get", "k")]))["get"], n);
    }
    assert!(row(&server, "k").is_err());
    server.fault(&json!({ "d1": "ok", "times": 1 }));
    eventually(|| {
        let row = row(&server, "k")?;
        let wanted = (Some("JSON".to_owned()), Some("3".to_owned()), 3);
        check(row == wanted, || format!("{row:?}"))
    });
    // So does a deletion.
    let gone = json!({ "do": "kv", "name": "gone", "op": "delete", "key": "k" });
    assert_eq!(outcomes(&server, &program([gone]))["gone"], true);
    eventually(|| {
        let row = row(&server, "k")?;
        check(row == (None, None, 4), || format!("{row:?}"))
    });
}

#[test]
fn a_write_of_d1_that_was_applied_and_failed_is_made_good() {
    let mut server = Server::start();
    server.fault(&json!({ "d1": "apply_then_fail", "times": 1 }));
    outcomes(&server, &program([set("set", "k", "v")]));
    // The object knows that it owes the row, whatever becomes of its instance.
    server.restart();
    eventually(|| {
        let row = row(&server, "k")?;
        check(row.1.as_deref() == Some("\"v\""), || format!("{row:?}"))
    });
    assert_eq!(outcomes(&server, &program([get("get", "k")]))["get"], "v");
}

#[test]
fn a_value_is_there_for_its_time_and_then_dropped() {
    let server = Server::start();
    let mut step = set("set", "brief", "secret-payload");
    step["ttl"] = json!("2s");
    outcomes(&server, &program([step, get("get", "brief")]));
    eventually(|| {
        let got = outcomes(&server, &program([get("get", "brief")]));
        check(got["get"].is_null(), || got.to_string())
    });
    // The alarm drops the value from the object; its version goes on.
    let id = TaskId::of_key("lab", "brief").to_string();
    eventually(|| {
        let path = server.files().object_of(&id).ok_or("no object")?;
        let copy = read(&path)?;
        let sql = "SELECT CAST(value AS TEXT) FROM _cf_KV";
        let mut cells = copy.db.prepare(sql).map_err(|e| e.to_string())?;
        let values = cells.query_map([], |row| row.get::<_, String>(0));
        let values: Vec<String> = values.map_err(|e| e.to_string())?.flatten().collect();
        let kept = values.iter().any(|v| v.contains("secret-payload"));
        check(!kept, || "the value is still there".to_owned())
    });
    outcomes(&server, &program([set("set", "brief", "new")]));
    eventually(|| {
        let row = row(&server, "brief")?;
        check(row.2 == 2, || format!("{row:?}"))
    });
}

#[test]
fn reading_writes_nothing_and_a_free_lock_leaves_nothing() {
    let server = Server::start();
    outcomes(&server, &program([set("set", "k", 1)]));
    eventually(|| row(&server, "k"));
    // The object of the lock deletes itself.
    outcomes(&server, &program([lock("one", [get("get", "k")])]));
    let id = TaskId::of_lock("one").to_string();
    eventually(|| {
        check(server.files().object_of(&id).is_none(), || {
            "the lock is still there".to_owned()
        })
    });
    let rows = |what: &Value| {
        let before = server.counters()["object_rows"].as_u64().expect("a count");
        outcomes(&server, what);
        server.counters()["object_rows"].as_u64().expect("a count") - before
    };
    // A task with one step that is recorded, with a value and with a key that is read.
    let plain = rows(&program([
        json!({ "do": "value", "name": "v", "value": 1 }),
    ]));
    let read = rows(&program([get("get", "k")]));
    assert_eq!(read, plain);
    throughout(Duration::from_millis(200), || {
        let row = row(&server, "k")?;
        check(row.2 == 1, || format!("{row:?}"))
    });
}
