//! What the scheduled jobs remember: positions and counts, by name.

use super::Statement;

/// Everything that the jobs remember.
pub fn jobs() -> Statement {
    Statement {
        sql: "SELECT job, at_ms, value FROM jobs ORDER BY job LIMIT 200",
        values: Vec::new(),
    }
}

/// Remembers something, unless a run that began later has done so.
pub fn remember(job: &str, at_ms: u64, value: String) -> Statement {
    Statement {
        sql: "
INSERT INTO jobs (job, at_ms, value) VALUES (?1, ?2, ?3)
ON CONFLICT (job) DO UPDATE SET at_ms = excluded.at_ms, value = excluded.value
WHERE excluded.at_ms >= jobs.at_ms",
        values: vec![job.into(), at_ms.into(), value.into()],
    }
}

/// Adds to a count. Two runs at a time both count.
pub fn count(job: &str, at_ms: u64, by: u64) -> Statement {
    Statement {
        sql: "
INSERT INTO jobs (job, at_ms, value) VALUES (?1, ?2, ?3)
ON CONFLICT (job) DO UPDATE SET at_ms = max(jobs.at_ms, excluded.at_ms),
  value = CAST(jobs.value AS INTEGER) + CAST(excluded.value AS INTEGER)",
        values: vec![job.into(), at_ms.into(), by.to_string().into()],
    }
}
