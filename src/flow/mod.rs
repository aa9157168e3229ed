//! Flows: functions in YAML. This ring reads and checks a flow, renders its expressions and decides what each of
//! its tasks does; it neither waits nor sends. `function::flow` carries out what is decided here.

pub mod diagnostic;
pub mod expression;
pub mod formats;
pub mod kv;
pub mod lock;
pub mod model;
pub mod plan;
pub mod read;
pub mod schema;
pub mod support;
pub mod yaml;
