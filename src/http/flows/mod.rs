//! Flows as HTTP sees them: their names and addresses, what is known of their revisions, whether a delivery may begin
//! one, and what is shown of them.

mod admit;
mod ask;
mod call;
mod choose;
mod document;
mod execution;
mod inputs;
mod name;
mod pointer;

pub use admit::{Seen, admit};
pub use ask::{
    WEBHOOK, check_head, checked_text, diff_query, is_dry_run, labels_in, namespace_in, no_flow,
    no_revision, revision_in, schema_answer, unpacked,
};
pub use call::{CallOf, admit_call};
pub use choose::{FlowHookAt, Given, chosen, kept_headers, not_here, signed_source};
pub use document::{
    CheckedDocument, FlowDocument, FlowLine, FlowList, RevisionDocument, RevisionList, YAML,
    YAML_TYPES, bundled_line, deployed_line, diagnostic, diff, invalid, json_answer, precondition,
    wants_yaml,
};
pub use execution::{Known, as_execution};
pub use inputs::{Begins, labelled};
pub use name::FlowName;
pub use pointer::{Origin, POINTERS, Pointer, Revision, Serving, TEXTS, TriggerLine};
