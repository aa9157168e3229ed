//! Requests to a gateway: sent on once per key, or passed through.

use super::App;
use super::ingress::{deliver, misconfigured};
use super::line::{Line, Met};
use super::ports::Edge;
use super::serve::{Body, Exchange, read};
use super::within;
use crate::config::{Gateway, METHODS};
use crate::function::{FetchError, OutRequest};
use crate::http::auth::Gate;
use crate::http::code::Code;
use crate::http::gateway;
use crate::http::problem::Problem;
use crate::http::route;
use crate::types::Answer;

/// `/proxy/{name}` and what is below it.
pub(super) async fn proxy(
    name: &str,
    tail: &str,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
    gate: &Gate,
) -> Result<Answer, Problem> {
    let gateway = app
        .gateway(name)
        .ok_or_else(|| Problem::new(Code::NotFound, "No gateway has this name."))?;
    let asked = "access-control-request-method";
    if exchange.method == "OPTIONS" && exchange.headers.get(asked).is_some() {
        // A browser asks whether it may ask; it has no token for that.
        return Ok(route::preflight(&METHODS.join(", ")));
    }
    let target = match exchange.target.split_once('?') {
        Some((_, query)) => format!("{tail}?{query}"),
        None => tail.to_owned(),
    };
    let mut line = Line::of("gateway", name);
    let answer = sent_on(
        gateway,
        &target,
        exchange,
        body,
        edge,
        (app, gate),
        &mut line,
    )
    .await;
    line.write(edge, exchange, answer)
}

async fn sent_on(
    gateway: &Gateway,
    target: &str,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    (app, gate): (&App, &Gate),
    line: &mut Line,
) -> Result<Answer, Problem> {
    let head = exchange.delivery();
    gateway::check(gateway, target, &head)?;
    let caller = gate.caller(&exchange.headers)?;
    let lookup = |name: &str| edge.secret(name);
    if !gateway.is_idempotent(&exchange.method) {
        let request = gateway::through(gateway, target, &head, &lookup)?;
        let answer = pass(gateway, request, body, edge).await?;
        line.met = Met::Passed;
        return Ok(answer);
    }
    // Where nothing can be sent nothing is begun.
    gateway
        .check_secrets(&lookup)
        .map_err(|problem| misconfigured(edge, &[problem]))?;
    let body = read(body).await?;
    line.bytes = body.len();
    let admitted = gateway::admit(gateway, target, &head, &caller, body)?;
    let carried = deliver(admitted, None, exchange, edge, app, false).await?;
    line.met = carried.met;
    Ok(carried.answer)
}

async fn pass(
    gateway: &Gateway,
    request: OutRequest,
    body: &mut dyn Body,
    edge: &Edge,
) -> Result<Answer, Problem> {
    let (limit_ms, method) = (gateway.origin_timeout_ms(), request.method.clone());
    match within(edge, limit_ms, body.pass(request)).await {
        Some(Ok(response)) => Ok(Answer {
            status: response.status,
            headers: gateway::passed_on(&method, &response.headers),
            body: response.body,
        }),
        Some(Err(error)) => {
            let why = match error {
                FetchError::Refused(why) | FetchError::Network(why) => why,
                FetchError::TooLarge { .. } => "too large".to_owned(),
            };
            let text = "There was no connection to the origin, or it broke before an answer came.";
            Err(Problem::new(Code::OriginUnreachable, text).because(why))
        }
        None => Err(Problem::new(
            Code::OriginUnknown,
            format!(
                "The origin gave no answer within {limit_ms} ms. Whether it carried the request out is unknown."
            ),
        )),
    }
}
