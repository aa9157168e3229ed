//! The routes of flows.

use super::operation::{Operation, query, schema, shared};
use super::paths::{accepted, own_answer};
use crate::http::code::Code;
use crate::http::flows::YAML;
use crate::http::route::Entry;
use serde_json::{Value, json};

/// What may be said of a flow's name.
const NAMED: &[Code] = &[Code::InputInvalid, Code::NotFound];

/// The description of such a route; `None` for another one.
pub(super) fn operation(entry: &Entry) -> Option<Operation> {
    webhook(entry)
        .or_else(|| looked_at(entry))
        .or_else(|| changed(entry))
}

/// Ids of the webhooks' operations, by method and address.
fn id(entry: &Entry) -> Option<&'static str> {
    let rest = entry.pattern.strip_prefix("/api/v1")?;
    let (main, rest) = match rest.strip_prefix("/main") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let below = match rest {
        "/executions/webhook/{namespace}/{flow}/{key}" => false,
        "/executions/webhook/{namespace}/{flow}/{key}/{path*}" => true,
        _ => return None,
    };
    Some(match (entry.method, main, below) {
        ("GET", false, false) => "flow_webhook_get",
        ("GET", false, true) => "flow_webhook_below_get",
        ("GET", true, false) => "flow_main_webhook_get",
        ("GET", true, true) => "flow_main_webhook_below_get",
        ("POST", false, false) => "flow_webhook_post",
        ("POST", false, true) => "flow_webhook_below_post",
        ("POST", true, false) => "flow_main_webhook_post",
        ("POST", true, true) => "flow_main_webhook_below_post",
        ("PUT", false, false) => "flow_webhook_put",
        ("PUT", false, true) => "flow_webhook_below_put",
        ("PUT", true, false) => "flow_main_webhook_put",
        ("PUT", true, true) => "flow_main_webhook_below_put",
        _ => return None,
    })
}

fn webhook(entry: &Entry) -> Option<Operation> {
    let id = id(entry)?;
    let operation = Operation::new(id, "A delivery at a webhook of a flow")
        .says("The key of the webhook opens it. What its idempotency key is, stands in its trigger; otherwise the field has it.")
        .takes([shared("OptionalKey"), shared("Prefer")])
        .gives_as("204", "A condition of the trigger does not hold: nothing was begun.", &[]);
    let operation = match entry.method {
        "GET" => operation,
        _ => operation.any_body(false, "*/*", &json!({})),
    };
    Some(accepted(own_answer(operation)).refuses(&[
        Code::KeyMissing,
        Code::KeyMalformed,
        Code::InputInvalid,
        Code::NotFound,
        Code::MethodNotAllowed,
        Code::FlowDisabled,
        Code::KeyExpired,
        Code::BodyTooLarge,
        Code::UnsupportedEncoding,
        Code::KeyReused,
        Code::HeadersTooLarge,
    ]))
}

fn number(name: &str, says: &str) -> Value {
    query(
        name,
        says,
        &json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }),
    )
}

fn looked_at(entry: &Entry) -> Option<Operation> {
    let text = json!({ "type": "string" });
    Some(match (entry.method, entry.pattern) {
        ("GET", "/v1/flows") => Operation::new("list_flows", "The list of flows")
            .says("Those of the release, and those that were deployed at run time: 1,000 at most, and some moments late.")
            .takes([query("namespace", "Of this namespace only.", &json!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,99}$" }))])
            .gives("200", "The flows, by name.", &schema("FlowList"))
            .refuses(&[Code::InputInvalid]),
        ("GET", "/v1/flows/{namespace}/{flow}") => Operation::new("show_flow", "A flow with its text")
            .says("With Accept: application/yaml the text alone. The ETag is the revision, for If-Match.")
            .takes([number("revision", "An earlier revision.")])
            .gives_as("200", "The flow.", &[("application/json", schema("FlowDocument")), (YAML, text)])
            .refuses(NAMED),
        ("GET", "/v1/flows/{namespace}/{flow}/revisions") => Operation::new("list_revisions", "The revisions of a flow")
            .gives("200", "The last 100, the newest first.", &schema("RevisionList"))
            .refuses(NAMED),
        ("GET", "/v1/flows/{namespace}/{flow}/diff") => Operation::new("diff_flow", "What differs between two revisions")
            .takes([
                number("from", "The older one; the one before, if it is left out."),
                number("to", "The newer one; the one that the flow has now, if it is left out."),
            ])
            .gives_as("200", "A unified diff; empty if nothing differs.", &[("text/x-diff", text)])
            .refuses(NAMED),
        ("GET", "/flow.schema.json") => Operation::new("flow_schema", "The schema of texts of flows, for editors")
            .takes([shared("IfNoneMatch")])
            .gives_as("200", "A JSON Schema.", &[("application/schema+json", json!({ "type": "object" }))])
            .gives_as("304", "You have it.", &[]),
        _ => return None,
    })
}

fn changed(entry: &Entry) -> Option<Operation> {
    let shown = |operation: Operation| {
        operation
            .takes([shared("IfMatch")])
            .gives("200", "The flow.", &schema("FlowDocument"))
            .refuses(NAMED)
            .refuses(&[Code::PreconditionFailed])
    };
    Some(match (entry.method, entry.pattern) {
        ("PUT", "/v1/flows/{namespace}/{flow}") => Operation::new("put_flow", "Deploy a flow")
            .says("The same text once more changes nothing. Tasks that run go on with the revision that they began with.")
            .takes([
                query("dry_run", "Only checks it.", &json!({ "type": "boolean" })),
                shared("IfMatch"),
            ])
            .any_body(true, YAML, &json!({ "type": "string" }))
            .gives("200", "It has this text now; with dry_run: nothing is wrong with it.", &json!({ "anyOf": [schema("FlowDocument"), schema("CheckedDocument")] }))
            .gives("201", "It is new.", &schema("FlowDocument"))
            .refuses(NAMED)
            .refuses(&[Code::PreconditionFailed, Code::BodyTooLarge, Code::UnsupportedMediaType, Code::FlowInvalid]),
        ("DELETE", "/v1/flows/{namespace}/{flow}") => Operation::new("delete_flow", "Take away what was deployed of a flow")
            .says("The release's own text is back, if it has one. Tasks that run go on.")
            .takes([shared("IfMatch")])
            .gives_as("204", "It is gone.", &[])
            .refuses(NAMED)
            .refuses(&[Code::PreconditionFailed]),
        ("POST", "/v1/flows/{namespace}/{flow}/disable") => shown(Operation::new("disable_flow", "Have a flow take nothing")),
        ("POST", "/v1/flows/{namespace}/{flow}/enable") => shown(Operation::new("enable_flow", "Have a flow take deliveries again")),
        ("POST", "/v1/flows/{namespace}/{flow}/executions") => accepted(own_answer(Operation::new("execute_flow", "Call a flow, once per key")))
            .takes([
                shared("Key"),
                shared("Prefer"),
                query("labels", "A label of the execution: NAME:VALUE.", &json!({ "type": "string", "pattern": "^[^:]+:" })),
            ])
            .body(false, &json!({ "type": "object", "description": "The inputs." }))
            .refuses(&[
                Code::KeyMissing, Code::KeyMalformed, Code::InputInvalid, Code::NotFound, Code::FlowDisabled, Code::KeyExpired,
                Code::BodyTooLarge, Code::UnsupportedEncoding, Code::KeyReused, Code::HeadersTooLarge, Code::TaskInProgress,
                Code::TaskCancelled, Code::TaskFailed,
            ]),
        _ => return None,
    })
}
