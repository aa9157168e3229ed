//! What the runtime needs of the platform: nothing here decides anything.

use super::tally::Tally;
use crate::config::Endpoints;
use crate::function::{FetchError, OutRequest, OutResponse};
use crate::http::object_call::{Call, Reply};
use crate::protocol::{Event, Moment};
use crate::store::cells::Cells;
use crate::store::commit::{CommitError, Committed};
use crate::store::d1::Statement;
use crate::types::{Database, Headers, Policy, TaskId, Token};
use futures::future::LocalBoxFuture;
use serde_json::{Map, Value};
use std::rc::Rc;

/// Something that the platform was asked for, and comes later.
pub type Later<T> = LocalBoxFuture<'static, T>;

/// The platform, as everything that runs in one invocation shares it.
pub type Edge = Rc<dyn Platform>;

/// Why a message to an object brought no reply. It may have been applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The object has too much to do.
    Overloaded,
    /// The connection broke, the object was replaced, what came back is no reply.
    Failed(String),
}

/// What D1 says to one statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The rows that it read.
    pub rows: Vec<Map<String, Value>>,
    /// Rows that it inserted, changed or deleted.
    pub changes: u64,
    /// Rows written as they are billed: index entries count as well.
    pub written: u64,
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something that operators want to see.
    Info,
    /// Something that should not have happened.
    Error,
}

/// A continuation, ready to be sent to a new invocation of this Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// The task that goes on.
    pub task_id: TaskId,
    /// Hops of the chain so far.
    pub hop: u32,
    /// Fields to send.
    pub headers: Headers,
    /// The body to send, to [`CONTINUE_PATH`].
    pub body: Vec<u8>,
}

/// Where continuations are sent to.
pub const CONTINUE_PATH: &str = "/internal/continue";

/// What an invocation of the Worker, or an object, has at hand. The platform implements it in
/// production; the simulation does so with a virtual clock and faults.
pub trait Platform {
    /// Milliseconds since 1970. It may stand still between two waits.
    fn now_ms(&self) -> u64;
    /// Waits.
    fn sleep(&self, ms: u64) -> Later<()>;
    /// A fresh random token.
    fn token(&self) -> Token;
    /// 0–1000, at random.
    fn jitter(&self) -> u32;
    /// One try to bring a message to its object.
    fn send(&self, call: &Call) -> Later<Result<Reply, Broken>>;
    /// Sends a ticket to a new invocation of this Worker; says what status came back.
    fn go_on(&self, continuation: Continuation) -> Later<Result<u16, String>>;
    /// How many databases there are, 1 or more: new tasks are spread over them.
    fn databases(&self) -> u16;
    /// Runs statements as one transaction of one database. A failure says nothing about whether they
    /// were applied.
    fn d1(
        &self,
        database: Database,
        statements: Vec<Statement>,
    ) -> Later<Result<Vec<Rows>, String>>;
    /// Sends a request of a step to the outside. Dropping the future aborts it.
    fn fetch(&self, request: OutRequest) -> Later<Result<OutResponse, FetchError>>;
    /// Goes on with this after the answer.
    fn wait_until(&self, work: Later<()>);
    /// A secret of the deployment.
    fn secret(&self, name: &str) -> Option<String>;
    /// Whether the platform's rate limiter of this name lets one more pass under this key.
    ///
    /// # Errors
    /// There is no such limiter, or it does not answer.
    fn admits(&self, limiter: &str, key: &str) -> Later<Result<bool, String>>;
    /// Writes a line to the log.
    fn log(&self, level: Level, event: &str, fields: Value);
    /// How long a slice may run before it is cut off without a word, where the platform does not do
    /// that by itself.
    fn cut_ms(&self, policy: &Policy) -> Option<u64>;
    /// Where operators want to be told.
    fn endpoints(&self) -> Rc<Endpoints>;
    /// Deliveries that this instance of the Worker has counted.
    fn tally(&self) -> &Tally;
    /// Writes a point for the platform's analytics, if a dataset is bound: texts and numbers, the first text
    /// being what they are sampled by.
    fn point(&self, texts: &[&str], numbers: &[f64]);
    /// Counts rows and alarms that an object has written.
    fn count(&self, what: &'static str, by: u64);
    /// Shows the lab's faults, and sets them first if that is wished.
    ///
    /// # Errors
    /// Everything that is wrong with the wish.
    #[cfg(feature = "lab")]
    fn faults(&self, wish: Option<&Value>) -> Result<Value, Vec<String>>;
    /// What the lab has counted.
    #[cfg(feature = "lab")]
    fn counters(&self) -> Value;
}

/// The storage of one object. What happens between two awaits is one atomic step.
pub trait ObjectStorage {
    /// For reading.
    fn cells(&self) -> &dyn Cells;
    /// Loads, decides and writes as one transaction: if it fails, nothing of it stays.
    ///
    /// # Errors
    /// When the storage fails or holds what this release cannot read.
    fn commit(&self, id: TaskId, event: Event, moment: Moment) -> Result<Committed, CommitError>;
    /// Sets the alarm. It belongs to the atomic step before it, as nothing is awaited in between.
    fn set_alarm(&self, at_ms: u64) -> Later<Result<(), String>>;
    /// When the alarm rings, if one is set.
    fn alarm_ms(&self) -> Later<Result<Option<u64>, String>>;
    /// Deletes everything, the alarm included.
    fn delete_all(&self) -> Later<Result<(), String>>;
}
