//! The function that runs flows: it carries out what `flow::plan` decides. Retries, waits, undoing, continuations and
//! crashes are those of every function: each task of a flow is a step.

mod arrive;
mod block;
mod end;
mod execution;
mod input;
mod leaf;
mod listeners;
mod lookups;
mod looping;
mod pausing;
mod schedule;
mod task;
mod tries;
mod undo;

pub use arrive::{Arrival, Arrived, Secrets, arrive, check_call, check_inputs, webhook_by_key};
pub use input::{Begun, FLOW_FIELD, FlowInput, FlowRef, PREFIX};
pub use listeners::listens;
pub use schedule::{schedule_holds, scheduled};

use super::ctx::Ctx;
use super::handler::{Function, Raw};
use crate::flow::model::Flow;
use crate::flow::read;
use crate::types::{Failure, Input, Policy};
use execution::Execution;
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::rc::Rc;

/// Name of the function that stands for all flows. No address has it; a task of a flow has the name
/// `flow:{namespace}/{id}`.
pub const FLOW: &str = "onceward.flow";

/// How flows are run. Their tasks have retries of their own: attempts are for crashes.
pub fn policy() -> Policy {
    Policy::default()
}

/// The function.
pub fn flow() -> Function {
    Function::new(FLOW, run)
        .policy_of(policy())
        .undo("flow", undo::known)
        .undo_unknown("flow-any", undo::any)
}

async fn run(ctx: Ctx, input: Input) -> Result<Raw, Failure> {
    let begun = FlowInput::read(input)?;
    let flow = flow_of(&ctx, &begun.flow.digest).await?;
    Execution::begin(ctx, flow, begun)?.run().await
}

/// The name of a flow's text: the hexadecimal SHA-256 of it.
///
/// ```
/// use onceward::function::flow::digest;
/// assert!(digest("id: a").starts_with("fef138e8"));
/// ```
pub fn digest(text: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(text.as_bytes())
        .iter()
        .fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}

/// So many flows are kept ready.
const READY: usize = 32;

thread_local! {
    static FLOWS: RefCell<Vec<(String, Rc<Flow>)>> = const { RefCell::new(Vec::new()) };
}

/// A flow that is ready, by the digest of its text.
pub fn ready(digest: &str) -> Option<Rc<Flow>> {
    FLOWS.with_borrow_mut(|flows| {
        let at = flows.iter().position(|(known, _)| known == digest)?;
        let found = flows.remove(at);
        let flow = Rc::clone(&found.1);
        flows.push(found);
        Some(flow)
    })
}

/// Reads a flow and keeps it ready.
///
/// # Errors
/// All that is wrong with it.
pub fn prepare(text: &str) -> Result<Rc<Flow>, Vec<crate::flow::diagnostic::Diagnostic>> {
    let digest = digest(text);
    if let Some(flow) = ready(&digest) {
        return Ok(flow);
    }
    let flow = Rc::new(read::read(text)?);
    FLOWS.with_borrow_mut(|flows| {
        if flows.len() >= READY {
            flows.remove(0);
        }
        flows.push((digest, Rc::clone(&flow)));
    });
    Ok(flow)
}

/// The flow of this digest: ready, or fetched.
async fn flow_of(ctx: &Ctx, digest: &str) -> Result<Rc<Flow>, Failure> {
    if let Some(flow) = ready(digest) {
        return Ok(flow);
    }
    let text = ctx.run.host.flow_text(digest.to_owned()).await?;
    prepare(&text).map_err(|problems| unreadable(&problems))
}

/// It could be read when it was accepted: by another release.
fn unreadable(problems: &[crate::flow::diagnostic::Diagnostic]) -> Failure {
    let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let message = format!("this release does not read the flow: {}", listed.join("; "));
    Failure::terminal("flow_unreadable", message).cut()
}
