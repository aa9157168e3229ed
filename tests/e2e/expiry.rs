//! Answers are kept for as long as they say, and then everything goes.

use crate::support::files::{cells, read};
use crate::support::{
    Mode, Server, Settings as _, Sink, call, check, eventually, fail, fresh, hook, program, shared,
    throughout, unix_ms,
};
use serde_json::{Value, json};
use std::time::Duration;

const DAY_MS: i64 = 24 * 3_600_000;

fn kept(body: Value, succeeded: &str, failed: &str) -> Value {
    body.set(
        "retention",
        json!({ "succeeded": succeeded, "failed": failed }),
    )
}

/// F19: a factor of a thousand would show here.
#[test]
fn the_stored_expiry_is_the_retention_from_the_end_of_the_task() {
    for mode in Mode::BOTH {
        for (seconds, text) in [(60, "60s"), (7_200, "PT2H")] {
            let before = unix_ms();
            let answer = mode
                .deliver(shared(), &fresh("ttl"), &kept(program([]), text, "1h"))
                .expect(200);
            let at = answer.expires_ms() - seconds * 1_000;
            assert!(
                (before..=unix_ms()).contains(&at),
                "{at}: {}",
                answer.shown()
            );
        }
    }
}

/// F22: longer than the longest retry plan of any provider (Stripe: three days).
#[test]
fn without_a_setting_answers_are_kept_for_longer_than_senders_retry() {
    let ok = hook(shared(), &fresh("default-ttl"), &program([])).expect(200);
    assert!(ok.expires_ms() > unix_ms() + 3 * DAY_MS, "{}", ok.shown());
    let failed = hook(
        shared(),
        &fresh("default-ttl"),
        &program([fail("terminal")]),
    )
    .expect(200);
    assert!(
        failed.expires_ms() > unix_ms() + 3 * DAY_MS,
        "{}",
        failed.shown()
    );
}

/// F22: the moment itself is too late; a millisecond before is in time.
#[test]
fn a_key_is_new_from_the_moment_that_its_answer_named() {
    let sink = Sink::start();
    // Several keys, since the moment is easily missed.
    std::thread::scope(|scope| {
        for (n, mode) in Mode::BOTH.into_iter().cycle().take(8).enumerate() {
            let target = format!("/run?{n}");
            let sink = &sink;
            scope.spawn(move || crosses_its_expiry(mode, sink, &target));
        }
    });
}

fn crosses_its_expiry(mode: Mode, sink: &Sink, target: &str) {
    let body = kept(program([call("run", sink.url(target))]), "1500ms", "1500ms");
    let request = mode.request(&fresh("boundary"), &body);
    let first = shared().send(&request).expect(200);
    let expires = first.expires_ms();
    // Without a pause between the requests.
    loop {
        let before = unix_ms();
        let answer = shared().send(&request).expect(200);
        let after = unix_ms();
        if after < expires {
            assert!(answer.is_replay(), "still valid: {}", answer.shown());
            assert_eq!(answer.body, first.body);
        }
        if before >= expires {
            assert!(!answer.is_replay(), "no longer valid: {}", answer.shown());
        }
        if !answer.is_replay() {
            break;
        }
    }
    assert_eq!(sink.count(target), 2);
}

/// Nobody comes for it: the alarm alone clears object and D1.
#[test]
fn when_its_time_is_up_nothing_is_left_of_a_task() {
    let server = Server::start();
    let own = json!({ "body": "PAY-EXPIRED" });
    let body = kept(
        program([json!({ "do": "value", "name": "v", "value": "PAY-STEP" })]).answer(own),
        "2s",
        "2s",
    );
    let id = hook(&server, &fresh("gone"), &body).expect(200).task_id();
    let files = server.files();
    let object = eventually(|| files.object_of(&id).ok_or_else(|| "no file yet".to_owned()));
    eventually(|| {
        let left = cells(&read(&object)?.db);
        check(left.is_empty(), || format!("the object holds {left:?}"))
    });
    let row = eventually(|| {
        let row = files.row(&id)?.ok_or("no row")?;
        check(row.state == "forgotten", || format!("{row:?}"))?;
        Ok(row)
    });
    assert_eq!(
        (&row.key, &row.answer_body, &row.error_message),
        (&None, &None, &None)
    );
    server.look(&id).expect_problem(404, "task_not_found");
}

/// A tombstone keeps late writes out for a day; then cron takes it.
#[test]
fn the_cleaner_takes_tombstones_after_a_day_and_not_before() {
    let mut server = Server::start();
    let ids = ["old", "young"].map(|name| {
        hook(&server, &fresh(name), &kept(program([]), "500ms", "500ms"))
            .expect(200)
            .task_id()
    });
    for id in &ids {
        eventually(|| {
            let row = server.files().row(id)?.ok_or("no row")?;
            check(row.state == "forgotten", || format!("{row:?}"))
        });
    }
    server.cron();
    assert!(
        ids.iter()
            .all(|id| matches!(server.files().row(id), Ok(Some(_)))),
        "a day is not over"
    );
    server.kill9();
    let d1 = server.files().open_d1();
    let aged = d1
        .execute(
            "UPDATE tasks SET due_ms = due_ms - ?1, updated_ms = updated_ms - ?1, created_ms = created_ms - ?1 WHERE task_id = ?2",
            rusqlite::params![DAY_MS + 60_000, ids[0]],
        )
        .expect("an update");
    assert_eq!(aged, 1);
    drop(d1);
    server.restart();
    eventually(|| {
        server.cron();
        let row = server.files().row(&ids[0])?;
        check(row.is_none(), || format!("{row:?}"))
    });
    assert!(
        matches!(server.files().row(&ids[1]), Ok(Some(_))),
        "the young one stays"
    );
}

/// F102: short retention is counted from the end of a task, never from its beginning.
#[test]
fn running_and_waiting_tasks_are_never_cleaned_up() {
    let (server, sink) = (Server::start(), Sink::start());
    let run = kept(program([call("slow", sink.url("/d/3500"))]), "1h", "1s")
        .set("respond_within", "100ms");
    let flaky = kept(
        program([call("flaky", sink.url("/fail-then-ok/2"))]),
        "1h",
        "1s",
    )
    .set("respond_within", "100ms");
    let ids = [run, flaky].map(|body| hook(&server, &fresh("living"), &body).expect(202).task_id());
    // The one that waits has a row in D1 for as long as it lives.
    eventually(|| {
        check(server.files().row(&ids[1])?.is_some(), || {
            "no row yet".to_owned()
        })
    });
    throughout(Duration::from_millis(2_500), || {
        server.cron();
        check(server.files().row(&ids[1])?.is_some(), || {
            "its row is gone".to_owned()
        })?;
        ids.iter().try_for_each(|id| {
            let answer = server.look(id);
            check(answer.status == 200, || answer.shown())
        })
    });
    for id in &ids {
        server.wait_state(id, "succeeded");
    }
    assert_eq!(
        (sink.count("/d/3500"), sink.count("/fail-then-ok/2")),
        (1, 3)
    );
}

/// A task that failed and can be resumed is kept for as long as failures are, and then its key is new.
#[test]
fn a_resumable_task_is_forgotten_in_its_time_as_well() {
    let sink = Sink::start();
    let steps = [
        call("done", sink.url("/done")),
        call("flaky", sink.url("/fail-then-ok/1")),
    ];
    let body = kept(program(steps), "1h", "1s").set("max_attempts", 1);
    let request = Mode::Call.request(&fresh("resumable-ttl"), &body);
    let id = shared().send(&request).expect(500).task_id();
    eventually(|| {
        let answer = shared().look(&id);
        check(answer.status == 404, || answer.shown())
    });
    shared().send(&request).expect(200);
    assert_eq!(sink.count("/done"), 2, "it began anew");
}

/// The key runs anew while D1 still owes the tombstone.
#[test]
fn a_key_is_new_although_d1_cannot_be_told() {
    let (server, sink) = (Server::start(), Sink::start());
    let body = kept(program([call("run", sink.url("/run"))]), "1s", "1s");
    let key = fresh("untold");
    let first = hook(&server, &key, &body).expect(200);
    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    eventually(|| {
        let answer = server.look(&first.task_id());
        check(answer.status == 404, || answer.shown())
    });
    let second = hook(&server, &key, &body.set("respond_within", "2s")).expect(200);
    assert!(!second.is_replay());
    assert_eq!(sink.count("/run"), 2);
    server.fault(&json!({ "d1": "ok", "times": 1 }));
    eventually(|| {
        let row = server.files().row(&second.task_id())?.ok_or("no row")?;
        check(row.state == "forgotten", || format!("{row:?}"))
    });
}

/// I-15: for a time an expired key is gone, and then it is new.
#[test]
fn an_expired_key_can_be_refused_for_a_time() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/used-up?{mode:?}");
        let retention = json!({ "succeeded": "1s", "failed": "1s", "gone": "4s" });
        let body = program([call("run", sink.url(&target))]).set("retention", retention);
        let key = fresh("used-up");
        let first = mode.deliver(shared(), &key, &body).expect(200);
        let (id, expires) = (first.task_id(), first.expires_ms());
        let refused = eventually(|| {
            let answer = mode.deliver(shared(), &key, &body);
            check(answer.status == 410, || answer.shown())?;
            Ok(answer)
        });
        assert!(unix_ms() >= expires);
        let refused = refused.expect_problem(410, "key_expired");
        assert_eq!(refused.task_id(), id);
        assert_eq!(sink.count(&target), 1);
        let again = eventually(|| {
            let answer = mode.deliver(shared(), &key, &body);
            check(answer.status == 200, || answer.shown())?;
            Ok(answer)
        });
        assert!(!again.is_replay() && unix_ms() >= expires + 4_000);
        assert_eq!(sink.count(&target), 2);
    }
}
