//! Reads and folds the statistics.

use super::Statement;

/// Which statistics are read, and how they are added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatsRange<'a> {
    /// Hours that begin at this time or later.
    pub from_ms: u64,
    /// Hours that begin before this time.
    pub to_ms: u64,
    /// Only this function.
    pub function: Option<&'a str>,
    /// A row for each hour.
    pub by_hour: bool,
    /// A row for each function.
    pub by_function: bool,
    /// At most as many rows.
    pub rows: u32,
}

macro_rules! sums {
    () => {
        "sum(accepted) AS accepted, sum(succeeded) AS succeeded, sum(failed) AS failed,
  sum(cancelled) AS cancelled, sum(undone_partial) AS undone_partial, sum(retries) AS retries,
  sum(revivals) AS revivals, sum(same_key) AS same_key, sum(same_bytes) AS same_bytes,
  sum(mismatch) AS mismatch, sum(late) AS late, sum(object_requests) AS object_requests,
  sum(object_rows) AS object_rows, sum(object_ms) AS object_ms, sum(d1_rows) AS d1_rows,
  sum(took_ms) AS took_ms, sum(took_0) AS took_0, sum(took_1) AS took_1, sum(took_2) AS took_2,
  sum(took_3) AS took_3, sum(took_4) AS took_4, sum(took_5) AS took_5, sum(took_6) AS took_6,
  sum(took_7) AS took_7, sum(took_8) AS took_8, sum(took_9) AS took_9, sum(took_10) AS took_10,
  sum(took_11) AS took_11, sum(took_12) AS took_12, sum(took_13) AS took_13,
  sum(took_14) AS took_14, sum(took_15) AS took_15"
    };
}

macro_rules! names {
    () => {
        "accepted, succeeded, failed, cancelled, undone_partial, retries, revivals, same_key,
  same_bytes, mismatch, late, object_requests, object_rows, object_ms, d1_rows, took_ms,
  took_0, took_1, took_2, took_3, took_4, took_5, took_6, took_7, took_8, took_9, took_10,
  took_11, took_12, took_13, took_14, took_15"
    };
}

macro_rules! adds {
    () => {
        "accepted = accepted + excluded.accepted, succeeded = succeeded + excluded.succeeded,
  failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled,
  undone_partial = undone_partial + excluded.undone_partial,
  retries = retries + excluded.retries, revivals = revivals + excluded.revivals,
  same_key = same_key + excluded.same_key, same_bytes = same_bytes + excluded.same_bytes,
  mismatch = mismatch + excluded.mismatch, late = late + excluded.late,
  object_requests = object_requests + excluded.object_requests,
  object_rows = object_rows + excluded.object_rows, object_ms = object_ms + excluded.object_ms,
  d1_rows = d1_rows + excluded.d1_rows, took_ms = took_ms + excluded.took_ms,
  took_0 = took_0 + excluded.took_0, took_1 = took_1 + excluded.took_1,
  took_2 = took_2 + excluded.took_2, took_3 = took_3 + excluded.took_3,
  took_4 = took_4 + excluded.took_4, took_5 = took_5 + excluded.took_5,
  took_6 = took_6 + excluded.took_6, took_7 = took_7 + excluded.took_7,
  took_8 = took_8 + excluded.took_8, took_9 = took_9 + excluded.took_9,
  took_10 = took_10 + excluded.took_10, took_11 = took_11 + excluded.took_11,
  took_12 = took_12 + excluded.took_12, took_13 = took_13 + excluded.took_13,
  took_14 = took_14 + excluded.took_14, took_15 = took_15 + excluded.took_15"
    };
}

/// Sums over some hours. What is not told apart has hour 0, or no name of a function.
pub fn stats(range: &StatsRange<'_>) -> Statement {
    Statement {
        sql: concat!(
            "SELECT CASE WHEN ?4 = 1 THEN hour_ms ELSE 0 END AS hour,
  CASE WHEN ?5 = 1 THEN function ELSE '' END AS name,
  ",
            sums!(),
            "
FROM stats WHERE hour_ms >= ?1 AND hour_ms < ?2 AND (?3 IS NULL OR function = ?3)
GROUP BY 1, 2 ORDER BY 1, 2 LIMIT ?6"
        ),
        values: vec![
            range.from_ms.into(),
            range.to_ms.into(),
            range.function.into(),
            range.by_hour.into(),
            range.by_function.into(),
            range.rows.into(),
        ],
    }
}

/// Adds some hours that began before this to the row of their function for all hours that are gone (hour 0),
/// and deletes them: two statements for one transaction.
pub fn fold_stats(before_ms: u64, limit: u32) -> [Statement; 2] {
    let values = vec![before_ms.into(), limit.into()];
    [
        Statement {
            sql: concat!(
                "INSERT INTO stats (hour_ms, function, ",
                names!(),
                ")
SELECT 0, function, ",
                sums!(),
                "
FROM (SELECT * FROM stats WHERE hour_ms > 0 AND hour_ms < ?1 ORDER BY hour_ms, function LIMIT ?2)
WHERE true GROUP BY function
ON CONFLICT (hour_ms, function) DO UPDATE SET ",
                adds!()
            ),
            values: values.clone(),
        },
        Statement {
            sql: "
DELETE FROM stats WHERE (hour_ms, function) IN (
  SELECT hour_ms, function FROM stats WHERE hour_ms > 0 AND hour_ms < ?1
  ORDER BY hour_ms, function LIMIT ?2)",
            values,
        },
    ]
}

/// Adds up all hours before this one, by function, and remembers the sums as the job `totals`. Whoever wants
/// all of them then reads that one row and the hours since, not every hour.
///
/// A function gets few arguments in D1, so the sums are lists of lists.
pub fn total_stats(before_ms: u64, now_ms: u64) -> Statement {
    Statement {
        sql: "
INSERT INTO jobs (job, at_ms, value)
SELECT 'totals', ?2, json_object('before_ms', ?1, 'functions', json_group_array(json(sums)))
FROM (SELECT json_array(function, json_array(
  sum(accepted), sum(succeeded), sum(failed), sum(cancelled), sum(undone_partial),
  sum(retries), sum(revivals), sum(same_key), sum(same_bytes), sum(mismatch), sum(late),
  sum(object_requests), sum(object_rows), sum(object_ms), sum(d1_rows), sum(took_ms)),
  json_array(
  sum(took_0), sum(took_1), sum(took_2), sum(took_3), sum(took_4), sum(took_5), sum(took_6),
  sum(took_7), sum(took_8), sum(took_9), sum(took_10), sum(took_11), sum(took_12),
  sum(took_13), sum(took_14), sum(took_15))) AS sums
  FROM stats WHERE hour_ms < ?1 GROUP BY function)
WHERE true
ON CONFLICT (job) DO UPDATE SET at_ms = excluded.at_ms, value = excluded.value
WHERE excluded.at_ms > jobs.at_ms",
        values: vec![before_ms.into(), now_ms.into()],
    }
}
