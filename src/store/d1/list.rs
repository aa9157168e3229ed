//! The list of tasks.

use super::Statement;
use crate::types::TaskId;

/// One page of the list, newest first, from behind `(created_ms, task_id)`; of one tenant, or of all if that is
/// empty.
pub fn list(before: Option<(u64, TaskId)>, limit: u32, now_ms: u64, tenant: &str) -> Statement {
    // The cursor is the last row that was seen; ids break ties, so equal times neither skip nor double.
    let (created_ms, id) = match before {
        Some((created_ms, id)) => (created_ms, id.to_string()),
        None => (1 << 52, String::new()),
    };
    Statement {
        sql: "
SELECT task_id, generation, state, waiting, resumable, kind, name, tenant, key, function, attempts,
  claims, revivals, duplicates, created_ms, updated_ms, finished_ms, expires_ms, due_ms, error_code,
  error_message, error_step, answer_status, stub_reason, waiting_name, undone, cancel,
  labels, trace_id, object_requests, object_rows, object_ms, d1_rows, fence
FROM tasks
WHERE created_ms <= ?1 AND (created_ms < ?1 OR task_id < ?2)
  AND state <> 'forgotten' AND (?5 = '' OR tenant = ?5)
  AND NOT (state IN ('succeeded', 'failed', 'cancelled') AND expires_ms IS NOT NULL AND expires_ms <= ?3)
ORDER BY created_ms DESC, task_id DESC
LIMIT ?4",
        values: vec![
            created_ms.into(),
            id.into(),
            now_ms.into(),
            limit.into(),
            tenant.into(),
        ],
    }
}
