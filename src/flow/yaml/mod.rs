//! YAML 1.2 with places: what a flow is read from.
//!
//! A plain scalar has the type that the core schema gives it (`yes`, `on` and `0777` are texts), numbers keep all their
//! digits, and everything that is wrong is found at once as far as it can be. Anchors are expanded within bounds.

mod broken;
mod build;
mod place;
mod scalar;

pub use place::Source;

use super::diagnostic::{Diagnostic, Position};
use crate::limits::MAX_FLOW_BYTES;
use serde_json::{Map, Value};

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// `'…'`.
    Single,
    /// `"…"`.
    Double,
    /// `|`.
    Literal,
    /// `>`.
    Folded,
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub at: Position,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A single value.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file; no key twice.
    Map(Vec<Entry>),
}

/// A single value.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// Its text, as it is after quotes and folds.
    pub text: String,
    /// How it is written.
    pub style: Style,
    /// What it is: null, a boolean, a number or a text.
    pub value: Value,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key as text.
    pub key: String,
    /// Where it stands.
    pub at: Position,
    /// The value.
    pub value: Node,
}

/// What came of a file.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// What stands in it; `None` if it can't be read as YAML.
    pub root: Option<Node>,
    /// What is wrong with it as YAML.
    pub problems: Vec<Diagnostic>,
}

/// Reads a file.
///
/// ```
/// # use onceward::flow::yaml;
/// let parsed = yaml::parse("id: a\nid: b\n");
/// assert_eq!(parsed.problems[0].to_string(), "2:1 id: The key `id` is there already, in line 1.");
/// assert!(parsed.root.is_some());
/// ```
pub fn parse(text: &str) -> Parsed {
    if text.len() > MAX_FLOW_BYTES {
        let detail = format!(
            "The file has {} bytes; a flow has at most {MAX_FLOW_BYTES}.",
            text.len()
        );
        return Parsed {
            root: None,
            problems: vec![Diagnostic {
                path: String::new(),
                at: Position { line: 1, column: 1 },
                detail,
                nearest: None,
            }],
        };
    }
    build::build(place::without_mark(text))
}

impl Node {
    /// The value as JSON.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Scalar(scalar) => scalar.value.clone(),
            Kind::List(items) => items.iter().map(Self::to_value).collect(),
            Kind::Map(entries) => {
                let pairs = entries.iter();
                let pairs = pairs.map(|entry| (entry.key.clone(), entry.value.to_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar(scalar) if scalar.value.is_null())
    }

    /// The value of a key, if it is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Kind::Map(entries) = &self.kind else {
            return None;
        };
        let entry = entries.iter().find(|entry| entry.key == key)?;
        Some(&entry.value)
    }

    /// What it is, for messages.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a map".to_owned(),
            Kind::Scalar(scalar) => match &scalar.value {
                Value::Null => "nothing".to_owned(),
                Value::String(text) => format!("the text `{}`", shortened(text)),
                _ => format!("`{}`", shortened(&scalar.text)),
            },
        }
    }

    /// How many nodes it has, itself among them.
    pub fn count(&self) -> usize {
        1 + match &self.kind {
            Kind::Scalar(_) => 0,
            Kind::List(items) => items.iter().map(Self::count).sum(),
            Kind::Map(entries) => entries.iter().map(|entry| entry.value.count()).sum(),
        }
    }
}

/// The beginning of a text, on one line.
pub fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let line: String = text.chars().take(LONGEST).collect();
    let line = line.replace(['\n', '\r'], " ");
    if text.chars().nth(LONGEST).is_some() {
        format!("{line}…")
    } else {
        line
    }
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;
