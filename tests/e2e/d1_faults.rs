//! D1 fails, stalls, or fails after it has applied: deliveries go on, and its rows come right in the end.

use crate::support::files::TaskRow;
use crate::support::{
    Mode, Request, Server, Settings as _, Sink, TOKEN, at_once, call, check, eventually, fresh,
    hook, program, throughout,
};
use serde_json::json;
use std::time::Duration;

/// Waits until D1 shows this state.
#[track_caller]
fn wait_row(server: &Server, id: &str, state: &str) -> TaskRow {
    eventually(|| {
        let row = server.files().row(id)?.ok_or("no row")?;
        check(row.state == state, || format!("{row:?}"))?;
        Ok(row)
    })
}

/// F98.
#[test]
fn while_d1_fails_deliveries_go_on_and_afterwards_it_catches_up() {
    const TASKS: usize = 12;
    let (server, sink) = (Server::start(), Sink::start());
    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    let keys: Vec<String> = (0..TASKS).map(|n| fresh(&format!("outage-{n}"))).collect();
    let requests: Vec<Request> = keys
        .iter()
        .map(|key| {
            Mode::Webhook.request(key, &program([call("once", sink.url(&format!("/{key}")))]))
        })
        .collect();
    let ids: Vec<String> = at_once(&server, &requests)
        .into_iter()
        .map(|answer| answer.expect(200).task_id())
        .collect();
    for (request, id) in requests.iter().zip(&ids) {
        assert!(server.send(request).expect(200).is_replay());
        assert_eq!(server.task(id)["state"], "succeeded", "the object knows");
    }
    let list = Request::get("/v1/tasks").bearer(TOKEN);
    server.send(&list).expect_problem(503, "unavailable");
    server.fault(&json!({ "d1": "ok", "times": 1 }));
    for (id, key) in ids.iter().zip(&keys) {
        let row = wait_row(&server, id, "succeeded");
        assert_eq!(row.key.as_ref(), Some(key));
        assert_eq!(sink.count(&format!("/{key}")), 1);
    }
    let listed = server.send(&list).expect(200).text();
    assert!(ids.iter().all(|id| listed.contains(id)), "{listed}");
}

/// F98: the first write, one in between, or the last one fails.
#[test]
fn whichever_write_of_d1_fails_the_row_comes_right() {
    let (server, sink) = (Server::start(), Sink::start());
    for kind in ["fail", "apply_then_fail"] {
        for times in 1..=4 {
            let targets = ["a", "b"].map(|s| format!("/{s}?{kind}{times}"));
            let steps = targets.each_ref().map(|t| call(&t[1..2], sink.url(t)));
            let body = program(steps)
                .set("steps_per_slice", 1)
                .set("respond_within", "5s");
            server.fault(&json!({ "d1": kind, "times": times }));
            let request = Mode::Webhook.request(&fresh("write"), &body);
            let id = server.send(&request).task_id();
            server.wait_state(&id, "succeeded");
            assert!(
                server.faults()["d1"]["struck"].as_u64() >= Some(1),
                "{kind} did not strike"
            );
            let row = wait_row(&server, &id, "succeeded");
            assert!(server.send(&request).expect(200).is_replay());
            throughout(Duration::from_millis(300), || {
                let now = server.files().row(&id)?.ok_or("the row is gone")?;
                check(
                    now.version >= row.version && now.state == "succeeded",
                    || format!("{kind} {times}: {now:?} after {row:?}"),
                )
            });
            for target in &targets {
                assert_eq!(sink.count(target), 1, "{kind} {times}: {target}");
            }
            server.fault(&json!({ "d1": "ok", "times": 1 }));
        }
    }
}

/// A write that was overtaken arrives last, and must not win.
#[test]
fn a_write_that_stalled_for_forty_seconds_never_overwrites_a_newer_row() {
    let (server, sink) = (Server::start(), Sink::start());
    // The early row of the first slice stalls; the task goes on meanwhile.
    let steps = ["a", "b"].map(|s| call(s, sink.url(&format!("/{s}"))));
    let body = program(steps)
        .set("steps_per_slice", 1)
        .set("respond_within", "5s");
    server.fault(&json!({ "d1": "stall:40s", "times": 1 }));
    let (key, began) = (fresh("stall"), std::time::Instant::now());
    let id = hook(&server, &key, &body).expect(200).task_id();
    assert_eq!(
        (sink.count("/a"), sink.count("/b")),
        (1, 1),
        "the function did not wait for D1"
    );
    // Others don't wait for it either.
    hook(&server, &fresh("beside-stall"), &program([])).expect(200);
    assert_eq!(server.faults()["d1"]["struck"], 1, "something does stall");
    let mut last = wait_row(&server, &id, "succeeded");
    let left = Duration::from_secs(45).saturating_sub(began.elapsed());
    throughout(left, || {
        let now = server.files().row(&id)?.ok_or("the row is gone")?;
        check(
            now.version >= last.version && now.state == "succeeded",
            || format!("{now:?} after {last:?}"),
        )?;
        last = now;
        Ok(())
    });
}

/// The last write of an old task arrives after its key was used anew.
#[test]
fn a_late_write_of_a_forgotten_task_changes_nothing() {
    let (server, sink) = (Server::start(), Sink::start());
    let body =
        program([call("once", sink.url("/once"))]).set("retention", json!({ "succeeded": "2s" }));
    let (key, began) = (fresh("late"), std::time::Instant::now());
    server.fault(&json!({ "d1": "stall:14s", "times": 1 }));
    let first = hook(&server, &key, &body).expect(200);
    let second = eventually(|| {
        let answer = hook(&server, &key, &body).expect(200);
        check(!answer.is_replay(), || "still the old one".to_owned())?;
        Ok(answer)
    });
    assert_eq!(first.task_id(), second.task_id());
    assert_eq!(sink.count("/once"), 2);
    let id = second.task_id();
    let generation = server.task(&id)["generation"].as_i64();
    assert_eq!(server.faults()["d1"]["struck"], 1, "something does stall");
    let mut last: Option<TaskRow> = None;
    let left = Duration::from_secs(17).saturating_sub(began.elapsed());
    throughout(left, || {
        let Some(now) = server.files().row(&id)? else {
            return check(last.is_none(), || "the row is gone".to_owned());
        };
        let newer = last.as_ref().is_none_or(|last| now.version >= last.version);
        check(newer, || format!("{now:?} after {last:?}"))?;
        last = Some(now);
        Ok(())
    });
    let last = last.expect("a row");
    assert!(
        generation.is_none_or(|g| last.generation >= g),
        "{last:?} is of an old generation"
    );
}

/// F98: a stalled list is answered in time, and webhooks don't queue behind it.
#[test]
fn a_stalled_query_is_answered_503() {
    let server = Server::start();
    server.fault(&json!({ "d1": "stall:40s", "times": 2 }));
    std::thread::scope(|scope| {
        let list = scope.spawn(|| server.send(&Request::get("/v1/tasks").bearer(TOKEN)));
        hook(&server, &fresh("beside"), &program([])).expect(200);
        let list = list.join().expect("an answer");
        list.expect_problem(503, "unavailable");
    });
}

/// A crash while D1 is owed a row.
#[test]
fn what_d1_is_owed_survives_a_crash() {
    let mut server = Server::start();
    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    let id = hook(&server, &fresh("owed"), &program([]))
        .expect(200)
        .task_id();
    assert_eq!(server.files().row(&id), Ok(None));
    // The fault is gone with the process; nobody sends anything.
    server.restart();
    wait_row(&server, &id, "succeeded");
}
