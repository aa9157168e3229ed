//! Sends the requests of a program: calls, undos and probes.

use super::program::{Accept, Call, OnUnknown, UndoRequest, takes_no_body};
use crate::function::{
    Ctx, Failure, Fetched, Function, Headers, OnUnknown as Unknown, OutRequest, StepScope, Undo,
};
use serde_json::{Map, Value};

/// Undoes calls of which it is known that they happened, with the outcome as body.
const UNDO: &str = "lab-undo";
/// Undoes all calls, with a body of its own.
const UNDO_UNKNOWN: &str = "lab-undo-unknown";

pub(super) async fn call(ctx: &Ctx, call: &Call) -> Result<Value, Failure> {
    let (request, accept) = (call.request.clone(), call.accept.clone());
    let mut step = ctx
        .step_scoped(&call.name, move |scope: StepScope| {
            let (request, accept) = (request.clone(), accept.clone());
            async move { judged(scope.send(request).await?, &accept, scope.clock_ms()) }
        })
        .retry(call.retry);
    if let Some(chosen) = &call.on_unknown {
        step = step.on_unknown(on_unknown(chosen));
    }
    if let Some(timeout_ms) = call.timeout_ms {
        step = step.timeout_ms(timeout_ms);
    }
    if let Some(undo) = &call.undo {
        let accepts_unknown = undo.body.is_some();
        let handler = if accepts_unknown { UNDO_UNKNOWN } else { UNDO };
        step = step.undo(handler, undo);
    }
    step.await
}

fn judged(fetched: Fetched, accept: &Accept, now_ms: u64) -> Result<Value, Failure> {
    if accept.takes(fetched.status) {
        return Ok(shown(fetched));
    }
    let mut failure = Failure::retryable("status", not_accepted(&fetched));
    failure.retry_after_ms = fetched.retry_after_ms(now_ms);
    Err(failure)
}

fn not_accepted(fetched: &Fetched) -> String {
    let status = fetched.status;
    format!("the target answered {status}, which is not accepted")
}

pub(super) fn shown(fetched: Fetched) -> Value {
    let mut out = Map::new();
    out.insert("status".to_owned(), fetched.status.into());
    out.insert("headers".to_owned(), Value::Object(fetched.headers));
    out.insert("body".to_owned(), fetched.body);
    Value::Object(out)
}

fn on_unknown(on_unknown: &OnUnknown) -> Unknown<Value> {
    match on_unknown {
        OnUnknown::Retry => Unknown::Retry,
        OnUnknown::Fail => Unknown::Fail,
        OnUnknown::Probe { method, url } => {
            let request = bare(method, url);
            Unknown::probe(move |scope: StepScope| {
                let request = request.clone();
                async move { told(scope.send(request).await?, scope.clock_ms()) }
            })
        }
    }
}

/// What the answer of a probe says: 2xx that it happened, 404 that it did not.
fn told(fetched: Fetched, now_ms: u64) -> Result<Option<Value>, Failure> {
    match fetched.status {
        200..300 => {
            let mut outcome = shown(fetched);
            outcome["probed"] = Value::Bool(true);
            Ok(Some(outcome))
        }
        404 => Ok(None),
        status => {
            let message = format!("the probe was answered {status}, which says neither yes nor no");
            let mut failure = Failure::retryable("probe", message);
            failure.retry_after_ms = fetched.retry_after_ms(now_ms);
            Err(failure)
        }
    }
}

fn bare(method: &str, url: &str) -> OutRequest {
    OutRequest {
        method: method.to_owned(),
        url: url.to_owned(),
        headers: Headers::default(),
        body: Vec::new(),
    }
}

/// Adds what undoes calls.
pub(super) fn with_undo(function: Function) -> Function {
    function
        .undo(UNDO, take_back)
        .undo_unknown(UNDO_UNKNOWN, take_back)
}

async fn take_back(scope: StepScope, undo: Undo<UndoRequest, Value>) -> Result<(), Failure> {
    let wanted = undo.input;
    let mut request = bare(&wanted.method, &wanted.url);
    let body = wanted.body.or(undo.outcome);
    if let Some(body) = body.filter(|_| !takes_no_body(&request.method)) {
        request.headers.push("content-type", "application/json");
        request.body = body.to_string().into_bytes();
    }
    scope.fetch(request).await.map(drop)
}
