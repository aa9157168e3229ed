//! Which way a flow goes: conditions, cases, values of loops.

use super::pen::Pen;
use super::value_key;
use crate::flow::expression::{Scope, Stop, truthy};
use crate::flow::model::{Loop, Property, Task};
use crate::types::Failure;
use serde_json::Value;

/// Whether a rendered text counts as true.
///
/// ```
/// use onceward::flow::plan::is_true;
/// assert!(is_true("true") && is_true("no") && is_true("1"));
/// assert!(!is_true("") && !is_true("false") && !is_true("0") && !is_true("-0") && !is_true("null"));
/// ```
pub fn is_true(text: &str) -> bool {
    truthy(text)
}

/// The tasks of the case that fits, or the default ones; besides, the value.
///
/// # Errors
/// As [`super::act`].
pub fn chosen_case<'t>(
    value: &Property,
    cases: &'t [(String, Vec<Task>)],
    defaults: &'t [Task],
    scope: &Scope,
) -> Result<(String, &'t [Task]), Stop> {
    let pen = Pen::new(scope);
    let value = pen.text(value)?;
    let case = cases.iter().find(|(case, _)| *case == value);
    Ok((value, case.map_or(defaults, |(_, tasks)| tasks)))
}

/// The values of a loop: a list, a text that holds one in JSON, or the pairs of a map.
///
/// # Errors
/// As [`super::act`]; terminal (`values_invalid`) for anything else, and for more than a flow can have.
pub fn values_of(values: &Property, scope: &Scope) -> Result<Vec<Value>, Stop> {
    let value = Pen::new(scope).value(values)?;
    let value = match value {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    };
    let wrong = |message: String| Stop::Failed(Failure::terminal("values_invalid", message));
    let values = match value {
        Value::Array(items) => items,
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| serde_json::json!({ "key": key, "value": value }))
            .collect(),
        other => {
            let got: String = value_key(&other).chars().take(80).collect();
            return Err(wrong(format!("values are no list: {got:?}")));
        }
    };
    let most = crate::limits::MAX_FLOW_VALUES;
    if values.len() > most {
        return Err(wrong(format!(
            "{} values; a loop can have {most}",
            values.len()
        )));
    }
    Ok(values)
}

/// How far a loop goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopBounds {
    /// Between two turns.
    pub interval_ms: u64,
    /// Turns at most.
    pub max_iterations: u64,
    /// Over all turns.
    pub max_duration_ms: Option<u64>,
    /// Whether reaching one of the two is a failure.
    pub fails: bool,
}

/// The bounds of a loop: a minute between turns, 100 turns and an hour if it says nothing else.
///
/// # Errors
/// As [`super::act`].
pub fn loop_bounds(of: &Loop, scope: &Scope) -> Result<LoopBounds, Stop> {
    let pen = Pen::new(scope);
    let iterations = pen.optional(of.max_iterations.as_ref())?;
    let iterations = iterations.filter(|value| !value.is_null());
    let max_iterations = match iterations {
        None => 100,
        Some(value) => value_key(&value).trim().parse().map_err(|_| {
            let message = format!("maxIterations is no number: {value}");
            Stop::Failed(Failure::terminal("loop_invalid", message))
        })?,
    };
    Ok(LoopBounds {
        interval_ms: pen.ms(of.interval.as_ref())?.unwrap_or(60_000),
        max_iterations,
        max_duration_ms: Some(pen.ms(of.max_duration.as_ref())?.unwrap_or(3_600_000)),
        fails: pen.flag(of.fail_on_max_reached.as_ref(), false)?,
    })
}
