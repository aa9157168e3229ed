//! Whether a delivery may begin or join a task. The checks come in one order, so that whoever may
//! not send learns nothing about keys and nothing is reserved before a signature holds:
//!
//! 1. route: the source or function exists (404);
//! 2. size: declared length, body, kept header fields (413, 431);
//! 3. signature or token (401, 403; 500 where the secret is not usable);
//! 4. type of the body, where a function takes some only, and its coding (413, 415); nesting (400);
//! 5. key (400).
//!
//! What comes after, the object decides: fingerprint (422), in progress, stored answer.
//!
//! The edge calls [`check_call`] with the head of the request, reads at most [`READ_CAP`] bytes of body,
//! and calls [`admit_call`]. Webhooks have a file of their own, `hook`.

use super::auth::{Caller, Gate};
use super::body::{self, Rule};
use super::code::Code;
use super::headers::{keep_input, size};
use super::media;
use super::prefer::{Handling, Prefer};
use super::problem::Problem;
use super::profile::KeySyntax;
use crate::config::{App, Named};
use crate::limits::{MAX_BODY_BYTES, MAX_HEADER_BYTES};
use crate::types::{About, Headers, Input, TaskKey, TaskKind, Trace};
use crate::webhook::{
    Document, DocumentFault, Fingerprint, FingerprintMode, KeyProblem, KeyRule, KeySource, key,
    single,
};

/// Bytes of body that are worth reading: one more than is allowed shows that it is too large.
pub const READ_CAP: usize = MAX_BODY_BYTES + 1;

/// Header fields of a call that the function gets to see.
const KEPT_OF_CALLS: &[&str] = &["content-type", "user-agent"];

/// The head of a request.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// As sent.
    pub method: &'a str,
    /// Path and query as sent: part of the fingerprint.
    pub target: &'a str,
    /// All fields.
    pub headers: &'a Headers,
}

/// Whom the answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A machine that repeats what isn't answered by a fast 2xx; we own the retries.
    Webhook {
        /// It gets the function's own 5xx answers.
        own_5xx: bool,
    },
    /// A client that wants the result.
    Call,
}

/// A delivery that may begin or join a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Names the task.
    pub key: TaskKey,
    /// The function to run.
    pub function: String,
    /// What must be equal under the same key; `None`: not compared.
    pub fingerprint: Option<Fingerprint>,
    /// What the function gets.
    pub input: Input,
    /// What the client prefers.
    pub prefer: Prefer,
    /// Whom the answer is for.
    pub mode: Mode,
    /// How long the sender waits before it gets a 202.
    pub respond_within_ms: u64,
    /// Labels and trace.
    pub about: About,
}

/// Checks of the head of a call: the function exists, and nothing is too large as far as is known.
///
/// # Errors
/// 404, 413, 431.
pub fn check_call<'a, F: Named>(
    app: &'a App<F>,
    function: &str,
    delivery: &Delivery<'_>,
) -> Result<&'a F, Problem> {
    let function = app
        .function(function)
        .ok_or_else(|| Problem::new(Code::NotFound, "No function has this name."))?;
    fits(delivery, &kept_of_call(delivery.headers))?;
    Ok(function)
}

/// Decides about a call of a function. `fresh` is random: it names a call that needs no key.
///
/// # Errors
/// The first check that fails, as a problem to answer with. Its `reason` is for the log.
pub fn admit_call<F: Named>(
    app: &App<F>,
    function: &str,
    delivery: &Delivery<'_>,
    body: Vec<u8>,
    gate: &Gate,
    fresh: &str,
) -> Result<Admitted, Problem> {
    let function = check_call(app, function, delivery)?;
    body_fits(body.len())?;
    let Caller { tenant, .. } = gate.caller(delivery.headers)?;
    let rules = function.rules();
    media::check(delivery.headers, &rules.accepts)?;
    let content_type = delivery.headers.get("content-type");
    let body = body::decode(delivery.headers, body, Rule::Either)?.into_plain();
    body::check_nesting(content_type, &body)?;
    let mut prefer = Prefer::read(delivery.headers);
    let key = rules.key_of(delivery.headers, prefer, fresh)?;
    if rules.key == KeySyntax::Strict {
        // Asked to be lenient, it is not.
        prefer.handling = prefer.handling.filter(|h| *h == Handling::Strict);
    }
    let name = function.name();
    let document = Document::new(content_type, &body);
    let fingerprint = FingerprintMode::Raw
        .of(delivery.method, delivery.target, &document)
        .map_err(unreadable)?;
    Ok(Admitted {
        key: TaskKey::new(TaskKind::Function, name, &tenant, &key),
        function: name.to_owned(),
        fingerprint,
        input: Input {
            headers: kept_of_call(delivery.headers),
            body,
        },
        prefer,
        mode: Mode::Call,
        respond_within_ms: function.policy().respond_within_ms,
        about: about(delivery.headers),
    })
}

/// What the head of a delivery says about its task: the trace that it belongs to.
pub(super) fn about(headers: &Headers) -> About {
    let one = |name| single(headers, name).ok().flatten();
    About {
        trace: Trace::read(one("traceparent"), one("tracestate")),
        ..About::default()
    }
}

/// What a sender prefers. How closely its key is checked, it can say of the field `Idempotency-Key`
/// only: where the key stands elsewhere, there is nothing to be strict about.
pub(super) fn wishes(rules: &[KeyRule], headers: &Headers) -> Prefer {
    let mut prefer = Prefer::read(headers);
    if !rules.contains(&KeyRule::IdempotencyKey) {
        prefer.handling = None;
    }
    prefer
}

/// The rules by which a key is read if it is to be checked as the sender prefers.
pub(super) fn closely(rules: &[KeyRule], prefer: Prefer) -> Vec<KeyRule> {
    let strict = |rule: &KeyRule| match rule {
        KeyRule::IdempotencyKey if prefer.is_strict() => KeyRule::IdempotencyKeyStrict,
        other => other.clone(),
    };
    rules.iter().map(strict).collect()
}

fn kept_of_call(headers: &Headers) -> Headers {
    let allow: Vec<String> = KEPT_OF_CALLS.iter().map(ToString::to_string).collect();
    keep_input(headers, &allow)
}

/// The length that the head names; one that is too long to be read is longer than any limit.
pub(super) fn declared_bytes(delivery: &Delivery<'_>) -> Option<usize> {
    let text = delivery.headers.get("content-length")?;
    let number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    number.then(|| text.parse().unwrap_or(usize::MAX))
}

/// What the head tells about size. A length that can't be read is left to the count of the bytes.
pub(super) fn fits(delivery: &Delivery<'_>, kept: &Headers) -> Result<(), Problem> {
    body_fits(declared_bytes(delivery).unwrap_or(0))?;
    if size(kept) > MAX_HEADER_BYTES {
        return Err(Problem::new(
            Code::HeadersTooLarge,
            format!("The header fields that are kept take more than {MAX_HEADER_BYTES} bytes."),
        ));
    }
    Ok(())
}

pub(super) fn body_fits(bytes: usize) -> Result<(), Problem> {
    if bytes > MAX_BODY_BYTES {
        return Err(Problem::new(
            Code::BodyTooLarge,
            format!("The body has more than {MAX_BODY_BYTES} bytes."),
        ));
    }
    Ok(())
}

/// The key in the fields alone.
///
/// # Errors
/// 400 `key_missing` or `key_malformed`.
pub fn key_of(rules: &[KeyRule], headers: &Headers) -> Result<String, Problem> {
    let document = Document::new(None, b"");
    let from = KeySource {
        headers,
        target: "",
        document: &document,
        material: None,
    };
    key_at(rules, &from)
}

pub(super) fn key_at(rules: &[KeyRule], from: &KeySource<'_>) -> Result<String, Problem> {
    key::extract(rules, from).map_err(|problem| key_problem(&problem))
}

/// The answer to a missing or malformed key.
pub(super) fn key_problem(problem: &KeyProblem) -> Problem {
    let code = match problem {
        KeyProblem::Missing { .. } => Code::KeyMissing,
        KeyProblem::Malformed { .. } => Code::KeyMalformed,
    };
    Problem::new(code, problem.to_string())
}

/// What is to be compared stands in a body that can't be read.
pub(super) fn unreadable(fault: DocumentFault) -> Problem {
    Problem::new(Code::InputInvalid, format!("Body: {fault}."))
}

pub(super) fn misconfigured(reason: String) -> Problem {
    Problem::new(
        Code::Misconfigured,
        "The service is not set up to take this request. Its operator finds the reason in the log.",
    )
    .because(reason)
}

#[cfg(test)]
#[path = "admit_tests.rs"]
mod tests;
