//! The audit's statements, on real `SQLite`.

use super::sql::{Bound, database, run};
use onceward::http::audit::Wish;
use onceward::limits;
use onceward::store::d1::{
    self, Action, AuditQuery, Statement, audit, audit_begins, audit_ends, audit_id, clean_audit,
};
use onceward::types::time::rfc3339;
use rusqlite::Connection;

const NOW: u64 = 1_795_989_751_097;

fn action(at_ms: u64, random: &str, token: &str, task: Option<&str>) -> Action {
    Action {
        audit_id: audit_id(at_ms, random),
        at_ms,
        token: token.into(),
        action: "cancel",
        task_id: task.map(str::to_owned),
        detail: Some("{}".into()),
    }
}

pub(crate) fn plan(db: &Connection, statement: &Statement) -> String {
    let values = rusqlite::params_from_iter(statement.values.iter().map(Bound));
    let sql = format!("EXPLAIN QUERY PLAN {}", statement.sql);
    let mut plan = db.prepare(&sql).expect("a plan");
    let lines = plan
        .query_map(values, |row| row.get::<_, String>(3))
        .expect("lines");
    lines
        .map(|line| line.expect("a line"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn statuses(db: &Connection) -> Vec<Option<u16>> {
    let mut read = db
        .prepare("SELECT status FROM audit ORDER BY audit_id")
        .expect("read");
    let rows = read.query_map([], |row| row.get(0)).expect("rows");
    rows.map(|row| row.expect("a status")).collect()
}

#[test]
fn an_action_is_one_row_in_whatever_order_its_writes_arrive() {
    let db = database();
    let (first, second) = (action(NOW, "a", "x", None), action(NOW, "b", "x", None));
    assert_eq!(run(&db, &audit_begins(&first)), 1);
    assert_eq!(statuses(&db), [None]);
    run(&db, &audit_ends(&first, 202));
    run(&db, &audit_ends(&second, 404));
    assert_eq!(run(&db, &audit_begins(&second)), 0, "late");
    assert_eq!(statuses(&db), [Some(202), Some(404)]);
}

const TASK: &str = "00000000-0000-5000-8000-000000000001";
const OTHER: &str = "00000000-0000-5000-8000-000000000002";

/// What an address asks for.
fn asked(parameters: &str) -> AuditQuery {
    let wish = Wish::read(&format!("/v1/audit?{parameters}"));
    wish.expect("a good query").query
}

#[test]
fn every_filter_narrows_the_list_and_none_scans_it() {
    let db = database();
    for n in 0..10_u64 {
        let token = if n % 2 == 0 { "even" } else { "odd" };
        let task = (n < 3).then_some(TASK);
        run(&db, &audit_begins(&action(NOW + n, "r", token, task)));
    }
    let at = |n: u64| rfc3339(NOW + n);
    for (parameters, want) in [
        (String::new(), 10),
        (format!("task_id={TASK}"), 3),
        (format!("task_id={OTHER}"), 0),
        (format!("task_id={TASK}&token=odd"), 1),
        ("token=even".into(), 5),
        ("action=cancel".into(), 10),
        ("action=retry".into(), 0),
        (format!("created_after={}", at(0)), 9),
        (format!("created_before={}", at(9)), 9),
        (format!("cursor={}", audit_id(NOW + 4, "r")), 4),
        (
            format!("cursor={}&created_before={}", audit_id(NOW + 4, "r"), at(2)),
            2,
        ),
        ("limit=3".into(), 4),
    ] {
        assert_eq!(run(&db, &audit(&asked(&parameters))), want, "{parameters}");
    }
    for (tokens, want) in [("[\"odd\",\"x\"]", 5), ("[]", 0)] {
        let tokens = Some(tokens.to_owned());
        let query = AuditQuery {
            tokens,
            ..asked("")
        };
        assert_eq!(run(&db, &audit(&query)), want);
    }
    for (parameters, index) in [
        (String::new(), "PRIMARY KEY"),
        ("token=odd".into(), "PRIMARY KEY"),
        (format!("task_id={TASK}"), "audit_by_task"),
    ] {
        let plan = plan(&db, &audit(&asked(&parameters)));
        assert!(
            plan.contains(index) && !plan.contains("TEMP B-TREE"),
            "{plan}"
        );
    }
}

#[test]
fn old_rows_go_in_pieces_and_younger_ones_stay() {
    let db = database();
    let old = NOW - limits::AUDIT_MS;
    for n in 0..5 {
        run(&db, &audit_begins(&action(old - 1 - n, "r", "x", None)));
    }
    run(&db, &audit_begins(&action(old, "r", "x", None)));
    run(&db, &audit_begins(&action(NOW, "r", "x", None)));
    assert_eq!(run(&db, &clean_audit(old, 3)), 3);
    assert_eq!(run(&db, &clean_audit(old, 3)), 2);
    assert_eq!(run(&db, &clean_audit(old, 3)), 0);
    assert_eq!(run(&db, &audit(&asked(""))), 2);
    let plan = plan(&db, &clean_audit(old, 3));
    assert!(!plan.contains("SCAN audit"), "{plan}");
}

#[test]
fn checkpoints_of_an_erased_task_go_up_to_its_generation() {
    let db = database();
    for (task, generation, step) in [
        ("t", 5, "a"),
        ("t", 5, "b"),
        ("t", 4, "a"),
        ("t", 6, "a"),
        ("u", 5, "a"),
    ] {
        let sql = "INSERT INTO checkpoints (task_id, generation, step, place, fence, tries, at_ms, failed, outcome) VALUES (?1, ?2, ?3, 0, 1, 1, 1, 0, '1')";
        db.execute(sql, rusqlite::params![task, generation, step])
            .expect("a checkpoint");
    }
    assert_eq!(run(&db, &d1::erase_checkpoints("t", 5, 2)), 2);
    assert_eq!(run(&db, &d1::erase_checkpoints("t", 5, 2)), 1);
    assert_eq!(run(&db, &d1::erase_checkpoints("t", 5, 2)), 0);
    let left: u32 = db
        .query_row("SELECT count(*) FROM checkpoints", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(left, 2);
}
