//! Flows that are deployed at run time: revisions, what a running task keeps, calls, children.

use crate::support::{Answer, Request, Server, TOKEN, fresh, shared};
use serde_json::{Value, json};

const SPACE: &str = "e2e.life";

fn at(id: &str, rest: &str) -> String {
    format!("/v1/flows/{SPACE}/{id}{rest}")
}

fn put(server: &Server, id: &str, text: &str, query: &str) -> Answer {
    server.send(&put_request(id, text, query))
}

fn put_request(id: &str, text: &str, query: &str) -> Request {
    Request::new("PUT", &at(id, query))
        .bearer(TOKEN)
        .field("Content-Type", "application/yaml")
        .body(text)
}

fn get(server: &Server, id: &str, rest: &str) -> Answer {
    server.send(&Request::get(&at(id, rest)).bearer(TOKEN))
}

fn post(server: &Server, id: &str, rest: &str) -> Answer {
    server.send(&Request::post(&at(id, rest)).bearer(TOKEN))
}

fn call(server: &Server, id: &str, key: &str, inputs: &Value) -> Answer {
    let request = Request::post(&at(id, "/executions")).bearer(TOKEN);
    server.send(&request.key(key).json(inputs))
}

/// A flow with a webhook, whose only task returns a word.
fn says(id: &str, word: &str) -> String {
    format!(
        "id: {id}\nnamespace: {SPACE}\ntriggers:\n  - {{id: in, type: io.kestra.plugin.core.trigger.Webhook, key: open}}\n\
         tasks:\n  - {{id: say, type: io.kestra.plugin.core.debug.Return, format: {word}}}\n"
    )
}

fn deliver(server: &Server, id: &str) -> Answer {
    let path = format!("/api/v1/executions/webhook/{SPACE}/{id}/open");
    server.send(&Request::post(&path).key(&fresh("k")).json(&json!({})))
}

fn said(document: &Value) -> &Value {
    &document["taskRunList"][0]["outputs"]["value"]
}

#[test]
fn a_flow_is_deployed_changed_closed_and_deleted() {
    let (server, id) = (shared(), fresh("life"));
    get(server, &id, "").expect_problem(404, "not_found");
    let checked = put(server, &id, &says(&id, "one"), "?dry_run=true")
        .expect(200)
        .json();
    assert_eq!(
        (&checked["valid"], &checked["changes"]),
        (&json!(true), &json!(true))
    );
    get(server, &id, "").expect_problem(404, "not_found");

    let made = put(server, &id, &says(&id, "one"), "").expect(201);
    assert_eq!(made.field("ETag"), Some("\"1\""));
    assert_eq!(made.json()["by"], "default");
    put(server, &id, &says(&id, "one"), "").expect(200);
    assert_eq!(said(&deliver(server, &id).expect(200).json()), "one");

    let stale = put_request(&id, &says(&id, "two"), "").field("If-Match", "\"7\"");
    server
        .send(&stale)
        .expect_problem(412, "precondition_failed");
    let fresh = put_request(&id, &says(&id, "two"), "").field("If-Match", "\"1\"");
    assert_eq!(server.send(&fresh).expect(200).json()["revision"], 2);
    let document = deliver(server, &id).expect(200).json();
    assert_eq!(
        (said(&document), &document["flowRevision"]),
        (&json!("two"), &json!(2))
    );

    let revisions = get(server, &id, "/revisions").expect(200).json();
    assert_eq!(
        revisions["revisions"].as_array().map(Vec::len),
        Some(2),
        "{revisions}"
    );
    let diff = get(server, &id, "/diff?from=1&to=2").expect(200).text();
    assert!(
        diff.contains("-  - {id: say") && diff.contains("format: two}"),
        "{diff}"
    );
    let yaml = Request::get(&at(&id, "?revision=1")).bearer(TOKEN);
    let yaml = server
        .send(&yaml.field("Accept", "application/yaml"))
        .expect(200);
    assert_eq!(yaml.text(), says(&id, "one"));

    assert_eq!(
        post(server, &id, "/disable").expect(200).json()["disabled"],
        true
    );
    deliver(server, &id).expect_problem(409, "flow_disabled");
    assert_eq!(
        post(server, &id, "/enable").expect(200).json()["disabled"],
        false
    );
    deliver(server, &id).expect(200);

    let delete = Request::new("DELETE", &at(&id, "")).bearer(TOKEN);
    server.send(&delete).expect(204);
    deliver(server, &id).expect_problem(404, "not_found");
    server.send(&delete).expect_problem(404, "not_found");
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_its_place() {
    let (server, id) = (shared(), fresh("bad"));
    let text = says(&id, "one")
        .replace("debug.Return", "debug.Retrun")
        .replace("key: open", "kye: open");
    let document = put(server, &id, &text, "")
        .expect_problem(422, "flow_invalid")
        .json();
    let errors = document["errors"].as_array().expect("errors");
    assert!(errors.len() >= 2, "{document}");
    assert!(
        errors
            .iter()
            .all(|e| e["line"].is_u64() && e["column"].is_u64()),
        "{document}"
    );
    let lines: Vec<&Value> = errors.iter().map(|e| &e["line"]).collect();
    assert!(
        lines.contains(&&json!(4)) && lines.contains(&&json!(6)),
        "{document}"
    );
    assert!(
        errors.iter().any(|e| e["nearest"].is_string()),
        "{document}"
    );

    let other = put(server, &id, &says("other", "one"), "").expect_problem(422, "flow_invalid");
    assert_eq!(other.json()["errors"][0]["pointer"], "id");
    let json = Request::new("PUT", &at(&id, ""))
        .bearer(TOKEN)
        .json(&json!({}));
    server
        .send(&json)
        .expect_problem(415, "unsupported_media_type");
    let large = "# ".repeat(40_000);
    put(server, &id, &large, "").expect_problem(413, "body_too_large");
}

#[test]
fn a_running_task_keeps_its_revision() {
    let (server, id) = (shared(), fresh("old"));
    let text = |word: &str| {
        format!(
            "id: {id}\nnamespace: {SPACE}\ntasks:\n  - {{id: nap, type: io.kestra.plugin.core.flow.Sleep, duration: PT3S}}\n\
             \x20 - {{id: say, type: io.kestra.plugin.core.debug.Return, format: {word}}}\noutputs:\n\
             \x20 - {{id: word, type: STRING, value: \"{{{{ outputs.say.value }}}}\"}}\n"
        )
    };
    put(server, &id, &text("one"), "").expect(201);
    let key = fresh("k");
    let begun = call(server, &id, &key, &json!({})).expect(202);
    let document = begun.json();
    assert_eq!(
        (&document["id"], &document["flowRevision"]),
        (&document["task_id"], &json!(1))
    );
    put(server, &id, &text("two"), "").expect(200);
    server.wait_state(&begun.task_id(), "succeeded");
    let ended = call(server, &id, &key, &json!({})).expect(200);
    assert!(ended.is_replay());
    let document = ended.json();
    assert_eq!(
        (&document["outputs"]["word"], &document["flowRevision"]),
        (&json!("one"), &json!(1))
    );
}

#[test]
fn a_call_has_a_key_and_inputs_that_fit() {
    let (server, id) = (shared(), fresh("call"));
    let text = format!(
        "id: {id}\nnamespace: {SPACE}\ninputs:\n  - {{id: n, type: INT}}\n  - {{id: name, type: STRING}}\n\
         tasks:\n  - {{id: say, type: io.kestra.plugin.core.debug.Return, format: \"{{{{ inputs.name }}}}-{{{{ inputs.n }}}}\"}}\n"
    );
    put(server, &id, &text, "").expect(201);
    let path = at(&id, "/executions");
    let keyless = Request::post(&path)
        .bearer(TOKEN)
        .json(&json!({ "n": 1, "name": "a" }));
    server.send(&keyless).expect_problem(400, "key_missing");
    let wrong =
        call(server, &id, &fresh("k"), &json!({ "n": "x" })).expect_problem(422, "input_invalid");
    assert_eq!(
        wrong.json()["errors"].as_array().map(Vec::len),
        Some(2),
        "{}",
        wrong.shown()
    );
    let key = fresh("k");
    let first = call(server, &id, &key, &json!({ "n": 1, "name": "a" })).expect(200);
    assert_eq!(said(&first.json()), "a-1");
    let again = call(server, &id, &key, &json!({ "n": 1, "name": "a" })).expect(200);
    assert!(again.is_replay() && again.body == first.body);
    call(server, &id, &key, &json!({ "n": 2, "name": "a" })).expect_problem(422, "key_reused");
    call(server, "nobody", &key, &json!({})).expect_problem(404, "not_found");
}

#[test]
fn a_flow_begins_another_and_goes_on_with_what_came_of_it() {
    let (server, child, parent) = (shared(), fresh("child"), fresh("parent"));
    let own = format!(
        "id: {child}\nnamespace: {SPACE}\ninputs:\n  - {{id: n, type: INT}}\ntasks:\n\
         \x20 - {{id: say, type: io.kestra.plugin.core.debug.Return, format: \"{{{{ inputs.n }}}}\"}}\noutputs:\n\
         \x20 - {{id: n, type: STRING, value: \"{{{{ outputs.say.value }}}}!\"}}\n"
    );
    put(server, &child, &own, "").expect(201);
    let text = format!(
        "id: {parent}\nnamespace: {SPACE}\ntasks:\n  - id: sub\n    type: io.kestra.plugin.core.flow.Subflow\n\
         \x20   namespace: {SPACE}\n    flowId: {child}\n    inputs: {{n: 7}}\n    wait: true\noutputs:\n\
         \x20 - {{id: n, type: STRING, value: \"{{{{ outputs.sub.outputs.n }}}}\"}}\n"
    );
    put(server, &parent, &text, "").expect(201);
    let key = fresh("k");
    let begun = call(server, &parent, &key, &json!({}));
    server.wait_state(&begun.task_id(), "succeeded");
    let document = call(server, &parent, &key, &json!({})).expect(200).json();
    assert_eq!(document["outputs"]["n"], "7!", "{document}");
}

#[test]
fn the_list_has_what_is_bundled_and_what_was_deployed() {
    let (server, id) = (shared(), fresh("listed"));
    put(server, &id, &says(&id, "one"), "").expect(201);
    crate::support::eventually(|| {
        let request = Request::get(&format!("/v1/flows?namespace={SPACE}")).bearer(TOKEN);
        let list = server.send(&request).expect(200).json();
        let flows = list["flows"].as_array().expect("flows").clone();
        let found = flows.iter().find(|flow| flow["id"] == id.as_str());
        crate::support::check(found.is_some_and(|flow| flow["source"] == "api"), || {
            list.to_string()
        })
    });
    let all = server
        .send(&Request::get("/v1/flows").bearer(TOKEN))
        .expect(200)
        .json();
    let flows = all["flows"].as_array().expect("flows");
    let bundled =
        |flow: &&Value| flow["id"] == "idempotent-webhook-processor" && flow["source"] == "bundle";
    assert!(flows.iter().any(|flow| bundled(&flow)), "{all}");
    let schema = server.send(&Request::get("/flow.schema.json")).expect(200);
    assert_eq!(
        schema.field("Content-Type"),
        Some("application/schema+json")
    );
}
