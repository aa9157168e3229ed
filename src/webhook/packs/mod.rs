//! The providers that are known, one file each.

mod generic;
mod github;
mod standard_webhooks;

use super::pack::Pack;

type Make = fn() -> Pack;

/// Every pack, by its name.
const PACKS: &[(&str, Make)] = &[
    ("github", github::pack),
    ("standard-webhooks", standard_webhooks::pack),
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

/// Owned texts.
fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
