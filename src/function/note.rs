//! Values that are worked out without any effect outside, and recorded: in the order of the function, but without a
//! message of their own. The next effect, or the end of the slice, takes them along.

use super::ctx::Ctx;
use super::engine::{check_size, of_step};
use super::step::{check_step, read, to_json};
use crate::limits::MAX_OUTCOME_BYTES;
use crate::protocol::{Kind, Outcome, StepRecord};
use crate::types::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// So many of them are sent together at most.
const TOGETHER: usize = 50;

impl Ctx {
    /// A value that is recorded once, or a failure that is. Making it must not have any effect outside: nothing has
    /// been recorded when it is made.
    ///
    /// # Errors
    /// The failure, as recorded. Terminal for a bad name (`step_name`).
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function};
    /// async fn sum(ctx: Ctx, numbers: Vec<u32>) -> Result<u32, Failure> {
    ///     ctx.note("sum", || Ok(numbers.iter().sum())).await
    /// }
    /// # use onceward::testing::Bench;
    /// # let mut bench = Bench::new(Function::new("sum", sum));
    /// # bench.deliver("k", onceward::types::Input { body: b"[1,2]".to_vec(), ..Default::default() }).unwrap();
    /// # bench.run_until_idle();
    /// # assert_eq!(bench.answer("k").unwrap().body, b"3");
    /// # assert_eq!(bench.journal("k").len(), 1);
    /// ```
    pub async fn note<T, F>(&self, name: &str, make: F) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Result<T, Failure>,
    {
        check_step(self, name)?;
        let run = &self.run;
        let late = run.elapsed_ms() >= run.policy.slice_budget_ms;
        if late || run.cancelled.get() {
            // Suspends, or ends with the slice.
            run.admit(1).await;
        }
        let id = run.identify(&self.branch, name);
        let found = run.visit(&id, Kind::Step).await;
        let opened = found.as_ref().and_then(|record| record.opened);
        match found.map(|record| record.outcome) {
            Some(Outcome::Value(text)) => return read(&text, name),
            Some(Outcome::Failed(failure)) => return Err(of_step(failure, &id)),
            Some(Outcome::Open(_)) | None => {}
        }
        let value = make().and_then(|value| {
            let text = to_json(&value)?;
            check_size(run, &id, &text, "", MAX_OUTCOME_BYTES)?;
            Ok((text, value))
        });
        let (outcome, result) = match value {
            Ok((text, value)) => (Outcome::Value(text), Ok(value)),
            Err(failure) => {
                let failure = of_step(failure.cut(), &id);
                (Outcome::Failed(failure.clone()), Err(failure))
            }
        };
        run.keep(StepRecord {
            opened,
            ..StepRecord::new(id, outcome)
        });
        if run.unrecorded.borrow().len() >= TOGETHER {
            run.recorded().await;
        }
        result
    }

    /// Whether the next step of this name has an outcome on record.
    pub(super) fn is_recorded(&self, name: &str) -> bool {
        let id = self.run.upcoming(&self.branch, name);
        let journal = self.run.journal.borrow();
        journal
            .get(&id)
            .is_some_and(|record| record.outcome.is_settled())
    }
}
