//! How a test names a task.

use crate::types::{TaskKey, TaskKind};

/// Names a task of a bench: a key of its first function (`"k"`), a function and a key
/// (`("child", "k")`), or a whole [`TaskKey`].
///
/// ```
/// use onceward::testing::Address;
/// use onceward::types::{TaskKey, TaskKind};
/// let whole = TaskKey::new(TaskKind::Function, "child", "", "k");
/// assert_eq!(Address::from(("child", "k")), Address::from(&whole));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A key of the first function.
    First(String),
    /// A whole key.
    Whole(TaskKey),
}

impl Address {
    pub(super) fn key(self, first: &str) -> TaskKey {
        match self {
            Self::First(key) => TaskKey::new(TaskKind::Function, first, "", &key),
            Self::Whole(key) => key,
        }
    }
}

impl From<&str> for Address {
    fn from(key: &str) -> Self {
        Self::First(key.to_owned())
    }
}

impl From<(&str, &str)> for Address {
    fn from((function, key): (&str, &str)) -> Self {
        Self::Whole(TaskKey::new(TaskKind::Function, function, "", key))
    }
}

impl From<&TaskKey> for Address {
    fn from(key: &TaskKey) -> Self {
        Self::Whole(key.clone())
    }
}
