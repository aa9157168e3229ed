//! Mailgun, <https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks>.

use super::{HOUR_MS, MINUTE_MS, base, body, event_at};
use crate::webhook::{Ack, KeyRule, Pack, Scheme};

/// Signs a random token and not the event: whoever has seen one delivery can send any body with its
/// token. So the token is the key, which makes every such body a duplicate. Repeated for 8 hours
/// and 5 minutes; 406 stops it.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![body("/signature/token"), KeyRule::SignedBytes],
        event: vec![event_at("/event-data/event")],
        ack: Ack::Mailgun,
        retry_plan_ms: 8 * HOUR_MS + 5 * MINUTE_MS,
        secret_name: "MAILGUN_WEBHOOK_SECRET",
        docs: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
        ..base(
            "mailgun",
            "Mailgun",
            Scheme::Mailgun {
                tolerance_s: Some(300),
            },
        )
    }
}
