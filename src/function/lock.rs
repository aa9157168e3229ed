//! Locks: durable, fair, over any number of slices.
//!
//! That a lock was given is on record like the outcome of a step. Each slice that replays it and does not find
//! on record that it was let go asks the lock again, which costs a message and no row: a task that failed for now
//! and was begun again may have lost it meanwhile, and then waits for it once more.

use super::ctx::Ctx;
use super::engine::{in_flight, of_step};
use super::host::CallError;
use super::retry::Retry;
use super::run::{Busy, Run};
use super::step::check_step;
use crate::flow::lock::{LockCall, LockOp, LockReply};
use crate::limits;
use crate::protocol::{
    Kind, LOCK_STEP, Outcome, State, StepRecord, Summary, Wait, WaitFor, lock_signal,
};
use crate::types::{Failure, StepId};
use std::rc::Rc;

/// Name of the step that lets a lock go, within a branch of its own.
const UNLOCK: &str = "%unlock";
/// Tries to let a lock go. If all fail it is free when its task is over.
const RELEASES: u32 = 5;

/// A lock that a task holds until [`Ctx::unlock`], or until it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    name: String,
    mark: String,
    /// Branch of what belongs to it.
    branch: String,
}

impl Ctx {
    /// Takes a lock that `limit` holders can have at once, in any task; waits in its queue, first come first
    /// served, if it is taken. It is held over suspensions and crashes, until [`Ctx::unlock`], or until the task
    /// is over, has failed for now, or is another generation (`continue_as`); what waits then gets it within
    /// half a minute.
    ///
    /// # Errors
    /// Terminal (`lock_full`) if `queue` others wait already, or (`lock_name`) for a name that is empty or too
    /// long; retryable (`lock_unreachable`) if the lock's object does not answer.
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function};
    /// use onceward::testing::Bench;
    /// async fn alone(ctx: Ctx, _: ()) -> Result<(), Failure> {
    ///     let till = ctx.lock("till", 1, 100).await?;
    ///     ctx.sleep("count", 60_000).await?;
    ///     ctx.unlock(&till).await
    /// }
    /// let mut bench = Bench::new(Function::new("alone", alone));
    /// let from_ms = bench.now_ms();
    /// for key in ["a", "b", "c"] {
    ///     bench.deliver(key, onceward::types::Input { body: b"null".to_vec(), ..Default::default() }).unwrap();
    /// }
    /// bench.run_until_idle();
    /// // One after the other.
    /// assert!(bench.now_ms() - from_ms >= 3 * 60_000);
    /// ```
    pub async fn lock(&self, name: &str, limit: u32, queue: u32) -> Result<Held, Failure> {
        let most = limits::MAX_NAME_BYTES - LOCK_STEP.len();
        if name.is_empty() || name.len() > most {
            let got = name.len();
            let message = format!("the name of a lock has 1 to {most} bytes; this one has {got}");
            return Err(Failure::terminal("lock_name", message));
        }
        let step = format!("{LOCK_STEP}{name}");
        check_step(self, &step)?;
        let run = Rc::clone(&self.run);
        let id = run.identify(&self.branch, &step);
        // The same in every generation, as a copied journal is.
        let within = self.within(&format!("%lock/{}", id.derived_key(run.task_id, 0)));
        // What cannot be let go of is not taken.
        check_step(&within, UNLOCK)?;
        let taking = Taking {
            within,
            call: LockCall {
                name: name.to_owned(),
                task_id: run.task_id.to_string(),
                generation: run.claimed.generation,
                mark: id
                    .derived_key(run.task_id, run.claimed.generation)
                    .to_string(),
                op: LockOp::Acquire {
                    limit,
                    queue: queue.min(limits::MAX_LOCK_QUEUE),
                },
            },
            run,
            id,
        };
        taking.outcome().await
    }

    /// Lets a lock go, as a step: the next one in its queue has it. Once more does no harm.
    ///
    /// # Errors
    /// Retryable (`lock_unreachable`) if the lock's object does not answer for a while.
    pub async fn unlock(&self, held: &Held) -> Result<(), Failure> {
        let within = Self {
            run: Rc::clone(&self.run),
            branch: held.branch.as_str().into(),
        };
        let call = LockCall {
            name: held.name.clone(),
            task_id: self.run.task_id.to_string(),
            generation: self.run.claimed.generation,
            mark: held.mark.clone(),
            op: LockOp::Release,
        };
        within
            .step_scoped(UNLOCK, move |scope| {
                let call = call.clone();
                async move {
                    scope.count_message();
                    let name = call.name.clone();
                    let told = scope.host().lock(call).await;
                    told.map_err(|error| unreachable(&name, &error))?;
                    Ok(())
                }
            })
            .retry(Retry::exponential(RELEASES))
            .await
    }
}

/// A lock that is being taken.
struct Taking {
    run: Rc<Run>,
    id: StepId,
    call: LockCall,
    /// Branch of what belongs to it.
    within: Ctx,
}

impl Taking {
    async fn outcome(mut self) -> Result<Held, Failure> {
        let run = Rc::clone(&self.run);
        let Some(_under_way) = run.enter(&self.id) else {
            return Err(in_flight(&self.id));
        };
        match run.visit(&self.id, Kind::Signal).await.map(|r| r.outcome) {
            // Waited for once; given or not, the lock knows.
            Some(Outcome::Value(_)) if self.is_over() => {}
            Some(Outcome::Failed(failure)) if failure.code != TIMED_OUT => {
                return Err(of_step(failure, &self.id));
            }
            Some(Outcome::Value(_) | Outcome::Failed(_)) => self.again().await?,
            Some(Outcome::Open(_)) | None => {
                if !self.first().await? {
                    self.again().await?;
                }
            }
        }
        Ok(Held {
            name: self.call.name,
            mark: self.call.mark,
            branch: self.within.branch.to_string(),
        })
    }

    /// True if it is on record that it was let go.
    fn is_over(&self) -> bool {
        let id = StepId::new(&self.within.branch, UNLOCK, 0);
        let journal = self.run.journal.borrow();
        journal.get(&id).is_some_and(|r| r.outcome.is_settled())
    }

    /// Comes to the record that it was given, or waited for once. True if it was given.
    async fn first(&self) -> Result<bool, Failure> {
        self.run.admit(1).await;
        match self.ask().await? {
            LockReply::Granted => {
                // The same that the letter says.
                self.keep(Outcome::Value("null".to_owned()));
                Ok(true)
            }
            LockReply::Queued { .. } => {
                self.wait(self.id.clone()).await;
                Ok(false)
            }
            LockReply::Full | LockReply::Released => {
                let name = &self.call.name;
                let message = format!("too many wait for the lock {name:?}");
                let failure = of_step(Failure::terminal("lock_full", message), &self.id);
                self.keep(Outcome::Failed(failure.clone()));
                Err(failure)
            }
        }
    }

    /// Asks until the lock says that it is held. What it waits for now is no part of what the function comes
    /// to: another slice may find that it holds the lock, and not come here.
    async fn again(&mut self) -> Result<(), Failure> {
        // Whoever has had it or stood in the queue is not sent away.
        if let LockOp::Acquire { queue, .. } = &mut self.call.op {
            *queue = u32::MAX;
        }
        let fence = self.run.claimed.proof.fence;
        let branch = self.within.within(&fence.to_string());
        loop {
            match self.ask().await? {
                LockReply::Granted => return Ok(()),
                LockReply::Queued { .. } => {
                    let id = self.run.identify(&branch.branch, &self.id.name);
                    self.wait(id).await;
                }
                LockReply::Full | LockReply::Released => {
                    let name = &self.call.name;
                    let message = format!("the lock {name:?} gave no answer that is one");
                    return Err(Failure::retryable("lock_unreachable", message));
                }
            }
        }
    }

    async fn ask(&self) -> Result<LockReply, Failure> {
        let run = &self.run;
        let _busy = Busy::new(run);
        run.subrequests.set(run.subrequests.get() + 1);
        let reply = run.host.lock(self.call.clone()).await;
        reply.map_err(|error| of_step(unreachable(&self.call.name, &error), &self.id))
    }

    /// Waits for a letter, and not for ever: whatever becomes of it, the lock is asked again.
    async fn wait(&self, id: StepId) {
        let run = &self.run;
        let due_ms = Some(run.object_now_ms() + limits::LOCK_ASK_MS);
        let name = lock_signal(&self.call.mark);
        let what = WaitFor::Signal { name, due_ms };
        run.wait(Wait { id, what }).await;
    }

    fn keep(&self, outcome: Outcome) {
        self.run.keep(StepRecord {
            kind: Kind::Signal,
            ..StepRecord::new(self.id.clone(), outcome)
        });
    }
}

/// Code of the failure of a wait whose letter did not come in time.
const TIMED_OUT: &str = "signal_timeout";

fn unreachable(name: &str, error: &CallError) -> Failure {
    let message = format!("the lock {name:?} could not be reached: {error:?}");
    Failure::retryable("lock_unreachable", message).cut()
}

/// True if what a task of this generation holds is free again: it is over, has failed for now, or is another
/// generation. While it is being undone it is not.
pub(crate) fn has_let_go(summary: &Summary, generation: u64) -> bool {
    let over = match summary.state {
        State::Succeeded | State::Failed { .. } | State::Cancelled | State::Forgotten => true,
        State::Running | State::Suspended(_) => false,
    };
    over || summary.generation > generation || summary.is_undoing_success()
}
