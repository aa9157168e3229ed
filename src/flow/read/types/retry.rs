//! `retry`.

use super::super::fields::Fields;
use super::super::reader::Reader;
use super::super::spec::{Kind, PropertySpec, may, need};
use crate::flow::model::{Retry, RetryKind};
use crate::limits::MAX_ATTEMPTS;

const MOST: u64 = MAX_ATTEMPTS as u64;

/// Its properties.
pub const RETRY: &[PropertySpec] = &[
    need(
        "type",
        Kind::Word(&["constant", "exponential", "random"]),
        "How long the pauses between tries are.",
    ),
    may(
        "interval",
        Kind::Period,
        "Pause of a `constant`, first pause of an `exponential` one.",
    ),
    may(
        "maxInterval",
        Kind::Period,
        "Longest pause of an `exponential` or `random` one.",
    ),
    may(
        "minInterval",
        Kind::Period,
        "Shortest pause of a `random` one.",
    ),
    may(
        "delayFactor",
        Kind::Factor,
        "From one pause of an `exponential` one to the next; 2 if there is none.",
    ),
    may(
        "maxAttempts",
        Kind::Count(1, MOST),
        "All tries, the first one among them.",
    )
    .or(&["maxAttempt"]),
    may("maxDuration", Kind::Period, "Over all tries."),
    may(
        "warningOnRetry",
        Kind::Flag,
        "Whether a success after the first try is a warning.",
    ),
    may(
        "behavior",
        Kind::Word(&["RETRY_FAILED_TASK", "CREATE_NEW_EXECUTION"]),
        "Only `RETRY_FAILED_TASK`: a key has one execution.",
    ),
];

/// Makes it. `None` if something that its type needs is missing, which has been told.
pub fn retry(fields: &mut Fields, reader: &mut Reader<'_>) -> Option<Retry> {
    let at = fields.at_of("behavior");
    if fields.text("behavior").as_deref() == Some("CREATE_NEW_EXECUTION") {
        let path = fields.path_of("behavior");
        let detail = "Not supported: a key has one execution, so the failed task is tried again.";
        reader.problem_near(at, &path, detail, Some("RETRY_FAILED_TASK".to_owned()));
    }
    let type_name = fields.text("type")?;
    let complete = parts(fields, reader, &type_name);
    let ms = |fields: &mut Fields, name| fields.count(name).unwrap_or_default();
    let kind = match type_name.as_str() {
        "constant" => RetryKind::Constant {
            interval_ms: ms(fields, "interval"),
        },
        "exponential" => RetryKind::Exponential {
            interval_ms: ms(fields, "interval"),
            max_interval_ms: ms(fields, "maxInterval"),
            factor: fields.factor("delayFactor").unwrap_or(2.0),
        },
        _ => RetryKind::Random {
            min_interval_ms: ms(fields, "minInterval"),
            max_interval_ms: ms(fields, "maxInterval"),
        },
    };
    if complete && is_backwards(kind) {
        let path = fields.path_of("maxInterval");
        let detail = "The longest pause is shorter than the first one.";
        reader.problem(fields.at, &path, detail);
    }
    Some(Retry {
        kind,
        max_attempts: fields.small("maxAttempts"),
        max_duration_ms: fields.count("maxDuration"),
        warning_on_retry: fields.flag("warningOnRetry").unwrap_or(false),
    })
}

/// Looks at what a type has and needs; whether it is all there.
fn parts(fields: &Fields, reader: &mut Reader<'_>, type_name: &str) -> bool {
    let (wanted, others): (&[&str], &[&str]) = match type_name {
        "constant" => (
            &["interval"],
            &["maxInterval", "minInterval", "delayFactor"],
        ),
        "exponential" => (&["interval", "maxInterval"], &["minInterval"]),
        _ => (
            &["minInterval", "maxInterval"],
            &["interval", "delayFactor"],
        ),
    };
    for name in others.iter().filter(|name| fields.has(name)) {
        let detail = format!("A retry of the type `{type_name}` does not have this.");
        reader.problem(fields.at_of(name), &fields.path_of(name), detail);
    }
    for name in wanted.iter().filter(|name| !fields.wrote(name)) {
        let detail = format!("`{name}` is missing; a retry of the type `{type_name}` needs it.");
        reader.problem(fields.at, &fields.path, detail);
    }
    wanted.iter().all(|name| fields.has(name))
}

fn is_backwards(kind: RetryKind) -> bool {
    match kind {
        RetryKind::Constant { .. } => false,
        RetryKind::Exponential {
            interval_ms: least,
            max_interval_ms: most,
            ..
        }
        | RetryKind::Random {
            min_interval_ms: least,
            max_interval_ms: most,
        } => most < least,
    }
}
