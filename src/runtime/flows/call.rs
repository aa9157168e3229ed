//! A call of a flow, with its inputs.

use super::super::App;
use super::super::line::{Line, Met};
use super::super::ports::Edge;
use super::super::serve::{Body, Exchange, read};
use super::{begin, disabled, lost, registry, secret};
use crate::function::flow::Secrets;
use crate::http::auth::Gate;
use crate::http::flows::{
    CallOf, FlowName, Known, admit_call, as_execution, check_head, labels_in, no_flow, unpacked,
};
use crate::http::prefer::Prefer;
use crate::http::problem::Problem;
use crate::http::profile::CallRules;
use crate::types::Answer;

/// Answers it, by the contract of calls.
pub(in crate::runtime) async fn call(
    name: &FlowName,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    (app, gate): (&App, &Gate),
) -> Result<Answer, Problem> {
    let mut line = Line::of("flow", &name.to_string());
    let answer = called(name, exchange, body, edge, (app, gate), &mut line).await;
    line.write(edge, exchange, answer)
}

async fn called(
    name: &FlowName,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    (app, gate): (&App, &Gate),
    line: &mut Line,
) -> Result<Answer, Problem> {
    let head = exchange.delivery();
    check_head(&head)?;
    // Before anything is looked up: that costs a request.
    let caller = gate.caller(&exchange.headers)?;
    let current = registry(edge, app).current(name).await;
    let current = current.map_err(|error| lost(edge, name, error))?;
    let current = current.ok_or_else(no_flow)?;
    let bytes = read(body).await?;
    line.bytes = bytes.len();
    let bytes = unpacked(&exchange.headers, bytes)?;
    let labels = labels_in(&exchange.target)?;
    let fresh = edge.token();
    let prefer = Prefer::read(&exchange.headers);
    let key = CallRules::default().key_of(&exchange.headers, prefer, fresh.as_str())?;
    if current.disabled {
        return Err(disabled());
    }
    let lookup = |name: &str| secret(edge, name);
    let call = CallOf {
        name,
        revision: &current.revision,
        flow: &current.flow,
        delivery: &head,
        body: &bytes,
        tenant: &caller.tenant,
        labels: &labels,
        key: &key,
    };
    let begins = admit_call(&call, &Secrets(&lookup))?;
    let carried = begin(begins, exchange, edge, app).await?;
    line.met = carried.met;
    if carried.answer.status != 202 {
        return Ok(carried.answer);
    }
    let known = Known {
        name,
        trigger: None,
        revision: Some(current.revision.revision).filter(|_| carried.met == Met::Began),
    };
    Ok(as_execution(carried.answer, &known))
}
