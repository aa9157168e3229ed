//! Ring 3: the edge. Everything that touches the platform, and nothing that decides.
//!
//! A Worker of your own needs two event handlers and one re-export:
//!
//! ```ignore
//! use onceward::platform::{scheduled_tick, serve};
//! pub use onceward::platform::TaskObject;
//!
//! #[event(fetch)]
//! async fn fetch(request: Request, env: Env, ctx: Context) -> Result<Response> {
//!     serve(request, env, ctx, &app()).await
//! }
//!
//! #[event(scheduled)]
//! async fn scheduled(_: ScheduledEvent, env: Env, _: ScheduleContext) {
//!     scheduled_tick(&env, &app()).await;
//! }
//! ```

mod analytics;
mod clock;
mod d1;
mod edge;
#[cfg(feature = "entry")]
mod entry;
#[cfg(all(feature = "entry", feature = "lab"))]
mod lab;
mod limiter;
mod log;
mod object;
mod outbound;
mod probe;
mod selfcall;
mod serve;
mod storage;
mod stub;
mod variable;
mod wire;

pub use crate::runtime::App;
pub use object::TaskObject;
pub use serve::serve;
pub use variable::{GATEWAYS, NOTIFY, SOURCES, TOKENS, variable};

use edge::{PlatformEdge, Waits};
use std::rc::Rc;

/// One run of the scheduled jobs: schedules of flows, rescuer and cleaner.
pub async fn scheduled_tick(
    env: &worker::Env,
    app: &std::result::Result<App, Vec<crate::config::ConfigProblem>>,
) {
    let edge: crate::runtime::Edge = Rc::new(PlatformEdge::new(env.clone(), Waits::Nowhere));
    crate::runtime::tick(&edge, app.as_ref().ok()).await;
}
