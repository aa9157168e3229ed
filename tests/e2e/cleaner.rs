//! F100: cron over many rows.

use crate::support::{Server, check, eventually};
use rusqlite::Connection;

const EXPIRED: u32 = 5_000;
const LIVE: u32 = 500;
const DAY_MS: i64 = 24 * 3_600_000;

/// Of the live ones: not final, and late. They are for the rescuer to look at, not for the cleaner.
const LATE: u32 = 20;

/// Rows without an object, as a lost one would leave them; some with checkpoints.
fn fill(d1: &mut Connection, now_ms: i64) {
    let transaction = d1.transaction().expect("a transaction");
    for n in 0..EXPIRED + LIVE {
        let expires = if n < EXPIRED {
            now_ms - 10 * DAY_MS
        } else {
            now_ms + 10 * DAY_MS
        };
        let (state, expires, due) = match n.checked_sub(EXPIRED) {
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
    fill(&mut server.files().open_d1(), now_ms);
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
