//! Flows that begin by themselves: at a time, and when another one has ended.

use crate::support::{Answer, Request, Server, TOKEN, check, eventually, fresh};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

const SPACE: &str = "e2e.triggers";

fn put(server: &Server, id: &str, text: &str) -> Answer {
    let put = Request::new("PUT", &format!("/v1/flows/{SPACE}/{id}")).bearer(TOKEN);
    let put = put.field("Content-Type", "application/yaml").body(text);
    server.send(&put).expect(201)
}

fn minute() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("after 1970").as_secs() / 60
}

/// Tasks of a flow that have succeeded, as D1 lists them.
fn done(server: &Server, id: &str) -> Vec<Value> {
    let list = Request::get(&format!(
        "/v1/tasks?function=flow:{SPACE}/{id}&state=succeeded&limit=100"
    ));
    let list = server.send(&list.bearer(TOKEN)).expect(200).json();
    list["tasks"].as_array().cloned().unwrap_or_default()
}

fn is_listed(server: &Server, id: &str) -> Result<(), String> {
    let list = Request::get(&format!("/v1/flows?namespace={SPACE}")).bearer(TOKEN);
    let list = server.send(&list).expect(200).json();
    let flows = list["flows"].as_array().cloned().unwrap_or_default();
    let found = flows.iter().any(|flow| flow["id"] == id);
    found.then_some(()).ok_or_else(|| list.to_string())
}

#[test]
fn a_schedule_begins_each_of_its_times_once() {
    let (server, id) = (Server::start(), fresh("each"));
    let text = format!(
        "id: {id}\nnamespace: {SPACE}\ntriggers:\n  - {{id: each, type: io.kestra.plugin.core.trigger.Schedule, cron: \"* * * * *\"}}\n\
         tasks:\n  - {{id: say, type: io.kestra.plugin.core.debug.Return, format: \"{{{{ trigger.date }}}}\"}}\n"
    );
    put(&server, &id, &text);
    eventually(|| is_listed(&server, &id));
    // Its first time is the next whole minute.
    let known = minute();
    eventually(|| check(minute() > known, || "the same minute".to_owned()));
    let tasks = eventually(|| {
        server.cron();
        let tasks = done(&server, &id);
        let some = !tasks.is_empty();
        some.then_some(tasks).ok_or_else(|| server.output())
    });
    let key = tasks[0]["key"].as_str().expect("a key").to_owned();
    assert!(key.starts_with("each/20"), "{key}");
    // Runs that overlap begin nothing more for this time.
    for _ in 0..3 {
        server.cron();
    }
    let same = done(&server, &id);
    let same = same.iter().filter(|task| task["key"] == key.as_str());
    assert_eq!(same.count(), 1);
}

#[test]
fn the_end_of_a_flow_begins_another_one() {
    let (server, first, second) = (Server::start(), fresh("first"), fresh("second"));
    let text = format!(
        "id: {first}\nnamespace: {SPACE}\ntasks:\n  - {{id: r, type: io.kestra.plugin.core.debug.Return, format: \"7\"}}\n\
         outputs:\n  - {{id: n, type: INT, value: \"{{{{ outputs.r.value }}}}\"}}\n"
    );
    put(&server, &first, &text);
    let text = format!(
        "id: {second}\nnamespace: {SPACE}\ntriggers:\n  - id: after\n    type: io.kestra.plugin.core.trigger.Flow\n    states: [SUCCESS]\n    conditions:\n      \
         - {{type: io.kestra.plugin.core.condition.ExecutionFlow, namespace: {SPACE}, flowId: {first}}}\n\
         tasks:\n  - {{id: keep, type: io.kestra.plugin.core.kv.Set, key: \"{{{{ trigger.executionId }}}}\", value: \"{{{{ trigger.state }}}} {{{{ trigger.outputs.n }}}}\"}}\n"
    );
    put(&server, &second, &text);
    eventually(|| is_listed(&server, &second));
    let call = Request::post(&format!("/v1/flows/{SPACE}/{first}/executions")).bearer(TOKEN);
    let call = call.key(&fresh("k")).json(&json!({}));
    let execution = server.send(&call).expect(200).json();
    let tasks = eventually(|| {
        let tasks = done(&server, &second);
        let some = !tasks.is_empty();
        some.then_some(tasks).ok_or_else(|| server.output())
    });
    let id = execution["id"].as_str().expect("an id");
    let key = tasks[0]["key"].as_str().expect("a key");
    assert!(key.starts_with(&format!("{id}/after/SUCCESS/")), "{key}");
    // The delivery once more: the same execution, which has ended once.
    assert_eq!(server.send(&call).expect(200).json()["id"], id);
    assert_eq!(done(&server, &second).len(), 1);
}
