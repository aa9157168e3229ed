//! Discord, <https://docs.discord.com/developers/interactions/overview>.

use super::{MINUTE_MS, base, body, event_at, seconds, template};
use crate::webhook::scheme::{Algorithm, Form, TimestampAt};
use crate::webhook::{Ack, Handshake, KeyRule, Pack, Scheme};

/// The "secret" is the application's public key. Interactions are sent once; webhook events, which
/// have no id, are repeated for up to 10 minutes
/// (<https://docs.discord.com/developers/events/webhook-events>). Discord states no age; 300 s
/// here.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/id"), KeyRule::SignedBytes],
        event: vec![event_at("/type"), event_at("/event/type")],
        handshakes: vec![Handshake::DiscordPing],
        ack: Ack::DiscordDeferred,
        retry_plan_ms: 10 * MINUTE_MS,
        respond_within_ms: Some(2_000),
        secret_name: "DISCORD_WEBHOOK_SECRET",
        docs: "https://docs.discord.com/developers/interactions/overview",
        ..base(
            "discord",
            "Discord",
            Scheme::Form(
                Form::new(Algorithm::Ed25519, "x-signature-ed25519")
                    .signing(template("{timestamp}{body}"))
                    .timestamp(seconds(
                        TimestampAt::Header("x-signature-timestamp".to_owned()),
                        Some(300),
                    )),
            ),
        )
    }
}
