//! What operators do is written down: in the log always, in D1 if it answers.

use crate::support::{
    Mode, Request, Server, TOKEN, check, eventually, fail, fresh, hook, program, signal,
};
use serde_json::{Value, json};

fn audit(server: &Server, query: &str) -> Value {
    let request = Request::get(&format!("/v1/audit{query}")).bearer(TOKEN);
    server.send(&request).expect(200).json()
}

/// The actions of a task, newest first, once all of them are complete.
fn of_task(server: &Server, id: &str, count: usize) -> Vec<Value> {
    eventually(|| {
        let page = audit(server, &format!("?task_id={id}"));
        let actions = page["actions"].as_array().cloned().unwrap_or_default();
        let whole = actions.iter().all(|action| action["status"].is_u64());
        check(actions.len() == count && whole, || page.to_string())?;
        Ok(actions)
    })
}

fn shown(actions: &[Value]) -> Vec<(String, u64, Value)> {
    let of = |action: &Value| {
        let name = action["action"].as_str().unwrap_or_default().to_owned();
        let status = action["status"].as_u64().unwrap_or_default();
        (name, status, action["detail"].clone())
    };
    actions.iter().map(of).collect()
}

#[test]
fn every_action_has_a_row_with_what_came_of_it() {
    let server = Server::start();
    let body = program([signal("go"), fail("terminal")]);
    let key = fresh("audited");
    let id = hook(&server, &key, &body).task_id();
    server.wait_waiting(&id, "signal");
    server
        .signal(&id, "go", &fresh("s"), &json!({"pay": "PAY-1"}))
        .expect(202);
    server.wait_state(&id, "failed");
    server
        .retry(&id, &json!({"from": "no-such-step"}))
        .expect(400);
    server
        .retry(&id, &json!({"dry_run": true, "input": program([]) }))
        .expect(200);
    server.undo(&id).expect(409);
    server.cancel(&id).expect(409);
    let input = Request::get(&format!("/v1/tasks/{id}/input")).bearer(TOKEN);
    server.send(&input).expect(200);
    let forget = Request::new("DELETE", &format!("/v1/tasks/{id}")).bearer(TOKEN);
    server.send(&forget).expect(204);
    server.send(&forget).expect(404);
    // What only looks, and what is refused before it means anything, is no action.
    server.look(&id).expect(404);
    server
        .send(
            &Request::post(&format!("/v1/tasks/{id}/cancel"))
                .bearer(TOKEN)
                .body("x"),
        )
        .expect(400);

    let plan = |from: Value, dry_run: bool, other_input: bool| json!({"from": from, "dry_run": dry_run, "same_keys": false, "other_input": other_input});
    let actions = of_task(&server, &id, 8);
    let want = [
        ("forget", 404, Value::Null),
        ("forget", 204, Value::Null),
        ("read_input", 200, json!({"part": "body"})),
        ("cancel", 409, Value::Null),
        ("undo", 409, Value::Null),
        ("retry", 200, plan(Value::Null, true, true)),
        ("retry", 400, plan(json!("no-such-step"), false, false)),
        ("signal", 202, json!({"name": "go"})),
    ];
    let want = want.map(|(name, status, detail)| (name.to_owned(), status, detail));
    assert_eq!(shown(&actions), want);
    for action in &actions {
        assert_eq!(
            (&action["token"], &action["task_id"]),
            (&json!("default"), &json!(id))
        );
        let printed = server.output();
        let audit_id = action["audit_id"].as_str().expect("an id");
        assert!(printed.contains(audit_id), "{audit_id} is not in the log");
    }
    let all = audit(&server, "").to_string();
    for secret in ["PAY-1", key.as_str(), TOKEN] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
}

#[test]
fn pages_and_filters_of_the_audit() {
    let server = Server::start();
    let made: Vec<String> = (0..7)
        .map(|n| {
            let id = hook(&server, &fresh(&format!("page-{n}")), &program([]))
                .expect(200)
                .task_id();
            server.cancel(&id).expect(409);
            id
        })
        .collect();
    eventually(|| {
        let page = audit(&server, "?action=cancel");
        check(page["actions"].as_array().map(Vec::len) == Some(7), || {
            page.to_string()
        })
    });
    let (mut seen, mut query) = (Vec::new(), "?limit=3".to_owned());
    loop {
        let page = audit(&server, &query);
        let actions = page["actions"].as_array().expect("a list");
        seen.extend(
            actions
                .iter()
                .map(|a| a["task_id"].as_str().expect("an id").to_owned()),
        );
        let Some(next) = page["next_cursor"].as_str() else {
            break;
        };
        query = format!("?limit=3&cursor={next}");
    }
    let newest_first: Vec<String> = made.iter().rev().cloned().collect();
    assert_eq!(seen, newest_first);
    let count = |query: &str| {
        audit(&server, query)["actions"]
            .as_array()
            .map_or(0, Vec::len)
    };
    let first = audit(&server, "")["actions"][0].clone();
    let at = first["at"].as_str().expect("a time");
    assert_eq!(count(&format!("?created_after={at}")), 0);
    assert!(count(&format!("?created_before={at}")) < 7);
    assert_eq!(
        count("?created_after=2020-01-01T00:00:00Z&token=default&action=cancel"),
        7
    );
    assert_eq!((count("?token=nobody"), count("?action=erase")), (0, 0));
    assert_eq!(count(&format!("?task_id={}&action=cancel", made[0])), 1);
    for wrong in [
        "limit=0",
        "limit=201",
        "cursor=x",
        "task_id=x",
        "token=",
        "action=A",
        "created_after=x",
        "what=1",
        "limit=1&limit=2",
    ] {
        let request = Request::get(&format!("/v1/audit?{wrong}")).bearer(TOKEN);
        server.send(&request).expect_problem(400, "input_invalid");
    }
}

/// A database that is down or slow keeps no operator from acting; the log has what the rows do not.
#[test]
fn a_database_that_is_down_holds_nobody_up() {
    let server = Server::start();
    let waits = |name: &str| {
        let id = Mode::Call
            .deliver(&server, &fresh(name), &program([signal("go")]))
            .task_id();
        server.wait_waiting(&id, "signal");
        id
    };
    let (down, slow) = (waits("down"), waits("slow"));
    server.fault(&json!({ "d1": "fail", "times": 1_000_000 }));
    server.cancel(&down).expect(200);
    server.wait_state(&down, "cancelled");
    server.fault(&json!({ "d1": "stall:4s", "times": 1_000_000 }));
    server.cancel(&slow).expect(200);
    server.wait_state(&slow, "cancelled");
    server.fault(&json!({ "d1": "ok", "times": 1 }));
    for id in [&down, &slow] {
        eventually(|| {
            let printed = server.output();
            let line = printed.lines().find(|line| {
                line.contains(id) && line.contains("row_error") && line.contains("\"cancel\"")
            });
            check(line.is_some(), || printed.clone())
        });
    }
    // What was slow has arrived since, and in whatever order it is one row with its end.
    let actions = of_task(&server, &slow, 1);
    assert_eq!(shown(&actions), [("cancel".to_owned(), 200, Value::Null)]);
}
