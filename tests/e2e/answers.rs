//! What a task answered, what it was sent, and erasing both by key.

use crate::support::{
    Answer, Mode, Request, Server, TOKEN, call, check, eventually, fail, files, fresh, hook,
    program, shared, signal, value,
};
use crate::support::{Settings as _, Sink};
use serde_json::json;

fn get(server: &Server, id: &str, rest: &str) -> Answer {
    server.send(&Request::get(&format!("/v1/tasks/{id}/{rest}")).bearer(TOKEN))
}

#[test]
fn the_stored_answer_is_shown_byte_for_byte_and_cannot_run() {
    for (kind, attached) in [("application/json", false), ("text/html", true)] {
        let body = program([]).answer(json!({
            "status": 402,
            "headers": { "content-type": kind, "x-own": "1", "location": "https://a.example/" },
            "body": "<script>alert(1)</script>\u{e9}",
        }));
        let first = Mode::Call
            .deliver(shared(), &fresh("answer"), &body)
            .expect(402);
        let shown = get(shared(), &first.task_id(), "answer").expect(200);
        assert_eq!(shown.body, first.body);
        assert_eq!(shown.field("Content-Type"), Some(kind));
        assert_eq!(shown.field("Onceward-Answer-Status"), Some("402"));
        assert_eq!(shown.field("X-Content-Type-Options"), Some("nosniff"));
        let policy = shown.field("Content-Security-Policy");
        assert_eq!(policy, Some("sandbox; default-src 'none'"));
        assert_eq!(
            shown.field("Content-Disposition").is_some(),
            attached,
            "{}",
            shown.shown()
        );
        for name in ["X-Own", "Location", "Idempotent-Replayed"] {
            assert_eq!(shown.field(name), None, "{}", shown.shown());
        }
    }
}

#[test]
fn without_an_answer_it_says_whether_one_may_come() {
    let id = hook(shared(), &fresh("waits"), &program([signal("go")])).task_id();
    shared().wait_waiting(&id, "signal");
    get(shared(), &id, "answer").expect_problem(409, "task_in_progress");
    shared().cancel(&id).expect(200);
    shared().wait_state(&id, "cancelled");
    get(shared(), &id, "answer").expect_problem(404, "no_answer");
    let failed = hook(shared(), &fresh("fails"), &program([fail("terminal")])).task_id();
    shared().wait_state(&failed, "failed");
    get(shared(), &failed, "answer").expect_problem(404, "no_answer");
    let unknown = uuid::Uuid::new_v4().to_string();
    for part in ["answer", "input", "input?part=headers"] {
        get(shared(), &unknown, part).expect_problem(404, "task_not_found");
    }
    get(shared(), &id, "answer?x=1").expect_problem(400, "input_invalid");
    get(shared(), &id, "input?part=x").expect_problem(400, "input_invalid");
}

#[test]
fn the_input_is_shown_as_it_came() {
    for padding in [0, 100_000] {
        let mut body = program([]).to_string();
        body.push_str(&" ".repeat(padding));
        let request = Request::post("/v1/functions/lab")
            .bearer(TOKEN)
            .key(&fresh("input"))
            .field("Content-Type", "application/json; charset=utf-8")
            .field("X-Secret", "SEC-1")
            .body(body.clone());
        let id = shared().send(&request).expect(200).task_id();
        let shown = get(shared(), &id, "input").expect(200);
        assert_eq!(shown.text(), body);
        let kind = shown.field("Content-Type");
        assert_eq!(kind, Some("application/json; charset=utf-8"));
        assert_eq!(shown.field("X-Content-Type-Options"), Some("nosniff"));
        assert_eq!(
            get(shared(), &id, "input?part=body").expect(200).body,
            shown.body
        );
        let fields = get(shared(), &id, "input?part=headers").expect(200).json();
        assert_eq!(fields["task_id"], id);
        let one = json!({ "name": "content-type", "value": "application/json; charset=utf-8" });
        let kept = fields["headers"].as_array().expect("a list");
        assert!(kept.contains(&one), "{fields}");
        assert!(!fields.to_string().contains("SEC-1") && !fields.to_string().contains(TOKEN));
    }
}

fn erase(server: &Server, wish: &serde_json::Value) -> Answer {
    server.send(&Request::post("/v1/erase").bearer(TOKEN).json(wish))
}

/// Every file of the state, with what its log holds moved into it.
fn everything(server: &Server) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let sqlite = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "sqlite");
    for path in server.files().all().into_iter().filter(sqlite) {
        let db = rusqlite::Connection::open(&path).expect("a database");
        db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM;")
            .expect("a checkpoint");
    }
    let read = |path: std::path::PathBuf| {
        let bytes = std::fs::read(&path).ok()?;
        Some((path, bytes))
    };
    server.files().all().into_iter().filter_map(read).collect()
}

#[test]
fn after_it_is_erased_nothing_but_the_id_is_left() {
    let mut server = Server::start();
    let key = fresh("ERASE-KEY");
    // A failed one has checkpoints in D1 as well.
    let body = program([value("secret", "ERASE-PAYLOAD"), fail("terminal")]);
    let id = hook(&server, &key, &body).task_id();
    server.wait_state(&id, "failed");
    let checkpoints = |server: &Server| -> Result<i64, String> {
        let copy = files::read(&server.files().d1_path())?;
        let sql = "SELECT count(*) FROM checkpoints";
        copy.db
            .query_row(sql, [], |row| row.get(0))
            .map_err(|e| e.to_string())
    };
    eventually(|| check(checkpoints(&server)? > 0, || "no checkpoint yet".to_owned()));
    let wish = json!({ "source": "lab", "key": key });
    let erased = erase(&server, &wish).expect(200);
    assert_eq!(erased.json(), json!({ "task_id": id, "erased": true }));
    server.look(&id).expect_problem(404, "task_not_found");
    erase(&server, &wish).expect_problem(404, "task_not_found");
    eventually(|| {
        let row = server.files().row(&id)?.ok_or("no row")?;
        check(row.state == "forgotten" && row.key.is_none(), || {
            format!("{row:?}")
        })?;
        check(checkpoints(&server)? == 0, || {
            "checkpoints are left".to_owned()
        })?;
        let object = server.files().object_of(&id);
        check(object.is_none(), || format!("{object:?}"))
    });
    server.kill9();
    let files = everything(&server);
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    for text in [key.as_str(), "ERASE-PAYLOAD"] {
        for (path, bytes) in &files {
            assert!(!has(bytes, text), "{text} is in {}", path.display());
        }
    }
    assert!(
        files.iter().any(|(_, bytes)| has(bytes, &id)),
        "the id is in the audit"
    );
}

#[test]
fn a_task_is_erased_by_source_or_function_tenant_and_key_once_it_has_ended() {
    let sink = Sink::start();
    let key = fresh("slow");
    let body = program([call("slow", sink.url("/d/700?erase"))]).set("respond_within", "100ms");
    let id = Mode::Call
        .deliver(shared(), &key, &body)
        .expect(202)
        .task_id();
    let wish = json!({ "function": "lab", "key": key, "tenant": "" });
    erase(shared(), &wish).expect_problem(409, "task_in_progress");
    shared().wait_state(&id, "succeeded");
    let other = json!({ "function": "lab", "key": key, "tenant": "acme" });
    erase(shared(), &other).expect_problem(404, "task_not_found");
    erase(shared(), &json!({ "source": "lab", "key": key })).expect_problem(404, "task_not_found");
    assert_eq!(erase(shared(), &wish).expect(200).task_id(), id);
    for wrong in [
        json!({}),
        json!([]),
        json!({ "key": key }),
        json!({ "source": "lab" }),
        json!({ "source": "lab", "function": "lab", "key": key }),
        json!({ "source": "lab", "key": "" }),
        json!({ "source": "a b", "key": key }),
        json!({ "source": "lab", "key": 1 }),
        json!({ "source": "lab", "key": key, "more": 1 }),
    ] {
        let answer = erase(shared(), &wrong).expect_problem(400, "input_invalid");
        assert!(!answer.text().contains(&key), "{}", answer.shown());
    }
}

/// One that has not reached D1 yet is erased as well.
#[test]
fn a_task_that_d1_does_not_know_is_erased() {
    let server = Server::start();
    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    let key = fresh("unknown-to-d1");
    let id = hook(&server, &key, &program([])).expect(200).task_id();
    erase(&server, &json!({ "source": "lab", "key": key })).expect(200);
    server.look(&id).expect_problem(404, "task_not_found");
    server.fault(&json!({ "d1": "ok", "times": 1 }));
    eventually(|| {
        let row = server.files().row(&id)?.ok_or("no tombstone yet")?;
        check(row.state == "forgotten", || format!("{row:?}"))
    });
}

/// Input and journal go early, also from the stored file; duplicates are answered as before.
#[test]
fn payload_goes_before_the_answer() {
    let server = Server::start();
    let (key, marker) = (fresh("early"), "PAYLOAD-7f3a");
    let mut program = program([value("kept", marker)]);
    program["config"] = json!({"retention": {"payload": "1s"}});
    let first = hook(&server, &key, &program).expect(200);
    let id = first.task_id();
    eventually(|| {
        let task = server.task(&id);
        check(task["payload_dropped"] == true, || task.to_string())
    });
    let get = |rest: &str| get(&server, &id, rest);
    get("input").expect_problem(410, "payload_dropped");
    get("journal").expect_problem(410, "payload_dropped");
    let undo = Request::post(&format!("/v1/tasks/{id}/undo")).bearer(TOKEN);
    server.send(&undo).expect_problem(410, "payload_dropped");
    let again = hook(&server, &key, &program).expect(200);
    assert!(
        again.is_replay() && again.body == first.body,
        "{}",
        again.shown()
    );
    assert_eq!(get("answer").expect(200).body, first.body);
}
