//! What the platform charges: the only place that knows. US dollars for a million, on the paid plan and
//! beyond what it includes (Cloudflare, pricing of Workers, Durable Objects and D1, read in 2026).

use super::Cost;

/// A request to a Worker from outside. Those over service bindings are free.
pub const WORKER_REQUESTS: f64 = 0.30;
/// A millisecond of CPU time in Workers and objects.
pub const CPU_MS: f64 = 0.02;
/// A request to an object, or a run of its alarm.
pub const OBJECT_REQUESTS: f64 = 0.15;
/// A gigabyte-second of an object, which counts 128 MB whatever it uses.
pub const OBJECT_GB_SECONDS: f64 = 12.50;
/// A row that an object writes; an alarm that is set is one.
pub const OBJECT_ROWS: f64 = 1.00;
/// A row written in D1; each index entry is one more.
pub const D1_ROWS: f64 = 1.00;
/// A row read, in either.
pub const ROWS_READ: f64 = 0.001;
/// Storage for a month: a gigabyte in objects, and in D1. Not for a million but for one.
pub const OBJECT_GB_MONTH: f64 = 0.20;
/// The same in D1.
pub const D1_GB_MONTH: f64 = 0.75;

/// Gigabytes that an object is charged for.
const OBJECT_GB: f64 = 0.128;

/// What as many requests to Workers cost together with this, in dollars to six places; without CPU time and
/// storage, which nobody measures here.
///
/// ```
/// use onceward::types::{Cost, prices};
/// let cost = Cost { requests: 4_000_000, rows: 7_000_000, d1_rows: 9_000_000, ms: 20_000_000 };
/// assert_eq!(prices::usd(1_000_000, cost), 16.932);
/// ```
#[allow(clippy::cast_precision_loss)] // counts stay far below 2^53
pub fn usd(worker_requests: u64, cost: Cost) -> f64 {
    let usd = WORKER_REQUESTS * worker_requests as f64
        + OBJECT_REQUESTS * cost.requests as f64
        + OBJECT_ROWS * cost.rows as f64
        + D1_ROWS * cost.d1_rows as f64
        + OBJECT_GB_SECONDS * OBJECT_GB * cost.ms as f64 / 1_000.0;
    // Prices are those of a million.
    usd.round() / 1e6
}

/// What a million of these would cost, one request to the Worker for each included; without CPU time and
/// storage, which nobody measures here. Rounded to cents.
///
/// ```
/// use onceward::types::{Cost, prices::usd_per_million};
/// let task = Cost { requests: 4, rows: 7, d1_rows: 9, ms: 20 };
/// assert_eq!(usd_per_million(task), 16.93);
/// ```
#[allow(clippy::cast_precision_loss)] // counts stay far below 2^53
pub fn usd_per_million(cost: Cost) -> f64 {
    let seconds = cost.ms as f64 / 1_000.0;
    let usd = WORKER_REQUESTS
        + OBJECT_REQUESTS * cost.requests as f64
        + OBJECT_ROWS * cost.rows as f64
        + D1_ROWS * cost.d1_rows as f64
        + OBJECT_GB_SECONDS * OBJECT_GB * seconds;
    (usd * 100.0).round() / 100.0
}
