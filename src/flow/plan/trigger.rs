//! What a delivery gives to a flow.

use super::pen::Pen;
use super::value_key;
use crate::flow::expression::{Scope, Stop};
use crate::flow::model::Webhook;
use crate::types::Headers;
use base64::Engine as _;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

/// A delivery, as a flow sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Method.
    pub method: String,
    /// Query, without its question mark.
    pub query: String,
    /// What stands behind the key in the address.
    pub path: String,
    /// Fields: neither credentials nor signatures.
    pub headers: Headers,
    /// Bytes.
    pub body: Vec<u8>,
}

/// `trigger`: id, type, body, headers and parameters (maps of lists), method, path.
pub fn variables(webhook: &Webhook, received: &Received) -> Value {
    let mut headers: Map<String, Value> = Map::new();
    for (name, value) in received
        .headers
        .iter()
        .filter(|(name, _)| !name.starts_with(':'))
    {
        push(&mut headers, name, value);
    }
    let mut parameters: Map<String, Value> = Map::new();
    for (name, value) in form_urlencoded::parse(received.query.as_bytes()) {
        push(&mut parameters, &name, &value);
    }
    let body = body(received);
    // Some clients call every body a form.
    let is_form = is_form(received) && body.is_string();
    let mut trigger = json!({
        "id": webhook.id,
        "type": "io.kestra.plugin.core.trigger.Webhook",
        "body": body,
        "headers": headers,
        "parameters": parameters,
        "method": received.method,
    });
    if let Some(map) = trigger.as_object_mut() {
        if !received.path.is_empty() {
            map.insert("path".to_owned(), received.path.clone().into());
        }
        if is_form {
            let mut fields: Map<String, Value> = Map::new();
            for (name, value) in form_urlencoded::parse(&received.body) {
                push(&mut fields, &name, &value);
            }
            map.insert("formFields".to_owned(), Value::Object(fields));
        }
    }
    trigger
}

fn push(lists: &mut Map<String, Value>, name: &str, value: &str) {
    let list = lists.entry(name.to_owned()).or_insert_with(|| json!([]));
    if let Value::Array(items) = list {
        items.push(value.into());
    }
}

fn is_form(received: &Received) -> bool {
    let content_type = received.headers.get("content-type").unwrap_or_default();
    content_type
        .trim_start()
        .to_ascii_lowercase()
        .starts_with("application/x-www-form-urlencoded")
}

/// JSON if it is a map or a list, else text, else base64; null without a body.
fn body(received: &Received) -> Value {
    if received.body.is_empty() {
        return Value::Null;
    }
    let Ok(text) = std::str::from_utf8(&received.body) else {
        return base64::engine::general_purpose::STANDARD
            .encode(&received.body)
            .into();
    };
    match crate::webhook::json::read_as::<Value>(&received.body) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => text.into(),
    }
}

/// The idempotency key that the trigger's expression makes; `None` if it has none of its own.
///
/// # Errors
/// When the expression fails.
pub fn key_of(webhook: &Webhook, scope: &Scope) -> Result<Option<String>, Stop> {
    let Some(template) = &webhook.idempotency.key else {
        return Ok(None);
    };
    let property = crate::flow::model::Property::Template(template.clone());
    let value = Pen::new(scope).value(&property)?;
    let one = match value {
        Value::Array(items) if items.len() == 1 => items.into_iter().next().unwrap_or_default(),
        other => other,
    };
    Ok(Some(value_key(&one)))
}
