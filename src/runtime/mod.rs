//! The runtime: what a Worker and its objects do, on whatever platform there is.
//!
//! A delivery is admitted, begun, run and answered; an object decides, records, flushes, pays its
//! debts and wakes; continuations go on; cron cleans up. All of it talks to the outside through
//! [`Platform`] and [`ObjectStorage`] only, so the code that runs in production is the code that the
//! simulation runs with a virtual clock and with faults before and after every effect.
//!
//! ```
//! use onceward::runtime::{Exchange, route_of};
//! use onceward::http::route::Route;
//! let exchange = Exchange {
//!     method: "GET".into(),
//!     path: "/healthz".into(),
//!     target: "/healthz".into(),
//!     headers: Default::default(),
//!     inside: false,
//!     started_ms: 0,
//! };
//! assert_eq!(route_of(&exchange), Ok(Route::Health));
//! ```

mod api;
mod ask;
mod audit;
mod batch;
mod bulk;
mod children;
mod cron;
mod debts;
mod delivery;
mod desk;
mod explain;
mod flows;
mod flush;
mod gate;
mod gateway;
mod go_on;
mod host;
mod ingress;
mod kv;
mod line;
mod list;
mod lock;
mod metrics;
mod notices;
mod object;
mod owner;
mod poke;
mod ports;
mod serve;
mod slice;
mod stats;
mod steer;
mod stored;
mod tally;
mod told;
mod watch;

pub use cron::tick;
pub use object::Object;
pub use ports::{
    Broken, CONTINUE_PATH, Continuation, Edge, Later, Level, ObjectStorage, Platform, Rows,
};
pub use serve::{Body, BodyFault, Exchange, TOKEN, route_of, serve};
pub use tally::Tally;

use futures::future::{Either, select};
use std::future::Future;
use std::pin::pin;

/// A configuration that holds together.
pub type App = crate::config::App<crate::function::Function>;

/// All functions of a configuration.
type Functions = crate::config::Functions<crate::function::Function>;

/// The storage of an object failed: nothing of this step was written, and it may be tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Waits for a future, but not longer than this.
async fn within<T>(edge: &Edge, ms: u64, future: impl Future<Output = T>) -> Option<T> {
    match select(pin!(future), edge.sleep(ms)).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(_) => None,
    }
}
