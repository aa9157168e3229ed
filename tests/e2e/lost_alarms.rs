//! Alarms that are gone although the task needs one: used up by an instance that was replaced, or lost.

use crate::support::{Server, Settings as _, Sink, call, check, eventually, fresh, hook, program};

/// A task that a crash has caught in its second step, and the server stopped with no alarm left.
fn crashed_without_alarm(server: &mut Server, sink: &Sink) -> String {
    let steps = ["a", "b", "c"].map(|s| call(s, sink.url(&format!("/d/300?{s}"))));
    let body = program(steps)
        .short()
        .set("steps_per_slice", 1)
        .set("respond_within", "20ms");
    let id = hook(server, &fresh("no-alarm"), &body)
        .expect(202)
        .task_id();
    // The first slice has handed the task on, so D1 knows of it.
    eventually(|| {
        check(sink.count("/d/300?b") > 0, || "b has not begun".to_owned())?;
        check(server.files().row(&id)?.is_some(), || {
            "no row yet".to_owned()
        })
    });
    server.kill9();
    assert!(server.files().forget_alarms() > 0, "there was an alarm");
    id
}

#[track_caller]
fn assert_done(server: &Server, sink: &Sink, id: &str) {
    server.wait_state(id, "succeeded");
    assert_eq!(sink.count("/d/300?a"), 1);
    assert!((1..=2).contains(&sink.count("/d/300?b")));
    assert!((1..=2).contains(&sink.count("/d/300?c")));
}

/// Whoever asks for the task has its object look after itself.
#[test]
fn an_alarm_that_is_gone_is_set_again_when_somebody_asks_for_the_task() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let id = crashed_without_alarm(&mut server, &sink);
    server.restart();
    server.task(&id);
    sink.wait_for("/d/300?c", 1);
    assert_done(&server, &sink, &id);
}

/// Nobody asks: cron finds the row that should have changed long ago.
#[test]
fn the_rescuer_finds_a_task_whose_alarm_is_gone() {
    const LONG_AGO_MS: i64 = 10 * 60_000;
    let (mut server, sink) = (Server::start(), Sink::start());
    let id = crashed_without_alarm(&mut server, &sink);
    let sql = "UPDATE tasks SET due_ms = due_ms - ?1 WHERE task_id = ?2 AND state NOT IN ('succeeded', 'failed')";
    let aged = server
        .files()
        .open_d1()
        .execute(sql, rusqlite::params![LONG_AGO_MS, id]);
    assert_eq!(aged, Ok(1), "its row is that of a living task");
    server.restart();
    eventually(|| {
        server.cron();
        check(sink.count("/d/300?c") > 0, || "c has not begun".to_owned())
    });
    assert_done(&server, &sink, &id);
}
