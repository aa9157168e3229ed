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

/// Which answers are kept for duplicates. A task that ended otherwise is over as well, and is shown; but
/// its key is free: the next delivery runs anew, with an empty journal and other derived keys.
///
/// ```
/// use onceward::types::Keeps;
/// assert!(Keeps::All.keeps(503));
/// assert!(Keeps::Below500.keeps(404) && !Keeps::Below500.keeps(500));
/// assert!(Keeps::Success.keeps(204) && !Keeps::Success.keeps(404));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeps {
    /// Every answer, and every failure for good.
    #[default]
    All,
    /// Answers with a status below 500. A failure without an answer counts as 500. What may have been
    /// done all the same is kept in any case.
    Below500,
    /// Answers with a status from 200 to 299.
    Success,
}

impl Keeps {
    /// Whether an answer of this status is kept.
    pub fn keeps(self, status: u16) -> bool {
        match self {
            Self::All => true,
            Self::Below500 => status < 500,
            Self::Success => (200..300).contains(&status),
        }
    }
}

/// What a key means once its task has expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterExpiry {
    /// It is new.
    #[default]
    New,
    /// It is refused as used up for so long, and new then. Nothing but the key itself is kept for that.
    Gone {
        /// From the expiry on.
        tombstone_ms: u64,
    },
}

/// Whether a field is as always, and needs no place in a row.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
    /// Longest step, where one may take longer than a slice: then the object holds each slice's request,
    /// which is billed by wall time, and the alarm starts it. 0: no such step.
    pub long_step_ms: u64,
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
    /// Which answers are kept for duplicates.
    #[serde(skip_serializing_if = "is_default")]
    pub keeps: Keeps,
    /// What a key means once its task has expired.
    #[serde(skip_serializing_if = "is_default")]
    pub after_expiry: AfterExpiry,
    /// How long input and journal of what has ended for good are kept, in ms from the end; the answer stays.
    /// `None`: as long as the answer. With it, no journal goes to D1.
    #[serde(skip_serializing_if = "is_default")]
    pub retention_payload_ms: Option<u64>,
    /// Operators are not told what becomes of its tasks.
    #[serde(skip_serializing_if = "is_default")]
    pub quiet: bool,
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
            long_step_ms: 0,
            lease_ms: limits::DEFAULT_LEASE_MS,
            max_attempts: limits::DEFAULT_MAX_ATTEMPTS,
            retention_succeeded_ms: limits::DEFAULT_RETENTION_SUCCEEDED_MS,
            retention_failed_ms: limits::DEFAULT_RETENTION_FAILED_MS,
            history: History::default(),
            keeps: Keeps::default(),
            after_expiry: AfterExpiry::default(),
            retention_payload_ms: None,
            quiet: false,
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

    /// The same with steps that take up to `ms`, at most 14 minutes: the slice, its budget and its lease
    /// are made long enough. Such a step must say what to do when its outcome is unknown: a deploy may
    /// end it half-way.
    ///
    /// ```
    /// use onceward::types::Policy;
    /// let policy = Policy::default().with_long_steps(120_000);
    /// assert!(policy.problems().is_empty());
    /// assert!(policy.lease_ms > 120_000);
    /// assert!(!Policy::default().with_long_steps(3_600_000).problems().is_empty());
    /// ```
    #[must_use]
    pub fn with_long_steps(self, ms: u64) -> Self {
        let cut_ms = ms.saturating_add(2 * limits::CUT_MARGIN_MS);
        let least = self.least_lease_ms(cut_ms);
        Self {
            long_step_ms: ms,
            slice_cut_ms: self.slice_cut_ms.max(cut_ms),
            lease_ms: self.lease_ms.max(least),
            ..self
        }
    }

    /// As long as a sender waits, the slice goes on behind its answer, and a margin.
    fn least_lease_ms(&self, cut_ms: u64) -> u64 {
        let slice_ms = self.respond_within_ms.saturating_add(cut_ms);
        slice_ms.saturating_add(limits::LEASE_MARGIN_MS)
    }

    /// True if the object holds the requests of its slices.
    pub fn is_long(&self) -> bool {
        self.long_step_ms > 0
    }

    /// Everything that is wrong with these numbers, each as one sentence; empty when they hold together.
    pub fn problems(&self) -> Vec<String> {
        let cut = if self.is_long() {
            limits::MAX_LEASE_MS
        } else {
            limits::PLATFORM_CUT_MS
        };
        let least_lease = self.least_lease_ms(self.slice_cut_ms);
        let subrequests = u64::from(limits::PAID_SUBREQUESTS);
        let tombstone_ms = match self.after_expiry {
            AfterExpiry::New => 1,
            AfterExpiry::Gone { tombstone_ms } => tombstone_ms,
        };
        #[rustfmt::skip]
        let ranges: [(&str, u64, u64, u64); 13] = [
            ("respond_within in ms", self.respond_within_ms, 1, limits::MAX_RESPOND_WITHIN_MS),
            ("long_step in ms", self.long_step_ms, 0, limits::MAX_LONG_STEP_MS),
            ("slice_cut in ms", self.slice_cut_ms, 1, cut),
            ("slice_budget in ms", self.slice_budget_ms, 1, self.slice_cut_ms.max(1)),
            ("steps_per_slice", self.steps_per_slice.into(), 1, limits::MAX_STEPS.into()),
            ("fetches_per_slice", self.fetches_per_slice.into(), 1, subrequests),
            ("subrequests_per_slice", self.subrequests_per_slice.into(), 1, subrequests),
            ("max_attempts", self.max_attempts.into(), 1, limits::MAX_ATTEMPTS.into()),
            ("lease in ms (at least respond_within + slice_cut + 1000)", self.lease_ms, least_lease, limits::MAX_LEASE_MS),
            ("retention.succeeded in ms", self.retention_succeeded_ms, 1, limits::MAX_RETENTION_MS),
            ("retention.failed in ms", self.retention_failed_ms, 1, limits::MAX_RETENTION_MS),
            ("retention.payload in ms", self.retention_payload_ms.unwrap_or(1), 1, limits::MAX_RETENTION_MS),
            ("retention.gone in ms", tombstone_ms, 1, limits::MAX_RETENTION_MS),
        ];
        let wrong = ranges
            .into_iter()
            .filter(|(_, got, least, most)| got < least || got > most);
        wrong
            .map(|(name, got, least, most)| format!("{name}: got {got}, wanted {least} to {most}"))
            .collect()
    }

    /// Timeout of a step that sets none: 15 s, or 60 % of the slice budget if that is less.
    pub fn step_timeout_ms(&self) -> u64 {
        (self.slice_budget_ms.saturating_mul(6) / 10).clamp(1, limits::DEFAULT_STEP_TIMEOUT_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever somebody writes is a number that is out of range, and no fault of the arithmetic.
    #[test]
    fn numbers_of_any_size_are_judged() {
        let policy = Policy {
            respond_within_ms: u64::MAX,
            slice_budget_ms: u64::MAX,
            slice_cut_ms: u64::MAX,
            long_step_ms: u64::MAX,
            lease_ms: u64::MAX,
            ..Policy::default()
        };
        // The budget is within the cut.
        assert_eq!(policy.problems().len(), 4);
        assert!(policy.step_timeout_ms() <= limits::DEFAULT_STEP_TIMEOUT_MS);
        assert!(!policy.with_long_steps(u64::MAX).problems().is_empty());
    }
}
