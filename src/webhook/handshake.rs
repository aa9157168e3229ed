//! Requests by which a provider asks whether somebody is at home. None of them starts a task.
//!
//! | handshake | request | before or after the signature | answer |
//! |---|---|---|---|
//! | `SlackUrl` | POST, `type: url_verification` | after | `challenge` as text |
//! | `DiscordPing` | POST, `type: 1` without `event` (interactions) or `type: 0` (events) | after | `{"type":1}` or 204 |
//! | `ZoomUrl` | POST, `event: endpoint.url_validation` | after | the token and its HMAC in hex |
//! | `MetaVerify` | GET, `hub.mode=subscribe` | before: it is not signed | `hub.challenge`, if the verify token is right |
//! | `XCrc` | GET, `crc_token` | before: it asks for a signature | the HMAC of the token in base64 |
//! | `GraphToken` | POST, `validationToken` in the query | before: it is not signed | the token as text |
//! | `HeadOk` | HEAD | before | 200 |
//!
//! What is echoed is bounded in length and alphabet, is never taken for HTML and never cached. The
//! answer to `XCrc` is a signature that anybody can ask for; a token that could be the body of a
//! delivery is therefore refused, as it would let anybody sign deliveries.

use super::{Arrival, Refusal, Secret, hex, json};
use crate::types::{Answer, Headers};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use url::form_urlencoded;

/// Longest challenge that is answered, in characters. Those of the providers have up to about 100.
const MAX_CHALLENGE: usize = 512;
/// Longest `validationToken` of Microsoft Graph, which is a sentence with ids in it.
const MAX_TOKEN: usize = 2_048;
/// Largest body that may be a handshake; a larger one is not even read as JSON.
const MAX_BODY: usize = 16 << 10;

/// One way in which a provider checks an address before it sends to it, and from time to time after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handshake {
    /// Slack: `url_verification` (docs.slack.dev, Events API).
    SlackUrl,
    /// Discord: PING of interactions and of webhook events (docs.discord.com, Interactions Overview
    /// and Webhook Events).
    DiscordPing,
    /// Zoom: `endpoint.url_validation`, repeated every 72 h (developers.zoom.us, Webhooks).
    ZoomUrl,
    /// Meta and `WhatsApp`: `hub.mode=subscribe` (developers.facebook.com, Webhooks, Getting Started).
    MetaVerify,
    /// X: the challenge-response check, hourly (docs.x.com, Webhooks, Quickstart).
    XCrc,
    /// Microsoft Graph: `validationToken` (learn.microsoft.com, Receive change notifications through webhooks).
    GraphToken,
    /// Senders that try `HEAD` when an address is saved, such as Intercom.
    HeadOk,
}

/// Answers the handshakes that are not signed. `None`: it is no handshake; go on to the signature.
///
/// `secrets` are those that may answer, the current one first. `verify_token` is what the operator
/// typed into the provider's form.
///
/// # Errors
/// It is a handshake, and is refused: a wrong or missing token, or no secret to answer it with. For
/// the log only, as with a signature.
///
/// ```
/// use onceward::types::Headers;
/// use onceward::webhook::handshake::{Handshake, before_signature};
/// use onceward::webhook::{Arrival, Secret};
/// let headers = Headers::default();
/// let arrival = Arrival {
///     method: "GET",
///     target: "/hooks/meta?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=meatyhamhock",
///     public_url: None,
///     headers: &headers,
///     body: b"",
///     now_ms: 0,
/// };
/// let token = Secret::new("meatyhamhock").unwrap();
/// let answer = before_signature(&[Handshake::MetaVerify], &arrival, &[], Some(&token));
/// assert_eq!(answer.unwrap().unwrap().body, b"1158201444");
/// assert!(before_signature(&[Handshake::MetaVerify], &arrival, &[], None).unwrap().is_err());
/// ```
pub fn before_signature(
    handshakes: &[Handshake],
    arrival: &Arrival<'_>,
    secrets: &[Secret],
    verify_token: Option<&Secret>,
) -> Option<Result<Answer, Refusal>> {
    let query = Query::of(arrival.target);
    handshakes
        .iter()
        .find_map(|handshake| match (handshake, arrival.method) {
            (Handshake::HeadOk, "HEAD") => Some(Ok(bare(200))),
            (Handshake::MetaVerify, "GET") => meta(&query, verify_token),
            (Handshake::XCrc, "GET") => crc(&query, secrets),
            (Handshake::GraphToken, "POST") => graph(&query),
            _ => None,
        })
}

/// Answers the handshakes that are signed. Only for a request whose signature holds. `None`: it is no
/// handshake but a delivery, as is one whose challenge is not what the provider sends.
///
/// The first of `secrets` answers: hand in the one that matched.
///
/// ```
/// use onceward::types::Headers;
/// use onceward::webhook::handshake::{Handshake, after_signature};
/// use onceward::webhook::Arrival;
/// let headers = Headers::default();
/// let arrival = Arrival {
///     method: "POST",
///     target: "/hooks/slack",
///     public_url: None,
///     headers: &headers,
///     body: br#"{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd"}"#,
///     now_ms: 0,
/// };
/// let answer = after_signature(&[Handshake::SlackUrl], &arrival, &[]).unwrap();
/// assert_eq!(answer.body, b"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd");
/// ```
pub fn after_signature(
    handshakes: &[Handshake],
    arrival: &Arrival<'_>,
    secrets: &[Secret],
) -> Option<Answer> {
    if arrival.method != "POST" || arrival.body.len() > MAX_BODY {
        return None;
    }
    handshakes.iter().find_map(|handshake| match handshake {
        Handshake::SlackUrl => slack(arrival.body),
        Handshake::DiscordPing => discord(arrival.body),
        Handshake::ZoomUrl => zoom(arrival.body, secrets.first()?),
        _ => None,
    })
}

/// The parameters of a target, decoded.
struct Query(Vec<(String, String)>);

impl Query {
    fn of(target: &str) -> Self {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        Self(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(n, _)| n == name)
    }

    /// The only value of a parameter.
    fn one(&self, name: &str) -> Result<&str, Refusal> {
        let mut values = self.0.iter().filter(|(n, _)| n == name);
        let (_, value) = values.next().ok_or_else(|| Refusal::Missing {
            header: name.to_owned(),
        })?;
        match values.next() {
            None => Ok(value),
            Some(_) => Err(malformed(name, "it came more than once")),
        }
    }

    /// The only value of a parameter, if it is a challenge.
    fn challenge(&self, name: &str) -> Result<&str, Refusal> {
        let value = self.one(name)?;
        if is_challenge(value) {
            return Ok(value);
        }
        Err(malformed(
            name,
            "wanted 1 to 512 letters, digits and -._~+/=",
        ))
    }
}

fn malformed(name: &str, why: &'static str) -> Refusal {
    Refusal::Malformed {
        header: name.to_owned(),
        why,
    }
}

/// Letters, digits and what base64 and UUIDs need: no JSON, no form, no markup.
fn is_challenge(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    (1..=MAX_CHALLENGE).contains(&text.len()) && text.bytes().all(plain)
}

fn meta(query: &Query, verify_token: Option<&Secret>) -> Option<Result<Answer, Refusal>> {
    let answer = || {
        if query.one("hub.mode")? != "subscribe" {
            return Err(malformed("hub.mode", "wanted subscribe"));
        }
        let wanted = verify_token.ok_or(Refusal::NoSecret)?;
        let given = query.one("hub.verify_token")?;
        if !bool::from(wanted.bytes().ct_eq(given.as_bytes())) {
            return Err(Refusal::Mismatch);
        }
        Ok(text(query.challenge("hub.challenge")?))
    };
    query.has("hub.mode").then(answer)
}

fn crc(query: &Query, secrets: &[Secret]) -> Option<Result<Answer, Refusal>> {
    let answer = || {
        let token = query.challenge("crc_token")?;
        let secret = secrets.first().ok_or(Refusal::NoSecret)?;
        let digest = STANDARD.encode(hmac_sha256(secret, token).ok_or(Refusal::NoSecret)?);
        Ok(document(
            &serde_json::json!({ "response_token": format!("sha256={digest}") }),
        ))
    };
    query.has("crc_token").then(answer)
}

fn graph(query: &Query) -> Option<Result<Answer, Refusal>> {
    const NAME: &str = "validationToken";
    let answer = || {
        let token = query.one(NAME)?;
        let printable = token.bytes().all(|b| matches!(b, b' '..=b'~'));
        if !printable || !(1..=MAX_TOKEN).contains(&token.len()) {
            return Err(malformed(NAME, "wanted 1 to 2048 printable characters"));
        }
        Ok(text(token))
    };
    query.has(NAME).then(answer)
}

/// What Slack sends.
#[derive(Deserialize)]
struct SlackBody {
    r#type: String,
    challenge: String,
}

fn slack(body: &[u8]) -> Option<Answer> {
    let read: SlackBody = json::read_as(body).ok()?;
    let asked = read.r#type == "url_verification" && is_challenge(&read.challenge);
    asked.then(|| text(&read.challenge))
}

/// What Discord sends. `type: 1` is the PING of an interaction, but also what every webhook event
/// has; those have an `event`.
#[derive(Deserialize)]
struct DiscordBody {
    r#type: u64,
    event: Option<IgnoredAny>,
}

fn discord(body: &[u8]) -> Option<Answer> {
    let read: DiscordBody = json::read_as(body).ok()?;
    match (read.r#type, read.event) {
        (1, None) => Some(document(&serde_json::json!({ "type": 1 }))),
        (0, None) => Some(bare(204)),
        _ => None,
    }
}

/// What Zoom sends.
#[derive(Deserialize)]
struct ZoomBody {
    event: String,
    payload: ZoomPayload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ZoomPayload {
    plain_token: String,
}

fn zoom(body: &[u8], secret: &Secret) -> Option<Answer> {
    let read: ZoomBody = json::read_as(body).ok()?;
    let plain = &read.payload.plain_token;
    if read.event != "endpoint.url_validation" || !is_challenge(plain) {
        return None;
    }
    let digest = hex(&hmac_sha256(secret, plain)?);
    Some(document(&serde_json::json!({
        "plainToken": plain,
        "encryptedToken": digest,
    })))
}

fn hmac_sha256(secret: &Secret, text: &str) -> Option<[u8; 32]> {
    // HMAC takes keys of any length; if that ever changed, there would be no answer.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).ok()?;
    mac.update(text.as_bytes());
    Some(mac.finalize().into_bytes().into())
}

/// An answer without a body, that nobody keeps.
fn bare(status: u16) -> Answer {
    let mut headers = Headers::default();
    headers.push("cache-control", "no-store");
    headers.push("x-content-type-options", "nosniff");
    Answer {
        status,
        headers,
        body: Vec::new(),
    }
}

fn text(body: &str) -> Answer {
    let mut answer = bare(200);
    answer
        .headers
        .push("content-type", "text/plain; charset=utf-8");
    answer.body = body.as_bytes().to_vec();
    answer
}

fn document(value: &serde_json::Value) -> Answer {
    let mut answer = bare(200);
    answer.headers.push("content-type", "application/json");
    answer.body = value.to_string().into_bytes();
    answer
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
