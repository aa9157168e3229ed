//! Twilio, <https://www.twilio.com/docs/usage/security#validating-requests>.

use super::{base, event_at, header, whole};
use crate::webhook::{Ack, KeyRule, Pack, Scheme};

/// A message is named by its id and status, a call's status by its place in the sequence. A request
/// for `TwiML` has neither: one call asks several times with equal fields, and only
/// `I-Twilio-Idempotency-Token`, which nobody signs, tells repeats from new questions. Repeats
/// within 15 s, if a connection override asks for them
/// (<https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides>).
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![
            whole(&["/MessageSid", "/MessageStatus"]),
            whole(&["/MessageSid", "/SmsStatus"]),
            whole(&["/CallSid", "/CallStatus", "/SequenceNumber"]),
            header("i-twilio-idempotency-token"),
            KeyRule::SignedBytes,
        ],
        key_is_signed: false,
        event: vec![event_at("/CallStatus"), event_at("/SmsStatus")],
        ack: Ack::TwiML,
        retry_plan_ms: 15_000,
        secret_name: "TWILIO_WEBHOOK_SECRET",
        docs: "https://www.twilio.com/docs/usage/security#validating-requests",
        ..base("twilio", "Twilio", Scheme::Twilio)
    }
}
