//! What a flow does next: decided from the flow and from what is recorded of this execution, without waiting for
//! anything. `function::flow` carries it out.

mod act;
mod branch;
mod conditions;
mod document;
mod http;
mod inputs;
mod kv;
mod listen;
mod pause;
mod pen;
mod recorded;
mod roots;
mod schedule;
mod subflow;
mod trigger;
mod undone;

pub use act::{Act, act};
pub use branch::{LoopBounds, chosen_case, is_true, loop_bounds, values_of};
pub use conditions::{Ended, hold};
pub use document::{Execution, RunLine, document, shortened};
pub use http::{HttpAct, is_accepted};
pub use inputs::{InputFault, as_type, typed};
pub use kv::KvAct;
pub use listen::{begins_after, variables_of_end};
pub use pause::Pausing;
pub use recorded::{Line, Recorded, State, mask_text};
pub use roots::{Frame, History, Meta, labels_of, nested, roots, value_key};
pub use schedule::{Due, MAX_DUE, due, fire_key, fire_variables};
pub use subflow::SubflowAct;
pub use trigger::{Received, key_of, variables};
pub use undone::{Undone, counts_tries, find, needs_outcome, undo_roots};

use crate::types::Failure;
use jiff::SignedDuration;
use serde_json::Value;

/// Milliseconds of an ISO 8601 duration, or of a number of seconds.
///
/// # Errors
/// Terminal (`duration_invalid`) for another text, a negative time, or one that has no fixed length.
///
/// ```
/// use onceward::flow::plan::duration_ms;
/// assert_eq!(duration_ms(&"PT1M30S".into()), Ok(90_000));
/// assert_eq!(duration_ms(&"P2D".into()), Ok(2 * 86_400_000));
/// assert!(duration_ms(&"soon".into()).is_err());
/// ```
pub fn duration_ms(value: &Value) -> Result<u64, Failure> {
    let wrong = || {
        let message = format!("{value} is no ISO 8601 duration like PT30S or P1D");
        Failure::terminal("duration_invalid", message)
    };
    if let Some(seconds) = value.as_f64() {
        let ms = seconds * 1_000.0;
        // Ten years in milliseconds lie far below 2^53.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        return (0.0..3.2e11)
            .contains(&ms)
            .then_some(ms as u64)
            .ok_or_else(wrong);
    }
    let text = value.as_str().ok_or_else(wrong)?.trim();
    // The library takes more than the standard.
    if !text.starts_with(['P', 'p']) {
        return Err(wrong());
    }
    let span: jiff::Span = text.parse().map_err(|_| wrong())?;
    let relative = jiff::SpanRelativeTo::days_are_24_hours();
    let duration: SignedDuration = span.to_duration(relative).map_err(|_| wrong())?;
    u64::try_from(duration.as_millis()).map_err(|_| wrong())
}
