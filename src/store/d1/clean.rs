//! What the scheduled jobs read and delete.
//!
//! The cleaner and the rescuer walk the rows in the order in which they are due, a [`Stretch`] at a time.
//! A statement looks at no row outside its stretch, so that it takes the same time however many rows are
//! due, dead or alive.

use super::Statement;
use crate::limits;

/// Some rows of `tasks`, in the order in which they are due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Due time and id of the row before it.
    pub after: (u64, String),
    /// What is due later does not belong to it.
    pub until_ms: u64,
    /// At most as many rows.
    pub rows: u32,
}

/// A row is dead if it is a tombstone, or its task has ended and expired, and no object has claimed it back
/// within the grace. `?1`–`?4` are the stretch, `?5` is the grace's beginning.
macro_rules! dead {
    ($row:literal) => {
        concat!(
            "(",
            $row,
            ".state = 'forgotten' OR (",
            $row,
            ".state IN ('succeeded', 'failed', 'cancelled') AND ",
            $row,
            ".expires_ms IS NOT NULL AND ",
            $row,
            ".expires_ms <= ?5))"
        )
    };
}

macro_rules! stretch {
    () => {
        "(SELECT task_id, due_ms, state, expires_ms FROM tasks INDEXED BY tasks_by_due
  WHERE due_ms <= ?1 AND (due_ms, task_id) > (?2, ?3)
  ORDER BY due_ms, task_id LIMIT ?4)"
    };
}

fn bound(sql: &'static str, stretch: &Stretch, dead_by_ms: u64) -> Statement {
    Statement {
        sql,
        values: vec![
            stretch.until_ms.into(),
            stretch.after.0.into(),
            stretch.after.1.as_str().into(),
            stretch.rows.into(),
            dead_by_ms.into(),
        ],
    }
}

/// The last row of a stretch, if the stretch is full: the next one begins behind it.
pub fn stretch_end(stretch: &Stretch) -> Statement {
    Statement {
        sql: "
SELECT due_ms, task_id FROM tasks INDEXED BY tasks_by_due
WHERE due_ms <= ?1 AND (due_ms, task_id) > (?2, ?3)
ORDER BY due_ms, task_id LIMIT 1 OFFSET ?4 - 1",
        values: vec![
            stretch.until_ms.into(),
            stretch.after.0.into(),
            stretch.after.1.as_str().into(),
            stretch.rows.into(),
        ],
    }
}

/// Tasks of a stretch that should have moved, oldest first. The dead are the cleaner's: their objects have
/// had their chance by `dead_by_ms`.
pub fn overdue(stretch: &Stretch, dead_by_ms: u64) -> Statement {
    let sql = concat!(
        "SELECT t.task_id FROM ",
        stretch!(),
        " t WHERE NOT ",
        dead!("t"),
        " ORDER BY t.due_ms, t.task_id"
    );
    bound(sql, stretch, dead_by_ms)
}

/// Deletes some checkpoints of the dead in a stretch. In pieces, so that a task with ten thousand of them
/// goes as well.
pub fn clean_checkpoints(stretch: &Stretch, dead_by_ms: u64, limit: u32) -> Statement {
    let sql = concat!(
        "DELETE FROM checkpoints WHERE (task_id, generation, step) IN (
  SELECT c.task_id, c.generation, c.step FROM ",
        stretch!(),
        " t CROSS JOIN checkpoints c ON c.task_id = t.task_id WHERE ",
        dead!("t"),
        " LIMIT ?6)"
    );
    let mut statement = bound(sql, stretch, dead_by_ms);
    statement.values.push(limit.into());
    statement
}

/// Deletes the dead in a stretch that have no checkpoints left. The condition is repeated on the row itself,
/// so that a task that has begun anew in between is not touched.
pub fn clean_tasks(stretch: &Stretch, dead_by_ms: u64) -> Statement {
    let sql = concat!(
        "DELETE FROM tasks WHERE task_id IN (
  SELECT t.task_id FROM ",
        stretch!(),
        " t WHERE ",
        dead!("t"),
        " AND NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.task_id = t.task_id))
AND due_ms <= ?1 AND ",
        dead!("tasks")
    );
    bound(sql, stretch, dead_by_ms)
}

/// Deletes some of what operators did before this.
pub fn clean_audit(before_ms: u64, limit: u32) -> Statement {
    Statement {
        sql: "
DELETE FROM audit WHERE audit_id IN (
  SELECT audit_id FROM audit WHERE audit_id < ?1 ORDER BY audit_id LIMIT ?2)",
        // Ids begin with their time.
        values: vec![format!("{before_ms:012x}").into(), limit.into()],
    }
}

/// Open tasks, in the order of their state's index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenPage<'a> {
    /// One of [`OPEN_STATES`].
    pub state: &'a str,
    /// Creation and id of the last one that was seen.
    pub after: (u64, &'a str),
    /// At most as many.
    pub rows: u32,
}

/// States of tasks that are not over, as rows have them.
pub const OPEN_STATES: [&str; 4] = ["pending", "running", "suspended", "compensating"];

/// The partial index is used only where its own condition is repeated.
macro_rules! in_index {
    () => {
        "state IN ('pending', 'running', 'suspended', 'compensating', 'failed', 'cancelled') AND state = ?1"
    };
}

/// One page of the open tasks of one state, with the versions of their rows.
pub fn open_tasks(page: &OpenPage<'_>) -> Statement {
    Statement {
        sql: concat!(
            "SELECT task_id, created_ms, epoch, n FROM tasks INDEXED BY tasks_by_state WHERE ",
            in_index!(),
            " AND (created_ms, task_id) > (?2, ?3) ORDER BY created_ms, task_id LIMIT ?4"
        ),
        values: vec![
            page.state.into(),
            page.after.0.into(),
            page.after.1.into(),
            page.rows.into(),
        ],
    }
}

/// How many tasks of a state there are, counted up to `cap`, and since when the oldest.
pub fn count_state(state: &str, cap: u32) -> Statement {
    Statement {
        sql: concat!(
            "SELECT ?1 AS state, count(*) AS tasks, min(created_ms) AS oldest_ms FROM (
  SELECT created_ms FROM tasks INDEXED BY tasks_by_state WHERE ",
            in_index!(),
            " ORDER BY created_ms LIMIT ?2)"
        ),
        values: vec![state.into(), cap.into()],
    }
}

/// The stretch of what is due by now, from its beginning.
///
/// ```
/// use onceward::store::d1::due_by;
/// assert_eq!(due_by(1_000).until_ms, 1_000);
/// ```
pub fn due_by(until_ms: u64) -> Stretch {
    Stretch {
        after: (0, String::new()),
        until_ms,
        rows: limits::CRON_ROWS,
    }
}
