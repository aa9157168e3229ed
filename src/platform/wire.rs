//! Requests and responses of the platform as this crate's values, and back.

use crate::runtime::{Body, BodyFault};
use crate::types::{Answer, Headers};
use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use worker::{Request, Response, ResponseBuilder};

/// The fields of a request.
pub(super) fn headers(request: &Request) -> Headers {
    request.headers().entries().collect()
}

/// Path and query as they were sent.
pub(super) fn target(request: &Request) -> worker::Result<(String, String)> {
    let url = request.url()?;
    let path = url.path().to_owned();
    let target = match url.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.clone(),
    };
    Ok((path, target))
}

/// The body of a request that has come in.
pub(super) struct Incoming<'a>(pub(super) &'a mut Request);

impl Body for Incoming<'_> {
    fn read(&mut self, limit_bytes: usize) -> LocalBoxFuture<'_, Result<Vec<u8>, BodyFault>> {
        Box::pin(body(self.0, limit_bytes))
    }
}

/// Reads a body, up to the limit.
async fn body(request: &mut Request, limit_bytes: usize) -> Result<Vec<u8>, BodyFault> {
    if request.inner().body().is_none() {
        return Ok(Vec::new());
    }
    let mut stream = request.stream().map_err(|_| BodyFault::CutOff)?;
    let mut body = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| BodyFault::CutOff)?;
        body.extend_from_slice(&chunk);
        if body.len() > limit_bytes {
            return Err(BodyFault::TooLarge);
        }
    }
    Ok(body)
}

/// An answer for the platform to send.
pub(super) fn response(answer: Answer, without_body: bool) -> worker::Result<Response> {
    let fields = worker::Headers::new();
    for (name, value) in answer.headers.iter() {
        fields.append(name, value)?;
    }
    let builder = ResponseBuilder::new()
        .with_status(answer.status)
        .with_headers(fields);
    // These statuses have no body by definition; the platform refuses one.
    let bodiless = matches!(answer.status, 101 | 103 | 204 | 205 | 304);
    if bodiless || without_body {
        return Ok(builder.empty());
    }
    Ok(builder.fixed(answer.body))
}
