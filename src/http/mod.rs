//! Ring 2: HTTP as values. Requests come in as method, path, fields and bytes; answers go out as
//! [`Answer`](crate::types::Answer). Nothing here reads a socket or a clock.
//!
//! | file | decides |
//! |---|---|
//! | `route`, `route_means` | which route a request means, from one table |
//! | `admit`, `hook`, `prove` | whether a call or a webhook may begin or join a task, in the order of checks of the contract |
//! | `split` | a delivery with many events |
//! | `body` | the coding and nesting of a body |
//! | `auth` | whose bearer token it is, and what it opens |
//! | `audit` | what operators did, as a list |
//! | `prefer` | what the client prefers (RFC 7240) |
//! | `profile` | what callers of a function are promised: keys, statuses |
//! | `policy`, `policy_parts`, `policy_page` | the same for each route, as a document and as a page |
//! | `media` | which types of bodies a route takes |
//! | `headers` | which fields are stored with a task or an answer |
//! | `answer` | what the sender gets, from where the task stands |
//! | `document`, `waiting` | the task as JSON |
//! | `show`, `validator` | one task for who polls it: `ETag` and 304 |
//! | `object_call`, `frame` | how Worker and object talk to each other |
//! | `gateway` | what goes on to the origin of a gateway, and what comes back |
//! | `target` | which addresses a function may call |
//! | `explain` | why the signature of a delivery does not hold |
//! | `signal` | whether a signal may be sent, and what it says |
//! | `steer` | what an operator asks for, and what the answer is |
//! | `stored` | what a task was sent and what it answered |
//! | `erase` | which task is to be erased |
//! | `journal` | the records of a task as JSON |
//! | `flows` | names, revisions and documents of flows; whether a delivery may begin one |
//! | `stats`, `metrics` | statistics as JSON, and as the text that Prometheus reads |
//! | `openapi` | the API as a document for programs |
//! | `query` | the parameters of an address |
//! | `filter` | which tasks are asked for |
//! | `sse` | how live events are written, and what is news |
//! | `reused` | what is said of a key that belongs to another request |
//! | `problem`, `code` | errors as problem documents (RFC 9457) |
//! | `page` | pages for people: of errors and policies |

pub mod admit;
pub mod answer;
pub mod audit;
pub mod auth;
pub mod body;
pub mod bulk;
pub mod code;
mod cors;
pub mod document;
pub mod erase;
pub mod explain;
pub mod filter;
pub mod flows;
mod frame;
pub mod gateway;
pub mod headers;
pub mod hook;
pub mod journal;
pub mod media;
pub mod metrics;
pub mod object_call;
mod object_reply;
pub mod openapi;
pub mod page;
pub mod policy;
pub mod policy_page;
mod policy_parts;
pub mod prefer;
pub mod problem;
pub mod profile;
pub mod prove;
pub mod query;
pub mod reused;
pub mod route;
mod route_means;
#[cfg(test)]
mod sample;
pub mod seal;
pub mod show;
pub mod signal;
pub mod split;
pub mod sse;
pub mod stats;
pub mod steer;
pub mod stored;
pub mod target;
pub mod validator;
pub mod waiting;
pub mod words;
