//! An API in front of which Onceward stands: requests go on to it once per key.

mod check;
mod declared;
pub(super) use declared::declared;

use super::ConfigProblem;
use crate::limits;
use crate::types::{Keeps, Policy};
use crate::webhook::Secret;
use serde::Deserialize;

/// Methods that a gateway takes and the platform can send.
pub const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// Fields that go on to the origin without being named: they describe the body, or what is wanted of it.
const USUAL: &[&str] = &[
    "accept",
    "accept-language",
    "content-encoding",
    "content-language",
    "content-type",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "range",
    "user-agent",
];
/// What the origin gets as its idempotency key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForwardKey {
    /// The derived key of the step: a UUID, the same over tries, attempts and crashes.
    #[default]
    Derived,
    /// The client's own `Idempotency-Key`, as it was first sent.
    Passed,
    /// None.
    None,
}

/// What becomes of a request of which nobody knows whether the origin carried it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenUnknown {
    /// It is sent again, with the same key.
    Retry,
    /// It is never sent again: the task has failed for good, its answer is 504 `origin_unknown`.
    Fail,
}

/// A field that every request to the origin carries, made of a secret of the deployment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginHeader {
    /// Its name.
    pub name: String,
    /// Name of the secret, not its value.
    pub secret: String,
    /// What stands before the secret, such as `Bearer ` with its space.
    #[serde(default)]
    pub prefix: String,
}

impl OriginHeader {
    /// The value of the field. `lookup` gives the value of a secret by its name.
    ///
    /// # Errors
    /// The secret is not set, empty, has white space around it or holds what no field can.
    pub fn value(&self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let secret = &self.secret;
        let text = lookup(secret).ok_or_else(|| format!("secret {secret} is not set"))?;
        Secret::new(&text).map_err(|fault| format!("secret {secret} {fault}"))?;
        if !text.bytes().all(|b| matches!(b, b' '..=b'~')) {
            return Err(format!(
                "secret {secret} holds a character that no header field can have"
            ));
        }
        Ok(format!("{}{text}", self.prefix))
    }
}

/// An existing API, the origin, that becomes idempotent: `/proxy/{name}/…` is sent on to it, once per
/// key, and its answer is kept and replayed.
///
/// ```
/// use onceward::config::{Builder, Gateway, WhenUnknown};
/// use onceward::function::Function;
/// let payments = Gateway::to("payments", "https://api.example.com/v1")
///     .origin_header("authorization", "PAYMENTS_TOKEN", "Bearer ")
///     .honours_keys();
/// assert_eq!(payments.when_unknown(), WhenUnknown::Retry);
/// let app = Builder::<Function>::new().gateway(payments).build().unwrap();
/// assert_eq!(app.gateway("payments").unwrap().origin(), "https://api.example.com/v1");
/// assert!(app.function("proxy:payments").is_some());
///
/// let same: Gateway = serde_json::from_str(r#"{
///     "name": "payments", "origin": "https://api.example.com/v1", "honours_keys": true,
///     "origin_headers": [{"name": "authorization", "secret": "PAYMENTS_TOKEN", "prefix": "Bearer "}]
/// }"#).unwrap();
/// assert!(same.problems().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    name: String,
    origin: String,
    #[serde(default = "default_methods")]
    idempotent_methods: Vec<String>,
    #[serde(default)]
    forward_headers: Vec<String>,
    #[serde(default)]
    origin_headers: Vec<OriginHeader>,
    #[serde(default)]
    forward_key: ForwardKey,
    #[serde(default = "default_key_header")]
    key_header: String,
    #[serde(default)]
    honours_keys: bool,
    #[serde(default)]
    on_unknown: Option<WhenUnknown>,
    #[serde(default)]
    retry_on: Vec<u16>,
    #[serde(default = "default_tries")]
    tries: u32,
    #[serde(default = "default_timeout_ms")]
    timeout_ms: u64,
    #[serde(default = "default_respond_within_ms")]
    respond_within_ms: u64,
    #[serde(default)]
    retention_ms: Option<u64>,
    #[serde(default)]
    keeps: Keeps,
    #[serde(skip, default = "default_policy")]
    policy: Policy,
}

fn default_methods() -> Vec<String> {
    ["POST", "PATCH"].map(str::to_owned).to_vec()
}

fn default_key_header() -> String {
    "idempotency-key".to_owned()
}

fn default_tries() -> u32 {
    3
}

fn default_timeout_ms() -> u64 {
    limits::DEFAULT_STEP_TIMEOUT_MS
}

fn default_respond_within_ms() -> u64 {
    limits::MAX_RESPOND_WITHIN_MS
}

fn default_policy() -> Policy {
    Policy {
        max_attempts: limits::GATEWAY_ATTEMPTS,
        ..Policy::default()
    }
}

impl Gateway {
    /// A gateway under this name to an origin: an address with `http` or `https`, below which
    /// everything is sent on. It has neither a query nor a slash at its end.
    pub fn to(name: &str, origin: &str) -> Self {
        Self {
            name: name.to_owned(),
            origin: origin.to_owned(),
            idempotent_methods: default_methods(),
            forward_headers: Vec::new(),
            origin_headers: Vec::new(),
            forward_key: ForwardKey::default(),
            key_header: default_key_header(),
            honours_keys: false,
            on_unknown: None,
            retry_on: Vec::new(),
            tries: default_tries(),
            timeout_ms: default_timeout_ms(),
            respond_within_ms: default_respond_within_ms(),
            retention_ms: None,
            keeps: Keeps::default(),
            policy: default_policy(),
        }
    }

    /// Sets which methods need a key and are sent on once per key; without it POST and PATCH. All
    /// others are passed through as they come.
    #[must_use]
    pub fn idempotent_methods(mut self, methods: &[&str]) -> Self {
        self.idempotent_methods = methods.iter().map(ToString::to_string).collect();
        self
    }

    /// Names fields of the client that go on to the origin beside the usual ones: those that describe
    /// the body, say what is accepted, or make the request conditional. They are stored with the task.
    #[must_use]
    pub fn forward_headers(mut self, names: &[&str]) -> Self {
        self.forward_headers = names.iter().map(ToString::to_string).collect();
        self
    }

    /// Adds a field to every request, made of a secret of the deployment that is named here: read
    /// when a request is sent, never stored.
    #[must_use]
    pub fn origin_header(mut self, name: &str, secret: &str, prefix: &str) -> Self {
        self.origin_headers.push(OriginHeader {
            name: name.to_owned(),
            secret: secret.to_owned(),
            prefix: prefix.to_owned(),
        });
        self
    }

    /// Sets what the origin gets as its idempotency key; without it the derived one.
    #[must_use]
    pub fn forward_key(mut self, forward: ForwardKey) -> Self {
        self.forward_key = forward;
        self
    }

    /// Sets the field that carries a derived key, in place of `Idempotency-Key`.
    #[must_use]
    pub fn key_header(mut self, name: &str) -> Self {
        name.clone_into(&mut self.key_header);
        self
    }

    /// Says that the origin does the work of one key once. Then a request of which nobody knows
    /// whether it was carried out is sent again, unless [`Gateway::on_unknown`] says otherwise.
    #[must_use]
    pub fn honours_keys(mut self) -> Self {
        self.honours_keys = true;
        self
    }

    /// Sets what becomes of a request of which nobody knows whether it was carried out. Without it such
    /// a request is sent again only if the origin honours keys.
    #[must_use]
    pub fn on_unknown(mut self, then: WhenUnknown) -> Self {
        self.on_unknown = Some(then);
        self
    }

    /// Sets the statuses by which the origin says that it has done nothing and that the request may be
    /// sent again. Without it every answer is the answer.
    #[must_use]
    pub fn retry_on(mut self, statuses: &[u16]) -> Self {
        self.retry_on = statuses.to_vec();
        self
    }

    /// Sets how often a request is sent within one attempt, 1 s, 2 s, … apart; without it 3 times.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }

    /// Sets how long the origin has for its answer, 15 s without it. For methods that are passed
    /// through it is the time until the head of the answer is there.
    #[must_use]
    pub fn timeout_ms(mut self, ms: u64) -> Self {
        self.timeout_ms = ms;
        self
    }

    /// Sets how long a client waits before it gets a 202; without it 5 s, which is the most.
    #[must_use]
    pub fn respond_within_ms(mut self, ms: u64) -> Self {
        self.respond_within_ms = ms;
        self
    }

    /// Sets how long answers are kept, in place of 7 days, and of 30 for failures.
    #[must_use]
    pub fn retention_ms(mut self, ms: u64) -> Self {
        self.retention_ms = Some(ms);
        self
    }

    /// Sets which answers are kept; without it all. After another one the key is free, and a repeat is
    /// sent on anew, with another derived key: an origin that had done its work does it again.
    #[must_use]
    pub fn keeps(mut self, keeps: Keeps) -> Self {
        self.keeps = keeps;
        self
    }

    /// Sets how its tasks are run, but for the times that it has words of its own for.
    #[must_use]
    pub fn policy_of(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Its name, as in `/proxy/{name}/…`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the function that sends its requests on. No route has it: it is reached by
    /// `/proxy/{name}/…` only.
    pub fn function_name(&self) -> String {
        format!("proxy:{}", self.name)
    }

    /// Where requests are sent on to, without a slash at its end.
    pub fn origin(&self) -> &str {
        self.origin.trim_end_matches('/')
    }

    /// The methods that need a key.
    pub fn methods(&self) -> &[String] {
        &self.idempotent_methods
    }

    /// True for a method that needs a key.
    pub fn is_idempotent(&self, method: &str) -> bool {
        self.idempotent_methods.iter().any(|m| m == method)
    }

    /// Names of the client's fields that go on, in lower case.
    pub fn forwarded_names(&self) -> Vec<String> {
        let own = self.forward_headers.iter().map(|n| n.to_ascii_lowercase());
        USUAL.iter().map(ToString::to_string).chain(own).collect()
    }

    /// Fields made of secrets.
    pub fn origin_headers(&self) -> &[OriginHeader] {
        &self.origin_headers
    }

    /// What the origin gets as its key.
    pub fn key_to_origin(&self) -> ForwardKey {
        self.forward_key
    }

    /// The field that carries a derived key, in lower case.
    pub fn derived_key_header(&self) -> String {
        self.key_header.to_ascii_lowercase()
    }

    /// What becomes of a request of which nobody knows whether it was carried out.
    pub fn when_unknown(&self) -> WhenUnknown {
        let safe = self.honours_keys && self.forward_key != ForwardKey::None;
        self.on_unknown.unwrap_or(if safe {
            WhenUnknown::Retry
        } else {
            WhenUnknown::Fail
        })
    }

    /// True for a status after which the request is sent again.
    pub fn retries(&self, status: u16) -> bool {
        self.retry_on.contains(&status)
    }

    /// Most tries within one attempt.
    pub fn max_tries(&self) -> u32 {
        self.tries
    }

    /// How long the origin has, in milliseconds.
    pub fn origin_timeout_ms(&self) -> u64 {
        self.timeout_ms
    }

    /// How its tasks are run.
    pub fn policy(&self) -> Policy {
        let mut policy = self.policy.clone();
        policy.respond_within_ms = self.respond_within_ms;
        policy.keeps = self.keeps;
        if let Some(ms) = self.retention_ms {
            policy.retention_succeeded_ms = ms;
            policy.retention_failed_ms = ms;
        }
        policy
    }

    /// Whether its secrets can be used: without one nothing is sent.
    ///
    /// # Errors
    /// The first that cannot, by its name.
    pub fn check_secrets(
        &self,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), ConfigProblem> {
        let problem = |text| ConfigProblem::new(format!("gateway {}", self.name), text);
        let mut headers = self.origin_headers.iter();
        headers.try_for_each(|header| header.value(lookup).map(drop).map_err(problem))
    }
}

#[cfg(test)]
#[path = "gateway_tests.rs"]
mod tests;
