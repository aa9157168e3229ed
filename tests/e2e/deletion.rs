//! `DELETE /v1/tasks/{id}`.

use crate::support::{
    Mode, Request, Server, Settings as _, Sink, TOKEN, call, check, eventually, fail, fresh,
    program, shared,
};

fn delete(server: &Server, id: &str) -> crate::support::Answer {
    server.send(&Request::new("DELETE", &format!("/v1/tasks/{id}")).bearer(TOKEN))
}

#[test]
fn a_running_task_cannot_be_deleted() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/d/700?{mode:?}");
        let body = program([call("slow", sink.url(&target))]).set("respond_within", "100ms");
        let id = mode
            .deliver(shared(), &fresh("delete-running"), &body)
            .expect(202)
            .task_id();
        delete(shared(), &id).expect_problem(409, "task_in_progress");
        shared().wait_state(&id, "succeeded");
        assert_eq!(sink.count(&target), 1);
    }
}

#[test]
fn a_task_that_waits_for_its_next_attempt_cannot_be_deleted() {
    let sink = Sink::start();
    let body = program([call("flaky", sink.url("/fail-then-ok/1"))]).set("respond_within", "100ms");
    let id = Mode::Webhook
        .deliver(shared(), &fresh("delete-waiting"), &body)
        .expect(202)
        .task_id();
    sink.wait_for("/fail-then-ok/1", 1);
    delete(shared(), &id).expect_problem(409, "task_in_progress");
    shared().wait_state(&id, "succeeded");
}

#[test]
fn after_its_deletion_a_key_is_new() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        for (name, end) in [("succeeded", None), ("failed", Some(fail("terminal")))] {
            let (key, target) = (fresh("delete"), format!("/run?{mode:?}{name}"));
            let body = program([call("run", sink.url(&target))].into_iter().chain(end));
            let id = mode.deliver(shared(), &key, &body).task_id();
            shared().wait_state(&id, name);
            delete(shared(), &id).expect(204);
            shared().look(&id).expect_problem(404, "task_not_found");
            delete(shared(), &id).expect_problem(404, "task_not_found");
            let again = mode.deliver(shared(), &key, &body);
            assert!(!again.is_replay(), "{}", again.shown());
            assert_eq!(again.task_id(), id, "the same key has the same id");
            assert_eq!(sink.count(&target), 2);
        }
    }
}

/// Nothing of the task is kept, neither in its object nor in D1.
#[test]
fn deletion_leaves_nothing_behind_but_a_tombstone() {
    let server = Server::start();
    let body = program([]).answer(serde_json::json!({ "body": "PAY-1" }));
    let id = Mode::Call
        .deliver(&server, &fresh("delete-all"), &body)
        .expect(200)
        .task_id();
    let files = server.files();
    let object = eventually(|| files.object_of(&id).ok_or_else(|| "no file yet".to_owned()));
    eventually(|| {
        let row = files.row(&id)?;
        check(row.is_some(), || "no row yet".to_owned())
    });
    delete(&server, &id).expect(204);
    eventually(|| {
        let left = crate::support::files::cells(&crate::support::files::read(&object)?.db);
        check(left.is_empty(), || format!("the object holds {left:?}"))?;
        let row = files.row(&id)?.ok_or("the tombstone is gone")?;
        check(row.state == "forgotten", || format!("{row:?}"))?;
        check(row.answer_body.is_none() && row.key.is_none(), || {
            format!("{row:?}")
        })
    });
}
