//! What a task has cost.

use serde::{Deserialize, Serialize};

/// What the object of a task was billed for, as far as it knows. Approximate: what is counted in memory
/// between two writes goes with the instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Messages and runs of the alarm.
    pub requests: u64,
    /// Rows written to its storage, alarms set included.
    pub rows: u64,
    /// Rows that it wrote to D1, index entries included.
    pub d1_rows: u64,
    /// Time at work, in milliseconds of wall time.
    pub ms: u64,
}

/// What is still to come when the row of a task's end is written, which tells what it has cost until then: that
/// row and its place in the statistics, the acknowledgement, the alarm at the end of its retention, the tombstone
/// and its end.
pub const AFTER_END: Cost = Cost {
    requests: 1,
    rows: 5,
    d1_rows: 9,
    ms: 0,
};

impl Cost {
    /// Both together.
    ///
    /// ```
    /// use onceward::types::Cost;
    /// let one = Cost { requests: 1, rows: 2, d1_rows: 3, ms: 4 };
    /// assert_eq!(one.and(one), Cost { requests: 2, rows: 4, d1_rows: 6, ms: 8 });
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            rows: self.rows.saturating_add(other.rows),
            d1_rows: self.d1_rows.saturating_add(other.d1_rows),
            ms: self.ms.saturating_add(other.ms),
        }
    }
}
