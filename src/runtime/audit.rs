//! What operators do is written down: a line of the log, and a row that can be looked up.

use super::api;
use super::ports::{Edge, Level};
use super::serve::Exchange;
use super::within;
use crate::http::audit::{AuditRow, Wish};
use crate::http::auth::{Caller, Gate};
use crate::http::problem::Problem;
use crate::limits;
use crate::store::d1::{self as sql, Action};
use crate::types::{Answer, Database, TaskId};
use serde_json::{Map, Value, json};
use std::future::Future;

/// An action that is about to be done.
pub(super) struct Act<'a> {
    pub(super) caller: &'a Caller,
    pub(super) action: &'static str,
    pub(super) task_id: Option<TaskId>,
    /// How it is asked for: no payload, no key.
    pub(super) detail: Value,
}

/// Does something for an operator. Its row is written before, and completed with what came of it. A
/// database that does not answer holds nobody up: the log has the action in any case.
pub(super) async fn audited(
    edge: &Edge,
    act: Act<'_>,
    work: impl Future<Output = Result<Answer, Problem>>,
) -> Result<Answer, Problem> {
    let action = begin(edge, &act).await;
    let result = work.await;
    let status = match &result {
        Ok(answer) => answer.status,
        Err(problem) => problem.status(),
    };
    let ends = edge.d1(Database::default(), vec![sql::audit_ends(&action, status)]);
    let log = edge.clone();
    edge.wait_until(Box::pin(async move {
        if let Err(error) = ends.await {
            let fields = json!({"audit_id": action.audit_id, "status": status, "error": error});
            log.log(Level::Error, "audit_row", fields);
        }
    }));
    result
}

async fn begin(edge: &Edge, act: &Act<'_>) -> Action {
    let at_ms = edge.now_ms();
    let detail = Some(&act.detail).filter(|detail| !detail.is_null());
    let action = Action {
        audit_id: sql::audit_id(at_ms, edge.token().as_str()),
        at_ms,
        token: act.caller.name.clone(),
        action: act.action,
        task_id: act.task_id.map(|id| id.to_string()),
        detail: detail.map(Value::to_string),
    };
    let row = edge.d1(Database::default(), vec![sql::audit_begins(&action)]);
    let written = match within(edge, limits::AUDIT_WAIT_MS, row).await {
        Some(Ok(_)) => None,
        Some(Err(error)) => Some(error),
        None => Some("no answer in time".to_owned()),
    };
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            fields.insert(name.to_owned(), value);
        }
    };
    put("audit_id", action.audit_id.as_str().into());
    put("token", action.token.as_str().into());
    put("action", action.action.into());
    put("task_id", action.task_id.as_deref().into());
    put("detail", act.detail.clone());
    let level = if written.is_some() {
        Level::Error
    } else {
        Level::Info
    };
    put("row_error", written.into());
    edge.log(level, "audit", Value::Object(fields));
    action
}

/// `GET /v1/audit`. A caller with a tenant sees what tokens of its tenant did.
pub(super) async fn list(
    edge: &Edge,
    exchange: &Exchange,
    gate: &Gate,
    caller: &Caller,
) -> Result<Answer, Problem> {
    let mut wish = Wish::read(&exchange.target)?;
    if !caller.tenant.is_empty() {
        let names: Vec<&str> = gate.tokens().names_of(&caller.tenant).collect();
        wish.query.tokens = Some(json!(names).to_string());
    }
    let statement = sql::audit(&wish.query);
    let rows: Vec<AuditRow> = api::rows(edge, &statement).await.map_err(|error| {
        edge.log(Level::Error, "audit_list", json!({ "error": error }));
        api::no_database()
    })?;
    Ok(wish.answer(rows))
}
