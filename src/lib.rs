//! Onceward: exactly-once functions for webhooks and API calls, on Cloudflare Workers.
pub mod function;
pub mod limits;
pub mod protocol;
pub mod types;
pub mod webhook;

#[cfg(any(target_arch = "wasm32", feature = "native-platform"))]
pub mod platform;
