//! A request of the platform, answered by the runtime.

use super::edge::{PlatformEdge, Waits};
use super::selfcall::INTERNAL_HOST;
use super::{App, clock, wire};
use crate::config::ConfigProblem;
use crate::runtime::{self, Edge, Exchange};
use std::rc::Rc;
use worker::{Context, Env, Request, Response, Result};

/// Answers one request.
///
/// # Errors
/// When the platform itself fails; what a sender can get wrong is an answer.
pub async fn serve(
    mut request: Request,
    env: Env,
    ctx: Context,
    app: &std::result::Result<App, Vec<ConfigProblem>>,
) -> Result<Response> {
    let started_ms = clock::now_ms();
    let (path, target) = wire::target(&request)?;
    let exchange = Exchange {
        // The library takes a method that it does not know for GET.
        method: request.inner().method(),
        path,
        target,
        headers: wire::headers(&request),
        inside: request
            .url()
            .is_ok_and(|url| url.host_str() == Some(INTERNAL_HOST)),
        started_ms,
    };
    let edge: Edge = Rc::new(PlatformEdge::new(env, Waits::Request(ctx)));
    let mut body = wire::Incoming::of(&mut request);
    let answer = runtime::serve(&edge, &exchange, &mut body, app).await;
    let instead = body.instead();
    wire::response(answer, exchange.method == "HEAD", instead)
}
