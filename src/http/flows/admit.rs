//! Whether a delivery may begin an execution of a flow, and which. The order of checks is that of the contract; what
//! a flow adds to it comes last: conditions, then inputs. Nothing is begun where one of them does not hold, but a
//! delivery whose task is there already gets its answer all the same.

use super::FlowName;
use super::conditions::hold;
use super::inputs::{
    Begins, Halt, Instead, faults, inputs_invalid, labelled, roots_with, unrendered,
};
use super::{kept_headers, not_here};
use crate::config::Source;
use crate::flow::expression::{Outside, Scope, Stop};
use crate::flow::model::{Flow, Property, Webhook};
use crate::flow::plan::{self, Frame, History, Meta, Received};
use crate::function::flow::{Begun, FlowInput, FlowRef, policy};
use crate::http::admit::{Admitted, Delivery, Mode, about, closely, key_at, unreadable, wishes};
use crate::http::code::Code;
use crate::http::hook::material;
use crate::http::problem::{Cause, Problem};
use crate::limits::MAX_RESPOND_WITHIN_MS;
use crate::types::{Headers, Policy, TaskKey, TaskKind};
use crate::webhook::{
    Document, Fingerprint, FingerprintMode, KeyRule, KeySource, Pointer, Proof, hex,
};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// A delivery that may use a webhook: its signature holds, its body is unpacked.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The flow.
    pub name: &'a FlowName,
    /// Its revision.
    pub revision: &'a FlowRef,
    /// What is in it.
    pub flow: &'a Flow,
    /// The webhook.
    pub webhook: &'a Webhook,
    /// Its head.
    pub delivery: &'a Delivery<'a>,
    /// What stands behind the key in the address.
    pub tail: &'a str,
    /// Its bytes.
    pub body: &'a [u8],
    /// What the signature proves, and the source that it was checked with.
    pub proof: Option<(&'a Source, &'a Proof)>,
    /// Random: names a task that no key names.
    pub fresh: &'a str,
    /// Milliseconds since 1970.
    pub now_ms: u64,
}

/// Decides about a delivery.
///
/// # Errors
/// The first check that does not hold, or what has to be looked up before it can be told.
pub fn admit(seen: &Seen<'_>, outside: &dyn Outside) -> Result<Begins, Halt> {
    let webhook = seen.webhook;
    let (_, query) = seen.delivery.target.split_once('?').unwrap_or_default();
    let mut received = Received {
        method: seen.delivery.method.to_owned(),
        query: query.to_owned(),
        path: seen.tail.strip_prefix('/').unwrap_or_default().to_owned(),
        headers: kept_headers(seen.delivery.headers),
        body: seen.body.to_vec(),
    };
    let trigger = plan::variables(webhook, &received);
    let key = key_in(seen, &trigger, outside)?;
    let on = webhook.idempotency.on;
    let own = if on { key.clone().unwrap_or_default() } else { seen.fresh.to_owned() };
    let task_key = TaskKey::new(TaskKind::Source, &seen.name.function(), "", &own);
    let about = labelled(seen.flow, about(seen.delivery.headers), key.as_deref(), &Map::new());
    let meta = Meta {
        execution_id: task_key.task_id().to_string(),
        started_ms: seen.now_ms,
        revision: seen.revision.revision,
        trigger,
        ..Meta::default()
    };
    let roots = roots_with(seen.flow, &meta, &about);
    let scope = Scope { roots: &roots, outside };
    let fingerprint = if on { fingerprint(seen, &scope)? } else { None };
    let unless = instead(seen, &scope)?;
    let policy = policy_of(seen);
    let rules = seen.proof.map_or(&[KeyRule::IdempotencyKey][..], |(source, _)| source.key_rules());
    let input = FlowInput {
        flow: seen.revision.clone(),
        begun: Begun::Webhook {
            trigger: webhook.id.clone(),
            method: std::mem::take(&mut received.method),
            query: std::mem::take(&mut received.query),
            path: std::mem::take(&mut received.path),
        },
        queued: !on,
        key,
        headers: received.headers,
        body: received.body,
        ..FlowInput::default()
    };
    Ok(Begins {
        admitted: Admitted {
            key: task_key,
            function: seen.name.function(),
            fingerprint,
            input: input.into_input(),
            prefer: wishes(rules, seen.delivery.headers),
            mode: Mode::Webhook {
                own_5xx: webhook.wait || seen.flow.answer.is_some(),
            },
            respond_within_ms: policy.respond_within_ms,
            about,
        },
        policy,
        unless,
    })
}

/// The key of a delivery: the trigger's own, the provider's, or that of the field. `None` only where none is needed.
fn key_in(seen: &Seen<'_>, trigger: &Value, outside: &dyn Outside) -> Result<Option<String>, Halt> {
    let on = seen.webhook.idempotency.on;
    let missing = |why: &str| {
        let detail = format!(
            "{why} Send one; or say in the trigger where the key is (`idempotency.key`), or that each delivery is run by itself (`idempotency: off`)."
        );
        Problem::new(Code::KeyMissing, detail)
    };
    if seen.webhook.idempotency.key.is_some() {
        let meta = Meta {
            started_ms: seen.now_ms,
            revision: seen.revision.revision,
            trigger: trigger.clone(),
            ..Meta::default()
        };
        let roots = plan::roots(seen.flow, &meta, &History::default(), &Frame::default());
        let scope = Scope { roots: &roots, outside };
        let text = match plan::key_of(seen.webhook, &scope) {
            Ok(text) => text.filter(|text| !text.is_empty() && text != "null"),
            Err(Stop::Failed(failure)) if on => {
                let why = format!("`idempotency.key` of the trigger has no value: {}.", failure.message);
                return Err(missing(&why).into());
            }
            Err(Stop::Failed(_)) => None,
            Err(stop) => return Err(stop.into()),
        };
        return match text {
            Some(text) => Ok(Some(literal(&text)?)),
            None if on => Err(missing("`idempotency.key` of the trigger is empty for this delivery.").into()),
            None => Ok(None),
        };
    }
    let content_type = seen.delivery.headers.get("content-type");
    let (rules, document, material) = match seen.proof {
        Some((source, proof)) if source.scheme().is_signed() => (
            source.key_rules(),
            Document::by_its_bytes(seen.body),
            material(source, proof, seen.body),
        ),
        Some((source, proof)) => (
            source.key_rules(),
            Document::new(content_type, seen.body),
            material(source, proof, seen.body),
        ),
        None => (&[KeyRule::IdempotencyKey][..], Document::new(content_type, seen.body), None),
    };
    let from = KeySource {
        headers: seen.delivery.headers,
        target: seen.delivery.target,
        document: &document,
        material,
    };
    let rules = closely(rules, wishes(rules, seen.delivery.headers));
    match key_at(&rules, &from) {
        Ok(key) => Ok(Some(key)),
        Err(problem) if problem.code == Code::KeyMissing && !on => Ok(None),
        Err(problem) if problem.code == Code::KeyMissing => Err(missing(&problem.detail).into()),
        Err(problem) => Err(problem.into()),
    }
}

/// A text as a key, by the rules of a text in a body.
fn literal(text: &str) -> Result<String, Problem> {
    let body = json!({ "key": text }).to_string();
    let document = Document::new(Some("application/json"), body.as_bytes());
    let from = KeySource {
        headers: &Headers::default(),
        target: "",
        document: &document,
        material: None,
    };
    let pointer = Pointer::new("/key").map_err(|_| not_here())?;
    key_at(&[KeyRule::Body(pointer)], &from)
}

/// What has to be equal under one key.
fn fingerprint(seen: &Seen<'_>, scope: &Scope) -> Result<Option<Fingerprint>, Halt> {
    let mode = match (&seen.webhook.idempotency.fingerprint, seen.proof) {
        (None, None) => FingerprintMode::Raw,
        (None, Some((source, _))) => source.fingerprint_mode().clone(),
        (Some(Property::Literal(Value::Bool(false))), _) => FingerprintMode::Off,
        (Some(property), _) => {
            let value = match property.render(scope) {
                Ok(rendered) => rendered.value,
                Err(Stop::Failed(failure)) => {
                    return Err(unrendered("idempotency.fingerprint", &failure).into());
                }
                Err(stop) => return Err(stop.into()),
            };
            let hash = hex(&Sha256::digest(value.to_string().as_bytes()));
            return Ok(Some(Fingerprint { hash, parts: Vec::new() }));
        }
    };
    let document = Document::new(seen.delivery.headers.get("content-type"), seen.body);
    let delivery = seen.delivery;
    let made = mode.of(delivery.method, delivery.target, &document);
    Ok(made.map_err(unreadable)?)
}

/// What is answered instead of beginning something, if conditions or inputs do not hold.
fn instead(seen: &Seen<'_>, scope: &Scope) -> Result<Option<Instead>, Halt> {
    let webhook = seen.webhook;
    match hold(&webhook.conditions, scope, None, (seen.now_ms, &TimeZone::UTC)) {
        Ok(true) => {}
        Ok(false) => return Ok(Some(Instead::NoContent)),
        Err(Stop::Failed(failure)) => {
            return Ok(Some(Instead::Refused(unrendered("conditions", &failure))));
        }
        Err(stop) => return Err(stop.into()),
    }
    let (mut given, mut secrets, mut wrong) = (Map::new(), Vec::new(), Vec::new());
    for (name, property) in &webhook.inputs {
        match property.render(scope) {
            Ok(rendered) => {
                secrets.extend(rendered.secrets);
                given.insert(name.clone(), rendered.value);
            }
            Err(Stop::Failed(failure)) => wrong.push(Cause {
                detail: failure.message,
                pointer: name.clone(),
            }),
            Err(stop) => return Err(stop.into()),
        }
    }
    if wrong.is_empty() {
        wrong = faults(seen.flow, &given, scope, &secrets)?;
    }
    Ok((!wrong.is_empty()).then(|| Instead::Refused(inputs_invalid(wrong))))
}

fn policy_of(seen: &Seen<'_>) -> Policy {
    let mut policy = policy();
    if let Some(ms) = seen.webhook.idempotency.retention_ms {
        policy.retention_succeeded_ms = ms;
        policy.retention_failed_ms = ms;
    }
    if let Some((source, _)) = seen.proof {
        policy = source.over(&policy);
    }
    if seen.webhook.wait {
        policy.respond_within_ms = MAX_RESPOND_WITHIN_MS;
    }
    policy
}
