//! Senders whose proof stands within the body.

use super::crypto;
use super::form::{Algorithm, Encoding};
use super::timestamp::{Unit, near};
use crate::webhook::document::Media;
use crate::webhook::secret::Secret;
use crate::webhook::signature::{Proof, Refusal, material};
use crate::webhook::{Arrival, Document};
use serde_json::Value;

/// Where Mailgun's events have timestamp, token and signature.
const IN_JSON: [[&str; 2]; 3] = [
    ["signature", "timestamp"],
    ["signature", "token"],
    ["signature", "signature"],
];
/// Where its forwarded messages have them, which are forms.
const IN_FORM: [[&str; 1]; 3] = [["timestamp"], ["token"], ["signature"]];

/// Mailgun (<https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks>):
/// HMAC-SHA256 of a timestamp and a random token, all three within the body. Nothing else is signed.
pub(super) fn mailgun(
    arrival: &Arrival<'_>,
    secrets: &[Secret],
    tolerance_s: Option<u64>,
) -> Result<Proof, Refusal> {
    let document = Document::by_its_bytes(arrival.body);
    let body = value(&document)?;
    let [time, token, signature] = match document.media() {
        Media::Form => IN_FORM.map(|path| text(body, &path)),
        Media::Json | Media::Other => IN_JSON.map(|path| text(body, &path)),
    };
    let (time, token, signature) = (time?, token?, signature?);
    let value = Algorithm::HmacSha256
        .decode(Encoding::Hex, &signature)
        .map_err(|why| Refusal::malformed("signature of the body", why))?;
    let signed_s = Unit::Seconds.seconds(&time).ok_or_else(|| {
        Refusal::malformed(
            "timestamp of the body",
            "it is not a whole number of seconds",
        )
    })?;
    if token.is_empty() {
        return Err(Refusal::malformed("token of the body", "it is empty"));
    }
    let parts = [time.as_bytes(), token.as_bytes()];
    let index = crypto::first_match(Algorithm::HmacSha256, secrets, &parts, &[value])?;
    near(signed_s, arrival, tolerance_s)?;
    Ok(Proof {
        secret: Some(index),
        material: Some(material(&parts)),
    })
}

/// Microsoft Graph (<https://learn.microsoft.com/graph/change-notifications-delivery-webhooks>): each
/// notification of `value` repeats the `clientState` of its subscription. Nothing is signed; since the
/// proof is part of the body, the body is taken for the material.
pub(super) fn client_state(arrival: &Arrival<'_>, secrets: &[Secret]) -> Result<Proof, Refusal> {
    const LIST: &str = "value of the body";
    const STATE: &str = "clientState of the body";
    let document = Document::by_its_bytes(arrival.body);
    let list = value(&document)?.get("value");
    let items = list
        .ok_or_else(|| Refusal::missing(LIST))?
        .as_array()
        .filter(|items| !items.is_empty())
        .ok_or_else(|| Refusal::malformed(LIST, "it is no list, or an empty one"))?;
    let mut states = Vec::new();
    for item in items {
        let state = item.get("clientState");
        let state = state.ok_or_else(|| Refusal::missing(STATE))?.as_str();
        let state = state.ok_or_else(|| Refusal::malformed(STATE, "it is no text"))?;
        states.push([state.as_bytes().to_vec()]);
    }
    let index = crypto::first(secrets.iter().map(|secret| {
        let right = |state| crypto::matches(Algorithm::Token, secret, &[], state);
        states.iter().fold(true, |all, state| all & right(state))
    }))?;
    Ok(Proof {
        secret: Some(index),
        material: Some(material(&[arrival.body])),
    })
}

fn value<'d>(document: &'d Document<'_>) -> Result<&'d Value, Refusal> {
    let value = document.value();
    value.map_err(|fault| Refusal::malformed("body", fault.why()))
}

/// A text, or a number as written.
fn text(body: &Value, path: &[&str]) -> Result<String, Refusal> {
    let place = || format!("{} of the body", path.join("."));
    let found = path.iter().try_fold(body, |value, name| value.get(name));
    match found {
        None => Err(Refusal::missing(&place())),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(_) => Err(Refusal::malformed(
            &place(),
            "it is neither text nor a number",
        )),
    }
}
