//! F100: cron over many rows; runs that overlap, are cut off, or were missed for a day.

use crate::support::{Server, check, eventually};
use rusqlite::Connection;

const EXPIRED: u32 = 5_000;
/// What an hour of a thousand a minute leaves, three times over.
const MANY: u32 = 200_000;
const LIVE: u32 = 500;
const DAY_MS: i64 = 24 * 3_600_000;

/// Of the live ones: not final, and late. They are for the rescuer to look at, not for the cleaner.
const LATE: u32 = 20;

/// Rows without an object, as a lost one would leave them; some with checkpoints.
fn fill(d1: &mut Connection, dead: u32, now_ms: i64) {
    let transaction = d1.transaction().expect("a transaction");
    for n in 0..dead + LIVE {
        let expires = if n < dead {
            now_ms - 10 * DAY_MS
        } else {
            now_ms + 10 * DAY_MS
        };
        let (state, expires, due) = match n.checked_sub(dead) {
            None => ("succeeded", Some(expires), expires),
            Some(n) if n < LATE / 2 => ("running", None, now_ms - DAY_MS),
            Some(n) if n < LATE => ("suspended", None, now_ms - DAY_MS),
            Some(_) => ("failed", Some(expires), expires),
        };
        let id = uuid::Uuid::new_v4().to_string();
        let row = "INSERT INTO tasks (task_id, epoch, n, generation, state, kind, name, key, function, created_ms, updated_ms, finished_ms, expires_ms, due_ms)
            VALUES (?1, 1, 1, 1, ?2, 'source', 'lab', ?1, 'lab', ?3, ?3, ?3, ?4, ?5)";
        transaction
            .execute(
                row,
                rusqlite::params![id, state, now_ms - 20 * DAY_MS, expires, due],
            )
            .expect("a row");
        let checkpoint = "INSERT INTO checkpoints (task_id, generation, step, place, fence, tries, at_ms, failed, outcome)
            VALUES (?1, 1, 'a', 0, 1, 1, ?2, 0, '1')";
        if n % 5 == 0 {
            transaction
                .execute(checkpoint, rusqlite::params![id, now_ms - 20 * DAY_MS])
                .expect("a checkpoint");
        }
    }
    transaction.commit().expect("a commit");
}

fn count(server: &Server, sql: &str) -> Result<u32, String> {
    let copy = crate::support::files::read(&server.files().d1_path())?;
    copy.db
        .query_row(sql, [], |row| row.get(0))
        .map_err(|e| e.to_string())
}

#[test]
fn thousands_of_expired_rows_go_in_batches_and_the_live_ones_stay() {
    let mut server = Server::start();
    server.kill9();
    let now_ms = crate::support::unix_ms();
    fill(&mut server.files().open_d1(), EXPIRED, now_ms);
    server.restart();
    let expired = format!("SELECT count(*) FROM tasks WHERE expires_ms < {now_ms}");
    assert_eq!(count(&server, &expired), Ok(EXPIRED));
    let mut left = EXPIRED;
    let mut two_at_once = false;
    eventually(|| {
        // Every other tick is doubled, as a late cron run meets the next one.
        std::thread::scope(|scope| {
            scope.spawn(|| server.cron());
            if two_at_once {
                scope.spawn(|| server.cron());
            }
        });
        two_at_once = !two_at_once;
        let now = count(&server, &expired)?;
        assert!(now < left || now == 0, "a tick made no progress at {now}");
        left = now;
        check(now == 0, || format!("{now} rows are left"))
    });
    assert_eq!(count(&server, "SELECT count(*) FROM tasks"), Ok(LIVE));
    let checkpoints = count(&server, "SELECT count(*) FROM checkpoints");
    assert_eq!(checkpoints, Ok(LIVE / 5), "those of the live ones");
    server.cron();
    assert_eq!(count(&server, "SELECT count(*) FROM tasks"), Ok(LIVE));
}

/// A backlog of many days: no run has to be the one that does it all, and no run does nothing.
#[test]
fn a_backlog_of_200_000_goes_though_a_run_is_killed_and_others_overlap() {
    /// A run has 25 s, of which a third is the cleaner's; far fewer are needed.
    const RUNS: u32 = 40;
    let mut server = Server::start();
    server.kill9();
    let now_ms = crate::support::unix_ms();
    fill(&mut server.files().open_d1(), MANY, now_ms);
    server.restart();
    let expired = format!("SELECT count(*) FROM tasks WHERE expires_ms < {now_ms}");
    // The first run is killed as soon as it has deleted something.
    std::thread::scope(|scope| {
        let (address, target) = server.cron_address();
        scope.spawn(move || {
            crate::support::http::exchange(address, &crate::support::Request::get(&target))
        });
        eventually(|| {
            let left = count(&server, &expired)?;
            check(left < MANY, || "nothing is deleted yet".to_owned())
        });
        server.kill9();
    });
    server.restart();
    let mut runs = 0;
    while count(&server, &expired) != Ok(0) {
        assert!(runs < RUNS, "{:?} rows are left", count(&server, &expired));
        std::thread::scope(|scope| {
            scope.spawn(|| server.cron());
            scope.spawn(|| server.cron());
        });
        runs += 2;
    }
    assert_eq!(count(&server, "SELECT count(*) FROM tasks"), Ok(LIVE));
    let checkpoints = count(&server, "SELECT count(*) FROM checkpoints");
    assert_eq!(checkpoints, Ok(LIVE / 5), "those of the live ones");
}

/// Payload does not stay for the day that a tombstone stays.
#[test]
fn checkpoints_of_a_forgotten_task_go_before_its_tombstone() {
    let mut server = Server::start();
    let body = crate::support::program([crate::support::fail("terminal")]);
    let id = crate::support::hook(&server, &crate::support::fresh("erased"), &body)
        .expect(200)
        .task_id();
    let state = format!("SELECT count(*) FROM tasks WHERE task_id = '{id}' AND state = ");
    eventually(|| {
        check(count(&server, &format!("{state}'failed'"))? == 1, || {
            "no row".to_owned()
        })
    });
    let request = crate::support::Request::new("DELETE", &format!("/v1/tasks/{id}"));
    server
        .send(&request.bearer(crate::support::TOKEN))
        .expect(204);
    eventually(|| {
        check(count(&server, &format!("{state}'forgotten'"))? == 1, || {
            "no tombstone".to_owned()
        })
    });
    server.kill9();
    // As a write that was on its way when it was forgotten leaves them; and it was a minute ago.
    let d1 = server.files().open_d1();
    let late = "INSERT INTO checkpoints (task_id, generation, step, place, fence, tries, at_ms, failed, outcome)
        VALUES (?1, 1, 'a', 0, 1, 1, 1, 0, '1')";
    d1.execute(late, [&id]).expect("a row");
    let aged = "UPDATE tasks SET due_ms = due_ms - 120000 WHERE task_id = ?1";
    assert_eq!(d1.execute(aged, [&id]), Ok(1));
    drop(d1);
    server.restart();
    server.cron();
    assert_eq!(count(&server, "SELECT count(*) FROM checkpoints"), Ok(0));
    assert_eq!(
        count(&server, &format!("{state}'forgotten'")),
        Ok(1),
        "it stays for its day"
    );
}
