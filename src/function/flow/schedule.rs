//! An execution that a schedule begins.

use super::arrive::{Secrets, roots_of};
use super::input::{Begun, FlowInput, FlowRef};
use crate::flow::expression::{Scope, Stop};
use crate::flow::formats::time_zone;
use crate::flow::model::{Flow, Schedule};
use crate::flow::plan::{fire_key, fire_variables, hold};

/// Whether the conditions of a schedule hold at one of its times.
///
/// # Errors
/// When an expression fails, or asks for more than the time and secrets.
pub fn schedule_holds(
    flow: &Flow,
    schedule: &Schedule,
    at_ms: u64,
    secrets: &Secrets,
) -> Result<bool, String> {
    if schedule.conditions.is_empty() {
        return Ok(true);
    }
    let roots = roots_of(flow, &fire_variables(schedule, at_ms)?);
    let scope = Scope {
        roots: &roots,
        outside: secrets,
    };
    let zone = time_zone(&schedule.timezone)?;
    hold(&schedule.conditions, &scope, None, (at_ms, &zone)).map_err(|stop| match stop {
        Stop::Failed(failure) => failure.to_string(),
        Stop::NeedsKv { .. } | Stop::NeedsNow => {
            "conditions of a schedule see its time and secrets: neither kv() nor now()".to_owned()
        }
    })
}

/// What the execution runs on.
///
/// # Errors
/// What is wrong with the schedule.
pub fn scheduled(of: &FlowRef, schedule: &Schedule, at_ms: u64) -> Result<FlowInput, String> {
    Ok(FlowInput {
        flow: of.clone(),
        begun: Begun::Trigger(fire_variables(schedule, at_ms)?),
        key: Some(fire_key(&schedule.id, at_ms)),
        ..FlowInput::default()
    })
}
