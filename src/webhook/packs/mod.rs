//! The providers that are known, one file each.
//!
//! A provider whose signature is none of [`Scheme`]'s kinds is left out; `docs/providers.md` says which
//! and why.

mod discord;
mod generic;
mod github;
mod gitlab;
mod graph;
mod intercom;
mod linear;
mod mailgun;
mod meta;
mod paddle;
mod pagerduty;
mod sendgrid;
mod shopify;
mod slack;
mod square;
mod standard_webhooks;
mod stripe;
mod svix;
mod telnyx;
mod twilio;
mod typeform;
mod vercel;
mod whatsapp;
mod woocommerce;
mod x;
mod zoom;

use super::pack::{EventRule, Pack};
use super::scheme::{Timestamp, TimestampAt, Unit};
use super::{Ack, FingerprintMode, KeyRule, Pointer, Scheme};
use crate::webhook::scheme::Template;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

type Make = fn() -> Pack;

/// Every pack, by its name, in alphabetical order.
const PACKS: &[(&str, Make)] = &[
    ("discord", discord::pack),
    ("github", github::pack),
    ("gitlab", gitlab::pack),
    ("graph", graph::pack),
    ("intercom", intercom::pack),
    ("linear", linear::pack),
    ("mailgun", mailgun::pack),
    ("meta", meta::pack),
    ("paddle", paddle::pack),
    ("pagerduty", pagerduty::pack),
    ("sendgrid", sendgrid::pack),
    ("shopify", shopify::pack),
    ("slack", slack::pack),
    ("square", square::pack),
    ("standard-webhooks", standard_webhooks::pack),
    ("stripe", stripe::pack),
    ("svix", svix::pack),
    ("telnyx", telnyx::pack),
    ("twilio", twilio::pack),
    ("typeform", typeform::pack),
    ("vercel", vercel::pack),
    ("whatsapp", whatsapp::pack),
    ("woocommerce", woocommerce::pack),
    ("x", x::pack),
    ("zoom", zoom::pack),
];

/// The pack of a provider.
///
/// ```
/// use onceward::webhook::packs;
/// assert!(packs::by_name("github").is_some());
/// assert!(packs::by_name("nobody").is_none());
/// ```
pub fn by_name(name: &str) -> Option<Pack> {
    let (_, pack) = PACKS.iter().find(|(known, _)| *known == name)?;
    Some(pack())
}

/// The names of all packs, in alphabetical order.
///
/// ```
/// use onceward::webhook::packs;
/// assert!(packs::names().any(|name| name == "standard-webhooks"));
/// ```
pub fn names() -> impl Iterator<Item = &'static str> {
    PACKS.iter().map(|(name, _)| *name)
}

/// GitHub's.
pub fn github() -> Pack {
    github::pack()
}

/// What a source has whose sender has no pack: unsigned, named by `Idempotency-Key` or `X-Request-ID`. It is
/// not in the list.
///
/// ```
/// use onceward::webhook::{KeyRule, packs};
/// assert_eq!(packs::generic().keys[0], KeyRule::IdempotencyKey);
/// assert!(packs::by_name("generic").is_none());
/// ```
pub fn generic() -> Pack {
    generic::pack()
}

/// What most of them have in common: the provider names its deliveries, the name is signed, and any 2xx
/// will do.
fn base(name: &'static str, title: &'static str, scheme: Scheme) -> Pack {
    Pack {
        name,
        title,
        scheme,
        keys: vec![KeyRule::SignedBytes],
        key_is_signed: true,
        fingerprint: FingerprintMode::Off,
        event: Vec::new(),
        handshakes: Vec::new(),
        ack: Ack::Contract,
        split: None,
        retry_plan_ms: 0,
        keep: keep(&[]),
        respond_within_ms: None,
        secret_name: "",
        docs: "",
    }
}

fn pointer(text: &str) -> Pointer {
    Pointer::new(text).expect("a pointer of a pack; a test makes every pack")
}

fn template(text: &str) -> Template {
    text.parse()
        .expect("a template of a pack; a test makes every pack")
}

fn header(name: &str) -> KeyRule {
    KeyRule::Header(name.to_owned())
}

fn body(place: &str) -> KeyRule {
    KeyRule::Body(pointer(place))
}

/// All of these places of the body together; where one is empty, the next rule is asked.
fn whole(places: &[&str]) -> KeyRule {
    KeyRule::Whole(places.iter().map(|place| body(place)).collect())
}

fn event_in(name: &str) -> EventRule {
    EventRule::Header(name.to_owned())
}

fn event_at(place: &str) -> EventRule {
    EventRule::Body(pointer(place))
}

fn seconds(at: TimestampAt, tolerance_s: Option<u64>) -> Timestamp {
    Timestamp {
        at,
        unit: Unit::Seconds,
        tolerance_s,
    }
}

/// What every function sees, and these.
fn keep(names: &[&str]) -> Vec<String> {
    let all = ["content-type", "user-agent"].iter().chain(names);
    all.map(|name| (*name).to_owned()).collect()
}
