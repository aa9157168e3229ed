//! The step that sends a request.

use super::program::{Accept, Call, OnUnknown, UndoRequest, takes_no_body};
use super::syntax;
use super::walk::{Fields, Problems, kind, real, whole};
use crate::function::{Headers, OutRequest, Retry};
use serde_json::Value;

/// Fields that the runtime or the platform sets.
const RESERVED: [&str; 8] = [
    "idempotency-key",
    "content-length",
    "host",
    "connection",
    "keep-alive",
    "te",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn call(problems: &mut Problems, fields: &mut Fields<'_>) -> Option<Call> {
    let before = problems.count();
    let name = fields.need(problems, "name", syntax::name);
    let url = fields.need(problems, "url", syntax::url);
    let method = fields.read(problems, "method", syntax::method);
    let mut headers = headers(problems, fields);
    let body = fields.take("body");
    let timeout_ms = fields.read(problems, "timeout", syntax::positive_duration);
    let retry = retry(problems, fields);
    let accept = fields.read(problems, "accept_status", syntax::accept);
    let undo = undo(problems, fields);
    let on_unknown = on_unknown(problems, fields);
    let method = method.unwrap_or_else(|| "POST".to_owned());
    no_body_with_get(problems, fields, &method, body);
    if body.is_some() && headers.get("content-type").is_none() {
        headers.push("content-type", "application/json");
    }
    let (name, url) = (name?, url?);
    (problems.count() == before).then(|| Call {
        name,
        request: OutRequest {
            method,
            url,
            headers,
            body: body.map(Value::to_string).unwrap_or_default().into_bytes(),
        },
        retry,
        timeout_ms,
        accept: accept.unwrap_or_else(Accept::success),
        undo,
        on_unknown,
    })
}

fn no_body_with_get(
    problems: &mut Problems,
    fields: &Fields<'_>,
    method: &str,
    body: Option<&Value>,
) {
    if body.is_some() && takes_no_body(method) {
        let detail = format!("a {method} request has no body");
        problems.add(fields.path("body"), detail);
    }
}

fn undo(problems: &mut Problems, fields: &mut Fields<'_>) -> Option<UndoRequest> {
    let path = fields.path("undo");
    let value = fields.take("undo")?;
    let mut fields = Fields::of(problems, &path, value)?;
    let method = fields.read(problems, "method", syntax::method);
    let url = fields.need(problems, "url", syntax::url);
    let body = fields.take("body");
    let method = method.unwrap_or_else(|| "POST".to_owned());
    no_body_with_get(problems, &fields, &method, body);
    fields.close(problems);
    let (url, body) = (url?, body.cloned());
    Some(UndoRequest { method, url, body })
}

fn on_unknown(problems: &mut Problems, fields: &mut Fields<'_>) -> Option<OnUnknown> {
    let path = fields.path("on_unknown");
    let read = match fields.take("on_unknown") {
        None => return None,
        Some(Value::String(word)) if word == "retry" => Some(OnUnknown::Retry),
        Some(Value::String(word)) if word == "fail" => Some(OnUnknown::Fail),
        Some(value @ Value::Object(_)) => probe(problems, &path, value),
        Some(other) => {
            let got = kind(other);
            let detail = format!("got {got}, wanted \"retry\", \"fail\" or {{\"probe\": …}}");
            problems.add(path, detail);
            None
        }
    };
    // There is a problem then, and nothing runs.
    read.or(Some(OnUnknown::Fail))
}

fn probe(problems: &mut Problems, path: &str, value: &Value) -> Option<OnUnknown> {
    let mut fields = Fields::of(problems, path, value)?;
    let path = fields.path("probe");
    let inner = fields
        .require(problems, "probe")
        .and_then(|value| Fields::of(problems, &path, value));
    fields.close(problems);
    let mut fields = inner?;
    let method = fields.read(problems, "method", syntax::method);
    let url = fields.need(problems, "url", syntax::url);
    fields.close(problems);
    let method = method.unwrap_or_else(|| "GET".to_owned());
    url.map(|url| OnUnknown::Probe { method, url })
}

fn headers(problems: &mut Problems, fields: &mut Fields<'_>) -> Headers {
    let Some(value) = fields.take("headers") else {
        return Headers::default();
    };
    let path = fields.path("headers");
    let headers = syntax::headers(problems, &path, value);
    for (name, _) in headers.iter().filter(|(n, _)| RESERVED.contains(n)) {
        let path = super::walk::member(&path, name);
        problems.add(path, "is set by the runtime or the platform");
    }
    headers
}

/// Without `retry` there is one try. What is left out of a given one has the values of the page.
fn retry(problems: &mut Problems, fields: &mut Fields<'_>) -> Retry {
    let path = fields.path("retry");
    let Some(mut fields) = fields
        .take("retry")
        .and_then(|value| Fields::of(problems, &path, value))
    else {
        return Retry::none();
    };
    let max_attempts = fields.read(problems, "max_attempts", whole(1, 100));
    let initial_ms = fields.read(problems, "initial", syntax::duration);
    let factor = fields.read(problems, "factor", real(1.0, 1_000.0));
    let max_ms = fields.read(problems, "max", syntax::duration);
    let jitter = fields.read(problems, "jitter", real(0.0, 1.0));
    if let (Some(initial), Some(max)) = (initial_ms, max_ms)
        && max < initial
    {
        let detail = format!("got {max} ms, wanted at least `initial`, {initial} ms");
        problems.add(fields.path("max"), detail);
    }
    fields.close(problems);
    let initial_ms = initial_ms.unwrap_or(100);
    Retry {
        max_attempts: max_attempts.unwrap_or(3),
        initial_ms,
        factor: factor.unwrap_or(2.0),
        max_ms: max_ms.unwrap_or_else(|| initial_ms.max(5_000)),
        jitter: jitter.unwrap_or(0.0),
        ..Retry::none()
    }
}
