//! Runs a function for one slice, and tells the object what came of it.

use super::ctx::{Ctx, Run};
use super::handler::Function;
use super::host::{CallError, Host};
use crate::limits;
use crate::protocol::{
    Claimed, Finish, Outcome, Proof, Record, Reply, Standing, StepRecord, Suspend, Verdict,
};
use crate::types::{Answer, Failure, Input, TaskId, Token};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use std::any::Any;
use std::future::{Future as _, poll_fn};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::task::Poll;

/// What a slice starts from.
pub struct Slice {
    /// The task.
    pub task_id: TaskId,
    /// The granted claim.
    pub claimed: Claimed,
    /// Host time from before the first send of the claim: the lease counts from here.
    pub started_ms: u64,
    /// What the function gets.
    pub input: Input,
    /// What is recorded so far.
    pub journal: Vec<StepRecord>,
}

/// How a slice ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SliceEnd {
    /// The object has recorded the end of the attempt. The body of the answer is in `standing.answer`
    /// if it is the answer of this slice.
    Ended(Box<Standing>),
    /// The object has the task; the ticket, if there is one, is to be sent on.
    Suspended {
        /// For the next slice.
        ticket: Option<Token>,
        /// Hops that the next slice has behind it.
        hop: u32,
    },
    /// Somebody else has the task, or the lease is over: nothing more was done.
    Stopped,
    /// The object could not be reached: its alarm goes on.
    Unreachable,
}

type Ended = Result<Result<Answer, Failure>, Box<dyn Any + Send>>;

enum Turn {
    Ended(Ended),
    Recorded(Box<Result<Reply, CallError>>),
    Record,
    Suspend,
    OutOfTime,
}

/// Runs `function` until it ends, its budget is used up, or the right to act is gone.
pub async fn run_slice(host: Rc<dyn Host>, function: &Function, slice: Slice) -> SliceEnd {
    let run = Rc::new(Run::new(
        Rc::clone(&host),
        slice.task_id,
        &slice.claimed,
        slice.started_ms,
        slice.journal,
    ));
    let proof = slice.claimed.proof;
    let (last, record) = match drive(&host, &run, function, slice.input, &proof).await {
        Ok(turn) => turn,
        Err(end) => return end,
    };
    // Nothing of the function runs on while its end is reported.
    if let Some(record) = record
        && let Err(end) = settle(&run, record.await)
    {
        return end;
    }
    match last {
        Last::Verdict(verdict) => finish(&*host, &run, proof, *verdict).await,
        Last::Suspend => suspend(&*host, &run, proof, slice.claimed.hop).await,
    }
}

/// Why a function is no longer run.
enum Last {
    Verdict(Box<Verdict>),
    Suspend,
}

type Recording = LocalBoxFuture<'static, Result<Reply, CallError>>;

/// Polls the function, and records what it has done whenever it waits. Comes back with the record
/// that is still on its way, if any.
async fn drive(
    host: &Rc<dyn Host>,
    run: &Rc<Run>,
    function: &Function,
    input: Input,
    proof: &Proof,
) -> Result<(Last, Option<Recording>), SliceEnd> {
    let (function, ctx) = (function.clone(), Ctx::new(Rc::clone(run)));
    // The call itself may panic before there is a future, so it is made inside.
    let body = async move { function.run(ctx, input).await };
    let mut body = Box::pin(AssertUnwindSafe(body).catch_unwind());
    let mut recording: Option<Recording> = None;
    let mut timer = host.sleep(run.limit_ms().saturating_sub(run.elapsed_ms()));
    loop {
        let turn = poll_fn(|cx| {
            if let Some(record) = &mut recording
                && let Poll::Ready(reply) = record.as_mut().poll(cx)
            {
                return Poll::Ready(Turn::Recorded(Box::new(reply)));
            }
            if let Poll::Ready(ended) = body.as_mut().poll(cx) {
                return Poll::Ready(Turn::Ended(ended));
            }
            if run.wants_suspend.get() {
                return Poll::Ready(Turn::Suspend);
            }
            if recording.is_none() && !run.unrecorded.borrow().is_empty() {
                return Poll::Ready(Turn::Record);
            }
            timer.as_mut().poll(cx).map(|()| Turn::OutOfTime)
        })
        .await;
        let last = match turn {
            Turn::Record => {
                run.recording.set(true);
                recording = Some(host.record(next_record(run, proof)));
                continue;
            }
            Turn::Recorded(reply) => {
                recording = None;
                run.recording.set(false);
                settle(run, *reply)?;
                if run.unrecorded.borrow().is_empty() {
                    run.release();
                }
                continue;
            }
            Turn::Suspend => Last::Suspend,
            Turn::Ended(ended) => Last::Verdict(Box::new(verdict(&**host, ended))),
            Turn::OutOfTime => Last::Verdict(Box::new(Verdict::Failed(out_of_time(run)))),
        };
        return Ok((last, recording));
    }
}

fn verdict(host: &dyn Host, ended: Ended) -> Verdict {
    match ended {
        Ok(Ok(answer)) => match host.fit(answer) {
            Ok(answer) => Verdict::Succeeded(answer),
            Err(failure) => Verdict::Failed(failure),
        },
        Ok(Err(mut failure)) => {
            if let Some(answer) = failure.answer.take() {
                // An answer that cannot be stored is left out; the failure itself counts.
                failure.answer = host.fit(*answer).ok().map(Box::new);
            }
            Verdict::Failed(failure.cut())
        }
        Err(panic) => Verdict::Failed(Failure::retryable("panic", panic_text(&*panic)).cut()),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!(
        "the function panicked: {}",
        text.as_deref().unwrap_or("no message")
    )
}

fn out_of_time(run: &Run) -> Failure {
    Failure::retryable(
        "slice_timeout",
        format!(
            "the slice ran into its limit of {} ms while the function was still busy",
            run.policy.slice_cut_ms
        ),
    )
}

fn next_record(run: &Run, proof: &Proof) -> Record {
    let mut unrecorded = run.unrecorded.borrow_mut();
    let count = unrecorded.len().min(limits::MAX_RECORDS_PER_CALL);
    Record {
        proof: proof.clone(),
        steps: unrecorded.drain(..count).collect(),
        known: Vec::new(),
        cursor: None,
        known_cursor: None,
    }
}

/// What a reply to `record` means for the run.
fn settle(run: &Run, reply: Result<Reply, CallError>) -> Result<(), SliceEnd> {
    match reply {
        Ok(Reply::Recorded {
            stop: false,
            winners,
            ..
        }) => {
            let journal = run.journal.borrow();
            let same =
                |w: &StepRecord| journal.get(&w.id).is_none_or(|o: &Outcome| *o == w.outcome);
            // An outcome of somebody else's that differs from what this run has already used.
            if winners.iter().all(same) {
                Ok(())
            } else {
                Err(SliceEnd::Stopped)
            }
        }
        Ok(_) | Err(CallError::Gone) => Err(SliceEnd::Stopped),
        Err(CallError::Unreachable(_)) => Err(SliceEnd::Unreachable),
    }
}

async fn finish(host: &dyn Host, run: &Run, proof: Proof, verdict: Verdict) -> SliceEnd {
    let own = match &verdict {
        Verdict::Succeeded(answer) => Some(answer.clone()),
        Verdict::Failed(failure) => failure.answer.as_deref().cloned(),
        Verdict::Cancelled | Verdict::ContinueAs(_) | Verdict::Undone(_) => None,
    };
    if let Err(end) = drain(host, run, &proof).await {
        return end;
    }
    let finish = Finish {
        op: host.token(),
        proof,
        steps: run.unrecorded.take(),
        known: Vec::new(),
        verdict,
    };
    match host.finish(finish).await {
        Ok(Reply::Stands(mut standing)) => {
            if let (Some(stored), Some(own)) = (&mut standing.answer, own) {
                stored.body = own.body;
            }
            SliceEnd::Ended(Box::new(standing))
        }
        Ok(_) | Err(CallError::Gone) => SliceEnd::Stopped,
        Err(CallError::Unreachable(_)) => SliceEnd::Unreachable,
    }
}

async fn suspend(host: &dyn Host, run: &Run, proof: Proof, hop: u32) -> SliceEnd {
    if let Err(end) = drain(host, run, &proof).await {
        return end;
    }
    let suspend = Suspend {
        op: host.token(),
        proof,
        steps: run.unrecorded.take(),
        known: Vec::new(),
        progressed: run.progressed.get(),
        hop,
        n: 0,
        waits: Vec::new(),
        letters: Vec::new(),
        mismatch: None,
    };
    match host.suspend(suspend).await {
        Ok(Reply::Suspended { ticket, hop }) => SliceEnd::Suspended { ticket, hop },
        Ok(_) | Err(CallError::Gone) => SliceEnd::Stopped,
        Err(CallError::Unreachable(_)) => SliceEnd::Unreachable,
    }
}

/// Records all but the last messageful, which goes with the end.
async fn drain(host: &dyn Host, run: &Run, proof: &Proof) -> Result<(), SliceEnd> {
    while run.unrecorded.borrow().len() > limits::MAX_RECORDS_PER_CALL {
        let record = next_record(run, proof);
        settle(run, host.record(record).await)?;
    }
    Ok(())
}
