//! What one run of a function within one slice knows, and what the driver acts on.

use super::handler::Handlers;
use super::host::Host;
use super::visits::{Order, loose};
use crate::limits;
use crate::protocol::{Claimed, Cursor, Kind, Mismatch, Outcome, StepRecord, Wait};
use crate::types::{Failure, Policy, StepId, TaskId};
use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::{AbortHandle, Abortable, LocalBoxFuture};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
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
    /// Where a branch has records that came of a failure which was tried again: from, until.
    pub(super) loose: Vec<(String, Order, Order)>,
    /// What may have to be undone. Not by identity: several generations may have a step of the same.
    pub(super) undoable: RefCell<Vec<StepRecord>>,
    /// How often each name was met in this run, by branch.
    pub(super) met: RefCell<BTreeMap<Place, u32>>,
    /// Steps met in each branch.
    pub(super) visited: RefCell<BTreeMap<String, u32>>,
    /// Names whose step is under way.
    under_way: RefCell<BTreeSet<Place>>,
    /// Steps of children that were dropped before their end.
    pub(super) dropped_children: RefCell<Vec<StepId>>,
    /// Branches that a race has left behind, as prefixes.
    pub(super) abandoned: RefCell<Vec<String>>,
    /// What the object has not been told of.
    pub(super) unrecorded: RefCell<Vec<StepRecord>>,
    /// How many of them have no outcome yet.
    pub(super) open_unrecorded: Cell<usize>,
    /// The progress that was saved last, and what `save` has to send.
    pub(super) cursor: RefCell<Option<Cursor>>,
    pub(super) unsaved: RefCell<Option<Cursor>>,
    /// How often each name had been met when the function asked for its progress.
    pub(super) base: RefCell<Option<BTreeMap<Place, u32>>>,
    /// Whether a record is on its way.
    pub(super) recording: Cell<bool>,
    /// Those who wait until everything is recorded.
    pub(super) barrier: RefCell<Vec<oneshot::Sender<()>>>,
    /// Steps met in this generation, and bytes on record that a run has to read.
    pub(super) steps: Cell<u32>,
    pub(super) state_bytes: Cell<usize>,
    /// Those of what the function had met when it asked for its progress.
    pub(super) base_bytes: Cell<usize>,
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
    pub(super) aborts: RefCell<BTreeMap<StepId, AbortHandle>>,
    /// What is waited for.
    pub(super) waits: RefCell<BTreeMap<StepId, (Wait, oneshot::Sender<WaitEnd>)>>,
    /// Steps without a record that were met while others of their branch had not been.
    pub(super) doubts: RefCell<Vec<(StepId, oneshot::Sender<()>)>>,
    /// Whether the work of a step is being polled: nothing of the journal begins in there.
    pub(super) in_step: Cell<bool>,
    /// What the work of a step panicked with.
    pub(super) panicked: RefCell<Option<Box<dyn Any + Send>>>,
    /// A failure that the function may not handle: it is over.
    pub(super) fatal: RefCell<Option<Failure>>,
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
        let told_ms = host.now_ms();
        let (undoable, journal): (Vec<_>, Vec<_>) = journal
            .into_iter()
            .partition(|r| claimed.undoing && r.kind != Kind::Undo);
        let state_bytes = journal.iter().map(size_of_record).sum();
        Self {
            host,
            task_id,
            policy: claimed.policy.clone(),
            handlers,
            started_ms,
            // Told some time before now: what is made of it is never ahead of the object.
            object_ms: Cell::new((claimed.now_ms, told_ms)),
            loose: journal.iter().filter_map(loose).collect(),
            journal: RefCell::new(journal.into_iter().map(|r| (r.id.clone(), r)).collect()),
            undoable: RefCell::new(undoable),
            met: RefCell::default(),
            visited: RefCell::default(),
            under_way: RefCell::default(),
            dropped_children: RefCell::default(),
            abandoned: RefCell::default(),
            unrecorded: RefCell::default(),
            open_unrecorded: Cell::new(0),
            cursor: RefCell::new(cursor),
            unsaved: RefCell::default(),
            base: RefCell::default(),
            recording: Cell::new(false),
            barrier: RefCell::default(),
            started: Cell::new(0),
            steps: Cell::new(0),
            state_bytes: Cell::new(state_bytes),
            base_bytes: Cell::new(0),
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
            in_step: Cell::new(false),
            panicked: RefCell::default(),
            fatal: RefCell::default(),
            mismatch: RefCell::default(),
            next_input: RefCell::default(),
            draws: RefCell::default(),
            claimed,
        }
    }

    /// Steps and waits under way.
    pub(super) fn fan_out(&self) -> usize {
        self.under_way.borrow().len() + self.waits.borrow().len()
    }

    /// Whether a step or a wait is under way.
    pub(super) fn is_busy(&self) -> bool {
        let waits = !self.waits.borrow().is_empty() || self.busy.get() > 0;
        waits || !self.under_way.borrow().is_empty()
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

    /// True if there is room on record for so many bytes more.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.state_bytes.get().saturating_add(bytes) <= limits::MAX_STATE_BYTES
    }

    /// Bytes of what is on record and has not been met.
    pub(super) fn unmet_bytes(&self) -> usize {
        self.journal.borrow().values().map(size_of_record).sum()
    }

    /// Progress is saved: what was met since it was asked for is not read again.
    pub(super) fn saved_behind(&self) {
        if self.base.borrow().is_some() {
            self.state_bytes
                .set(self.base_bytes.get() + self.unmet_bytes());
        }
    }

    /// Keeps a record for the next message to the object.
    pub(super) fn keep(&self, record: StepRecord) {
        let bytes = self.state_bytes.get() + size_of_record(&record);
        self.state_bytes.set(bytes);
        let place = self.place.get();
        self.place.set(place + 1);
        if matches!(record.outcome, Outcome::Value(_)) && record.kind != Kind::Now {
            self.progressed.set(true);
        }
        let mut unrecorded = self.unrecorded.borrow_mut();
        // Of one step only the latest counts. What came before it is open, and few steps are.
        if self.open_unrecorded.get() > 0 {
            let same = |r: &StepRecord| !r.outcome.is_settled() && r.id == record.id;
            if let Some(at) = unrecorded.iter().rposition(same) {
                unrecorded.remove(at);
                self.open_unrecorded.set(self.open_unrecorded.get() - 1);
            }
        }
        if !record.outcome.is_settled() {
            self.open_unrecorded.set(self.open_unrecorded.get() + 1);
        }
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
            // A step that panics ends the attempt as the function itself would.
            let work = AssertUnwindSafe(work).catch_unwind();
            // Cut off or done: either way it is over.
            if let Ok(Err(panic)) = Abortable::new(work, registration).await {
                run.panicked.borrow_mut().get_or_insert(panic);
            }
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
}

/// Bytes that a record adds to what a run has to read, but for its names.
pub(super) fn size_of_record(record: &StepRecord) -> usize {
    let outcome = match &record.outcome {
        Outcome::Value(text) => text.len(),
        Outcome::Failed(failure) => {
            let answer = failure.answer.as_ref().map_or(0, |a| a.body.len());
            failure.message.len() + answer
        }
        Outcome::Open(_) => 0,
    };
    outcome + record.undo.as_ref().map_or(0, |undo| undo.input.len())
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
