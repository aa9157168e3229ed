//! Any sender that sets a key.

use super::{base, header};
use crate::webhook::{FingerprintMode, KeyRule, Pack, Scheme};

/// Anybody who knows the address may send; the client chooses the key, so that a re-used one is told
/// by the content.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![KeyRule::IdempotencyKey, header("x-request-id")],
        key_is_signed: false,
        fingerprint: FingerprintMode::Raw,
        ..base("generic", "Any sender", Scheme::None)
    }
}
