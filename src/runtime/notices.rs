//! What operators are told: each notice becomes a task of its own for every endpoint that wants it, with the
//! retries, the journal and the address of any other task.

use super::audit::{Act, audited};
use super::desk::Desk;
use super::ports::{Edge, Level};
use super::{api, stats, within};
use crate::config::Endpoint;
use crate::function::notify::{NOTIFY, Notification};
use crate::http::auth::Caller;
use crate::http::code::Code;
use crate::http::document::TaskDocument;
use crate::http::object_call::{Ask, Call};
use crate::http::problem::Problem;
use crate::limits;
use crate::protocol::{Begin, Notice, Summary, Task};
use crate::store::d1 as sql;
use crate::types::time::rfc3339;
use crate::types::{About, Answer, Database, Headers, Input, Policy, TaskKey, TaskKind};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

/// How long D1 is asked whether an endpoint is disabled, in milliseconds.
const PATIENCE_MS: u64 = 2_000;

/// The messages that begin the tasks of a notice. Their keys follow from the notice, so that it can be sent
/// any number of times.
pub(super) fn calls(desk: &Desk, task: &Task, notice: &Notice) -> Vec<Call> {
    let endpoints = desk.edge.endpoints();
    let wanting = endpoints.all().iter();
    wanting
        .filter(|endpoint| endpoint.wants(notice.kind, &task.function))
        .map(|endpoint| call(desk, task, notice, endpoint))
        .collect()
}

fn call(desk: &Desk, task: &Task, notice: &Notice, endpoint: &Endpoint) -> Call {
    let id = format!(
        "{}:{}:{}",
        task.id(),
        notice.kind.as_str().replace('.', "-"),
        notice.at_ms
    );
    let key = format!("{id}:{}", endpoint.name);
    let key = TaskKey::new(TaskKind::Function, NOTIFY, "", &key);
    let notification = Notification {
        endpoint: endpoint.name.clone(),
        id,
        at_ms: notice.at_ms,
        message: message(task, notice),
    };
    let headers: Headers = std::iter::once(("content-type", "application/json")).collect();
    let input = Input {
        headers: headers.clone(),
        // A notification holds texts and numbers only.
        body: serde_json::to_vec(&notification).unwrap_or_default(),
    };
    let begin = Begin {
        op: desk.edge.token(),
        key: key.clone(),
        function: NOTIFY.to_owned(),
        policy: Policy {
            quiet: true,
            ..Policy::default()
        },
        fingerprint: None,
        parts: Vec::new(),
        input,
        claims: false,
        hop: 0,
        parent: None,
        lineage: Vec::new(),
        about: About {
            labels: [("endpoint".to_owned(), endpoint.name.clone())].into(),
            trace: task.about.trace.clone(),
        },
    };
    Call {
        task_id: key.task_id(),
        ask: Ask::Begin {
            begin: Box::new(begin),
            input_headers: headers,
            wait_ms: 0,
        },
    }
}

/// What may leave: nothing that a sender has sent, so that erasing a key leaves nothing of it here.
const TOLD: &[&str] = &[
    "task_id",
    "state",
    "resumable",
    "function",
    "kind",
    "name",
    "generation",
    "attempts",
    "created_at",
    "updated_at",
    "finished_at",
    "expires_at",
    "waiting",
    "undone",
    "trace_id",
];

/// What is sent (Standard Webhooks 1.0.0): small, and without payload.
fn message(task: &Task, notice: &Notice) -> Value {
    let document = TaskDocument::of(&Summary::of(task));
    let mut data = json!({});
    let shown = serde_json::to_value(&document).unwrap_or_default();
    for name in TOLD {
        if let Some(value) = shown.get(name) {
            data[name] = value.clone();
        }
    }
    if let Some(error) = &document.error {
        data["error"] = json!({ "code": error.code, "step": error.step });
    }
    data["address"] = document.location().into();
    json!({
        "type": notice.kind.as_str(),
        "timestamp": rfc3339(notice.at_ms),
        "data": data,
    })
}

/// Since when an endpoint wants no more, if it has said so. If nobody knows, it is told.
pub(super) async fn disabled_since(edge: Edge, name: String) -> Option<u64> {
    let asked = edge.d1(Database::default(), vec![sql::disabled(&name)]);
    let answer = within(&edge, PATIENCE_MS, asked).await;
    let rows = answer.and_then(Result::ok).into_iter().flatten();
    let row = rows.flat_map(|result| result.rows).next()?;
    Some(stats::whole(row.get("at_ms")?.as_f64()?))
}

/// Remembers that an endpoint wants no more.
pub(super) async fn disable(edge: Edge, name: String) {
    let sent = edge.d1(
        Database::default(),
        vec![sql::disable(&name, edge.now_ms())],
    );
    let written = within(&edge, limits::FLUSH_TIMEOUT_MS, sent).await;
    let kept = matches!(written, Some(Ok(_)));
    edge.log(
        Level::Error,
        "endpoint_disabled",
        json!({ "endpoint": name, "remembered": kept }),
    );
}

/// Every endpoint, and since when it is disabled if it is. Addresses may hold secrets: their hosts are shown.
pub(super) async fn list(edge: &Edge) -> Result<Answer, Problem> {
    let rows: Vec<Disabled> = api::rows(edge, &sql::all_disabled())
        .await
        .map_err(|error| unavailable(edge, &error))?;
    let endpoints = edge.endpoints();
    let shown = endpoints.all().iter().map(|endpoint| {
        let disabled = rows.iter().find(|row| row.name == endpoint.name);
        let host = Url::parse(&endpoint.url).ok();
        let host = host.as_ref().and_then(Url::host_str);
        let mut document = json!({
            "name": endpoint.name,
            "host": host,
            "events": endpoint.events,
            "functions": endpoint.functions,
            "waiting_ms": endpoint.waiting_ms,
        });
        if let Some(row) = disabled {
            document["disabled_at"] = rfc3339(stats::whole(row.at_ms)).into();
        }
        document
    });
    let shown: Vec<Value> = shown.collect();
    let mut answer = Answer::json(200, &json!({ "endpoints": shown }));
    answer.headers.push("cache-control", "no-store");
    Ok(answer)
}

/// Lets an endpoint be told again. What was on its way when it said no are failed tasks of their own, which can
/// be tried again.
pub(super) async fn enable(edge: &Edge, caller: &Caller, name: &str) -> Result<Answer, Problem> {
    if edge.endpoints().get(name).is_none() {
        return Err(Problem::new(Code::NotFound, "No endpoint has this name."));
    }
    let act = Act {
        caller,
        action: "enable_endpoint",
        task_id: None,
        detail: json!({ "endpoint": name }),
    };
    let work = async {
        let sent = edge.d1(Database::default(), vec![sql::enable(name)]);
        match within(edge, limits::FLUSH_TIMEOUT_MS, sent).await {
            Some(Ok(_)) => {
                let told = json!({
                    "endpoint": name,
                    "next": format!("POST /v1/tasks/retry?function={NOTIFY}&state=failed&label=endpoint:{name} sends what it refused"),
                });
                Ok(Answer::json(200, &told))
            }
            Some(Err(error)) => Err(unavailable(edge, &error)),
            None => Err(unavailable(edge, "no answer in time")),
        }
    };
    audited(edge, act, work).await
}

#[derive(Deserialize)]
struct Disabled {
    name: String,
    at_ms: f64,
}

fn unavailable(edge: &Edge, error: &str) -> Problem {
    edge.log(Level::Error, "endpoints", json!({ "error": error }));
    api::no_database()
}
