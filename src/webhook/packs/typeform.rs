//! Typeform, <https://www.typeform.com/developers/webhooks/secure-your-webhooks/>.

use super::{HOUR_MS, base, body, event_at};
use crate::webhook::scheme::{Algorithm, Form};
use crate::webhook::{KeyRule, Pack, Scheme};

/// The prefix says `sha256=`, what follows is base64. Repeated for up to 10 hours.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/event_id"), KeyRule::SignedBytes],
        event: vec![event_at("/event_type")],
        retry_plan_ms: 10 * HOUR_MS,
        secret_name: "TYPEFORM_WEBHOOK_SECRET",
        docs: "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
        ..base(
            "typeform",
            "Typeform",
            Scheme::Form(
                Form::new(Algorithm::HmacSha256, "typeform-signature")
                    .prefix("sha256=")
                    .base64(),
            ),
        )
    }
}
