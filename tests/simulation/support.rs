//! What the simulation shares with the end-to-end tests.

#[path = "../e2e/support/chance.rs"]
#[allow(dead_code)]
pub mod chance;
#[path = "../e2e/support/program.rs"]
#[allow(dead_code)]
mod program;

pub use program::*;
