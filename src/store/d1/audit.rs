//! What operators did.

use super::Statement;

/// One action, as its row says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Time in twelve hexadecimal digits of milliseconds, a dot, and something random.
    pub audit_id: String,
    /// When it was asked for, in milliseconds since 1970.
    pub at_ms: u64,
    /// Name of the API token.
    pub token: String,
    /// What was asked for.
    pub action: &'static str,
    /// The task that it is about.
    pub task_id: Option<String>,
    /// A JSON object: how it was asked for. No payload, no key.
    pub detail: Option<String>,
}

impl Action {
    fn values(&self) -> Vec<super::Value> {
        vec![
            self.audit_id.as_str().into(),
            self.at_ms.into(),
            self.token.as_str().into(),
            self.action.into(),
            self.task_id.as_deref().into(),
            self.detail.as_deref().into(),
        ]
    }
}

/// The name of a row: it sorts by time.
///
/// ```
/// use onceward::store::d1::audit_id;
/// assert_eq!(audit_id(1_795_989_751_097, "ab"), "01a22954c539.ab");
/// assert!(audit_id(255, "") < audit_id(256, ""));
/// ```
pub fn audit_id(at_ms: u64, random: &str) -> String {
    format!("{at_ms:012x}.{random}")
}

/// Writes the row of an action before it is done. It changes nothing if its end has come before it.
pub fn audit_begins(action: &Action) -> Statement {
    Statement {
        sql: "
INSERT INTO audit (audit_id, at_ms, token, action, task_id, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (audit_id) DO NOTHING",
        values: action.values(),
    }
}

/// Writes what came of it; the whole row, if the first write was lost or is late.
pub fn audit_ends(action: &Action, status: u16) -> Statement {
    let mut values = action.values();
    values.push(u32::from(status).into());
    Statement {
        sql: "
INSERT INTO audit (audit_id, at_ms, token, action, task_id, detail, status)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (audit_id) DO UPDATE SET status = excluded.status",
        values,
    }
}

/// What is looked for in the audit. Empty texts and `None` ask for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Of this task.
    pub task_id: Option<String>,
    /// By the token of this name.
    pub token: Option<String>,
    /// This action.
    pub action: Option<String>,
    /// After this time, in milliseconds since 1970.
    pub after_ms: Option<u64>,
    /// Before this time.
    pub before_ms: Option<u64>,
    /// By one of these tokens, as a JSON list of names.
    pub tokens: Option<String>,
    /// From behind this row.
    pub behind: Option<String>,
    /// Rows at most.
    pub limit: u32,
}

/// One page of the audit, newest first. A task is looked for by its index, everything else by time.
pub fn audit(query: &AuditQuery) -> Statement {
    let first = audit_id(query.after_ms.map_or(0, |ms| ms.saturating_add(1)), "");
    let last = audit_id(query.before_ms.unwrap_or(1 << 47), "");
    // The smaller of the two: ids sort by time.
    let last = match &query.behind {
        Some(behind) if *behind < last => behind.clone(),
        _ => last,
    };
    let sql = if query.task_id.is_some() {
        "
SELECT audit_id, at_ms, token, action, task_id, detail, status FROM audit
WHERE task_id = ?6 AND audit_id >= ?1 AND audit_id < ?2
  AND (?3 IS NULL OR token = ?3) AND (?4 IS NULL OR action = ?4)
  AND (?5 IS NULL OR token IN (SELECT value FROM json_each(?5)))
ORDER BY audit_id DESC LIMIT ?7"
    } else {
        "
SELECT audit_id, at_ms, token, action, task_id, detail, status FROM audit
WHERE ?6 IS NULL AND audit_id >= ?1 AND audit_id < ?2
  AND (?3 IS NULL OR token = ?3) AND (?4 IS NULL OR action = ?4)
  AND (?5 IS NULL OR token IN (SELECT value FROM json_each(?5)))
ORDER BY audit_id DESC LIMIT ?7"
    };
    Statement {
        sql,
        values: vec![
            first.into(),
            last.into(),
            query.token.clone().into(),
            query.action.clone().into(),
            query.tokens.clone().into(),
            query.task_id.clone().into(),
            query.limit.into(),
        ],
    }
}

/// Deletes some checkpoints of a task that is erased, up to the generation that was: a newer one keeps its own.
pub fn erase_checkpoints(task_id: &str, generation: u64, limit: u32) -> Statement {
    Statement {
        sql: "
DELETE FROM checkpoints WHERE (task_id, generation, step) IN (
  SELECT task_id, generation, step FROM checkpoints WHERE task_id = ?1 AND generation <= ?2 LIMIT ?3)",
        values: vec![task_id.into(), generation.into(), limit.into()],
    }
}
