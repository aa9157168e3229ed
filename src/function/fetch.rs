//! A step that sends a request.

use super::ctx::{Ctx, StepScope};
use super::host::{FetchError, OutRequest, OutResponse};
use super::retry::Retry;
use crate::limits;
use crate::types::{Failure, Headers};
use base64::Engine as _;
use futures::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::future::IntoFuture;
use std::rc::Rc;

/// The recorded outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// The status.
    pub status: u16,
    /// Fields by name in lower case; `Set-Cookie` is not recorded.
    pub headers: serde_json::Map<String, Value>,
    /// The body: JSON as parsed with its digits kept, other text as text, binary as `{"base64"}`.
    pub body: Value,
}

/// How a body is shown in a recorded outcome.
pub struct FetchBody;

impl FetchBody {
    /// Reads bytes by their content type.
    pub fn read(content_type: Option<&str>, bytes: &[u8]) -> Value {
        let Ok(text) = std::str::from_utf8(bytes) else {
            let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
            return serde_json::json!({ "base64": encoded });
        };
        let media = content_type.and_then(|c| c.split(';').next()).unwrap_or("");
        let media = media.trim().to_ascii_lowercase();
        let is_json = media == "application/json" || media.ends_with("+json");
        if is_json
            && let Ok(value) = serde_json::from_str(text)
            && is_shallow(&value, limits::MAX_JSON_DEPTH - OUTCOME_DEPTH)
        {
            return value;
        }
        Value::String(text.to_owned())
    }
}

/// Levels that a body loses to the outcome around it, which has to be readable as well, and to the
/// reader, which stops one level short of its limit.
const OUTCOME_DEPTH: usize = 2;

fn is_shallow(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|v| is_shallow(v, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|v| is_shallow(v, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

type Accept = dyn Fn(u16) -> bool;

/// A request that has not been sent; `.await` sends it, once per record.
#[must_use = "a request is not sent until it is awaited"]
pub struct FetchStep {
    ctx: Ctx,
    name: String,
    request: OutRequest,
    retry: Retry,
    timeout_ms: Option<u64>,
    accept: Rc<Accept>,
}

impl FetchStep {
    pub(super) fn new(ctx: &Ctx, name: &str, request: OutRequest) -> Self {
        Self {
            ctx: ctx.clone(),
            name: name.to_owned(),
            request,
            retry: Retry::none(),
            timeout_ms: None,
            accept: Rc::new(|status| (200..300).contains(&status)),
        }
    }

    /// Tries again by this policy: network errors, timeouts and statuses that are not accepted.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Limits each try.
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = Some(timeout_ms);
        self
    }

    /// Which statuses count as success; without it 200–299.
    pub fn accept(mut self, accept: impl Fn(u16) -> bool + 'static) -> Self {
        self.accept = Rc::new(accept);
        self
    }
}

impl IntoFuture for FetchStep {
    type Output = Result<Fetched, Failure>;
    type IntoFuture = LocalBoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let (request, accept) = (self.request, self.accept);
        let mut step = self
            .ctx
            .step_scoped(&self.name, move |scope| {
                send(scope, request.clone(), Rc::clone(&accept))
            })
            .retry(self.retry);
        if let Some(timeout_ms) = self.timeout_ms {
            step = step.timeout_ms(timeout_ms);
        }
        step.into_future()
    }
}

async fn send(
    scope: StepScope,
    mut request: OutRequest,
    accept: Rc<Accept>,
) -> Result<Fetched, Failure> {
    // A Structured Field string, as the header's draft asks for.
    request
        .headers
        .set("idempotency-key", format!("\"{}\"", scope.key()));
    let response = match scope.host.fetch(request).await {
        Ok(response) => response,
        Err(FetchError::Refused(why)) => return Err(Failure::terminal("target_refused", why)),
        Err(FetchError::Network(why)) => return Err(Failure::retryable("network", why)),
        Err(FetchError::TooLarge { limit_bytes }) => {
            let message = format!("the response is larger than {limit_bytes} bytes");
            return Err(Failure::terminal("outcome_too_large", message));
        }
    };
    if !accept(response.status) {
        let message = format!(
            "the target answered {}, which is not accepted",
            response.status
        );
        return Err(Failure::retryable("status", message));
    }
    Ok(fetched(&response))
}

pub(super) fn fetched(response: &OutResponse) -> Fetched {
    Fetched {
        status: response.status,
        headers: shown(&response.headers),
        body: FetchBody::read(response.headers.get("content-type"), &response.body),
    }
}

fn shown(headers: &Headers) -> serde_json::Map<String, Value> {
    let mut out = serde_json::Map::new();
    for (name, value) in headers.iter() {
        if name == "set-cookie" {
            continue;
        }
        match out.get_mut(name) {
            Some(Value::String(joined)) => {
                joined.push_str(", ");
                joined.push_str(value);
            }
            _ => {
                out.insert(name.to_owned(), Value::String(value.to_owned()));
            }
        }
    }
    out
}
