//! What a task waits for, as JSON.

use super::document::maybe_time;
use crate::protocol::{LOCK_STEP, State, Wait, WaitFor, Waiting, is_lock_signal};
use serde::Serialize;

/// What a suspended task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// A time that the function chose.
    Sleep,
    /// A signal.
    Signal,
    /// The next attempt, or the next try of a step.
    Backoff,
    /// The next slice.
    NextSlice,
    /// The end of another task.
    Child,
    /// A lock that others hold.
    Lock,
    /// An operator: the code no longer fits the journal.
    CodeChanged,
}

impl WaitingFor {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::Sleep,
        Self::Signal,
        Self::Backoff,
        Self::NextSlice,
        Self::Child,
        Self::Lock,
        Self::CodeChanged,
    ];

    /// The word used in documents and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Signal => "signal",
            Self::Backoff => "backoff",
            Self::NextSlice => "next_slice",
            Self::Child => "child",
            Self::Lock => "lock",
            Self::CodeChanged => "code_changed",
        }
    }

    /// Reads the word.
    ///
    /// ```
    /// use onceward::http::waiting::WaitingFor;
    /// for what in WaitingFor::ALL {
    ///     assert_eq!(WaitingFor::parse(what.as_str()), Some(*what));
    /// }
    /// ```
    pub fn parse(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|what| what.as_str() == word)
    }

    fn of(what: &WaitFor) -> Self {
        match what {
            WaitFor::Sleep { .. } => Self::Sleep,
            WaitFor::Signal { name, .. } if is_lock_signal(name) => Self::Lock,
            WaitFor::Signal { .. } => Self::Signal,
            WaitFor::Retry { .. } => Self::Backoff,
            WaitFor::Child { .. } => Self::Child,
        }
    }
}

/// What a suspended task waits for, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct WaitingDocument {
    /// What for.
    #[serde(rename = "for")]
    pub what: WaitingFor,
    /// Its name: of a signal or a lock its own, otherwise that of the step that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Not longer than this.
    #[serde(
        rename = "until",
        skip_serializing_if = "Option::is_none",
        serialize_with = "maybe_time"
    )]
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = Option<String>, format = DateTime))]
    pub until_ms: Option<u64>,
}

impl WaitingDocument {
    /// Something without a name.
    pub const fn plain(what: WaitingFor, until_ms: Option<u64>) -> Self {
        Self {
            what,
            name: None,
            until_ms,
        }
    }

    /// Everything that a task in this state waits for: what comes first in time is first.
    pub fn all(state: &State) -> Vec<Self> {
        let State::Suspended(waiting) = state else {
            return Vec::new();
        };
        match waiting {
            Waiting::Ready => vec![Self::plain(WaitingFor::NextSlice, None)],
            Waiting::BackingOff { due_ms } => vec![Self::plain(WaitingFor::Backoff, Some(*due_ms))],
            Waiting::CodeChanged(_) => vec![Self::plain(WaitingFor::CodeChanged, None)],
            Waiting::For(waits) => {
                let mut all: Vec<Self> = waits.iter().map(Self::of).collect();
                // What has no time comes last.
                all.sort_by_key(|wait| wait.until_ms.unwrap_or(u64::MAX));
                all
            }
        }
    }

    fn of(wait: &Wait) -> Self {
        let what = WaitingFor::of(&wait.what);
        let name = match &wait.what {
            WaitFor::Signal { .. } if what == WaitingFor::Lock => {
                let name = wait.id.name.strip_prefix(LOCK_STEP);
                name.unwrap_or_default().to_owned()
            }
            WaitFor::Signal { name, .. } => name.clone(),
            WaitFor::Sleep { .. } | WaitFor::Retry { .. } | WaitFor::Child { .. } => {
                wait.id.to_string()
            }
        };
        Self {
            what,
            name: Some(name),
            // A child and a lock have no time of their own: they are only looked at.
            until_ms: match what {
                WaitingFor::Child | WaitingFor::Lock => None,
                WaitingFor::Sleep
                | WaitingFor::Signal
                | WaitingFor::Backoff
                | WaitingFor::NextSlice
                | WaitingFor::CodeChanged => wait.what.due_ms(),
            },
        }
    }
}

/// How the code no longer fits the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct MismatchDocument {
    /// How many records of that branch were visited before.
    pub index: u32,
    /// A step on record that the code did not come to.
    pub recorded: String,
    /// What the code came to instead; left out if it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempted: Option<String>,
    /// One sentence.
    pub difference: String,
}

impl MismatchDocument {
    /// Of a task that waits for an operator because of it.
    pub fn of(state: &State) -> Option<Self> {
        let State::Suspended(Waiting::CodeChanged(mismatch)) = state else {
            return None;
        };
        Some(Self {
            index: mismatch.index,
            recorded: mismatch.recorded.to_string(),
            attempted: mismatch.attempted.as_ref().map(ToString::to_string),
            difference: mismatch.difference.clone(),
        })
    }
}
