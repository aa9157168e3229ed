//! What the scheduled jobs read and delete.

use super::Statement;
use crate::limits;

/// Tasks whose row says that they should have moved by `before_ms`, oldest first. Tombstones are the
/// cleaner's, and so is what has expired by `orphans_ms`: its object has had its chance.
pub fn overdue(before_ms: u64, orphans_ms: u64, after: (u64, &str), limit: u32) -> Statement {
    Statement {
        sql: "
SELECT task_id, due_ms FROM tasks
WHERE due_ms <= ?1 AND (due_ms, task_id) > (?2, ?3) AND state <> 'forgotten'
  AND NOT (state IN ('succeeded', 'failed', 'cancelled') AND expires_ms IS NOT NULL AND expires_ms <= ?5)
ORDER BY due_ms, task_id LIMIT ?4",
        values: vec![
            before_ms.into(),
            after.0.into(),
            after.1.into(),
            limit.into(),
            orphans_ms.into(),
        ],
    }
}

/// Deletes some checkpoints of tasks that are dead: tombstones, and rows whose task has expired. In
/// pieces, so that a task with ten thousand of them goes as well.
pub fn clean_checkpoints(now_ms: u64, grace_ms: u64, limit: u32) -> Statement {
    Statement {
        sql: "
DELETE FROM checkpoints WHERE (task_id, generation, step) IN (
  SELECT c.task_id, c.generation, c.step
  FROM tasks t JOIN checkpoints c ON c.task_id = t.task_id
  WHERE t.due_ms <= ?1 + ?2
    AND (t.state = 'forgotten'
      OR (t.state IN ('succeeded', 'failed', 'cancelled') AND t.expires_ms IS NOT NULL AND t.expires_ms <= ?1 - ?3))
  LIMIT ?4)",
        values: vec![
            now_ms.into(),
            limits::TOMBSTONE_MS.into(),
            grace_ms.into(),
            limit.into(),
        ],
    }
}

/// Deletes some rows that are dead and have no checkpoints left: tombstones whose day is over, and
/// expired tasks that no object has claimed back within the grace. The condition is repeated on the
/// row itself, so that a task that has begun anew in between is not touched.
pub fn clean_tasks(now_ms: u64, grace_ms: u64, limit: u32) -> Statement {
    Statement {
        sql: "
DELETE FROM tasks WHERE task_id IN (
  SELECT task_id FROM tasks t
  WHERE t.due_ms <= ?1
    AND (t.state = 'forgotten'
      OR (t.state IN ('succeeded', 'failed', 'cancelled') AND t.expires_ms IS NOT NULL AND t.expires_ms <= ?1 - ?2))
    AND NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.task_id = t.task_id)
  ORDER BY t.due_ms LIMIT ?3)
AND due_ms <= ?1
AND (state = 'forgotten'
  OR (state IN ('succeeded', 'failed', 'cancelled') AND expires_ms IS NOT NULL AND expires_ms <= ?1 - ?2))",
        values: vec![now_ms.into(), grace_ms.into(), limit.into()],
    }
}
