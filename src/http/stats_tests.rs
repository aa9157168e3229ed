//! Statistics: queries, percentiles, what is shown.

use super::*;

const NOW: u64 = 1_795_989_751_097;

fn read(query: &str) -> Result<StatsQuery, Problem> {
    StatsQuery::read(&format!("/v1/stats{query}"), NOW)
}

#[test]
fn without_a_query_it_is_the_last_day() {
    let query = read("").unwrap();
    assert_eq!(query.to_ms, NOW.div_ceil(HOUR_MS) * HOUR_MS);
    // The hours that now and the same time of yesterday lie in.
    assert_eq!(query.to_ms - query.from_ms, 25 * HOUR_MS);
    assert_eq!((query.by_hour, query.by_function), (false, false));
}

#[test]
fn whatever_is_wrong_is_named() {
    for (query, pointer) in [
        ("?from=", "from"),
        ("?from=now", "from"),
        ("?to=-1", "to"),
        ("?to=99999999999999999999", "to"),
        ("?to=2027-01-01", "to"),
        ("?by=", "by"),
        ("?by=hour,", "by"),
        ("?by=tenant", "by"),
        ("?limit=5", "limit"),
        ("?by=hour&by=function", "by"),
        ("?from=1&from=1", "from"),
        ("?function=a&function=a", "function"),
        ("?from=5&to=5", "from"),
        ("?from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z", "from"),
    ] {
        let problem = read(query).expect_err(query).to_answer();
        let body: Value = serde_json::from_slice(&problem.body).unwrap();
        assert_eq!(problem.status, 400, "{query}");
        assert_eq!(body["errors"][0]["pointer"], pointer, "{query}: {body}");
    }
}

#[test]
fn times_are_milliseconds_or_rfc_3339() {
    let text = read("?from=2026-11-29T20:00:00Z&to=2026-11-29T22:00:00Z").unwrap();
    let (from, to) = (text.from_ms, text.to_ms);
    assert_eq!(read(&format!("?from={from}&to={to}")), Ok(text));
    assert_eq!(to - from, 2 * HOUR_MS);
    // A span within an hour is that hour, and one over its end both of them.
    let minute = 60_000;
    for (first, last, hours) in [(0, 1, 1), (10, 50, 1), (59, 60, 1), (59, 61, 2)] {
        let (first, last) = (from + first * minute, from + last * minute);
        let short = read(&format!("?from={first}&to={last}")).unwrap();
        assert_eq!(short.to_ms - short.from_ms, hours * HOUR_MS, "{first}");
        assert!(short.from_ms <= first && last <= short.to_ms, "{first}");
    }
    // Hour 0 has what is long gone.
    assert_eq!(read("?from=0&to=7200000").unwrap().from_ms, HOUR_MS);
}

#[test]
fn percentiles_lie_between_the_bounds_of_their_place() {
    let mut sums = Sums::default();
    sums.took[0] = 50;
    sums.took[6] = 40;
    sums.took[9] = 10;
    assert_eq!(sums.percentile_ms(50), Some(10));
    assert_eq!(sums.percentile_ms(90), Some(1_000));
    assert_eq!(sums.percentile_ms(99), Some(9_500));
    assert_eq!(sums.percentile_ms(100), Some(10_000));
}

#[test]
fn a_row_shows_what_was_accepted_suppressed_and_paid() {
    let row = json!({
        "accepted": 1_000_000, "succeeded": 900_000, "failed": 99_000, "cancelled": 1_000, "retries": 5,
        "same_key": 7, "mismatch": 2, "late": 1, "object_requests": 3_000_000, "object_rows": 2_000_000,
        "object_ms": 20_000_000, "took_ms": 2_000_000, "took_0": 1_000_000,
    });
    let shown = Value::Object(Sums::of_row(row.as_object().unwrap()).document());
    assert_eq!(shown["run"], 1_000_005);
    assert_eq!(shown["duplicates"]["total"], 10);
    assert_eq!(shown["duplicates"]["approximate"], true);
    assert_eq!(shown["took_ms"]["mean"], 2);
    // What is to come of them is in it.
    assert_eq!(shown["cost"]["d1_rows"], 9_000_000);
    // As the task of the price table's example, a million times, and ten duplicates.
    assert_eq!(shown["cost"]["usd_per_million_tasks"], 16.93);
    assert_eq!(shown["cost"]["usd"], 16.932_003);
    let empty = Value::Object(Sums::default().document());
    assert_eq!(empty["took_ms"], json!({ "tasks": 0 }));
    assert!(empty["cost"].get("usd_per_million_tasks").is_none());
}

#[test]
fn the_answer_has_rows_only_if_they_are_told_apart() {
    let mut sums = Sums::default();
    sums.counts[0] = 2;
    let rows = [
        ((7 * HOUR_MS, "a".to_owned()), sums.clone()),
        ((8 * HOUR_MS, "b".to_owned()), sums),
    ];
    let jobs = json!({"sweep": {"asked": 1}});
    let total = read("").unwrap().document(&rows, &jobs);
    assert!(total.get("rows").is_none() && total.get("by").is_none());
    assert_eq!(total["total"]["accepted"], 4);
    assert_eq!(total["jobs"]["sweep"]["asked"], 1);
    let both = read("?by=function,hour").unwrap().document(&rows, &jobs);
    assert_eq!(both["by"], json!(["hour", "function"]));
    assert_eq!(both["rows"][1]["hour"], "1970-01-01T08:00:00.000Z");
    assert_eq!(both["rows"][1]["function"], "b");
    let hours = read("?by=hour").unwrap().document(&rows, &jobs);
    assert!(hours["rows"][0].get("function").is_none());
}
