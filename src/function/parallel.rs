//! Work beside other work.

use super::ctx::Ctx;
use super::step::{check_step, read};
use crate::protocol::{Kind, Outcome, StepRecord};
use crate::types::Failure;
use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use std::future::Future;

/// One that takes part in a race; see [`Ctx::race`].
pub struct Contender<T> {
    name: String,
    run: Box<dyn FnOnce(Ctx) -> LocalBoxFuture<'static, Result<T, Failure>>>,
}

impl<T> Contender<T> {
    /// Work under a name; it gets the context of a branch of its own.
    pub fn new<F, Fut>(name: &str, run: F) -> Self
    where
        F: FnOnce(Ctx) -> Fut + 'static,
        Fut: Future<Output = Result<T, Failure>> + 'static,
    {
        Self {
            name: name.to_owned(),
            run: Box::new(move |ctx| Box::pin(run(ctx))),
        }
    }
}

impl Ctx {
    /// Waits for all of them, and gives their values in order, or else the failure of the first in
    /// order that failed. Nothing is cut off when one fails: the others end and are recorded.
    ///
    /// # Errors
    /// The failure of the first in order that failed.
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function};
    ///
    /// async fn sizes(ctx: Ctx, words: Vec<String>) -> Result<Vec<usize>, Failure> {
    ///     let steps = words.into_iter().enumerate().map(|(n, word)| {
    ///         let ctx = ctx.branch(&n.to_string());
    ///         async move { ctx.step("size", move || { let size = word.len(); async move { Ok(size) } }).await }
    ///     });
    ///     ctx.all(steps).await
    /// }
    /// # use onceward::testing::Bench;
    /// # let mut bench = Bench::new(Function::new("sizes", sizes));
    /// # bench.deliver("k", onceward::types::Input { body: br#"["a","bcd"]"#.to_vec(), ..Default::default() }).unwrap();
    /// # bench.run_until_idle();
    /// # assert_eq!(bench.answer("k").unwrap().body, b"[1,3]");
    /// ```
    pub async fn all<T, Fut>(&self, work: impl IntoIterator<Item = Fut>) -> Result<Vec<T>, Failure>
    where
        Fut: Future<Output = Result<T, Failure>>,
    {
        let ended = futures::future::join_all(work).await;
        ended.into_iter().collect()
    }

    /// Runs them beside each other and takes the first that succeeds, or the first one's failure if
    /// none does. Which one won is recorded: a run that starts again goes the same way. The others are
    /// cut off, each in the branch `{name}/{contender}`; what they had under way may have happened.
    ///
    /// # Errors
    /// When every contender failed, or there is none (`race_empty`).
    ///
    /// ```
    /// use onceward::function::{Contender, Ctx, Failure, Function};
    ///
    /// async fn fastest(ctx: Ctx, _: ()) -> Result<String, Failure> {
    ///     ctx.race("fastest", vec![
    ///         Contender::new("slow", |ctx: Ctx| async move {
    ///             ctx.sleep("nap", 60_000).await?;
    ///             Ok("slow".to_owned())
    ///         }),
    ///         Contender::new("quick", |ctx: Ctx| async move {
    ///             ctx.step("work", || async { Ok("quick".to_owned()) }).await
    ///         }),
    ///     ]).await
    /// }
    /// # use onceward::testing::Bench;
    /// # let mut bench = Bench::new(Function::new("fastest", fastest));
    /// # bench.deliver("k", onceward::types::Input { body: b"null".to_vec(), ..Default::default() }).unwrap();
    /// # bench.run_until_idle();
    /// # assert_eq!(bench.answer("k").unwrap().body, br#""quick""#);
    /// ```
    pub async fn race<T: 'static>(
        &self,
        name: &str,
        contenders: Vec<Contender<T>>,
    ) -> Result<T, Failure> {
        check_step(self, name)?;
        let run = &self.run;
        let id = run.identify(&self.branch, name);
        let branches = self.branch(name).within(&format!("%{}", id.occurrence));
        let known = run.visit(&id, Kind::Race).await.map(|r| r.outcome);
        let paths: Vec<Ctx> = contenders
            .iter()
            .map(|c| branches.branch(&c.name))
            .collect();
        let winner = match known {
            Some(Outcome::Value(text)) => Some(read::<usize>(&text, name)?),
            _ => None,
        };
        let mut running: FuturesUnordered<_> = contenders
            .into_iter()
            .zip(&paths)
            .enumerate()
            .filter(|(n, _)| winner.is_none_or(|winner| winner == *n))
            .map(|(n, (contender, ctx))| {
                let ended = (contender.run)(ctx.clone());
                async move { (n, ended.await) }
            })
            .collect();
        let mut failures: Vec<(usize, Failure)> = Vec::new();
        while let Some((n, ended)) = running.next().await {
            match ended {
                Ok(value) => {
                    drop(running);
                    for (other, path) in paths.iter().enumerate() {
                        if other != n {
                            run.abandon(&path.branch);
                        }
                    }
                    if winner.is_none() {
                        let outcome = Outcome::Value(n.to_string());
                        run.keep(StepRecord {
                            kind: Kind::Race,
                            ..StepRecord::new(id, outcome)
                        });
                    }
                    return Ok(value);
                }
                Err(failure) => failures.push((n, failure)),
            }
        }
        failures.sort_by_key(|(n, _)| *n);
        let first = failures.into_iter().next().map(|(_, failure)| failure);
        Err(first.unwrap_or_else(|| {
            Failure::terminal("race_empty", format!("race {name:?} has no contender"))
        }))
    }
}
