//! What came of the steps so far, list within list.

use serde_json::{Map, Value};
use std::cell::RefCell;

/// The outcomes of one list of steps that runs, and the lists around it.
pub(super) struct Frame<'a> {
    outer: Option<&'a Frame<'a>>,
    outcomes: RefCell<Map<String, Value>>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(outer: Option<&'a Frame<'a>>) -> Self {
        Self {
            outer,
            outcomes: RefCell::default(),
        }
    }

    pub(super) fn add(&self, name: String, outcome: Value) {
        self.outcomes.borrow_mut().insert(name, outcome);
    }

    pub(super) fn len(&self) -> usize {
        self.outcomes.borrow().len()
    }

    pub(super) fn into_outcomes(self) -> Map<String, Value> {
        self.outcomes.into_inner()
    }

    /// Copies of this list's outcomes and of those around it, the outermost last. Of the outermost
    /// the first `skip` are left out.
    pub(super) fn copies(&self, skip: usize) -> Vec<Map<String, Value>> {
        let mut out = Vec::new();
        let mut next = Some(self);
        while let Some(frame) = next {
            next = frame.outer;
            let skip = if next.is_none() { skip } else { 0 };
            let outcomes = frame.outcomes.borrow();
            let kept = outcomes.iter().skip(skip);
            out.push(kept.map(|(n, v)| (n.clone(), v.clone())).collect());
        }
        out
    }

    /// Puts copies back.
    pub(super) fn put_back(&self, copies: Vec<Map<String, Value>>) {
        let mut next = Some(self);
        for copy in copies {
            let Some(frame) = next else { return };
            frame.outcomes.borrow_mut().extend(copy);
            next = frame.outer;
        }
    }
}
