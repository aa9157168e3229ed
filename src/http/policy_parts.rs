//! What a policy is made of.

use super::policy::address;
use super::profile::KeySyntax;
use crate::config::Source;
use crate::limits::{MAX_KEY_CHARS, MAX_PREFER_WAIT_MS};
use crate::types::{AfterExpiry, Keeps, Policy, TaskKind};
use crate::webhook::{FingerprintMode, KeyPattern, KeyRule, Pointer};
use serde::Serialize;

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
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
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
    /// What becomes of a text of a body or an address that is not of that form: `refused` or `hashed`.
    pub others: &'static str,
    /// What becomes of a request without a key: `refused`, `run` (a run of its own) or `content` (its content
    /// is its key).
    pub without: &'static str,
    /// It comes back in `Idempotency-Key`.
    pub echoed: bool,
}

/// What must be equal under the same key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct FingerprintPolicy {
    /// `raw`, `off`, `canonical`, `only` or `except`.
    pub mode: &'static str,
    /// JSON pointers of `only` and `except`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pointers: Vec<String>,
}

/// Statuses that a repeat or a wrong key can get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
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
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
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
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct PreferPolicy {
    /// By name, with their values.
    pub honoured: &'static [&'static str],
    /// Longest wait that is granted, in seconds.
    pub wait_max_s: u64,
}

/// Where to read on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct LinkPolicy {
    /// The same as a page.
    pub policy: String,
    /// All errors.
    pub errors: &'static str,
}

/// Lengths and characters; the rest is the route's.
pub(super) fn keys(pattern: Option<&KeyPattern>) -> KeyPolicy {
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
        others: "refused",
        without: "refused",
        echoed: false,
    }
}

/// Whether a rule looks where people write for other purposes: what can't be a key is hashed there.
pub(super) fn hashes(rule: &KeyRule) -> bool {
    match rule {
        KeyRule::Query(_) | KeyRule::Body(_) | KeyRule::All(_) | KeyRule::Whole(_) => true,
        KeyRule::IdempotencyKey
        | KeyRule::IdempotencyKeyStrict
        | KeyRule::Header(_)
        | KeyRule::SignedBytes => false,
    }
}

/// Where the keys of a source are looked for: in each item where a delivery is taken apart.
pub(super) fn places(source: &Source) -> Vec<String> {
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

pub(super) fn fingerprint(mode: &FingerprintMode) -> FingerprintPolicy {
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

pub(super) fn retention(policy: &Policy) -> RetentionPolicy {
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

pub(super) fn prefer() -> PreferPolicy {
    PreferPolicy {
        honoured: HONOURED,
        wait_max_s: MAX_PREFER_WAIT_MS / 1_000,
    }
}

pub(super) fn links(kind: TaskKind, name: &str) -> LinkPolicy {
    LinkPolicy {
        policy: address(kind, name),
        errors: "/errors",
    }
}
