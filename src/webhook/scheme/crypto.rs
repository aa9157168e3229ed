//! The arithmetic of signatures: does a key give one of these values for these bytes?

use super::form::Algorithm;
use crate::webhook::secret::{KeyKind, Secret};
use crate::webhook::signature::Refusal;
use ed25519_dalek::{Signature, VerifyingKey};
use hmac::{Hmac, KeyInit, Mac};
use p256::ecdsa::signature::Verifier;
use p256::pkcs8::DecodePublicKey;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use subtle::{Choice, ConstantTimeEq};

/// True if one of the values is this secret's signature of the parts, one after the other. Shared
/// secrets are compared in constant time, with every value. Always false for a secret of another kind.
pub(super) fn matches(
    algorithm: Algorithm,
    secret: &Secret,
    parts: &[&[u8]],
    values: &[Vec<u8>],
) -> bool {
    if values.is_empty() || !algorithm.takes(secret.kind()) {
        return false;
    }
    let key = secret.bytes();
    match algorithm {
        Algorithm::HmacSha1 => is_one_of(&mac::<Hmac<Sha1>>(key, parts), values),
        Algorithm::HmacSha256 => is_one_of(&mac::<Hmac<Sha256>>(key, parts), values),
        Algorithm::HmacSha512 => is_one_of(&mac::<Hmac<Sha512>>(key, parts), values),
        // Hashed first, so that the time doesn't even tell the length.
        Algorithm::Token => {
            let values: Vec<_> = values.iter().map(|v| Sha256::digest(v).to_vec()).collect();
            is_one_of(&Sha256::digest(key), &values)
        }
        Algorithm::Ed25519 => values.iter().any(|value| ed25519(key, parts, value)),
        Algorithm::EcdsaP256 => values.iter().any(|value| ecdsa_p256(key, parts, value)),
    }
}

impl Algorithm {
    /// True for the kinds of secret that it can use.
    pub(super) fn takes(self, kind: KeyKind) -> bool {
        match self {
            Self::HmacSha1 | Self::HmacSha256 | Self::HmacSha512 => kind == KeyKind::Shared,
            Self::Token => matches!(kind, KeyKind::Shared | KeyKind::Token),
            Self::Ed25519 => kind == KeyKind::Ed25519,
            Self::EcdsaP256 => kind == KeyKind::P256,
        }
    }
}

/// Index of the first secret that gives one of the values. Every secret is tried.
pub(super) fn first_match(
    algorithm: Algorithm,
    secrets: &[Secret],
    parts: &[&[u8]],
    values: &[Vec<u8>],
) -> Result<usize, Refusal> {
    first(
        secrets
            .iter()
            .map(|secret| matches(algorithm, secret, parts, values)),
    )
}

/// Index of the first verdict that is true, of all of them.
pub(super) fn first(verdicts: impl Iterator<Item = bool>) -> Result<usize, Refusal> {
    let verdicts: Vec<bool> = verdicts.collect();
    verdicts
        .iter()
        .position(|verdict| *verdict)
        .ok_or(Refusal::Mismatch)
}

fn mac<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

fn is_one_of(wanted: &[u8], values: &[Vec<u8>]) -> bool {
    let none = Choice::from(0);
    let any = values
        .iter()
        .fold(none, |any, value| any | value.as_slice().ct_eq(wanted));
    any.into()
}

/// Strict (RFC 8032 §5.1.7 without cofactor, no key or point of small order): one verdict everywhere.
fn ed25519(key: &[u8], parts: &[&[u8]], value: &[u8]) -> bool {
    let Ok(key) = <[u8; 32]>::try_from(key) else {
        return false;
    };
    match (VerifyingKey::from_bytes(&key), Signature::from_slice(value)) {
        (Ok(key), Ok(signature)) => key.verify_strict(&parts.concat(), &signature).is_ok(),
        _ => false,
    }
}

fn ecdsa_p256(key: &[u8], parts: &[&[u8]], value: &[u8]) -> bool {
    use p256::ecdsa::{Signature, VerifyingKey};
    match (
        VerifyingKey::from_public_key_der(key),
        Signature::from_der(value),
    ) {
        (Ok(key), Ok(signature)) => key.verify(&parts.concat(), &signature).is_ok(),
        _ => false,
    }
}
