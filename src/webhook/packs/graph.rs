//! Microsoft Graph, <https://learn.microsoft.com/graph/change-notifications-delivery-webhooks>.

use super::{HOUR_MS, base, event_at, pointer};
use crate::webhook::{Handshake, KeyRule, Pack, Scheme, Split};

/// Nothing is signed; each notification repeats the `clientState` of its subscription. A POST holds
/// a list of notifications: one run for the list, or one for each with its own key. Repeated for up
/// to 4 hours.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![KeyRule::SignedBytes],
        key_is_signed: false,
        event: vec![event_at("/value/0/changeType")],
        handshakes: vec![Handshake::GraphToken],
        split: Some(Split {
            list: pointer("/value"),
            key: pointer("/id"),
        }),
        retry_plan_ms: 4 * HOUR_MS,
        respond_within_ms: Some(2_000),
        secret_name: "GRAPH_WEBHOOK_SECRET",
        docs: "https://learn.microsoft.com/graph/change-notifications-delivery-webhooks",
        ..base("graph", "Microsoft Graph", Scheme::ClientState)
    }
}
