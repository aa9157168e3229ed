//! The schemas of statistics, endpoints and operations on many tasks, whose documents have no type of their own.

use super::shapes::{Named, ShortTask, collect};
use crate::http::bulk::Operation;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Deliveries that ran nothing, by reason.
#[derive(Debug, Serialize, ToSchema)]
struct Duplicates {
    /// The key was known.
    same_key: u64,
    /// The signed bytes had come under another key.
    same_bytes: u64,
    /// The key was known with other content.
    mismatch: u64,
    /// The key was used up.
    late: u64,
    /// All of these.
    total: u64,
    /// Always true: they are counted in memory.
    approximate: bool,
}

/// How long tasks took, from accepting to the end, in milliseconds. Without tasks there is only their number.
#[derive(Debug, Serialize, ToSchema)]
struct Took {
    /// Tasks that ended.
    tasks: u64,
    /// On average.
    mean: Option<u64>,
    /// Half of them at the most; an estimate, as the other two.
    p50: Option<u64>,
    /// Nine of ten at the most.
    p90: Option<u64>,
    /// Ninety-nine of a hundred at the most.
    p99: Option<u64>,
}

/// What tasks have cost.
#[derive(Debug, Serialize, ToSchema)]
struct Costs {
    /// Messages to objects, and runs of alarms.
    object_requests: u64,
    /// Rows written to the storage of objects.
    object_rows: u64,
    /// Wall time of objects at work, in milliseconds.
    object_ms: u64,
    /// Rows written to D1.
    d1_rows: u64,
    /// In US dollars, by the list of prices, without CPU time and storage.
    usd: f64,
    /// The same for a million of such tasks; left out where there are none.
    usd_per_million_tasks: Option<f64>,
}

/// Sums.
#[derive(Debug, Serialize, ToSchema)]
struct StatsSums {
    /// Tasks that were accepted.
    accepted: u64,
    /// Times that a function began.
    run: u64,
    /// Tasks that ended well.
    succeeded: u64,
    /// Tasks that failed.
    failed: u64,
    /// Tasks that were cancelled.
    cancelled: u64,
    /// Tasks of which not everything could be undone.
    undone_partial: u64,
    /// Attempts beyond the first.
    retries: u64,
    /// Failed tasks that a delivery made go on.
    revivals: u64,
    /// Deliveries that ran nothing.
    duplicates: Duplicates,
    /// How long it took.
    took_ms: Took,
    /// What it cost.
    cost: Costs,
}

/// The sums of one hour, of one function, or both.
#[derive(Debug, Serialize, ToSchema)]
struct StatsRow {
    /// The hour, by its beginning.
    #[schema(format = DateTime)]
    hour: Option<String>,
    /// The function.
    function: Option<String>,
    /// Its sums.
    #[serde(flatten)]
    sums: StatsSums,
}

/// Statistics of some hours.
#[derive(Debug, Serialize, ToSchema)]
struct Stats {
    /// The first hour.
    #[schema(format = DateTime)]
    from: String,
    /// Behind the last hour.
    #[schema(format = DateTime)]
    to: String,
    /// All together.
    total: StatsSums,
    /// What the scheduled jobs have counted since the databases were made, by job and count.
    jobs: BTreeMap<String, BTreeMap<String, u64>>,
    /// What `rows` tells apart: `hour`, `function` or both; left out with them.
    by: Option<Vec<String>>,
    /// The same in parts.
    rows: Option<Vec<StatsRow>>,
}

/// An endpoint that operators are told at.
#[derive(Debug, Serialize, ToSchema)]
struct EndpointDocument {
    /// Its name.
    name: String,
    /// Host of its address; the whole may hold a secret.
    host: String,
    /// What it wants to hear of.
    events: Vec<String>,
    /// Of which functions; empty: of all.
    functions: Vec<String>,
    /// A wait of so many milliseconds is worth a word.
    waiting_ms: u64,
    /// Since when it is told nothing, because it answered 410.
    #[schema(format = DateTime)]
    disabled_at: Option<String>,
}

/// Every endpoint.
#[derive(Debug, Serialize, ToSchema)]
struct EndpointList {
    /// Each of them.
    endpoints: Vec<EndpointDocument>,
}

/// An endpoint is told again.
#[derive(Debug, Serialize, ToSchema)]
struct EndpointEnabled {
    /// Its name.
    endpoint: String,
    /// How it is sent what it has missed.
    next: String,
}

/// What an operation on many tasks would do.
#[derive(Debug, Serialize, ToSchema)]
struct BulkPreview {
    /// Always true.
    dry_run: bool,
    /// What it would do to each.
    operation: Operation,
    /// To so many tasks.
    matched: u64,
    /// Whether these are all; if not there are more, which were not counted.
    complete: bool,
    /// The most that it would take.
    max: u64,
    /// The first of them.
    sample: Vec<ShortTask>,
    /// How it is done.
    next: String,
}

/// All of these.
pub(super) fn collect_all(into: &mut Named) {
    collect::<Stats>(into);
    collect::<EndpointList>(into);
    collect::<EndpointEnabled>(into);
    collect::<BulkPreview>(into);
}
