//! Any sender that sets a key.

use super::texts;
use crate::webhook::ack::Ack;
use crate::webhook::pack::Pack;
use crate::webhook::{FingerprintMode, KeyRule, Scheme};

/// Anybody who knows the address may send; the client chooses the key, so that a re-used one is told by the
/// content.
pub(super) fn pack() -> Pack {
    Pack {
        name: "generic",
        title: "Any sender",
        scheme: Scheme::None,
        keys: vec![
            KeyRule::IdempotencyKey,
            KeyRule::Header("x-request-id".to_owned()),
        ],
        key_is_signed: false,
        fingerprint: FingerprintMode::Raw,
        event: Vec::new(),
        handshakes: Vec::new(),
        ack: Ack::Contract,
        split: None,
        retry_plan_ms: 0,
        keep: texts(&["content-type", "user-agent"]),
        respond_within_ms: None,
        secret_name: "",
        docs: "",
    }
}
