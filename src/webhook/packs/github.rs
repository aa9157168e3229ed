//! GitHub, <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>.

use super::{DAY_MS, base, event_at, event_in, header, keep};
use crate::webhook::{Pack, Scheme};

/// Repeats nothing by itself; a person or a script can, for 3 days and under the same id
/// (<https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/redelivering-webhooks>).
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![header("x-github-delivery")],
        key_is_signed: false,
        event: vec![event_in("x-github-event"), event_at("/action")],
        retry_plan_ms: 3 * DAY_MS,
        keep: keep(&["x-github-event", "x-github-delivery", "x-github-hook-id"]),
        secret_name: "GITHUB_WEBHOOK_SECRET",
        docs: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
        ..base("github", "GitHub", Scheme::github())
    }
}
