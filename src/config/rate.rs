//! How often a source may be sent to.

use serde::Deserialize;

/// Who shares one count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Each address that sends: a flood from elsewhere does not keep the provider out.
    #[default]
    Sender,
    /// All senders of the source together.
    Source,
}

/// A rate limiter of the platform that deliveries have to pass before anything of them is looked at.
///
/// The numbers of the limiter stand in `wrangler.toml` (`[[ratelimits]]`); the platform counts for each of its
/// locations, and approximately.
///
/// ```
/// use onceward::config::{Per, RateLimit};
/// let limit: RateLimit = serde_json::from_str(r#"{"binding": "HOOKS"}"#).unwrap();
/// assert_eq!(limit, RateLimit { binding: "HOOKS".into(), per: Per::Sender, retry_after_s: 60 });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Name of the binding.
    pub binding: String,
    /// Who shares one count.
    #[serde(default)]
    pub per: Per,
    /// What a sender above the limit is told to wait: the limiter's period, 10 or 60 seconds.
    #[serde(default = "minute")]
    pub retry_after_s: u64,
}

const fn minute() -> u64 {
    60
}
