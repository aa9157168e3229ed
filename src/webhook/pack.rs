//! What is known about a provider, in one declaration.

use super::ack::Ack;
use super::handshake::Handshake;
use super::{Document, FingerprintMode, KeyRule, Pointer, Scheme};
use crate::types::Headers;
use serde_json::Value;

/// Everything that a source needs to know about its provider.
///
/// ```
/// use onceward::webhook::packs;
/// let github = packs::by_name("github").unwrap();
/// assert_eq!(github.title, "GitHub");
/// assert_eq!(github.secret_name, "GITHUB_WEBHOOK_SECRET");
/// assert!(!github.key_is_signed, "anybody who has captured a delivery can send it under another id");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    /// Its name in configurations.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// How it proves who it is.
    pub scheme: Scheme,
    /// Where the key of a delivery stands; the first rule that finds something decides.
    pub keys: Vec<KeyRule>,
    /// Whether the signature covers that key. If not, a captured request can be sent again under
    /// another key.
    pub key_is_signed: bool,
    /// What must be equal under the same key.
    pub fingerprint: FingerprintMode,
    /// The type of an event: what the rules find, joined by `.`.
    pub event: Vec<EventRule>,
    /// What it asks before it delivers.
    pub handshakes: Vec<Handshake>,
    /// How it is told that a delivery is accepted.
    pub ack: Ack,
    /// How a delivery of many items can be taken apart.
    pub split: Option<Split>,
    /// How long after the first attempt it may still repeat a delivery, in milliseconds; 0 if it never
    /// does, or nobody knows. A key must be kept for longer.
    pub retry_plan_ms: u64,
    /// The header fields that the function sees, in lower case.
    pub keep: Vec<String>,
    /// How long a delivery may wait for the function's own answer, in milliseconds: about a second less
    /// than the provider waits, where that is short. `None`: as long as the function says.
    pub respond_within_ms: Option<u64>,
    /// What its secret is called in the configuration.
    pub secret_name: &'static str,
    /// Its page about signatures.
    pub docs: &'static str,
}

/// Where the type of an event stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventRule {
    /// In a header field, by its name in lower case.
    Header(String),
    /// In the body.
    Body(Pointer),
}

/// How a delivery of many items is taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Where the list is; the empty pointer is the whole body.
    pub list: Pointer,
    /// Where the key is, within an item.
    pub key: Pointer,
}

/// The longest type of an event that is kept.
const MAX_EVENT_CHARS: usize = 100;

/// The type of an event, from what the rules find; `None` if they find nothing. Only visible ASCII characters are
/// taken: a type goes where header fields go.
pub fn event_of(rules: &[EventRule], headers: &Headers, document: &Document<'_>) -> Option<String> {
    let mut found = Vec::new();
    for rule in rules {
        let text = match rule {
            EventRule::Header(name) => headers.get(name).map(str::to_owned),
            EventRule::Body(pointer) => document
                .find(pointer)
                .ok()
                .flatten()
                .and_then(Value::as_str)
                .map(str::to_owned),
        };
        found.extend(text);
    }
    let event = found.join(".");
    let plain = event.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    (plain && (1..=MAX_EVENT_CHARS).contains(&event.len())).then_some(event)
}
