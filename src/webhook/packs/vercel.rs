//! Vercel, <https://vercel.com/docs/webhooks/webhooks-api#securing-webhooks>.

use super::{DAY_MS, base, body, event_at};
use crate::webhook::scheme::{Algorithm, Form};
use crate::webhook::{KeyRule, Pack, Scheme};

/// Repeated for up to 24 hours.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/id"), KeyRule::SignedBytes],
        event: vec![event_at("/type")],
        retry_plan_ms: DAY_MS,
        secret_name: "VERCEL_WEBHOOK_SECRET",
        docs: "https://vercel.com/docs/webhooks/webhooks-api#securing-webhooks",
        ..base(
            "vercel",
            "Vercel",
            Scheme::Form(Form::new(Algorithm::HmacSha1, "x-vercel-signature")),
        )
    }
}
