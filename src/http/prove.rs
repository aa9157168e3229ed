//! Who has sent a webhook: what its signature proves, and what its provider asks before it sends at all.

use super::admit::misconfigured;
use super::body::{self, Bodies};
use super::hook::{Arrived, allow_of};
use super::problem::Problem;
use crate::config::{ConfigProblem, Source};
use crate::types::Answer;
use crate::webhook::{Arrival, Proof, Refusal, Secret, handshake};
use sha2::{Digest as _, Sha256};

/// What a delivery proves.
#[derive(Debug)]
pub enum Proven {
    /// It is a question of the provider's, signed by this secret.
    Handshake(Option<usize>, Answer),
    /// It is the provider's.
    Holds {
        /// The body, unpacked.
        body: Vec<u8>,
        /// What the signature proves.
        proof: Proof,
        /// Which of the source's secrets made it.
        secret: Option<usize>,
    },
}

/// Checks who has sent a delivery, and unpacks its body.
///
/// # Errors
/// 401, 500 where a secret is not usable, 405, 413, 415, 400 for a body that is nested too deep.
pub fn prove(
    source: &Source,
    arrived: &Arrived<'_>,
    body: Vec<u8>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Proven, Problem> {
    let unusable = |problem: ConfigProblem| misconfigured(problem.to_string());
    let secrets = source.secrets(arrived.now_ms, lookup).map_err(unusable)?;
    let token = source.verify_token_value(lookup).map_err(unusable)?;
    let values: Vec<Secret> = secrets.iter().map(|(_, value)| value.clone()).collect();
    let handshakes = &source.provider().handshakes;
    let refused =
        |refusal: Refusal| Problem::bad_signature(format!("source {}: {refusal}", source.name()));
    let asked = handshake::before_signature(
        handshakes,
        &arrived.as_sent(source, &body),
        &values,
        token.as_ref(),
    );
    if let Some(answer) = asked {
        let answer = answer.map_err(refused)?;
        return Ok(Proven::Handshake(None, answer));
    }
    if arrived.delivery.method != "POST" {
        return Err(Problem::method_not_allowed(&allow_of(source)));
    }
    let decoded = body::decode(arrived.delivery.headers, body, source.encoding());
    let (decoded, proof) =
        verified(source, arrived, decoded, &values).map_err(|fault| match fault {
            Fault::Refused(refusal) => refused(refusal),
            Fault::Problem(problem) => problem,
        })?;
    let secret = proof
        .secret
        .and_then(|at| secrets.get(at))
        .map(|(at, _)| *at);
    let matched = proof.secret.and_then(|at| values.get(at)).cloned();
    let signers: Vec<Secret> = matched.into_iter().chain(values).collect();
    let plain = decoded.plain();
    if let Some(answer) =
        handshake::after_signature(handshakes, &arrived.as_sent(source, plain), &signers)
    {
        return Ok(Proven::Handshake(secret, answer));
    }
    body::check_nesting(arrived.delivery.headers.get("content-type"), plain)?;
    Ok(Proven::Holds {
        body: decoded.into_plain(),
        proof,
        secret,
    })
}

impl<'a> Arrived<'a> {
    fn as_sent(&self, source: &'a Source, body: &'a [u8]) -> Arrival<'a> {
        Arrival {
            method: self.delivery.method,
            target: self.delivery.target,
            public_url: source.told_url(),
            headers: self.delivery.headers,
            body,
            now_ms: self.now_ms,
        }
    }
}

enum Fault {
    Refused(Refusal),
    Problem(Problem),
}

/// The body with the proof that it is the provider's: over the bytes as they came, or as they are once
/// unpacked, whichever the source allows.
fn verified(
    source: &Source,
    arrived: &Arrived<'_>,
    decoded: Result<Bodies, Problem>,
    secrets: &[Secret],
) -> Result<(Bodies, Proof), Fault> {
    let decoded = decoded.map_err(Fault::Problem)?;
    let mut verdict = Err(Refusal::Mismatch);
    for bytes in decoded.signed() {
        verdict = source
            .scheme()
            .verify(&arrived.as_sent(source, bytes), secrets);
        if verdict.is_ok() {
            break;
        }
    }
    match verdict {
        Ok(proof) => Ok((decoded, proof)),
        Err(refusal) => Err(Fault::Refused(refusal)),
    }
}

/// What names a delivery that has no other name. A token proves whoever has it, and no bytes: then all of them.
pub(super) fn material(source: &Source, proof: &Proof, body: &[u8]) -> Option<[u8; 32]> {
    let signed = source.scheme().is_signed();
    let whole = || signed.then(|| Sha256::digest(body).into());
    proof.material.or_else(whole)
}
