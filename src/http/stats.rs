//! Statistics by hour and function, as they are asked for and shown.

use super::code::Code;
use super::problem::{Cause, Problem};
use super::query;
use crate::limits::{STATS_ROWS, STATS_SPAN_MS, TOOK_MS};
use crate::types::time::rfc3339;
use crate::types::{AFTER_END, Cost, prices};
use serde_json::{Map, Value, json};

/// An hour.
pub const HOUR_MS: u64 = 3_600_000;
/// What is shown if nobody says from when.
const DEFAULT_SPAN_MS: u64 = 24 * HOUR_MS;
/// Everything that a query can have.
const PARAMETERS: &str = "from, to, function and by";

/// Columns of counts, in their order.
pub const COUNTS: [&str; 16] = [
    "accepted",
    "succeeded",
    "failed",
    "cancelled",
    "undone_partial",
    "retries",
    "revivals",
    "same_key",
    "same_bytes",
    "mismatch",
    "late",
    "object_requests",
    "object_rows",
    "object_ms",
    "d1_rows",
    "took_ms",
];
/// Why deliveries ran nothing, of these.
pub const SUPPRESSED: [&str; 4] = ["same_key", "same_bytes", "mismatch", "late"];
/// Columns of the histogram.
const TOOK: [&str; 16] = [
    "took_0", "took_1", "took_2", "took_3", "took_4", "took_5", "took_6", "took_7", "took_8",
    "took_9", "took_10", "took_11", "took_12", "took_13", "took_14", "took_15",
];

/// Sums of one row, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// As [`COUNTS`] has them.
    counts: [u64; 16],
    /// How many tasks took as long as the bound of this place says, and not as long as the one before;
    /// the last one has no bound.
    pub took: [u64; 16],
}

impl Sums {
    /// Of a row of D1, where numbers are doubles.
    pub fn of_row(row: &Map<String, Value>) -> Self {
        let read = |name: &&str| row.get(*name).map_or(0, number);
        Self {
            counts: std::array::from_fn(|at| read(&COUNTS[at])),
            took: std::array::from_fn(|at| read(&TOOK[at])),
        }
    }

    /// Of two lists, as totals are remembered; what is missing is 0.
    pub fn of_lists(counts: &[Value], took: &[Value]) -> Self {
        let at = |list: &[Value], at: usize| list.get(at).map_or(0, number);
        Self {
            counts: std::array::from_fn(|n| at(counts, n)),
            took: std::array::from_fn(|n| at(took, n)),
        }
    }

    /// One of the counts. Of what is paid for, what is still to come of tasks that have ended is in it.
    ///
    /// ```
    /// use onceward::http::stats::Sums;
    /// let row = serde_json::json!({"accepted": 3.0, "took_2": 2});
    /// let sums = Sums::of_row(row.as_object().unwrap());
    /// assert_eq!((sums.get("accepted"), sums.took[2], sums.get("failed")), (3, 2, 0));
    /// assert_eq!(sums.get("d1_rows"), 2 * onceward::types::AFTER_END.d1_rows);
    /// ```
    pub fn get(&self, name: &str) -> u64 {
        let at = COUNTS.iter().position(|column| *column == name);
        let to_come = match name {
            "object_requests" => AFTER_END.requests,
            "object_rows" => AFTER_END.rows,
            "d1_rows" => AFTER_END.d1_rows,
            _ => 0,
        };
        at.map_or(0, |at| self.counts[at]) + self.ended() * to_come
    }

    /// Adds these.
    pub fn add(&mut self, other: &Self) {
        let pairs = self.counts.iter_mut().zip(other.counts);
        for (sum, more) in pairs.chain(self.took.iter_mut().zip(other.took)) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Deliveries that ran nothing.
    fn suppressed(&self) -> u64 {
        SUPPRESSED.iter().map(|reason| self.get(reason)).sum()
    }

    /// Tasks that have ended.
    pub fn ended(&self) -> u64 {
        self.took.iter().sum()
    }

    /// How long tasks took at the most, of the fastest `percent`; `None` if none has ended. Within one
    /// place of the histogram they are taken to lie evenly.
    ///
    /// ```
    /// use onceward::http::stats::Sums;
    /// let mut sums = Sums::default();
    /// assert_eq!(sums.percentile_ms(50), None);
    /// sums.took[3] = 10; // above 50 ms, up to 100 ms
    /// assert_eq!(sums.percentile_ms(50), Some(75));
    /// sums.took[15] = 90; // above a day
    /// assert_eq!(sums.percentile_ms(50), Some(86_400_000));
    /// ```
    pub fn percentile_ms(&self, percent: u64) -> Option<u64> {
        let all = self.ended();
        if all == 0 {
            return None;
        }
        let wanted = (all * percent).div_ceil(100).max(1);
        let mut before = 0;
        for (at, some) in self.took.iter().enumerate() {
            if before + some >= wanted {
                let lowest = at.checked_sub(1).map_or(0, |at| TOOK_MS[at]);
                let highest = TOOK_MS.get(at).copied().unwrap_or(lowest);
                return Some(lowest + (highest - lowest) * (wanted - before) / some);
            }
            before += some;
        }
        None
    }

    fn cost(&self) -> Cost {
        Cost {
            requests: self.get("object_requests"),
            rows: self.get("object_rows"),
            d1_rows: self.get("d1_rows"),
            ms: self.get("object_ms"),
        }
    }

    fn cost_document(&self) -> Value {
        let (cost, accepted) = (self.cost(), self.get("accepted"));
        let usd = prices::usd(accepted + self.suppressed(), cost);
        let mut shown = json!({
            "object_requests": cost.requests,
            "object_rows": cost.rows,
            "object_ms": cost.ms,
            "d1_rows": cost.d1_rows,
            "usd": usd,
        });
        if let Some(each) = per_million(usd, accepted) {
            shown["usd_per_million_tasks"] = each.into();
        }
        shown
    }

    /// As they are shown; what is not known is left out.
    pub fn document(&self) -> Map<String, Value> {
        let mut out = Map::new();
        let accepted = self.get("accepted");
        out.insert("accepted".into(), accepted.into());
        out.insert(
            "run".into(),
            (accepted + self.get("retries") + self.get("revivals")).into(),
        );
        for name in &COUNTS[1..7] {
            out.insert((*name).into(), self.get(name).into());
        }
        let mut duplicates = Map::new();
        for reason in SUPPRESSED {
            duplicates.insert(reason.into(), self.get(reason).into());
        }
        duplicates.insert("total".into(), self.suppressed().into());
        duplicates.insert("approximate".into(), true.into());
        out.insert("duplicates".into(), duplicates.into());
        let ended = self.ended();
        let mut took = Map::new();
        took.insert("tasks".into(), ended.into());
        let known = [
            ("mean", self.get("took_ms").checked_div(ended)),
            ("p50", self.percentile_ms(50)),
            ("p90", self.percentile_ms(90)),
            ("p99", self.percentile_ms(99)),
        ];
        for (name, ms) in known {
            took.extend(ms.map(|ms| (name.to_owned(), ms.into())));
        }
        out.insert("took_ms".into(), took.into());
        out.insert("cost".into(), self.cost_document());
        out
    }
}

/// D1 gives integers as doubles; ours are below 2^53 and not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn number(value: &Value) -> u64 {
    let double = || value.as_f64().map_or(0, |double| double as u64);
    value.as_u64().unwrap_or_else(double)
}

#[allow(clippy::cast_precision_loss)] // counts stay far below 2^53
fn per_million(usd: f64, tasks: u64) -> Option<f64> {
    let each = (tasks > 0).then(|| usd / tasks as f64)?;
    Some((each * 1e8).round() / 100.0)
}

/// Which statistics are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsQuery {
    /// The first hour.
    pub from_ms: u64,
    /// Behind the last hour.
    pub to_ms: u64,
    /// Only of this function.
    pub function: Option<String>,
    /// A row for each hour.
    pub by_hour: bool,
    /// A row for each function.
    pub by_function: bool,
}

impl StatsQuery {
    /// Reads the query of an address, and names everything that is wrong with it. Times are taken to whole
    /// hours: statistics know no less.
    ///
    /// # Errors
    /// 400 with a list.
    ///
    /// ```
    /// use onceward::http::stats::StatsQuery;
    /// let now_ms = 1_795_989_751_097;
    /// let query = StatsQuery::read("/v1/stats?by=hour,function&from=2026-11-29T20:30:00Z", now_ms).unwrap();
    /// assert!(query.by_hour && query.by_function);
    /// assert_eq!(query.to_ms - query.from_ms, 3 * 3_600_000);
    /// assert!(StatsQuery::read("/v1/stats?from=yesterday", now_ms).is_err());
    /// ```
    pub fn read(target: &str, now_ms: u64) -> Result<Self, Problem> {
        let (mut from, mut to, mut function, mut rows) = (None, None, None, None);
        let mut wrong = Vec::new();
        for (name, value) in query::parameters(target) {
            let taken = match &*name {
                "from" => time(&mut from, &value),
                "to" => time(&mut to, &value),
                "function" => query::once(&mut function, value),
                "by" => match by(&value) {
                    Some(by) => query::once(&mut rows, by),
                    None => Err("wanted hour, function, or both with a comma".into()),
                },
                _ => {
                    wrong.push(query::unknown(name, PARAMETERS));
                    continue;
                }
            };
            if let Err(detail) = taken {
                wrong.push(Cause {
                    detail,
                    pointer: name,
                });
            }
        }
        let to_ms = to.unwrap_or(now_ms);
        let from_ms = from.unwrap_or(to_ms.saturating_sub(DEFAULT_SPAN_MS));
        if wrong.is_empty() && from_ms >= to_ms {
            wrong.push(Cause {
                detail: "wanted a time before `to`".into(),
                pointer: "from".into(),
            });
        } else if wrong.is_empty() && to_ms - from_ms > STATS_SPAN_MS {
            wrong.push(Cause {
                detail: "wanted 31 days at the most".into(),
                pointer: "from".into(),
            });
        }
        query::settled(wrong)?;
        let (by_hour, by_function) = rows.unwrap_or_default();
        Ok(Self {
            // Hour 0 is not one of them.
            from_ms: (from_ms - from_ms % HOUR_MS).max(HOUR_MS),
            to_ms: to_ms.div_ceil(HOUR_MS) * HOUR_MS,
            function,
            by_hour,
            by_function,
        })
    }

    /// The whole answer: `rows` by hour and name of the function, as far as they are told apart, and what the
    /// scheduled jobs have counted since they first ran.
    pub fn document(&self, rows: &[((u64, String), Sums)], jobs: &Value) -> Value {
        let mut by = Vec::new();
        by.extend(self.by_hour.then_some("hour"));
        by.extend(self.by_function.then_some("function"));
        let mut total = Sums::default();
        let mut shown = Vec::new();
        for ((hour_ms, function), sums) in rows {
            total.add(sums);
            let mut row = Map::new();
            if self.by_hour {
                row.insert("hour".into(), rfc3339(*hour_ms).into());
            }
            if self.by_function {
                row.insert("function".into(), function.as_str().into());
            }
            row.extend(sums.document());
            shown.push(Value::Object(row));
        }
        let mut out = json!({
            "from": rfc3339(self.from_ms),
            "to": rfc3339(self.to_ms),
            "total": total.document(),
            "jobs": jobs,
        });
        if !by.is_empty() {
            out["by"] = json!(by);
            out["rows"] = Value::Array(shown);
        }
        out
    }
}

/// What is answered where there would be too many rows.
pub fn too_many() -> Problem {
    let cause = Cause {
        detail: format!("that makes more than {STATS_ROWS} rows; wanted a shorter time"),
        pointer: "from".into(),
    };
    let problem = Problem::new(
        Code::InputInvalid,
        "The query has problems; `errors` lists them.",
    );
    problem.errors(vec![cause])
}

fn time(place: &mut Option<u64>, value: &str) -> Result<(), String> {
    query::once(place, query::time_ms(value).ok_or(query::NO_TIME)?)
}

fn by(text: &str) -> Option<(bool, bool)> {
    let (mut hour, mut function) = (false, false);
    for word in text.split(',') {
        match word {
            "hour" => hour = true,
            "function" => function = true,
            _ => return None,
        }
    }
    Some((hour, function))
}

#[cfg(test)]
#[path = "stats_tests.rs"]
mod tests;
