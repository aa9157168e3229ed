//! What is kept of flows, as queries see it: rows of the key-value store in a namespace that no flow can have.

use super::Statement;

/// What is kept of flows, of one namespace or of all, in order.
pub fn flows(namespace: Option<&str>, limit: u32) -> Statement {
    // Keys are NAMESPACE/ID in visible ASCII; what follows is behind all of them.
    let (from, to) = match namespace {
        Some(namespace) => (format!("{namespace}/"), format!("{namespace}0")),
        None => (String::new(), "\u{7f}".to_owned()),
    };
    Statement {
        sql: "
SELECT key, value FROM kv WHERE namespace = '%flows' AND key >= ?1 AND key < ?2 AND kind IS NOT NULL
ORDER BY key LIMIT ?3",
        values: vec![from.as_str().into(), to.as_str().into(), limit.into()],
    }
}

/// Keys of those flows, in order, whose text of run time has a trigger of this kind (`Schedule`, `Flow`).
pub fn flows_begun_by(kind: &str, limit: u32) -> Statement {
    Statement {
        sql: "
SELECT key FROM kv WHERE namespace = '%flows' AND kind IS NOT NULL AND instr(value, ?1) > 0
ORDER BY key LIMIT ?2",
        values: vec![format!("\"type\":\"{kind}\"").into(), limit.into()],
    }
}
