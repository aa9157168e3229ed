//! A delivery at one of a flow's webhooks.

use super::super::App;
use super::super::line::{Line, Met};
use super::super::ports::Edge;
use super::super::serve::{Body, Exchange, read};
use super::{begin, disabled, lost, registry, secret};
use crate::function::flow::Secrets;
use crate::http::flows::{
    FlowHookAt, Given, Known, Seen, WEBHOOK, admit, as_execution, check_head, chosen, not_here,
    signed_source, unpacked,
};
use crate::http::hook::Arrived;
use crate::http::problem::Problem;
use crate::http::prove::{Proven, prove};
use crate::types::{Answer, Headers};
use crate::webhook::Proof;

/// Answers it. Whatever is wrong with the address, the answer is the same.
pub(in crate::runtime) async fn hook(
    at: &FlowHookAt,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
) -> Result<Answer, Problem> {
    let mut line = Line::of("flow", &at.name.to_string());
    let answer = hooked(at, exchange, body, edge, app, &mut line).await;
    line.write(edge, exchange, answer)
}

async fn hooked(
    at: &FlowHookAt,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
    line: &mut Line,
) -> Result<Answer, Problem> {
    let head = exchange.delivery();
    let name = &at.name;
    let current = registry(edge, app).current(name).await;
    let current = current.map_err(|error| lost(edge, name, error))?;
    let current = current.ok_or_else(not_here)?;
    let lookup = |name: &str| secret(edge, name);
    let secrets = Secrets(&lookup);
    let given = Given::of(at, &exchange.headers);
    let webhook = chosen(&current.flow, &given, &secrets).ok_or_else(not_here)?;
    if exchange.method == "HEAD" && webhook.signature.is_none() {
        return Err(Problem::method_not_allowed("GET, POST, PUT, OPTIONS"));
    }
    if current.disabled || webhook.disabled {
        return Err(disabled());
    }
    check_head(&head)?;
    let bytes = read(body).await?;
    line.bytes = bytes.len();
    let source = signed_source(name, webhook)?;
    let proven = match &source {
        None => Proven::Holds {
            body: unpacked(&exchange.headers, bytes)?,
            proof: Proof::default(),
            secret: None,
        },
        Some(source) => {
            let arrived = Arrived {
                delivery: &head,
                tenant: None,
                now_ms: exchange.started_ms,
            };
            prove(source, &arrived, bytes, &lookup)?
        }
    };
    let (bytes, proof) = match proven {
        Proven::Handshake(secret, answer) => {
            (line.met, line.secret) = (Met::Handshake, secret);
            return Ok(answer);
        }
        Proven::Holds {
            body,
            proof,
            secret,
        } => {
            line.secret = secret;
            (body, proof)
        }
    };
    let fresh = edge.token();
    let seen = Seen {
        name,
        revision: &current.revision,
        flow: &current.flow,
        webhook,
        delivery: &head,
        tail: &at.tail,
        body: &bytes,
        proof: source.as_ref().map(|source| (source, &proof)),
        fresh: fresh.as_str(),
    };
    begun(&seen, &secrets, exchange, edge, app, line).await
}

/// Begins what a delivery asks for, or joins it.
async fn begun(
    seen: &Seen<'_>,
    secrets: &Secrets<'_>,
    exchange: &Exchange,
    edge: &Edge,
    app: &App,
    line: &mut Line,
) -> Result<Answer, Problem> {
    let Some(begins) = admit(seen, secrets)? else {
        line.met = Met::Passed;
        return Ok(Answer {
            status: 204,
            headers: Headers::default(),
            body: Vec::new(),
        });
    };
    let carried = begin(begins, exchange, edge, app).await?;
    line.met = carried.met;
    if !carried.stands_in {
        return Ok(carried.answer);
    }
    let known = Known {
        name: seen.name,
        trigger: Some((&seen.webhook.id, WEBHOOK)),
        revision: Some(seen.revision.revision).filter(|_| carried.met == Met::Began),
    };
    let answer = as_execution(carried.answer, &known);
    Ok(match seen.proof {
        // Some providers want another form of it.
        Some((source, _)) => source.provider().ack.dress(answer, seen.body),
        None => answer,
    })
}
