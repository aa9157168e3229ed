//! What happens on a bench, and what can go wrong with it.

use crate::function::{FetchError, OutRequest, OutResponse};
use crate::types::{Headers, TaskId};

/// What a slice does to the outside; and one thing that an object does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Claims with a ticket.
    Claim,
    /// Sends a request out.
    Fetch,
    /// Has outcomes recorded.
    Record,
    /// Hands the task on, or waits.
    Suspend,
    /// Reports the end of the attempt.
    Finish,
    /// Begins another task.
    Begin,
    /// Looks at another task.
    Look,
    /// Reads or changes a key, or lists keys.
    Kv,
    /// Takes a lock, or lets it go.
    Lock,
    /// The object tells another task what it is owed: a parent of the end, a child of a cancellation.
    /// A crash is one of this object.
    Debt,
}

/// One action of a run: the `nth` of its kind (1, 2, …), counted over all slices of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) action: Action,
    pub(super) nth: usize,
}

impl Point {
    pub(super) fn new(action: Action, nth: usize) -> Self {
        Self { action, nth }
    }
}

/// What goes wrong at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The slice dies before anything leaves it.
    CrashBefore,
    /// It has its effect, and the slice dies before it hears of it.
    CrashAfter,
    /// It has its effect, and the reply is lost.
    LoseReply,
    /// It arrives twice.
    Double,
    /// The other side is slow: what runs beside it ends first.
    Slow,
    /// The other side is busy: 503, and nothing was done.
    Busy,
}

/// An action that was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) at_ms: u64,
    pub(super) task_id: TaskId,
    pub(super) point: Point,
    /// What went wrong with it.
    pub(super) fault: Option<Fault>,
}

/// A request that reached the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at_ms: u64,
    /// When the response was there, or would have been for somebody who still waited.
    pub answered_ms: u64,
    /// Which request with this derived key it is: 1, 2, …
    pub nth: usize,
    /// As it was sent.
    pub request: OutRequest,
}

impl Sent {
    /// Its derived key: the value of its `Idempotency-Key`.
    pub fn key(&self) -> &str {
        self.request.headers.get("idempotency-key").unwrap_or("")
    }
}

/// What the outside does with a request.
#[derive(Clone, Debug)]
pub struct Reaction {
    pub(super) after_ms: u64,
    pub(super) result: Result<OutResponse, FetchError>,
}

impl Reaction {
    /// A response without a body.
    pub fn status(status: u16) -> Self {
        Self::bytes(status, "text/plain", b"")
    }

    /// A JSON response; the text is sent as it is.
    pub fn json(status: u16, text: &str) -> Self {
        Self::bytes(status, "application/json", text.as_bytes())
    }

    /// A response of this content type.
    pub fn bytes(status: u16, content_type: &str, body: &[u8]) -> Self {
        let mut headers = Headers::default();
        headers.push("content-type", content_type);
        Self {
            after_ms: 0,
            result: Ok(OutResponse {
                status,
                headers,
                body: body.to_vec(),
            }),
        }
    }

    /// A whole response.
    pub fn of(response: OutResponse) -> Self {
        Self {
            after_ms: 0,
            result: Ok(response),
        }
    }

    /// A response that is no failure.
    pub(super) fn is_success(&self) -> bool {
        self.result
            .as_ref()
            .is_ok_and(|response| response.status < 400)
    }

    /// Adds a field to the response, if there is one.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Ok(response) = &mut self.result {
            response.headers.push(name, value);
        }
        self
    }

    /// No response. The work may have been done.
    pub fn error(error: FetchError) -> Self {
        Self {
            after_ms: 0,
            result: Err(error),
        }
    }

    /// Comes later than it would.
    #[must_use]
    pub(super) fn later_ms(mut self, ms: u64) -> Self {
        self.after_ms += ms;
        self
    }

    /// Comes after a while.
    #[must_use]
    pub fn after_ms(mut self, ms: u64) -> Self {
        self.after_ms = ms;
        self
    }
}
