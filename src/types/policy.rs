//! How one function wants to be run. Stored with each task, so that a task keeps the policy it began with.

use crate::limits;
use serde::{Deserialize, Serialize};

/// What of a journal goes to D1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// Every task's journal.
    Full,
    /// Journals of failed tasks; those of succeeded ones stay in their object until they expire.
    #[default]
    FailedOnly,
    /// None.
    None,
}

/// Times and limits of a function. All times in milliseconds.
///
/// ```
/// use onceward::types::Policy;
/// assert!(Policy::default().problems().is_empty());
/// let bad = Policy { lease_ms: 0, ..Policy::default() };
/// assert!(bad.problems()[0].contains("lease"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// A sender gets a 202 after this.
    pub respond_within_ms: u64,
    /// A slice starts no new step after this.
    pub slice_budget_ms: u64,
    /// When the platform ends a slice.
    pub slice_cut_ms: u64,
    /// Steps that one slice starts at most.
    pub steps_per_slice: u32,
    /// Requests to the outside after which a slice hands its task on.
    pub fetches_per_slice: u32,
    /// Requests and messages, those to objects included, after which a slice hands its task on.
    pub subrequests_per_slice: u32,
    /// Right to act.
    pub lease_ms: u64,
    /// Attempts without progress.
    pub max_attempts: u32,
    /// How long a succeeded task and its answer are kept.
    pub retention_succeeded_ms: u64,
    /// How long a failed or cancelled task is kept.
    pub retention_failed_ms: u64,
    /// What goes to D1.
    pub history: History,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            respond_within_ms: limits::DEFAULT_RESPOND_WITHIN_MS,
            slice_budget_ms: limits::DEFAULT_SLICE_BUDGET_MS,
            slice_cut_ms: limits::PLATFORM_CUT_MS,
            steps_per_slice: limits::MAX_STEPS,
            fetches_per_slice: limits::PAID_SUBREQUESTS,
            subrequests_per_slice: limits::PAID_SUBREQUESTS,
            lease_ms: limits::DEFAULT_LEASE_MS,
            max_attempts: limits::DEFAULT_MAX_ATTEMPTS,
            retention_succeeded_ms: limits::DEFAULT_RETENTION_SUCCEEDED_MS,
            retention_failed_ms: limits::DEFAULT_RETENTION_FAILED_MS,
            history: History::default(),
        }
    }
}

impl Policy {
    /// For the platform's free plan: 50 requests to the outside and 1,000 messages in one slice.
    ///
    /// ```
    /// use onceward::types::Policy;
    /// assert!(Policy::free().problems().is_empty());
    /// assert!(Policy::free().subrequests_per_slice < Policy::paid().subrequests_per_slice);
    /// ```
    pub fn free() -> Self {
        Self {
            fetches_per_slice: limits::FREE_FETCHES,
            subrequests_per_slice: limits::FREE_SUBREQUESTS,
            ..Self::default()
        }
    }

    /// For the paid plan, which is the default.
    pub fn paid() -> Self {
        Self::default()
    }

    /// Everything that is wrong with these numbers, each as one sentence; empty when they hold together.
    pub fn problems(&self) -> Vec<String> {
        let mut out = Vec::new();
        let mut range = |name: &str, got: u64, least: u64, most: u64| {
            if got < least || got > most {
                out.push(format!("{name}: got {got}, wanted {least} to {most}"));
            }
        };
        range(
            "respond_within in ms",
            self.respond_within_ms,
            1,
            limits::MAX_RESPOND_WITHIN_MS,
        );
        range(
            "slice_cut in ms",
            self.slice_cut_ms,
            1,
            limits::PLATFORM_CUT_MS,
        );
        range(
            "slice_budget in ms",
            self.slice_budget_ms,
            1,
            self.slice_cut_ms.max(1),
        );
        range(
            "steps_per_slice",
            self.steps_per_slice.into(),
            1,
            limits::MAX_STEPS.into(),
        );
        range(
            "fetches_per_slice",
            self.fetches_per_slice.into(),
            1,
            limits::PAID_SUBREQUESTS.into(),
        );
        range(
            "subrequests_per_slice",
            self.subrequests_per_slice.into(),
            1,
            limits::PAID_SUBREQUESTS.into(),
        );
        range(
            "max_attempts",
            self.max_attempts.into(),
            1,
            limits::MAX_ATTEMPTS.into(),
        );
        let least_lease = self.respond_within_ms + self.slice_cut_ms + limits::LEASE_MARGIN_MS;
        range(
            "lease in ms (at least respond_within + slice_cut + 1000)",
            self.lease_ms,
            least_lease,
            limits::MAX_LEASE_MS,
        );
        range(
            "retention.succeeded in ms",
            self.retention_succeeded_ms,
            1,
            limits::MAX_RETENTION_MS,
        );
        range(
            "retention.failed in ms",
            self.retention_failed_ms,
            1,
            limits::MAX_RETENTION_MS,
        );
        out
    }

    /// Timeout of a step that sets none: 15 s, or 60 % of the slice budget if that is less.
    pub fn step_timeout_ms(&self) -> u64 {
        (self.slice_budget_ms * 6 / 10).clamp(1, limits::DEFAULT_STEP_TIMEOUT_MS)
    }
}
