//! Ring 2: the plans of the scheduled jobs. What they delete and whom they poke is in
//! [`crate::store::d1`]; how much they do in one run is here.

/// What one job did in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Rows deleted, or objects poked.
    pub done: u64,
    /// Why it stopped early.
    pub error: Option<String>,
}

/// Whether a job that began at `started_ms` takes on another piece.
///
/// ```
/// use onceward::maintenance::goes_on;
/// assert!(goes_on(1_000, 1_500, 1_000));
/// assert!(!goes_on(1_000, 2_000, 1_000));
/// // A clock that stepped back does not make it run for ever: pieces end by themselves.
/// assert!(goes_on(1_000, 500, 1_000));
/// ```
pub fn goes_on(started_ms: u64, now_ms: u64, budget_ms: u64) -> bool {
    now_ms.saturating_sub(started_ms) < budget_ms
}
