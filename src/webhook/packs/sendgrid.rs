//! SendGrid, <https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features>.

use super::{DAY_MS, base, event_at, pointer, seconds, template};
use crate::webhook::scheme::{Algorithm, Form, TimestampAt};
use crate::webhook::{KeyRule, Pack, Scheme, Split};

/// The "secret" is a public key. A POST holds a list of events: one run for the list, or one for
/// each with its own key. No age is stated, and a delivery may be repeated for 24 hours: any age
/// here.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![KeyRule::SignedBytes],
        event: vec![event_at("/0/event")],
        split: Some(Split {
            list: pointer(""),
            key: pointer("/sg_event_id"),
        }),
        retry_plan_ms: DAY_MS,
        secret_name: "SENDGRID_WEBHOOK_SECRET",
        docs: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
        ..base(
            "sendgrid",
            "SendGrid",
            Scheme::Form(
                Form::new(
                    Algorithm::EcdsaP256,
                    "x-twilio-email-event-webhook-signature",
                )
                .base64()
                .signing(template("{timestamp}{body}"))
                .timestamp(seconds(
                    TimestampAt::Header("x-twilio-email-event-webhook-timestamp".to_owned()),
                    None,
                )),
            ),
        )
    }
}
