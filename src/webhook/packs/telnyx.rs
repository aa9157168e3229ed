//! Telnyx, <https://developers.telnyx.com/docs/development/api-fundamentals/webhooks>.

use super::{base, body, event_at, seconds, template};
use crate::webhook::scheme::{Algorithm, Form, TimestampAt};
use crate::webhook::{Ack, KeyRule, Pack, Scheme};

/// The "secret" is the account's public key. How long a delivery is repeated depends on the
/// product.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/data/id"), KeyRule::SignedBytes],
        event: vec![event_at("/data/event_type")],
        ack: Ack::Ok200,
        secret_name: "TELNYX_WEBHOOK_SECRET",
        docs: "https://developers.telnyx.com/docs/development/api-fundamentals/webhooks",
        ..base(
            "telnyx",
            "Telnyx",
            Scheme::Form(
                Form::new(Algorithm::Ed25519, "telnyx-signature-ed25519")
                    .base64()
                    .signing(template("{timestamp}|{body}"))
                    .timestamp(seconds(
                        TimestampAt::Header("telnyx-timestamp".to_owned()),
                        Some(300),
                    )),
            ),
        )
    }
}
