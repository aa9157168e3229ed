//! Undoing what a task did: from its journal alone, so also after a panic that no replay passes.

use super::ctx::StepScope;
use super::engine::Engine;
use super::retry::Retry;
use super::run::Run;
use super::unknown::Unknown;
use crate::limits;
use crate::protocol::{Kind, NotUndone, Outcome, StepRecord, UndoPlan};
use crate::types::{Failure, StepId};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

/// What an undo handler gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo<I, O> {
    /// What the author gave to [`Step::undo`](super::Step::undo).
    pub input: I,
    /// The outcome of the step; `None` if it is unknown whether it happened.
    pub outcome: Option<O>,
    /// The derived key of the step that is undone, for services that undo by it.
    pub key: String,
}

type Undoing =
    dyn Fn(StepScope, UndoPlan, Option<String>) -> LocalBoxFuture<'static, Result<(), Failure>>;

/// A handler with its types erased.
#[derive(Clone)]
pub(super) struct Handler {
    run: Rc<Undoing>,
    accepts_unknown: bool,
}

impl Handler {
    pub(super) fn new<I, O, F, Fut>(handler: F, accepts_unknown: bool) -> Self
    where
        I: DeserializeOwned + 'static,
        O: DeserializeOwned + 'static,
        F: Fn(StepScope, Undo<I, O>) -> Fut + 'static,
        Fut: Future<Output = Result<(), Failure>> + 'static,
    {
        let handler = Rc::new(handler);
        Self {
            run: Rc::new(move |scope, plan, outcome| {
                let handler = Rc::clone(&handler);
                Box::pin(async move {
                    let undo = Undo {
                        input: read(&plan.input)?,
                        outcome: outcome.as_deref().map(read).transpose()?,
                        key: plan.key,
                    };
                    handler(scope, undo).await
                })
            }),
            accepts_unknown,
        }
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("what is on record is not what the handler expects: {error}");
        Failure::terminal("outcome_mismatch", message)
    })
}

/// Undoes everything that can be, last first, and names what could not be.
pub(super) async fn compensate(run: Rc<Run>) -> Vec<NotUndone> {
    let mut done: Vec<StepRecord> = run.undoable.take();
    done.retain(StepRecord::is_undoable);
    done.sort_by_key(|record| (record.fence, record.place));
    let mut left = Vec::new();
    for record in done.into_iter().rev() {
        let step = record.id.clone();
        if let Err(failure) = undo_one(&run, record).await {
            left.push(NotUndone {
                step: Some(step),
                code: failure.code,
                message: failure.message,
            });
        }
    }
    left
}

async fn undo_one(run: &Rc<Run>, record: StepRecord) -> Result<(), Failure> {
    let Some(plan) = record.undo else {
        return Ok(());
    };
    let outcome = match record.outcome {
        Outcome::Value(text) => Some(text),
        Outcome::Failed(_) | Outcome::Open(_) => None,
    };
    let Some(handler) = run.handlers.get(&plan.handler).cloned() else {
        let message = format!("the function has no undo handler {:?}", plan.handler);
        return Err(Failure::terminal("no_such_handler", message));
    };
    if outcome.is_none() && !handler.accepts_unknown {
        let message = format!(
            "whether step {} happened is unknown, and the handler {:?} undoes only what did",
            record.id, plan.handler
        );
        return Err(Failure::terminal("outcome_unknown", message));
    }
    let engine = Engine {
        run: Rc::clone(run),
        id: undo_id(&record.id, record.generation),
        kind: Kind::Undo,
        work: Rc::new(move |scope| {
            let undoing = (handler.run)(scope, plan.clone(), outcome.clone());
            // One that panics must not keep the others from being undone.
            Box::pin(async move {
                match AssertUnwindSafe(undoing).catch_unwind().await {
                    Ok(result) => result.map(|()| "null".to_owned()),
                    Err(_) => Err(Failure::retryable("panic", "the undo handler panicked")),
                }
            })
        }),
        retry: Retry::exponential(limits::UNDO_TRIES),
        timeout_ms: None,
        undo: None,
        unknown: Unknown::Retry,
        opened: None,
        most_bytes: limits::MAX_OUTCOME_BYTES,
    };
    engine.outcome().await.map(drop)
}

/// The identity of what undoes a step. No author can choose one like it.
fn undo_id(step: &StepId, generation: Option<u64>) -> StepId {
    let generation = generation.unwrap_or(0);
    let branch = format!("%undo/{generation}/{}", step.branch);
    StepId::new(&branch, &step.name, step.occurrence)
}
