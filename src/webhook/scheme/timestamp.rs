//! When a delivery was signed.

use crate::webhook::{Arrival, Pointer, Refusal};
use serde::Deserialize;

/// Where the time of a signature stands, and how old it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Where it stands.
    pub at: TimestampAt,
    /// What it counts.
    pub unit: Unit,
    /// How far the sender's clock may be from ours, in seconds, either way and inclusive; `None` for
    /// any distance.
    pub tolerance_s: Option<u64>,
}

/// Where the time of a signature stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimestampAt {
    /// In a header field of its own, by its name in lower case.
    Header(String),
    /// In the field of the signature: an item of its list that is this name, `=` and the time.
    Pair(String),
    /// In the JSON body, at this pointer.
    Body(Pointer),
}

/// What a timestamp counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub enum Unit {
    /// Seconds since 1970.
    #[default]
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds since 1970.
    #[serde(rename = "ms")]
    Milliseconds,
    /// A date and time of RFC 3339.
    #[serde(rename = "rfc3339")]
    Rfc3339,
}

impl Unit {
    /// Seconds since 1970, rounded down.
    pub(super) fn seconds(self, text: &str) -> Option<u64> {
        if self == Self::Rfc3339 {
            let time: jiff::Timestamp = text.parse().ok()?;
            return u64::try_from(time.as_second()).ok();
        }
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let count: u64 = text.parse().ok()?;
        Some(if self == Self::Milliseconds {
            count / 1_000
        } else {
            count
        })
    }
}

/// That the time is near enough to ours, in whole seconds.
pub(super) fn near(
    signed_s: u64,
    arrival: &Arrival<'_>,
    tolerance_s: Option<u64>,
) -> Result<(), Refusal> {
    let now_s = arrival.now_ms / 1_000;
    let skew_s = now_s.abs_diff(signed_s);
    if tolerance_s.is_none_or(|tolerance| skew_s <= tolerance) {
        Ok(())
    } else if signed_s < now_s {
        Err(Refusal::TooOld { skew_s })
    } else {
        Err(Refusal::FromFuture { skew_s })
    }
}
