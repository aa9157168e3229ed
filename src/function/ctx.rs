//! The context of a run: the author's whole world.

use super::bulk::BulkPage;
use super::engine::of_step;
use super::fetch::{FetchStep, Fetched, Plain, deliver};
use super::host::{Host, OutRequest};
use super::run::{Busy, Run};
use super::step::Step;
use crate::http::bulk::Report;
use crate::limits;
use crate::types::{Failure, StepId, TaskId, Trace};
use std::future::Future;
use std::rc::Rc;
use uuid::Uuid;

/// Handed to a function when it is run. Cheap to clone.
#[derive(Clone)]
pub struct Ctx {
    pub(super) run: Rc<Run>,
    /// Path of the branch; empty at the top.
    pub(super) branch: Rc<str>,
}

impl Ctx {
    pub(super) fn new(run: Rc<Run>) -> Self {
        Self {
            run,
            branch: Rc::from(""),
        }
    }

    /// The id of the task.
    pub fn task_id(&self) -> TaskId {
        self.run.task_id
    }

    /// Which attempt this is: 1, 2, …; 1 again after progress.
    pub fn attempt(&self) -> u32 {
        self.run.claimed.attempt
    }

    /// The generation of the task: grows whenever it starts over with an empty journal.
    pub fn generation(&self) -> u64 {
        self.run.claimed.generation
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

    /// Like [`Ctx::step`], for work that needs the step's derived key or sends requests.
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

    /// A named path for work beside other work. Steps in different branches never meet: each branch
    /// counts the occurrences of its names for itself.
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function};
    ///
    /// async fn both(ctx: Ctx, _: ()) -> Result<(u8, u8), Failure> {
    ///     let (left, right) = (ctx.branch("left"), ctx.branch("right"));
    ///     let a = async { left.step("count", || async { Ok(1) }).await };
    ///     let b = async { right.step("count", || async { Ok(2) }).await };
    ///     let (a, b): (Result<u8, Failure>, Result<u8, Failure>) = futures::join!(a, b);
    ///     Ok((a?, b?))
    /// }
    /// # use onceward::testing::Bench;
    /// # let mut bench = Bench::new(Function::new("both", both));
    /// # bench.deliver("k", onceward::types::Input { body: b"null".to_vec(), ..Default::default() }).unwrap();
    /// # bench.run_until_idle();
    /// # assert_eq!(bench.answer("k").unwrap().body, b"[1,2]");
    /// ```
    #[must_use]
    pub fn branch(&self, name: &str) -> Self {
        self.within(&encoded(name))
    }

    /// A branch whose segment is already in its final form.
    pub(super) fn within(&self, segment: &str) -> Self {
        let path = if self.branch.is_empty() {
            segment.to_owned()
        } else {
            format!("{}/{segment}", self.branch)
        };
        Self {
            run: Rc::clone(&self.run),
            branch: path.into(),
        }
    }

    /// The derived key that the next step of this name will have: stable over attempts and crashes,
    /// different between steps, occurrences, branches and tasks.
    pub fn key(&self, step: &str) -> Uuid {
        let id = self.run.upcoming(&self.branch, step);
        id.derived_key(self.run.task_id, self.run.claimed.key_generation)
    }

    /// A UUID that is the same whenever the function comes here again, and costs no record: derived
    /// from task, generation, branch and how many were drawn before.
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function};
    /// async fn ids(ctx: Ctx, _: ()) -> Result<bool, Failure> {
    ///     Ok(ctx.uuid() != ctx.uuid() && ctx.random() != ctx.random())
    /// }
    /// # use onceward::testing::Bench;
    /// # let mut bench = Bench::new(Function::new("ids", ids));
    /// # bench.deliver("k", onceward::types::Input { body: b"null".to_vec(), ..Default::default() }).unwrap();
    /// # bench.run_until_idle();
    /// # assert_eq!(bench.answer("k").unwrap().body, b"true");
    /// ```
    pub fn uuid(&self) -> Uuid {
        self.drawn("%uuid")
    }

    /// A number with 64 bits that look random: the same whenever the function comes here again, and no
    /// record. Not a secret: whoever knows the task's id can compute it.
    pub fn random(&self) -> u64 {
        self.drawn("%random").as_u64_pair().0
    }

    fn drawn(&self, what: &str) -> Uuid {
        let n = self.run.draw(&self.branch, what);
        let id = StepId::new(&self.branch, what, n);
        id.derived_key(self.run.task_id, self.run.claimed.generation)
    }

    /// Waits inside the slice. Nothing is recorded; a run that starts again waits again.
    pub async fn pause(&self, ms: u64) {
        self.run.recorded().await;
        let _busy = Busy::new(&self.run);
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
    /// another time. See [`Ctx::now`] for one that is.
    pub fn clock_ms(&self) -> u64 {
        self.run.host.now_ms()
    }
}

/// A branch name as a segment of a path: `/` and `%` are encoded, so that segments never run into
/// each other, and a raw `%` is ours alone.
fn encoded(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

/// What the work of a step may know of the step.
#[derive(Clone)]
pub struct StepScope {
    key: Uuid,
    task_id: TaskId,
    id: StepId,
    is_last: bool,
    try_number: u32,
    host: Rc<dyn Host>,
    run: Rc<Run>,
}

impl StepScope {
    pub(super) fn new(run: &Rc<Run>, id: &StepId, try_number: u32, is_last: bool) -> Self {
        Self {
            key: id.derived_key(run.task_id, run.claimed.key_generation),
            task_id: run.task_id,
            id: id.clone(),
            is_last,
            try_number,
            host: Rc::clone(&run.host),
            run: Rc::clone(run),
        }
    }

    /// The derived key: stable over attempts and crashes, different between steps, occurrences and
    /// tasks. Hand it to the service that the step calls.
    pub fn key(&self) -> Uuid {
        self.key
    }

    /// The task.
    pub fn task_id(&self) -> TaskId {
        self.task_id
    }

    pub(super) async fn bulk(&self, page: BulkPage) -> Result<Report, Failure> {
        self.host.bulk(page).await
    }

    pub(super) async fn disabled_since(&self, endpoint: &str) -> Option<u64> {
        self.host.disabled_since(endpoint).await
    }

    pub(super) async fn disable(&self, endpoint: &str) {
        self.host.disable(endpoint).await;
    }

    /// The trace that the task's first delivery came with (W3C Trace Context), if it did.
    pub fn trace(&self) -> Option<&Trace> {
        self.run.claimed.about.trace.as_ref()
    }

    /// Milliseconds since 1970 by the slice's clock. Not recorded.
    pub fn clock_ms(&self) -> u64 {
        self.host.now_ms()
    }

    /// True if no further try follows when this one fails: an outcome that is not quite what was
    /// wanted may be better than none.
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function, Retry, StepScope};
    /// use onceward::testing::Bench;
    /// async fn stubborn(ctx: Ctx, _: ()) -> Result<String, Failure> {
    ///     let work = |scope: StepScope| async move {
    ///         if scope.is_last_try() { Ok("so be it".to_owned()) } else { Err(Failure::retryable("no", "not yet")) }
    ///     };
    ///     ctx.step_scoped("try", work).retry(Retry::exponential(3)).await
    /// }
    /// let mut bench = Bench::new(Function::new("stubborn", stubborn));
    /// bench.deliver("k", onceward::types::Input { body: b"null".to_vec(), ..Default::default() }).unwrap();
    /// bench.run_until_idle();
    /// assert_eq!(bench.answer("k").unwrap().body, br#""so be it""#);
    /// ```
    pub fn is_last_try(&self) -> bool {
        self.is_last
    }

    /// Which try of the step this is: 1, 2, …
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function, Retry, StepScope};
    /// use onceward::testing::Bench;
    /// async fn third(ctx: Ctx, _: ()) -> Result<u32, Failure> {
    ///     let work = |scope: StepScope| async move {
    ///         if scope.try_number() < 3 { Err(Failure::retryable("no", "not yet")) } else { Ok(scope.try_number()) }
    ///     };
    ///     ctx.step_scoped("try", work).retry(Retry::exponential(5)).await
    /// }
    /// let mut bench = Bench::new(Function::new("third", third));
    /// bench.deliver("k", onceward::types::Input { body: b"null".to_vec(), ..Default::default() }).unwrap();
    /// bench.run_until_idle();
    /// assert_eq!(bench.answer("k").unwrap().body, b"3");
    /// ```
    pub fn try_number(&self) -> u32 {
        self.try_number
    }

    pub(super) async fn flow_listeners(&self) -> Result<Vec<super::flow::FlowRef>, Failure> {
        self.host.flow_listeners().await
    }

    pub(super) async fn flow_text(&self, digest: &str) -> Result<String, Failure> {
        self.host.flow_text(digest.to_owned()).await
    }

    pub(super) async fn flow_current(
        &self,
        namespace: &str,
        id: &str,
    ) -> Result<super::flow::FlowRef, Failure> {
        self.host
            .flow_current(namespace.to_owned(), id.to_owned())
            .await
    }

    /// A secret of the deployment, by its name; `None` if it is not set. The API token is no secret of
    /// functions. What comes of it must not be part of an outcome or a failure: those are kept and shown.
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function, StepScope};
    /// use onceward::testing::Bench;
    /// async fn signed(ctx: Ctx, _: ()) -> Result<usize, Failure> {
    ///     let work = |scope: StepScope| async move { Ok(scope.secret("SHOP_KEY").map_or(0, |key| key.len())) };
    ///     ctx.step_scoped("sign", work).await
    /// }
    /// let mut bench = Bench::new(Function::new("signed", signed)).secret("SHOP_KEY", "12345");
    /// bench.deliver("k", onceward::types::Input { body: b"null".to_vec(), ..Default::default() }).unwrap();
    /// bench.run_until_idle();
    /// assert_eq!(bench.answer("k").unwrap().body, b"5");
    /// ```
    pub fn secret(&self, name: &str) -> Option<String> {
        self.host.secret(name)
    }

    /// Sends a request with the derived key as `Idempotency-Key`; a status outside 200–299 is a
    /// failure.
    ///
    /// # Errors
    /// Retryable for network errors, 408, 425, 429 and 5xx, terminal for everything else.
    pub async fn fetch(&self, request: OutRequest) -> Result<Fetched, Failure> {
        deliver(self, request, &Plain::default())
            .await
            .map_err(|failure| of_step(failure, &self.id))
    }

    /// The same, with any status taken for an answer.
    ///
    /// # Errors
    /// When no answer came back.
    pub async fn send(&self, request: OutRequest) -> Result<Fetched, Failure> {
        let plain = Plain {
            accept: Rc::new(|_| true),
            ..Plain::default()
        };
        deliver(self, request, &plain)
            .await
            .map_err(|failure| of_step(failure, &self.id))
    }

    pub(super) fn host(&self) -> &Rc<dyn Host> {
        &self.host
    }

    pub(super) fn count_message(&self) {
        self.run.subrequests.set(self.run.subrequests.get() + 1);
    }

    pub(super) fn count_request(&self) {
        self.run.subrequests.set(self.run.subrequests.get() + 1);
        self.run.fetches.set(self.run.fetches.get() + 1);
    }
}
