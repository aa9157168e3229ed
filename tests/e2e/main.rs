//! Black-box tests of the lab bundle on workerd, over HTTP on loopback.
//!
//! `make e2e` builds the bundle and runs them; `ONCEWARD_BUILD` names another bundle. Tests share one
//! server where they can and use fresh keys; those that kill it or set faults start their own.

// The Worker has no clock of its own; its tests run on a real one.
#![allow(clippy::disallowed_methods)]

mod support;

mod answers;
mod audit;
mod auth;
mod bodies;
mod bulk;
mod cancel;
mod cases;
mod children;
mod cleaner;
mod conformance_http;
mod connections;
mod contention;
mod contract_failed;
mod contract_running;
mod cost;
mod crashes;
mod cron;
mod d1_faults;
mod databases;
mod deletion;
mod durable_kills;
mod events;
mod expiry;
mod family;
mod filters;
mod flows;
mod flows_life;
mod flows_triggers;
mod gateway;
mod gateway_through;
mod keys;
mod listing;
mod locks;
mod long_steps;
mod lost_alarms;
mod manners;
mod message_faults;
mod metrics;
mod notifications;
mod observed;
mod on_unknown;
mod openapi;
mod packs;
mod packs_more;
mod panics;
mod parallel;
mod payments;
mod races;
mod refusals;
mod replays;
mod retry_steps;
mod save;
mod secrets;
mod signals;
mod signatures;
mod sleeps;
mod slices;
mod sources;
mod stats;
mod steer;
mod sweep;
mod tokens;
mod undo;
mod wrangler;
