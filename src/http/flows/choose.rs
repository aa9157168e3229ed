//! Which webhook of a flow a delivery is for, and what of it the flow sees.

use super::FlowName;
use crate::config::Source;
use crate::flow::model::{Flow, Trigger, Webhook};
use crate::function::flow::{Secrets, webhook_by_key};
use crate::http::admit::{key_of, misconfigured};
use crate::http::code::Code;
use crate::http::headers::{is_credential, is_one_message};
use crate::http::problem::Problem;
use crate::types::Headers;
use crate::webhook::{KeyRule, single};
use percent_encoding::percent_decode_str;

/// Where a delivery was sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowHookAt {
    /// The flow.
    pub name: FlowName,
    /// The key of its webhook, as it stands in the address; `None`: the address has none.
    pub key: Option<String>,
    /// What stands behind it: empty, or a path with its slash.
    pub tail: String,
    /// Whether the address names the tenant `main`.
    pub main: bool,
}

impl FlowHookAt {
    /// `/hooks/{namespace}/{id}`.
    ///
    /// # Errors
    /// 404 for what no flow is called.
    pub fn of(namespace: &str, id: &str) -> Result<Self, Problem> {
        let name = FlowName::read(namespace, id).ok_or_else(not_here)?;
        Ok(Self {
            name,
            key: None,
            tail: String::new(),
            main: false,
        })
    }
}

/// What a sender shows to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// A key.
    Key(String),
    /// None: a signature has to do.
    Nothing,
}

impl Given {
    /// From the address, or else from `Authorization: Bearer KEY`.
    pub fn of(at: &FlowHookAt, headers: &Headers) -> Self {
        if let Some(key) = &at.key {
            let decoded = percent_decode_str(key).decode_utf8_lossy();
            return Self::Key(decoded.trim().to_owned());
        }
        let field = single(headers, "authorization").ok().flatten();
        let bearer = field.and_then(|value| {
            let (scheme, key) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
        });
        bearer.map_or(Self::Nothing, |key| Self::Key(key.to_owned()))
    }
}

/// The answer to a delivery that finds no flow, no webhook, or has another key: always the same.
pub fn not_here() -> Problem {
    Problem::new(Code::NotFound, "No webhook of a flow has this address.")
}

/// The webhook that a sender may use: the one with this key, or without a key the first that checks a signature.
pub fn chosen<'f>(flow: &'f Flow, given: &Given, secrets: &Secrets) -> Option<&'f Webhook> {
    match given {
        Given::Key(key) => webhook_by_key(flow, key, secrets),
        Given::Nothing => webhooks(flow).find(|webhook| webhook.signature.is_some()),
    }
}

/// The source that a webhook's signature is checked with; `None`: it has none.
///
/// # Errors
/// 500, if its provider is not known: it was when the flow was read.
pub fn signed_source(name: &FlowName, webhook: &Webhook) -> Result<Option<Source>, Problem> {
    let Some(signature) = &webhook.signature else {
        return Ok(None);
    };
    let source = Source::pack(&name.function(), &signature.provider);
    let source = source.ok_or_else(|| {
        let why = format!("{name}: no provider is named {:?}", signature.provider);
        misconfigured(why)
    })?;
    Ok(Some(source.secret(&signature.secret)))
}

/// The fields that a flow sees: all but credentials, signatures and those of one connection. A key is shown without
/// its quotes.
///
/// ```
/// use onceward::http::flows::kept_headers;
/// use onceward::types::Headers;
/// let sent: Headers = [("Idempotency-Key", "\"k 1\""), ("Cookie", "a=1"), ("X-Shop", "7"), ("Connection", "close")]
///     .into_iter()
///     .collect();
/// let kept = kept_headers(&sent);
/// assert_eq!((kept.get("x-shop"), kept.len()), (Some("7"), 2));
/// ```
pub fn kept_headers(headers: &Headers) -> Headers {
    let mut kept: Headers = headers
        .iter()
        .filter(|(name, _)| !is_credential(name) && !is_one_message(name))
        .collect();
    if let Ok(key) = key_of(&[KeyRule::IdempotencyKey], headers) {
        kept.set("idempotency-key", key);
    }
    kept
}

/// The webhooks of a flow, in order.
fn webhooks(flow: &Flow) -> impl Iterator<Item = &Webhook> {
    flow.triggers.iter().filter_map(|trigger| match trigger {
        Trigger::Webhook(webhook) => Some(webhook),
        Trigger::Schedule(_) | Trigger::Flow(_) => None,
    })
}
