//! The key-value store, as queries see it. The object of a key has the truth.

use super::Statement;
use crate::flow::kv::Stored;
use crate::limits;

/// Puts the row of a key, unless there is a newer one, and reads what is there then.
pub fn put_key(stored: &Stored) -> Vec<Statement> {
    let entry = stored.entry.as_ref();
    let value = entry.map(|entry| entry.value.to_string());
    let value = value.filter(|text| text.len() <= limits::MAX_KV_MIRRORED_BYTES);
    let end_ms = entry.map_or(stored.gone_ms, |entry| entry.expires_at_ms);
    vec![
        Statement {
            sql: "
INSERT INTO kv (namespace, key, kind, value, version, expires_at_ms, updated_at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (namespace, key) DO UPDATE SET
  kind = excluded.kind, value = excluded.value, version = excluded.version,
  expires_at_ms = excluded.expires_at_ms, updated_at_ms = excluded.updated_at_ms
WHERE excluded.updated_at_ms > kv.updated_at_ms",
            values: vec![
                stored.namespace.as_str().into(),
                stored.key.as_str().into(),
                entry.map(|entry| entry.kind.as_str()).into(),
                value.into(),
                stored.version.into(),
                end_ms.into(),
                stored.changed_ms.into(),
            ],
        },
        Statement {
            sql: "SELECT updated_at_ms FROM kv WHERE namespace = ?1 AND key = ?2",
            values: vec![stored.namespace.as_str().into(), stored.key.as_str().into()],
        },
    ]
}

/// Keys of a namespace that begin with this and are there at this time, in order.
pub fn keys(namespace: &str, prefix: &str, now_ms: u64, limit: u32) -> Statement {
    Statement {
        sql: "
SELECT key FROM kv WHERE namespace = ?1 AND key >= ?2 AND key < ?3
  AND (expires_at_ms IS NULL OR expires_at_ms > ?4)
ORDER BY key LIMIT ?5",
        values: vec![
            namespace.into(),
            prefix.into(),
            // Keys are visible ASCII: this one is behind all that begin so.
            format!("{prefix}\u{7f}").into(),
            now_ms.into(),
            limit.into(),
        ],
    }
}

/// Deletes some rows of keys that have been gone since before this.
pub fn clean_keys(before_ms: u64, limit: u32) -> Statement {
    Statement {
        sql: "
DELETE FROM kv WHERE (namespace, key) IN (
  SELECT namespace, key FROM kv INDEXED BY kv_by_end
  WHERE expires_at_ms IS NOT NULL AND expires_at_ms <= ?1 ORDER BY expires_at_ms LIMIT ?2)",
        values: vec![before_ms.into(), limit.into()],
    }
}
