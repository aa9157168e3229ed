//! `GET /v1/stats`: statistics of all databases together.

use super::ports::{Edge, Level, Rows};
use super::serve::Exchange;
use super::{tally, within};
use crate::http::code::Code;
use crate::http::problem::Problem;
use crate::http::stats::{StatsQuery, Sums, too_many};
use crate::limits;
use crate::maintenance::Counts;
use crate::store::d1::{self as sql, Statement, StatsRange};
use crate::types::{Answer, Database};
use futures::{StreamExt as _, stream};
use serde_json::json;
use std::collections::BTreeMap;

/// How long one database is asked.
const PATIENCE_MS: u64 = 10_000;
/// How often.
const TRIES: u32 = 3;
/// Databases that are asked at a time.
const AT_A_TIME: usize = 5;

/// Reads from one database; a read may be tried again, whatever went wrong with it.
pub(super) async fn read(
    edge: &Edge,
    database: Database,
    statements: Vec<Statement>,
) -> Result<Vec<Rows>, String> {
    let until = edge.now_ms() + PATIENCE_MS;
    let mut tries = 0;
    loop {
        tries += 1;
        let left = until.saturating_sub(edge.now_ms()).max(1);
        let asked = within(edge, left, edge.d1(database, statements.clone())).await;
        let answer = asked.unwrap_or_else(|| Err("no answer in time".into()));
        if answer.is_ok() || tries >= TRIES || edge.now_ms() >= until {
            return answer;
        }
        edge.sleep(50 << tries).await;
    }
}

/// Asks all databases, some at a time; the answers come in their order.
pub(super) async fn of_all<T, F>(edge: &Edge, ask: impl Fn(Database) -> F) -> Vec<T>
where
    F: Future<Output = T>,
{
    let all: Vec<Database> = Database::all(edge.databases()).collect();
    stream::iter(all)
        .map(ask)
        .buffered(AT_A_TIME)
        .collect()
        .await
}

/// What the jobs have counted, from the rows that they remember: those whose names have a dot.
pub(super) fn counts(rows: &Rows) -> Counts {
    let mut counts = Counts::default();
    for row in &rows.rows {
        let text = |name: &str| row.get(name).and_then(|value| value.as_str());
        if let (Some(job), Some(Ok(count))) = (text("job"), text("value").map(str::parse))
            && job.contains('.')
        {
            counts.add(job, count);
        }
    }
    counts
}

/// Answers with sums over all databases. Without one of them they would be wrong, so then there are none.
pub(super) async fn stats(edge: &Edge, exchange: &Exchange) -> Result<Answer, Problem> {
    let query = StatsQuery::read(&exchange.target, edge.now_ms())?;
    // What this instance has counted belongs into the answer.
    tally::write(edge).await;
    let range = StatsRange {
        from_ms: query.from_ms,
        to_ms: query.to_ms,
        function: query.function.as_deref(),
        by_hour: query.by_hour,
        by_function: query.by_function,
        rows: limits::STATS_ROWS + 1,
    };
    let statements = vec![sql::stats(&range), sql::jobs()];
    let all = of_all(edge, |database| read(edge, database, statements.clone())).await;
    let mut rows: BTreeMap<(u64, String), Sums> = BTreeMap::new();
    let mut jobs = Counts::default();
    for answer in all {
        let results = answer.map_err(|error| {
            edge.log(Level::Error, "stats", json!({ "error": error }));
            Problem::new(
                Code::Unavailable,
                "A database of results does not answer. Tasks go on without it.",
            )
        })?;
        let [sums, remembered] = &results[..] else {
            continue;
        };
        for row in &sums.rows {
            let hour_ms = row.get("hour").and_then(serde_json::Value::as_f64);
            let name = row.get("name").and_then(serde_json::Value::as_str);
            let at = (whole(hour_ms.unwrap_or(0.0)), name.unwrap_or("").to_owned());
            rows.entry(at).or_default().add(&Sums::of_row(row));
        }
        jobs.join(&counts(remembered));
    }
    if rows.len() > usize::try_from(limits::STATS_ROWS).unwrap_or(usize::MAX) {
        return Err(too_many());
    }
    let rows: Vec<_> = rows.into_iter().collect();
    let mut answer = Answer::json(200, &query.document(&rows, &jobs.document()));
    answer.headers.push("cache-control", "no-store");
    Ok(answer)
}

/// D1 gives integers as doubles; ours are below 2^53 and not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn whole(number: f64) -> u64 {
    number as u64
}
