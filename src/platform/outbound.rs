//! Requests that steps send out.

use crate::function::{FetchError, OutRequest, OutResponse};
use crate::http::target;
use crate::limits;
use futures::StreamExt as _;
use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use worker::{
    AbortController, Fetch, Headers, Method, Request, RequestInit, RequestRedirect, Response,
    ResponseBody,
};

/// Sends a request. Dropping the future aborts it. Redirects are answers like any other: they are
/// not followed, so that nothing leads a step to where it may not go.
pub(super) async fn send(request: OutRequest) -> Result<OutResponse, FetchError> {
    let body = &request.body;
    let body = (!body.is_empty()).then(|| Uint8Array::from(body.as_slice()).into());
    let (mut response, _abort) = begin(&request, body).await?;
    let (status, headers) = head(&response);
    let body = match response.stream() {
        Ok(stream) => read(stream).await?,
        // No body at all.
        Err(_) => Vec::new(),
    };
    Ok(OutResponse {
        status,
        headers,
        body,
    })
}

/// Sends a request with a body that is still coming in, and comes back with the head of the response;
/// its body, if it has one, comes in as it is read. Dropping the future aborts the request.
pub(super) async fn pass(
    request: &OutRequest,
    body: Option<JsValue>,
) -> Result<(OutResponse, ResponseBody), FetchError> {
    let (response, mut abort) = begin(request, body).await?;
    // From here on the request ends with the stream.
    abort.0 = None;
    let (status, headers) = head(&response);
    let (_, body) = response.into_parts();
    let head = OutResponse {
        status,
        headers,
        body: Vec::new(),
    };
    Ok((head, body))
}

fn head(response: &Response) -> (u16, crate::types::Headers) {
    let fields = response.headers().entries().collect();
    (response.status_code(), fields)
}

async fn begin(
    request: &OutRequest,
    body: Option<JsValue>,
) -> Result<(Response, Abort), FetchError> {
    let refused = |why: String| FetchError::Refused(why);
    let network = |error: worker::Error| FetchError::Network(error.to_string());
    // The lab's outside is on this machine.
    let url = target::allowed(&request.url, cfg!(feature = "lab")).map_err(refused)?;
    let headers = Headers::new();
    for (name, value) in request.headers.iter() {
        headers
            .append(name, value)
            .map_err(|e| refused(format!("header {name}: {e}")))?;
    }
    let mut init = RequestInit::new();
    init.with_method(Method::from(request.method.clone()))
        .with_headers(headers)
        .with_body(body)
        .with_redirect(RequestRedirect::Manual);
    let outgoing = Request::new_with_init(url.as_str(), &init)
        .map_err(|e| refused(format!("not a request: {e}")))?;
    let controller = AbortController::default();
    let signal = controller.signal();
    let abort = Abort(Some(controller));
    let response = Fetch::Request(outgoing)
        .send_with_signal(&signal)
        .await
        .map_err(network)?;
    Ok((response, abort))
}

async fn read(mut stream: worker::ByteStream) -> Result<Vec<u8>, FetchError> {
    let mut body = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|e| FetchError::Network(e.to_string()))?;
        body.extend_from_slice(&chunk);
        if body.len() > limits::MAX_OUTCOME_BYTES {
            return Err(FetchError::TooLarge {
                limit_bytes: limits::MAX_OUTCOME_BYTES,
            });
        }
    }
    Ok(body)
}

/// Aborts a request that nobody waits for any more.
struct Abort(Option<AbortController>);

impl Drop for Abort {
    fn drop(&mut self) {
        if let Some(controller) = self.0.take() {
            controller.abort();
        }
    }
}
