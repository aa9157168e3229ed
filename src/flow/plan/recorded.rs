//! What is recorded of one task of a flow.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a task of a flow, or a whole execution, stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// It did what it was to do.
    #[default]
    Success,
    /// It was left out.
    Skipped,
    /// It went on in spite of something.
    Warning,
    /// It was ended, and its work counts for nothing.
    Cancelled,
    /// It was ended from outside.
    Killed,
    /// It did not.
    Failed,
    /// It goes on.
    Running,
    /// It waits for somebody.
    Paused,
    /// It was accepted.
    Created,
}

impl State {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::Skipped => "SKIPPED",
            Self::Warning => "WARNING",
            Self::Cancelled => "CANCELLED",
            Self::Killed => "KILLED",
            Self::Failed => "FAILED",
            Self::Running => "RUNNING",
            Self::Paused => "PAUSED",
            Self::Created => "CREATED",
        }
    }

    /// The state that this word means, in any case.
    ///
    /// ```
    /// use onceward::flow::plan::State;
    /// assert_eq!(State::of("warning"), Some(State::Warning));
    /// assert_eq!(State::of("fine"), None);
    /// ```
    pub fn of(word: &str) -> Option<Self> {
        let all = [
            Self::Success,
            Self::Skipped,
            Self::Warning,
            Self::Cancelled,
            Self::Killed,
            Self::Failed,
            Self::Running,
            Self::Paused,
            Self::Created,
        ];
        all.into_iter()
            .find(|state| state.as_str().eq_ignore_ascii_case(word.trim()))
    }

    /// The state of what consists of two: the worse one. What was left out is as good as a success.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let plain = |state| {
            if state == Self::Skipped {
                Self::Success
            } else {
                state
            }
        };
        plain(self).max(plain(other))
    }
}

/// A line of a flow's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// `TRACE` … `ERROR`.
    pub level: String,
    /// What.
    pub message: String,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_success(state: &State) -> bool {
    *state == State::Success
}

/// The recorded outcome of a task of a flow. All that depends on anything outside is in it, so that a run that starts
/// again goes the same way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recorded {
    /// How it ended.
    #[serde(skip_serializing_if = "is_success")]
    pub state: State,
    /// What the others see as `outputs.<id>`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub outputs: Map<String, Value>,
    /// What it logged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<Line>,
    /// Labels that it set.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub labels: Map<String, Value>,
    /// Variables that it set.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub variables: Map<String, Value>,
    /// The state in which it ends the execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<State>,
}

impl Recorded {
    /// A success with one output.
    pub fn output(name: &str, value: Value) -> Self {
        let mut outputs = Map::new();
        outputs.insert(name.to_owned(), value);
        Self {
            outputs,
            ..Self::default()
        }
    }

    /// It was left out.
    pub fn skipped() -> Self {
        Self {
            state: State::Skipped,
            ..Self::default()
        }
    }

    /// With the texts of secrets taken out of everything in it.
    #[must_use]
    pub fn without(mut self, secrets: &[String]) -> Self {
        if secrets.iter().all(String::is_empty) {
            return self;
        }
        for map in [&mut self.outputs, &mut self.labels, &mut self.variables] {
            let masked = mask(Value::Object(std::mem::take(map)), secrets);
            if let Value::Object(masked) = masked {
                *map = masked;
            }
        }
        for line in &mut self.logs {
            line.message = mask_text(&line.message, secrets);
        }
        self
    }
}

/// What stands in place of a secret.
const MASK: &str = "******";

/// A text without these secrets.
///
/// ```
/// use onceward::flow::plan::mask_text;
/// assert_eq!(mask_text("token s3cret!", &["s3cret".to_owned()]), "token ******!");
/// ```
pub fn mask_text(text: &str, secrets: &[String]) -> String {
    let mut sorted: Vec<&String> = secrets.iter().filter(|s| !s.is_empty()).collect();
    // A secret may be part of another one.
    sorted.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    sorted.into_iter().fold(text.to_owned(), |text, secret| {
        text.replace(secret.as_str(), MASK)
    })
}

fn mask(value: Value, secrets: &[String]) -> Value {
    match value {
        Value::String(text) => Value::String(mask_text(&text, secrets)),
        Value::Array(items) => items.into_iter().map(|item| mask(item, secrets)).collect(),
        Value::Object(map) => {
            let masked = map
                .into_iter()
                .map(|(k, v)| (mask_text(&k, secrets), mask(v, secrets)));
            Value::Object(masked.collect())
        }
        // A number may be a secret as well.
        Value::Number(number) if secrets.contains(&number.to_string()) => MASK.into(),
        other => other,
    }
}
