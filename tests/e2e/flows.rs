//! The reference flow, as its authors wrote it: with idempotency on, and off.

use crate::support::{Request, Server, TOKEN, at_once, check, eventually, fresh, root, shared};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NAMESPACE: &str = "company.team.production";
const ID: &str = "idempotent-webhook-processor";
const KEY: &str = "my-secret-webhook-key";

fn reference() -> String {
    let path = root().join("flows").join(format!("{ID}.yaml"));
    std::fs::read_to_string(path).expect("the flow")
}

fn hook(id: &str) -> String {
    format!("/api/v1/executions/webhook/{NAMESPACE}/{id}/{KEY}")
}

/// Deploys a copy of it in which each delivery is a task of its own; its id.
fn deploy_off(server: &Server) -> String {
    let id = fresh("off");
    let text = reference()
        .replace(&format!("id: {ID}"), &format!("id: {id}"))
        .replace(KEY, &format!("{KEY}\n    idempotency: off"));
    let request = Request::new("PUT", &format!("/v1/flows/{NAMESPACE}/{id}"))
        .bearer(TOKEN)
        .field("Content-Type", "application/yaml")
        .body(text);
    server.send(&request).expect(201);
    id
}

/// How often a task of the flow ran in an execution.
fn ran(document: &Value, task: &str) -> usize {
    let runs = document["taskRunList"].as_array().expect("task runs");
    let is_it = |run: &&Value| run["taskId"] == task && run["state"]["current"] == "SUCCESS";
    runs.iter().filter(is_it).count()
}

fn answer_of(server: &Server, id: &str) -> Value {
    server.wait_state(id, "succeeded");
    let request = Request::get(&format!("/v1/tasks/{id}/answer")).bearer(TOKEN);
    server.send(&request).expect(200).json()
}

#[test]
fn a_duplicate_gets_the_stored_answer_and_nothing_runs_twice() {
    let server = shared();
    let key = fresh("order");
    let request = Request::post(&hook(ID))
        .key(&key)
        .json(&json!({ "order": 7 }));
    let first = server.send(&request).expect(200);
    let document = first.json();
    assert_eq!(document["id"], document["task_id"]);
    assert_eq!(document["id"], first.task_id().as_str());
    assert_eq!(document["state"]["current"], "SUCCESS", "{document}");
    assert_eq!(document["flowId"], ID);
    assert_eq!(
        (
            ran(&document, "process-event"),
            ran(&document, "log-duplicate")
        ),
        (1, 0)
    );
    for _ in 0..3 {
        let again = server.send(&request).expect(200);
        assert!(again.is_replay(), "{}", again.shown());
        assert_eq!(again.body, first.body);
    }
    let other = Request::post(&hook(ID))
        .key(&key)
        .json(&json!({ "order": 8 }));
    server.send(&other).expect_problem(422, "key_reused");
}

#[test]
fn with_idempotency_off_fifty_deliveries_at_once_process_one_event() {
    let server = shared();
    let id = deploy_off(server);
    let key = fresh("storm");
    let request = Request::post(&hook(&id)).key(&key).json(&json!({}));
    let answers = at_once(server, &vec![request; 50]);
    let ids: BTreeSet<String> = answers
        .iter()
        .map(|answer| {
            assert!(matches!(answer.status, 200 | 202), "{}", answer.shown());
            let document = answer.json();
            assert_eq!(document["id"], document["task_id"], "{document}");
            assert_eq!(document["flowId"], id.as_str(), "{document}");
            answer.task_id()
        })
        .collect();
    assert_eq!(ids.len(), 50, "each is a task of its own");
    let documents: Vec<Value> = ids.iter().map(|id| answer_of(server, id)).collect();
    let count = |task| {
        documents
            .iter()
            .map(|document| ran(document, task))
            .sum::<usize>()
    };
    assert_eq!((count("process-event"), count("log-duplicate")), (1, 49));
}

#[test]
fn the_same_through_a_power_cut() {
    let mut server = Server::start();
    let id = deploy_off(&server);
    let request = Request::post(&hook(&id))
        .key(&fresh("storm"))
        .json(&json!({}));
    let answered: Vec<String> = std::thread::scope(|scope| {
        let sent: Vec<_> = (0..50)
            .map(|_| scope.spawn(|| server.try_send(&request).ok()))
            .collect();
        // In the middle: some have been answered, others wait.
        eventually(|| {
            let done = sent.iter().filter(|one| one.is_finished()).count();
            check(done >= 5, || format!("{done} answers"))
        });
        // The others break off, or are answered before.
        let ids = sent.into_iter().filter_map(|one| one.join().expect("sent"));
        ids.filter(|answer| matches!(answer.status, 200 | 202))
            .map(|answer| answer.task_id())
            .collect()
    });
    server.kill9();
    server.restart();
    let list = Request::get(&format!(
        "/v1/tasks?limit=200&function=flow:{NAMESPACE}/{id}"
    ));
    let list = list.bearer(TOKEN);
    let ids: Vec<String> = eventually(|| {
        server.cron();
        let page = server.send(&list).expect(200).json();
        let tasks = page["tasks"].as_array().expect("tasks").clone();
        let text = |task: &Value, name: &str| task[name].as_str().unwrap_or_default().to_owned();
        let ids: Vec<String> = tasks.iter().map(|task| text(task, "task_id")).collect();
        let open = tasks
            .iter()
            .filter(|task| text(task, "state") != "succeeded")
            .count();
        let missing = answered.iter().filter(|id| !ids.contains(id)).count();
        check(open == 0 && missing == 0, || {
            format!("{open} open, {missing} not listed")
        })?;
        Ok(ids)
    });
    let documents: Vec<Value> = ids.iter().map(|id| answer_of(&server, id)).collect();
    let count = |task| {
        documents
            .iter()
            .map(|document| ran(document, task))
            .sum::<usize>()
    };
    assert_eq!(
        (count("process-event"), count("log-duplicate")),
        (1, ids.len() - 1)
    );
}

#[test]
fn whatever_is_wrong_with_the_address_the_answer_is_the_same() {
    let server = shared();
    let text = |path: &str| {
        let request = Request::post(path).key(&fresh("k")).json(&json!({}));
        let mut document = server
            .send(&request)
            .expect_problem(404, "not_found")
            .json();
        document["instance"] = Value::Null;
        document.to_string()
    };
    let wanted = text(&hook("nobody"));
    for path in [
        hook(ID).replace(KEY, "other"),
        hook(ID).replace(KEY, &format!("{KEY}x")),
        hook(ID).replace("production", "staging"),
        format!("/hooks/{NAMESPACE}/{ID}"),
        format!("/api/v1/main/executions/webhook/{NAMESPACE}/{ID}/other"),
    ] {
        assert_eq!(text(&path), wanted, "{path}");
    }
    let request = Request::new("PATCH", &hook(ID));
    let answer = server
        .send(&request)
        .expect_problem(405, "method_not_allowed");
    assert_eq!(answer.field("Allow"), Some("GET, HEAD, POST, PUT, OPTIONS"));
    server.send(&Request::new("HEAD", &hook(ID))).expect(405);
    let without = server
        .send(&Request::post(&hook(ID)))
        .expect_problem(400, "key_missing");
    assert!(
        without.text().contains("idempotency: off"),
        "{}",
        without.shown()
    );
}

#[test]
fn the_other_addresses_of_a_webhook() {
    let server = shared();
    let main = format!("/api/v1/main/executions/webhook/{NAMESPACE}/{ID}/{KEY}/below/it?a=1&a=2");
    for method in ["GET", "POST", "PUT"] {
        let request = Request::new(method, &main).key(&fresh("main"));
        let document = server.send(&request).expect(200).json();
        let trigger = &document["trigger"]["variables"];
        assert_eq!(trigger["path"], "below/it", "{document}");
        assert_eq!(trigger["parameters"]["a"], json!(["1", "2"]), "{document}");
    }
    let hooks = Request::post(&format!("/hooks/{NAMESPACE}/{ID}"));
    let request = hooks.key(&fresh("hooks")).bearer(KEY);
    let document = server.send(&request).expect(200).json();
    assert_eq!(document["state"]["current"], "SUCCESS", "{document}");
    assert!(!document.to_string().contains(KEY), "{document}");
}
