//! How long a pause lasts.

use super::pen::Pen;
use crate::flow::expression::{Scope, Stop};
use crate::flow::model::Pause;
use crate::types::Failure;

/// How long a pause lasts, and what it is then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pausing {
    /// `None`: until somebody ends it.
    pub ms: Option<u64>,
    /// `RESUME`, `WARN`, `FAIL`, `CANCEL`.
    pub behavior: String,
}

impl Pausing {
    /// How long a pause lasts.
    ///
    /// # Errors
    /// As [`act`].
    pub fn of(pause: &Pause, scope: &Scope) -> Result<Self, Stop> {
        let pen = Pen::new(scope);
        let behavior = pen
            .text_or(pause.behavior.as_ref(), "RESUME")?
            .to_ascii_uppercase();
        if !["RESUME", "WARN", "FAIL", "CANCEL"].contains(&behavior.as_str()) {
            let message =
                format!("{behavior:?} is no behavior of a pause: RESUME, WARN, FAIL, CANCEL");
            return Err(Stop::Failed(Failure::terminal("behavior_invalid", message)));
        }
        Ok(Self {
            ms: pen.ms(pause.duration.as_ref())?,
            behavior,
        })
    }
}
