//! What is wrong with a flow, and where.

use serde::Serialize;
use std::fmt;

/// A place in a file; both count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in it.
    pub column: u32,
}

/// One thing that is wrong. A flow with one of them is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// A path like `tasks[1].then[0].message`, or empty for the whole file.
    pub path: String,
    /// Where.
    #[serde(flatten)]
    pub at: Position,
    /// What was got, what was wanted, what to do.
    pub detail: String,
    /// The nearest thing that is supported, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.at;
        let place = if self.path.is_empty() {
            "the flow"
        } else {
            &self.path
        };
        write!(f, "{line}:{column} {place}: {}", self.detail)?;
        match &self.nearest {
            Some(nearest) => write!(f, " Nearest: {nearest}."),
            None => Ok(()),
        }
    }
}
