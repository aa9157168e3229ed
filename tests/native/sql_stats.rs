//! Statistics on real `SQLite`: read by hour and function, folded, added up.

use crate::sql::{Bound, NOW, count, database, run};
use crate::sql_jobs::plan;
use onceward::http::stats::{COUNTS, Sums};
use onceward::store::d1::{self, Statement, StatsRange};
use onceward::types::AFTER_END;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value, json};

const HOUR: u64 = 3_600_000;

fn hour(db: &Connection, at_ms: u64, function: &str, accepted: u32) {
    let sql = "INSERT INTO stats (hour_ms, function, accepted, succeeded, took_ms, took_3, took_15)
VALUES (?1, ?2, ?3, ?3, ?3, ?3, 1)";
    db.execute(
        sql,
        rusqlite::params![at_ms.cast_signed(), function, accepted],
    )
    .expect("a row");
}

fn rows(db: &Connection, statement: &Statement) -> Vec<Map<String, Value>> {
    let mut prepared = db.prepare(statement.sql).expect("statement");
    let names: Vec<String> = prepared.column_names().map(str::to_owned).collect();
    let values = params_from_iter(statement.values.iter().map(Bound));
    let mut found = prepared.query(values).expect("query");
    let mut out = Vec::new();
    while let Some(row) = found.next().expect("row") {
        let cell = |(at, name): (usize, &String)| {
            let value = match row.get_ref(at).expect("a cell") {
                ValueRef::Integer(n) => json!(n),
                ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
                other => panic!("{other:?}"),
            };
            (name.clone(), value)
        };
        out.push(names.iter().enumerate().map(cell).collect());
    }
    out
}

fn range(from_ms: u64, to_ms: u64) -> StatsRange<'static> {
    StatsRange {
        from_ms,
        to_ms,
        rows: 100,
        ..StatsRange::default()
    }
}

/// Hour, function and number of accepted tasks of each row.
fn shown(db: &Connection, range: &StatsRange<'_>) -> Vec<(u64, String, u64)> {
    let read = |row: Map<String, Value>| {
        let hour = row["hour"].as_u64().expect("an hour");
        let name = row["name"].as_str().expect("a name").to_owned();
        (hour, name, Sums::of_row(&row).get("accepted"))
    };
    rows(db, &d1::stats(range)).into_iter().map(read).collect()
}

fn filled() -> Connection {
    let db = database();
    for at in 1..=4 {
        hour(&db, at * HOUR, "a", 10);
        hour(&db, at * HOUR, "b", 1);
    }
    db
}

#[test]
fn sums_are_told_apart_as_wished() {
    let db = filled();
    let two = range(2 * HOUR, 4 * HOUR);
    assert_eq!(shown(&db, &two), [(0, String::new(), 22)]);
    let by_hour = StatsRange {
        by_hour: true,
        ..two.clone()
    };
    let hours: Vec<_> = shown(&db, &by_hour)
        .into_iter()
        .map(|(at, _, n)| (at, n))
        .collect();
    assert_eq!(hours, [(2 * HOUR, 11), (3 * HOUR, 11)]);
    let by_function = StatsRange {
        by_function: true,
        ..two.clone()
    };
    assert_eq!(
        shown(&db, &by_function),
        [(0, "a".into(), 20), (0, "b".into(), 2)]
    );
    let one = StatsRange {
        by_hour: true,
        by_function: true,
        function: Some("b"),
        ..two.clone()
    };
    assert_eq!(
        shown(&db, &one),
        [(2 * HOUR, "b".into(), 1), (3 * HOUR, "b".into(), 1)]
    );
    let short = StatsRange { rows: 1, ..by_hour };
    assert_eq!(shown(&db, &short).len(), 1);
    assert_eq!(shown(&db, &range(8 * HOUR, 9 * HOUR)), []);
}

#[test]
fn every_column_is_read() {
    let db = database();
    let names: Vec<String> = COUNTS
        .iter()
        .map(|name| (*name).to_owned())
        .chain((0..16).map(|n| format!("took_{n}")))
        .collect();
    let values: Vec<String> = (1..=names.len()).map(|n| n.to_string()).collect();
    let sql = format!(
        "INSERT INTO stats (hour_ms, function, {}) VALUES ({HOUR}, 'f', {})",
        names.join(", "),
        values.join(", ")
    );
    db.execute(&sql, []).expect("a row");
    let all = rows(&db, &d1::stats(&range(HOUR, 2 * HOUR)));
    let sums = Sums::of_row(&all[0]);
    for (at, name) in COUNTS.iter().enumerate() {
        let each = match *name {
            "object_requests" => AFTER_END.requests,
            "object_rows" => AFTER_END.rows,
            "d1_rows" => AFTER_END.d1_rows,
            _ => 0,
        };
        let to_come = each * sums.ended();
        assert_eq!(sums.get(name), at as u64 + 1 + to_come, "{name}");
    }
    for (at, took) in sums.took.iter().enumerate() {
        assert_eq!(*took, at as u64 + 17);
    }
    // Folded and totalled they are the same.
    let [add, delete] = d1::fold_stats(2 * HOUR, 10);
    assert_eq!((run(&db, &add), run(&db, &delete)), (1, 1));
    assert_eq!(rows(&db, &d1::stats(&range(0, HOUR))), all);
    run(&db, &d1::total_stats(2 * HOUR, NOW));
    assert_eq!(totals(&db), [("f".to_owned(), sums)]);
}

fn totals(db: &Connection) -> Vec<(String, Sums)> {
    let sql = "SELECT value FROM jobs WHERE job = 'totals'";
    let text: String = db.query_row(sql, [], |row| row.get(0)).expect("totals");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let functions = value["functions"].as_array().expect("a list");
    let read = |one: &Value| {
        let list = |at: usize| one[at].as_array().expect("a list").clone();
        let name = one[0].as_str().expect("a name").to_owned();
        (name, Sums::of_lists(&list(1), &list(2)))
    };
    functions.iter().map(read).collect()
}

#[test]
fn hours_that_are_folded_stay_in_the_sum_of_all() {
    let db = filled();
    let all = || {
        shown(
            &db,
            &StatsRange {
                by_function: true,
                ..range(0, 9 * HOUR)
            },
        )
    };
    let before = all();
    // Three of six rows, and then the other three.
    for left in [5, 2 + 2] {
        let [add, delete] = d1::fold_stats(4 * HOUR, 3);
        run(&db, &add);
        assert_eq!(run(&db, &delete), 3);
        assert_eq!(all(), before);
        let sql = "SELECT count(*) FROM stats";
        assert!(count(&db, sql) >= left, "{} rows", count(&db, sql));
    }
    assert_eq!(
        count(&db, "SELECT count(*) FROM stats WHERE hour_ms = 0"),
        2
    );
    let [add, delete] = d1::fold_stats(4 * HOUR, 3);
    assert_eq!(
        (run(&db, &add), run(&db, &delete)),
        (0, 0),
        "the base is not folded"
    );
    assert_eq!(all(), before);
}

#[test]
fn totals_and_the_hours_since_are_everything() {
    let db = filled();
    run(&db, &d1::total_stats(3 * HOUR, NOW));
    let accepted = |all: &[(String, Sums)]| -> Vec<u64> {
        all.iter().map(|(_, sums)| sums.get("accepted")).collect()
    };
    assert_eq!(accepted(&totals(&db)), [20, 2]);
    assert_eq!(
        shown(&db, &range(3 * HOUR, 9 * HOUR)),
        [(0, String::new(), 22)]
    );
    // A run that began earlier and comes later changes nothing.
    run(&db, &d1::total_stats(HOUR, NOW - 1));
    assert_eq!(accepted(&totals(&db)), [20, 2]);
    hour(&db, 2 * HOUR, "c", 5);
    run(&db, &d1::total_stats(3 * HOUR, NOW + 1));
    assert_eq!(accepted(&totals(&db)), [20, 2, 5]);
}

#[test]
fn an_empty_database_has_empty_totals() {
    let db = database();
    run(&db, &d1::total_stats(3 * HOUR, NOW));
    assert_eq!(totals(&db), []);
}

#[test]
fn a_range_is_read_by_the_primary_key() {
    let db = database();
    let plan = plan(&db, &d1::stats(&range(HOUR, 2 * HOUR)));
    assert!(
        plan.contains("PRIMARY KEY (hour_ms>? AND hour_ms<?)"),
        "{plan}"
    );
}
