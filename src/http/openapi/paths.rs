//! Every route, described. What it asks of the caller comes from the table of routes.

use super::flows;
use super::many;
use super::operation::{Operation, query, schema, shared};
use crate::http::code::Code;
use crate::http::route::Entry;
use serde_json::{Value, json};

/// What anybody may find out who delivers or calls.
const DELIVERED: &[Code] = &[
    Code::KeyMissing,
    Code::KeyMalformed,
    Code::InputInvalid,
    Code::NotFound,
    Code::KeyExpired,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
    Code::UnsupportedEncoding,
    Code::KeyReused,
    Code::HeadersTooLarge,
];
/// What callers find out besides.
const CALLED: &[Code] = &[Code::TaskInProgress, Code::TaskCancelled, Code::TaskFailed];
/// Of a gateway.
const PASSED: &[Code] = &[
    Code::MethodNotAllowed,
    Code::OriginUnreachable,
    Code::OriginAnswerUnfit,
    Code::OriginUnknown,
];
/// Of a question about one task.
const LOOKED: &[Code] = &[Code::InputInvalid, Code::TaskNotFound];
/// Of what steers one task.
const STEERED: &[Code] = &[
    Code::KeyMalformed,
    Code::InputInvalid,
    Code::TaskNotFound,
    Code::TaskInProgress,
    Code::TaskEnded,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
];

/// The description of a route; `None` for one that nobody has described.
pub(super) fn operation(entry: &Entry) -> Option<Operation> {
    delivery(entry)
        .or_else(|| task(entry))
        .or_else(|| steer(entry))
        .or_else(|| many::operation(entry))
        .or_else(|| flows::operation(entry))
        .or_else(|| page(entry))
}

/// The task, at length or as short as the client prefers.
fn task_document() -> Value {
    json!({ "anyOf": [schema("TaskDocument"), schema("ShortTask")] })
}

pub(super) fn accepted(operation: Operation) -> Operation {
    operation.gives("202", "Accepted, and not done yet.", &task_document())
}

pub(super) fn own_answer(operation: Operation) -> Operation {
    let any = json!({});
    operation
        .gives_as(
            "200",
            "The function's own answer, or the task.",
            &[("*/*", any.clone())],
        )
        .gives_as(
            "default",
            "The function's own answer: any status and type.",
            &[("*/*", any)],
        )
}

fn delivery(entry: &Entry) -> Option<Operation> {
    let any = json!({});
    Some(match entry.pattern {
        "/hooks/{source}" => accepted(own_answer(Operation::new("deliver", "A webhook delivery")))
            .says("What proves it and what its key is depends on the source: GET /.well-known/idempotency says so.")
            .takes([shared("OptionalKey"), shared("Prefer")])
            .any_body(false, "*/*", &any)
            .refuses(DELIVERED)
            .refuses(&[Code::RateLimited]),
        "/hooks/{source}/{tenant}" => accepted(own_answer(Operation::new("deliver_for", "A webhook delivery of one tenant")))
            .says("As without a tenant; equal keys of two tenants are two tasks.")
            .takes([shared("OptionalKey"), shared("Prefer")])
            .any_body(false, "*/*", &any)
            .refuses(DELIVERED)
            .refuses(&[Code::RateLimited]),
        "/v1/functions/{name}" => accepted(own_answer(Operation::new("call", "Call a function, once per key")))
            .takes([shared("Key"), shared("Prefer")])
            .any_body(false, "*/*", &any)
            .refuses(DELIVERED)
            .refuses(CALLED),
        "/proxy/{name}" => proxied(Operation::new("pass", "A request to the origin of a gateway, once per key")),
        "/proxy/{name}/{path*}" => proxied(Operation::new("pass_below", "A request to the origin of a gateway, once per key")),
        "/internal/continue" => Operation::new("continue", "The next slice of a task")
            .says("Only this Worker itself can send it, through its service binding: for everybody else nothing is here.")
            .gives("202", "Taken.", &json!({ "type": "object" }))
            .refuses(&[Code::NotFound]),
        _ => return None,
    })
}

fn proxied(operation: Operation) -> Operation {
    accepted(own_answer(operation))
        .takes([shared("OptionalKey"), shared("Prefer")])
        .any_body(false, "*/*", &json!({}))
        .refuses(DELIVERED)
        .refuses(CALLED)
        .refuses(PASSED)
        .refuses(&[Code::KeyMissing])
}

fn task(entry: &Entry) -> Option<Operation> {
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    Some(match (entry.method, entry.pattern) {
        ("GET", "/v1/tasks/{id}") => Operation::new("show_task", "One task, as it stands now")
            .takes([
                query("wait", "Waits up to so many seconds for its end, as long as it moves.", &json!({ "type": "integer", "minimum": 0 })),
                shared("Prefer"),
                shared("IfNoneMatch"),
            ])
            .gives("200", "The task.", &task_document())
            .gives_as("304", "You have it.", &[])
            .refuses(LOOKED),
        ("DELETE", "/v1/tasks/{id}") => Operation::new("forget_task", "Forget a task that has ended")
            .gives_as("204", "Forgotten: its key is new.", &[])
            .refuses(LOOKED)
            .refuses(&[Code::TaskInProgress]),
        ("GET", "/v1/tasks/{id}/journal") => Operation::new("show_journal", "The records of a task")
            .takes([query("after", "`next` of the page before.", &text("^[A-Za-z0-9_-]+$"))])
            .gives("200", "A page.", &schema("Journal"))
            .refuses(LOOKED)
            .refuses(&[Code::PayloadDropped]),
        ("GET", "/v1/tasks/{id}/answer") => Operation::new("show_answer", "The stored answer of a task").gives_as("200", "The bytes, with their own type.", &[("*/*", json!({}))])
            .says("The body as it is given to duplicates; its status is in Onceward-Answer-Status.")
            .refuses(LOOKED)
            .refuses(&[Code::NoAnswer, Code::TaskInProgress]),
        ("GET", "/v1/tasks/{id}/input") => Operation::new("show_input", "What a task was begun with").gives_as("200", "The bytes with their own type, or the fields.", &[("application/json", json!({ "anyOf": [schema("InputHeaders"), {}] })), ("*/*", json!({}))])
            .says("The body as it came; with part=headers the fields that were kept with it. Looking is written into the audit.")
            .takes([query("part", "Which of the two.", &json!({ "type": "string", "enum": ["body", "headers"], "default": "body" }))])
            .refuses(LOOKED)
            .refuses(&[Code::PayloadDropped]),
        _ => return None,
    })
}

fn steer(entry: &Entry) -> Option<Operation> {
    let any = json!({});
    let task = task_document();
    Some(match entry.pattern {
        "/v1/tasks/{id}/signals/{name}" => Operation::new("signal", "Send a signal to a task")
            .says("With an API token it needs a key; a one-time address has both in its token.")
            .takes([
                shared("OptionalKey"),
                shared("Prefer"),
            ])
            .body(false, &any)
            .gives("202", "Taken.", &json!({ "anyOf": [schema("TaskDocument"), schema("ShortTask"), schema("Signalled")] }))
            .refuses(STEERED)
            .refuses(&[Code::KeyMissing, Code::NotFound, Code::KeyReused]),
        "/v1/tasks/{id}/cancel" => steered(Operation::new("cancel", "End a task"))
            .gives("200", "It was cancelled before.", &task),
        "/v1/tasks/{id}/undo" => steered(Operation::new("undo", "Undo what a task did"))
            .gives("200", "It was undone before.", &task)
            .refuses(&[Code::PayloadDropped]),
        "/v1/tasks/{id}/retry" => steered(Operation::new("retry", "Try a task again"))
            .says("From what failed, from a step, or with another input. An empty body asks for the usual.")
            .body(false, &schema("RetryRequest"))
            .gives("200", "With dry_run: what it would do.", &schema("RetryPreview"))
            .gives("202", "It goes on.", &json!({ "anyOf": [
                { "allOf": [schema("TaskDocument"), { "properties": { "retry": schema("RetryPlan") } }] },
                schema("ShortTask"),
            ] }))
            .refuses(&[Code::PayloadDropped]),
        "/v1/sources/{source}/explain" => Operation::new("explain", "Why a source refuses a delivery")
            .says("Nothing of what is described is stored or logged.")
            .body(true, &schema("Described"))
            .gives("200", "What was found.", &json!({ "allOf": [
                schema("Explanation"),
                { "required": ["source", "at"], "properties": { "source": { "type": "string" }, "at": { "type": "string", "format": "date-time" } } },
            ] }))
            .refuses(&[Code::InputInvalid, Code::NotFound, Code::BodyTooLarge]),
        "/v1/erase" => Operation::new("erase", "Erase the task of a key")
            .says("Nothing but its id, a hash of the key, is left of it.")
            .body(true, &schema("EraseRequest"))
            .gives("200", "Erased.", &schema("Erased"))
            .refuses(&[Code::InputInvalid, Code::TaskNotFound, Code::TaskInProgress, Code::BodyTooLarge, Code::UnsupportedMediaType]),
        _ => return None,
    })
}

fn steered(operation: Operation) -> Operation {
    accepted(operation.takes([shared("OptionalKey"), shared("Prefer")])).refuses(STEERED)
}

fn page(entry: &Entry) -> Option<Operation> {
    let text = json!({ "type": "string" });
    let page = |operation: Operation| {
        let kinds = [("text/html", text.clone()), ("text/markdown", text.clone())];
        operation.gives_as("200", "A page for people, as HTML or Markdown.", &kinds)
    };
    Some(match entry.pattern {
        "/healthz" => {
            Operation::new("health", "Is it up?").gives("200", "It is.", &schema("Health"))
        }
        "/openapi.json" => Operation::new("openapi", "This document")
            .takes([shared("IfNoneMatch")])
            .gives("200", "The document.", &json!({ "type": "object" }))
            .gives_as("304", "You have it.", &[]),
        "/errors" => page(Operation::new("errors", "All errors")),
        "/errors/{code}" => page(Operation::new("error", "One error")).refuses(&[Code::NotFound]),
        "/.well-known/idempotency" => Operation::new("policies", "What each route does with keys")
            .gives("200", "The policies.", &schema("Policies")),
        "/policy" => page(Operation::new(
            "policy_pages",
            "What each route does with keys, for people",
        )),
        "/policy/hooks/{source}" => page(Operation::new(
            "source_policy",
            "What a source does with keys",
        ))
        .refuses(&[Code::NotFound]),
        "/policy/functions/{name}" => page(Operation::new(
            "function_policy",
            "What a function does with keys",
        ))
        .refuses(&[Code::NotFound]),
        "/policy/proxy/{name}" => page(Operation::new(
            "gateway_policy",
            "What a gateway does with keys",
        ))
        .refuses(&[Code::NotFound]),
        _ => return None,
    })
}
