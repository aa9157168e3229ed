//! Black-box tests of the lab bundle on workerd, over HTTP on loopback.
//!
//! `make e2e` builds the bundle and runs them; `ONCEWARD_BUILD` names another bundle. Tests share one
//! server where they can and use fresh keys; those that kill it or set faults start their own.

// The Worker has no clock of its own; its tests run on a real one.
#![allow(clippy::disallowed_methods)]

mod support;

mod auth;
mod bodies;
mod cleaner;
mod connections;
mod contention;
mod contract_failed;
mod contract_running;
mod cost;
mod crashes;
mod d1_faults;
mod deletion;
mod expiry;
mod keys;
mod listing;
mod lost_alarms;
mod manners;
mod message_faults;
mod panics;
mod payments;
mod races;
mod refusals;
mod replays;
mod secrets;
mod signatures;
mod wrangler;
