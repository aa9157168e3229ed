//! Svix, <https://docs.svix.com/receiving/verifying-payloads/how-manual>.

use super::{HOUR_MS, base, event_at, header, keep};
use crate::webhook::{Pack, Scheme};

/// The last of 8 attempts comes after 27 hours and 35 minutes (<https://docs.svix.com/retries>).
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![header("webhook-id"), header("svix-id")],
        event: vec![event_at("/type")],
        retry_plan_ms: 28 * HOUR_MS,
        keep: keep(&[
            "webhook-id",
            "webhook-timestamp",
            "svix-id",
            "svix-timestamp",
        ]),
        secret_name: "SVIX_WEBHOOK_SECRET",
        docs: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
        ..base(
            "svix",
            "Svix",
            Scheme::StandardWebhooks {
                tolerance_s: Some(300),
            },
        )
    }
}
