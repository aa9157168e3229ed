//! Senders whose proof stands within the body.

use super::crypto;
use super::form::{Algorithm, Encoding};
use super::timestamp::{Unit, near};
use crate::webhook::Arrival;
use crate::webhook::secret::Secret;
use crate::webhook::signature::{Proof, Refusal, material};
use serde_json::Value;

/// Mailgun (<https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks>):
/// HMAC-SHA256 of a timestamp and a random token, all three within the body. Nothing else is signed.
pub(super) fn mailgun(
    arrival: &Arrival<'_>,
    secrets: &[Secret],
    tolerance_s: Option<u64>,
) -> Result<Proof, Refusal> {
    const TIMESTAMP: &str = "/signature/timestamp";
    const TOKEN: &str = "/signature/token";
    const SIGNATURE: &str = "/signature/signature";
    let body = json(arrival.body, SIGNATURE)?;
    let time = text(&body, TIMESTAMP)?;
    let token = text(&body, TOKEN)?;
    let signature = text(&body, SIGNATURE)?;
    let value = Algorithm::HmacSha256
        .decode(Encoding::Hex, &signature)
        .map_err(|why| Refusal::malformed(SIGNATURE, why))?;
    let signed_s = Unit::Seconds
        .seconds(&time)
        .ok_or_else(|| Refusal::malformed(TIMESTAMP, "it is not a whole number of seconds"))?;
    if token.is_empty() {
        return Err(Refusal::malformed(TOKEN, "it is empty"));
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
    const LIST: &str = "/value";
    const STATE: &str = "/value/*/clientState";
    let body = json(arrival.body, LIST)?;
    let list = body.pointer(LIST).ok_or_else(|| Refusal::missing(LIST))?;
    let items = list.as_array().filter(|items| !items.is_empty());
    let items = items.ok_or_else(|| Refusal::malformed(LIST, "it is no list, or an empty one"))?;
    let mut states = Vec::new();
    for item in items {
        let state = item
            .get("clientState")
            .ok_or_else(|| Refusal::missing(STATE))?;
        let state = state
            .as_str()
            .ok_or_else(|| Refusal::malformed(STATE, "it is no text"))?;
        states.push(vec![state.as_bytes().to_vec()]);
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

fn json(body: &[u8], pointer: &str) -> Result<Value, Refusal> {
    serde_json::from_slice(body).map_err(|_| Refusal::malformed(pointer, "the body is not JSON"))
}

/// A text, or a number as written.
fn text(body: &Value, pointer: &str) -> Result<String, Refusal> {
    match body.pointer(pointer) {
        None => Err(Refusal::missing(pointer)),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(_) => Err(Refusal::malformed(
            pointer,
            "it is neither text nor a number",
        )),
    }
}
