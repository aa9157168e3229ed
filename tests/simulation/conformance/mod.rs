//! The HTTP standards, on the whole runtime and a virtual clock on which nothing goes wrong. Each test is
//! named after the item that it is for; `docs/conformance.md` lists them all.

mod desk;
mod http;
mod ietf;
mod ietf_answers;
mod policy;
mod prefer;
mod problem;
mod profiles;
