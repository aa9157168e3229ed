//! What operators see of flows.

use super::super::App;
use super::super::api::no_database;
use super::super::ports::{Edge, Level, Rows};
use super::super::serve::Exchange;
use super::super::within;
use super::registry::Registry;
use super::{lost, registry};
use crate::flow::model::Flow;
use crate::http::flows::{
    FlowDocument, FlowLine, FlowList, FlowName, Pointer, Revision, RevisionList, bundled_line,
    deployed_line, diff_query, json_answer, namespace_in, no_flow, no_revision, revision_in,
    wants_yaml,
};
use crate::http::problem::Problem;
use crate::http::query;
use crate::limits::MAX_FLOWS_LISTED;
use crate::store::d1 as sql;
use crate::types::{Answer, Database};
use futures::future::try_join_all;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How long D1 is asked before the answer is 503.
const TIMEOUT_MS: u64 = 10_000;

/// Refuses parameters where there are none.
pub(super) fn no_parameters(target: &str) -> Result<(), Problem> {
    let all = query::parameters(target).into_iter();
    query::settled(all.map(|(name, _)| query::unknown(name, "none")).collect())
}

pub(super) fn document(
    name: &FlowName,
    pointer: &Pointer,
    revision: (&Revision, Option<u64>),
    flow: Option<&Flow>,
    text: &str,
) -> FlowDocument {
    FlowDocument::of(name, pointer, revision, flow, text)
}

/// `GET /v1/flows`: those of the release, and those that D1 knows of, some moments late.
pub(in crate::runtime) async fn list(
    edge: &Edge,
    exchange: &Exchange,
    app: &App,
) -> Result<Answer, Problem> {
    let namespace = namespace_in(&exchange.target)?;
    let kept = kept(edge, namespace.as_deref()).await.map_err(|error| {
        edge.log(Level::Error, "flow_list", json!({ "error": error }));
        no_database()
    })?;
    let mut lines: BTreeMap<FlowName, FlowLine> = BTreeMap::new();
    for bundled in app.bundled() {
        let name = &bundled.name;
        if namespace
            .as_ref()
            .is_none_or(|wanted| *wanted == name.namespace)
        {
            let line = bundled_line(name, &bundled.flow, kept.get(name), &bundled.digest);
            lines.insert(name.clone(), line);
        }
    }
    for (name, pointer) in &kept {
        if let Some(line) = deployed_line(name, pointer) {
            lines.insert(name.clone(), line);
        }
    }
    let flows = lines.into_values().collect();
    Ok(json_answer(200, &FlowList { flows }))
}

/// What is kept of flows, as D1 has it.
async fn kept(edge: &Edge, namespace: Option<&str>) -> Result<BTreeMap<FlowName, Pointer>, String> {
    let asked = Database::all(edge.databases()).map(|database| async move {
        let statement = sql::flows(namespace, MAX_FLOWS_LISTED);
        let asked = within(edge, TIMEOUT_MS, edge.d1(database, vec![statement])).await;
        asked.unwrap_or_else(|| Err("no answer in time".to_owned()))
    });
    let results: Vec<Vec<Rows>> = try_join_all(asked).await?;
    let rows = results.into_iter().flatten().flat_map(|rows| rows.rows);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    Ok(rows
        .filter_map(|row| {
            let key = text(row.get("key"))?;
            let (namespace, id) = key.split_once('/')?;
            let pointer = serde_json::from_str(&text(row.get("value"))?).ok()?;
            Some((FlowName::read(namespace, id)?, pointer))
        })
        .collect())
}

/// `GET /v1/flows/{namespace}/{id}`.
pub(in crate::runtime) async fn show(
    name: &FlowName,
    exchange: &Exchange,
    edge: &Edge,
    app: &App,
) -> Result<Answer, Problem> {
    let number = revision_in(&exchange.target)?;
    let registry = registry(edge, app);
    let pointer = registry.pointer(name).await;
    let pointer = pointer.map_err(|error| lost(edge, name, error))?;
    let yaml = wants_yaml(&exchange.headers);
    shown(edge, &registry, name, pointer, number, yaml).await
}

/// A flow with the text of a revision: the one that it has now, if none is named.
pub(super) async fn shown(
    edge: &Edge,
    registry: &Registry<'_>,
    name: &FlowName,
    pointer: Pointer,
    number: Option<u64>,
    yaml: bool,
) -> Result<Answer, Problem> {
    let fault = |error| lost(edge, name, error);
    let (pointer, now) = registry.serving(name, pointer).await.map_err(fault)?;
    let current = now.as_ref().map(|revision| revision.revision);
    let revision = match number {
        None => now.ok_or_else(no_flow)?,
        Some(number) => pointer.revision(number).cloned().ok_or_else(no_revision)?,
    };
    let text = registry.text(&revision.digest).await.map_err(fault)?;
    let text = text.ok_or_else(no_revision)?;
    // A later release may not read what an earlier one did; the text is shown all the same.
    let flow = registry.flow(&revision.digest).await.ok();
    let shown = document(name, &pointer, (&revision, current), flow.as_deref(), &text);
    Ok(shown.to_answer(200, yaml))
}

/// `GET /v1/flows/{namespace}/{id}/revisions`.
pub(in crate::runtime) async fn revisions(
    name: &FlowName,
    exchange: &Exchange,
    edge: &Edge,
    app: &App,
) -> Result<Answer, Problem> {
    no_parameters(&exchange.target)?;
    let registry = registry(edge, app);
    let fault = |error| lost(edge, name, error);
    let pointer = registry.pointer(name).await.map_err(fault)?;
    let (pointer, now) = registry.serving(name, pointer).await.map_err(fault)?;
    if now.is_none() && pointer.revisions.is_empty() {
        return Err(no_flow());
    }
    let current = now.map(|revision| revision.revision);
    Ok(json_answer(200, &RevisionList::of(name, &pointer, current)))
}

/// `GET /v1/flows/{namespace}/{id}/diff`.
pub(in crate::runtime) async fn diff(
    name: &FlowName,
    exchange: &Exchange,
    edge: &Edge,
    app: &App,
) -> Result<Answer, Problem> {
    let (from, to) = diff_query(&exchange.target)?;
    let registry = registry(edge, app);
    let fault = |error| lost(edge, name, error);
    let pointer = registry.pointer(name).await.map_err(fault)?;
    let (pointer, now) = registry.serving(name, pointer).await.map_err(fault)?;
    if now.is_none() && pointer.revisions.is_empty() {
        return Err(no_flow());
    }
    let newest = now.map(|revision| revision.revision);
    let to = to.or(newest).ok_or_else(no_revision)?;
    let from = from.unwrap_or(to.saturating_sub(1));
    let mut texts = Vec::new();
    for number in [from, to] {
        let revision = pointer.revision(number).ok_or_else(no_revision)?;
        let text = registry.text(&revision.digest).await.map_err(fault)?;
        texts.push((format!("{name} {number}"), text.ok_or_else(no_revision)?));
    }
    let sides: Vec<(&str, &str)> = texts
        .iter()
        .map(|(n, t)| (n.as_str(), t.as_str()))
        .collect();
    let [old, new] = sides.as_slice() else {
        return Err(no_revision());
    };
    let headers = [
        ("content-type", "text/x-diff; charset=utf-8"),
        ("cache-control", "no-store"),
    ];
    Ok(Answer {
        status: 200,
        headers: headers.into_iter().collect(),
        body: crate::http::flows::diff(*old, *new).into_bytes(),
    })
}
