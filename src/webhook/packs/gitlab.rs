//! GitLab, <https://docs.gitlab.com/user/project/integrations/webhooks/>.

use super::{base, event_in, header, keep};
use crate::webhook::{KeyRule, Pack, Scheme};

/// With a signing token `webhook-id` is signed. Before 17.4 there was no `Idempotency-Key`; hooks
/// that set off other hooks share one event UUID, so that the kind of event belongs to the key.
/// Nothing is repeated by itself.
pub(super) fn pack() -> Pack {
    Pack {
        keys: vec![
            header("webhook-id"),
            header("idempotency-key"),
            KeyRule::Whole(vec![
                header("x-gitlab-event-uuid"),
                header("x-gitlab-event"),
            ]),
            KeyRule::SignedBytes,
        ],
        key_is_signed: false,
        event: vec![event_in("x-gitlab-event")],
        keep: keep(&[
            "webhook-id",
            "idempotency-key",
            "x-gitlab-event",
            "x-gitlab-event-uuid",
            "x-gitlab-instance",
        ]),
        secret_name: "GITLAB_WEBHOOK_SECRET",
        docs: "https://docs.gitlab.com/user/project/integrations/webhooks/",
        ..base(
            "gitlab",
            "GitLab",
            Scheme::GitLab {
                tolerance_s: Some(300),
            },
        )
    }
}
