//! The words for where a task stands, in documents, rows and logs.

use crate::protocol::{State, Summary, Waiting};
use serde::Serialize;

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Accepted; no slice yet.
    Pending,
    /// A slice is at work.
    Running,
    /// Waiting for something; see `waiting`.
    Suspended,
    /// Undoing what it did.
    Compensating,
    /// Ended well; the answer is stored.
    Succeeded,
    /// Ended badly; `resumable` says whether a new delivery goes on.
    Failed,
    /// Ended by an operator.
    Cancelled,
}

impl TaskState {
    /// Every state.
    pub const ALL: &'static [Self] = &[
        Self::Pending,
        Self::Running,
        Self::Suspended,
        Self::Compensating,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// From what the object says of its task.
    pub fn of(summary: &Summary) -> Self {
        if summary.ending.is_some() {
            return Self::Compensating;
        }
        match &summary.state {
            State::Running => Self::Running,
            State::Suspended(Waiting::Ready) if summary.claims == 0 => Self::Pending,
            State::Suspended(_) => Self::Suspended,
            State::Succeeded => Self::Succeeded,
            // For every sender the key of a forgotten one is new; nobody is shown it.
            State::Failed { .. } | State::Forgotten => Self::Failed,
            State::Cancelled => Self::Cancelled,
        }
    }

    /// The word used in documents, rows and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Compensating => "compensating",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads the word.
    ///
    /// ```
    /// use onceward::http::document::TaskState;
    /// for state in TaskState::ALL {
    ///     assert_eq!(TaskState::parse(state.as_str()), Some(*state));
    /// }
    /// ```
    pub fn parse(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|state| state.as_str() == word)
    }
}

/// What came of undoing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum UndoneWord {
    /// Everything was undone.
    Complete,
    /// Something was not, or it is not known; `not_undone` names it.
    Partial,
}

impl UndoneWord {
    /// The word used in documents and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
        }
    }
}

/// What became of the wish to have the task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CancelWord {
    /// It ends, or has ended, because of it.
    Requested,
    /// The task had succeeded before anybody could stop it.
    TooLate,
}

impl CancelWord {
    /// The word used in documents and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::TooLate => "too_late",
        }
    }
}
