//! Stripe, <https://docs.stripe.com/webhooks#verify-official-libraries>.

use super::{DAY_MS, base, body, event_at, seconds, template};
use crate::webhook::scheme::{Algorithm, Form, TimestampAt};
use crate::webhook::{KeyRule, Pack, Scheme};

/// Several `v1` during the 24 hours after a secret was rolled; `v0` is for tests and never counts.
/// Live events are repeated for up to 3 days.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/id"), KeyRule::SignedBytes],
        event: vec![event_at("/type")],
        retry_plan_ms: 3 * DAY_MS,
        secret_name: "STRIPE_WEBHOOK_SECRET",
        docs: "https://docs.stripe.com/webhooks#verify-official-libraries",
        ..base(
            "stripe",
            "Stripe",
            Scheme::Form(
                Form::new(Algorithm::HmacSha256, "stripe-signature")
                    .prefix("v1=")
                    .list(',')
                    .signing(template("{timestamp}.{body}"))
                    .timestamp(seconds(TimestampAt::Pair("t".to_owned()), Some(300))),
            ),
        )
    }
}
