//! The routes that are about many tasks, or about none: the list, operations by filter, live events, statistics,
//! the audit, endpoints.

use super::operation::{Operation, UUID, query, repeated, schema, shared};
use crate::http::code::Code;
use crate::http::filter::{MAX_LABELS, MAX_VALUE_CHARS, PARAMETERS};
use crate::http::metrics;
use crate::http::route::Entry;
use crate::http::words::{TaskState, UndoneWord};
use crate::limits;
use serde_json::{Value, json};

/// The description of such a route; `None` for another one.
pub(super) fn operation(entry: &Entry) -> Option<Operation> {
    list(entry).or_else(|| bulk(entry)).or_else(|| watch(entry))
}

fn text(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

fn limit() -> Value {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": limits::LIST_PAGE_MAX, "default": limits::LIST_PAGE });
    query("limit", "Rows of a page.", &schema)
}

/// A time as people write it, or as programs do.
fn time() -> Value {
    json!({ "anyOf": [
        { "type": "string", "format": "date-time" },
        { "type": "integer", "minimum": 0, "maximum": limits::MAX_TIME_MS, "description": "Milliseconds since 1970." },
    ] })
}

/// The parameters that say which tasks are meant.
fn filter() -> impl Iterator<Item = Value> {
    let all = PARAMETERS.iter();
    all.map(|(name, _)| shared(&format!("filter.{name}")))
}

/// The same, as they stand in the list of components: in the order of the filter.
pub(super) fn filters() -> impl Iterator<Item = (String, Value)> {
    let all = PARAMETERS.iter();
    all.map(|(name, takes)| (format!("filter.{name}"), filter_parameter(name, takes)))
}

fn filter_parameter(name: &str, takes: &str) -> Value {
    let takes = &sentence(takes);
    let schema = match name {
        "state" => {
            let all: Vec<&str> = TaskState::ALL.iter().map(|state| state.as_str()).collect();
            let states = json!({ "type": "array", "items": { "enum": all }, "minItems": 1 });
            return repeated(name, takes, &states);
        }
        "label" => {
            let label =
                json!({ "type": "string", "pattern": "^[^:]+:", "maxLength": MAX_VALUE_CHARS });
            let labels =
                json!({ "type": "array", "items": label, "minItems": 1, "maxItems": MAX_LABELS });
            return repeated(name, takes, &labels);
        }
        "tenant" => json!({ "type": "string", "maxLength": MAX_VALUE_CHARS }),
        "trace_id" => text("^[0-9a-fA-F]{32}$"),
        "created_after" | "created_before" | "updated_after" | "updated_before" => time(),
        "resumable" => json!({ "type": "boolean" }),
        "undone" => json!({ "enum": [UndoneWord::Complete, UndoneWord::Partial] }),
        _ => json!({ "type": "string", "minLength": 1, "maxLength": MAX_VALUE_CHARS }),
    };
    query(name, takes, &schema)
}

/// As the other descriptions of the document are written.
fn sentence(words: &str) -> String {
    let (first, rest) = words.split_at(words.len().min(1));
    format!("{}{rest}.", first.to_ascii_uppercase())
}

fn list(entry: &Entry) -> Option<Operation> {
    Some(match (entry.method, entry.pattern) {
        ("GET", "/v1/tasks") => Operation::new("list_tasks", "The list of tasks, newest first")
            .says("A task is in it from its end, or from when it first had to wait. All filters have to hold.")
            .takes(filter())
            .takes([limit(), query("cursor", "`next_cursor` of the page before.", &text(&format!("^(0|[1-9a-f][0-9a-f]{{0,12}})\\.{UUID}$")))])
            .gives("200", "A page.", &schema("TaskPage"))
            .refuses(&[Code::InputInvalid]),
        ("GET", "/v1/audit") => Operation::new("list_audit", "What operators did, newest first")
            .takes([
                query("task_id", "To this task.", &json!({ "type": "string", "format": "uuid", "pattern": format!("^{UUID}$") })),
                query("token", "With the token of this name.", &text("^[a-z0-9_-]{1,64}$")),
                query("action", "Only this action.", &text("^[a-z0-9_-]{1,64}$")),
                query("created_after", "After this time.", &time()),
                query("created_before", "Before this time.", &time()),
                limit(),
                query("cursor", "`next_cursor` of the page before.", &text("^[0-9a-f]{12}\\.[A-Za-z0-9_-]{1,64}$")),
            ])
            .gives("200", "A page.", &schema("AuditPage"))
            .refuses(&[Code::InputInvalid]),
        ("GET", "/v1/stats") => Operation::new("show_stats", "Statistics by hour and function")
            .says("Sums over all databases, of every hour that the span touches; 31 days at the most.")
            .takes([
                query("from", "The first hour; without it 24 hours before `to`.", &time()),
                query("to", "Behind the last hour; without it now.", &time()),
                query("function", "Only of this function.", &json!({ "type": "string" })),
                query("by", "A row for each of these.", &json!({ "enum": ["hour", "function", "hour,function", "function,hour"] })),
            ])
            .gives("200", "The sums.", &schema("Stats"))
            .refuses(&[Code::InputInvalid]),
        ("GET", "/metrics") => Operation::new("show_metrics", "The same for Prometheus")
            .says("A database that does not answer is shown as down.")
            .gives_as("200", "Metrics in the text format 0.0.4.", &[(metrics::MEDIA_TYPE, json!({ "type": "string" }))])
            .refuses(&[Code::InputInvalid]),
        ("GET", "/v1/endpoints") => Operation::new("list_endpoints", "Where operators are told")
            .gives("200", "Every endpoint.", &schema("EndpointList"))
            .refuses(&[Code::InputInvalid]),
        ("POST", "/v1/endpoints/{name}/enable") => Operation::new("enable_endpoint", "Tell an endpoint again that wanted no more")
            .gives("200", "It is told from now on.", &schema("EndpointEnabled"))
            .refuses(&[Code::InputInvalid, Code::NotFound]),
        _ => return None,
    })
}

fn bulk(entry: &Entry) -> Option<Operation> {
    let operation = match (entry.method, entry.pattern) {
        ("POST", "/v1/tasks/cancel") => Operation::new("cancel_tasks", "End all tasks that match"),
        ("POST", "/v1/tasks/retry") => {
            Operation::new("retry_tasks", "Try all tasks again that match")
        }
        ("POST", "/v1/tasks/undo") => {
            Operation::new("undo_tasks", "Undo what all tasks did that match")
        }
        ("DELETE", "/v1/tasks") => Operation::new("forget_tasks", "Forget all tasks that match"),
        _ => return None,
    };
    let most = json!({ "type": "integer", "minimum": 1, "maximum": limits::MAX_BULK_TASKS, "default": limits::BULK_TASKS });
    Some(
        operation
            .says("Says what it would do, unless dry_run is false. Then a task of our own does it. One filter at least has to be given.")
            .takes([shared("OptionalKey")])
            .takes(filter())
            .takes([
                query("max", "To so many tasks at most.", &most),
                query("dry_run", "Do nothing, and say what would be done.", &json!({ "type": "boolean", "default": true })),
            ])
            .gives("200", "What it would do.", &schema("BulkPreview"))
            .gives("202", "The task that does it.", &schema("TaskDocument"))
            .refuses(&[Code::InputInvalid, Code::KeyMalformed, Code::NotFound, Code::KeyReused]),
    )
}

fn watch(entry: &Entry) -> Option<Operation> {
    let last = json!({
        "name": "Last-Event-ID", "in": "header", "schema": { "type": "string" },
        "description": "`id` of the last event that was seen.",
    });
    let stream = |operation: Operation| {
        let events = [("text/event-stream", json!({ "type": "string" }))];
        operation
            .takes([last.clone()])
            .gives_as("200", "Server-Sent Events. A stream ends after some minutes, and wants to be asked for again.", &events)
    };
    Some(match entry.pattern {
        "/v1/events" => stream(Operation::new("watch_tasks", "New tasks and changes, as they happen"))
            .says("Events `task` and `gone`. What is seen of many tasks is a window: the newest, and those that are still to end.")
            .takes(filter())
            .refuses(&[Code::InputInvalid]),
        "/v1/tasks/{id}/events" => stream(Operation::new("watch_task", "The changes of one task, as they happen"))
            .says("Events `task`, `end` and `gone`.")
            .gives_as("204", "Its end has been seen: do not come again.", &[])
            .refuses(&[Code::InputInvalid, Code::TaskNotFound]),
        _ => return None,
    })
}
