//! What operators change about flows. Each change is written into the audit.

use super::super::App;
use super::super::audit::{Act, audited};
use super::super::ports::Edge;
use super::super::serve::{Body, Exchange, read_up_to};
use super::registry::{Changed, Lost};
use super::show::{document, no_parameters};
use super::{lost, registry};
use crate::function::flow::digest;
use crate::http::auth::Caller;
use crate::http::code::Code;
use crate::http::flows::{
    CheckedDocument, FlowName, Pointer, Serving, TriggerLine, YAML_TYPES, checked_text, is_dry_run,
    json_answer, no_flow, precondition,
};
use crate::http::media;
use crate::http::problem::Problem;
use crate::limits::MAX_FLOW_BYTES;
use crate::types::{Answer, Headers};
use serde_json::json;

/// Why a change is not made.
enum Fault {
    Lost(Lost),
    Refused(Box<Problem>),
}

impl From<Lost> for Fault {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::Refused(Box::new(problem))
    }
}

impl Fault {
    fn problem(self, edge: &Edge, name: &FlowName) -> Problem {
        match self {
            Self::Lost(why) => lost(edge, name, why),
            Self::Refused(problem) => *problem,
        }
    }
}

fn act<'a>(caller: &'a Caller, action: &'static str, name: &FlowName) -> Act<'a> {
    Act {
        caller,
        action,
        task_id: None,
        detail: json!({ "flow": name.to_string() }),
    }
}

/// The revision that a flow has now, for an instance with these flows of its own.
fn revision_of(pointer: &Pointer, bundled: Option<&str>) -> Option<u64> {
    match pointer.serving(bundled) {
        Serving::Revision(revision) => Some(revision.revision),
        // It is there, and will have a revision once it is used.
        Serving::New => Some(0),
        Serving::Nothing => None,
    }
}

/// `PUT /v1/flows/{namespace}/{id}`.
pub(in crate::runtime) async fn put(
    name: &FlowName,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
    caller: &Caller,
) -> Result<Answer, Problem> {
    let dry_run = is_dry_run(&exchange.target)?;
    let types: Vec<String> = YAML_TYPES.iter().map(ToString::to_string).collect();
    media::check(&exchange.headers, &types)?;
    let bytes = read_up_to(body, MAX_FLOW_BYTES).await?;
    let (text, flow) = checked_text(name, bytes)?;
    let own = app
        .flows()
        .of_name(name)
        .map(|bundled| bundled.digest.as_str());
    let digest = digest(&text);
    let registry = registry(edge, app);
    if dry_run {
        let pointer = registry.pointer(name).await;
        let pointer = pointer.map_err(|error| lost(edge, name, error))?;
        precondition(&exchange.headers, revision_of(&pointer, own))?;
        let serving = match pointer.serving(own) {
            Serving::Revision(revision) => Some(revision.digest.as_str()),
            Serving::New => own,
            Serving::Nothing => None,
        };
        let checked = CheckedDocument {
            namespace: name.namespace.clone(),
            id: name.id.clone(),
            valid: true,
            changes: serving != Some(digest.as_str()),
            digest,
        };
        return Ok(json_answer(200, &checked));
    }
    let mut act = act(caller, "deploy_flow", name);
    act.detail["digest"] = digest.as_str().into();
    let work = async {
        registry
            .put_text(&text)
            .await
            .map_err(|error| lost(edge, name, error))?;
        let now_ms = edge.now_ms();
        let make = |pointer: &Pointer| {
            precondition(&exchange.headers, revision_of(pointer, own))?;
            let triggers = TriggerLine::of(&flow);
            Ok(pointer.with_deployed(&digest, &caller.name, triggers, now_ms))
        };
        let changed = registry.change::<Fault>(name, make).await;
        let Changed { pointer, before } = changed.map_err(|fault| fault.problem(edge, name))?;
        let is_new = revision_of(&before, own).is_none();
        let revision = pointer.deployed().cloned().ok_or_else(no_flow)?;
        let current = Some(revision.revision);
        let document = document(name, &pointer, (&revision, current), Some(&*flow), &text);
        let mut answer = document.to_answer(if is_new { 201 } else { 200 }, false);
        answer.headers.push("location", name.address());
        Ok(answer)
    };
    audited(edge, act, work).await
}

/// `POST /v1/flows/{namespace}/{id}/disable` and `…/enable`.
pub(in crate::runtime) async fn set_disabled(
    name: &FlowName,
    disable: bool,
    exchange: &Exchange,
    edge: &Edge,
    app: &App,
    caller: &Caller,
) -> Result<Answer, Problem> {
    no_parameters(&exchange.target)?;
    let action = if disable {
        "disable_flow"
    } else {
        "enable_flow"
    };
    let own = app
        .flows()
        .of_name(name)
        .map(|bundled| bundled.digest.as_str());
    let registry = registry(edge, app);
    let work = async {
        let make = |pointer: &Pointer| {
            let now = revision_of(pointer, own);
            if now.is_none() {
                return Err(no_flow().into());
            }
            precondition(&exchange.headers, now)?;
            Ok(pointer.with_disabled(disable))
        };
        let changed = registry.change::<Fault>(name, make).await;
        let changed = changed.map_err(|fault| fault.problem(edge, name))?;
        super::show::shown(edge, &registry, name, changed.pointer, None, false).await
    };
    audited(edge, act(caller, action, name), work).await
}

/// `DELETE /v1/flows/{namespace}/{id}`: what was deployed at run time. The release's own, if there is one, is back.
pub(in crate::runtime) async fn delete(
    name: &FlowName,
    exchange: &Exchange,
    edge: &Edge,
    app: &App,
    caller: &Caller,
) -> Result<Answer, Problem> {
    no_parameters(&exchange.target)?;
    let own = app
        .flows()
        .of_name(name)
        .map(|bundled| bundled.digest.as_str());
    let registry = registry(edge, app);
    let work = async {
        let make = |pointer: &Pointer| {
            let Some(next) = pointer.without_deployed() else {
                return Err(match own {
                    None => no_flow(),
                    Some(_) => Problem::new(
                        Code::NotFound,
                        "Nothing is deployed over the release's own text of this flow; it can be disabled.",
                    ),
                }
                .into());
            };
            precondition(&exchange.headers, revision_of(pointer, own))?;
            Ok(Some(next))
        };
        let changed = registry.change::<Fault>(name, make).await;
        changed.map_err(|fault| fault.problem(edge, name))?;
        Ok(Answer {
            status: 204,
            headers: Headers::default(),
            body: Vec::new(),
        })
    };
    audited(edge, act(caller, "delete_flow", name), work).await
}
