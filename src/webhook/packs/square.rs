//! Square, <https://developer.squareup.com/docs/webhooks/step3validate>.

use super::{DAY_MS, base, body, event_at, keep, template};
use crate::webhook::scheme::{Algorithm, Form};
use crate::webhook::{KeyRule, Pack, Scheme};

/// Signs the notification URL as it stands in the developer console, then the body. Repeated for up
/// to 24 hours (<https://developer.squareup.com/docs/webhooks/step4manage>).
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/event_id"), KeyRule::SignedBytes],
        event: vec![event_at("/type")],
        retry_plan_ms: DAY_MS,
        keep: keep(&["square-retry-number", "square-retry-reason"]),
        secret_name: "SQUARE_WEBHOOK_SECRET",
        docs: "https://developer.squareup.com/docs/webhooks/step3validate",
        ..base(
            "square",
            "Square",
            Scheme::Form(
                Form::new(Algorithm::HmacSha256, "x-square-hmacsha256-signature")
                    .base64()
                    .signing(template("{url}{body}")),
            ),
        )
    }
}
