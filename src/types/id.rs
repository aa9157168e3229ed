//! Names: of tasks, of steps, and the random tokens that fence writers.

use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// Namespace of every UUIDv5 that Onceward derives. Changing it would give every key a new task.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f6e_6365_7761_7264_8000_0000_0000_0001);

/// How a delivery reached us: through a webhook source or by a call of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// `POST /hooks/{source}`.
    Source,
    /// `POST /v1/functions/{name}`.
    Function,
}

impl TaskKind {
    /// The word used in rows and documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Function => "function",
        }
    }
}

/// What names a task: its scope (kind, name, tenant) and the idempotency key within it.
///
/// ```
/// use onceward::types::{TaskKey, TaskKind};
/// let a = TaskKey::new(TaskKind::Source, "github", "", "k1");
/// let b = TaskKey::new(TaskKind::Function, "github", "", "k1");
/// assert_eq!(a.task_id(), TaskKey::new(TaskKind::Source, "github", "", "k1").task_id());
/// assert_ne!(a.task_id(), b.task_id());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskKey {
    /// Webhook source or function.
    pub kind: TaskKind,
    /// Name of the source or function.
    pub name: String,
    /// Label from the configuration of the source or token; empty when there is one tenant.
    #[serde(default)]
    pub tenant: String,
    /// The idempotency key as the sender gave it, unquoted.
    pub key: String,
}

impl TaskKey {
    /// A key within its scope.
    pub fn new(kind: TaskKind, name: &str, tenant: &str, key: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            tenant: tenant.to_owned(),
            key: key.to_owned(),
        }
    }

    /// The id that names the task and its object: UUIDv5 over the length-prefixed parts, so
    /// that no two different keys have the same bytes.
    pub fn task_id(&self) -> TaskId {
        TaskId(derive(&[
            self.kind.as_str(),
            &self.name,
            &self.tenant,
            &self.key,
        ]))
    }

    /// The id of the object that knows to which key of this scope signed bytes belong, from their SHA-256
    /// in hex. No task has it: no kind of task is called `signed_bytes`.
    ///
    /// ```
    /// use onceward::types::{TaskKey, TaskKind};
    /// let scope = |tenant| TaskKey::new(TaskKind::Source, "github", tenant, "k1");
    /// assert_eq!(scope("").owner_id("ab"), scope("").owner_id("ab"));
    /// assert_ne!(scope("").owner_id("ab"), scope("acme").owner_id("ab"));
    /// ```
    pub fn owner_id(&self, sha256: &str) -> TaskId {
        TaskId(derive(&["signed_bytes", &self.name, &self.tenant, sha256]))
    }
}

impl TaskId {
    /// The id of the object of a key of the key-value store. No task has it: none has a kind of this name.
    ///
    /// ```
    /// use onceward::types::TaskId;
    /// assert_eq!(TaskId::of_key("shop", "order-1"), TaskId::of_key("shop", "order-1"));
    /// assert_ne!(TaskId::of_key("shop.order", "1"), TaskId::of_key("shop", "order.1"));
    /// ```
    pub fn of_key(namespace: &str, key: &str) -> Self {
        Self(derive(&["kv_key", namespace, key]))
    }

    /// The id of the object of a lock.
    ///
    /// ```
    /// use onceward::types::TaskId;
    /// assert_ne!(TaskId::of_lock("till"), TaskId::of_lock("safe"));
    /// ```
    pub fn of_lock(name: &str) -> Self {
        Self(derive(&["lock", name]))
    }
}

/// UUIDv5 over length-prefixed parts.
fn derive(parts: &[&str]) -> Uuid {
    let mut bytes = Vec::with_capacity(parts.iter().map(|p| p.len() + 8).sum());
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    Uuid::new_v5(&NAMESPACE, &bytes)
}

/// The name of a task, the same for every delivery of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(Uuid);

impl TaskId {
    /// Reads the canonical lower-case form only, so that one task has one address.
    ///
    /// ```
    /// use onceward::types::TaskId;
    /// assert!(TaskId::parse("6f6e6365-7761-5264-8000-000000000001").is_some());
    /// assert!(TaskId::parse("6F6E6365-7761-5264-8000-000000000001").is_none());
    /// assert!(TaskId::parse("../etc").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let uuid = Uuid::try_parse(text).ok()?;
        (uuid.hyphenated().to_string() == text).then_some(Self(uuid))
    }

    /// What a place of this number bids for the task: the highest one gets it.
    pub(super) fn weight(self, place: u16) -> u128 {
        Uuid::new_v5(&self.0, &place.to_be_bytes()).as_u128()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// The identity of a step within one generation of a task.
///
/// ```
/// use onceward::types::StepId;
/// let first = StepId::new("", "charge", 0);
/// assert_ne!(first.cell(), StepId::new("", "charge", 1).cell());
/// // No name can be made to look like another identity.
/// assert_ne!(StepId::new("a", "b/c", 0).cell(), StepId::new("a/b", "c", 0).cell());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StepId {
    /// Path of the named branches that the step runs in; empty at the top.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The author's name for it.
    pub name: String,
    /// 0 for the first step of this name in this branch, then 1, …
    #[serde(default)]
    pub occurrence: u32,
}

impl StepId {
    /// An identity from its three parts.
    pub fn new(branch: &str, name: &str, occurrence: u32) -> Self {
        Self {
            branch: branch.to_owned(),
            name: name.to_owned(),
            occurrence,
        }
    }

    /// Unambiguous text that sorts by branch, then name, then occurrence within one branch and name.
    pub fn cell(&self) -> String {
        format!(
            "{:04}{}/{:04}{}/{:010}",
            self.branch.len(),
            self.branch,
            self.name.len(),
            self.name,
            self.occurrence
        )
    }

    /// The key that a step hands to the service it calls: stable over attempts and crashes,
    /// different between steps, occurrences, tasks and key generations.
    pub fn derived_key(&self, task: TaskId, key_generation: u64) -> Uuid {
        derive(&[
            "step",
            &task.to_string(),
            &key_generation.to_string(),
            &self.branch,
            &self.name,
            &self.occurrence.to_string(),
        ])
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.branch.is_empty() {
            write!(f, "{}/", self.branch)?;
        }
        f.write_str(&self.name)?;
        if self.occurrence > 0 {
            write!(f, "#{}", self.occurrence)?;
        }
        Ok(())
    }
}

/// A random value that proves something was granted to its holder: a ticket, a lease, an operation.
/// Always made by the caller of a pure function, never inside one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// Wraps text that the caller drew at random.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, to put into a message.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    /// Tokens are secrets: a few characters are enough to tell two apart in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head: String = self.0.chars().take(4).collect();
        write!(f, "Token({head}…)")
    }
}
