//! Which flows wait for the ends of executions.

use super::super::ports::{Edge, Level, Rows};
use super::super::within;
use super::registry::{Lost, Registry};
use crate::config::Flows;
use crate::function::flow::{FlowRef, listens};
use crate::http::flows::FlowName;
use crate::limits::{CRON_D1_MS, MAX_FLOWS_LISTED};
use crate::store::d1 as sql;
use crate::types::{Database, Failure};
use futures::future::try_join_all;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Flows that are asked for at a time.
const AT_A_TIME: usize = 4;

/// The flows that the end of an execution may begin, as they are now. D1 tells of those that were deployed at run time,
/// some moments late; while it does not, what it told last counts.
///
/// # Errors
/// Retryable, while that cannot be told.
pub(in crate::runtime) async fn listeners(
    edge: &Edge,
    flows: &Flows,
    until_ms: u64,
) -> Result<Vec<FlowRef>, Failure> {
    let names = names(edge, flows).await?;
    let registry = Registry {
        edge,
        flows,
        until_ms,
    };
    let found: Vec<_> = stream::iter(&names)
        .map(|name| registry.current(name))
        .buffered(AT_A_TIME)
        .collect()
        .await;
    let mut all = Vec::new();
    for current in found {
        match current {
            Ok(Some(now)) if !now.disabled && listens(&now.flow) => all.push(now.revision),
            // One that this release cannot read begins nothing.
            Ok(_) | Err(Lost::Unreadable(_)) => {}
            Err(Lost::Unreachable(why)) => {
                return Err(Failure::retryable("flow_unreachable", why).cut());
            }
        }
    }
    Ok(all)
}

async fn names(edge: &Edge, flows: &Flows) -> Result<BTreeSet<FlowName>, Failure> {
    let bundled = flows.bundled().filter(|bundled| listens(&bundled.flow));
    let mut names: BTreeSet<FlowName> = bundled.map(|bundled| bundled.name.clone()).collect();
    if let Some(deployed) = flows.listening(Some(edge.now_ms())) {
        names.extend(deployed);
        return Ok(names);
    }
    match deployed(edge).await {
        Ok(deployed) => {
            flows.listen(&deployed, edge.now_ms());
            names.extend(deployed);
        }
        Err(why) => {
            edge.log(Level::Error, "flow_listeners", json!({ "error": why }));
            let known = flows.listening(None);
            names.extend(known.ok_or_else(|| Failure::retryable("flow_unreachable", why).cut())?);
        }
    }
    Ok(names)
}

async fn deployed(edge: &Edge) -> Result<Vec<FlowName>, String> {
    let asked = Database::all(edge.databases()).map(|database| async move {
        let statement = sql::flows_begun_by("Flow", MAX_FLOWS_LISTED);
        let asked = within(edge, CRON_D1_MS, edge.d1(database, vec![statement])).await;
        asked.unwrap_or_else(|| Err("no answer in time".to_owned()))
    });
    let results: Vec<Vec<Rows>> = try_join_all(asked).await?;
    let rows = results.iter().flatten();
    Ok(rows.flat_map(names_in).collect())
}

/// Names of flows, from rows of their keys.
pub(in crate::runtime) fn names_in(rows: &Rows) -> Vec<FlowName> {
    let keys = rows.rows.iter().filter_map(|row| row.get("key"));
    keys.filter_map(|key| {
        let (namespace, id) = Value::as_str(key)?.split_once('/')?;
        FlowName::read(namespace, id)
    })
    .collect()
}
