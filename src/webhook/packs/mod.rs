//! The providers that are known, one file each.

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

/// Owned texts.
fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
