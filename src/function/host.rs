//! What a slice needs of the outside: its object, a clock, the network. The edge implements it on the
//! platform, tests on a virtual clock.

use super::bulk::BulkPage;
use super::flow::FlowRef;
use crate::flow::kv::{KvCall, KvReply};
use crate::flow::lock::{LockCall, LockReply};
use crate::protocol::{Finish, Outcome, Parent, Record, Reply, Suspend};
use crate::types::{About, Answer, Failure, Headers, Input, TaskId, TaskKey, Token};
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

/// A task that a step begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildBegin {
    /// Scope and key.
    pub key: TaskKey,
    /// The function to run.
    pub function: String,
    /// What it gets.
    pub input: Input,
    /// Who is owed the end; `None`: nobody.
    pub parent: Option<Parent>,
    /// Hops of the chain so far.
    pub hop: u32,
    /// What must be equal under the same key, if the author chose that.
    pub fingerprint: Option<String>,
    /// The tasks that it comes from.
    pub lineage: Vec<TaskId>,
    /// Labels and trace, which it inherits.
    pub about: About,
}

/// Where a child stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildSays {
    /// It has been accepted and has not ended.
    Moving,
    /// It has ended: what the step of the parent makes of it.
    Ended(Outcome),
    /// There is no such task.
    Gone,
    /// It cannot be begun: no such function, an input that it does not take, another task's key.
    Refused(Failure),
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
    /// Begins another task, or joins one of the same key.
    fn begin_child(
        &self,
        begin: ChildBegin,
    ) -> LocalBoxFuture<'static, Result<ChildSays, CallError>>;
    /// Looks at another task.
    fn look_at_child(
        &self,
        task_id: TaskId,
    ) -> LocalBoxFuture<'static, Result<ChildSays, CallError>>;
    /// The token of the `n`th one-time address of a signal, the same whenever it is asked for;
    /// `None` where the deployment has no secret to make one from.
    fn signal_token(&self, name: &str, n: u32) -> Option<String>;
    /// Carries an operation out for some tasks.
    fn bulk(
        &self,
        page: BulkPage,
    ) -> LocalBoxFuture<'static, Result<crate::http::bulk::Report, Failure>>;
    /// Since when an endpoint of notifications wants no more, in milliseconds since 1970; `None` if it is told.
    fn disabled_since(&self, endpoint: &str) -> LocalBoxFuture<'static, Option<u64>>;
    /// Remembers that an endpoint of notifications wants no more.
    fn disable(&self, endpoint: &str) -> LocalBoxFuture<'static, ()>;
    /// The text of a flow by its digest. Retryable while it cannot be had.
    fn flow_text(&self, digest: String) -> LocalBoxFuture<'static, Result<String, Failure>>;
    /// The revision of a flow that a new task of it runs. Terminal (`flow_not_found`, `flow_disabled`) if there is
    /// none, retryable while that cannot be told.
    fn flow_current(
        &self,
        namespace: String,
        id: String,
    ) -> LocalBoxFuture<'static, Result<FlowRef, Failure>>;
    /// The flows that the end of an execution may begin: those with a trigger for it, as they are now. Retryable while
    /// that cannot be told.
    fn flow_listeners(&self) -> LocalBoxFuture<'static, Result<Vec<FlowRef>, Failure>>;
    /// Reads or changes a key of the key-value store.
    fn kv(&self, call: KvCall) -> LocalBoxFuture<'static, Result<KvReply, CallError>>;
    /// Keys of a namespace that begin with this, in order, [`crate::limits::MAX_KV_KEYS`] at most: as D1
    /// knows them, some moments late.
    fn kv_keys(
        &self,
        namespace: &str,
        prefix: &str,
    ) -> LocalBoxFuture<'static, Result<Vec<String>, CallError>>;
    /// Takes a lock, or lets it go.
    fn lock(&self, call: LockCall) -> LocalBoxFuture<'static, Result<LockReply, CallError>>;
    /// A secret of the deployment; never the API token.
    fn secret(&self, name: &str) -> Option<String>;
    /// Makes a function's answer fit to be stored, or says why it cannot be.
    ///
    /// # Errors
    /// A terminal failure that names the fault.
    fn fit(&self, answer: Answer) -> Result<Answer, Failure>;
}
