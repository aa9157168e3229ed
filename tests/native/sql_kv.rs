//! The statements of the key-value store, on real `SQLite`.

use crate::sql::{Bound, database, run};
use crate::sql_audit::plan;
use onceward::flow::kv::{KvEntry, KvType, Stored};
use onceward::limits;
use onceward::store::d1::{Statement, clean_keys, flows_begun_by, keys, put_key};
use rusqlite::{Connection, params_from_iter};

fn stored(key: &str, version: u64, changed_ms: u64, entry: impl Into<Option<KvEntry>>) -> Stored {
    let entry = entry.into();
    Stored {
        namespace: "shop".into(),
        key: key.into(),
        gone_ms: entry.is_none().then_some(changed_ms),
        entry,
        version,
        changed_ms,
        marks: Vec::new(),
    }
}

fn entry(text: &str, expires_at_ms: Option<u64>) -> KvEntry {
    KvEntry {
        value: text.into(),
        kind: KvType::String,
        expires_at_ms,
        version: 1,
    }
}

/// Rows of one column.
fn texts(db: &Connection, statement: &Statement) -> Vec<String> {
    let mut prepared = db.prepare(statement.sql).expect("a statement");
    let values = params_from_iter(statement.values.iter().map(Bound));
    let rows = prepared.query_map(values, |row| row.get(0)).expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

/// Sends what an object would; the time of the row that is there then.
fn put(db: &Connection, stored: &Stored) -> u64 {
    let [upsert, read] = &put_key(stored)[..] else {
        panic!("two statements");
    };
    run(db, upsert);
    let values = params_from_iter(read.values.iter().map(Bound));
    let at: i64 = db
        .query_row(read.sql, values, |row| row.get(0))
        .expect("a row");
    at.cast_unsigned()
}

fn row(db: &Connection, key: &str) -> (Option<String>, Option<String>, u64) {
    let sql = "SELECT kind, value, version FROM kv WHERE key = ?1";
    let row = db.query_row(sql, [key], |row| {
        let version: i64 = row.get(2)?;
        Ok((row.get(0)?, row.get(1)?, version.cast_unsigned()))
    });
    row.expect("a row")
}

#[test]
fn an_older_row_never_replaces_a_newer_one() {
    let db = database();
    assert_eq!(put(&db, &stored("a", 2, 200, entry("new", None))), 200);
    assert_eq!(put(&db, &stored("a", 1, 100, entry("old", None))), 200);
    assert_eq!(row(&db, "a").1.as_deref(), Some("\"new\""));
    // A deletion is a row as well.
    assert_eq!(put(&db, &stored("a", 3, 300, None)), 300);
    assert_eq!(put(&db, &stored("a", 2, 200, entry("new", None))), 300);
    assert_eq!(row(&db, "a"), (None, None, 3));
}

#[test]
fn a_large_value_stays_with_its_object() {
    let db = database();
    let large = "x".repeat(limits::MAX_KV_MIRRORED_BYTES);
    put(&db, &stored("a", 1, 1, entry(&large, None)));
    assert_eq!(row(&db, "a"), (Some("STRING".into()), None, 1));
}

#[test]
fn only_what_is_there_is_listed_in_order() {
    let db = database();
    put(&db, &stored("b-2", 1, 1, entry("v", None)));
    put(&db, &stored("b-1", 1, 1, entry("v", Some(500))));
    put(&db, &stored("b", 1, 1, entry("v", None)));
    put(&db, &stored("b-3", 2, 2, None));
    put(&db, &stored("c", 1, 1, entry("v", None)));
    assert_eq!(texts(&db, &keys("shop", "b", 499, 10)), ["b", "b-1", "b-2"]);
    assert_eq!(texts(&db, &keys("shop", "b-", 500, 10)), ["b-2"]);
    assert_eq!(texts(&db, &keys("shop", "", 500, 2)), ["b", "b-2"]);
    assert!(texts(&db, &keys("other", "", 500, 10)).is_empty());
}

#[test]
fn what_has_been_gone_for_long_is_deleted_in_pieces() {
    let db = database();
    for n in 0..5 {
        put(
            &db,
            &stored(&format!("old-{n}"), 1, 1, entry("v", Some(100 + n))),
        );
    }
    put(&db, &stored("gone", 2, 100, None));
    put(&db, &stored("good", 1, 1, entry("v", None)));
    put(&db, &stored("late", 1, 1, entry("v", Some(1_000))));
    assert_eq!(run(&db, &clean_keys(999, 4)), 4);
    assert_eq!(run(&db, &clean_keys(999, 4)), 2);
    assert_eq!(run(&db, &clean_keys(999, 4)), 0);
    assert_eq!(texts(&db, &keys("shop", "", 0, 10)), ["good", "late"]);
}

#[test]
fn no_statement_scans_the_table() {
    let db = database();
    let [upsert, read] = &put_key(&stored("a", 1, 1, None))[..] else {
        panic!("two statements");
    };
    for (statement, wanted) in [
        (upsert.clone(), ""),
        (read.clone(), "PRIMARY KEY (namespace=? AND key=?)"),
        (
            keys("shop", "a", 1, 10),
            "PRIMARY KEY (namespace=? AND key>? AND key<?)",
        ),
        (
            clean_keys(1, 10),
            "kv_by_end (expires_at_ms>? AND expires_at_ms<?)",
        ),
    ] {
        let plan = plan(&db, &statement);
        assert!(plan.contains(wanted) && !plan.contains("SCAN kv"), "{plan}");
    }
}

#[test]
fn flows_are_found_by_what_begins_them() {
    let db = database();
    let flow = |id: &str, triggers: &str, there: bool| {
        let value = format!(r#"{{"current":1,"revisions":[],"triggers":[{triggers}]}}"#);
        let entry = KvEntry {
            value: serde_json::from_str(&value).expect("JSON"),
            kind: KvType::Json,
            expires_at_ms: None,
            version: 1,
        };
        let stored = Stored {
            namespace: "%flows".into(),
            ..stored(&format!("team/{id}"), 1, 1, there.then_some(entry))
        };
        put(&db, &stored);
    };
    flow("late", r#"{"id":"a","type":"Schedule"}"#, true);
    flow(
        "both",
        r#"{"id":"a","type":"Webhook"},{"id":"b","type":"Schedule"}"#,
        true,
    );
    flow("named", r#"{"id":"Schedule","type":"Flow"}"#, true);
    flow("gone", r#"{"id":"a","type":"Schedule"}"#, false);
    flow("none", "", true);
    let of = |kind: &str, limit| texts(&db, &flows_begun_by(kind, limit));
    assert_eq!(of("Schedule", 10), ["team/both", "team/late"]);
    assert_eq!(of("Schedule", 1), ["team/both"]);
    assert_eq!(of("Flow", 10), ["team/named"]);
    let plan = plan(&db, &flows_begun_by("Flow", 10));
    assert!(plan.contains("PRIMARY KEY (namespace=?)"), "{plan}");
}
