//! Zoom, <https://developers.zoom.us/docs/api/webhooks/>.

use super::{MINUTE_MS, base, event_at, seconds, template, whole};
use crate::webhook::scheme::{Algorithm, Form, TimestampAt};
use crate::webhook::{Ack, Handshake, KeyRule, Pack, Scheme};

/// Events have no id: the kind, the time and the meeting name them. Repeated after 5, 30 and 90
/// minutes.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![
            whole(&["/event", "/event_ts", "/payload/object/uuid"]),
            KeyRule::SignedBytes,
        ],
        event: vec![event_at("/event")],
        handshakes: vec![Handshake::ZoomUrl],
        ack: Ack::Ok200,
        retry_plan_ms: 125 * MINUTE_MS,
        respond_within_ms: Some(2_000),
        secret_name: "ZOOM_WEBHOOK_SECRET",
        docs: "https://developers.zoom.us/docs/api/webhooks/",
        ..base(
            "zoom",
            "Zoom",
            Scheme::Form(
                Form::new(Algorithm::HmacSha256, "x-zm-signature")
                    .prefix("v0=")
                    .signing(template("v0:{timestamp}:{body}"))
                    .timestamp(seconds(
                        TimestampAt::Header("x-zm-request-timestamp".to_owned()),
                        Some(300),
                    )),
            ),
        )
    }
}
