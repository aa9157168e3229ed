//! Onceward: exactly-once functions for webhooks and API calls, on Cloudflare Workers.
pub mod function;
#[cfg(feature = "entry")]
pub mod functions;
pub mod limits;
pub mod protocol;
pub mod types;
pub mod webhook;

#[cfg(any(target_arch = "wasm32", feature = "native-platform"))]
pub mod platform;

#[cfg(not(target_arch = "wasm32"))]
pub use function::testing;
