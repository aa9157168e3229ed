//! Waiting for signals, and the addresses by which they come.

use super::ctx::Ctx;
use super::engine::of_step;
use super::step::{check_step, read};
use crate::limits;
use crate::protocol::{Kind, Open, Outcome, StepRecord, Wait, WaitFor};
use crate::types::{Failure, StepId};
use futures::future::LocalBoxFuture;
use serde::de::DeserializeOwned;
use std::future::IntoFuture;
use std::marker::PhantomData;

/// True for a name that a signal can have: 1 to 100 of `A–Z a–z 0–9 _ . -`, but for `.` and `..`, which
/// do not survive in an address.
///
/// ```
/// use onceward::function::is_signal_name;
/// assert!(is_signal_name("approval.v2"));
/// assert!(!is_signal_name("") && !is_signal_name("a/b") && !is_signal_name("%child"));
/// ```
pub fn is_signal_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    let dots = matches!(name, "." | "..");
    !name.is_empty()
        && !dots
        && name.len() <= limits::MAX_SIGNAL_NAME_CHARS
        && name.bytes().all(plain)
}

/// A wait that has not begun; `.await` waits.
///
/// ```
/// use onceward::function::{Ctx, Failure, Function};
///
/// async fn publish(ctx: Ctx, _: ()) -> Result<String, Failure> {
///     match ctx.wait_for_signal::<String>("approval").timeout_ms(60_000).await {
///         Ok(who) => Ok(format!("approved by {who}")),
///         Err(failure) if failure.code == "signal_timeout" => Ok("nobody answered".to_owned()),
///         Err(failure) => Err(failure),
///     }
/// }
/// # use onceward::testing::Bench;
/// # let mut bench = Bench::new(Function::new("publish", publish));
/// # bench.deliver("k", onceward::types::Input { body: b"null".to_vec(), ..Default::default() }).unwrap();
/// # bench.run_until_idle();
/// # assert_eq!(bench.answer("k").unwrap().body, br#""nobody answered""#);
/// ```
#[must_use = "nothing is waited for until it is awaited"]
pub struct SignalWait<T> {
    ctx: Ctx,
    name: String,
    timeout_ms: Option<u64>,
    result: PhantomData<fn() -> T>,
}

impl<T> SignalWait<T> {
    /// Waits no longer than this; then the failure is terminal, with the code `signal_timeout`. The
    /// deadline is recorded: one row more.
    pub fn timeout_ms(mut self, ms: u64) -> Self {
        self.timeout_ms = Some(ms);
        self
    }
}

impl<T: DeserializeOwned + 'static> IntoFuture for SignalWait<T> {
    type Output = Result<T, Failure>;
    type IntoFuture = LocalBoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let text = wait(&self.ctx, &self.name, self.timeout_ms).await?;
            read(&text, &self.name)
        })
    }
}

impl Ctx {
    /// Waits for a signal: an outside event with a name and a JSON payload. Signals that came early
    /// are kept, in order of their coming; each is given out once.
    pub fn wait_for_signal<T: DeserializeOwned + 'static>(&self, name: &str) -> SignalWait<T> {
        SignalWait {
            ctx: self.clone(),
            name: name.to_owned(),
            timeout_ms: None,
            result: PhantomData,
        }
    }

    /// An address, path and query, at which this task can be sent one signal of this name, without an
    /// API token: for a link in a mail or a callback. Each call makes another one, the same whenever
    /// the function comes here again. `None` where the deployment has no secret (`ONCEWARD_TOKEN`), or
    /// for a name that no signal can have. A new secret makes old addresses invalid.
    pub fn signal_url(&self, name: &str) -> Option<String> {
        if !is_signal_name(name) {
            return None;
        }
        let what = format!("%signal/{name}");
        let n = self.run.draw("", &what);
        // Another generation has other addresses: those of this one may have been used.
        let run = &self.run;
        let first = StepId::new("", &what, 0).derived_key(run.task_id, run.claimed.generation);
        let n = first.as_fields().0.wrapping_add(n);
        let token = run.host.signal_token(name, n)?;
        let id = self.run.task_id;
        Some(format!("/v1/tasks/{id}/signals/{name}?token={token}"))
    }
}

async fn wait(ctx: &Ctx, name: &str, timeout_ms: Option<u64>) -> Result<String, Failure> {
    if !is_signal_name(name) {
        let most = limits::MAX_SIGNAL_NAME_CHARS;
        let message = format!("{name:?} is no name of a signal: 1 to {most} of A-Z a-z 0-9 _ . -");
        return Err(Failure::terminal("signal_name", message));
    }
    check_step(ctx, name)?;
    let run = &ctx.run;
    let id = run.identify(&ctx.branch, name);
    let due_ms = match run.visit(&id, Kind::Signal).await.map(|r| r.outcome) {
        Some(Outcome::Value(text)) => return Ok(text),
        Some(Outcome::Failed(failure)) => return Err(of_step(failure, &id)),
        Some(Outcome::Open(open)) => open.due_ms,
        None => timeout_ms.map(|ms| deadline(ctx, &id, ms)),
    };
    loop {
        let what = WaitFor::Signal {
            name: name.to_owned(),
            due_ms,
        };
        let id = id.clone();
        // Without a record, only time has passed: the object says what came first.
        if let Some(record) = run
            .wait(Wait {
                id: id.clone(),
                what,
            })
            .await
        {
            return match record.outcome {
                Outcome::Value(text) => Ok(text),
                Outcome::Failed(failure) => Err(of_step(failure, &id)),
                Outcome::Open(_) => continue,
            };
        }
    }
}

fn deadline(ctx: &Ctx, id: &StepId, timeout_ms: u64) -> u64 {
    let run = &ctx.run;
    let due_ms = run.object_now_ms() + timeout_ms.min(limits::MAX_SLEEP_MS);
    run.keep(StepRecord {
        kind: Kind::Signal,
        ..StepRecord::new(
            id.clone(),
            Outcome::Open(Box::new(Open {
                due_ms: Some(due_ms),
                ..Open::default()
            })),
        )
    });
    due_ms
}
