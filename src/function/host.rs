//! What a slice needs of the outside: its object, a clock, the network. The edge implements it on the
//! platform, tests on a virtual clock.

use crate::protocol::{Finish, Record, Reply, Suspend};
use crate::types::{Answer, Failure, Headers, Token};
use futures::future::LocalBoxFuture;

/// An outgoing request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// Absolute, `http` or `https`.
    pub url: String,
    /// Fields to send.
    pub headers: Headers,
    /// Bytes to send; empty for none.
    pub body: Vec<u8>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutResponse {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub headers: Headers,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// Why nothing came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchError {
    /// The target may not be called; trying again does not help.
    Refused(String),
    /// No connection, or it broke; the other side may have done the work.
    Network(String),
    /// The response is larger than a step's outcome can be.
    TooLarge {
        /// The limit in bytes.
        limit_bytes: usize,
    },
}

/// Why a message to the object has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// Re-sent until the lease was nearly over, without a reply.
    Unreachable(String),
    /// The object knows no such task.
    Gone,
}

/// The outside of one slice.
///
/// The three messages are re-sent by the implementation, with the same `op`, until a reply comes or
/// the lease is nearly over.
pub trait Host {
    /// Milliseconds of a clock that does not step back during the slice.
    fn now_ms(&self) -> u64;
    /// Waits.
    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()>;
    /// A fresh random value.
    fn token(&self) -> Token;
    /// 0–1000, at random.
    fn jitter(&self) -> u32;
    /// Sends a request out.
    fn fetch(
        &self,
        request: OutRequest,
    ) -> LocalBoxFuture<'static, Result<OutResponse, FetchError>>;
    /// Records outcomes.
    fn record(&self, record: Record) -> LocalBoxFuture<'static, Result<Reply, CallError>>;
    /// Hands the task on.
    fn suspend(&self, suspend: Suspend) -> LocalBoxFuture<'static, Result<Reply, CallError>>;
    /// Ends the attempt. The reply comes with the body of the stored answer, if there is one.
    fn finish(&self, finish: Finish) -> LocalBoxFuture<'static, Result<Reply, CallError>>;
    /// Makes a function's answer fit to be stored, or says why it cannot be.
    ///
    /// # Errors
    /// A terminal failure that names the fault.
    fn fit(&self, answer: Answer) -> Result<Answer, Failure>;
}
