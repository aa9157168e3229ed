//! Operations on all tasks that match a filter: tried first, carried out by a task, each once.

use crate::support::{
    Answer, Request, Server, TOKEN, check, eventually, fail, fresh, hook, program,
};
use crate::support::{signal, value};
use serde_json::{Value, json};

fn ask(server: &Server, method: &str, target: &str) -> Answer {
    server.send(&Request::new(method, &format!("/v1/tasks{target}")).bearer(TOKEN))
}

fn failed(server: &Server, n: usize) -> Vec<String> {
    let program = program([value("a", 1), fail("terminal")]);
    let one = |_| hook(server, &fresh("bulk"), &program).expect(200).task_id();
    let ids: Vec<String> = (0..n).map(one).collect();
    listed(server, "?state=failed&limit=200", &ids);
    ids
}

/// Waits until the list has all of these.
fn listed(server: &Server, query: &str, ids: &[String]) {
    eventually(|| {
        let tasks = ask(server, "GET", query).expect(200).json();
        let shown: Vec<&str> = tasks["tasks"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|task| task["task_id"].as_str())
            .collect();
        check(ids.iter().all(|id| shown.contains(&id.as_str())), || {
            format!("{} of {}", shown.len(), ids.len())
        })
    });
}

/// The report of the task that carries it out.
fn report(server: &Server, begun: &Answer) -> Value {
    let id = begun.task_id();
    server.wait_state(&id, "succeeded");
    let address = format!("/v1/functions/unused-{id}");
    assert_eq!(
        begun.field("Location"),
        Some(&*format!("/v1/tasks/{id}")),
        "{address}"
    );
    let db = server.files().open_d1();
    eventually(|| {
        let sql = "SELECT answer_body FROM tasks WHERE task_id = ?1";
        let body: Result<Vec<u8>, _> = db.query_row(sql, [&id], |row| row.get(0));
        body.map(|body| serde_json::from_slice(&body).expect("a report"))
            .map_err(|e| e.to_string())
    })
}

#[test]
fn it_is_tried_first_and_then_done_to_each_once() {
    let server = Server::start();
    let ids = failed(&server, 45);
    let tried = ask(&server, "POST", "/retry?state=failed&source=lab")
        .expect(200)
        .json();
    assert_eq!(
        (&tried["dry_run"], &tried["matched"], &tried["complete"]),
        (&json!(true), &json!(45), &json!(true))
    );
    assert!(
        ids.iter().all(|id| server.task(id)["state"] == "failed"),
        "nothing was done"
    );
    let begun = ask(
        &server,
        "POST",
        "/retry?state=failed&source=lab&dry_run=false",
    )
    .expect(202);
    let report = report(&server, &begun);
    assert_eq!(
        (&report["matched"], &report["done"]),
        (&json!(45), &json!(45)),
        "{report}"
    );
    // Who did it to a task stands with the task.
    let audit = format!("/v1/audit?task_id={}", ids[7]);
    let audit = server
        .send(&Request::get(&audit).bearer(TOKEN))
        .expect(200)
        .json();
    assert_eq!(audit["actions"][0]["action"], "retry", "{audit}");
    assert_eq!(
        audit["actions"][0]["detail"]["operation"],
        begun.task_id(),
        "{audit}"
    );
    let sample = tried["sample"][0].as_object().map(serde_json::Map::len);
    assert_eq!(sample, Some(2), "ids and states: {tried}");
    for id in &ids {
        // It failed again, in another generation.
        let task = server.wait_state(id, "failed");
        assert!(
            task["generation"].as_u64() > task["created_ms"].as_u64(),
            "{task}"
        );
    }
}

#[test]
fn a_kill_in_the_middle_does_nothing_twice() {
    let mut server = Server::start();
    let program = program([value("a", 1), signal("go")]);
    let one = |_| {
        hook(&server, &fresh("bulk"), &program)
            .expect(202)
            .task_id()
    };
    let ids: Vec<String> = (0..60).map(one).collect();
    listed(&server, "?state=suspended&limit=200", &ids);
    let begun = ask(&server, "POST", "/cancel?state=suspended&dry_run=false").expect(202);
    server.kill9();
    server.restart();
    server.wait_state(&begun.task_id(), "succeeded");
    for id in &ids {
        assert_eq!(server.task(id)["state"], "cancelled");
    }
}

#[test]
fn what_it_cannot_be_done_to_is_counted_by_reason() {
    let server = Server::start();
    let ids = failed(&server, 3);
    let query = "?state=failed&source=lab&max=2";
    let tried = ask(&server, "DELETE", query).expect(200).json();
    assert_eq!(
        (&tried["matched"], &tried["complete"]),
        (&json!(2), &json!(false)),
        "there are more: {tried}"
    );
    assert_eq!(tried["sample"].as_array().map(Vec::len), Some(2));
    let forgotten = ask(
        &server,
        "DELETE",
        "?state=failed&source=lab&dry_run=false&max=2",
    )
    .expect(202);
    let first = report(&server, &forgotten);
    assert_eq!(
        (&first["matched"], &first["done"]),
        (&json!(2), &json!(2)),
        "{first}"
    );
    let left = ids
        .iter()
        .filter(|id| server.look(id).status == 200)
        .count();
    assert_eq!(left, 1);
    // A failed task for good has nothing to be cancelled.
    let refused = ask(
        &server,
        "POST",
        "/cancel?state=failed&source=lab&dry_run=false",
    )
    .expect(202);
    let report = report(&server, &refused);
    assert_eq!(report["refused"]["task_ended"], 1, "{report}");
}

#[test]
fn the_same_request_with_a_key_begins_it_once() {
    let server = Server::start();
    failed(&server, 1);
    let key = fresh("bulk");
    let ask = |target: &str| {
        server.send(
            &Request::post(&format!("/v1/tasks{target}"))
                .bearer(TOKEN)
                .key(&key),
        )
    };
    let first = ask("/retry?state=failed&dry_run=false").expect(202);
    let second = ask("/retry?state=failed&dry_run=false").expect(202);
    assert_eq!(first.task_id(), second.task_id());
    ask("/retry?state=failed&dry_run=false&max=3").expect_problem(422, "key_reused");
}

/// Whatever a filter says, a token of one tenant steers that tenant's tasks and no others.
#[test]
fn a_tenants_token_stays_with_its_tenant() {
    let token = "SEC-acme-operator-0123456789";
    let mut vars = crate::support::server::default_vars();
    let sha256 = crate::tokens::sha256(token);
    vars["ONCEWARD_TOKENS"] = json!({
        "acme": {"sha256": sha256, "scopes": ["operate", "read"], "tenant": "acme"},
    });
    let server = Server::with_vars(vars);
    let ids = failed(&server, 2);
    let ask = |target: &str| {
        let request = Request::new("DELETE", &format!("/v1/tasks{target}")).bearer(token);
        server.send(&request)
    };
    for query in [
        "?state=failed&dry_run=false",
        "?state=failed&key_prefix=bulk&dry_run=false",
        "?state=failed&label=tenant=:x&dry_run=false",
    ] {
        let begun = ask(query).expect(202);
        let report = report(&server, &begun);
        assert_eq!(report["matched"], 0, "{query}: {report}");
        let seen =
            server.send(&Request::get(&format!("/v1/tasks/{}", begun.task_id())).bearer(token));
        seen.expect(200);
    }
    ask("?state=failed&tenant=other&dry_run=false").expect_problem(403, "forbidden");
    assert!(ids.iter().all(|id| server.task(id)["state"] == "failed"));
}

#[test]
fn bad_input_is_named_and_nothing_is_begun() {
    let server = crate::support::shared();
    for target in [
        "/retry",
        "/retry?dry_run=false",
        "/cancel?state=x",
        "/undo?state=failed&max=0",
        "/cancel?what=1",
        "/retry?state=failed&dry_run=maybe",
        "/retry?state=failed&dry_run=false&dry_run=true",
    ] {
        ask(server, "POST", target).expect_problem(400, "input_invalid");
    }
    ask(server, "DELETE", "").expect_problem(400, "input_invalid");
    // Also where it would only be tried: the request that follows is the same.
    let tried = Request::post("/v1/tasks/retry?state=failed").bearer(TOKEN);
    server
        .send(&tried.key("a b"))
        .expect_problem(400, "key_malformed");
    let with_body = Request::post("/v1/tasks/retry?state=failed").bearer(TOKEN);
    let with_body = with_body.json(&json!({"input": 1}));
    server.send(&with_body).expect_problem(400, "input_invalid");
    let open = server.send(&Request::new(
        "DELETE",
        "/v1/tasks?state=failed&dry_run=false",
    ));
    open.expect_problem(401, "unauthorized");
}
