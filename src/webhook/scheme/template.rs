//! Which bytes a signature covers.

use std::fmt;
use std::str::FromStr;

/// One part of what is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Fixed text.
    Text(String),
    /// The time as sent: `{timestamp}`.
    Timestamp,
    /// The value of the field that holds the delivery's id: `{id}`.
    Id,
    /// The body as received: `{body}`.
    Body,
    /// The public address: `{url}`.
    Url,
    /// The method as sent: `{method}`.
    Method,
}

/// What is signed: parts, one after the other without anything between them.
///
/// ```
/// use onceward::webhook::scheme::{Part, Template};
/// let slack: Template = "v0:{timestamp}:{body}".parse().unwrap();
/// assert!(slack.has(&Part::Timestamp));
/// assert_eq!(slack.to_string(), "v0:{timestamp}:{body}");
/// assert!("v0:{ts}:{body}".parse::<Template>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

/// Names within braces.
const NAMES: [(&str, Part); 5] = [
    ("timestamp", Part::Timestamp),
    ("id", Part::Id),
    ("body", Part::Body),
    ("url", Part::Url),
    ("method", Part::Method),
];

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateFault {
    /// A brace is opened and not closed, or the reverse.
    Brace {
        /// Its place, counted from 1.
        position: usize,
    },
    /// What stands within braces means nothing here.
    Unknown {
        /// What stands there.
        name: String,
    },
    /// The body isn't part of it.
    NoBody,
}

impl fmt::Display for TemplateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Brace { position } => write!(
                f,
                "the brace at character {position} has no partner; a template is like \"v0:{{timestamp}}:{{body}}\""
            ),
            Self::Unknown { name } => write!(
                f,
                "{{{name}}} is unknown; there are {{timestamp}}, {{id}}, {{body}}, {{url}} and {{method}}"
            ),
            Self::NoBody => f.write_str(
                "{body} is not in the template: a signature that doesn't cover the body proves nothing about it",
            ),
        }
    }
}

impl std::error::Error for TemplateFault {}

impl Template {
    /// The body alone.
    pub fn body() -> Self {
        Self(vec![Part::Body])
    }

    /// Its parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// True if `part` is one of its parts.
    pub fn has(&self, part: &Part) -> bool {
        self.0.contains(part)
    }
}

impl FromStr for Template {
    type Err = TemplateFault;

    fn from_str(text: &str) -> Result<Self, TemplateFault> {
        let mut parts = Vec::new();
        let mut rest = text;
        let place = |rest: &str| text.len() - rest.len() + 1;
        while !rest.is_empty() {
            let at = rest.find(['{', '}']).unwrap_or(rest.len());
            let (fixed, after) = rest.split_at(at);
            if !fixed.is_empty() {
                parts.push(Part::Text(fixed.to_owned()));
            }
            rest = after;
            if rest.is_empty() {
                break;
            }
            let (name, after) = rest
                .strip_prefix('{')
                .and_then(|inside| inside.split_once('}'))
                .ok_or_else(|| TemplateFault::Brace {
                    position: place(rest),
                })?;
            let part = NAMES.iter().find(|(known, _)| *known == name);
            let (_, part) = part.ok_or_else(|| TemplateFault::Unknown {
                name: name.to_owned(),
            })?;
            parts.push(part.clone());
            rest = after;
        }
        if parts.contains(&Part::Body) {
            Ok(Self(parts))
        } else {
            Err(TemplateFault::NoBody)
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                Part::Text(text) => f.write_str(text)?,
                other => {
                    let known = NAMES.iter().find(|(_, part)| part == other);
                    let name = known.map_or("", |(name, _)| name);
                    write!(f, "{{{name}}}")?;
                }
            }
        }
        Ok(())
    }
}
