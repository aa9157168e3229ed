//! A step that sends a request.

use super::ctx::{Ctx, StepScope};
use super::host::{FetchError, OutRequest, OutResponse};
use super::retry::Retry;
use super::step::Step;
use super::unknown::OnUnknown;
use crate::limits;
use crate::types::{Failure, Headers, Trace};
use base64::Engine as _;
use futures::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::future::{Future, IntoFuture};
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

impl Fetched {
    /// How long the other side wants to be left alone, from its `Retry-After` in either form.
    ///
    /// ```
    /// use onceward::function::Fetched;
    /// let mut fetched = Fetched { status: 503, headers: Default::default(), body: "".into() };
    /// assert_eq!(fetched.retry_after_ms(0), None);
    /// fetched.headers.insert("retry-after".into(), "2".into());
    /// assert_eq!(fetched.retry_after_ms(0), Some(2_000));
    /// fetched.headers.insert("retry-after".into(), "Thu, 01 Jan 1970 00:00:05 GMT".into());
    /// assert_eq!(fetched.retry_after_ms(1_000), Some(4_000));
    /// ```
    pub fn retry_after_ms(&self, now_ms: u64) -> Option<u64> {
        retry_after_ms(self.headers.get("retry-after")?.as_str()?, now_ms)
    }
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

/// How a request is sent and its answer judged.
#[derive(Clone)]
pub(super) struct Plain {
    pub(super) accept: Rc<Accept>,
    /// Field that carries the derived key.
    pub(super) key_header: String,
    /// Whether a status that is not accepted is worth another try.
    pub(super) retryable: Rc<Accept>,
}

impl Default for Plain {
    fn default() -> Self {
        Self {
            accept: Rc::new(|status| (200..300).contains(&status)),
            key_header: IDEMPOTENCY_KEY.to_owned(),
            retryable: Rc::new(|status| matches!(status, 408 | 425 | 429 | 500..=599)),
        }
    }
}

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A request that has not been sent; `.await` sends it, once per record.
///
/// Without [`FetchStep::retry`] it is tried three times: after network errors, timeouts, 408, 425,
/// 429 and 5xx. A status that is not accepted is a failure `status` with `{"status": …}` as its details.
/// `Retry-After` is followed in both its forms, up to an hour. Redirects are not
/// followed: they are answers like any other.
#[must_use = "a request is not sent until it is awaited"]
pub struct FetchStep {
    step: Step<Fetched>,
    plain: Rc<std::cell::RefCell<Plain>>,
}

impl FetchStep {
    pub(super) fn new(ctx: &Ctx, name: &str, request: OutRequest) -> Self {
        let plain: Rc<std::cell::RefCell<Plain>> = Rc::default();
        let how = Rc::clone(&plain);
        let step = ctx.step_scoped(name, move |scope: StepScope| {
            let (request, how) = (request.clone(), how.borrow().clone());
            async move { deliver(&scope, request, &how).await }
        });
        Self {
            step: step.retry(Retry::exponential(3)),
            plain,
        }
    }

    /// Tries again by this policy when the failure is retryable.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.step = self.step.retry(retry);
        self
    }

    /// Limits each try.
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.step = self.step.timeout_ms(timeout_ms);
        self
    }

    /// Which statuses count as success; without it 200–299.
    pub fn accept(self, accept: impl Fn(u16) -> bool + 'static) -> Self {
        self.plain.borrow_mut().accept = Rc::new(accept);
        self
    }

    /// Which statuses that are not accepted are worth another try; without it 408, 425, 429 and 5xx.
    pub fn retry_on(self, retryable: impl Fn(u16) -> bool + 'static) -> Self {
        self.plain.borrow_mut().retryable = Rc::new(retryable);
        self
    }

    /// The field that carries the derived key, in place of `Idempotency-Key`. Its value is the bare key.
    pub fn key_header(self, name: &str) -> Self {
        name.clone_into(&mut self.plain.borrow_mut().key_header);
        self
    }

    /// What to do if no answer came back; see [`Step::on_unknown`].
    pub fn on_unknown(mut self, on_unknown: OnUnknown<Fetched>) -> Self {
        self.step = self.step.on_unknown(on_unknown);
        self
    }

    /// Names the handler that undoes the request; see [`Step::undo`].
    pub fn undo<I: Serialize>(mut self, handler: &str, input: &I) -> Self {
        self.step = self.step.undo(handler, input);
        self
    }
}

impl IntoFuture for FetchStep {
    type Output = Result<Fetched, Failure>;
    type IntoFuture = LocalBoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.step.into_future()
    }
}

/// Sends a request with the derived key of the step, and judges the answer.
pub(super) fn deliver(
    scope: &StepScope,
    request: OutRequest,
    how: &Plain,
) -> impl Future<Output = Result<Fetched, Failure>> + use<> {
    let sent = dispatch(scope, request, Some(&how.key_header));
    let (how, host) = (how.clone(), Rc::clone(scope.host()));
    async move {
        let response = sent.await.map_err(not_answered)?;
        if (how.accept)(response.status) {
            return Ok(fetched(&response));
        }
        if !(how.retryable)(response.status) {
            let failure = Failure::terminal("status", not_accepted(response.status));
            return Err(failure.with_details(&serde_json::json!({ "status": response.status })));
        }
        Err(busy(&response, host.now_ms()))
    }
}

/// Sends a request with the trace of the step and, where a field for it is named, its derived key.
pub(super) fn dispatch(
    scope: &StepScope,
    mut request: OutRequest,
    key_header: Option<&str>,
) -> LocalBoxFuture<'static, Result<OutResponse, FetchError>> {
    if let Some(name) = key_header {
        let key = scope.key();
        let value = if name.eq_ignore_ascii_case(IDEMPOTENCY_KEY) {
            // A Structured Field string, as the header's draft asks for.
            format!("\"{key}\"")
        } else {
            key.to_string()
        };
        request.headers.set(name, value);
    }
    if request.headers.get("traceparent").is_none() {
        trace(scope, &mut request.headers);
    }
    scope.count_request();
    scope.host().fetch(request)
}

/// The failure of a try that another one follows, no sooner than the other side asks for.
pub(super) fn busy(response: &OutResponse, now_ms: u64) -> Failure {
    let after = response.headers.get("retry-after");
    Failure {
        retry_after_ms: after.and_then(|text| retry_after_ms(text, now_ms)),
        ..Failure::retryable("status", not_accepted(response.status))
            .with_details(&serde_json::json!({ "status": response.status }))
    }
}

fn not_accepted(status: u16) -> String {
    format!("the target answered {status}, which is not accepted")
}

pub(super) fn not_answered(error: FetchError) -> Failure {
    match error {
        FetchError::Refused(why) => Failure::terminal("target_refused", why),
        FetchError::Network(why) => Failure::retryable("network", why).with_unknown_effect(),
        FetchError::TooLarge { limit_bytes } => {
            let message = format!("the response is larger than {limit_bytes} bytes");
            Failure::terminal("outcome_too_large", message).with_unknown_effect()
        }
    }
}

/// Trace context (W3C, version 00): the trace of the first delivery, or else the task as one; the parent is
/// the step.
fn trace(scope: &StepScope, headers: &mut Headers) {
    let (_, span) = scope.key().as_u64_pair();
    let Some(trace) = scope.trace() else {
        let own = Trace {
            id: scope.task_id().to_string().replace('-', ""),
            parent: String::new(),
            sampled: true,
            state: String::new(),
        };
        headers.push("traceparent", own.child(span));
        return;
    };
    headers.push("traceparent", trace.child(span));
    if !trace.state.is_empty() && headers.get("tracestate").is_none() {
        headers.push("tracestate", trace.state.as_str());
    }
}

/// `Retry-After` (RFC 9110, 10.2.3): seconds, or a date.
fn retry_after_ms(text: &str, now_ms: u64) -> Option<u64> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(seconds.saturating_mul(1_000));
    }
    let at = jiff::fmt::rfc2822::DateTimeParser::new()
        .relaxed_weekday(true)
        .parse_timestamp(text)
        .ok()?;
    let at_ms = u64::try_from(at.as_millisecond()).ok()?;
    Some(at_ms.saturating_sub(now_ms))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_both_forms() {
        assert_eq!(retry_after_ms("120", 0), Some(120_000));
        assert_eq!(retry_after_ms(" 0 ", 0), Some(0));
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(retry_after_ms(date, 784_111_770_000), Some(7_000));
        assert_eq!(retry_after_ms(date, 784_111_999_000), Some(0));
        assert_eq!(retry_after_ms("99999999999999999999999", 0), Some(u64::MAX));
        for text in ["", "-1", "1.5", "soon", "Sun, 06 Nov"] {
            assert_eq!(retry_after_ms(text, 0), None, "{text:?}");
        }
    }
}
