//! The sweep: every open task is looked at in turn; what has lost its alarm goes on, and is counted.

use crate::support::{
    Request, Server, Settings as _, Sink, TOKEN, at_once, call, check, eventually, fresh, hook,
    program, signal, sleep,
};
use serde_json::Value;

/// What the jobs have counted since the database was made.
#[track_caller]
fn jobs(server: &Server) -> Value {
    let request = Request::get("/v1/stats").bearer(TOKEN);
    server.send(&request).expect(200).json()["jobs"].clone()
}

#[track_caller]
fn wait_row(server: &Server, id: &str, state: &str) {
    eventually(|| {
        let row = server.files().row(id)?.ok_or("no row")?;
        check(row.state == state, || format!("{row:?}"))
    });
}

/// Nothing of it is overdue, so that the rescuer does not look at it.
#[test]
fn a_sleeping_task_whose_alarm_is_gone_is_found_and_healed() {
    let mut server = Server::start();
    let body = program([sleep("nap", "1h")]).set("respond_within", "20ms");
    let id = hook(&server, &fresh("nap"), &body).expect(202).task_id();
    wait_row(&server, &id, "suspended");
    server.cron();
    let before = jobs(&server);
    assert_eq!(before["sweep"]["asked"], 1, "{before}");
    assert!(before["lost"].is_null(), "nothing is missing: {before}");

    server.kill9();
    assert!(server.files().forget_alarms() > 0, "there was an alarm");
    server.restart();
    server.cron();
    let after = jobs(&server);
    assert_eq!(after["lost"]["alarm"], 1, "{after}");
    assert_eq!(after["healed"]["alarm"], 1, "{after}");
    assert!(after["rescue"].is_null(), "the sweep found it: {after}");
    // It is there again.
    server.cron();
    let again = jobs(&server);
    assert_eq!(again["lost"]["alarm"], 1, "{again}");
    assert_eq!(again["sweep"]["asked"], 3, "{again}");
    assert_eq!(again["sweep"]["rounds"], 3, "{again}");
}

/// A crash has caught it in its second step, and what should make it go on is gone.
#[test]
fn a_crashed_task_whose_alarm_is_gone_goes_on() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let steps = ["a", "b", "c"].map(|s| call(s, sink.url(&format!("/d/300?{s}"))));
    let body = program(steps)
        .short()
        .set("steps_per_slice", 1)
        .set("respond_within", "20ms");
    let id = hook(&server, &fresh("crashed"), &body)
        .expect(202)
        .task_id();
    eventually(|| {
        check(sink.count("/d/300?b") > 0, || "b has not begun".to_owned())?;
        check(server.files().row(&id)?.is_some(), || {
            "no row yet".to_owned()
        })
    });
    server.kill9();
    server.files().forget_alarms();
    server.restart();
    eventually(|| {
        server.cron();
        check(sink.count("/d/300?c") > 0, || "c has not begun".to_owned())
    });
    server.wait_state(&id, "succeeded");
    assert_eq!(sink.count("/d/300?a"), 1);
    let jobs = jobs(&server);
    assert!(jobs["lost"].is_object(), "{jobs}");
    assert_eq!(jobs["lost"], jobs["healed"], "{jobs}");
}

/// D1 was set back to an earlier time: its row is older than the one that it had acknowledged.
#[test]
fn a_row_that_d1_has_lost_is_sent_again() {
    let mut server = Server::start();
    let id = hook(&server, &fresh("set-back"), &program([]))
        .expect(200)
        .task_id();
    wait_row(&server, &id, "succeeded");
    server.kill9();
    let older =
        "UPDATE tasks SET state = 'running', n = n - 2, answer_body = NULL WHERE task_id = ?1";
    assert_eq!(server.files().open_d1().execute(older, [&id]), Ok(1));
    server.restart();
    server.cron();
    wait_row(&server, &id, "succeeded");
    let jobs = jobs(&server);
    assert_eq!(
        (&jobs["lost"]["row"], &jobs["healed"]["row"]),
        (&1.into(), &1.into()),
        "{jobs}"
    );
}

/// More open rows than one run looks at, and none of them has an object.
#[test]
fn a_round_goes_on_where_the_last_run_stopped_and_orphans_are_counted() {
    const ROWS: u32 = 450;
    let mut server = Server::start();
    server.kill9();
    let mut d1 = server.files().open_d1();
    let rows = d1.transaction().expect("a transaction");
    let now_ms = crate::support::unix_ms();
    for n in 0..ROWS {
        let (id, state) = (
            uuid::Uuid::new_v4().to_string(),
            ["running", "suspended"][n as usize % 2],
        );
        let row = "INSERT INTO tasks (task_id, epoch, n, generation, state, kind, name, key, function, created_ms, updated_ms, due_ms)
            VALUES (?1, 1, 2, 1, ?2, 'source', 'lab', ?1, 'lab', ?3, ?3, ?4)";
        // Many of the same time, as in a burst.
        let at_ms = now_ms - i64::from(n / 100);
        rows.execute(row, rusqlite::params![id, state, at_ms, now_ms + 3_600_000])
            .expect("a row");
    }
    rows.commit().expect("a commit");
    drop(d1);
    server.restart();
    for (asked, rounds) in [
        (200, Value::Null),
        (400, Value::Null),
        (450, 1.into()),
        (650, 1.into()),
    ] {
        server.cron();
        let jobs = jobs(&server);
        assert_eq!(jobs["sweep"]["asked"], asked, "{jobs}");
        assert_eq!(
            jobs["sweep"]["orphans"], asked,
            "each of them is one: {jobs}"
        );
        assert_eq!(jobs["sweep"]["rounds"], rounds, "{jobs}");
    }
    let copy = crate::support::files::read(&server.files().d1_path()).expect("D1");
    let left: u32 = copy
        .db
        .query_row("SELECT count(*) FROM tasks", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(
        left, ROWS,
        "nothing is deleted that nobody knows to be dead"
    );
}

/// F08: the lease holds, whoever asks.
#[test]
fn ten_sweeps_while_a_step_runs_run_it_once() {
    let (server, sink) = (Server::start(), Sink::start());
    let steps = [
        call("first", sink.url("/first")),
        call("slow", sink.url("/d/3000")),
    ];
    let body = program(steps)
        .set("steps_per_slice", 1)
        .set("respond_within", "20ms");
    let id = hook(&server, &fresh("swept"), &body).expect(202).task_id();
    // The first slice has handed it on, so that D1 has a row and the sweep sees it.
    sink.wait_for("/d/3000", 1);
    eventually(|| {
        check(server.files().row(&id)?.is_some(), || {
            "no row yet".to_owned()
        })
    });
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| server.cron());
        }
    });
    let jobs = jobs(&server);
    assert!(jobs["sweep"]["asked"].as_u64() >= Some(10), "{jobs}");
    assert!(jobs["lost"].is_null(), "{jobs}");
    server.wait_state(&id, "succeeded");
    assert_eq!((sink.count("/first"), sink.count("/d/3000")), (1, 1));
}

/// What waits for nothing but a signal has no alarm, and lacks none.
#[test]
fn a_task_that_waits_for_a_signal_alone_is_left_alone() {
    let server = Server::start();
    let bodies: Vec<Request> = (0..12)
        .map(|n| {
            let body = program([signal("go")]).set("respond_within", "20ms");
            crate::support::Mode::Webhook.request(&fresh(&format!("signal-{n}")), &body)
        })
        .collect();
    let ids: Vec<String> = at_once(&server, &bodies)
        .into_iter()
        .map(|answer| answer.expect(202).task_id())
        .collect();
    for id in &ids {
        wait_row(&server, id, "suspended");
    }
    server.cron();
    let jobs = jobs(&server);
    assert_eq!(jobs["sweep"]["asked"], 12, "{jobs}");
    assert!(
        jobs["lost"].is_null() && jobs["sweep"]["orphans"].is_null(),
        "{jobs}"
    );
}
