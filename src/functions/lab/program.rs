//! What a program is, once it is known to be right.

use crate::function::{Failure, Headers, OutRequest, Policy, Retry};
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
    Call(Call),
    Value { name: String, value: Rc<Value> },
    Wait { ms: u64 },
    Burn { ms: u64 },
    Fail(Failure),
    Panic,
}

/// A request to send.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) request: OutRequest,
    pub(super) retry: Retry,
    pub(super) timeout_ms: Option<u64>,
    pub(super) accept: Accept,
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
