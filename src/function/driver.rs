//! Runs a function for one slice, and tells the object what came of it.

use super::ctx::Ctx;
use super::handler::Function;
use super::host::{CallError, Host};
use super::report::{self, Last, Next};
use super::run::{Run, size_of_record};
use super::undo::compensate;
use crate::limits;
use crate::protocol::{
    Claimed, Cursor, Mismatch, NotUndone, Proof, Record, Reply, Standing, StepRecord, Wait,
};
use crate::types::{Answer, Failure, Input, TaskId, Token};
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use std::any::Any;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::task::{Context, Poll};

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
    /// The progress that was saved.
    pub cursor: Option<Cursor>,
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

/// How the function, or the compensation in its place, ended.
pub(super) enum Done {
    Function(Result<Answer, Failure>),
    Undone(Vec<NotUndone>),
}

/// What ended; a panic comes with what it was raised with.
pub(super) type Ended = Result<Done, Box<dyn Any + Send>>;

type Recording = LocalBoxFuture<'static, Result<Reply, CallError>>;

enum Turn {
    Ended(Ended),
    Recorded(Box<Result<Reply, CallError>>),
    Record,
    Suspend(Vec<Wait>),
    Cancelled,
    Mismatch(Box<Mismatch>),
    OutOfTime,
}

/// Runs `function` until it ends, waits for longer, its budget is used up, or the right to act is
/// gone.
pub async fn run_slice(host: Rc<dyn Host>, function: &Function, slice: Slice) -> SliceEnd {
    let hop = slice.claimed.hop;
    let proof = slice.claimed.proof.clone();
    let undoing = slice.claimed.undoing;
    let run = Rc::new(Run::new(
        Rc::clone(&host),
        function.handlers(),
        (slice.task_id, slice.claimed, slice.started_ms),
        slice.journal,
        slice.cursor,
    ));
    let mut driver = Driver::new(&host, run, function, slice.input, undoing, proof);
    let mut suspends = 0;
    loop {
        let last = match driver.drive().await {
            Ok(last) => last,
            Err(end) => return end,
        };
        suspends += 1;
        match report::report(&*host, &driver.run, &driver.proof, last, (hop, suspends)).await {
            Next::End(end) => return end,
            Next::GoOn => {}
        }
    }
}

/// A function that runs, with everything that goes on beside it.
struct Driver {
    host: Rc<dyn Host>,
    run: Rc<Run>,
    proof: Proof,
    body: Option<LocalBoxFuture<'static, Ended>>,
    ended: Option<Ended>,
    /// Work that is carried to its end, whoever waits for it.
    tasks: FuturesUnordered<LocalBoxFuture<'static, ()>>,
    recording: Option<(Recording, Vec<StepRecord>)>,
    timer: LocalBoxFuture<'static, ()>,
}

impl Driver {
    fn new(
        host: &Rc<dyn Host>,
        run: Rc<Run>,
        function: &Function,
        input: Input,
        undoing: bool,
        proof: Proof,
    ) -> Self {
        let (function, ctx) = (function.clone(), Ctx::new(Rc::clone(&run)));
        let compensated = Rc::clone(&run);
        // The call itself may panic before there is a future, so it is made inside.
        let body = async move {
            if undoing {
                Done::Undone(compensate(compensated).await)
            } else {
                Done::Function(function.run(ctx, input).await)
            }
        };
        Self {
            host: Rc::clone(host),
            timer: host.sleep(run.limit_ms().saturating_sub(run.elapsed_ms())),
            run,
            proof,
            body: Some(Box::pin(AssertUnwindSafe(body).catch_unwind())),
            ended: None,
            tasks: FuturesUnordered::new(),
            recording: None,
        }
    }

    /// Polls the function, and records what it has done whenever it waits.
    async fn drive(&mut self) -> Result<Last, SliceEnd> {
        loop {
            let turn = poll_fn(|cx| self.turn(cx)).await;
            let last = match turn {
                Turn::Record => {
                    self.record();
                    continue;
                }
                Turn::Recorded(reply) => {
                    self.recorded(*reply)?;
                    continue;
                }
                Turn::Ended(ended) => Last::Ended(ended),
                Turn::Suspend(waits) => Last::Suspend(waits),
                Turn::Cancelled => Last::Cancelled,
                Turn::Mismatch(mismatch) => Last::Mismatch(mismatch),
                Turn::OutOfTime => Last::OutOfTime,
            };
            // Nothing of the function runs on while its end is reported.
            if let Some((record, sent)) = self.recording.take() {
                self.run.recording.set(false);
                report::settle(&self.run, &sent, record.await)?;
            }
            return Ok(last);
        }
    }

    fn record(&mut self) {
        let record = report::next_record(&self.run, &self.proof);
        let sent = record.steps.clone();
        self.run.recording.set(true);
        self.recording = Some((self.host.record(record), sent));
    }

    fn recorded(&mut self, reply: Result<Reply, CallError>) -> Result<(), SliceEnd> {
        let sent = self.recording.take().map(|(_, sent)| sent);
        self.run.recording.set(false);
        report::settle(&self.run, &sent.unwrap_or_default(), reply)?;
        if self.run.unrecorded.borrow().is_empty() && self.run.unsaved.borrow().is_none() {
            self.run.release();
        }
        Ok(())
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        if let Some((record, _)) = &mut self.recording
            && let Poll::Ready(reply) = record.as_mut().poll(cx)
        {
            return Poll::Ready(Turn::Recorded(Box::new(reply)));
        }
        loop {
            self.poll_work(cx);
            if let Some(turn) = self.next_turn() {
                return Poll::Ready(turn);
            }
            if !self.settle_doubts() {
                break;
            }
        }
        // What is under way ends first, and is recorded.
        if self.rests()
            && let Some(mismatch) = self.run.mismatch.borrow_mut().take()
        {
            return Poll::Ready(Turn::Mismatch(Box::new(mismatch)));
        }
        self.timer.as_mut().poll(cx).map(|()| Turn::OutOfTime)
    }

    /// Polls the function and what it has begun, until nothing moves any more.
    fn poll_work(&mut self, cx: &mut Context<'_>) {
        loop {
            self.tasks.extend(self.run.incoming.take());
            self.run.in_step.set(true);
            while let Poll::Ready(Some(())) = self.tasks.poll_next_unpin(cx) {}
            self.run.in_step.set(false);
            if let Some(panic) = self.run.panicked.take() {
                self.body = None;
                self.ended = Some(Err(panic));
            }
            if let Some(failure) = self.run.fatal.take() {
                self.body = None;
                self.ended = Some(Ok(Done::Function(Err(failure))));
            }
            if let Some(body) = &mut self.body
                && let Poll::Ready(ended) = body.as_mut().poll(cx)
            {
                // Dropped with all that it holds: what it has begun goes on.
                self.body = None;
                self.ended = Some(ended);
            }
            if self.run.incoming.borrow().is_empty() && self.run.fatal.borrow().is_none() {
                return;
            }
        }
    }

    /// True if nothing is under way that must not be cut off.
    fn rests(&self) -> bool {
        self.tasks.is_empty() && self.run.busy.get() == 0 && self.recording.is_none()
    }

    /// What is to be done now that nothing moves by itself.
    fn next_turn(&mut self) -> Option<Turn> {
        let run = &self.run;
        let rests = self.rests();
        if rests && let Some(ended) = self.ended.take() {
            return Some(Turn::Ended(ended));
        }
        let unrecorded = !run.unrecorded.borrow().is_empty() || run.unsaved.borrow().is_some();
        let awaited = !run.barrier.borrow().is_empty() || run.unsaved.borrow().is_some();
        if rests && !awaited && run.doubts.borrow().is_empty() && self.body.is_some() {
            if run.mismatch.borrow().is_some() {
                return None;
            }
            if run.cancelled.get() && !run.claimed.undoing {
                return Some(Turn::Cancelled);
            }
            if run.wants_suspend.get() {
                return Some(Turn::Suspend(Vec::new()));
            }
            let waits = run.waits.borrow();
            if !waits.is_empty() {
                let waits = waits.values().map(|(wait, _)| wait.clone());
                return Some(Turn::Suspend(waits.collect()));
            }
        }
        (self.recording.is_none() && unrecorded).then_some(Turn::Record)
    }

    /// Judges steps that were met while something of their branch on record was not: by now all that
    /// could be met has been. True if one of them may go on.
    fn settle_doubts(&mut self) -> bool {
        let run = &self.run;
        if !self.rests() || run.doubts.borrow().is_empty() {
            return false;
        }
        let mut released = false;
        // What is of another kind than on record stays so, whoever is released.
        let certain = run.mismatch.borrow().clone();
        let doubts = run.doubts.take();
        for (id, release) in doubts {
            match run.unvisited(&id.branch) {
                None => {
                    released = true;
                    // A step that was dropped meanwhile needs no word.
                    let _ = release.send(());
                }
                Some(recorded) => {
                    let difference = format!(
                        "step {recorded} is on record, and the code comes to step {id} without it"
                    );
                    run.park(&recorded, Some(id.clone()), difference);
                    run.doubts.borrow_mut().push((id, release));
                }
            }
        }
        if released {
            // What was released may come to what the others lack.
            *run.mismatch.borrow_mut() = certain;
        }
        released
    }
}

/// How many of these go into one message: at least one.
pub(super) fn fitting(records: &[StepRecord]) -> usize {
    let mut bytes = 0;
    let small = records.iter().take(limits::MAX_RECORDS_PER_CALL);
    let small = small.take_while(|record| {
        bytes += size_of_record(record);
        bytes <= limits::JOURNAL_PAGE_BYTES
    });
    small.count().max(1).min(records.len())
}

/// What of a run is to be sent next.
pub(super) fn batch(run: &Run, proof: &Proof) -> Record {
    let mut unrecorded = run.unrecorded.borrow_mut();
    let count = fitting(&unrecorded);
    let steps: Vec<StepRecord> = unrecorded.drain(..count).collect();
    let last = unrecorded.is_empty();
    let open = unrecorded.iter().filter(|r| !r.outcome.is_settled());
    run.open_unrecorded.set(open.count());
    Record {
        proof: proof.clone(),
        steps,
        known: Vec::new(),
        // Behind everything that it says has been done.
        cursor: if last { run.unsaved.take() } else { None },
        known_cursor: None,
    }
}
