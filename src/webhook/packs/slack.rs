//! Slack, <https://docs.slack.dev/authentication/verifying-requests-from-slack>.

use super::{MINUTE_MS, base, body, event_at, keep, seconds, template};
use crate::webhook::scheme::{Algorithm, Form, TimestampAt};
use crate::webhook::{Ack, Handshake, KeyRule, Pack, Scheme};

/// Events have `event_id`, commands `trigger_id`. An interaction is JSON within a form field
/// (`payload=`) and is sent once: its signed bytes name it. Events are repeated at once, after 1
/// and after 5 minutes (<https://docs.slack.dev/apis/events-api/#retries>).
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/event_id"), body("/trigger_id"), KeyRule::SignedBytes],
        event: vec![event_at("/event/type"), event_at("/command")],
        handshakes: vec![Handshake::SlackUrl],
        ack: Ack::Slack,
        retry_plan_ms: 6 * MINUTE_MS,
        keep: keep(&["x-slack-retry-num", "x-slack-retry-reason"]),
        respond_within_ms: Some(2_000),
        secret_name: "SLACK_WEBHOOK_SECRET",
        docs: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
        ..base(
            "slack",
            "Slack",
            Scheme::Form(
                Form::new(Algorithm::HmacSha256, "x-slack-signature")
                    .prefix("v0=")
                    .signing(template("v0:{timestamp}:{body}"))
                    .timestamp(seconds(
                        TimestampAt::Header("x-slack-request-timestamp".to_owned()),
                        Some(300),
                    )),
            ),
        )
    }
}
