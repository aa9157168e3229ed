//! Values during evaluation.

use super::nearest::nearest;
use serde_json::Value;
use std::borrow::Cow;

/// What is special about a value because of where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing.
    Plain,
    /// `outputs`.
    Outputs,
    /// The output of a known task, or a part of it so many levels deep: what is missing there is null.
    Output(u8),
    /// `trigger`.
    Trigger,
    /// `trigger.headers`: names in any case.
    Headers,
    /// `trigger.parameters`.
    Parameters,
    /// A list of texts; a single one counts as a text.
    Field,
}

/// A value, or that there is none.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Value {
        value: Value,
        role: Role,
    },
    /// What is said if that is not allowed for.
    Missing(String),
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        Self::Value {
            value,
            role: Role::Plain,
        }
    }
}

macro_rules! from {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Cell {
            fn from(value: $kind) -> Self {
                Value::from(value).into()
            }
        }
    )*};
}
from!(bool, u64, usize, String, &str, Vec<Value>);

static NULL: Value = Value::Null;

impl Cell {
    /// As it is; null if there is none.
    pub(super) fn raw(&self) -> &Value {
        match self {
            Self::Value { value, .. } => value,
            Self::Missing(_) => &NULL,
        }
    }

    /// A single header is its text.
    pub(super) fn plain(&self) -> &Value {
        match self {
            Self::Value {
                value: Value::Array(items),
                role: Role::Field,
            } if items.len() == 1 => &items[0],
            _ => self.raw(),
        }
    }

    /// As it is printed.
    pub(super) fn text(&self) -> Cow<'_, str> {
        text(self.plain())
    }

    /// About how many bytes it has.
    pub(super) fn bytes(&self) -> usize {
        bytes(self.raw())
    }
}

/// As a value is printed: null is empty, lists and maps are JSON.
pub(super) fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

pub(super) fn bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 8,
        Value::Number(number) => number.as_str().len() + 8,
        Value::String(text) => text.len() + 8,
        Value::Array(items) => 8 + items.iter().map(bytes).sum::<usize>(),
        Value::Object(map) => {
            8 + map
                .iter()
                .map(|(key, value)| key.len() + 16 + bytes(value))
                .sum::<usize>()
        }
    }
}

/// Whether a rendered text counts as true: not if it is empty, blank, `false`, `0`, `-0`, `0.0` or `null`.
///
/// ```
/// use onceward::flow::expression::truthy;
/// assert!(truthy("yes") && truthy("1"));
/// assert!(!truthy(" ") && !truthy("false") && !truthy("-0"));
/// ```
pub fn truthy(text: &str) -> bool {
    let text = text.trim();
    let zero = text
        .trim_start_matches('-')
        .parse::<f64>()
        .is_ok_and(|number| number == 0.0);
    !(text.is_empty() || text == "false" || text == "null" || zero)
}

/// Whether a value counts as true in a condition.
pub(super) fn holds(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(held) => *held,
        Value::Number(number) => number.as_f64().is_none_or(|number| number != 0.0),
        Value::String(text) => truthy(text),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// What a part of a value is.
pub(super) enum Part<'a> {
    Found(&'a Value, Role),
    /// Null stands for it.
    Null(Role),
    /// Why there is none.
    Missing(String),
}

/// Looks at one part of a value. `path` is how the value was reached.
pub(super) fn part<'a>(value: &'a Value, role: Role, key: &str, path: &str) -> Part<'a> {
    let inner = inner_role(role, key);
    let found = match value {
        Value::Object(map) if role == Role::Headers => map.get(key).or_else(|| {
            let named = |name: &String| name.eq_ignore_ascii_case(key);
            map.iter()
                .find(|(name, _)| named(name))
                .map(|(_, value)| value)
        }),
        Value::Object(map) => map.get(key),
        Value::Array(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
        _ => None,
    };
    match (found, role) {
        (Some(value), _) => Part::Found(value, inner),
        (None, Role::Output(levels)) if levels > 0 => Part::Null(inner),
        _ => Part::Missing(absent(value, key, path)),
    }
}

fn inner_role(role: Role, key: &str) -> Role {
    match role {
        Role::Outputs => Role::Output(2),
        Role::Output(levels) => Role::Output(levels.saturating_sub(1)),
        Role::Trigger if key == "headers" => Role::Headers,
        Role::Trigger if key == "parameters" => Role::Parameters,
        Role::Headers | Role::Parameters => Role::Field,
        _ => Role::Plain,
    }
}

fn absent(value: &Value, key: &str, path: &str) -> String {
    let path = super::halt::cut(path);
    let key = super::halt::cut(key);
    let base = format!("there is no `{}`", joined(&path, &key));
    match value {
        Value::Object(map) => match nearest(&key, map.keys().map(String::as_str)) {
            Some(known) => format!("{base}; nearest: `{}`", joined(&path, &known)),
            None => base,
        },
        Value::Array(items) => format!("{base}: `{path}` is a list of {}", items.len()),
        Value::Null => format!("{base}: `{path}` is null"),
        _ => format!("{base}: `{path}` is {}", kind(value)),
    }
}

/// `a.b`, or `a['b-c']`.
pub(super) fn joined(path: &str, key: &str) -> String {
    let name = key.chars().all(|c| c == '_' || c.is_alphanumeric());
    if path.is_empty() {
        key.to_owned()
    } else if key.starts_with(|c: char| c.is_ascii_digit())
        && key.chars().all(|c| c.is_ascii_digit())
    {
        format!("{path}[{key}]")
    } else if name {
        format!("{path}.{key}")
    } else {
        format!("{path}['{key}']")
    }
}

/// What a message calls a value.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
