//! Runs a program.

use super::answer;
use super::burn::burn;
use super::outcomes::Frame;
use super::program::{Child, Locked, Plain, Program, Step, Time};
use super::progress::Progress;
use super::send;
use super::shared;
use crate::function::{Ctx, Failure, Fetched, Raw};
use futures::future::LocalBoxFuture;
use serde_json::{Map, Value};
use std::rc::Rc;

pub(super) async fn run(ctx: Ctx, program: Program) -> Result<Raw, Failure> {
    let running = Running {
        progress: Progress::of(&program.steps),
    };
    let outcomes = running.list(&ctx, &program.steps, None).await?;
    running.progress.ended()?;
    Ok(Raw(answer::of(&ctx, program.answer, outcomes)))
}

/// A program that runs.
struct Running {
    progress: Progress,
}

/// A name with its outcome.
type Named = (String, Value);

impl Running {
    /// Steps that run one after the other; what comes of those that have a name.
    fn list<'a>(
        &'a self,
        ctx: &'a Ctx,
        steps: &'a [Step],
        outer: Option<&'a Frame<'a>>,
    ) -> LocalBoxFuture<'a, Result<Map<String, Value>, Failure>> {
        Box::pin(async move {
            let frame = Frame::new(outer);
            for step in steps {
                if let Some((name, outcome)) = self.step(ctx, step, &frame).await? {
                    frame.add(name, outcome);
                }
            }
            Ok(frame.into_outcomes())
        })
    }

    async fn step(
        &self,
        ctx: &Ctx,
        step: &Step,
        frame: &Frame<'_>,
    ) -> Result<Option<Named>, Failure> {
        self.progress.come_to(ctx, step, frame)?;
        if self.progress.is_ahead() && !step.saves() {
            return Ok(None);
        }
        let (name, outcome) = match step {
            Step::Call(call) => (&call.name, send::call(ctx, call).await?),
            Step::Value { name, value } => (name, record(ctx, name, value).await?),
            Step::Sleep { name, time } => {
                match *time {
                    Time::For(ms) => ctx.sleep(name, ms).await?,
                    Time::Until(at_ms) => ctx.sleep_until(name, at_ms).await?,
                }
                (name, Value::Null)
            }
            Step::Signal { name, timeout_ms } => {
                let mut signal = ctx.wait_for_signal(name);
                if let Some(ms) = timeout_ms {
                    signal = signal.timeout_ms(*ms);
                }
                (name, signal.await?)
            }
            Step::Child(child) => (&child.name, answered(ctx, child).await?),
            Step::Keyed(keyed) => (&keyed.name, shared::ask(ctx, keyed).await?),
            Step::Locked(locked) => (&locked.name, self.locked(ctx, locked, frame).await?),
            Step::Parallel { name, branches } => {
                (name, self.parallel(ctx, name, branches, frame).await?)
            }
            Step::Repeat { name, times, step } => {
                for _ in 0..*times {
                    // What comes of a turn is on record, and of no use here.
                    Box::pin(self.step(ctx, step, frame)).await?;
                }
                (name, Value::from(*times))
            }
            Step::Save(cursor) => {
                self.progress.save(ctx, cursor, frame).await?;
                return Ok(None);
            }
            Step::Plain(plain) => {
                unrecorded(ctx, plain).await?;
                return Ok(None);
            }
        };
        if self.progress.is_ahead() {
            // Its outcome will be put back.
            return Ok(None);
        }
        Ok(Some((name.clone(), outcome)))
    }

    /// Steps that run while a lock is held. It is let go of if all of them succeed.
    async fn locked(
        &self,
        ctx: &Ctx,
        locked: &Locked,
        frame: &Frame<'_>,
    ) -> Result<Value, Failure> {
        let held = ctx.lock(&locked.name, locked.limit, locked.queue).await?;
        let outcomes = self.list(ctx, &locked.steps, Some(frame)).await?;
        ctx.unlock(&held).await?;
        Ok(Value::Object(outcomes))
    }

    /// All branches beside each other; the failure of one lets the others end.
    async fn parallel(
        &self,
        ctx: &Ctx,
        name: &str,
        branches: &[Vec<Step>],
        frame: &Frame<'_>,
    ) -> Result<Value, Failure> {
        let ctx = ctx.branch(name);
        let work = branches.iter().enumerate().map(|(index, steps)| {
            let ctx = ctx.branch(&index.to_string());
            async move { self.list(&ctx, steps, Some(frame)).await }
        });
        let outcomes = ctx.all(work).await?;
        Ok(outcomes.into_iter().map(Value::Object).collect())
    }
}

async fn record(ctx: &Ctx, name: &str, value: &Rc<Value>) -> Result<Value, Failure> {
    let value = Rc::clone(value);
    let step = ctx.step(name, move || {
        let value = Rc::clone(&value);
        async move { Ok(Value::clone(&value)) }
    });
    step.await
}

async fn answered(ctx: &Ctx, child: &Child) -> Result<Value, Failure> {
    let step = ctx.call(&child.function, Some(&child.key), &child.input);
    let answer: Fetched = step.named(&child.name).await?;
    Ok(send::shown(answer))
}

/// A step that each attempt does which comes to it. All outcomes before it are recorded by then.
async fn unrecorded(ctx: &Ctx, step: &Plain) -> Result<(), Failure> {
    match step {
        Plain::Wait { ms } => ctx.pause(*ms).await,
        Plain::Burn { ms } => {
            // The clock and other branches get their turn before each burn.
            ctx.pause(0).await;
            burn(ctx, *ms);
        }
        Plain::Fail(failure) => {
            ctx.settled().await;
            return Err(failure.clone());
        }
        Plain::Panic => {
            ctx.settled().await;
            panic!("lab panic");
        }
    }
    Ok(())
}
