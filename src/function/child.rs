//! Tasks that a function begins and waits for.

use super::fetch::fetched;
use super::host::OutResponse;
use crate::protocol::{Outcome, Standing, State};
use crate::types::Failure;

/// What the step of a parent makes of the end of its child; `None` while it has not ended.
///
/// A child that failed resumably is tried again by the parent's next attempt: beginning it once more
/// is a new delivery of its key. A success is its answer: status, headers, body.
pub fn outcome_of(standing: &Standing) -> Option<Outcome> {
    let summary = &standing.summary;
    if let Some(answer) = standing
        .answer
        .as_ref()
        .filter(|_| matches!(summary.state, State::Succeeded) || summary.is_undoing_success())
    {
        let response = OutResponse {
            status: answer.status,
            headers: answer.headers.clone(),
            body: answer.body.clone(),
        };
        let text = serde_json::to_string(&fetched(&response)).unwrap_or_default();
        return Some(Outcome::Value(text));
    }
    let why = summary.failure.as_ref();
    let why = why.map_or_else(|| "without a reason".to_owned(), ToString::to_string);
    let task_id = summary.task_id;
    let failure = match summary.state {
        State::Failed { resumable: true } => Failure::retryable(
            "child_failed",
            format!("task {task_id} failed for now: {why}"),
        ),
        State::Failed { resumable: false } => {
            Failure::terminal("child_failed", format!("task {task_id} failed: {why}"))
        }
        State::Cancelled => {
            Failure::terminal("child_cancelled", format!("task {task_id} was cancelled"))
        }
        State::Succeeded | State::Running | State::Suspended(_) | State::Forgotten => return None,
    };
    Some(Outcome::Failed(failure.cut()))
}
