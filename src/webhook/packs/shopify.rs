//! Shopify, <https://shopify.dev/docs/apps/build/webhooks/subscribe/https>.

use super::{HOUR_MS, base, event_in, header, keep};
use crate::webhook::scheme::{Algorithm, Form};
use crate::webhook::{KeyRule, Pack, Scheme};

/// Newer events come with the same fields without `X-`. `X-Shopify-Event-Id` is shared by all
/// webhooks that one action of a merchant sets off, also on other topics, and so names no delivery.
/// Repeated 8 times within 4 hours; older API versions went on for 48 hours, which is what is
/// counted here.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![
            header("x-shopify-webhook-id"),
            header("shopify-webhook-id"),
            KeyRule::SignedBytes,
        ],
        key_is_signed: false,
        event: vec![event_in("x-shopify-topic"), event_in("shopify-topic")],
        retry_plan_ms: 48 * HOUR_MS,
        keep: keep(&[
            "x-shopify-topic",
            "x-shopify-shop-domain",
            "x-shopify-webhook-id",
            "x-shopify-event-id",
            "x-shopify-api-version",
            "x-shopify-triggered-at",
        ]),
        secret_name: "SHOPIFY_WEBHOOK_SECRET",
        docs: "https://shopify.dev/docs/apps/build/webhooks/subscribe/https",
        ..base(
            "shopify",
            "Shopify",
            Scheme::Form(
                Form::new(Algorithm::HmacSha256, "x-shopify-hmac-sha256")
                    .alias("shopify-hmac-sha256")
                    .base64(),
            ),
        )
    }
}
