//! What each route does with idempotency keys: one structure, made from the configuration, from which the document
//! `/.well-known/idempotency` and the pages below `/policy` are made. The IETF draft asks that it be
//! published (draft-ietf-httpapi-idempotency-key-header-07, 2.3).
//!
//! It names no secret, no tenant and no header field but those that a sender has to set.

use super::body::Rule;
use super::code::Code;
use super::policy_parts::{fingerprint, hashes, keys, links, places, prefer, retention};
use super::profile::{CallRules, KeySyntax};

pub use super::policy_parts::{
    FingerprintPolicy, KeyPolicy, LinkPolicy, PreferPolicy, RetentionPolicy, StatusPolicy,
};
use crate::config::{App, Gateway, Named, Source, Tenant};
use crate::types::{Answer, TaskKind};
use crate::webhook::{FingerprintMode, KeyRule};
use serde::Serialize;
use serde_json::json;

/// Seconds that the document and its pages may be kept: a deploy changes them.
pub const MAX_AGE_S: u32 = 300;
/// How the name of the function begins that a gateway sends with.
pub const GATEWAY: &str = "proxy:";
/// How the names of flows' functions begin.
const FLOWS: &str = crate::function::flow::PREFIX;
/// The policy of one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct RoutePolicy {
    /// Its address.
    pub path: String,
    /// `webhook`, `call` or `gateway`.
    pub mode: &'static str,
    /// Methods that carry a key.
    pub methods: Vec<String>,
    /// The contract that the settings began as; calls only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<&'static str>,
    /// `signature`, `bearer` or `none`.
    pub authentication: &'static str,
    /// Types of bodies; none named: any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// Bodies may be packed with `gzip`.
    pub compressed: bool,
    /// Its keys.
    pub key: KeyPolicy,
    /// What else makes two equal keys two tasks.
    pub scope: &'static [&'static str],
    /// What must be equal.
    pub fingerprint: FingerprintPolicy,
    /// What is answered when.
    pub statuses: StatusPolicy,
    /// How long answers are kept.
    pub retention: RetentionPolicy,
    /// How long a sender waits for the answer before it gets a 202, in milliseconds.
    pub respond_within_ms: u64,
    /// Which preferences are honoured.
    pub prefer: PreferPolicy,
    /// Where to read on.
    pub links: LinkPolicy,
}

/// The address of a route's page.
///
/// ```
/// use onceward::{http::policy::address, types::TaskKind};
/// assert_eq!(address(TaskKind::Source, "github"), "/policy/hooks/github");
/// assert_eq!(address(TaskKind::Function, "proxy:payments"), "/policy/proxy/payments");
/// ```
pub fn address(kind: TaskKind, name: &str) -> String {
    if name.starts_with(FLOWS) {
        // What a flow does with keys stands in its text.
        return String::new();
    }
    match kind {
        TaskKind::Source => format!("/policy/hooks/{name}"),
        TaskKind::Function => match name.strip_prefix(GATEWAY) {
            Some(name) => format!("/policy/proxy/{name}"),
            None => format!("/policy/functions/{name}"),
        },
    }
}

impl RoutePolicy {
    /// Of a source and its function.
    pub fn of_source<F: Named>(source: &Source, function: &F) -> Self {
        let policy = &source.over(function.policy());
        let has = |rule: KeyRule| source.key_rules().contains(&rule);
        let syntax = if has(KeyRule::IdempotencyKey) {
            KeySyntax::Lenient.as_str()
        } else if has(KeyRule::IdempotencyKeyStrict) {
            KeySyntax::Strict.as_str()
        } else {
            "value"
        };
        let by_content = has(KeyRule::SignedBytes) || source.provider().split.is_some();
        let hashed = source.key_rules().iter().any(hashes) || source.provider().split.is_some();
        let unfinished = source
            .provider()
            .ack
            .dress(Answer::json(202, &json!({})), b"");
        let tenant = match source.tenant_rule() {
            Tenant::Path => "/{tenant}",
            Tenant::Fixed(_) | Tenant::Header(_) | Tenant::Body(_) => "",
        };
        Self {
            path: format!("/hooks/{}{tenant}", source.name()),
            mode: "webhook",
            methods: vec!["POST".to_owned()],
            profile: None,
            authentication: if source.scheme().is_signed() {
                "signature"
            } else {
                "none"
            },
            accepts: source.content_types().to_vec(),
            compressed: source.encoding() != Rule::Refuse,
            key: KeyPolicy {
                required: !by_content,
                sources: places(source),
                syntax,
                others: if hashed { "hashed" } else { "refused" },
                without: if by_content { "content" } else { "refused" },
                ..keys(None)
            },
            scope: &["source", "tenant"],
            fingerprint: fingerprint(source.fingerprint_mode()),
            statuses: StatusPolicy {
                missing: Code::KeyMissing.status(),
                malformed: Code::KeyMalformed.status(),
                mismatch: Code::KeyReused.status(),
                in_flight: unfinished.status,
                accepted: unfinished.status,
            },
            retention: retention(policy),
            respond_within_ms: policy.respond_within_ms,
            prefer: prefer(),
            links: links(TaskKind::Source, source.name()),
        }
    }

    /// Of a function that is called.
    pub fn of_function<F: Named>(function: &F) -> Self {
        let rules: CallRules = function.rules();
        let policy = &rules.over(function.policy());
        Self {
            path: format!("/v1/functions/{}", function.name()),
            mode: "call",
            methods: vec!["POST".to_owned()],
            profile: Some(rules.profile.as_str()),
            authentication: "bearer",
            accepts: rules.accepts.clone(),
            compressed: true,
            key: KeyPolicy {
                required: rules.key_required,
                without: if rules.key_required { "refused" } else { "run" },
                sources: vec![KeyRule::IdempotencyKey.place()],
                syntax: rules.key.as_str(),
                echoed: rules.echo_key,
                ..keys(rules.key_pattern.as_ref())
            },
            scope: &["function", "tenant"],
            fingerprint: fingerprint(&FingerprintMode::Raw),
            statuses: StatusPolicy {
                missing: rules.status_missing,
                malformed: Code::KeyMalformed.status(),
                mismatch: rules.status_mismatch,
                in_flight: rules.status_in_flight,
                accepted: 202,
            },
            retention: retention(policy),
            respond_within_ms: policy.respond_within_ms,
            prefer: prefer(),
            links: links(TaskKind::Function, function.name()),
        }
    }

    /// Of a gateway.
    pub fn of_gateway(gateway: &Gateway) -> Self {
        let (rules, policy) = (CallRules::default(), gateway.policy());
        Self {
            path: format!("/proxy/{}/…", gateway.name()),
            mode: "gateway",
            methods: gateway.methods().to_vec(),
            profile: None,
            authentication: "bearer",
            accepts: Vec::new(),
            compressed: false,
            key: KeyPolicy {
                sources: vec![KeyRule::IdempotencyKey.place()],
                ..keys(None)
            },
            scope: &["gateway", "tenant"],
            fingerprint: fingerprint(&FingerprintMode::Raw),
            statuses: StatusPolicy {
                missing: rules.status_missing,
                malformed: Code::KeyMalformed.status(),
                mismatch: rules.status_mismatch,
                in_flight: rules.status_in_flight,
                accepted: 202,
            },
            retention: retention(&policy),
            respond_within_ms: policy.respond_within_ms,
            prefer: prefer(),
            links: links(TaskKind::Function, &gateway.function_name()),
        }
    }

    /// Of every source, function and gateway, by name.
    pub fn all<F: Named>(app: &App<F>) -> Vec<Self> {
        let sources = app.sources().filter_map(|source| {
            let function = app.function(source.function())?;
            Some(Self::of_source(source, function))
        });
        let functions = app
            .functions()
            .filter(|function| !function.name().starts_with(GATEWAY));
        sources
            .chain(functions.map(Self::of_function))
            .chain(app.gateways().map(Self::of_gateway))
            .collect()
    }

    /// Of one of them.
    pub fn one<F: Named>(app: &App<F>, kind: TaskKind, name: &str) -> Option<Self> {
        match kind {
            TaskKind::Source => {
                let source = app.source(name)?;
                Some(Self::of_source(source, app.function(source.function())?))
            }
            TaskKind::Function => match name.strip_prefix(GATEWAY) {
                Some(name) => app.gateway(name).map(Self::of_gateway),
                None => app.function(name).map(Self::of_function),
            },
        }
    }
}

/// The answer to `GET /.well-known/idempotency`.
///
/// ```
/// use onceward::config::{Builder, Source};
/// use onceward::function::{Ctx, Function};
/// use onceward::http::policy::document;
/// use onceward::types::Failure;
///
/// async fn greet(_: Ctx, name: String) -> Result<String, Failure> { Ok(name) }
/// let app = Builder::new()
///     .function(Function::new("greet", greet))
///     .source(Source::generic("inbox").runs("greet"))
///     .build()
///     .unwrap();
/// let shown: serde_json::Value = serde_json::from_slice(&document(&app).body).unwrap();
/// assert_eq!(shown["routes"][0]["path"], "/hooks/inbox");
/// assert_eq!(shown["routes"][1]["key"]["max_chars"], 255);
/// ```
pub fn document<F: Named>(app: &App<F>) -> Answer {
    let routes = RoutePolicy::all(app);
    let links = json!({ "policies": "/policy", "errors": "/errors" });
    let mut answer = Answer::json(200, &json!({ "routes": routes, "links": links }));
    let cache = format!("public, max-age={MAX_AGE_S}");
    answer.headers.push("cache-control", cache);
    answer.headers.push("x-content-type-options", "nosniff");
    answer
}
