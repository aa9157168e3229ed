//! What is counted with the rows of tasks, on real `SQLite`.

use crate::sql::{NOW, apply, begun, database, finished, moved, run, succeeded, undoing};
use onceward::limits;
use onceward::protocol::{Event, Moment, NotUndone, Task, Undone, Verdict, Version};
use onceward::store::d1::{self, Counts};
use onceward::types::{Cost, Failure};
use rusqlite::Connection;

const HOUR_MS: u64 = 3_600_000;

/// The sums of these columns over all hours.
fn sums(db: &Connection, columns: &[&str]) -> Vec<i64> {
    let one = |column: &&str| {
        let sql = format!("SELECT COALESCE(SUM({column}), 0) FROM stats WHERE function = 'lab'");
        db.query_row(&sql, [], |row| row.get(0)).expect("a sum")
    };
    columns.iter().map(one).collect()
}

fn flushed(db: &Connection, task: &Task) {
    apply(db, &d1::flush(task, None));
}

const ENDS: [&str; 4] = ["accepted", "succeeded", "failed", "cancelled"];

#[test]
fn a_row_that_is_written_twice_counts_once() {
    let db = database();
    let task = succeeded("k", NOW);
    for _ in 0..3 {
        flushed(&db, &task);
    }
    assert_eq!(sums(&db, &ENDS), [1, 1, 0, 0]);
    // One that comes late counts nothing.
    let mut late = begun("k", NOW);
    late.version = Version {
        n: 0,
        ..late.version
    };
    flushed(&db, &late);
    assert_eq!(sums(&db, &ENDS), [1, 1, 0, 0]);
}

#[test]
fn acceptance_and_end_count_when_they_were() {
    let db = database();
    let at = NOW - NOW % HOUR_MS;
    let begun = begun("k", at + HOUR_MS - 1);
    flushed(&db, &begun);
    assert_eq!(sums(&db, &ENDS), [1, 0, 0, 0]);
    let failed = finished(
        begun,
        Verdict::Failed(Failure::terminal("x", "y")),
        at + HOUR_MS,
    );
    flushed(&db, &failed);
    let mut hours = db
        .prepare("SELECT hour_ms, accepted, failed FROM stats ORDER BY hour_ms")
        .expect("a query");
    let hours = hours.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let hours: Vec<(i64, i64, i64)> = hours
        .expect("rows")
        .map(|row| row.expect("a row"))
        .collect();
    let at = i64::try_from(at).expect("a time");
    assert_eq!(hours, [(at, 1, 0), (at + 3_600_000, 0, 1)]);
}

#[test]
fn each_task_of_a_key_counts() {
    let db = database();
    let first = succeeded("k", NOW);
    flushed(&db, &first);
    let over = Version {
        n: first.version.n + 1,
        ..first.version
    };
    apply(&db, &d1::tombstone(&first, over, NOW + 9));
    assert_eq!(sums(&db, &ENDS), [1, 1, 0, 0], "a tombstone is no end");
    flushed(&db, &succeeded("k", NOW + 10));
    assert_eq!(sums(&db, &ENDS), [2, 2, 0, 0]);
}

#[test]
fn a_task_that_goes_on_ends_again() {
    let db = database();
    let failure = || Verdict::Failed(Failure::retryable("x", "y"));
    let mut task = begun("k", NOW);
    task.policy.max_attempts = 1;
    let mut task = finished(task, failure(), NOW + 20);
    flushed(&db, &task);
    assert_eq!(sums(&db, &ENDS), [1, 0, 1, 0]);
    // What changes afterwards and is no end counts as none.
    task.version.n += 2;
    task.updated_ms += 1;
    flushed(&db, &task);
    assert_eq!(sums(&db, &ENDS), [1, 0, 1, 0]);
    let mut again = begun("k", NOW);
    again.version.n = task.version.n + 2;
    again.revivals = 1;
    again.policy.max_attempts = 1;
    flushed(&db, &again);
    let mut again = finished(again, failure(), NOW + 40);
    again.finished_ms = Some(NOW + 41);
    again.version.n += 2;
    flushed(&db, &again);
    assert_eq!(sums(&db, &["accepted", "failed", "revivals"]), [1, 2, 1]);
}

#[test]
fn an_attempt_that_failed_and_is_followed_by_another_is_a_retry() {
    let db = database();
    let task = finished(
        begun("k", NOW),
        Verdict::Failed(Failure::retryable("x", "y")),
        NOW + 20,
    );
    flushed(&db, &task);
    assert_eq!(sums(&db, &["retries", "failed"]), [1, 0]);
    // A lease that nobody has been heard of since is one as well.
    let task = begun("lost", NOW);
    let ends_ms = task.lease.clone().expect("held").ends_ms;
    let (task, _) = moved(task, Event::AlarmFired, &Moment::at(ends_ms));
    flushed(&db, &task);
    assert_eq!(sums(&db, &["retries", "failed"]), [2, 0]);
}

#[test]
fn undoing_a_success_is_no_second_end() {
    let db = database();
    flushed(&db, &succeeded("k", NOW));
    let undoing = undoing("k", true);
    flushed(&db, &undoing);
    assert_eq!(sums(&db, &ENDS), [1, 1, 0, 0]);
    let undone = Task {
        ending: None,
        state: onceward::protocol::State::Succeeded,
        undone: Some(Undone {
            at_ms: NOW + 50,
            not_undone: vec![NotUndone {
                step: None,
                code: "x".into(),
                message: String::new(),
            }],
        }),
        version: Version {
            n: undoing.version.n + 2,
            ..undoing.version
        },
        ..undoing
    };
    flushed(&db, &undone);
    flushed(&db, &undone);
    assert_eq!(sums(&db, &["succeeded", "undone_partial"]), [1, 1]);
}

#[test]
fn what_a_task_cost_is_counted_as_it_grows() {
    let db = database();
    let mut task = begun("k", NOW);
    let cost = |requests| Cost {
        requests,
        rows: 2 * requests,
        d1_rows: 3 * requests,
        ms: 4 * requests,
    };
    let columns = ["object_requests", "object_rows", "d1_rows", "object_ms"];
    task.cost = cost(2);
    flushed(&db, &task);
    assert_eq!(sums(&db, &columns), [2, 4, 6, 8]);
    task.cost = cost(5);
    task.version.n += 2;
    flushed(&db, &task);
    assert_eq!(sums(&db, &columns), [5, 10, 15, 20]);
    // An earlier row that comes late takes nothing back.
    task.cost = cost(1);
    task.version.n -= 2;
    flushed(&db, &task);
    assert_eq!(sums(&db, &columns), [5, 10, 15, 20]);
}

#[test]
fn the_time_that_a_task_took_falls_into_one_part() {
    let bounds = limits::TOOK_MS;
    let highest = bounds[bounds.len() - 1] + 1;
    for (took_ms, part) in [
        (0, 0),
        (10, 0),
        (11, 1),
        (1_000, 6),
        (1_001, 7),
        (highest, 15),
    ] {
        let db = database();
        let answer = onceward::types::Answer::json(200, &serde_json::json!(1));
        let mut task = finished(begun("k", NOW), Verdict::Succeeded(answer), NOW + 1);
        task.finished_ms = Some(NOW + took_ms);
        flushed(&db, &task);
        let columns: Vec<String> = (0..16).map(|n| format!("took_{n}")).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut wanted = vec![0; 16];
        wanted[part] = 1;
        assert_eq!(sums(&db, &columns), wanted, "{took_ms}");
        let took = i64::try_from(took_ms).expect("small");
        assert_eq!(sums(&db, &["took_ms"]), [took]);
    }
}

#[test]
fn counts_from_memory_add_up() {
    let db = database();
    let counts = Counts {
        same_key: 3,
        same_bytes: 2,
        mismatch: 1,
        late: 4,
    };
    for at_ms in [NOW, NOW, NOW + HOUR_MS] {
        run(&db, &d1::count_duplicates(at_ms, "lab", counts));
    }
    let columns = ["same_key", "same_bytes", "mismatch", "late"];
    assert_eq!(sums(&db, &columns), [9, 6, 3, 12]);
    assert_eq!(sums(&db, &["1"]), [2], "one row for each hour");
}
