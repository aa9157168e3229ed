//! What is wrong with a configuration.

use std::fmt;

/// One fault: where, and what was got and wanted. Never holds the value of a secret.
///
/// ```
/// use onceward::config::ConfigProblem;
/// let problem = ConfigProblem::new("source github", "no function is named \"githup\"");
/// assert_eq!(problem.to_string(), "source github: no function is named \"githup\"");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The thing that has the fault.
    pub place: String,
    /// The fault, as one sentence without a full stop.
    pub problem: String,
}

impl ConfigProblem {
    /// A fault at a place.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for ConfigProblem {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for ConfigProblem {}
