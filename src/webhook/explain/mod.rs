//! Why the signature of a delivery does not hold, for an operator at 3 AM.
//!
//! The delivery is checked as it came. If it is refused, what usually goes wrong is tried one thing at a
//! time: another secret, form of the secret, encoding, header, public address, clock and body. What makes
//! the signature hold is the answer. All of it is bounded, and says nothing that the operator has not
//! configured: no secret, no digest and nothing of the delivery.

mod bodies;
mod case;
mod fields;
mod finding;
mod keys;
mod search;
mod urls;

pub use finding::Finding;

use super::{Arrival, Scheme};
use case::Case;
use finding::Fact;
use serde::Serialize;
use std::fmt;

/// A secret as it stands in the configuration.
#[derive(Clone, Copy)]
pub struct SecretAt<'a> {
    /// What it is called there.
    pub name: &'a str,
    /// Its text, as stored.
    pub text: &'a str,
    /// True if it is no longer taken.
    pub expired: bool,
}

impl fmt::Debug for SecretAt<'_> {
    /// Never shows the text, nor how long it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretAt")
            .field("name", &self.name)
            .field("expired", &self.expired)
            .finish_non_exhaustive()
    }
}

/// What else is known of the delivery.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints<'a> {
    /// The same body with its content encoding taken off, or still on: whichever the arrival has not.
    pub other_body: Option<&'a [u8]>,
    /// The URL that the request was sent to, if it is known.
    pub request_url: Option<&'a str>,
}

/// What becomes of the delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Its signature holds.
    Accepted,
    /// Its signature does not hold; 401.
    Refused,
    /// The source can't check signatures, as a secret is missing or can't be read; every delivery is
    /// refused, with 500 `misconfigured` or 401.
    Closed,
    /// The source checks no signature.
    Unsigned,
}

/// A secret that the signature was made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Matched {
    /// Its place in the list of the source, counted from 0.
    pub index: usize,
    /// What it is called in the configuration.
    pub name: String,
}

/// What was found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Explanation {
    /// What becomes of the delivery.
    pub verdict: Verdict,
    /// True if the cause is proven: with what the first findings say set right, the signature holds.
    pub explained: bool,
    /// The secret that the delivery was signed with, if any of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Matched>,
    /// How many secrets the source has, good or not.
    pub secrets: usize,
    /// By how many seconds the signature is too old (positive) or ahead (negative); only if its time is
    /// what is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew_s: Option<i64>,
    /// What was found, what is proven first.
    pub findings: Vec<Finding>,
    /// How many ways were tried.
    pub tried: u32,
}

/// Finds out whether and why a delivery is refused.
///
/// ```
/// use onceward::types::Headers;
/// use onceward::webhook::explain::{Hints, SecretAt, explain};
/// use onceward::webhook::{Arrival, Scheme};
/// let headers: Headers = [(
///     "X-Hub-Signature-256",
///     "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
/// )].into_iter().collect();
/// let arrival = Arrival {
///     method: "POST", target: "/hooks/github", public_url: None, headers: &headers,
///     body: b"Hello, World!\n", now_ms: 0,
/// };
/// let secret = SecretAt { name: "GITHUB_WEBHOOK_SECRET", text: "It's a Secret to Everybody", expired: false };
/// let found = explain(&Scheme::github(), &arrival, &[secret], &Hints::default());
/// assert_eq!(found.findings[0].code, "body_form");
/// assert_eq!(found.findings[0].says, "The signature holds for the body without the line break at its end.");
/// ```
pub fn explain(
    scheme: &Scheme,
    arrival: &Arrival<'_>,
    secrets: &[SecretAt<'_>],
    hints: &Hints<'_>,
) -> Explanation {
    let mut case = Case::new(scheme, arrival, secrets, hints);
    let verdict = case.settle();
    let Case {
        search,
        proven,
        facts,
        matched,
        skew_s,
        ..
    } = case;
    Explanation {
        verdict,
        explained: !proven.is_empty(),
        secret: matched.map(|index| Matched {
            index,
            name: secrets[index].name.to_owned(),
        }),
        secrets: secrets.len(),
        skew_s,
        findings: proven.iter().chain(&facts).map(Fact::finding).collect(),
        tried: search.tried,
    }
}

#[cfg(test)]
mod tests;
