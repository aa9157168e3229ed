//! Flows as JSON, for operators.

use super::pointer::{Pointer, Revision, TriggerLine};
use super::{FlowName, Origin};
use crate::flow::diagnostic::Diagnostic;
use crate::flow::model::Flow;
use crate::http::code::Code;
use crate::http::problem::Problem;
use crate::types::time::rfc3339;
use crate::types::{Answer, Headers};
use serde::Serialize;
use serde_json::{Value, json};
use similar::TextDiff;

/// What a text is called on the wire.
pub const YAML: &str = "application/yaml";
/// The types that a text is taken as.
pub const YAML_TYPES: &[&str] = &[
    YAML,
    "application/x-yaml",
    "text/yaml",
    "text/x-yaml",
    "text/vnd.yaml",
];

/// A flow, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct FlowLine {
    /// Namespace.
    pub namespace: String,
    /// Id.
    pub id: String,
    /// The revision that it has now; none before its release's own was used for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// `api` or `bundle`.
    pub source: &'static str,
    /// Whether it takes nothing.
    pub disabled: bool,
    /// Its triggers.
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = Vec<Object>))]
    pub triggers: Vec<TriggerLine>,
}

/// The list of flows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct FlowList {
    /// By namespace and id.
    pub flows: Vec<FlowLine>,
}

/// A revision of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct RevisionDocument {
    /// 1, 2, …
    pub revision: u64,
    /// Whether it is the one that the flow has now.
    pub current: bool,
    /// `api` or `bundle`.
    pub source: &'static str,
    /// Hexadecimal SHA-256 of its text.
    pub digest: String,
    /// Since when.
    #[cfg_attr(not(target_arch = "wasm32"), schema(format = DateTime))]
    pub at: String,
    /// Name of the token that deployed it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
}

/// The revisions of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct RevisionList {
    /// Namespace.
    pub namespace: String,
    /// Id.
    pub id: String,
    /// The newest first.
    pub revisions: Vec<RevisionDocument>,
}

/// A revision of a flow with its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct FlowDocument {
    /// Namespace.
    pub namespace: String,
    /// Id.
    pub id: String,
    /// Which revision this is; none of a text that is only checked.
    #[serde(flatten)]
    #[cfg_attr(not(target_arch = "wasm32"), schema(inline))]
    pub revision: RevisionDocument,
    /// Whether the flow takes nothing.
    pub disabled: bool,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its triggers.
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = Vec<Object>))]
    pub triggers: Vec<TriggerLine>,
    /// Names of its inputs.
    pub inputs: Vec<String>,
    /// Its text.
    pub text: String,
}

/// What came of checking a text that is not deployed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct CheckedDocument {
    /// Namespace.
    pub namespace: String,
    /// Id.
    pub id: String,
    /// Nothing is wrong with it.
    pub valid: bool,
    /// The flow has another text now, or none.
    pub changes: bool,
    /// Hexadecimal SHA-256 of it.
    pub digest: String,
}

impl RevisionDocument {
    fn of(revision: &Revision, current: Option<u64>) -> Self {
        Self {
            revision: revision.revision,
            current: current == Some(revision.revision),
            source: revision.source.as_str(),
            digest: revision.digest.clone(),
            at: rfc3339(revision.at_ms),
            by: revision.by.clone(),
        }
    }
}

impl RevisionList {
    /// Of a flow whose revision is `current` now.
    pub fn of(name: &FlowName, pointer: &Pointer, current: Option<u64>) -> Self {
        let newest = pointer.revisions.iter().rev();
        Self {
            namespace: name.namespace.clone(),
            id: name.id.clone(),
            revisions: newest.map(|r| RevisionDocument::of(r, current)).collect(),
        }
    }
}

impl FlowDocument {
    /// Of a revision. `flow` is what this release reads in its text, if it still does.
    pub fn of(
        name: &FlowName,
        pointer: &Pointer,
        (revision, current): (&Revision, Option<u64>),
        flow: Option<&Flow>,
        text: &str,
    ) -> Self {
        Self {
            namespace: name.namespace.clone(),
            id: name.id.clone(),
            revision: RevisionDocument::of(revision, current),
            disabled: pointer.disabled || flow.is_some_and(|flow| flow.disabled),
            description: flow.and_then(|flow| flow.description.clone()),
            triggers: flow.map(TriggerLine::of).unwrap_or_default(),
            inputs: flow.map_or_else(Vec::new, |flow| {
                flow.inputs.iter().map(|input| input.id.clone()).collect()
            }),
            text: text.to_owned(),
        }
    }

    /// As an answer; `yaml`: the text alone.
    pub fn to_answer(&self, status: u16, yaml: bool) -> Answer {
        let mut answer = if yaml {
            let headers = std::iter::once(("content-type", YAML)).collect();
            Answer {
                status,
                headers,
                body: self.text.clone().into_bytes(),
            }
        } else {
            json_answer(status, self)
        };
        let tag = format!("\"{}\"", self.revision.revision);
        answer.headers.set("cache-control", "no-store");
        answer.headers.push("vary", "Accept");
        answer.headers.push("etag", tag);
        answer
    }
}

/// A document of this file as an answer.
pub fn json_answer(status: u16, document: &impl Serialize) -> Answer {
    // It holds texts and numbers only.
    let mut answer = Answer::json(status, &serde_json::to_value(document).unwrap_or_default());
    answer.headers.push("cache-control", "no-store");
    answer
}

/// A flow of a release, in a list.
pub fn bundled_line(
    name: &FlowName,
    flow: &Flow,
    pointer: Option<&Pointer>,
    digest: &str,
) -> FlowLine {
    let known = pointer.and_then(|pointer| pointer.of_digest(digest));
    FlowLine {
        namespace: name.namespace.clone(),
        id: name.id.clone(),
        revision: known.map(|r| r.revision),
        source: Origin::Bundle.as_str(),
        disabled: flow.disabled || pointer.is_some_and(|pointer| pointer.disabled),
        triggers: TriggerLine::of(flow),
    }
}

/// A flow that was deployed at run time, in a list; `None` if none is.
pub fn deployed_line(name: &FlowName, pointer: &Pointer) -> Option<FlowLine> {
    let revision = pointer.deployed()?;
    Some(FlowLine {
        namespace: name.namespace.clone(),
        id: name.id.clone(),
        revision: Some(revision.revision),
        source: Origin::Api.as_str(),
        disabled: pointer.disabled,
        triggers: pointer.triggers.clone(),
    })
}

/// The problem of a text that is no flow: everything at once.
pub fn invalid(diagnostics: Vec<Diagnostic>) -> Problem {
    let detail = match diagnostics.as_slice() {
        [one] => one.to_string(),
        many => format!("The flow has {} problems; `errors` lists them.", many.len()),
    };
    Problem::new(Code::FlowInvalid, detail).diagnostics(diagnostics)
}

/// One thing that is wrong with a flow, as problem documents list it.
pub fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let mut shown = json!({
        "detail": diagnostic.detail,
        "pointer": diagnostic.path,
        "line": diagnostic.at.line,
        "column": diagnostic.at.column,
    });
    if let Some(nearest) = &diagnostic.nearest {
        shown["nearest"] = nearest.as_str().into();
    }
    shown
}

/// Whether the client would rather have the text than the document.
pub fn wants_yaml(headers: &Headers) -> bool {
    let accept = headers
        .get("accept")
        .unwrap_or_default()
        .to_ascii_lowercase();
    accept.split(',').any(|range| {
        let kind = range.split(';').next().unwrap_or_default().trim();
        YAML_TYPES.contains(&kind)
    })
}

/// What differs between two texts, as a unified diff; empty if nothing does.
///
/// ```
/// use onceward::http::flows::diff;
/// let shown = diff(("1", "id: a\nn: 1\n"), ("2", "id: a\nn: 2\n"));
/// assert_eq!(shown, "--- 1\n+++ 2\n@@ -1,2 +1,2 @@\n id: a\n-n: 1\n+n: 2\n");
/// ```
pub fn diff((old_name, old): (&str, &str), (new_name, new): (&str, &str)) -> String {
    if old == new {
        return String::new();
    }
    let lines = TextDiff::from_lines(old, new);
    lines.unified_diff().header(old_name, new_name).to_string()
}

/// Lets a change go on if the flow is as `If-Match` or `If-None-Match` want it.
///
/// # Errors
/// 412.
///
/// ```
/// use onceward::http::flows::precondition;
/// use onceward::types::Headers;
/// let with = |name: &str, value: &str| [(name, value)].into_iter().collect::<Headers>();
/// assert!(precondition(&with("If-Match", "\"3\""), Some(3)).is_ok());
/// assert!(precondition(&with("If-Match", "\"3\", \"4\""), Some(4)).is_ok());
/// assert_eq!(precondition(&with("If-Match", "\"3\""), Some(4)).unwrap_err().status(), 412);
/// assert!(precondition(&with("If-Match", "*"), None).is_err());
/// assert!(precondition(&with("If-None-Match", "*"), Some(1)).is_err());
/// ```
pub fn precondition(headers: &Headers, revision: Option<u64>) -> Result<(), Problem> {
    let all = |name: &str| {
        let fields = headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let values: Vec<&str> = fields.map(|(_, value)| value).collect();
        (!values.is_empty()).then(|| values.join(","))
    };
    let has = |list: &str| {
        let tag = revision.map(|n| format!("\"{n}\""));
        list.split(',').map(str::trim).any(|one| match &tag {
            Some(tag) => one == "*" || one == tag,
            None => false,
        })
    };
    let fits = all("if-match").is_none_or(|list| has(&list))
        && all("if-none-match").is_none_or(|list| !has(&list));
    if fits {
        return Ok(());
    }
    let now = match revision {
        Some(n) => format!("The flow has revision {n}."),
        None => "There is no such flow.".to_owned(),
    };
    Err(Problem::new(
        Code::PreconditionFailed,
        format!("{now} Nothing was changed."),
    ))
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
