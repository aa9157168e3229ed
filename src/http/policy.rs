//! What each route does with idempotency keys: one structure, made from the configuration, from which the document
//! `/.well-known/idempotency` and the pages below `/policy` are made. The IETF draft asks that it be
//! published (draft-ietf-httpapi-idempotency-key-header-07, 2.3).
//!
//! It names no secret, no tenant and no header field but those that a sender has to set.

use super::body::Rule;
use super::code::Code;
use super::profile::{CallRules, KeySyntax};
use crate::config::{App, Named, Source, Tenant};
use crate::limits::{MAX_KEY_CHARS, MAX_PREFER_WAIT_MS};
use crate::types::{AfterExpiry, Answer, Keeps, Policy, TaskKind};
use crate::webhook::{FingerprintMode, KeyPattern, KeyRule, Pointer};
use serde::Serialize;
use serde_json::json;

/// Seconds that the document and its pages may be kept: a deploy changes them.
pub const MAX_AGE_S: u32 = 300;
/// Preferences that deliveries and calls honour (RFC 7240).
const HONOURED: &[&str] = &[
    "respond-async",
    "wait",
    "return=minimal",
    "return=representation",
    "handling=strict",
    "handling=lenient",
];

/// Where the keys of a route are found and what they look like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyPolicy {
    /// A request without a key is refused.
    pub required: bool,
    /// Where it is looked for, in order; the first that is there decides.
    pub sources: Vec<String>,
    /// `lenient`: `"abc"` or `abc`; `strict`: `"abc"` only; `value`: the whole value as it stands.
    pub syntax: &'static str,
    /// Fewest characters.
    pub min_chars: usize,
    /// Most characters.
    pub max_chars: usize,
    /// The accepted keys as a regular expression.
    pub pattern: String,
    /// It comes back in `Idempotency-Key`.
    pub echoed: bool,
}

/// What must be equal under the same key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FingerprintPolicy {
    /// `raw`, `off`, `canonical`, `only` or `except`.
    pub mode: &'static str,
    /// JSON pointers of `only` and `except`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pointers: Vec<String>,
}

/// Statuses that a repeat or a wrong key can get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StatusPolicy {
    /// No key, where one is required.
    pub missing: u16,
    /// No usable key.
    pub malformed: u16,
    /// Another request under the same key.
    pub mismatch: u16,
    /// A repeat while the first one runs, after the wait.
    pub in_flight: u16,
    /// A first delivery that is not done in time.
    pub accepted: u16,
}

/// How long answers are kept. Milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RetentionPolicy {
    /// After a success.
    pub succeeded_ms: u64,
    /// After a failure or a cancellation.
    pub failed_ms: u64,
    /// What a key means afterwards: `new`, a new request, or `expired`, refused with 410.
    pub after_expiry: &'static str,
    /// For how long it is refused; then it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expired_for_ms: Option<u64>,
    /// Which answers are kept: `all`, `below_500` or `success`.
    pub stored: &'static str,
}

/// Which preferences are honoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PreferPolicy {
    /// By name, with their values.
    pub honoured: &'static [&'static str],
    /// Longest wait that is granted, in seconds.
    pub wait_max_s: u64,
}

/// Where to read on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkPolicy {
    /// The same as a page.
    pub policy: String,
    /// All errors.
    pub errors: &'static str,
}

/// The policy of one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoutePolicy {
    /// Its address.
    pub path: String,
    /// `webhook` or `call`.
    pub mode: &'static str,
    /// Methods that carry a key.
    pub methods: &'static [&'static str],
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
/// ```
pub fn address(kind: TaskKind, name: &str) -> String {
    match kind {
        TaskKind::Source => format!("/policy/hooks/{name}"),
        TaskKind::Function => format!("/policy/functions/{name}"),
    }
}

impl RoutePolicy {
    /// Of a source and its function.
    pub fn of_source<F: Named>(source: &Source, function: &F) -> Self {
        let policy = function.policy();
        let has = |rule: KeyRule| source.key_rules().contains(&rule);
        let syntax = if has(KeyRule::IdempotencyKey) {
            KeySyntax::Lenient.as_str()
        } else if has(KeyRule::IdempotencyKeyStrict) {
            KeySyntax::Strict.as_str()
        } else {
            "value"
        };
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
            methods: &["POST"],
            profile: None,
            authentication: if source.scheme().is_signed() {
                "signature"
            } else {
                "none"
            },
            accepts: source.content_types().to_vec(),
            compressed: source.encoding() != Rule::Refuse,
            key: KeyPolicy {
                required: true,
                sources: places(source),
                syntax,
                echoed: false,
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
            respond_within_ms: source
                .own_respond_within_ms()
                .unwrap_or(policy.respond_within_ms),
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
            methods: &["POST"],
            profile: Some(rules.profile.as_str()),
            authentication: "bearer",
            accepts: rules.accepts.clone(),
            compressed: false,
            key: KeyPolicy {
                required: rules.key_required,
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

    /// Of every source and function, by name.
    pub fn all<F: Named>(app: &App<F>) -> Vec<Self> {
        let sources = app.sources().filter_map(|source| {
            let function = app.function(source.function())?;
            Some(Self::of_source(source, function))
        });
        sources
            .chain(app.functions().map(Self::of_function))
            .collect()
    }

    /// Of one of them.
    pub fn one<F: Named>(app: &App<F>, kind: TaskKind, name: &str) -> Option<Self> {
        match kind {
            TaskKind::Source => {
                let source = app.source(name)?;
                Some(Self::of_source(source, app.function(source.function())?))
            }
            TaskKind::Function => app.function(name).map(Self::of_function),
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

/// Lengths and characters; the rest is the route's.
fn keys(pattern: Option<&KeyPattern>) -> KeyPolicy {
    let (min_chars, max_chars) = pattern.map_or((1, MAX_KEY_CHARS), KeyPattern::chars);
    let pattern = match pattern {
        Some(pattern) => format!("^{pattern}$"),
        None => format!("^[!-~]{{{min_chars},{max_chars}}}$"),
    };
    KeyPolicy {
        required: true,
        sources: Vec::new(),
        syntax: KeySyntax::Lenient.as_str(),
        min_chars,
        max_chars,
        pattern,
        echoed: false,
    }
}

/// Where the keys of a source are looked for: in each item where a delivery is taken apart.
fn places(source: &Source) -> Vec<String> {
    let rules = source.key_rules().iter().map(KeyRule::place);
    match &source.provider().split {
        Some(split) => vec![format!(
            "{} of each item of {}",
            split.key,
            list(&split.list)
        )],
        None => rules.collect(),
    }
}

fn list(items: &Pointer) -> String {
    if items.tokens().is_empty() {
        "the body".to_owned()
    } else {
        format!("{items} of the body")
    }
}

fn fingerprint(mode: &FingerprintMode) -> FingerprintPolicy {
    let (mode, pointers): (_, &[Pointer]) = match mode {
        FingerprintMode::Raw => ("raw", &[]),
        FingerprintMode::Off => ("off", &[]),
        FingerprintMode::Canonical => ("canonical", &[]),
        FingerprintMode::Only(pointers) => ("only", pointers),
        FingerprintMode::Except(pointers) => ("except", pointers),
    };
    FingerprintPolicy {
        mode,
        pointers: pointers.iter().map(ToString::to_string).collect(),
    }
}

fn retention(policy: &Policy) -> RetentionPolicy {
    let (after_expiry, expired_for_ms) = match policy.after_expiry {
        AfterExpiry::New => ("new", None),
        AfterExpiry::Gone { tombstone_ms } => ("expired", Some(tombstone_ms)),
    };
    RetentionPolicy {
        succeeded_ms: policy.retention_succeeded_ms,
        failed_ms: policy.retention_failed_ms,
        after_expiry,
        expired_for_ms,
        stored: match policy.keeps {
            Keeps::All => "all",
            Keeps::Below500 => "below_500",
            Keeps::Success => "success",
        },
    }
}

fn prefer() -> PreferPolicy {
    PreferPolicy {
        honoured: HONOURED,
        wait_max_s: MAX_PREFER_WAIT_MS / 1_000,
    }
}

fn links(kind: TaskKind, name: &str) -> LinkPolicy {
    LinkPolicy {
        policy: address(kind, name),
        errors: "/errors",
    }
}
