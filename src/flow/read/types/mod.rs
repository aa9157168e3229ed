//! What is supported, as data.

mod condition;
mod flowable;
mod http;
mod retry;
mod simple;
mod trigger;

pub use condition::{CONDITION, CONDITIONS};
pub use retry::{RETRY, retry};
pub use trigger::{IDEMPOTENCY, PRECONDITION_FLOW, PRECONDITIONS, TRIGGER, TRIGGERS};

use super::spec::TypeSpec;
use crate::flow::model::Work;

/// Types of tasks.
pub fn tasks() -> impl Iterator<Item = &'static TypeSpec<Work>> {
    let simple = simple::SIMPLE.iter().chain(http::HTTP);
    flowable::FLOWABLE.iter().chain(simple)
}
