//! Meta (Facebook, Instagram, Messenger), <https://developers.facebook.com/docs/graph-api/webhooks/getting-started>.

use super::{HOUR_MS, base, event_at};
use crate::webhook::{Ack, Handshake, KeyRule, Pack, Scheme};

/// A POST holds a list of entries, each with a list of changes or messages, and no id of its own:
/// its signed bytes name it. A repeat may be batched differently, so a function that must act once
/// per message keeps to the ids within. Repeated for up to 36 hours.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![KeyRule::SignedBytes],
        event: vec![event_at("/object"), event_at("/entry/0/changes/0/field")],
        handshakes: vec![Handshake::MetaVerify],
        ack: Ack::Ok200,
        retry_plan_ms: 36 * HOUR_MS,
        secret_name: "META_WEBHOOK_SECRET",
        docs: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
        ..base(
            "meta",
            "Meta (Facebook, Instagram, Messenger)",
            Scheme::hmac_sha256_hex("x-hub-signature-256", "sha256="),
        )
    }
}
