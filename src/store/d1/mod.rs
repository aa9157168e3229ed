//! All SQL for D1, as text with its values, so that every statement also runs natively against the
//! same migrations (`tests/native/sql.rs`).

/// The migrations, in their order. Every database gets all of them.
pub const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/0001_init.sql"),
    include_str!("../../../migrations/0002_steering.sql"),
    include_str!("../../../migrations/0003_operations.sql"),
    include_str!("../../../migrations/0004_flows.sql"),
];

mod audit;
mod clean;
mod endpoint;
mod flows;
mod jobs;
mod kv;
mod list;
mod stats;
mod stats_read;
mod task;

pub use audit::{Action, AuditQuery, audit, audit_begins, audit_ends, audit_id, erase_checkpoints};
pub use clean::{
    OPEN_STATES, OpenPage, Stretch, clean_audit, clean_checkpoints, clean_tasks, count_state,
    due_by, open_tasks, overdue, stretch_end,
};
pub use endpoint::{all_disabled, disable, disabled, enable};
pub use flows::{flows, flows_begun_by};
pub use jobs::{count, jobs, remember};
pub use kv::{clean_keys, keys, put_key};
pub use list::{Index, Look, Plan, some};
pub use stats::{Counts, count_duplicates};
pub use stats_read::{StatsRange, fold_stats, stats, total_stats};
pub use task::{checkpoint, flush, flush_stub, read_version, tombstone};

/// A value to bind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// NULL.
    Null,
    /// An integer; D1 takes it as a double, so below 2^53.
    Int(u64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Value {
    /// Bytes that it adds to a message, roughly.
    pub fn size(&self) -> usize {
        match self {
            Self::Null | Self::Int(_) => 8,
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
        }
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A statement with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// SQL with `?1`, `?2`, …
    pub sql: &'static str,
    /// The values, in order.
    pub values: Vec<Value>,
}

/// An error text of D1 that is about this row itself: trying again cannot help, a stub row can.
pub fn is_about_the_row(error: &str) -> bool {
    [
        "SQLITE_TOOBIG",
        "string or blob too big",
        "SQLITE_CONSTRAINT",
        "constraint failed",
    ]
    .iter()
    .any(|text| error.contains(text))
}
