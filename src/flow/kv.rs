//! The key-value store of flows: each key is an object of its own, which decides here.

use crate::limits;
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

impl KvType {
    /// The word used in rows and documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Number => "NUMBER",
            Self::Boolean => "BOOLEAN",
            Self::String => "STRING",
            Self::Datetime => "DATETIME",
            Self::Date => "DATE",
            Self::Duration => "DURATION",
            Self::Json => "JSON",
        }
    }
}

/// A value under a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KvEntry {
    /// The value, in JSON.
    pub value: Value,
    /// Its type.
    pub kind: KvType,
    /// From then on there is none, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// Grows with each change; the first one is 1. It goes on growing for a week after the key is gone.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        #[serde(default)]
        ttl_ms: Option<u64>,
        /// When it may be set.
        when: KvWhen,
    },
    /// Remove it.
    Delete,
}

/// A message to the object of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KvCall {
    /// Namespace.
    pub namespace: String,
    /// Key.
    pub key: String,
    /// What is to be done.
    pub op: KvOp,
    /// The same when a step is done again: a `Set` or `Delete` that finds its own mark has happened. Empty: no
    /// step.
    #[serde(default)]
    pub mark: String,
}

/// The answer to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// What the object of a key keeps. Without an entry it is a trace, so that versions go on growing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Namespace.
    pub namespace: String,
    /// Key.
    pub key: String,
    /// The value; one that has expired counts as none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<KvEntry>,
    /// The last version that was given out.
    pub version: u64,
    /// When it was last changed, or later: grows with each change.
    #[serde(default)]
    pub changed_ms: u64,
    /// Since when there is no entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_ms: Option<u64>,
    /// The last changes, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// A change that has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The mark of its call.
    pub mark: String,
    /// The version that came of it; `None`: it was a deletion.
    #[serde(default)]
    pub version: Option<u64>,
}

/// Changes by which a repeat is known. Others may change a key between a step and its repeat.
const MARKS: usize = 16;

impl Stored {
    /// What is there at this time.
    pub fn live(&self, now_ms: u64) -> Option<&KvEntry> {
        let lives = |entry: &&KvEntry| entry.expires_at_ms.is_none_or(|at| now_ms < at);
        self.entry.as_ref().filter(lives)
    }

    /// Without a value whose time is over; `None` if nothing of it is over.
    #[must_use]
    pub fn expired(&self, now_ms: u64) -> Option<Self> {
        let at_ms = self.entry.as_ref()?.expires_at_ms?;
        (at_ms <= now_ms).then(|| Self {
            entry: None,
            gone_ms: Some(at_ms),
            ..self.clone()
        })
    }

    /// When the next part of it is over: the value, then the trace.
    pub fn due_ms(&self) -> Option<u64> {
        match &self.entry {
            Some(entry) => entry.expires_at_ms,
            None => Some(self.gone_ms? + limits::KV_TRACE_MS),
        }
    }

    fn marked(&self, call: &KvCall) -> Option<&Mark> {
        let sets = matches!(call.op, KvOp::Set { .. });
        let same = |m: &&Mark| m.mark == call.mark && m.version.is_some() == sets;
        self.marks.iter().find(same)
    }

    /// After a change: without an entry for a deletion.
    fn changed(before: Option<&Self>, call: &KvCall, entry: Option<KvEntry>, now_ms: u64) -> Self {
        let last_ms = before.map_or(0, |s| s.changed_ms);
        let changed_ms = now_ms.max(last_ms + 1);
        let version = before.map_or(0, |s| s.version) + 1;
        let mark = (!call.mark.is_empty()).then(|| Mark {
            mark: call.mark.clone(),
            version: entry.is_some().then_some(version),
        });
        let earlier = before.map_or(&[][..], |s| &s.marks);
        Self {
            namespace: call.namespace.clone(),
            key: call.key.clone(),
            gone_ms: entry.is_none().then_some(now_ms),
            entry: entry.map(|entry| KvEntry { version, ..entry }),
            version,
            changed_ms,
            marks: mark
                .into_iter()
                .chain(earlier.iter().cloned())
                .take(MARKS)
                .collect(),
        }
    }
}

/// What comes of a call: what is to be kept from now on, if that changes, and the answer.
///
/// ```
/// use onceward::flow::kv::{KvCall, KvOp, KvReply, KvType, KvWhen, decide};
/// let set = |mark: &str| KvCall {
///     namespace: "shop".into(),
///     key: "order-1".into(),
///     op: KvOp::Set { value: true.into(), kind: KvType::Boolean, ttl_ms: None, when: KvWhen::Missing },
///     mark: mark.into(),
/// };
/// let (kept, reply) = decide(None, &set("a"), 1_000);
/// assert_eq!(reply, KvReply::Set { version: 1 });
/// // The same step once more has happened already; another one finds it taken.
/// assert_eq!(decide(kept.as_ref(), &set("a"), 2_000), (None, KvReply::Set { version: 1 }));
/// assert!(matches!(decide(kept.as_ref(), &set("b"), 2_000).1, KvReply::Refused(Some(_))));
/// ```
pub fn decide(stored: Option<&Stored>, call: &KvCall, now_ms: u64) -> (Option<Stored>, KvReply) {
    let live = stored.and_then(|s| s.live(now_ms));
    let mark = stored
        .filter(|_| !call.mark.is_empty())
        .and_then(|s| s.marked(call));
    match &call.op {
        KvOp::Get => (None, KvReply::Found(live.cloned())),
        KvOp::Set {
            value,
            kind,
            ttl_ms,
            when,
        } => {
            if let Some(version) = mark.and_then(|m| m.version) {
                return (None, KvReply::Set { version });
            }
            let may = match when {
                KvWhen::Always => true,
                KvWhen::Missing => live.is_none(),
                KvWhen::Version(version) => live.is_some_and(|e| e.version == *version),
            };
            if !may {
                return (None, KvReply::Refused(live.cloned()));
            }
            let entry = KvEntry {
                value: value.clone(),
                kind: *kind,
                expires_at_ms: ttl_ms.map(|ms| now_ms + ms.clamp(1, limits::MAX_KV_TTL_MS)),
                version: 0,
            };
            let next = Stored::changed(stored, call, Some(entry), now_ms);
            let version = next.version;
            (Some(next), KvReply::Set { version })
        }
        KvOp::Delete => {
            if mark.is_some() {
                return (None, KvReply::Deleted(true));
            }
            if live.is_none() {
                return (None, KvReply::Deleted(false));
            }
            let next = Stored::changed(stored, call, None, now_ms);
            (Some(next), KvReply::Deleted(true))
        }
    }
}

/// Refuses what no key can be: one has 1 to 255 letters, digits, `.`, `_` and `-`, a letter or digit first.
///
/// # Errors
/// Says what is wrong with it.
///
/// ```
/// use onceward::flow::kv::check_key;
/// assert!(check_key("order-1.paid").is_ok());
/// assert!(check_key("order 1").unwrap_err().contains("\"order 1\""));
/// assert!(check_key("").is_err() && check_key(".x").is_err());
/// ```
pub fn check_key(key: &str) -> Result<(), String> {
    let most = limits::MAX_KV_KEY_CHARS;
    let first = |b: u8| b.is_ascii_alphanumeric();
    let plain = |b: u8| first(b) || matches!(b, b'.' | b'_' | b'-');
    if key.len() > most {
        return Err(format!(
            "a key has {most} characters at most; this one has {} bytes",
            key.len()
        ));
    }
    if key.bytes().next().is_some_and(first) && key.bytes().all(plain) {
        return Ok(());
    }
    Err(format!(
        "{key:?} is no key: 1 to {most} letters, digits, `.`, `_` and `-`, the first a letter or digit"
    ))
}

/// Refuses what the object of a key does not take: its names, a time that it cannot stay for, a value that is
/// too large.
///
/// # Errors
/// Says what is wrong with it.
pub fn check(call: &KvCall) -> Result<(), String> {
    check_key(&call.key)?;
    check_key(&call.namespace).map_err(|_| format!("{:?} is no namespace", call.namespace))?;
    let KvOp::Set { value, ttl_ms, .. } = &call.op else {
        return Ok(());
    };
    let most = limits::MAX_KV_TTL_MS;
    if ttl_ms.is_some_and(|ms| ms == 0 || ms > most) {
        return Err(format!(
            "a value stays for 1 to {most} ms, or for good; not for {} ms",
            ttl_ms.unwrap_or(0)
        ));
    }
    let (got, most) = (value.to_string().len(), limits::MAX_KV_VALUE_BYTES);
    if got > most {
        return Err(format!(
            "a value has {most} bytes of JSON at most; this one has {got}"
        ));
    }
    Ok(())
}
