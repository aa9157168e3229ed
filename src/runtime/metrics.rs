//! `GET /metrics`: from sums that are kept, and from counts that stop at a limit.

use super::ports::{Edge, Level, Rows};
use super::stats::{counts, of_all, read};
use crate::http::metrics::{self, Gauged};
use crate::http::stats::Sums;
use crate::limits;
use crate::store::d1::{self as sql, OPEN_STATES, StatsRange};
use crate::types::{Answer, Database};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Behind every hour.
const NO_END_MS: u64 = 1 << 52;

/// The sums of all hours before one, by function.
#[derive(Default, Deserialize)]
struct Totals {
    before_ms: f64,
    functions: Vec<(String, Vec<Value>, Vec<Value>)>,
}

impl Totals {
    fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn before_ms(&self) -> u64 {
        super::stats::whole(self.before_ms)
    }
}

/// Up to which hour remembered totals go.
pub(super) fn totals_before_ms(text: &str) -> Option<u64> {
    Totals::read(text).map(|totals| totals.before_ms())
}

/// Answers with what every database knows. One that does not answer is shown as down.
pub(super) async fn metrics(edge: &Edge) -> Answer {
    let all = of_all(edge, |database| async move {
        match gauged(edge, database).await {
            Ok(gauged) => gauged,
            Err(error) => {
                let fields = json!({"database": database.binding(), "error": error});
                edge.log(Level::Error, "metrics", fields);
                Gauged {
                    database: database.binding(),
                    ..Gauged::default()
                }
            }
        }
    })
    .await;
    metrics::answer(&all, limits::METRICS_CAP)
}

async fn gauged(edge: &Edge, database: Database) -> Result<Gauged, String> {
    let mut statements = vec![sql::jobs()];
    let states = OPEN_STATES.iter().chain(&["failed"]);
    statements.extend(states.map(|state| sql::count_state(state, limits::METRICS_CAP)));
    let results = read(edge, database, statements).await?;
    let (jobs, states) = results.split_first().ok_or("no result")?;
    let remembered = |job: &str| {
        let row = jobs
            .rows
            .iter()
            .find(|row| row.get("job") == Some(&job.into()));
        row.and_then(|row| row.get(if job == "run" { "at_ms" } else { "value" }))
    };
    let totals = remembered("totals").and_then(Value::as_str);
    let totals = totals.and_then(Totals::read).unwrap_or_default();
    // Should the totals be renewed meanwhile, these still belong together.
    let since = sql::stats(&StatsRange {
        from_ms: totals.before_ms(),
        to_ms: NO_END_MS,
        function: None,
        by_hour: false,
        by_function: true,
        rows: limits::STATS_ROWS,
    });
    let recent = read(edge, database, vec![since]).await?;
    let now_ms = edge.now_ms();
    Ok(Gauged {
        database: database.binding(),
        up: true,
        functions: functions(totals, recent.first()),
        states: states
            .iter()
            .filter_map(|rows| state(rows, now_ms))
            .collect(),
        counts: counts(jobs)
            .iter()
            .map(|(name, count)| (name.to_owned(), count))
            .collect(),
        last_run_s: remembered("run")
            .and_then(Value::as_f64)
            .map(|ms| ms / 1_000.0),
    })
}

fn functions(totals: Totals, recent: Option<&Rows>) -> Vec<(String, Sums)> {
    let mut all: BTreeMap<String, Sums> = BTreeMap::new();
    for (name, counts, took) in totals.functions {
        all.entry(name)
            .or_default()
            .add(&Sums::of_lists(&counts, &took));
    }
    for row in recent.map_or(&[][..], |rows| &rows.rows) {
        let name = row.get("name").and_then(Value::as_str).unwrap_or_default();
        all.entry(name.to_owned())
            .or_default()
            .add(&Sums::of_row(row));
    }
    all.into_iter().collect()
}

/// Name and size of a state, and the age of its oldest task.
fn state(rows: &Rows, now_ms: u64) -> Option<(String, u64, Option<f64>)> {
    #[derive(Deserialize)]
    struct Counted {
        state: String,
        tasks: f64,
        oldest_ms: Option<f64>,
    }
    let row = rows.rows.first()?.clone();
    let counted: Counted = serde_json::from_value(Value::Object(row)).ok()?;
    #[allow(clippy::cast_precision_loss)] // milliseconds are below 2^53
    let age_s = |at_ms: f64| ((now_ms as f64 - at_ms) / 1_000.0).max(0.0);
    Some((
        counted.state,
        super::stats::whole(counted.tasks),
        counted.oldest_ms.map(age_s),
    ))
}
