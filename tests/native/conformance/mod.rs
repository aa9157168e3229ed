//! The HTTP standards, item by item: which there are, who they concern, and which tests show that they are met.
//! `docs/conformance.md` is made from this, by `ONCEWARD_UPDATE=1 make unit`.

mod http;
mod ietf;
mod items;
mod page;
mod prefer;
mod problem;
mod webhooks;
