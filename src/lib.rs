//! Onceward: exactly-once functions for webhooks and API calls, on Cloudflare Workers.
pub mod limits;
pub mod types;

#[cfg(any(target_arch = "wasm32", feature = "native-platform"))]
pub mod platform;
