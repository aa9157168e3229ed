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
//!     scheduled_tick(&env).await;
//! }
//! ```

mod api;
mod children;
mod clock;
mod cron;
mod d1;
mod debts;
mod delivery;
mod desk;
#[cfg(feature = "entry")]
mod entry;
mod flush;
mod host;
mod ingress;
mod log;
mod object;
mod outbound;
mod probe;
mod selfcall;
mod slice;
mod steer;
mod storage;
mod stub;
mod told;
mod wire;

pub use ingress::serve;
pub use object::TaskObject;

/// A configuration that holds together.
pub type App = crate::config::App<crate::function::Function>;

/// All functions of a configuration.
type Functions = crate::config::Functions<crate::function::Function>;

/// One run of the scheduled jobs: cleaner and rescuer.
pub async fn scheduled_tick(env: &worker::Env) {
    cron::tick(env).await;
}
