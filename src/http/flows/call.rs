//! Whether a call may begin an execution of a flow.

use super::FlowName;
use super::inputs::{Begins, Halt, Instead, faults, given_of, inputs_invalid, labelled, roots_with};
use super::kept_headers;
use crate::flow::expression::{Outside, Scope};
use crate::flow::model::Flow;
use crate::flow::plan::Meta;
use crate::function::flow::{Begun, FlowInput, FlowRef, policy};
use crate::http::admit::{Admitted, Delivery, Mode, about, unreadable};
use crate::http::prefer::Prefer;
use crate::http::problem::Cause;
use crate::types::{TaskKey, TaskKind};
use crate::webhook::{Document, FingerprintMode};
use serde_json::{Map, Value};

/// A call of a flow.
#[derive(Clone, Copy)]
pub struct CallOf<'a> {
    /// The flow.
    pub name: &'a FlowName,
    /// Its revision.
    pub revision: &'a FlowRef,
    /// What is in it.
    pub flow: &'a Flow,
    /// Its head.
    pub delivery: &'a Delivery<'a>,
    /// Its bytes, unpacked.
    pub body: &'a [u8],
    /// Tenant of the caller.
    pub tenant: &'a str,
    /// Labels that the caller gives.
    pub labels: &'a Map<String, Value>,
    /// Milliseconds since 1970.
    pub now_ms: u64,
}

/// Decides about a call: its key is checked before (`key`).
///
/// # Errors
/// 422 with everything that is wrong with the inputs, or what has to be looked up before that can be told.
pub fn admit_call(call: &CallOf<'_>, key: &str, outside: &dyn Outside) -> Result<Begins, Halt> {
    let task_key = TaskKey::new(TaskKind::Function, &call.name.function(), call.tenant, key);
    let about = labelled(call.flow, about(call.delivery.headers), Some(key), call.labels);
    let meta = Meta {
        execution_id: task_key.task_id().to_string(),
        started_ms: call.now_ms,
        revision: call.revision.revision,
        ..Meta::default()
    };
    let roots = roots_with(call.flow, &meta, &about);
    let scope = Scope { roots: &roots, outside };
    let content_type = call.delivery.headers.get("content-type");
    let document = Document::new(content_type, call.body);
    let delivery = call.delivery;
    let fingerprint = FingerprintMode::Raw.of(delivery.method, delivery.target, &document);
    let fingerprint = fingerprint.map_err(unreadable)?;
    let unless = match given_of(call.body) {
        Ok(given) => {
            let wrong = faults(call.flow, &given, &scope, &[])?;
            (!wrong.is_empty()).then(|| Instead::Refused(inputs_invalid(wrong)))
        }
        Err(detail) => {
            let pointer = String::new();
            Some(Instead::Refused(inputs_invalid(vec![Cause { detail, pointer }])))
        }
    };
    let input = FlowInput {
        flow: call.revision.clone(),
        begun: Begun::Call,
        key: Some(key.to_owned()),
        labels: call.labels.clone(),
        headers: kept_headers(call.delivery.headers),
        body: call.body.to_vec(),
        ..FlowInput::default()
    };
    let policy = policy();
    Ok(Begins {
        admitted: Admitted {
            key: task_key,
            function: call.name.function(),
            fingerprint,
            input: input.into_input(),
            prefer: Prefer::read(call.delivery.headers),
            mode: Mode::Call,
            respond_within_ms: policy.respond_within_ms,
            about,
        },
        policy,
        unless,
    })
}
