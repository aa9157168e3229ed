//! Which contract a function's callers know: ours, or that of an API that others have got used to.
//!
//! A profile is a set of settings ([`CallRules`]), each of which can be changed alone. Codes of problems
//! stay the same in all of them, and so does what a repeat of a running call does: it joins.
//!
//! | | `ietf` | `stripe` | `acp` |
//! |---|---|---|---|
//! | key | required | a call without one is a run of its own | required |
//! | same key, other content | 422 | 400 | 422 |
//! | still running after the wait | 409 | 409 | 409 |
//! | no key | 400 | accepted | 400 |
//! | answers kept | all | all | below 500 |
//! | key sent back | no | no | yes |
//! | kept for | as configured | as configured | 24 hours at least |
//!
//! Sources: draft-ietf-httpapi-idempotency-key-header-07; Stripe's API reference, "Idempotent
//! requests"; Agentic Commerce Protocol, section 6 "Idempotency".

use super::admit;
use super::code::Code;
use super::media;
use super::prefer::Prefer;
use super::problem::Problem;
use crate::types::{AfterExpiry, Headers, Keeps, Policy};
use crate::webhook::{KeyPattern, KeyRule};

/// The field that carries the key of a call.
pub const KEY_FIELD: &str = "idempotency-key";
/// Least retention of the `acp` profile, in milliseconds.
const ACP_RETENTION_MS: u64 = 24 * 3_600_000;
/// What the key of a call that came without one begins with; the rest is random.
const KEYLESS: &str = "keyless-";

/// A contract with a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The IETF draft, as this page reads it.
    #[default]
    Ietf,
    /// What clients of Stripe expect.
    Stripe,
    /// What clients of the Agentic Commerce Protocol expect.
    Acp,
}

impl Profile {
    /// Every profile.
    pub const ALL: &'static [Self] = &[Self::Ietf, Self::Stripe, Self::Acp];

    /// Its name in documents and configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ietf => "ietf",
            Self::Stripe => "stripe",
            Self::Acp => "acp",
        }
    }

    /// Reads the name.
    ///
    /// ```
    /// use onceward::http::profile::Profile;
    /// assert_eq!(Profile::parse("acp"), Some(Profile::Acp));
    /// assert_eq!(Profile::parse("ACP"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|profile| profile.as_str() == name)
    }

    /// Its settings.
    pub fn rules(self) -> CallRules {
        CallRules::of(self)
    }
}

/// How a key has to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeySyntax {
    /// `"abc"` or `abc`, which are one key.
    Lenient,
    /// A Structured Field string (RFC 9651, 3.3.3): `"abc"`.
    Strict,
}

impl KeySyntax {
    /// Its name in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lenient => "lenient",
            Self::Strict => "strict",
        }
    }
}

/// What callers of one function are promised.
///
/// ```
/// use onceward::http::profile::{CallRules, KeySyntax, Profile};
/// let rules = CallRules { key: KeySyntax::Strict, ..Profile::Acp.rules() };
/// assert!(rules.problems(&Default::default()).is_empty());
/// let odd = CallRules { status_in_flight: 200, ..rules };
/// assert!(odd.problems(&Default::default())[0].contains("in_flight"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRules {
    /// What the settings began as.
    pub profile: Profile,
    /// A call without a key is refused; otherwise it is a run of its own.
    pub key_required: bool,
    /// How the key has to be written.
    pub key: KeySyntax,
    /// Which keys are accepted; `None`: every key.
    pub key_pattern: Option<KeyPattern>,
    /// Status of `key_reused`.
    pub status_mismatch: u16,
    /// Status of `task_in_progress`, where it answers a repeat.
    pub status_in_flight: u16,
    /// Status of `key_missing`.
    pub status_missing: u16,
    /// Which answers of calls are kept; `None`: as the function's policy says.
    pub keeps: Option<Keeps>,
    /// What the key of a call means once its task has expired; `None`: as the function's policy says.
    pub after_expiry: Option<AfterExpiry>,
    /// The key is sent back as it came, in `Idempotency-Key`.
    pub echo_key: bool,
    /// Answers are kept for this long at least, in milliseconds.
    pub least_retention_ms: u64,
    /// Media types that a call may have, such as `application/json`; none named: any.
    pub accepts: Vec<String>,
}

impl Default for CallRules {
    fn default() -> Self {
        Self::of(Profile::default())
    }
}

impl CallRules {
    /// The settings of a profile.
    pub fn of(profile: Profile) -> Self {
        let ietf = Self {
            profile,
            key_required: true,
            key: KeySyntax::Lenient,
            key_pattern: None,
            status_mismatch: Code::KeyReused.status(),
            status_in_flight: Code::TaskInProgress.status(),
            status_missing: Code::KeyMissing.status(),
            keeps: None,
            after_expiry: None,
            echo_key: false,
            least_retention_ms: 0,
            accepts: Vec::new(),
        };
        match profile {
            Profile::Ietf => ietf,
            Profile::Stripe => Self {
                key_required: false,
                status_mismatch: 400,
                keeps: Some(Keeps::All),
                ..ietf
            },
            Profile::Acp => Self {
                echo_key: true,
                keeps: Some(Keeps::Below500),
                least_retention_ms: ACP_RETENTION_MS,
                ..ietf
            },
        }
    }

    /// Statuses of the refusals that answer a repeat.
    pub fn statuses(&self) -> Statuses {
        Statuses {
            mismatch: self.status_mismatch,
            in_flight: self.status_in_flight,
        }
    }

    /// The policy of a call: the function's, with what is settled here.
    ///
    /// ```
    /// use onceward::http::profile::Profile;
    /// use onceward::types::{Keeps, Policy};
    /// assert_eq!(Profile::Acp.rules().over(&Policy::default()).keeps, Keeps::Below500);
    /// ```
    #[must_use]
    pub fn over(&self, policy: &Policy) -> Policy {
        Policy {
            keeps: self.keeps.unwrap_or(policy.keeps),
            after_expiry: self.after_expiry.unwrap_or(policy.after_expiry),
            ..policy.clone()
        }
    }

    /// Everything that is wrong with the settings of a function with this policy, each as one sentence.
    pub fn problems(&self, policy: &Policy) -> Vec<String> {
        let alone = policy.problems();
        let together = self.over(policy).problems();
        let statuses = [
            ("mismatch", self.status_mismatch),
            ("in_flight", self.status_in_flight),
            ("missing", self.status_missing),
        ];
        let mut out: Vec<String> = statuses
            .into_iter()
            .filter(|(_, status)| !(400..=499).contains(status))
            .map(|(name, status)| format!("status of {name}: got {status}, wanted 400 to 499"))
            .collect();
        // What is wrong with the policy alone is said of it.
        out.extend(
            together
                .into_iter()
                .filter(|problem| !alone.contains(problem)),
        );
        out.extend(media::problems(&self.accepts));
        let kept_ms = policy
            .retention_succeeded_ms
            .min(policy.retention_failed_ms);
        if kept_ms < self.least_retention_ms {
            let (name, least) = (self.profile.as_str(), self.least_retention_ms);
            out.push(format!(
                "retention in ms: got {kept_ms}, and profile {name} promises {least}"
            ));
        }
        out
    }

    /// The key of a call. `fresh` is random, and stands for the key of a call that needs none.
    ///
    /// # Errors
    /// 400 `key_malformed`; `key_missing` where one is required.
    ///
    /// ```
    /// use onceward::http::{prefer::Prefer, profile::Profile};
    /// use onceward::types::Headers;
    /// let none = Headers::default();
    /// assert!(Profile::Ietf.rules().key_of(&none, Prefer::default(), "r1").is_err());
    /// let own = Profile::Stripe.rules().key_of(&none, Prefer::default(), "r1").unwrap();
    /// assert_eq!(own, "keyless-r1");
    /// ```
    pub fn key_of(
        &self,
        headers: &Headers,
        prefer: Prefer,
        fresh: &str,
    ) -> Result<String, Problem> {
        let rule = if self.key == KeySyntax::Strict || prefer.is_strict() {
            KeyRule::IdempotencyKeyStrict
        } else {
            KeyRule::IdempotencyKey
        };
        let key = match admit::key_of(&[rule], headers) {
            Ok(key) => key,
            Err(problem) if problem.code == Code::KeyMissing => {
                if self.key_required {
                    return Err(problem.with_status(self.status_missing));
                }
                return Ok(format!("{KEYLESS}{fresh}"));
            }
            Err(problem) => return Err(problem),
        };
        if let Some(pattern) = &self.key_pattern {
            pattern.check(&key).map_err(|_| {
                Problem::new(
                    Code::KeyMalformed,
                    format!("{KEY_FIELD}: wanted a key that matches ^{pattern}$."),
                )
            })?;
        }
        Ok(key)
    }

    /// The field that sends the key of an admitted call back, as it came.
    pub fn echo<'a>(&self, headers: &'a Headers) -> Option<&'a str> {
        if self.echo_key {
            headers.get(KEY_FIELD)
        } else {
            None
        }
    }
}

/// Statuses of refusals that a profile can change. The default ones are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statuses {
    /// Of `key_reused`.
    pub mismatch: u16,
    /// Of `task_in_progress`.
    pub in_flight: u16,
}

impl Default for Statuses {
    fn default() -> Self {
        CallRules::default().statuses()
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
