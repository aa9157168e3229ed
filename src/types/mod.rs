//! Ring 0: the words that everything else is written in. No I/O, no clock, no randomness.

pub mod failure;
pub mod id;
pub mod payload;
pub mod policy;
pub mod time;

pub use failure::{Failure, FailureKind};
pub use id::{StepId, TaskId, TaskKey, TaskKind, Token};
pub use payload::{Answer, Headers, Input};
pub use policy::{AfterExpiry, History, Keeps, Policy};
