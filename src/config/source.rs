//! A place that webhooks are sent to.

use super::secret::{self, SecretName};
use super::{ConfigProblem, Label, Labels, RateLimit, Tenant};
use crate::http::body::Rule;
use crate::limits::REPEAT_MARGIN_MS;
use crate::types::Policy;
use crate::webhook::{
    Ack, FingerprintMode, Handshake, KeyRule, Pack, Scheme, Secret, Split, packs,
};

/// A webhook source: how its deliveries are checked and named, and what runs on them.
///
/// Begin with a pack and change what differs:
///
/// ```
/// use onceward::config::Source;
/// use onceward::webhook::KeyRule;
/// let github = Source::github("github").secret("GITHUB_WEBHOOK_SECRET").runs("github-event");
/// assert!(github.key_rules().contains(&KeyRule::Header("x-github-delivery".into())));
/// let inbox = Source::generic("inbox").runs("inbox").respond_within_ms(1_000);
/// assert_eq!(inbox.name(), "inbox");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    name: String,
    function: String,
    pack: Pack,
    tenant: Tenant,
    secrets: Vec<SecretName>,
    verify_token: Option<String>,
    public_url: Option<String>,
    encoding: Rule,
    accepts: Vec<String>,
    own_5xx: bool,
    dedup_signed_ms: Option<u64>,
    rate_limit: Option<RateLimit>,
    labels: Labels,
}

impl Source {
    /// A source as a provider's pack has it.
    pub fn of(name: &str, pack: Pack) -> Self {
        Self {
            name: name.to_owned(),
            function: String::new(),
            pack,
            tenant: Tenant::Fixed(String::new()),
            secrets: Vec::new(),
            verify_token: None,
            public_url: None,
            encoding: Rule::Either,
            accepts: Vec::new(),
            own_5xx: false,
            dedup_signed_ms: None,
            rate_limit: None,
            labels: Labels::default(),
        }
    }

    /// A source by the name of its pack, such as `standard-webhooks`; `None` if there is no such pack.
    ///
    /// ```
    /// use onceward::config::Source;
    /// assert!(Source::pack("payments", "standard-webhooks").unwrap().scheme().is_signed());
    /// assert!(Source::pack("payments", "nobody").is_none());
    /// ```
    pub fn pack(name: &str, pack: &str) -> Option<Self> {
        packs::by_name(pack).map(|pack| Self::of(name, pack))
    }

    /// GitHub: signed, named by `X-GitHub-Delivery`. GitHub assigns that id, so fingerprints are off.
    pub fn github(name: &str) -> Self {
        Self::of(name, packs::github())
    }

    /// Any sender that sets `Idempotency-Key` or `X-Request-ID`. Unsigned: anybody who knows the
    /// address may send.
    pub fn generic(name: &str) -> Self {
        Self::of(name, packs::generic())
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
    pub fn secret(self, name: &str) -> Self {
        self.secret_until(name, None)
    }

    /// Names a secret that no longer holds from this time on, in milliseconds since 1970.
    #[must_use]
    pub fn secret_until(mut self, name: &str, until_ms: Option<u64>) -> Self {
        self.secrets.push(SecretName {
            name: name.to_owned(),
            until_ms,
        });
        self
    }

    /// Names the secret that a provider shows when it asks whether this address is right (Meta's
    /// `hub.verify_token`).
    #[must_use]
    pub fn verify_token(mut self, name: &str) -> Self {
        self.verify_token = Some(name.to_owned());
        self
    }

    /// Sets how signatures are checked.
    #[must_use]
    pub fn verified_by(mut self, scheme: Scheme) -> Self {
        self.pack.scheme = scheme;
        self
    }

    /// Sets where the key is looked for; the first field that is there decides.
    #[must_use]
    pub fn keyed_by(mut self, rules: impl IntoIterator<Item = KeyRule>) -> Self {
        self.pack.keys = rules.into_iter().collect();
        self
    }

    /// Sets what must be equal under the same key.
    #[must_use]
    pub fn fingerprint(mut self, mode: FingerprintMode) -> Self {
        self.pack.fingerprint = mode;
        self
    }

    /// Sets which header fields the function gets to see. They are stored with the task.
    #[must_use]
    pub fn keep_headers<N: AsRef<str>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter();
        self.pack.keep = names.map(|n| n.as_ref().to_ascii_lowercase()).collect();
        self
    }

    /// Sets how one delivery becomes several tasks, or that it does not.
    #[must_use]
    pub fn split(mut self, split: Option<Split>) -> Self {
        self.pack.split = split;
        self
    }

    /// Sets how the sender is told that its delivery was accepted.
    #[must_use]
    pub fn ack(mut self, ack: Ack) -> Self {
        self.pack.ack = ack;
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
    pub fn tenant(self, label: &str) -> Self {
        self.tenant_by(Tenant::Fixed(label.to_owned()))
    }

    /// Sets where the tenant label comes from.
    #[must_use]
    pub fn tenant_by(mut self, tenant: Tenant) -> Self {
        self.tenant = tenant;
        self
    }

    /// Sets how long a sender waits before it gets a 202, instead of the function's own number.
    #[must_use]
    pub fn respond_within_ms(mut self, ms: u64) -> Self {
        self.pack.respond_within_ms = Some(ms);
        self
    }

    /// Sets the address that the provider was told, where its signature covers it (Twilio, Square).
    #[must_use]
    pub fn public_url(mut self, url: &str) -> Self {
        self.public_url = Some(url.to_owned());
        self
    }

    /// Sets what is done with compressed bodies.
    #[must_use]
    pub fn encoded_by(mut self, rule: Rule) -> Self {
        self.encoding = rule;
        self
    }

    /// Sets which content types are taken (415 for others), without parameters; none named: any.
    #[must_use]
    pub fn accepts<N: AsRef<str>>(mut self, types: impl IntoIterator<Item = N>) -> Self {
        let types = types.into_iter();
        self.accepts = types.map(|t| t.as_ref().to_ascii_lowercase()).collect();
        self
    }

    /// Has deliveries recognised by their signed bytes as well, for this long: of use where the signature
    /// does not cover the key. It costs 2 requests and 3 rows for each new delivery.
    #[must_use]
    pub fn dedup_signed_ms(mut self, window_ms: u64) -> Self {
        self.dedup_signed_ms = Some(window_ms);
        self
    }

    /// Adds a label that its tasks can be found by.
    #[must_use]
    pub fn label(mut self, name: &str, label: Label) -> Self {
        self.labels = self.labels.with(name, label);
        self
    }

    /// Sets the rate limiter that deliveries have to pass.
    #[must_use]
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = Some(limit);
        self
    }
}

/// What it says.
impl Source {
    /// Its name, as in `/hooks/{name}`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its tasks can be found by, beside the labels of its function.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The function that it runs.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// What its provider needs.
    pub fn provider(&self) -> &Pack {
        &self.pack
    }

    /// How signatures are checked.
    pub fn scheme(&self) -> &Scheme {
        &self.pack.scheme
    }

    /// Names of its secrets.
    pub fn secret_names(&self) -> &[SecretName] {
        &self.secrets
    }

    /// Where the key is looked for.
    pub fn key_rules(&self) -> &[KeyRule] {
        &self.pack.keys
    }

    /// What must be equal under the same key.
    pub fn fingerprint_mode(&self) -> &FingerprintMode {
        &self.pack.fingerprint
    }

    /// Header fields that the function gets to see.
    pub fn kept_headers(&self) -> &[String] {
        &self.pack.keep
    }

    /// Whether the sender gets the function's own 5xx answers.
    pub fn passes_5xx(&self) -> bool {
        self.own_5xx
    }

    /// Where the tenant label comes from.
    pub fn tenant_rule(&self) -> &Tenant {
        &self.tenant
    }

    /// How long a sender waits, if not as long as the function says.
    pub fn own_respond_within_ms(&self) -> Option<u64> {
        self.pack.respond_within_ms
    }

    /// How a task of this source is run: as its function says, with what the source says. It is kept for longer
    /// than the sender repeats a delivery, since a task that is forgotten before the last repeat would run again.
    ///
    /// ```
    /// use onceward::config::Source;
    /// use onceward::types::Policy;
    /// let brief = Policy { retention_succeeded_ms: 1_000, ..Policy::default() };
    /// let stripe = Source::pack("payments", "stripe").unwrap();
    /// assert!(stripe.over(&brief).retention_succeeded_ms > stripe.provider().retry_plan_ms);
    /// assert_eq!(Source::generic("inbox").over(&brief), brief);
    /// ```
    pub fn over(&self, policy: &Policy) -> Policy {
        let mut policy = policy.clone();
        if let Some(ms) = self.pack.respond_within_ms {
            policy.respond_within_ms = ms;
        }
        let least_ms = match self.pack.retry_plan_ms {
            0 => 0,
            plan_ms => plan_ms + REPEAT_MARGIN_MS,
        };
        policy.retention_succeeded_ms = policy.retention_succeeded_ms.max(least_ms);
        policy.retention_failed_ms = policy.retention_failed_ms.max(least_ms);
        policy
    }

    /// The address that the provider was told.
    pub fn told_url(&self) -> Option<&str> {
        self.public_url.as_deref()
    }

    /// What is done with compressed bodies.
    pub fn encoding(&self) -> Rule {
        self.encoding
    }

    /// Content types that are taken; empty: any.
    pub fn content_types(&self) -> &[String] {
        &self.accepts
    }

    /// For how long signed bytes are recognised.
    pub fn signed_window_ms(&self) -> Option<u64> {
        self.dedup_signed_ms
    }

    /// The rate limiter that deliveries have to pass.
    pub fn limiter(&self) -> Option<&RateLimit> {
        self.rate_limit.as_ref()
    }

    /// Methods beside `POST` that its provider's handshakes use.
    pub fn more_methods(&self) -> &'static [&'static str] {
        let has = |wanted: &[Handshake]| self.pack.handshakes.iter().any(|h| wanted.contains(h));
        if has(&[Handshake::MetaVerify, Handshake::XCrc]) {
            &["GET", "HEAD"]
        } else if has(&[Handshake::HeadOk]) {
            &["HEAD"]
        } else {
            &[]
        }
    }

    /// Its secrets that hold now, each with its place in the list. `lookup` gives the value of a secret.
    ///
    /// # Errors
    /// One of them is not set, empty or not in the form that the scheme wants. The delivery must then be
    /// refused: going on with fewer secrets, or none, would open the door.
    pub fn secrets(
        &self,
        now_ms: u64,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<(usize, Secret)>, ConfigProblem> {
        let place = format!("source {}", self.name);
        let form = self.pack.scheme.key_form();
        let names = self.secrets.iter().enumerate();
        names
            .filter(|(_, secret)| secret.until_ms.is_none_or(|until| now_ms < until))
            .map(|(at, secret)| Ok((at, secret::read(&place, &secret.name, form, lookup)?)))
            .collect()
    }

    /// Name of the secret that holds its verify token.
    pub fn verify_token_name(&self) -> Option<&str> {
        self.verify_token.as_deref()
    }

    /// The value of its verify token.
    ///
    /// # Errors
    /// It is named, and not set or not usable.
    pub fn verify_token_value(
        &self,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Secret>, ConfigProblem> {
        let place = format!("source {}", self.name);
        let read =
            |name: &String| secret::read(&place, name, crate::webhook::KeyForm::Text, lookup);
        self.verify_token.as_ref().map(read).transpose()
    }
}
