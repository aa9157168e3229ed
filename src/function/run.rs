//! What one run of a function within one slice knows, and what the driver acts on.

use super::handler::Handlers;
use super::host::Host;
use crate::limits;
use crate::protocol::{Claimed, Cursor, Kind, Mismatch, Outcome, StepRecord, Wait};
use crate::types::{Policy, StepId, TaskId};
use futures::channel::oneshot;
use futures::future::{AbortHandle, Abortable, LocalBoxFuture};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, pending};
use std::rc::Rc;

/// Branch and name.
type Place = (String, String);

/// What a wait ends with: the object's record, or nothing if its time has come.
pub(super) type WaitEnd = Option<StepRecord>;

/// One run of a function within one slice.
pub(super) struct Run {
    pub(super) host: Rc<dyn Host>,
    pub(super) task_id: TaskId,
    pub(super) claimed: Claimed,
    pub(super) policy: Policy,
    pub(super) handlers: Rc<Handlers>,
    /// Host time at which the slice began.
    pub(super) started_ms: u64,
    /// The object's clock, and the host's when it was told.
    object_ms: Cell<(u64, u64)>,
    /// What is recorded and has not been met in this run.
    pub(super) journal: RefCell<BTreeMap<StepId, StepRecord>>,
    /// How often each name was met in this run, by branch.
    met: RefCell<BTreeMap<Place, u32>>,
    /// Steps met in each branch.
    visited: RefCell<BTreeMap<String, u32>>,
    /// Names whose step is under way.
    under_way: RefCell<BTreeSet<Place>>,
    /// Branches that a race has left behind, as prefixes.
    abandoned: RefCell<Vec<String>>,
    /// What the object has not been told of.
    pub(super) unrecorded: RefCell<Vec<StepRecord>>,
    /// The progress that was saved last, and what `save` has to send.
    pub(super) cursor: RefCell<Option<Cursor>>,
    pub(super) unsaved: RefCell<Option<Cursor>>,
    /// How often each name had been met when the function asked for its progress.
    base: RefCell<Option<BTreeMap<Place, u32>>>,
    /// Whether a record is on its way.
    pub(super) recording: Cell<bool>,
    /// Those who wait until everything is recorded.
    pub(super) barrier: RefCell<Vec<oneshot::Sender<()>>>,
    /// Steps started, and requests and messages sent in this slice.
    started: Cell<u32>,
    pub(super) subrequests: Cell<u32>,
    pub(super) fetches: Cell<u32>,
    /// Set when a step does not fit into what is left of the slice.
    pub(super) wants_suspend: Cell<bool>,
    /// Set when an operator wants the task ended: nothing more is started.
    pub(super) cancelled: Cell<bool>,
    /// Whether this slice recorded a success.
    pub(super) progressed: Cell<bool>,
    /// Records made in this slice.
    place: Cell<u32>,
    /// Work under way that must not be cut off: steps, short waits.
    pub(super) busy: Cell<usize>,
    /// Work that the driver is to take over.
    pub(super) incoming: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
    aborts: RefCell<BTreeMap<StepId, AbortHandle>>,
    /// What is waited for.
    pub(super) waits: RefCell<BTreeMap<StepId, (Wait, oneshot::Sender<WaitEnd>)>>,
    /// Steps without a record that were met while others of their branch had not been.
    pub(super) doubts: RefCell<Vec<(StepId, oneshot::Sender<()>)>>,
    /// The code no longer fits the journal.
    pub(super) mismatch: RefCell<Option<Mismatch>>,
    /// Set by `continue_as`.
    pub(super) next_input: RefCell<Option<Vec<u8>>>,
    /// Values drawn, by branch; one-time addresses made, by signal.
    draws: RefCell<BTreeMap<Place, u32>>,
}

impl Run {
    pub(super) fn new(
        host: Rc<dyn Host>,
        handlers: Rc<Handlers>,
        slice: (TaskId, Claimed, u64),
        journal: Vec<StepRecord>,
        cursor: Option<Cursor>,
    ) -> Self {
        let (task_id, claimed, started_ms) = slice;
        Self {
            host,
            task_id,
            policy: claimed.policy.clone(),
            handlers,
            started_ms,
            object_ms: Cell::new((claimed.now_ms, started_ms)),
            journal: RefCell::new(journal.into_iter().map(|r| (r.id.clone(), r)).collect()),
            met: RefCell::default(),
            visited: RefCell::default(),
            under_way: RefCell::default(),
            abandoned: RefCell::default(),
            unrecorded: RefCell::default(),
            cursor: RefCell::new(cursor),
            unsaved: RefCell::default(),
            base: RefCell::default(),
            recording: Cell::new(false),
            barrier: RefCell::default(),
            started: Cell::new(0),
            subrequests: Cell::new(0),
            fetches: Cell::new(0),
            wants_suspend: Cell::new(false),
            cancelled: Cell::new(claimed.cancel),
            progressed: Cell::new(false),
            place: Cell::new(0),
            busy: Cell::new(0),
            incoming: RefCell::default(),
            aborts: RefCell::default(),
            waits: RefCell::default(),
            doubts: RefCell::default(),
            mismatch: RefCell::default(),
            next_input: RefCell::default(),
            draws: RefCell::default(),
            claimed,
        }
    }

    /// Milliseconds since the slice began.
    pub(super) fn elapsed_ms(&self) -> u64 {
        self.host.now_ms().saturating_sub(self.started_ms)
    }

    /// The object's clock as far as it is known here: never ahead of it.
    pub(super) fn object_now_ms(&self) -> u64 {
        let (told_ms, at_ms) = self.object_ms.get();
        told_ms + self.host.now_ms().saturating_sub(at_ms)
    }

    pub(super) fn object_says(&self, now_ms: u64) {
        self.object_ms.set((now_ms, self.host.now_ms()));
    }

    /// The latest time, since its begin, at which this slice can still tell the object anything.
    pub(super) fn limit_ms(&self) -> u64 {
        let cut = self.policy.slice_cut_ms;
        cut - (cut / 5).min(limits::CUT_MARGIN_MS)
    }

    /// The identity of the next step of this name.
    pub(super) fn identify(&self, branch: &str, name: &str) -> StepId {
        let mut met = self.met.borrow_mut();
        let count = met.entry((branch.to_owned(), name.to_owned())).or_insert(0);
        let id = StepId::new(branch, name, *count);
        *count += 1;
        id
    }

    /// The identity that the next step of this name will have.
    pub(super) fn upcoming(&self, branch: &str, name: &str) -> StepId {
        let met = self.met.borrow();
        let count = met.get(&(branch.to_owned(), name.to_owned()));
        StepId::new(branch, name, count.copied().unwrap_or(0))
    }

    /// A number that is the same for the same call of every run: 0, 1, …
    pub(super) fn draw(&self, branch: &str, what: &str) -> u32 {
        let mut draws = self.draws.borrow_mut();
        let count = draws
            .entry((branch.to_owned(), what.to_owned()))
            .or_insert(0);
        *count += 1;
        *count - 1
    }

    /// Notes that a step of this name is under way. `None`: one is already.
    pub(super) fn enter(self: &Rc<Self>, id: &StepId) -> Option<UnderWay> {
        let place = (id.branch.clone(), id.name.clone());
        let fresh = self.under_way.borrow_mut().insert(place.clone());
        fresh.then(|| UnderWay(Rc::clone(self), place))
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
        if self.claimed.undoing || self.unvisited(&id.branch).is_none() {
            return;
        }
        let (release, released) = oneshot::channel();
        self.doubts.borrow_mut().push((id.clone(), release));
        if released.await.is_err() {
            pending::<()>().await;
        }
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

    /// Keeps a record for the next message to the object.
    pub(super) fn keep(&self, record: StepRecord) {
        let place = self.place.get();
        self.place.set(place + 1);
        if matches!(record.outcome, Outcome::Value(_)) && record.kind != Kind::Now {
            self.progressed.set(true);
        }
        let mut unrecorded = self.unrecorded.borrow_mut();
        // Of one step only the latest counts.
        unrecorded.retain(|r| r.id != record.id);
        unrecorded.push(StepRecord { place, ..record });
    }

    /// Waits until everything that has happened is recorded: what comes next may depend on it.
    pub(super) async fn recorded(&self) {
        let nothing = self.unrecorded.borrow().is_empty() && self.unsaved.borrow().is_none();
        if nothing && !self.recording.get() {
            return;
        }
        let (done, waiting) = oneshot::channel();
        self.barrier.borrow_mut().push(done);
        // The driver records when the function waits, and it drops the function if that fails.
        if waiting.await.is_err() {
            pending::<()>().await;
        }
    }

    /// Lets those go on who waited for the record.
    pub(super) fn release(&self) {
        for waiter in self.barrier.borrow_mut().drain(..) {
            // Somebody who no longer waits needs no word.
            let _ = waiter.send(());
        }
    }

    /// Takes room for one new step, or has the slice suspended and never returns. The answer is how
    /// long the step may take.
    pub(super) async fn admit(&self, timeout_ms: u64) -> u64 {
        self.recorded().await;
        let first = self.started.get() == 0;
        let elapsed = self.elapsed_ms();
        let left = self.limit_ms().saturating_sub(elapsed);
        if left == 0 || self.cancelled.get() {
            // The driver ends this slice as soon as it gets to look at it.
            pending::<()>().await;
        }
        let full = self.started.get() >= self.policy.steps_per_slice
            || self.fetches.get() >= self.policy.fetches_per_slice
            || self.subrequests.get() >= self.policy.subrequests_per_slice;
        let late = elapsed >= self.policy.slice_budget_ms || timeout_ms > left;
        if !first && (full || late) {
            self.wants_suspend.set(true);
            pending::<()>().await;
        }
        self.started.set(self.started.get() + 1);
        timeout_ms.min(left).max(1)
    }

    /// Has the driver carry out work to its end, even if nobody waits for it any more.
    pub(super) fn spawn(self: &Rc<Self>, id: &StepId, work: impl Future<Output = ()> + 'static) {
        let busy = Busy::new(self);
        let (abort, registration) = AbortHandle::new_pair();
        self.aborts.borrow_mut().insert(id.clone(), abort);
        let (run, id) = (Rc::clone(self), id.clone());
        self.incoming.borrow_mut().push(Box::pin(async move {
            let _busy = busy;
            // Cut off or done: either way it is over.
            let _ = Abortable::new(work, registration).await;
            run.aborts.borrow_mut().remove(&id);
        }));
    }

    /// Waits for something that the object or time ends. Within the slice, if it takes that little.
    pub(super) async fn wait(self: &Rc<Self>, wait: Wait) -> WaitEnd {
        let due_ms = wait.what.due_ms();
        let left = due_ms.map(|due| due.saturating_sub(self.object_now_ms()));
        let fits = |ms: u64| self.elapsed_ms() + ms < self.policy.slice_budget_ms;
        let decides = !matches!(wait.what, crate::protocol::WaitFor::Signal { .. });
        match left {
            Some(0) if decides => return None,
            Some(ms) if decides && ms <= limits::INLINE_WAIT_MS && fits(ms) => {
                let _busy = Busy::new(self);
                self.host.sleep(ms).await;
                return None;
            }
            _ => {}
        }
        let (end, ended) = oneshot::channel();
        let id = wait.id.clone();
        self.waits.borrow_mut().insert(id.clone(), (wait, end));
        let _waiting = Waiting(self, id);
        // Others may keep the slice going until the time has come.
        let timer = match left {
            Some(ms) if decides && fits(ms) => self.host.sleep(ms),
            _ => Box::pin(pending()),
        };
        match futures::future::select(ended, timer).await {
            futures::future::Either::Left((Ok(end), _)) => end,
            futures::future::Either::Left((Err(_), _)) => pending().await,
            futures::future::Either::Right(((), _)) => None,
        }
    }

    /// Where the function asked for its progress: what it meets from here on is counted from where
    /// it was when it saved.
    pub(super) fn resume_from_cursor(&self) {
        let mut met = self.met.borrow_mut();
        self.base.borrow_mut().get_or_insert_with(|| met.clone());
        if let Some(cursor) = &*self.cursor.borrow() {
            for skip in &cursor.skips {
                let count = met
                    .entry((skip.branch.clone(), skip.name.clone()))
                    .or_insert(0);
                *count = (*count).max(skip.to);
            }
        }
    }

    /// What a run that begins from the progress saved now does not have to meet.
    pub(super) fn skips(&self) -> Vec<crate::protocol::Skip> {
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
            (*to > from).then(|| crate::protocol::Skip {
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

/// Something under way that must not be cut off by a suspension.
pub(super) struct Busy(Rc<Run>);

impl Busy {
    pub(super) fn new(run: &Rc<Run>) -> Self {
        run.busy.set(run.busy.get() + 1);
        Self(Rc::clone(run))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.set(self.0.busy.get().saturating_sub(1));
    }
}

/// A name whose step is under way.
pub(super) struct UnderWay(Rc<Run>, Place);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.borrow_mut().remove(&self.1);
    }
}

/// A wait that ends when nobody waits any more.
struct Waiting<'a>(&'a Run, StepId);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waits.borrow_mut().remove(&self.1);
    }
}
