//! WooCommerce, <https://developer.woocommerce.com/docs/apis/rest-api/v3/webhooks/>.

use super::{base, event_in, header, keep};
use crate::webhook::scheme::{Algorithm, Form};
use crate::webhook::{KeyRule, Pack, Scheme};

/// Repeats nothing, and disables a webhook after five failures in a row. Two deliveries of an order
/// that didn't change in between have equal bodies, so the delivery's id, which is not signed,
/// comes first.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![header("x-wc-webhook-delivery-id"), KeyRule::SignedBytes],
        key_is_signed: false,
        event: vec![event_in("x-wc-webhook-topic")],
        keep: keep(&[
            "x-wc-webhook-source",
            "x-wc-webhook-topic",
            "x-wc-webhook-resource",
            "x-wc-webhook-event",
            "x-wc-webhook-id",
            "x-wc-webhook-delivery-id",
        ]),
        secret_name: "WOOCOMMERCE_WEBHOOK_SECRET",
        docs: "https://developer.woocommerce.com/docs/apis/rest-api/v3/webhooks/",
        ..base(
            "woocommerce",
            "WooCommerce",
            Scheme::Form(Form::new(Algorithm::HmacSha256, "x-wc-webhook-signature").base64()),
        )
    }
}
