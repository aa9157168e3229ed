//! Ring 0: the words that everything else is written in. No I/O, no clock, no randomness.

pub mod about;
pub mod cost;
pub mod database;
pub mod failure;
pub mod id;
pub mod notice;
pub mod payload;
pub mod policy;
pub mod prices;
pub mod time;

pub use about::{About, Trace};
pub use cost::{AFTER_END, Cost};
pub use database::Database;
pub use failure::{Failure, FailureKind};
pub use id::{StepId, TaskId, TaskKey, TaskKind, Token};
pub use notice::{NoticeKind, Watch};
pub use payload::{Answer, Headers, Input};
pub use policy::{AfterExpiry, History, Keeps, Policy};
