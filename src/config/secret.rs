//! The secrets of a source: names, never values.

use super::ConfigProblem;
use crate::types::time::parse_rfc3339;
use crate::webhook::{KeyForm, Secret};
use serde::Deserialize;

/// The name of a secret of the deployment, and how long it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretName {
    /// As in `wrangler secret put NAME`.
    pub name: String,
    /// From then on (milliseconds since 1970) it no longer holds, whether or not it was deleted.
    pub until_ms: Option<u64>,
}

/// As a configuration writes it: the name, or the name with an end.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum SecretSpec {
    Name(String),
    Until(UntilSpec),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UntilSpec {
    name: String,
    until: String,
}

impl SecretSpec {
    pub(super) fn read(self) -> Result<SecretName, String> {
        match self {
            Self::Name(name) => Ok(SecretName {
                name,
                until_ms: None,
            }),
            Self::Until(UntilSpec { name, until }) => match parse_rfc3339(&until) {
                Some(ms) => Ok(SecretName {
                    name,
                    until_ms: Some(ms),
                }),
                None => Err(format!(
                    "secret {name}: until {until:?} is no time; wanted RFC 3339, like 2027-01-31T00:00:00Z"
                )),
            },
        }
    }
}

/// Reads a secret's value.
pub(super) fn read(
    place: &str,
    name: &str,
    form: KeyForm,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Secret, ConfigProblem> {
    let problem = |text: String| ConfigProblem::new(place.to_owned(), text);
    let text = lookup(name).ok_or_else(|| problem(format!("secret {name} is not set")))?;
    Secret::read(&text, form).map_err(|fault| problem(format!("secret {name} {fault}")))
}
