//! Why evaluation ends early.

use crate::limits::MAX_EXPRESSION_MESSAGE_BYTES;
use std::fmt;

/// What evaluation needs from the outside; then the same is evaluated again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Secret(String),
    Kv {
        namespace: String,
        key: String,
    },
    Now,
    /// What random values are made of.
    Seed,
    /// A text that is rendered as a template.
    Nested(String),
}

/// Why evaluation ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    Ask(Ask),
    Failed { code: &'static str, message: String },
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("halted")
    }
}

impl std::error::Error for Halt {}

impl From<Halt> for minijinja::Error {
    fn from(halt: Halt) -> Self {
        Self::new(minijinja::ErrorKind::InvalidOperation, "halted").with_source(halt)
    }
}

/// A failure of an expression itself. The message names no values: they may be secrets.
pub(super) fn failed(message: impl Into<String>) -> Halt {
    Halt::Failed {
        code: "expression_failed",
        message: message.into(),
    }
}

/// It has become too large, or takes too long.
pub(super) fn too_large(message: impl Into<String>) -> Halt {
    Halt::Failed {
        code: "expression_too_large",
        message: message.into(),
    }
}

/// What the engine says: one of ours, or one of its own.
pub(super) fn from_engine(error: &minijinja::Error) -> Halt {
    if error.kind() == minijinja::ErrorKind::OutOfFuel {
        return too_large("it takes too long or becomes too large");
    }
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(halt) = inner.downcast_ref::<Halt>() {
            return halt.clone();
        }
        if let Some(inner) = inner.downcast_ref::<minijinja::Error>()
            && inner.kind() == minijinja::ErrorKind::OutOfFuel
        {
            return from_engine(inner);
        }
        source = inner.source();
    }
    failed(format!("it can't be evaluated ({})", error.kind()))
}

/// At most so much of a text as a message quotes.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= MAX_EXPRESSION_MESSAGE_BYTES {
        return text.to_owned();
    }
    format!(
        "{}…",
        &text[..text.floor_char_boundary(MAX_EXPRESSION_MESSAGE_BYTES)]
    )
}
