//! How the steps that a run comes to meet what is on record.

use super::run::Run;
use crate::protocol::{Kind, Mismatch, Skip, StepRecord};
use crate::types::StepId;
use futures::channel::oneshot;
use std::future::pending;

impl Run {
    /// The identity of the next step of this name.
    pub(super) fn identify(&self, branch: &str, name: &str) -> StepId {
        let mut met = self.met.borrow_mut();
        let count = met.entry((branch.to_owned(), name.to_owned())).or_insert(0);
        let id = StepId::new(branch, name, *count);
        *count += 1;
        self.steps.set(self.steps.get().saturating_add(1));
        id
    }

    /// The identity that the next step of this name will have.
    pub(super) fn upcoming(&self, branch: &str, name: &str) -> StepId {
        let met = self.met.borrow();
        let count = met.get(&(branch.to_owned(), name.to_owned()));
        StepId::new(branch, name, count.copied().unwrap_or(0))
    }

    /// The record of a step that the run has come to, if there is one. A record of another kind means
    /// that the code has changed: then the task is parked, and this never returns.
    pub(super) async fn visit(&self, id: &StepId, kind: Kind) -> Option<StepRecord> {
        let found = self.journal.borrow_mut().remove(id);
        if let Some(record) = &found
            && record.kind != kind
        {
            let (was, is) = (record.kind, kind);
            let difference = format!("on record it is a {was:?}, in the code a {is:?}");
            self.park(id, Some(id.clone()), difference);
            pending::<()>().await;
        }
        if found.is_none() {
            self.confirm_new(id).await;
        }
        let mut visited = self.visited.borrow_mut();
        *visited.entry(id.branch.clone()).or_insert(0) += 1;
        found
    }

    /// Lets a step without a record begin only if its branch has nothing on record that the run has
    /// not come to. Steps that run beside each other are given time to be met.
    async fn confirm_new(&self, id: &StepId) {
        if self.is_behind_cursor(id) {
            let difference = format!(
                "step {id} lies behind the progress that was saved, and the code did not ask for it"
            );
            self.park(id, Some(id.clone()), difference);
            pending::<()>().await;
        }
        if self.claimed.undoing || self.unvisited(&id.branch).is_none() {
            return;
        }
        let (release, released) = oneshot::channel();
        self.doubts.borrow_mut().push((id.clone(), release));
        if released.await.is_err() {
            pending::<()>().await;
        }
    }

    /// Whether a run that began from its saved progress need not have come to this step. Once the
    /// function has asked for its progress it cannot.
    fn is_behind_cursor(&self, id: &StepId) -> bool {
        let cursor = self.cursor.borrow();
        let skips = cursor.as_ref().map_or(&[][..], |cursor| &cursor.skips);
        let within = |s: &Skip| {
            s.name == id.name && s.branch == id.branch && (s.from..s.to).contains(&id.occurrence)
        };
        self.base.borrow().is_none() && skips.iter().any(within)
    }

    /// A step of this branch that is on record and that the run has not come to.
    pub(super) fn unvisited(&self, branch: &str) -> Option<StepId> {
        let journal = self.journal.borrow();
        let first = journal.range(StepId::new(branch, "", 0)..).next();
        first
            .map(|(id, _)| id.clone())
            .filter(|id| id.branch == branch)
    }

    /// The same for every branch that the run has entered, once the function has ended well.
    pub(super) fn left_over(&self) -> Option<StepId> {
        let (visited, abandoned) = (self.visited.borrow(), self.abandoned.borrow());
        let entered = visited
            .keys()
            .map(String::as_str)
            .chain(std::iter::once(""));
        entered
            .filter(|branch| !abandoned.iter().any(|a| is_within(branch, a)))
            .find_map(|branch| self.unvisited(branch))
    }

    /// Leaves branches behind: their work is cut off, their records need not be met.
    pub(super) fn abandon(&self, branch: &str) {
        self.abandoned.borrow_mut().push(branch.to_owned());
        let mut aborts = self.aborts.borrow_mut();
        aborts.retain(|id, abort| {
            let within = is_within(&id.branch, branch);
            if within {
                abort.abort();
            }
            !within
        });
        self.waits
            .borrow_mut()
            .retain(|id, _| !is_within(&id.branch, branch));
        self.doubts
            .borrow_mut()
            .retain(|(id, _)| !is_within(&id.branch, branch));
    }

    pub(super) fn park(&self, recorded: &StepId, attempted: Option<StepId>, difference: String) {
        let branch = attempted.as_ref().map_or("", |id| id.branch.as_str());
        let index = self.visited.borrow().get(branch).copied().unwrap_or(0);
        self.mismatch.borrow_mut().get_or_insert(Mismatch {
            index,
            recorded: recorded.clone(),
            attempted,
            difference,
        });
    }

    /// Where the function asked for its progress: what it meets from here on is counted from where
    /// it was when it saved.
    pub(super) fn resume_from_cursor(&self) {
        let mut met = self.met.borrow_mut();
        self.base.borrow_mut().get_or_insert_with(|| {
            self.base_bytes
                .set(self.state_bytes.get().saturating_sub(self.unmet_bytes()));
            met.clone()
        });
        if let Some(cursor) = &*self.cursor.borrow() {
            for skip in &cursor.skips {
                let count = met
                    .entry((skip.branch.clone(), skip.name.clone()))
                    .or_insert(0);
                let jumped = skip.to.saturating_sub(*count);
                self.steps.set(self.steps.get().saturating_add(jumped));
                *count += jumped;
            }
        }
    }

    /// What a run that begins from the progress saved now does not have to meet.
    pub(super) fn skips(&self) -> Vec<Skip> {
        let base = self.base.borrow();
        let Some(base) = base.as_ref() else {
            return Vec::new();
        };
        let met = self.met.borrow();
        let grown = met.iter().filter_map(|((branch, name), to)| {
            let from = base
                .get(&(branch.clone(), name.clone()))
                .copied()
                .unwrap_or(0);
            (*to > from).then(|| Skip {
                branch: branch.clone(),
                name: name.clone(),
                from,
                to: *to,
            })
        });
        grown.collect()
    }
}

/// Whether a branch is another one or lies within it.
pub(super) fn is_within(branch: &str, outer: &str) -> bool {
    branch
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
