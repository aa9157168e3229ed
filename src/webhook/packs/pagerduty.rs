//! PagerDuty, <https://developer.pagerduty.com/docs/verifying-webhook-signatures>.

use super::{base, body, event_at, keep};
use crate::webhook::scheme::{Algorithm, Form};
use crate::webhook::{KeyRule, Pack, Scheme};

/// Webhooks V3: a list of `v1=` while a secret is rotated. How long it repeats a delivery is not
/// stated.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/event/id"), KeyRule::SignedBytes],
        event: vec![event_at("/event/event_type")],
        keep: keep(&["x-webhook-id", "x-webhook-subscription"]),
        secret_name: "PAGERDUTY_WEBHOOK_SECRET",
        docs: "https://developer.pagerduty.com/docs/verifying-webhook-signatures",
        ..base(
            "pagerduty",
            "PagerDuty",
            Scheme::Form(
                Form::new(Algorithm::HmacSha256, "x-pagerduty-signature")
                    .prefix("v1=")
                    .list(','),
            ),
        )
    }
}
