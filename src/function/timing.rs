//! The time, and sleeping.

use super::ctx::Ctx;
use super::step::{check_step, read};
use crate::limits;
use crate::protocol::{Kind, Open, Outcome, StepRecord, Wait, WaitFor};
use crate::types::{Failure, StepId};

/// Name of the records of [`Ctx::now`]. Authors' steps of this name have occurrences of their own kind.
const NOW: &str = "now";

impl Ctx {
    /// Milliseconds since 1970, recorded: the same whenever the function comes here again.
    ///
    /// # Errors
    /// None of its own.
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function};
    /// async fn when(ctx: Ctx, _: ()) -> Result<u64, Failure> {
    ///     let began_ms = ctx.now().await?;
    ///     ctx.sleep("a while", 3_600_000).await?;
    ///     Ok(ctx.now().await? - began_ms)
    /// }
    /// # use onceward::testing::Bench;
    /// # let mut bench = Bench::new(Function::new("when", when));
    /// # bench.deliver("k", onceward::types::Input { body: b"null".to_vec(), ..Default::default() }).unwrap();
    /// # bench.run_until_idle();
    /// # let took: u64 = serde_json::from_slice(&bench.answer("k").unwrap().body).unwrap();
    /// # assert!((3_600_000..3_601_000).contains(&took), "{took}");
    /// ```
    pub async fn now(&self) -> Result<u64, Failure> {
        check_step(self, NOW)?;
        let run = &self.run;
        let id = run.identify(&self.branch, NOW);
        if let Some(record) = run.visit(&id, Kind::Now).await
            && let Outcome::Value(text) = record.outcome
        {
            return read(&text, NOW);
        }
        let now_ms = run.object_now_ms();
        run.keep(StepRecord {
            kind: Kind::Now,
            ..StepRecord::new(id, Outcome::Value(now_ms.to_string()))
        });
        Ok(now_ms)
    }

    /// Sleeps, for up to ten years. The task costs nothing meanwhile; the time of waking is recorded
    /// once, and survives crashes and deploys. 0 goes on at once, and is recorded.
    ///
    /// # Errors
    /// Terminal for a bad name (`step_name`) or a longer sleep (`sleep_too_long`).
    pub async fn sleep(&self, name: &str, ms: u64) -> Result<(), Failure> {
        let now_ms = self.run.object_now_ms();
        self.sleep_to(name, now_ms.saturating_add(ms)).await
    }

    /// Sleeps until a time in milliseconds since 1970. The past goes on at once, and is recorded.
    ///
    /// # Errors
    /// As [`Ctx::sleep`].
    pub async fn sleep_until(&self, name: &str, at_ms: u64) -> Result<(), Failure> {
        self.sleep_to(name, at_ms).await
    }

    async fn sleep_to(&self, name: &str, at_ms: u64) -> Result<(), Failure> {
        check_step(self, name)?;
        let run = &self.run;
        let id = run.identify(&self.branch, name);
        let due_ms = match run.visit(&id, Kind::Sleep).await.map(|r| r.outcome) {
            Some(Outcome::Value(_)) => return Ok(()),
            Some(Outcome::Failed(failure)) => return Err(failure),
            Some(Outcome::Open(open)) => open.due_ms.unwrap_or(0),
            None => {
                let now_ms = run.object_now_ms();
                if at_ms.saturating_sub(now_ms) > limits::MAX_SLEEP_MS {
                    return Err(too_long(&id, at_ms - now_ms));
                }
                self.fall_asleep(&id, at_ms, now_ms);
                at_ms
            }
        };
        let what = WaitFor::Sleep { due_ms };
        run.wait(Wait { id, what }).await;
        Ok(())
    }

    fn fall_asleep(&self, id: &StepId, at_ms: u64, now_ms: u64) {
        let outcome = if at_ms <= now_ms {
            Outcome::Value("null".to_owned())
        } else {
            Outcome::Open(Box::new(Open {
                due_ms: Some(at_ms),
                ..Open::default()
            }))
        };
        self.run.keep(StepRecord {
            kind: Kind::Sleep,
            ..StepRecord::new(id.clone(), outcome)
        });
    }
}

fn too_long(id: &StepId, ms: u64) -> Failure {
    let most = limits::MAX_SLEEP_MS;
    let message = format!("sleep {id} would take {ms} ms; the longest takes {most} ms");
    Failure::terminal("sleep_too_long", message)
}
