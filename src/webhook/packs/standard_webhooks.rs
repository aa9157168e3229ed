//! Standard Webhooks, <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>.

use super::texts;
use crate::webhook::ack::Ack;
use crate::webhook::pack::{EventRule, Pack};
use crate::webhook::{FingerprintMode, KeyRule, Pointer, Scheme};

/// The specification's sample schedule of attempts ends after 3.2 days.
pub(super) fn pack() -> Pack {
    Pack {
        name: "standard-webhooks",
        title: "Standard Webhooks",
        scheme: Scheme::StandardWebhooks {
            tolerance_s: Some(300),
        },
        keys: ["webhook-id", "svix-id"]
            .map(|name| KeyRule::Header(name.to_owned()))
            .to_vec(),
        key_is_signed: true,
        fingerprint: FingerprintMode::Off,
        event: vec![EventRule::Body(Pointer::of(&["type"]))],
        handshakes: Vec::new(),
        ack: Ack::Contract,
        split: None,
        retry_plan_ms: 4 * 24 * 3_600_000,
        keep: texts(&[
            "content-type",
            "user-agent",
            "webhook-id",
            "webhook-timestamp",
        ]),
        respond_within_ms: None,
        secret_name: "WEBHOOK_SECRET",
        docs: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    }
}
