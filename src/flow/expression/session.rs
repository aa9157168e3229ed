//! What one rendering has learned from the outside. The engine's functions can't reach the outside themselves:
//! they stop and say what they need, it is fetched, and the same is evaluated again. Evaluation has no effects.

use super::engine::{Compiled, Held, Outcome, run};
use super::halt::{Ask, Halt, cut, failed, too_large};
use super::surroundings::resolve;
use super::{Scope, Stop};
use crate::limits::{MAX_EXPRESSION_ASKS, MAX_EXPRESSION_RESULT_BYTES};
use crate::types::Failure;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use uuid::Uuid;

/// A program with the variables of its surroundings.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) compiled: Arc<Compiled>,
    pub(super) slots: Vec<Arc<Held>>,
}

impl Prepared {
    fn new(compiled: Arc<Compiled>, scope: &Scope<'_>) -> Self {
        let slots = compiled
            .slots()
            .iter()
            .map(|slot| Held::new(resolve(scope.roots, slot)))
            .collect();
        Self { compiled, slots }
    }
}

/// What is known.
#[derive(Default)]
pub(super) struct Session {
    pub(super) secrets: BTreeMap<String, String>,
    pub(super) kv: BTreeMap<(String, String), Option<Value>>,
    pub(super) now_ms: Option<u64>,
    pub(super) seed: Option<Uuid>,
    pub(super) nested: BTreeMap<String, Prepared>,
    /// How many random values have been made.
    pub(super) drawn: AtomicU64,
}

/// Evaluates a program until all that it needs is known.
pub(super) fn evaluate(
    compiled: &Arc<Compiled>,
    source: &str,
    scope: &Scope<'_>,
) -> Result<(Outcome, Vec<String>), Stop> {
    let prepared = Prepared::new(compiled.clone(), scope);
    let mut known = Session::default();
    for _ in 0..MAX_EXPRESSION_ASKS {
        let session = Arc::new(known);
        let outcome = run(&prepared, &session, false, 0);
        // Nothing else holds it once the evaluation has ended.
        known = Arc::into_inner(session).unwrap_or_default();
        known.drawn = AtomicU64::new(0);
        match outcome {
            Ok(outcome) => {
                let bytes = outcome.cell.bytes();
                let secrets: Vec<_> = known.secrets.into_values().collect();
                if bytes > MAX_EXPRESSION_RESULT_BYTES {
                    let detail = format!(
                        "the result has {bytes} bytes, {MAX_EXPRESSION_RESULT_BYTES} are allowed"
                    );
                    return Err(stop(&too_large(detail), source, &secrets));
                }
                return Ok((outcome, secrets));
            }
            Err(Halt::Ask(ask)) => answer(&mut known, ask, source, scope)?,
            Err(halt) => {
                let secrets: Vec<_> = known.secrets.into_values().collect();
                return Err(stop(&halt, source, &secrets));
            }
        }
    }
    let detail = format!("it asks for more than {MAX_EXPRESSION_ASKS} things from outside");
    Err(stop(&too_large(detail), source, &[]))
}

fn answer(known: &mut Session, ask: Ask, source: &str, scope: &Scope<'_>) -> Result<(), Stop> {
    match ask {
        Ask::Secret(name) => {
            let secret = scope.outside.secret(&name).ok_or_else(|| {
                let message = format!("the deployment has no secret `{}`", cut(&name));
                let halt = Halt::Failed {
                    code: "secret_missing",
                    message,
                };
                let secrets: Vec<_> = known.secrets.values().cloned().collect();
                stop(&halt, source, &secrets)
            })?;
            known.secrets.insert(name, secret);
        }
        Ask::Kv { namespace, key } => match scope.outside.kv(&namespace, &key) {
            Some(value) => {
                known.kv.insert((namespace, key), value);
            }
            None => return Err(Stop::NeedsKv { namespace, key }),
        },
        Ask::Now => known.now_ms = Some(scope.outside.now_ms().ok_or(Stop::NeedsNow)?),
        Ask::Seed => known.seed = Some(scope.outside.uuid()),
        Ask::Nested(text) => {
            let compiled = Compiled::new(&text).map_err(|problems| {
                let secrets: Vec<_> = known.secrets.values().cloned().collect();
                let detail = problems
                    .first()
                    .map_or_else(String::new, |found| found.detail.clone());
                stop(
                    &failed(format!("what `render` got is no template: {detail}")),
                    source,
                    &secrets,
                )
            })?;
            known
                .nested
                .insert(text, Prepared::new(Arc::new(compiled), scope));
        }
    }
    Ok(())
}

/// The failure that the task ends with. No secret is part of what it says.
fn stop(halt: &Halt, source: &str, secrets: &[String]) -> Stop {
    let (code, message) = match halt {
        Halt::Failed { code, message } => (*code, message.as_str()),
        Halt::Ask(_) => ("expression_failed", "it asks for what is not there"),
    };
    let mut said = message.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        said = said.replace(secret, "***");
    }
    Stop::Failed(Failure::terminal(
        code,
        format!("{said} (in `{}`)", cut(source.trim())),
    ))
}
