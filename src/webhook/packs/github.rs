//! GitHub, <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>.

use super::texts;
use crate::webhook::ack::Ack;
use crate::webhook::pack::{EventRule, Pack};
use crate::webhook::{FingerprintMode, KeyRule, Pointer, Scheme};

/// Repeats nothing by itself; a person or a script can, for 3 days, under the same id.
pub(super) fn pack() -> Pack {
    Pack {
        name: "github",
        title: "GitHub",
        scheme: Scheme::github(),
        keys: vec![KeyRule::Header("x-github-delivery".to_owned())],
        key_is_signed: false,
        fingerprint: FingerprintMode::Off,
        event: vec![
            EventRule::Header("x-github-event".to_owned()),
            EventRule::Body(Pointer::of(&["action"])),
        ],
        handshakes: Vec::new(),
        ack: Ack::Contract,
        split: None,
        retry_plan_ms: 3 * 24 * 3_600_000,
        keep: texts(&[
            "content-type",
            "user-agent",
            "x-github-event",
            "x-github-delivery",
            "x-github-hook-id",
        ]),
        respond_within_ms: None,
        secret_name: "GITHUB_WEBHOOK_SECRET",
        docs: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
    }
}
