//! Intercom, <https://developers.intercom.com/docs/webhooks/webhook-notifications>.

use super::{MINUTE_MS, base, body, event_at};
use crate::webhook::scheme::{Algorithm, Form};
use crate::webhook::{Ack, Handshake, KeyRule, Pack, Scheme};

/// Repeated once, after 1 minute. Sends `HEAD` when the address is saved.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/id"), KeyRule::SignedBytes],
        event: vec![event_at("/topic")],
        handshakes: vec![Handshake::HeadOk],
        ack: Ack::Ok200,
        retry_plan_ms: MINUTE_MS,
        respond_within_ms: Some(4_000),
        secret_name: "INTERCOM_WEBHOOK_SECRET",
        docs: "https://developers.intercom.com/docs/webhooks/webhook-notifications",
        ..base(
            "intercom",
            "Intercom",
            Scheme::Form(Form::new(Algorithm::HmacSha1, "x-hub-signature").prefix("sha1=")),
        )
    }
}
