//! A place that webhooks are sent to.

use super::is_route_name;
use crate::http::headers::{is_credential, is_token};
use crate::limits::MAX_RESPOND_WITHIN_MS;
use crate::webhook::{FingerprintMode, KeyRule, Scheme};

/// A webhook source: how its deliveries are checked and named, and what runs on them.
///
/// Begin with a preset and change what differs:
///
/// ```
/// use onceward::config::Source;
/// use onceward::webhook::KeyRule;
/// let github = Source::github("github").secret("GITHUB_WEBHOOK_SECRET").runs("github-event");
/// assert_eq!(github.key_rules(), [KeyRule::Header("x-github-delivery".into())]);
/// let inbox = Source::generic("inbox").runs("inbox").respond_within_ms(1_000);
/// assert_eq!(inbox.name(), "inbox");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: String,
    function: String,
    tenant: String,
    scheme: Scheme,
    secrets: Vec<String>,
    keys: Vec<KeyRule>,
    fingerprint: FingerprintMode,
    keep: Vec<String>,
    own_5xx: bool,
    respond_within_ms: Option<u64>,
}

impl Source {
    /// GitHub: signed, named by `X-GitHub-Delivery`. GitHub assigns that id, so fingerprints are off.
    pub fn github(name: &str) -> Self {
        Self {
            scheme: Scheme::github(),
            keys: vec![KeyRule::Header("x-github-delivery".to_owned())],
            fingerprint: FingerprintMode::Off,
            keep: [
                "content-type",
                "user-agent",
                "x-github-event",
                "x-github-delivery",
                "x-github-hook-id",
            ]
            .map(str::to_owned)
            .to_vec(),
            ..Self::generic(name)
        }
    }

    /// Any sender that sets `Idempotency-Key` or `X-Request-ID`. Unsigned: anybody who knows the
    /// address may send.
    pub fn generic(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            function: String::new(),
            tenant: String::new(),
            scheme: Scheme::None,
            secrets: Vec::new(),
            keys: vec![
                KeyRule::IdempotencyKey,
                KeyRule::Header("x-request-id".to_owned()),
            ],
            fingerprint: FingerprintMode::Raw,
            keep: ["content-type", "user-agent"].map(str::to_owned).to_vec(),
            own_5xx: false,
            respond_within_ms: None,
        }
    }

    /// Names the function that runs on each delivery.
    #[must_use]
    pub fn runs(mut self, function: &str) -> Self {
        function.clone_into(&mut self.function);
        self
    }

    /// Names a secret of the deployment (not its value). Call it again for each further one, as
    /// while a secret is rotated: a signature by any of them will do.
    #[must_use]
    pub fn secret(mut self, name: &str) -> Self {
        self.secrets.push(name.to_owned());
        self
    }

    /// Sets how signatures are checked.
    #[must_use]
    pub fn verified_by(mut self, scheme: Scheme) -> Self {
        self.scheme = scheme;
        self
    }

    /// Sets where the key is looked for; the first field that is there decides.
    #[must_use]
    pub fn keyed_by(mut self, rules: impl IntoIterator<Item = KeyRule>) -> Self {
        self.keys = rules.into_iter().collect();
        self
    }

    /// Sets what must be equal under the same key.
    #[must_use]
    pub fn fingerprint(mut self, mode: FingerprintMode) -> Self {
        self.fingerprint = mode;
        self
    }

    /// Sets which header fields the function gets to see. They are stored with the task.
    #[must_use]
    pub fn keep_headers(mut self, names: &[&str]) -> Self {
        self.keep = names.iter().map(|n| n.to_ascii_lowercase()).collect();
        self
    }

    /// Whether the sender gets the function's own 5xx answers. If not it gets 200 with the task
    /// document, because most senders repeat a delivery for days after a 5xx.
    #[must_use]
    pub fn own_5xx(mut self, pass: bool) -> Self {
        self.own_5xx = pass;
        self
    }

    /// Sets the tenant label: equal keys of different tenants are different tasks.
    #[must_use]
    pub fn tenant(mut self, label: &str) -> Self {
        label.clone_into(&mut self.tenant);
        self
    }

    /// Sets how long a sender waits before it gets a 202, instead of the function's own number.
    #[must_use]
    pub fn respond_within_ms(mut self, ms: u64) -> Self {
        self.respond_within_ms = Some(ms);
        self
    }

    /// Its name, as in `/hooks/{name}`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The function that it runs.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// How signatures are checked.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Names of its secrets.
    pub fn secret_names(&self) -> &[String] {
        &self.secrets
    }

    /// Where the key is looked for.
    pub fn key_rules(&self) -> &[KeyRule] {
        &self.keys
    }

    /// What must be equal under the same key.
    pub fn fingerprint_mode(&self) -> &FingerprintMode {
        &self.fingerprint
    }

    /// Header fields that the function gets to see.
    pub fn kept_headers(&self) -> &[String] {
        &self.keep
    }

    /// Whether the sender gets the function's own 5xx answers.
    pub fn passes_5xx(&self) -> bool {
        self.own_5xx
    }

    /// The tenant label.
    pub fn tenant_label(&self) -> &str {
        &self.tenant
    }

    /// How long a sender waits, if not as long as the function says.
    pub fn own_respond_within_ms(&self) -> Option<u64> {
        self.respond_within_ms
    }

    /// Everything that is wrong with it by itself, each as one sentence.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut out = Vec::new();
        let mut check = |good: bool, problem: String| {
            if !good {
                out.push(problem);
            }
        };
        let tenant = &self.tenant;
        check(
            is_route_name(&self.name),
            "its name must match [a-z0-9][a-z0-9_-]{0,63}".to_owned(),
        );
        check(
            !self.function.is_empty(),
            "it runs no function; say runs(\"…\")".to_owned(),
        );
        check(
            tenant.is_empty() || is_route_name(tenant),
            format!("tenant {tenant:?} must match [a-z0-9][a-z0-9_-]{{0,63}}"),
        );
        check(
            !self.scheme.is_signed() || !self.secrets.is_empty(),
            "it is signed but names no secret; say secret(\"…\")".to_owned(),
        );
        check(
            self.scheme.is_signed() || self.secrets.is_empty(),
            "it names a secret but checks no signature; say verified_by(…)".to_owned(),
        );
        check(
            self.secrets.iter().all(|name| !name.trim().is_empty()),
            "the name of a secret is empty".to_owned(),
        );
        check(
            !self.keys.is_empty(),
            "it has no key rule, so that no delivery could be named".to_owned(),
        );
        if let Some(ms) = self.respond_within_ms {
            check(
                (1..=MAX_RESPOND_WITHIN_MS).contains(&ms),
                format!("respond_within in ms: got {ms}, wanted 1 to {MAX_RESPOND_WITHIN_MS}"),
            );
        }
        for name in self.header_names() {
            check(is_token(&name), format!("{name:?} is no header name"));
        }
        for name in &self.keep {
            check(
                !is_credential(name),
                format!("header {name} holds a credential and is never kept"),
            );
        }
        out
    }

    /// Every header name that the configuration mentions.
    fn header_names(&self) -> Vec<String> {
        let mut names = self.keep.clone();
        names.extend(self.keys.iter().flat_map(KeyRule::header_names));
        names.extend(self.scheme.header_names());
        names
    }
}
