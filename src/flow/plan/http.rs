//! `http.Request`: the request, and what is made of the answer.

use super::pen::Pen;
use super::recorded::Recorded;
use super::value_key;
use crate::flow::expression::Stop;
use crate::flow::model::Http;
use crate::types::{Failure, Headers};
use base64::Engine as _;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

/// A request that is ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAct {
    /// Method.
    pub method: String,
    /// Address, with its query.
    pub url: String,
    /// Fields.
    pub headers: Headers,
    /// Bytes.
    pub body: Vec<u8>,
    /// Whether any status is an answer.
    pub allow_failed: bool,
    /// Statuses from 400 on that are answers.
    pub allowed_codes: Vec<u16>,
    /// Of the whole exchange.
    pub timeout_ms: Option<u64>,
}

/// Whether a status is an answer rather than a failure.
///
/// ```
/// use onceward::flow::plan::is_accepted;
/// assert!(is_accepted(302, false, &[]) && is_accepted(404, false, &[404]) && is_accepted(500, true, &[]));
/// assert!(!is_accepted(404, false, &[409]));
/// ```
pub fn is_accepted(status: u16, allow_failed: bool, allowed_codes: &[u16]) -> bool {
    status < 400 || allow_failed || allowed_codes.contains(&status)
}

const METHODS: [&str; 8] = [
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE",
];

/// The inner error is one of the request itself.
pub(super) fn prepare(pen: &Pen, http: &Http) -> Result<Result<HttpAct, Failure>, Stop> {
    let method = pen
        .text_or(http.method.as_ref(), "GET")?
        .trim()
        .to_ascii_uppercase();
    let wrong = |message: String| Ok(Err(Failure::terminal("request_invalid", message)));
    if !METHODS.contains(&method.as_str()) {
        return wrong(format!("{method:?} is no method of a request"));
    }
    let text = pen.text(&http.uri)?;
    let Ok(mut url) = url::Url::parse(text.trim()) else {
        return wrong("its uri is no absolute address".to_owned());
    };
    if let Some(Value::Object(params)) = pen.optional(http.params.as_ref())? {
        let mut query = url.query_pairs_mut();
        for (name, value) in &params {
            each(value, |text| {
                query.append_pair(name, &text);
            });
        }
    }
    let mut headers = Headers::default();
    if let Some(Value::Object(map)) = pen.optional(http.headers.as_ref())? {
        for (name, value) in &map {
            each(value, |text| headers.push(name, text));
        }
    }
    let body = body(pen, http, &mut headers)?;
    if let Some(content_type) = &http.content_type {
        headers.set("content-type", pen.text(content_type)?);
    }
    authorise(pen, http, &mut headers)?;
    let codes = pen.optional(http.options.allowed_codes.as_ref())?;
    let codes = codes.map_or_else(Vec::new, |codes| {
        codes.as_array().cloned().unwrap_or_default()
    });
    Ok(Ok(HttpAct {
        method,
        url: url.to_string(),
        headers,
        body,
        allow_failed: pen.flag(http.options.allow_failed.as_ref(), false)?,
        allowed_codes: codes
            .iter()
            .filter_map(|c| value_key(c).parse().ok())
            .collect(),
        timeout_ms: pen.ms(http.options.timeout.as_ref())?,
    }))
}

/// A value, or each value of a list.
fn each(value: &Value, mut take: impl FnMut(String)) {
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter().for_each(|item| take(value_key(item))),
        one => take(value_key(one)),
    }
}

fn body(pen: &Pen, http: &Http, headers: &mut Headers) -> Result<Vec<u8>, Stop> {
    if let Some(form) = &http.form_data {
        let mut out = form_urlencoded::Serializer::new(String::new());
        if let Value::Object(map) = pen.value(form)? {
            for (name, value) in &map {
                each(value, |text| {
                    out.append_pair(name, &text);
                });
            }
        }
        headers.set("content-type", "application/x-www-form-urlencoded");
        return Ok(out.finish().into_bytes());
    }
    let Some(body) = &http.body else {
        return Ok(Vec::new());
    };
    let text = pen.text(body)?;
    if headers.get("content-type").is_none() && http.content_type.is_none() {
        headers.set("content-type", "application/json");
    }
    Ok(text.into_bytes())
}

fn authorise(pen: &Pen, http: &Http, headers: &mut Headers) -> Result<(), Stop> {
    if let Some((user, password)) = &http.options.basic {
        let pair = format!("{}:{}", pen.text(user)?, pen.text(password)?);
        let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
        headers.set("authorization", format!("Basic {encoded}"));
    }
    if let Some(token) = &http.options.bearer {
        headers.set("authorization", format!("Bearer {}", pen.text(token)?));
    }
    Ok(())
}

impl HttpAct {
    /// What is recorded of an answer: `code`, `headers` (each a list), `body`, `uri`.
    pub fn record(&self, status: u16, headers: &Headers, body: Value) -> Recorded {
        let mut lists: Map<String, Value> = Map::new();
        for (name, value) in headers.iter().filter(|(name, _)| *name != "set-cookie") {
            let list = lists.entry(name.to_owned()).or_insert_with(|| json!([]));
            if let Value::Array(items) = list {
                items.push(value.into());
            }
        }
        let mut recorded = Recorded::output("code", status.into());
        recorded
            .outputs
            .insert("headers".to_owned(), Value::Object(lists));
        recorded.outputs.insert("body".to_owned(), body);
        let uri = self.url.split('?').next().unwrap_or_default();
        recorded.outputs.insert("uri".to_owned(), uri.into());
        recorded
    }
}
