//! Linear, <https://linear.app/developers/webhooks>.

use super::{HOUR_MS, MINUTE_MS, base, event_at, keep, pointer, whole};
use crate::webhook::scheme::{Algorithm, Form, Timestamp, TimestampAt, Unit};
use crate::webhook::{Ack, KeyRule, Pack, Scheme};

/// `webhookTimestamp` (milliseconds, within the body) is set anew at each attempt, so that neither
/// it nor the body names an event; `Linear-Delivery` is not signed. What changed, how and when
/// does, and is. Repeated after 1 minute, 1 hour and 6 hours.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![
            whole(&[
                "/webhookId",
                "/type",
                "/action",
                "/createdAt",
                "/data/id",
                "/data/updatedAt",
            ]),
            whole(&["/webhookId", "/type", "/action", "/createdAt"]),
            KeyRule::SignedBytes,
        ],
        event: vec![event_at("/type"), event_at("/action")],
        ack: Ack::Ok200,
        retry_plan_ms: 7 * HOUR_MS + MINUTE_MS,
        keep: keep(&["linear-event", "linear-delivery"]),
        secret_name: "LINEAR_WEBHOOK_SECRET",
        docs: "https://linear.app/developers/webhooks",
        ..base(
            "linear",
            "Linear",
            Scheme::Form(
                Form::new(Algorithm::HmacSha256, "linear-signature").timestamp(Timestamp {
                    at: TimestampAt::Body(pointer("/webhookTimestamp")),
                    unit: Unit::Milliseconds,
                    tolerance_s: Some(60),
                }),
            ),
        )
    }
}
