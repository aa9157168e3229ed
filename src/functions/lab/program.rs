//! What a program is, once it is known to be right.

use crate::function::{Failure, Headers, KvOp, OutRequest, Policy, Retry};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::rc::Rc;

/// A whole program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    pub(super) answer: OwnAnswer,
    /// A policy of its own; `None` for the function's.
    pub(super) policy: Option<Policy>,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Call(Box<Call>),
    Value {
        name: String,
        value: Rc<Value>,
    },
    Sleep {
        name: String,
        time: Time,
    },
    Signal {
        name: String,
        /// Longest wait; `None` for no limit.
        timeout_ms: Option<u64>,
    },
    Parallel {
        name: String,
        branches: Vec<Vec<Step>>,
    },
    Repeat {
        name: String,
        times: u32,
        step: Box<Step>,
    },
    /// Keeps a cursor.
    Save(Rc<Value>),
    Child(Box<Child>),
    Keyed(Box<Keyed>),
    Locked(Box<Locked>),
    Plain(Plain),
}

/// A step that has no record.
#[derive(Clone, Debug)]
pub(super) enum Plain {
    Wait { ms: u64 },
    Burn { ms: u64 },
    Fail(Failure),
    Panic,
}

impl Step {
    /// The longest time that a call in it may take, of those that say what to do if its outcome is
    /// unknown: only they may take longer than a slice.
    pub(super) fn longest_ms(&self) -> u64 {
        match self {
            Self::Call(call) if call.on_unknown.is_some() => call.timeout_ms.unwrap_or(0),
            Self::Repeat { step, .. } => step.longest_ms(),
            Self::Locked(locked) => {
                let steps = locked.steps.iter();
                steps.map(Self::longest_ms).max().unwrap_or(0)
            }
            Self::Parallel { branches, .. } => {
                let steps = branches.iter().flatten();
                steps.map(Self::longest_ms).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Whether it, or a step in it, keeps a cursor.
    pub(super) fn saves(&self) -> bool {
        match self {
            Self::Save(_) => true,
            Self::Repeat { step, .. } => step.saves(),
            Self::Parallel { branches, .. } => branches.iter().flatten().any(Self::saves),
            Self::Locked(locked) => locked.steps.iter().any(Self::saves),
            _ => false,
        }
    }

    /// Whether a step in it keeps a cursor while another branch may be under way.
    pub(super) fn saves_beside_others(&self) -> bool {
        match self {
            Self::Repeat { step, .. } => step.saves_beside_others(),
            Self::Parallel { branches, .. } if branches.len() > 1 => self.saves(),
            Self::Parallel { branches, .. } => {
                branches.iter().flatten().any(Self::saves_beside_others)
            }
            _ => false,
        }
    }
}

/// When a sleep ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// This many milliseconds after it began.
    For(u64),
    /// At this time, in milliseconds since 1970.
    Until(u64),
}

/// A request to send.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) request: OutRequest,
    pub(super) retry: Retry,
    pub(super) timeout_ms: Option<u64>,
    pub(super) accept: Accept,
    pub(super) undo: Option<UndoRequest>,
    /// `None`: not chosen, which is as good as to send it again.
    pub(super) on_unknown: Option<OnUnknown>,
}

/// The request that takes a call back. What is recorded with the call, and handed to the handler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct UndoRequest {
    pub(super) method: String,
    pub(super) url: String,
    /// `None`: the outcome of the call.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    pub(super) body: Option<Value>,
}

/// Whether a request of this method carries no body.
pub(super) fn takes_no_body(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

/// What is done about a call of which nobody knows whether it came through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OnUnknown {
    /// It is sent again, under the same key.
    Retry,
    /// The task fails.
    Fail,
    /// Another request tells.
    Probe { method: String, url: String },
}

/// Another task to begin and wait for.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub(super) name: String,
    pub(super) function: String,
    pub(super) key: String,
    pub(super) input: Value,
}

/// A key of the key-value store, and what is done with it.
#[derive(Clone, Debug)]
pub(super) struct Keyed {
    pub(super) name: String,
    pub(super) key: String,
    pub(super) op: KvOp,
}

/// Steps that run while a lock is held.
#[derive(Clone, Debug)]
pub(super) struct Locked {
    /// That of the lock, too.
    pub(super) name: String,
    pub(super) limit: u32,
    pub(super) queue: u32,
    pub(super) steps: Vec<Step>,
}

/// Which statuses a call takes for a success: ranges, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Accept(pub(super) Vec<(u16, u16)>);

impl Accept {
    pub(super) fn success() -> Self {
        Self(vec![(200, 299)])
    }

    pub(super) fn takes(&self, status: u16) -> bool {
        self.0
            .iter()
            .any(|(least, most)| (*least..=*most).contains(&status))
    }
}

/// The answer that a program asks for.
#[derive(Clone, Debug)]
pub(super) struct OwnAnswer {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: Body,
}

/// The body of an answer.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// The task's id and the outcomes of the steps.
    Outcomes,
    /// A JSON value.
    Json(Value),
    /// Bytes as given.
    Bytes(Vec<u8>),
    /// None at all.
    Empty,
}

impl Default for OwnAnswer {
    fn default() -> Self {
        Self {
            status: 200,
            headers: Headers::default(),
            body: Body::Outcomes,
        }
    }
}

/// A member that may be `null` and still is there.
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    #[allow(clippy::ref_option)] // the shape is serde's
    pub(super) fn serialize<S: Serializer>(
        value: &Option<Value>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Value>, D::Error> {
        Value::deserialize(deserializer).map(Some)
    }
}
