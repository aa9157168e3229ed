//! The step `save`: cursors, and going on from one.
//!
//! Most programs save in one place at a time. Then a run that starts again goes on behind the last
//! save without replaying what lies between it and the first one; what came of the steps in between
//! is kept with the cursor, for the answer. Saves are told apart by their number in program order.
//!
//! Where a save stands in one of several branches the others may be anywhere when it is made. Then
//! nothing is left out of a replay, and each save is a step of its own, done once like any other.

use super::outcomes::Frame;
use super::program::Step;
use crate::function::{Ctx, Failure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Name of the steps that saves in branches are.
const NAME: &str = "save";

/// What is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The number of the save in program order, from 1 on.
    at: u32,
    /// What the program gave.
    cursor: Value,
    /// Outcomes between the first save and this one, by list, the innermost first.
    outcomes: Vec<Map<String, Value>>,
}

/// How far a run has come, in saves.
#[derive(Default)]
pub(super) struct Progress {
    beside_others: bool,
    /// Set when the first step that saves was come to.
    asked: Cell<bool>,
    /// Outcomes of the program's own list before that.
    before: Cell<usize>,
    /// Saves come to.
    met: Cell<u32>,
    /// Where this run goes on; taken when it is there.
    goes_on: RefCell<Option<Kept>>,
}

impl Progress {
    pub(super) fn of(steps: &[Step]) -> Self {
        Self {
            beside_others: steps.iter().any(Step::saves_beside_others),
            ..Self::default()
        }
    }

    /// Looks where to go on, before the first step that saves.
    pub(super) fn come_to(&self, ctx: &Ctx, step: &Step, frame: &Frame<'_>) -> Result<(), Failure> {
        if self.beside_others || self.asked.get() || !step.saves() {
            return Ok(());
        }
        self.asked.set(true);
        self.before.set(frame.len());
        self.goes_on.replace(ctx.saved()?);
        Ok(())
    }

    /// True while the place to go on is still ahead.
    pub(super) fn is_ahead(&self) -> bool {
        self.goes_on.borrow().is_some()
    }

    pub(super) async fn save(
        &self,
        ctx: &Ctx,
        cursor: &Rc<Value>,
        frame: &Frame<'_>,
    ) -> Result<(), Failure> {
        if self.beside_others {
            return save_once(ctx, cursor).await;
        }
        let at = self.met.get() + 1;
        self.met.set(at);
        let arrived = self.goes_on.borrow_mut().take_if(|kept| kept.at == at);
        if let Some(kept) = arrived {
            frame.put_back(kept.outcomes);
            return Ok(());
        }
        if self.is_ahead() {
            return Ok(());
        }
        let kept = Kept {
            at,
            cursor: Value::clone(cursor),
            outcomes: frame.copies(self.before.get()),
        };
        ctx.save(&kept).await
    }

    /// A place to go on has to be there.
    pub(super) fn ended(&self) -> Result<(), Failure> {
        match &*self.goes_on.borrow() {
            Some(kept) => {
                let message = format!(
                    "save {} was made, and the program has only {}",
                    kept.at,
                    self.met.get()
                );
                Err(Failure::terminal("cursor_mismatch", message))
            }
            None => Ok(()),
        }
    }
}

async fn save_once(ctx: &Ctx, cursor: &Rc<Value>) -> Result<(), Failure> {
    let (saved, cursor) = (ctx.clone(), Rc::clone(cursor));
    let step = ctx.step(NAME, move || {
        let (ctx, cursor) = (saved.clone(), Rc::clone(&cursor));
        async move { ctx.save(&*cursor).await }
    });
    step.await
}
