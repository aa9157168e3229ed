//! Paddle Billing, <https://developer.paddle.com/webhooks/signature-verification>.

use super::{DAY_MS, base, body, event_at, seconds, template};
use crate::webhook::scheme::{Algorithm, Form, TimestampAt};
use crate::webhook::{Ack, KeyRule, Pack, Scheme};

/// Several `h1` while a secret is rotated. Paddle's libraries allow 5 s, which refuses honest
/// deliveries whenever a clock or a queue is late; 300 s here, as everywhere. Live notifications
/// are repeated 60 times within 3 days
/// (<https://developer.paddle.com/webhooks/respond-to-webhooks>).
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/event_id"), KeyRule::SignedBytes],
        event: vec![event_at("/event_type")],
        ack: Ack::Ok200,
        retry_plan_ms: 3 * DAY_MS,
        secret_name: "PADDLE_WEBHOOK_SECRET",
        docs: "https://developer.paddle.com/webhooks/signature-verification",
        ..base(
            "paddle",
            "Paddle Billing",
            Scheme::Form(
                Form::new(Algorithm::HmacSha256, "paddle-signature")
                    .prefix("h1=")
                    .list(';')
                    .signing(template("{timestamp}:{body}"))
                    .timestamp(seconds(TimestampAt::Pair("ts".to_owned()), Some(300))),
            ),
        )
    }
}
