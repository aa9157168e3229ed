//! Whether a call may begin an execution of a flow.

use super::inputs::{Begins, invalid_inputs, labelled, unrendered};
use super::{FlowName, kept_headers};
use crate::flow::model::Flow;
use crate::function::flow::{Begun, FlowInput, FlowRef, Secrets, check_call, policy};
use crate::http::admit::{Admitted, Delivery, Mode, about, unreadable};
use crate::http::prefer::Prefer;
use crate::http::problem::Problem;
use crate::types::{TaskKey, TaskKind};
use crate::webhook::{Document, FingerprintMode};
use serde_json::{Map, Value};

/// A call of a flow.
#[derive(Clone, Copy, Debug)]
pub struct CallOf<'a> {
    /// The flow.
    pub name: &'a FlowName,
    /// Its revision.
    pub revision: &'a FlowRef,
    /// What is in it.
    pub flow: &'a Flow,
    /// Its head.
    pub delivery: &'a Delivery<'a>,
    /// Its bytes, unpacked: the inputs in JSON.
    pub body: &'a [u8],
    /// Tenant of the caller.
    pub tenant: &'a str,
    /// Labels that the caller gives.
    pub labels: &'a Map<String, Value>,
    /// The idempotency key.
    pub key: &'a str,
}

/// Decides about a call.
///
/// # Errors
/// 422 with everything that is wrong with the inputs.
pub fn admit_call(call: &CallOf<'_>, secrets: &Secrets) -> Result<Begins, Problem> {
    let problems = check_call(call.flow, call.body, secrets);
    let problems = problems.map_err(|failure| unrendered(&failure))?;
    if !problems.is_empty() {
        return Err(invalid_inputs(problems));
    }
    let delivery = call.delivery;
    let document = Document::new(delivery.headers.get("content-type"), call.body);
    let fingerprint = FingerprintMode::Raw.of(delivery.method, delivery.target, &document);
    let input = FlowInput {
        flow: call.revision.clone(),
        begun: Begun::Call,
        key: Some(call.key.to_owned()),
        labels: call.labels.clone(),
        headers: kept_headers(delivery.headers),
        body: call.body.to_vec(),
        ..FlowInput::default()
    };
    let policy = policy();
    let about = about(delivery.headers);
    Ok(Begins {
        admitted: Admitted {
            key: TaskKey::new(
                TaskKind::Function,
                &call.name.function(),
                call.tenant,
                call.key,
            ),
            function: call.name.function(),
            fingerprint: fingerprint.map_err(unreadable)?,
            input: input.into_input(),
            prefer: Prefer::read(delivery.headers),
            mode: Mode::Call,
            respond_within_ms: policy.respond_within_ms,
            about: labelled(call.flow, about, Some(call.key), call.labels),
        },
        policy,
    })
}
