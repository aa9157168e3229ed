//! Onceward: exactly-once functions for webhooks and API calls, on Cloudflare Workers.
pub mod config;
pub mod flow;
pub mod function;
#[cfg(feature = "entry")]
pub mod functions;
pub mod http;
pub mod limits;
pub mod maintenance;
pub mod protocol;
pub mod runtime;
pub mod store;
pub mod types;
pub mod webhook;

#[cfg(any(target_arch = "wasm32", feature = "native-platform"))]
pub mod platform;

#[cfg(not(target_arch = "wasm32"))]
pub use function::testing;

#[cfg(doctest)]
#[doc = include_str!("../docs/functions.md")]
struct FunctionsPage;

#[cfg(doctest)]
#[doc = include_str!("../docs/gateway.md")]
struct GatewayPage;

#[cfg(doctest)]
#[doc = include_str!("../docs/keys.md")]
struct KeysPage;
