//! What the scheduled jobs read and delete, on real `SQLite`: they touch nothing that lives, and no statement
//! takes longer for what lies outside its stretch.

use crate::sql::{
    Bound, NOW, apply, begun, cancelled, count, database, finished, ids, list, run, succeeded,
    undoing, waiting,
};
use onceward::limits;
use onceward::protocol::{
    Mismatch, Outcome, State, StepRecord, Task, UndoPlan, Verdict, Version, WaitFor,
};
use onceward::store::d1::{self, OPEN_STATES, OpenPage, Statement, Stretch};
use onceward::types::{Failure, StepId};
use rusqlite::{Connection, StatementStatus, params_from_iter};

fn behind(until_ms: u64, due_ms: u64, id: &str) -> Stretch {
    Stretch {
        after: (due_ms, id.to_owned()),
        ..d1::due_by(until_ms)
    }
}

fn cleaned(now_ms: u64, grace_ms: u64) -> Statement {
    d1::clean_tasks(&d1::due_by(now_ms), now_ms - grace_ms)
}

fn uncheckpointed(now_ms: u64, grace_ms: u64) -> Statement {
    d1::clean_checkpoints(&d1::due_by(now_ms), now_ms - grace_ms, 10)
}

fn with_checkpoints(db: &Connection, task: &Task, count: u32) {
    for n in 0..count {
        let outcome = Outcome::Value("1.10".into());
        let record = StepRecord {
            place: n,
            fence: 1,
            at_ms: NOW,
            tries: 1,
            undo: (n == 0).then(|| UndoPlan {
                handler: "refund".into(),
                input: "1".into(),
                key: String::new(),
            }),
            ..StepRecord::new(StepId::new("", "s", n), outcome)
        };
        let statement = d1::checkpoint(task, &record);
        assert_eq!(run(db, &statement), 1);
        // Again, as after a lost reply: no further row.
        assert_eq!(run(db, &statement), 0);
    }
}

#[test]
fn the_rescuer_sees_what_should_have_moved_and_no_tombstone() {
    let db = database();
    let running = begun("running", NOW);
    let ends = running.lease.clone().expect("held").ends_ms;
    apply(&db, &d1::flush(&running, None));
    let dead = succeeded("dead", NOW);
    apply(
        &db,
        &d1::tombstone(
            &dead,
            Version {
                n: 99,
                ..dead.version
            },
            NOW,
        ),
    );
    assert_eq!(run(&db, &d1::overdue(&d1::due_by(ends - 1), 0)), 0);
    assert_eq!(run(&db, &d1::overdue(&d1::due_by(ends), 0)), 1);
    // What has ended is poked when it expires, until the cleaner may take it.
    let done = succeeded("done", NOW);
    apply(&db, &d1::flush(&done, None));
    let expires = done.expires_ms.expect("final");
    assert_eq!(
        run(&db, &d1::overdue(&behind(expires, ends, "~"), expires - 1)),
        1
    );
    assert_eq!(
        run(&db, &d1::overdue(&behind(expires, ends, "~"), expires)),
        0
    );
    let id = running.id().to_string();
    assert_eq!(run(&db, &d1::overdue(&behind(ends, ends, &id), 0)), 0);
}

#[test]
fn the_cleaner_takes_the_dead_in_pieces_and_leaves_the_living() {
    let db = database();
    let grace = limits::ORPHAN_GRACE_MS;
    let mut living: Vec<Task> = vec![begun("running", NOW)];
    let retryable = Failure::retryable("x", "y");
    living.push(finished(
        begun("backing-off", NOW),
        Verdict::Failed(retryable),
        NOW + 1,
    ));
    assert!(matches!(living[1].state, State::Suspended(_)));
    let fresh = succeeded("fresh", NOW);
    let expires = fresh.expires_ms.expect("final");
    for task in living.iter().chain([&fresh]) {
        apply(&db, &d1::flush(task, None));
        with_checkpoints(&db, task, 3);
    }
    let dead = succeeded("dead", NOW - grace - 1_000);
    apply(&db, &d1::flush(&dead, None));
    with_checkpoints(&db, &dead, 25);
    let buried = succeeded("buried", NOW);
    apply(&db, &d1::flush(&buried, None));
    with_checkpoints(&db, &buried, 4);
    apply(
        &db,
        &d1::tombstone(
            &buried,
            Version {
                n: 99,
                ..buried.version
            },
            NOW,
        ),
    );

    // `dead` expired before the grace; `fresh` just now, and its object still has the word.
    let now = expires;
    let mut pieces = 0;
    while run(&db, &uncheckpointed(now, grace)) > 0 {
        pieces += 1;
    }
    assert_eq!(pieces, 3, "29 checkpoints in pieces of 10");
    assert_eq!(count(&db, "SELECT count(*) FROM checkpoints"), 9);
    assert_eq!(run(&db, &cleaned(now, grace)), 2);
    assert_eq!(run(&db, &cleaned(now, grace)), 0);
    assert_eq!(count(&db, "SELECT count(*) FROM tasks"), 3);
}

#[test]
fn a_tombstone_stays_for_its_day() {
    let db = database();
    let task = succeeded("k", NOW);
    apply(
        &db,
        &d1::tombstone(
            &task,
            Version {
                n: 99,
                ..task.version
            },
            NOW,
        ),
    );
    let day = limits::TOMBSTONE_MS;
    assert_eq!(run(&db, &cleaned(NOW + day - 1, 0)), 0);
    assert_eq!(run(&db, &cleaned(NOW + day, 0)), 1);
}

#[test]
fn a_row_that_still_has_checkpoints_waits_for_them() {
    let db = database();
    let dead = succeeded("dead", 1_000);
    apply(&db, &d1::flush(&dead, None));
    with_checkpoints(&db, &dead, 3);
    assert_eq!(run(&db, &cleaned(NOW, 0)), 0);
    run(&db, &uncheckpointed(NOW, 0));
    assert_eq!(run(&db, &cleaned(NOW, 0)), 1);
}

#[test]
fn the_cleaner_takes_cancelled_tasks_as_well() {
    let db = database();
    let gone = cancelled("gone", NOW);
    apply(&db, &d1::flush(&gone, None));
    with_checkpoints(&db, &gone, 2);
    let expires = gone.expires_ms.expect("final");
    let grace = limits::ORPHAN_GRACE_MS;
    assert_eq!(ids(&db, &list(10, expires - 1)).len(), 1);
    assert_eq!(ids(&db, &list(10, expires)).len(), 0);
    assert_eq!(run(&db, &d1::overdue(&d1::due_by(expires), expires - 1)), 1);
    assert_eq!(run(&db, &d1::overdue(&d1::due_by(expires), expires)), 0);
    let now = expires + grace;
    assert_eq!(run(&db, &uncheckpointed(now - 1, grace)), 0);
    assert_eq!(run(&db, &cleaned(now - 1, grace)), 0);
    assert_eq!(run(&db, &uncheckpointed(now, grace)), 2);
    assert_eq!(run(&db, &cleaned(now, grace)), 1);
}

#[test]
fn a_task_at_work_is_left_alone_though_its_old_answer_has_expired() {
    let db = database();
    let task = undoing("k", true);
    let expires = task.expires_ms.expect("it had ended");
    apply(&db, &d1::flush(&task, None));
    with_checkpoints(&db, &task, 2);
    let now = expires + 2 * limits::ORPHAN_GRACE_MS;
    assert_eq!(ids(&db, &list(10, now)).len(), 1);
    assert_eq!(run(&db, &uncheckpointed(now, 0)), 0);
    assert_eq!(run(&db, &cleaned(now, 0)), 0);
    // Its ticket should have been claimed long ago.
    assert_eq!(run(&db, &d1::overdue(&d1::due_by(now), now)), 1);
}

#[test]
fn what_only_a_signal_or_an_operator_moves_is_never_poked() {
    let db = database();
    let signal = WaitFor::Signal {
        name: "approval".into(),
        due_ms: None,
    };
    let mismatch = Mismatch {
        index: 0,
        recorded: StepId::new("", "a", 0),
        attempted: None,
        difference: "it ended".into(),
    };
    for task in [
        waiting("signal", vec![signal], None),
        waiting("changed", Vec::new(), Some(mismatch)),
    ] {
        apply(&db, &d1::flush(&task, None));
    }
    // The number is still exact.
    let sql = "SELECT count(*) FROM tasks WHERE due_ms = 9007199254740991";
    assert_eq!(count(&db, sql), 2);
    let ages = NOW + 100 * limits::MAX_RETENTION_MS;
    assert_eq!(run(&db, &d1::overdue(&d1::due_by(ages), ages)), 0);
    assert_eq!(run(&db, &cleaned(ages, 0)), 0);
    assert_eq!(ids(&db, &list(10, ages)).len(), 2);
}

/// What `SQLite` plans to do.
pub(crate) fn plan(db: &Connection, statement: &Statement) -> String {
    let mut plan = db
        .prepare(&format!("EXPLAIN QUERY PLAN {}", statement.sql))
        .expect("plan");
    let lines: Vec<String> = plan
        .query_map(
            params_from_iter(statement.values.iter().map(Bound)),
            |row| row.get(3),
        )
        .expect("plan")
        .map(|line| line.expect("line"))
        .collect();
    lines.join("\n")
}

/// How many instructions a statement takes, and how many rows it changes or returns.
fn steps(db: &Connection, statement: &Statement) -> (u32, usize) {
    assert!(statement.values.len() <= 100, "D1 takes 100 parameters");
    let mut prepared = db.prepare(statement.sql).expect("statement");
    let values = params_from_iter(statement.values.iter().map(Bound));
    let done = if prepared.column_count() > 0 {
        let mut rows = prepared.query(values).expect("query");
        let mut seen = 0;
        while rows.next().expect("row").is_some() {
            seen += 1;
        }
        drop(rows);
        seen
    } else {
        prepared.execute(values).expect("execute")
    };
    let steps = prepared.get_status(StatementStatus::VmStep);
    (u32::try_from(steps).expect("positive"), done)
}

#[test]
fn the_jobs_use_their_indexes_and_scan_no_table() {
    let db = database();
    let stretch = d1::due_by(NOW);
    let page = OpenPage {
        state: "running",
        after: (NOW, "x"),
        rows: 10,
    };
    for (statement, index) in [
        (
            d1::stretch_end(&stretch),
            "USING COVERING INDEX tasks_by_due",
        ),
        (d1::overdue(&stretch, NOW), "tasks_by_due"),
        (d1::clean_tasks(&stretch, NOW), "tasks_by_due"),
        (d1::clean_checkpoints(&stretch, NOW, 10), "tasks_by_due"),
        (
            d1::open_tasks(&page),
            "tasks_by_state (state=? AND (created_ms,task_id)>(?,?))",
        ),
        (
            d1::count_state("failed", 10),
            "USING COVERING INDEX tasks_by_state (state=?)",
        ),
        (d1::clean_audit(NOW, 10), "PRIMARY KEY (audit_id<?)"),
    ] {
        let plan = plan(&db, &statement);
        assert!(plan.contains(index), "{plan}\n{}", statement.sql);
        // What is scanned is the stretch alone.
        let scans = plan.lines().filter(|line| line.contains("SCAN"));
        for scan in scans {
            let inner = ["SCAN t", "SCAN (subquery-", "SCAN SUBQUERY"];
            assert!(
                inner.iter().any(|s| scan.starts_with(s)) && !scan.starts_with("SCAN tasks"),
                "{plan}"
            );
        }
    }
}

/// Fills in rows as lost objects would leave them: state, expiry, due time; each with these checkpoints.
fn fill(db: &Connection, name: &str, rows: u32, state: &str, due_ms: u64, checkpoints: u32) {
    let expires = matches!(state, "succeeded" | "failed" | "cancelled").then_some(due_ms);
    db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO tasks (task_id, epoch, n, generation, state, kind, name, key, function, created_ms, updated_ms,
  expires_ms, due_ms)
SELECT ?2 || '-' || i, 1, 2, 1, ?3, 'source', 'lab', 'k' || i, 'lab', ?4 + i, ?4, ?5, ?4 FROM n",
        rusqlite::params![rows, name, state, due_ms.cast_signed(), expires.map(u64::cast_signed)],
    )
    .expect("rows");
    db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO checkpoints (task_id, generation, step, place, fence, tries, at_ms, failed, outcome)
SELECT task_id, 1, 's' || i, i, 1, 1, 1, 0, '1' FROM tasks JOIN n WHERE ?1 > 0 AND task_id LIKE ?2 || '-%'",
        rusqlite::params![checkpoints, name],
    )
    .expect("checkpoints");
}

const DAY_MS: u64 = 24 * 3_600_000;

#[test]
fn no_statement_takes_longer_however_many_rows_are_dead_or_alive() {
    let measured: Vec<Vec<u32>> = [3_000, 60_000]
        .into_iter()
        .map(|rows| {
            let db = database();
            fill(&db, "dead", rows, "succeeded", NOW - DAY_MS, 0);
            fill(&db, "late", rows, "running", NOW - 2 * DAY_MS, 0);
            fill(&db, "grave", rows, "forgotten", NOW - DAY_MS, 0);
            fill(&db, "open", rows, "suspended", NOW + DAY_MS, 0);
            let late = d1::due_by(NOW);
            let dead = behind(NOW, NOW - DAY_MS - 1, "");
            let page = OpenPage {
                state: "suspended",
                after: (NOW, ""),
                rows: 100,
            };
            [
                d1::stretch_end(&late),
                d1::overdue(&late, NOW),
                d1::clean_checkpoints(&late, NOW, 100),
                d1::clean_tasks(&late, NOW),
                d1::overdue(&dead, NOW),
                d1::clean_checkpoints(&dead, NOW, 100),
                d1::clean_tasks(&dead, NOW),
                d1::open_tasks(&page),
                d1::count_state("suspended", 1_000),
            ]
            .iter()
            .map(|statement| steps(&db, statement).0)
            .collect()
        })
        .collect();
    for (few, many) in measured[0].iter().zip(&measured[1]) {
        assert!(many <= &(few + few / 10 + 100), "{measured:?}");
        assert!(*many < 200_000, "{measured:?}");
    }
}

#[test]
fn a_task_with_ten_thousand_checkpoints_goes_in_pieces_of_bounded_size() {
    let db = database();
    fill(&db, "big", 1, "failed", NOW - DAY_MS, 10_000);
    fill(&db, "alive", 1, "failed", NOW + DAY_MS, 100);
    let stretch = d1::due_by(NOW);
    let limit = limits::CLEAN_CHECKPOINTS;
    let mut pieces = 0;
    loop {
        let (taken, deleted) = steps(&db, &d1::clean_checkpoints(&stretch, NOW, limit));
        assert!(taken < 50 * limit, "{taken} instructions");
        if deleted == 0 {
            break;
        }
        assert_eq!(deleted, limit as usize);
        let more = count(
            &db,
            "SELECT count(*) FROM checkpoints WHERE task_id = 'big-1'",
        ) > 0;
        let gone = run(&db, &d1::clean_tasks(&stretch, NOW));
        assert_eq!(gone, usize::from(!more), "its row goes last");
        pieces += 1;
    }
    assert_eq!(pieces, 5);
    assert_eq!(count(&db, "SELECT count(*) FROM checkpoints"), 100);
    assert_eq!(count(&db, "SELECT count(*) FROM tasks"), 1);
}

/// All of the dead, as one run of the cleaner takes them: how many batches it sends, and how many it deletes.
fn clean_all(db: &Connection, now_ms: u64) -> (u32, usize) {
    let (mut stretch, mut batches, mut gone) = (d1::due_by(now_ms), 0, 0);
    loop {
        let end: Option<(i64, String)> = {
            let statement = d1::stretch_end(&stretch);
            let values = params_from_iter(statement.values.iter().map(Bound));
            let mut found = db.prepare(statement.sql).expect("statement");
            let mut rows = found.query(values).expect("query");
            let row = rows.next().expect("row");
            row.map(|row| (row.get(0).expect("due"), row.get(1).expect("id")))
        };
        gone += run(
            db,
            &d1::clean_tasks(&stretch, now_ms - limits::ORPHAN_GRACE_MS),
        );
        batches += 1;
        let Some((due_ms, id)) = end else {
            return (batches, gone);
        };
        stretch.after = (due_ms.cast_unsigned(), id);
    }
}

#[test]
fn the_cleaner_goes_past_what_lives_to_what_is_dead_behind_it() {
    let db = database();
    fill(&db, "stuck", 2_500, "running", NOW - 9 * DAY_MS, 0);
    fill(&db, "dead", 4_500, "succeeded", NOW - DAY_MS, 0);
    fill(&db, "fresh", 10, "succeeded", NOW - 1, 0);
    let (batches, gone) = clean_all(&db, NOW);
    assert_eq!(gone, 4_500, "but not those within the grace");
    assert_eq!(batches, 8, "7,010 rows in stretches of 1,000");
    assert_eq!(count(&db, "SELECT count(*) FROM tasks"), 2_510);
    assert_eq!(clean_all(&db, NOW), (3, 0), "a second run finds nothing");
}

#[test]
fn the_sweep_sees_every_open_task_once_in_a_round_and_nothing_that_is_over() {
    let db = database();
    for (state, rows) in [
        ("pending", 3),
        ("running", 25),
        ("suspended", 7),
        ("compensating", 1),
    ] {
        fill(&db, state, rows, state, NOW, 0);
    }
    for state in ["succeeded", "failed", "cancelled", "forgotten"] {
        fill(&db, state, 50, state, NOW, 0);
    }
    let mut seen = Vec::new();
    for state in OPEN_STATES {
        let mut after = (0, String::new());
        loop {
            let page = ids(
                &db,
                &d1::open_tasks(&OpenPage {
                    state,
                    after: (after.0, &after.1),
                    rows: 10,
                }),
            );
            let Some(last) = page.last().cloned() else {
                break;
            };
            after = last;
            seen.extend(page.into_iter().map(|(_, id)| id));
        }
    }
    let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
    assert_eq!((seen.len(), distinct.len()), (36, 36));
}

#[test]
fn counts_of_two_runs_at_a_time_add_up_and_the_later_position_stays() {
    let db = database();
    for (at, by) in [(5, 3), (4, 4)] {
        run(&db, &d1::count("sweep.asked", at, by));
    }
    let sql = "SELECT value FROM jobs WHERE job = ?1";
    let value =
        |job: &str| -> String { db.query_row(sql, [job], |row| row.get(0)).expect("a row") };
    assert_eq!(value("sweep.asked"), "7");
    run(&db, &d1::remember("sweep", 9, "new".into()));
    run(&db, &d1::remember("sweep", 8, "old".into()));
    assert_eq!(value("sweep"), "new");
    assert_eq!(run(&db, &d1::jobs()), 2);
}

#[test]
fn what_operators_did_goes_after_its_time() {
    let db = database();
    let row = |at_ms: u64| {
        let sql =
            "INSERT INTO audit (audit_id, at_ms, token, action) VALUES (?1, ?2, 't', 'cancel')";
        let id = format!("{at_ms:012x}.x");
        db.execute(sql, rusqlite::params![id, at_ms.cast_signed()])
            .expect("a row");
    };
    for at_ms in [NOW - 2, NOW - 1, NOW, NOW + 1] {
        row(at_ms);
    }
    assert_eq!(run(&db, &d1::clean_audit(NOW, 1)), 1);
    assert_eq!(run(&db, &d1::clean_audit(NOW, 10)), 1);
    assert_eq!(run(&db, &d1::clean_audit(NOW, 10)), 0);
    assert_eq!(
        count(&db, "SELECT min(at_ms) FROM audit"),
        NOW.cast_signed()
    );
}
