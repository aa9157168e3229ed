//! Runs a function natively, in milliseconds: on a clock that jumps, with an outside that a test
//! makes up, and with the real task machine behind it.
//!
//! ```
//! use onceward::function::{Ctx, Failure, Fetched, Function, OutRequest};
//! use onceward::testing::{Bench, Reaction};
//! use onceward::types::Input;
//!
//! async fn notify(ctx: Ctx, who: String) -> Result<u16, Failure> {
//!     let request = OutRequest {
//!         method: "POST".into(),
//!         url: "https://example.com/notify".into(),
//!         headers: Default::default(),
//!         body: who.into_bytes(),
//!     };
//!     let sent: Fetched = ctx.fetch("notify", request).await?;
//!     Ok(sent.status)
//! }
//! let mut bench = Bench::new(Function::new("notify", notify))
//!     .outside(|_| Reaction::status(202).after_ms(300));
//! let input = Input { body: br#""ada""#.to_vec(), ..Input::default() };
//! bench.deliver("key-1", input).expect("the input is right");
//! bench.run_until_idle();
//! assert_eq!(bench.answer("key-1").expect("it has ended").body, b"202");
//! assert_eq!(bench.requests().len(), 1);
//! ```
//!
//! [`Bench::crash_after`] and its like disturb a run at one chosen point; [`crash_everywhere`] and
//! [`Crashes`] do so at every point there is.

mod action;
mod address;
mod bench;
mod clock;
mod course;
mod crash;
mod debts;
mod flow;
mod host;
mod object;
mod outside;
mod scripted;
mod shared;
mod world;

pub use action::{Action, Reaction, Sent};
pub use address::Address;
pub use bench::Bench;
pub use crash::{CRASH_KEY, Crashes, Tried, crash_everywhere, crash_everywhere_with};
pub use flow::{FlowBench, FlowDelivery, FlowRefusal};
