//! Standard Webhooks, <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>.

use super::{DAY_MS, base, event_at, header, keep};
use crate::webhook::{Pack, Scheme};

/// Also under the names of Svix. The sample schedule of the specification ends after 3 days and 4
/// hours.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![header("webhook-id"), header("svix-id")],
        event: vec![event_at("/type")],
        retry_plan_ms: 4 * DAY_MS,
        keep: keep(&[
            "webhook-id",
            "webhook-timestamp",
            "svix-id",
            "svix-timestamp",
        ]),
        secret_name: "STANDARD_WEBHOOKS_SECRET",
        docs: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
        ..base(
            "standard-webhooks",
            "Standard Webhooks",
            Scheme::StandardWebhooks {
                tolerance_s: Some(300),
            },
        )
    }
}
