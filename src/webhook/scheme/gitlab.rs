//! GitLab: a token in clear (`X-Gitlab-Token`), or since 2026 a signing token, by which deliveries are
//! signed as in Standard Webhooks
//! (<https://docs.gitlab.com/user/project/integrations/webhooks/#validate-payloads-by-using-a-secret-token>).

use super::form::{Algorithm, Form};
use super::standard;
use crate::webhook::Arrival;
use crate::webhook::secret::{KeyKind, Secret};
use crate::webhook::signature::{Proof, Refusal};

pub(super) const TOKEN: &str = "x-gitlab-token";
const SIGNATURE: &str = "webhook-signature";

/// A signature is checked if we have a signing token, and then decides alone. The plain token counts
/// only where one is configured: take it out of the configuration when the change to signatures is over.
pub(super) fn verify(
    arrival: &Arrival<'_>,
    secrets: &[Secret],
    tolerance_s: Option<u64>,
) -> Result<Proof, Refusal> {
    let has = |kind| secrets.iter().any(|secret| secret.kind() == kind);
    if has(KeyKind::Shared) && arrival.headers.get(SIGNATURE).is_some() {
        standard::verify(arrival, secrets, tolerance_s)
    } else if has(KeyKind::Token) {
        let tokens = tokens(secrets);
        let only: Vec<Secret> = tokens.iter().map(|(_, secret)| (*secret).clone()).collect();
        let proof = Form::new(Algorithm::Token, TOKEN).verify(arrival, &only)?;
        Ok(Proof {
            secret: proof.secret.map(|index| tokens[index].0),
            ..proof
        })
    } else {
        Err(Refusal::missing(SIGNATURE))
    }
}

/// The plain tokens and their places: a signing token is never compared as it is.
fn tokens(secrets: &[Secret]) -> Vec<(usize, &Secret)> {
    let all = secrets.iter().enumerate();
    all.filter(|(_, secret)| secret.kind() == KeyKind::Token)
        .collect()
}
