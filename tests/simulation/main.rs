//! The whole runtime on a virtual clock: ingress, slices with real functions, objects, D1, cron and the outside,
//! with faults before and after every effect. One seed decides everything.
//!
//! `make simulate SEEDS=1..500` runs it. A seed that fails prints the story of the key, and the fewest faults that
//! are needed for it.

mod chance;
mod conformance;
mod d1;
mod edge;
mod exec;
mod figures;
mod gateway;
#[path = "../chaos/history/mod.rs"]
#[allow(dead_code)] // shared with the runs on workerd
mod history;
mod objects;
mod outside;
mod plain;
mod previous;
#[path = "../chaos/programs.rs"]
mod programs;
mod reuse;
mod run;
mod shrink;
mod support;
mod tests;
mod town;
mod workers;
mod world;
