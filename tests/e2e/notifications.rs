//! Operators are told of what should not be: by a signed message, once, whatever dies.

use crate::support::server::default_vars;
use crate::support::{Server, Sink, check, eventually, fail, fresh, hook, program, unix_ms, value};
use base64::Engine as _;
use onceward::types::Headers;
use onceward::webhook::{Arrival, KeyForm, Scheme, Secret};
use serde_json::{Value, json};

fn secret() -> String {
    let text = base64::engine::general_purpose::STANDARD.encode([7; 24]);
    format!("{}{text}", ["wh", "sec_"].concat())
}

fn watched(path: &str) -> (Server, Sink) {
    let sink = Sink::start();
    let mut vars = default_vars();
    vars["OPS_SECRET"] = secret().into();
    vars["ONCEWARD_NOTIFY"] = json!({
        "ops": {"url": sink.url(path), "secrets": ["OPS_SECRET"], "events": ["task.failed", "task.stuck"]},
    });
    (Server::with_vars(vars), sink)
}

/// The messages that came to this address, each proven by its signature.
fn messages(sink: &Sink, path: &str) -> Vec<(String, Value)> {
    let secret = Secret::read(&secret(), KeyForm::Whsec).expect("a secret");
    let calls = sink.calls(path);
    let read = calls.iter().map(|call| {
        let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
        let headers: Headers = names
            .iter()
            .map(|name| (*name, call.field(name).expect(name)))
            .collect();
        let arrival = Arrival {
            method: "POST",
            target: path,
            public_url: None,
            headers: &headers,
            body: &call.body,
            now_ms: u64::try_from(unix_ms()).expect("a time"),
        };
        let scheme = Scheme::StandardWebhooks { tolerance_s: None };
        scheme
            .verify(&arrival, std::slice::from_ref(&secret))
            .expect("signed");
        let id = call.field("webhook-id").expect("an id").to_owned();
        (id, serde_json::from_slice(&call.body).expect("JSON"))
    });
    read.collect()
}

fn failing() -> Value {
    program([value("a", 1), fail("terminal")])
}

#[test]
fn a_failed_task_is_told_of_once() {
    let (server, sink) = watched("/told");
    let key = fresh("told");
    let id = hook(&server, &key, &failing()).expect(200).task_id();
    let got = eventually(|| {
        let got = messages(&sink, "/told");
        check(!got.is_empty(), || "nothing yet".into())?;
        Ok(got)
    });
    let (message_id, message) = &got[0];
    assert_eq!(message["type"], "task.failed");
    assert_eq!(message["data"]["task_id"], id.as_str());
    assert_eq!(message["data"]["state"], "failed");
    assert_eq!(message["data"]["address"], format!("/v1/tasks/{id}"));
    assert!(
        message["timestamp"]
            .as_str()
            .is_some_and(|at| at.ends_with('Z'))
    );
    for name in ["key", "tenant", "labels", "cost"] {
        assert!(
            message["data"].get(name).is_none(),
            "{name} leaves: {message}"
        );
    }
    assert!(
        message["data"]["error"].get("message").is_none(),
        "{message}"
    );
    // Nothing of it tells whoever listens to tell again.
    eventually(|| {
        let db = server.files().open_d1();
        let sql =
            "SELECT count(*) FROM tasks WHERE function = 'onceward.notify' AND state = 'succeeded'";
        let count: i64 = db
            .query_row(sql, [], |row| row.get(0))
            .map_err(|e| e.to_string())?;
        check(count == 1, || format!("{count} tasks"))
    });
    hook(&server, &key, &failing()).expect(200);
    let again = messages(&sink, "/told");
    assert!(again.iter().all(|(id, _)| id == message_id), "{again:?}");
}

#[test]
fn a_kill_between_the_failure_and_its_message_loses_nothing() {
    let (mut server, sink) = watched("/d/50");
    let ids: Vec<String> = (0..5)
        .map(|_| {
            hook(&server, &fresh("told"), &failing())
                .expect(200)
                .task_id()
        })
        .collect();
    server.kill9();
    server.restart();
    eventually(|| {
        let got = messages(&sink, "/d/50");
        let told = |id: &String| {
            got.iter()
                .any(|(_, message)| message["data"]["task_id"] == id.as_str())
        };
        check(ids.iter().all(told), || {
            format!("{} of {}", got.len(), ids.len())
        })
    });
    let got = messages(&sink, "/d/50");
    let of = |id: &String| -> std::collections::BTreeSet<&String> {
        got.iter()
            .filter(|(_, m)| m["data"]["task_id"] == id.as_str())
            .map(|(id, _)| id)
            .collect()
    };
    assert!(
        ids.iter().all(|id| of(id).len() == 1),
        "one id for each, however often it was sent"
    );
}

/// A task that waits for nobody's word is found by the sweep, and told of once.
#[test]
fn a_long_wait_is_told_of() {
    let sink = Sink::start();
    let mut vars = default_vars();
    vars["OPS_SECRET"] = secret().into();
    vars["ONCEWARD_NOTIFY"] = json!({
        "ops": {"url": sink.url("/waits"), "secrets": ["OPS_SECRET"], "events": ["task.waiting"], "waiting_ms": 1},
    });
    let server = Server::with_vars(vars);
    let waiting = program([crate::support::signal("go")]);
    let id = hook(&server, &fresh("waits"), &waiting)
        .expect(202)
        .task_id();
    server.wait_state(&id, "suspended");
    let got = eventually(|| {
        server.cron();
        let got = messages(&sink, "/waits");
        check(!got.is_empty(), || "nothing yet".into())?;
        Ok(got)
    });
    assert_eq!(got[0].1["type"], "task.waiting");
    assert_eq!(got[0].1["data"]["waiting"]["name"], "go", "{}", got[0].1);
    server.cron();
    let ids: std::collections::BTreeSet<_> = messages(&sink, "/waits")
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(ids.len(), 1);
}

/// 410 disables an endpoint, and an operator enables it again.
#[test]
fn an_endpoint_that_is_gone_is_shown_and_enabled_again() {
    let (server, sink) = watched("/status/410");
    let ask = |method: &str, target: &str| {
        server.send(&crate::support::Request::new(method, target).bearer(crate::support::TOKEN))
    };
    hook(&server, &fresh("gone"), &failing()).expect(200);
    eventually(|| {
        let shown = ask("GET", "/v1/endpoints").expect(200).json();
        check(shown["endpoints"][0]["disabled_at"].is_string(), || {
            shown.to_string()
        })
    });
    hook(&server, &fresh("gone"), &failing()).expect(200);
    eventually(|| {
        let db = server.files().open_d1();
        let sql = "SELECT count(*) FILTER (WHERE state = 'failed' AND error_code = 'endpoint_disabled'),
            count(*) FILTER (WHERE state = 'succeeded') FROM tasks WHERE function = 'onceward.notify'";
        let counts: (i64, i64) = db
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(|e| e.to_string())?;
        check(counts == (1, 1), || format!("{counts:?} tasks"))
    });
    assert_eq!(sink.calls("/status/410").len(), 1, "it was left alone");
    ask("POST", "/v1/endpoints/ops/enable").expect(200);
    let shown = ask("GET", "/v1/endpoints").expect(200).json();
    assert!(
        shown["endpoints"][0].get("disabled_at").is_none(),
        "{shown}"
    );
    ask("POST", "/v1/endpoints/nobody/enable").expect_problem(404, "not_found");
    assert!(
        !shown.to_string().contains("/status"),
        "addresses may hold secrets: {shown}"
    );
}

#[test]
fn a_faulty_declaration_closes_the_deployment_and_names_the_place() {
    let mut vars = default_vars();
    vars["ONCEWARD_NOTIFY"] = json!({"ops": {"url": "https://169.254.169.254/x", "secrets": []}});
    let server = Server::with_vars(vars);
    hook(&server, &fresh("x"), &failing()).expect_problem(500, "misconfigured");
    eventually(|| check(server.output().contains("endpoint ops"), || server.output()));
}
