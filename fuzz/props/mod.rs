//! What must hold, whatever comes in. One file for each fuzz target; `check` takes the bytes of the fuzzer or of a
//! file of `corpus/`, and panics where a property does not hold.
//!
//! The fuzz targets and `tests/native/fuzz_corpus.rs` run the same functions.

pub mod address;
pub mod canonical;
pub mod cells;
pub mod composite;
pub mod cursor;
pub mod delivery;
pub mod document;
pub mod explain;
pub mod fingerprint;
pub mod form;
pub mod frame;
pub mod gzip;
pub mod handshake;
pub mod headers;
mod input;
pub mod key;
pub mod object;
pub mod pack;
pub mod payload;
pub mod program;
pub mod route;
pub mod row;
pub mod scheme;
pub mod signal;
pub mod signature;
pub mod time;

/// Panics if it does not hold.
type Property = fn(&[u8]);

/// Name and property of every target.
pub const TARGETS: &[(&str, Property)] = &[
    ("address", address::check),
    ("canonical", canonical::check),
    ("cells", cells::check),
    ("composite", composite::check),
    ("cursor", cursor::check),
    ("delivery", delivery::check),
    ("document", document::check),
    ("explain", explain::check),
    ("fingerprint", fingerprint::check),
    ("form", form::check),
    ("frame", frame::check),
    ("gzip", gzip::check),
    ("handshake", handshake::check),
    ("headers", headers::check),
    ("key", key::check),
    ("object", object::check),
    ("pack", pack::check),
    ("payload", payload::check),
    ("program", program::check),
    ("route", route::check),
    ("row", row::check),
    ("scheme", scheme::check),
    ("signal", signal::check),
    ("signature", signature::check),
    ("time", time::check),
];
