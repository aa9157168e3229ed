//! Whether a delivery may begin an execution of a flow, and which. The order of checks is that of the contract; what
//! a flow adds to it comes last: conditions and inputs.

use super::inputs::{Begins, invalid_inputs, labelled, unrendered};
use super::{FlowName, kept_headers, not_here};
use crate::config::Source;
use crate::flow::expression::{Scope, Stop};
use crate::flow::model::{Flow, Property, Webhook};
use crate::flow::plan::{self, Frame, History, Meta, Received};
use crate::function::flow::{Arrival, Arrived, FlowRef, Secrets, arrive, policy};
use crate::http::admit::{Admitted, Delivery, Mode, about, closely, key_at, unreadable, wishes};
use crate::http::code::Code;
use crate::http::problem::Problem;
use crate::http::prove::material;
use crate::limits::MAX_RESPOND_WITHIN_MS;
use crate::types::{Headers, Policy, TaskKey, TaskKind};
use crate::webhook::{
    Document, Fingerprint, FingerprintMode, KeyRule, KeySource, Pointer, Proof, hex,
};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// Where a key is looked for without a provider.
const FIELD: &[KeyRule] = &[KeyRule::IdempotencyKey];

/// A delivery that may use a webhook: its signature holds, its body is unpacked.
#[derive(Clone, Copy, Debug)]
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
}

/// Decides about a delivery. `None`: a condition of the trigger does not hold, so there is nothing to do.
///
/// # Errors
/// The first check that does not hold.
pub fn admit(seen: &Seen<'_>, secrets: &Secrets) -> Result<Option<Begins>, Problem> {
    let webhook = seen.webhook;
    let on = webhook.idempotency.on;
    let (_, query) = seen.delivery.target.split_once('?').unwrap_or_default();
    let key = key_in(seen)?;
    let rules = rules_of(seen);
    let arrival = Arrival {
        method: seen.delivery.method.to_owned(),
        query: query.to_owned(),
        path: seen.tail.strip_prefix('/').unwrap_or_default().to_owned(),
        headers: kept_headers(seen.delivery.headers),
        body: seen.body.to_vec(),
        key,
    };
    let fingerprint = if on {
        fingerprint(seen, &arrival, secrets)?
    } else {
        None
    };
    let (key, mut input) = match arrive((seen.flow, seen.revision), webhook, arrival, secrets) {
        Arrived::Begin { key, input } => (key, input),
        Arrived::NotMeant => return Ok(None),
        Arrived::NoKey => return Err(missing("The delivery has no idempotency key.")),
        Arrived::Invalid(problems) => return Err(invalid_inputs(problems)),
        Arrived::Failed(failure) => return Err(unrendered(&failure)),
    };
    // What an expression makes may have any characters.
    input.key = input.key.map(|key| literal(&key)).transpose()?;
    let own = match key {
        Some(key) => literal(&key)?,
        None => seen.fresh.to_owned(),
    };
    let about = labelled(
        seen.flow,
        about(seen.delivery.headers),
        input.key.as_deref(),
        &Map::new(),
    );
    let policy = policy_of(seen);
    Ok(Some(Begins {
        admitted: Admitted {
            key: TaskKey::new(TaskKind::Source, &seen.name.function(), "", &own),
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
    }))
}

fn missing(why: &str) -> Problem {
    let detail = format!(
        "{why} Send one; or say in the trigger where it is (`idempotency.key`), or that each delivery is a task of its own (`idempotency: off`)."
    );
    Problem::new(Code::KeyMissing, detail)
}

/// Where the key is looked for, if the trigger has no expression for it.
fn rules_of<'a>(seen: &Seen<'a>) -> &'a [KeyRule] {
    seen.proof.map_or(FIELD, |(source, _)| source.key_rules())
}

/// The key that a delivery comes with: the provider's, or that of the field. `None` where the trigger has an expression
/// for it, or none is needed.
fn key_in(seen: &Seen<'_>) -> Result<Option<String>, Problem> {
    let idempotency = &seen.webhook.idempotency;
    if idempotency.key.is_some() {
        return Ok(None);
    }
    let content_type = seen.delivery.headers.get("content-type");
    let signed = seen
        .proof
        .is_some_and(|(source, _)| source.scheme().is_signed());
    let document = if signed {
        Document::by_its_bytes(seen.body)
    } else {
        Document::new(content_type, seen.body)
    };
    let from = KeySource {
        headers: seen.delivery.headers,
        target: seen.delivery.target,
        document: &document,
        material: seen
            .proof
            .and_then(|(source, proof)| material(source, proof, seen.body)),
    };
    let rules = rules_of(seen);
    match key_at(&closely(rules, wishes(rules, seen.delivery.headers)), &from) {
        Ok(key) => Ok(Some(key)),
        Err(problem) if problem.code == Code::KeyMissing && !idempotency.on => Ok(None),
        Err(problem) if problem.code == Code::KeyMissing => Err(missing(&format!(
            "{}.",
            problem.detail.trim_end_matches('.')
        ))),
        Err(problem) => Err(problem),
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
fn fingerprint(
    seen: &Seen<'_>,
    arrival: &Arrival,
    secrets: &Secrets,
) -> Result<Option<Fingerprint>, Problem> {
    let mode = match (&seen.webhook.idempotency.fingerprint, seen.proof) {
        (None, None) => FingerprintMode::Raw,
        (None, Some((source, _))) => source.fingerprint_mode().clone(),
        (Some(Property::Literal(Value::Bool(false))), _) => FingerprintMode::Off,
        (Some(property), _) => return own_fingerprint(property, seen, arrival, secrets),
    };
    let document = Document::new(seen.delivery.headers.get("content-type"), seen.body);
    let delivery = seen.delivery;
    let print = mode.of(delivery.method, delivery.target, &document);
    print.map_err(unreadable)
}

/// What the trigger's own expression makes of a delivery.
fn own_fingerprint(
    property: &Property,
    seen: &Seen<'_>,
    arrival: &Arrival,
    secrets: &Secrets,
) -> Result<Option<Fingerprint>, Problem> {
    let received = Received {
        method: arrival.method.clone(),
        query: arrival.query.clone(),
        path: arrival.path.clone(),
        headers: arrival.headers.clone(),
        body: arrival.body.clone(),
    };
    let meta = Meta {
        trigger: plan::variables(seen.webhook, &received),
        ..Meta::default()
    };
    let roots = plan::roots(seen.flow, &meta, &History::default(), &Frame::default());
    let scope = Scope {
        roots: &roots,
        outside: secrets,
    };
    match property.render(&scope) {
        Ok(rendered) => {
            let hash = hex(&Sha256::digest(rendered.value.to_string().as_bytes()));
            let parts = Vec::new();
            Ok(Some(Fingerprint { hash, parts }))
        }
        Err(Stop::Failed(failure)) => Err(unrendered(&failure)),
        Err(Stop::NeedsKv { .. } | Stop::NeedsNow) => Err(Problem::new(
            Code::InputInvalid,
            "idempotency.fingerprint sees the delivery and secrets: neither kv() nor now().",
        )
        .with_status(422)),
    }
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
