//! The key-value store of flows: each key is an object of its own, which decides here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs)]
pub enum KvType {
    Number,
    Boolean,
    String,
    Datetime,
    Date,
    Duration,
    Json,
}

/// A value under a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KvEntry {
    /// The value, in JSON.
    pub value: Value,
    /// Its type.
    pub kind: KvType,
    /// From then on there is none, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// Grows with each change; the first one is 1.
    pub version: u64,
}

/// When a key may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KvWhen {
    /// Whatever is there.
    Always,
    /// If nothing is there.
    Missing,
    /// If what is there has this version.
    Version(u64),
}

/// What is to be done with a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KvOp {
    /// Read it.
    Get,
    /// Set it.
    Set {
        /// The value, in JSON.
        value: Value,
        /// Its type.
        kind: KvType,
        /// How long it stays; `None`: for good.
        ttl_ms: Option<u64>,
        /// When it may be set.
        when: KvWhen,
    },
    /// Remove it.
    Delete,
}

/// A message to the object of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KvCall {
    /// Namespace.
    pub namespace: String,
    /// Key.
    pub key: String,
    /// What is to be done.
    pub op: KvOp,
    /// The same when a step is done again: a `Set` that finds its own mark has happened.
    pub mark: String,
}

/// The answer to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KvReply {
    /// What is there; an expired one is not.
    Found(Option<KvEntry>),
    /// It is set, and has this version.
    Set {
        /// The version.
        version: u64,
    },
    /// Something else is there than may be replaced.
    Refused(Option<KvEntry>),
    /// It is gone; whether it was there.
    Deleted(bool),
}
