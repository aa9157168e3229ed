//! The context of a run: the author's whole world.

use super::fetch::FetchStep;
use super::host::{Host, OutRequest};
use super::step::Step;
use crate::limits;
use crate::protocol::{Outcome, StepRecord};
use crate::types::{Failure, Policy, StepId, TaskId};
use futures::channel::oneshot;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

/// Handed to a function when it is run. Cheap to clone.
#[derive(Clone)]
pub struct Ctx {
    pub(super) run: Rc<Run>,
}

/// One run of a function within one slice.
pub(super) struct Run {
    pub(super) host: Rc<dyn Host>,
    pub(super) task_id: TaskId,
    pub(super) key_generation: u64,
    pub(super) attempt: u32,
    pub(super) policy: Policy,
    /// Host time at which the slice began.
    pub(super) started_ms: u64,
    /// What is recorded, by identity.
    pub(super) journal: RefCell<BTreeMap<StepId, Outcome>>,
    /// How often each name was met in this run.
    met: RefCell<BTreeMap<String, u32>>,
    /// Outcomes that the object has not been told of.
    pub(super) unrecorded: RefCell<Vec<StepRecord>>,
    /// Whether a record is on its way.
    pub(super) recording: Cell<bool>,
    /// Those who wait until everything is recorded.
    barrier: RefCell<Vec<oneshot::Sender<()>>>,
    /// Steps started in this slice.
    started: Cell<u32>,
    /// Set when a step does not fit into what is left of the slice.
    pub(super) wants_suspend: Cell<bool>,
    /// Whether this slice recorded a success.
    pub(super) progressed: Cell<bool>,
    /// Records made in this slice.
    place: Cell<u32>,
}

impl Run {
    pub(super) fn new(
        host: Rc<dyn Host>,
        task_id: TaskId,
        claimed: &crate::protocol::Claimed,
        started_ms: u64,
        journal: Vec<StepRecord>,
    ) -> Self {
        Self {
            host,
            task_id,
            key_generation: claimed.key_generation,
            attempt: claimed.attempt,
            policy: claimed.policy.clone(),
            started_ms,
            journal: RefCell::new(journal.into_iter().map(|r| (r.id, r.outcome)).collect()),
            met: RefCell::default(),
            unrecorded: RefCell::default(),
            recording: Cell::new(false),
            barrier: RefCell::default(),
            started: Cell::new(0),
            wants_suspend: Cell::new(false),
            progressed: Cell::new(false),
            place: Cell::new(0),
        }
    }

    /// Milliseconds since the slice began.
    pub(super) fn elapsed_ms(&self) -> u64 {
        self.host.now_ms().saturating_sub(self.started_ms)
    }

    /// The latest time, since its begin, at which this slice can still tell the object anything.
    pub(super) fn limit_ms(&self) -> u64 {
        let cut = self.policy.slice_cut_ms;
        cut - (cut / 5).min(limits::CUT_MARGIN_MS)
    }

    /// The identity of the next step of this name.
    pub(super) fn identify(&self, name: &str) -> StepId {
        let mut met = self.met.borrow_mut();
        let count = met.entry(name.to_owned()).or_insert(0);
        let id = StepId::new("", name, *count);
        *count += 1;
        id
    }

    /// Keeps an outcome for the next message to the object.
    pub(super) fn keep(&self, id: StepId, outcome: Outcome, tries: u32) {
        let place = self.place.get();
        self.place.set(place + 1);
        if matches!(outcome, Outcome::Value(_)) {
            self.progressed.set(true);
        }
        self.journal
            .borrow_mut()
            .insert(id.clone(), outcome.clone());
        self.unrecorded.borrow_mut().push(StepRecord {
            place,
            tries,
            ..StepRecord::new(id, outcome)
        });
    }

    /// Waits until everything that has happened is recorded: what comes next may depend on it.
    pub(super) async fn recorded(&self) {
        if self.unrecorded.borrow().is_empty() && !self.recording.get() {
            return;
        }
        let (done, waiting) = oneshot::channel();
        self.barrier.borrow_mut().push(done);
        // The driver records when the function waits, and it drops the function if that fails.
        if waiting.await.is_err() {
            std::future::pending::<()>().await;
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
        if left == 0 {
            // The driver ends this slice as soon as it gets to look at its clock.
            std::future::pending::<()>().await;
        }
        let full = self.started.get() >= self.policy.steps_per_slice;
        let late = elapsed >= self.policy.slice_budget_ms || timeout_ms > left;
        if !first && (full || late) {
            self.wants_suspend.set(true);
            std::future::pending::<()>().await;
        }
        self.started.set(self.started.get() + 1);
        timeout_ms.min(left).max(1)
    }
}

impl Ctx {
    pub(super) fn new(run: Rc<Run>) -> Self {
        Self { run }
    }

    /// The id of the task.
    pub fn task_id(&self) -> TaskId {
        self.run.task_id
    }

    /// Which attempt this is: 1, 2, …; 1 again after progress.
    pub fn attempt(&self) -> u32 {
        self.run.attempt
    }

    /// A named unit of work whose outcome is recorded once.
    ///
    /// The work runs again only if the process dies between its effect and its record. A second step
    /// of the same name is its second occurrence, and so on; the order in which a function meets its
    /// steps must not depend on anything but its input and earlier outcomes.
    pub fn step<T, F, Fut>(&self, name: &str, work: F) -> Step<T>
    where
        T: serde::Serialize + serde::de::DeserializeOwned + 'static,
        F: Fn() -> Fut + 'static,
        Fut: Future<Output = Result<T, Failure>> + 'static,
    {
        self.step_scoped(name, move |_| work())
    }

    /// Like [`Ctx::step`], for work that needs the step's derived key.
    pub fn step_scoped<T, F, Fut>(&self, name: &str, work: F) -> Step<T>
    where
        T: serde::Serialize + serde::de::DeserializeOwned + 'static,
        F: Fn(StepScope) -> Fut + 'static,
        Fut: Future<Output = Result<T, Failure>> + 'static,
    {
        Step::new(self, name, work)
    }

    /// A step that sends a request, with the derived key as `Idempotency-Key`.
    pub fn fetch(&self, name: &str, request: OutRequest) -> FetchStep {
        FetchStep::new(self, name, request)
    }

    /// Waits inside the slice. Nothing is recorded; a run that starts again waits again.
    pub async fn pause(&self, ms: u64) {
        self.run.recorded().await;
        // No slice lives that long, and timers of the platform take 31 bits at most.
        let longest = 2 * limits::PLATFORM_CUT_MS;
        self.run.host.sleep(ms.min(longest)).await;
    }

    /// Waits until all outcomes so far are recorded. Steps do so by themselves; call it before an
    /// effect that is no step.
    pub async fn settled(&self) {
        self.run.recorded().await;
    }

    /// Milliseconds since 1970 by the slice's clock. Not recorded: a run that starts again sees
    /// another time.
    pub fn clock_ms(&self) -> u64 {
        self.run.host.now_ms()
    }
}

/// What the work of a step may know of the step.
#[derive(Clone)]
pub struct StepScope {
    pub(super) key: uuid::Uuid,
    pub(super) host: Rc<dyn Host>,
}

impl StepScope {
    /// The derived key: stable over attempts and crashes, different between steps, occurrences and
    /// tasks. Hand it to the service that the step calls.
    pub fn key(&self) -> uuid::Uuid {
        self.key
    }
}
