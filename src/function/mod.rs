//! Ring 2: what an author writes and how it is run.
//!
//! A function is an `async fn(Ctx, I) -> Result<O, Failure>`. Named units of work inside it are
//! *steps*: each outcome is recorded once, and a run that starts again gets the recorded outcomes
//! back instead of doing the work again.
//!
//! ```
//! use onceward::function::{Ctx, Function};
//! use onceward::types::Failure;
//!
//! async fn greet(ctx: Ctx, name: String) -> Result<String, Failure> {
//!     let host: String = ctx.step("look up host", || async { Ok("ada".to_owned()) }).await?;
//!     Ok(format!("hello {name}, from {host}"))
//! }
//! let function = Function::new("greet", greet);
//! assert_eq!(function.name(), "greet");
//! ```

pub mod bulk;
mod child;
mod ctx;
mod driver;
mod engine;
mod fetch;
pub mod flow;
mod gateway;
mod handler;
mod host;
mod kv;
mod lock;
mod note;
pub mod notify;
mod parallel;
mod progress;
mod report;
mod retry;
mod run;
mod signal;
mod step;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod timing;
mod undo;
mod unknown;
mod visits;

pub use child::{ChildStep, outcome_of};
pub use ctx::{Ctx, StepScope};
pub use driver::{Slice, SliceEnd, run_slice};
pub use fetch::{FetchBody, FetchStep, Fetched};
pub use handler::{Checked, FromInput, Function, InputProblem, IntoAnswer, Raw, from_json};
pub use host::{CallError, ChildBegin, ChildSays, FetchError, Host, OutRequest, OutResponse};
pub use lock::Held;
pub(crate) use lock::has_let_go;
pub use parallel::Contender;
pub use retry::Retry;
pub use signal::{SignalWait, is_signal_name};
pub use step::Step;
pub use undo::Undo;
pub use unknown::OnUnknown;

/// The words that authors need beside [`Ctx`].
pub use crate::flow::kv::{KvEntry, KvOp, KvReply, KvType, KvWhen};
pub use crate::http::profile::{CallRules, KeySyntax, Profile};
pub use crate::limits::{MAX_LONG_STEP_MS, MAX_NAME_BYTES};
pub use crate::types::time::{parse_duration_ms, rfc3339};
pub use crate::types::{
    AfterExpiry, Answer, Failure, FailureKind, Headers, History, Input, Keeps, Policy,
};
pub use crate::webhook::KeyPattern;
