//! Endpoints of notifications that want no more.

use super::Statement;

/// Prefix of their names among what the jobs remember.
const PREFIX: &str = "endpoint/";

/// Every endpoint that is disabled.
pub fn all_disabled() -> Statement {
    Statement {
        // The character behind the slash ends the range.
        sql: "SELECT substr(job, 10) AS name, at_ms FROM jobs WHERE job >= 'endpoint/' AND job < 'endpoint0'",
        values: Vec::new(),
    }
}

/// Since when an endpoint is disabled; no row if it is not.
pub fn disabled(name: &str) -> Statement {
    Statement {
        sql: "SELECT at_ms FROM jobs WHERE job = ?1",
        values: vec![format!("{PREFIX}{name}").into()],
    }
}

/// Remembers that an endpoint is disabled.
pub fn disable(name: &str, now_ms: u64) -> Statement {
    Statement {
        sql: "INSERT INTO jobs (job, at_ms, value) VALUES (?1, ?2, '{}') ON CONFLICT (job) DO NOTHING",
        values: vec![format!("{PREFIX}{name}").into(), now_ms.into()],
    }
}

/// Lets an endpoint be told again.
pub fn enable(name: &str) -> Statement {
    Statement {
        sql: "DELETE FROM jobs WHERE job = ?1",
        values: vec![format!("{PREFIX}{name}").into()],
    }
}
