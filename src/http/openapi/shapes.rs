//! The schemas: those of the types that are sent, and of documents that have no type of their own.

use super::figures;
use crate::http::audit::AuditPage;
use crate::http::code::Code;
use crate::http::document::TaskDocument;
use crate::http::erase::{EraseRequest, Erased};
use crate::http::flows::{CheckedDocument, FlowDocument, FlowList, RevisionList};
use crate::http::policy::RoutePolicy;
use crate::http::stored::InputHeaders;
use crate::http::words::TaskState;
use crate::webhook::explain::Explanation;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

/// A page of the list of tasks, newest first.
#[derive(Debug, Serialize, ToSchema)]
struct TaskPage {
    /// The tasks.
    tasks: Vec<TaskDocument>,
    /// There are older ones: the `cursor` of the next page.
    next_cursor: Option<String>,
    /// The page is short because this is how far it came: it goes on with `next_cursor`.
    #[schema(format = DateTime)]
    scanned_until: Option<String>,
}

/// A task as short as `Prefer: return=minimal` asks for.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ShortTask {
    /// Its id.
    #[schema(format = Uuid)]
    task_id: String,
    /// Where it stands.
    state: TaskState,
}

/// What is left to say to the holder of a one-time address.
#[derive(Debug, Serialize, ToSchema)]
struct Signalled {
    /// The task.
    #[schema(format = Uuid)]
    task_id: String,
}

/// What failed.
#[derive(Debug, Serialize, ToSchema)]
struct RecordError {
    /// For programs.
    code: String,
    /// For people.
    message: String,
}

/// One record of a journal.
#[derive(Debug, Serialize, ToSchema)]
struct Record {
    /// The step: branch, name, occurrence.
    step: String,
    /// `step`, `sleep`, `signal`, `child`, `now`, `race` or `undo`.
    kind: String,
    /// `succeeded`, `failed`, `waiting` or `open`.
    state: String,
    /// Tries so far.
    tries: u32,
    /// When it was recorded.
    #[schema(format = DateTime)]
    at: String,
    /// What failed.
    error: Option<RecordError>,
    /// Until when it waits.
    #[schema(format = DateTime)]
    until: Option<String>,
    /// The child that it waits for.
    #[schema(format = Uuid)]
    child: Option<String>,
    /// The handler that undoes it.
    undo: Option<String>,
}

/// A page of the records of a task, in the order in which they were made.
#[derive(Debug, Serialize, ToSchema)]
struct Journal {
    /// The task.
    #[schema(format = Uuid)]
    task_id: String,
    /// The generation that they belong to.
    generation: u64,
    /// The records. `value` is the outcome of one that succeeded: any JSON.
    records: Vec<Record>,
    /// There are more: the `after` of the next page.
    next: Option<String>,
}

/// What a retry does.
#[derive(Debug, Serialize, ToSchema)]
struct RetryPlan {
    /// Steps whose outcomes are kept.
    kept: Vec<String>,
    /// Steps that are done again.
    again: Vec<String>,
    /// Whether the task starts over with a journal of its own.
    new_generation: bool,
    /// Whether the services it calls see new keys.
    new_keys: bool,
}

/// What a retry would do.
#[derive(Debug, Serialize, ToSchema)]
struct RetryPreview {
    /// The task.
    #[schema(format = Uuid)]
    task_id: String,
    /// Always true.
    dry_run: bool,
    /// Steps whose outcomes would be kept.
    kept: Vec<String>,
    /// Steps that would be done again.
    again: Vec<String>,
    /// Whether the task would start over with a journal of its own.
    new_generation: bool,
    /// Whether the services it calls would see new keys.
    new_keys: bool,
}

/// The body of a retry.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RetryRequest {
    /// Goes on from this step, as the journal shows it.
    #[schema(required = false)]
    from: String,
    /// `new` or `same`: the keys that the services it calls see, where the task starts over.
    #[schema(required = false)]
    keys: RetryKeys,
    /// Says what it would do, and does nothing.
    #[schema(required = false)]
    dry_run: bool,
}

/// Which keys a task uses that starts over.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code)] // a shape
enum RetryKeys {
    /// New ones.
    New,
    /// Those that it used before.
    Same,
}

/// The policies of all routes.
#[derive(Debug, Serialize, ToSchema)]
struct Policies {
    /// One of each.
    routes: Vec<RoutePolicy>,
    /// Where to read on.
    links: PolicyLinks,
}

/// Pages for people.
#[derive(Debug, Serialize, ToSchema)]
struct PolicyLinks {
    /// All policies.
    policies: String,
    /// All errors.
    errors: String,
}

/// It is up.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    /// Always `ok`.
    status: String,
}

/// A name of a field, or a method (RFC 9110, 5.6.2).
const TOKEN: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
/// With its padding, and nothing in the bits that it leaves over.
const BASE64: &str =
    "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";

pub(super) type Named = Vec<(String, RefOr<Schema>)>;

pub(super) fn collect<T: ToSchema>(into: &mut Named) {
    into.push((T::name().into_owned(), T::schema()));
    T::schemas(into);
}

/// All schemas by name.
pub(super) fn all() -> Map<String, Value> {
    let mut named: Named = Vec::new();
    collect::<TaskPage>(&mut named);
    collect::<ShortTask>(&mut named);
    collect::<Signalled>(&mut named);
    collect::<Journal>(&mut named);
    collect::<RetryPlan>(&mut named);
    collect::<RetryPreview>(&mut named);
    collect::<RetryRequest>(&mut named);
    collect::<Explanation>(&mut named);
    collect::<Policies>(&mut named);
    collect::<Health>(&mut named);
    collect::<AuditPage>(&mut named);
    collect::<InputHeaders>(&mut named);
    collect::<EraseRequest>(&mut named);
    collect::<Erased>(&mut named);
    collect::<FlowList>(&mut named);
    collect::<RevisionList>(&mut named);
    collect::<FlowDocument>(&mut named);
    collect::<CheckedDocument>(&mut named);
    figures::collect_all(&mut named);
    let mut schemas: Vec<(String, Value)> = named
        .into_iter()
        .map(|(name, schema)| {
            (
                name,
                settled(serde_json::to_value(schema).unwrap_or_default()),
            )
        })
        .collect();
    schemas.push(("Problem".to_owned(), problem()));
    schemas.push(("Described".to_owned(), described()));
    schemas.sort_by(|a, b| a.0.cmp(&b.0));
    let mut all: Map<String, Value> = schemas.into_iter().collect();
    if let Some(retry) = all.get_mut("RetryRequest") {
        // Any JSON, which no type of Rust says.
        retry["properties"]["input"] =
            json!({ "description": "Another input for the function: any JSON." });
        retry["additionalProperties"] = false.into();
    }
    if let Some(erase) = all.get_mut("EraseRequest") {
        erase["oneOf"] = json!([{ "required": ["source"] }, { "required": ["function"] }]);
        for name in ["source", "function"] {
            erase["properties"][name]["pattern"] = "^(proxy:)?[a-z0-9][a-z0-9_-]{0,63}$".into();
        }
        erase["properties"]["tenant"]["pattern"] = "^[!-~]{0,255}$".into();
        erase["properties"]["key"]["minLength"] = 1.into();
    }
    if let Some(record) = all.get_mut("Record") {
        record["properties"]["value"] = json!({ "description": "The outcome: any JSON." });
    }
    all
}

/// What is not known is left out of our documents; nothing in them is null.
fn settled(schema: Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut out = Map::new();
            for (name, value) in members {
                match (name.as_str(), &value) {
                    ("type", Value::Array(types)) => {
                        let rest: Vec<&Value> = types.iter().filter(|t| *t != "null").collect();
                        let one = rest.first().map(|t| (*t).clone());
                        out.insert(name, one.unwrap_or(Value::Null));
                    }
                    ("oneOf", Value::Array(choices)) if choices.iter().any(is_null) => {
                        let rest = choices.iter().find(|choice| !is_null(choice));
                        if let Some(Value::Object(rest)) = rest.cloned().map(settled) {
                            out.extend(rest);
                        }
                    }
                    // Examples for authors are none for callers.
                    ("description", Value::String(text)) => {
                        let text = text.split("\n\n```").next().unwrap_or_default();
                        out.insert(name, text.into());
                    }
                    _ => {
                        out.insert(name, settled(value));
                    }
                }
            }
            Value::Object(out)
        }
        Value::Array(items) => items.into_iter().map(settled).collect(),
        other => other,
    }
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

/// A problem document, as [`Problem::document`](crate::http::problem::Problem::document) writes it.
fn problem() -> Value {
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "description": "An error (RFC 9457). `code` never changes its meaning.",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": { "type": "string", "format": "uri-reference", "description": "Address of the page of this error." },
            "title": text("The same for every occurrence."),
            "status": { "type": "integer", "minimum": 400, "maximum": 599 },
            "detail": text("What is wrong with this request."),
            "instance": { "type": "string", "format": "uri-reference", "description": "Names this occurrence, or the task." },
            "code": { "type": "string", "enum": codes },
            "task_id": { "type": "string", "format": "uuid" },
            "policy": { "type": "string", "format": "uri-reference", "description": "Page of what this route does with keys." },
            "errors": {
                "type": "array",
                "description": "Several causes of one kind.",
                "items": {
                    "type": "object",
                    "required": ["detail", "pointer"],
                    "properties": {
                        "detail": text("What was got and what was wanted."),
                        "pointer": text("Where: a JSON pointer, a path, or the name of a parameter."),
                        "line": { "type": "integer", "minimum": 1, "description": "In the text of a flow." },
                        "column": { "type": "integer", "minimum": 1, "description": "In that line." },
                        "nearest": text("The nearest thing that is supported."),
                    },
                },
            },
        },
    })
}

/// A delivery that is to be explained, as [`Described`](crate::http::explain::Described) reads it.
fn described() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "description": "A delivery as an operator describes it.",
        "additionalProperties": false,
        "allOf": [
            { "not": { "required": ["body", "body_base64"] } },
            { "not": { "required": ["target", "url"] } },
        ],
        "properties": {
            "headers": {
                "description": "The fields: by name, or as pairs, which can name one twice.",
                "oneOf": [
                    {
                        "type": "object",
                        "propertyNames": { "pattern": TOKEN },
                        "additionalProperties": { "type": "string" },
                        "maxProperties": 200,
                    },
                    {
                        "type": "array",
                        "items": { "type": "array", "prefixItems": [{ "type": "string", "pattern": TOKEN }, { "type": "string" }], "minItems": 2, "maxItems": 2 },
                        "maxItems": 200,
                    },
                ],
            },
            "body": text("The bytes that came, as text."),
            "body_base64": { "type": "string", "pattern": BASE64, "description": "The bytes that came, in base64." },
            "method": { "type": "string", "pattern": TOKEN, "maxLength": 32, "description": "POST, if it is left out." },
            "target": { "type": "string", "pattern": "^/", "maxLength": 16_384, "description": "Path and query that it was sent to." },
            "url": { "type": "string", "pattern": "^https?://", "maxLength": 16_384, "description": "The whole URL that it was sent to." },
            "now": { "type": "string", "format": "date-time", "description": "When it came; now, if it is left out." },
        },
    })
}
