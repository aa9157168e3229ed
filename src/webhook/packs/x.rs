//! X, <https://docs.x.com/x-api/webhooks/introduction>.

use super::base;
use crate::webhook::scheme::{Algorithm, Form};
use crate::webhook::{Ack, Handshake, KeyRule, Pack, Scheme};

/// The kind of event is the name of a member of the body, and the ids stand in lists below it: the
/// signed bytes name a delivery. Whether it is repeated is not stated.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![KeyRule::SignedBytes],
        handshakes: vec![Handshake::XCrc],
        ack: Ack::Ok200,
        secret_name: "X_WEBHOOK_SECRET",
        docs: "https://docs.x.com/x-api/webhooks/introduction",
        ..base(
            "x",
            "X",
            Scheme::Form(
                Form::new(Algorithm::HmacSha256, "x-twitter-webhooks-signature")
                    .prefix("sha256=")
                    .base64(),
            ),
        )
    }
}
