//! What operators want to be told without asking.

use serde::{Deserialize, Serialize};

/// Something about a task that somebody should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NoticeKind {
    /// It has failed.
    #[serde(rename = "task.failed")]
    Failed,
    /// Not everything that it did could be undone.
    #[serde(rename = "task.undone_partially")]
    UndonePartially,
    /// Its code no longer fits its journal: it does not go on by itself.
    #[serde(rename = "task.stuck")]
    Stuck,
    /// It has waited for longer than is thought right.
    #[serde(rename = "task.waiting")]
    Waiting,
}

impl NoticeKind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::Failed,
        Self::UndonePartially,
        Self::Stuck,
        Self::Waiting,
    ];

    /// The word, as the `type` of a message.
    ///
    /// ```
    /// use onceward::types::NoticeKind;
    /// for kind in NoticeKind::ALL {
    ///     assert_eq!(serde_json::json!(kind), kind.as_str());
    /// }
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "task.failed",
            Self::UndonePartially => "task.undone_partially",
            Self::Stuck => "task.stuck",
            Self::Waiting => "task.waiting",
        }
    }
}

/// What is looked out for, where anybody wants to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Watch {
    /// A wait of this is too long.
    pub waiting_ms: u64,
}
