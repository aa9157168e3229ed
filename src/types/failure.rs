//! How a function or a step fails.

use super::StepId;
use super::payload::Answer;
use crate::limits::{MAX_DETAILS_BYTES, MAX_MESSAGE_BYTES};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The runtime tries again, by policy.
    Retryable,
    /// Trying again cannot help: the task is failed for good.
    Terminal,
}

/// Why a step or a function did not succeed.
///
/// ```
/// use onceward::types::{Failure, FailureKind};
/// let failure = Failure::terminal("card_declined", "the card was declined");
/// assert_eq!(failure.kind, FailureKind::Terminal);
/// // Any error is retryable when it passes through `?`.
/// fn parse() -> Result<u8, Failure> { Ok("300".parse::<u8>()?) }
/// assert_eq!(parse().unwrap_err().kind, FailureKind::Retryable);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// Retryable or terminal.
    pub kind: FailureKind,
    /// Stable short word for programs: `[a-z0-9_]`.
    pub code: String,
    /// One sentence for people.
    pub message: String,
    /// The step whose final failure this is; set by the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// The function's own answer for a task that failed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<Answer>>,
    /// True if what failed may have had its effect all the same: no answer came back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// How long the other side wants to be left alone, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// More for programs: JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// True if no further attempt is to follow by itself: what can be tried again is, by the next delivery or an
    /// operator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gives_up: bool,
}

impl Failure {
    /// A failure that a later try may not meet.
    pub fn retryable(code: &str, message: impl Into<String>) -> Self {
        Self::new(FailureKind::Retryable, code, message)
    }

    /// A failure that every later try would meet as well.
    pub fn terminal(code: &str, message: impl Into<String>) -> Self {
        Self::new(FailureKind::Terminal, code, message)
    }

    /// Sets the answer that the sender gets if the task fails for good with this failure.
    #[must_use]
    pub fn with_answer(mut self, answer: Answer) -> Self {
        self.answer = Some(Box::new(answer));
        self
    }

    /// Says that the effect may have happened all the same.
    ///
    /// ```
    /// use onceward::types::Failure;
    /// assert!(Failure::retryable("network", "the connection broke").with_unknown_effect().unknown);
    /// ```
    #[must_use]
    pub fn with_unknown_effect(mut self) -> Self {
        self.unknown = true;
        self
    }

    /// Says that no further attempt is to follow by itself.
    ///
    /// ```
    /// use onceward::types::Failure;
    /// assert!(Failure::retryable("status", "the target answered 503").giving_up().gives_up);
    /// ```
    #[must_use]
    pub fn giving_up(mut self) -> Self {
        self.gives_up = true;
        self
    }

    /// Adds details for programs; they are kept as JSON beside the message.
    ///
    /// ```
    /// use onceward::types::Failure;
    /// let failure = Failure::terminal("stock", "sold out").with_details(&serde_json::json!({"left": 0}));
    /// assert_eq!(failure.details.as_deref(), Some(r#"{"left":0}"#));
    /// ```
    #[must_use]
    pub fn with_details(mut self, details: &serde_json::Value) -> Self {
        let text = details.to_string();
        self.details = (text.len() <= MAX_DETAILS_BYTES).then_some(text);
        self
    }

    /// Cuts the message to what is kept, and says so in it.
    ///
    /// ```
    /// use onceward::types::Failure;
    /// let long = Failure::terminal("x", "é".repeat(100_000)).cut();
    /// assert!(long.message.len() <= 2_048);
    /// assert!(long.message.ends_with("… (cut: 200000 bytes)"));
    /// ```
    #[must_use]
    pub fn cut(mut self) -> Self {
        let bytes = self.message.len();
        if bytes > MAX_MESSAGE_BYTES {
            let note = format!("… (cut: {bytes} bytes)");
            let end = self
                .message
                .floor_char_boundary(MAX_MESSAGE_BYTES - note.len());
            self.message.truncate(end);
            self.message.push_str(&note);
        }
        self
    }

    fn new(kind: FailureKind, code: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: code.to_owned(),
            message: message.into(),
            step: None,
            answer: None,
            unknown: false,
            retry_after_ms: None,
            details: None,
            gives_up: false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::retryable("error", error.to_string())
    }
}
