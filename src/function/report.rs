//! What a slice tells its object, and what it makes of the replies.

use super::driver::{Done, Ended, SliceEnd, batch, fitting};
use super::host::{CallError, Host};
use super::progress::CONTINUE_AS;
use super::run::Run;
use crate::protocol::{
    Finish, Mismatch, NextInput, Proof, Record, Reply, StepRecord, Suspend, Verdict, Wait,
};
use crate::types::Failure;
use std::any::Any;

/// Why a function is no longer run, or not now.
pub(super) enum Last {
    Ended(Ended),
    Suspend(Vec<Wait>),
    Cancelled,
    Mismatch(Box<Mismatch>),
    OutOfTime,
}

/// What follows.
pub(super) enum Next {
    End(SliceEnd),
    GoOn,
}

/// Tells the object how the slice ends. `chain`: hops of the chain so far, and how many times this
/// slice has reported.
pub(super) async fn report(
    host: &dyn Host,
    run: &Run,
    proof: &Proof,
    last: Last,
    chain: (u32, u32),
) -> Next {
    if let Err(end) = drain(host, run, proof).await {
        return Next::End(end);
    }
    match last {
        Last::Suspend(waits) => suspend(host, run, proof, (waits, None), chain).await,
        Last::Mismatch(mismatch) => {
            suspend(host, run, proof, (Vec::new(), Some(mismatch)), chain).await
        }
        Last::Cancelled => Next::End(finish(host, run, proof, Verdict::Cancelled).await),
        Last::OutOfTime => {
            let verdict = Verdict::Failed(out_of_time(run));
            Next::End(finish(host, run, proof, verdict).await)
        }
        Last::Ended(ended) => match verdict(host, run, ended) {
            Ok(verdict) => Next::End(finish(host, run, proof, verdict).await),
            Err(mismatch) => suspend(host, run, proof, (Vec::new(), Some(mismatch)), chain).await,
        },
    }
}

/// What an end means. A function that ended well without coming to all that is on record has changed,
/// and so has one that came to something of another kind, however it ended.
fn verdict(host: &dyn Host, run: &Run, ended: Ended) -> Result<Verdict, Box<Mismatch>> {
    if let Some(mismatch) = run.mismatch.take() {
        return Err(Box::new(mismatch));
    }
    let result = match ended {
        Ok(Done::Undone(left)) => return Ok(Verdict::Undone(left)),
        Ok(Done::Function(result)) => result,
        Err(panic) => {
            let failure = Failure::retryable("panic", panic_text(&*panic)).cut();
            return Ok(Verdict::Failed(failure));
        }
    };
    let starts_over = matches!(&result, Err(failure) if failure.code == CONTINUE_AS);
    if (result.is_ok() || starts_over)
        && let Some(recorded) = run.left_over()
    {
        let difference = format!("step {recorded} is on record, and the code ended without it");
        run.park(&recorded, None, difference);
        if let Some(mismatch) = run.mismatch.take() {
            return Err(Box::new(mismatch));
        }
    }
    Ok(match result {
        Ok(answer) => match host.fit(answer) {
            Ok(answer) => Verdict::Succeeded(answer),
            Err(failure) => Verdict::Failed(failure),
        },
        Err(failure) if starts_over => match run.next_input.take() {
            Some(body) => Verdict::ContinueAs(NextInput { body }),
            None => Verdict::Failed(failure),
        },
        Err(mut failure) => {
            if let Some(answer) = failure.answer.take() {
                // An answer that cannot be stored is left out; the failure itself counts.
                failure.answer = host.fit(*answer).ok().map(Box::new);
            }
            Verdict::Failed(failure.cut())
        }
    })
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

/// What is to be recorded next, as a message.
pub(super) fn next_record(run: &Run, proof: &Proof) -> Record {
    run.subrequests.set(run.subrequests.get() + 1);
    batch(run, proof)
}

/// What a reply to `record` means for the run.
pub(super) fn settle(
    run: &Run,
    sent: &[StepRecord],
    reply: Result<Reply, CallError>,
) -> Result<(), SliceEnd> {
    match reply {
        Ok(Reply::Recorded {
            stop: false,
            winners,
            cancel,
        }) => {
            if cancel {
                run.cancelled.set(true);
            }
            let same = |winner: &StepRecord| {
                let ours = sent.iter().find(|s| s.id == winner.id);
                ours.is_none_or(|ours| ours.outcome == winner.outcome)
            };
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

async fn finish(host: &dyn Host, run: &Run, proof: &Proof, verdict: Verdict) -> SliceEnd {
    let own = match &verdict {
        Verdict::Succeeded(answer) => Some(answer.clone()),
        Verdict::Failed(failure) => failure.answer.as_deref().cloned(),
        Verdict::Cancelled | Verdict::ContinueAs(_) | Verdict::Undone(_) => None,
    };
    let finish = Finish {
        op: host.token(),
        proof: proof.clone(),
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
        Ok(Reply::Suspended { ticket, hop }) => SliceEnd::Suspended { ticket, hop },
        Ok(_) | Err(CallError::Gone) => SliceEnd::Stopped,
        Err(CallError::Unreachable(_)) => SliceEnd::Unreachable,
    }
}

async fn suspend(
    host: &dyn Host,
    run: &Run,
    proof: &Proof,
    why: (Vec<Wait>, Option<Box<Mismatch>>),
    chain: (u32, u32),
) -> Next {
    let (waits, mismatch) = why;
    let suspend = Suspend {
        op: host.token(),
        proof: proof.clone(),
        steps: run.unrecorded.take(),
        known: Vec::new(),
        progressed: run.progressed.get(),
        hop: chain.0,
        n: chain.1,
        waits,
        letters: Vec::new(),
        mismatch,
    };
    run.subrequests.set(run.subrequests.get() + 1);
    match host.suspend(suspend).await {
        Ok(Reply::GoOn { records, now_ms }) => {
            go_on(run, records, now_ms);
            Next::GoOn
        }
        Ok(Reply::Suspended { ticket, hop }) => Next::End(SliceEnd::Suspended { ticket, hop }),
        // An operator had it ended.
        Ok(Reply::Stands(standing)) if standing.summary.finished_ms.is_some() => {
            Next::End(SliceEnd::Ended(Box::new(standing)))
        }
        Ok(_) | Err(CallError::Gone) => Next::End(SliceEnd::Stopped),
        Err(CallError::Unreachable(_)) => Next::End(SliceEnd::Unreachable),
    }
}

/// Hands out what was waited for.
fn go_on(run: &Run, records: Vec<StepRecord>, now_ms: u64) {
    run.object_says(now_ms);
    let mut waits = run.waits.borrow_mut();
    for record in records {
        if let Some((_, end)) = waits.remove(&record.id) {
            run.progressed.set(true);
            // Somebody who no longer waits needs no word.
            let _ = end.send(Some(record));
        }
    }
    let due: Vec<_> = waits
        .iter()
        .filter(|(_, (wait, _))| wait.what.due_ms().is_some_and(|due| due <= now_ms))
        .map(|(id, _)| id.clone())
        .collect();
    for id in due {
        if let Some((_, end)) = waits.remove(&id) {
            let _ = end.send(None);
        }
    }
}

/// Records all but the last messageful, which goes with the end.
async fn drain(host: &dyn Host, run: &Run, proof: &Proof) -> Result<(), SliceEnd> {
    while fitting(&run.unrecorded.borrow()) < run.unrecorded.borrow().len() {
        let record = next_record(run, proof);
        let sent = record.steps.clone();
        settle(run, &sent, host.record(record).await)?;
    }
    Ok(())
}
