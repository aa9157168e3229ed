//! Requests and responses of the platform as this crate's values, and back.

use super::outbound;
use crate::function::{FetchError, OutRequest, OutResponse};
use crate::runtime::{Body, BodyFault};
use crate::types::{Answer, Headers};
use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;
use wasm_bindgen::JsValue;
use worker::{Error, Request, Response, ResponseBody, ResponseBuilder};

/// The fields of a request.
pub(super) fn headers(request: &Request) -> Headers {
    request.headers().entries().collect()
}

/// Path and query as they were sent: a parser would resolve dot segments, so that one address had many
/// spellings.
pub(super) fn target(request: &Request) -> worker::Result<(String, String)> {
    let url = request.inner().url();
    let (_, rest) = url
        .split_once("://")
        .ok_or_else(|| Error::RustError("an address without a scheme".into()))?;
    let start = rest.find(['/', '?']).unwrap_or(rest.len());
    let target = match &rest[start..] {
        target if target.starts_with('/') => target.to_owned(),
        query => format!("/{query}"),
    };
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Ok((path, target))
}

/// The body of a request that has come in.
pub(super) struct Incoming<'a> {
    request: &'a mut Request,
    passed: Option<ResponseBody>,
    streamed: Option<LocalBoxStream<'static, Vec<u8>>>,
}

impl<'a> Incoming<'a> {
    pub(super) fn of(request: &'a mut Request) -> Self {
        Self {
            request,
            passed: None,
            streamed: None,
        }
    }

    /// The body that stands for the answer's own.
    pub(super) fn instead(self) -> Option<Instead> {
        let passed = self.passed.map(Instead::Passed);
        passed.or(self.streamed.map(Instead::Streamed))
    }
}

/// A body that is not a value.
pub(super) enum Instead {
    /// Of a response that is passed through.
    Passed(ResponseBody),
    /// Made while it is sent.
    Streamed(LocalBoxStream<'static, Vec<u8>>),
}

impl Body for Incoming<'_> {
    fn read(&mut self, limit_bytes: usize) -> LocalBoxFuture<'_, Result<Vec<u8>, BodyFault>> {
        Box::pin(body(self.request, limit_bytes))
    }

    fn pass(&mut self, request: OutRequest) -> LocalBoxFuture<'_, Result<OutResponse, FetchError>> {
        let body = self.request.inner().body().map(JsValue::from);
        Box::pin(async move {
            let (head, body) = outbound::pass(&request, body).await?;
            self.passed = Some(body);
            Ok(head)
        })
    }

    fn stream(&mut self, bytes: LocalBoxStream<'static, Vec<u8>>) {
        self.streamed = Some(bytes);
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

/// An answer for the platform to send, with the body that stands for its own, if there is one.
pub(super) fn response(
    answer: Answer,
    without_body: bool,
    instead: Option<Instead>,
) -> worker::Result<Response> {
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
    match instead {
        Some(Instead::Passed(body)) => Ok(builder.body(body)),
        Some(Instead::Streamed(bytes)) => builder.from_stream(bytes.map(Ok::<_, Error>)),
        None => Ok(builder.fixed(answer.body)),
    }
}
