//! A flow within a flow: what it is begun with.

use super::pen::Pen;
use super::roots::labels_of;
use crate::flow::expression::Stop;
use crate::flow::model::Subflow;
use serde_json::{Map, Value};

/// Another flow, and how it is waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowAct {
    /// Namespace.
    pub namespace: String,
    /// Flow.
    pub flow_id: String,
    /// Inputs.
    pub inputs: Map<String, Value>,
    /// Labels, those that it inherits among them.
    pub labels: Map<String, Value>,
    /// Whether its end is waited for.
    pub wait: bool,
    /// Whether its failure is one of the task.
    pub transmit_failed: bool,
}

pub(super) fn begin(pen: &Pen, subflow: &Subflow) -> Result<SubflowAct, Stop> {
    let inputs = match pen.optional(subflow.inputs.as_ref())? {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let mut labels = Map::new();
    if subflow.inherit_labels
        && let Some(own) = pen.scope.roots.get("labels")
    {
        flatten("", own, &mut labels);
    }
    // A chain of executions has one of these.
    let correlation = pen
        .scope
        .roots
        .get("labels")
        .and_then(|l| l.pointer("/system/correlationId"));
    labels.retain(|name, _| !name.starts_with("system."));
    if let Some(correlation) = correlation {
        labels.insert("system.correlationId".to_owned(), correlation.clone());
    }
    if let Some(more) = pen.optional(subflow.labels.as_ref())? {
        labels.extend(labels_of(&more));
    }
    Ok(SubflowAct {
        namespace: pen.text(&subflow.namespace)?,
        flow_id: pen.text(&subflow.flow_id)?,
        inputs,
        labels,
        wait: pen.flag(subflow.wait.as_ref(), true)?,
        transmit_failed: pen.flag(subflow.transmit_failed.as_ref(), true)?,
    })
}

fn flatten(prefix: &str, value: &Value, out: &mut Map<String, Value>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let name = if prefix.is_empty() {
                    name.clone()
                } else {
                    format!("{prefix}.{name}")
                };
                flatten(&name, value, out);
            }
        }
        other => {
            out.insert(prefix.to_owned(), other.clone());
        }
    }
}
