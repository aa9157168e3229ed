//! Reads JSON and collects every problem with its path, instead of stopping at the first.

use crate::function::InputProblem;
use serde_json::{Map, Number, Value};

/// Problems shown at most; a body of one megabyte can have half a million.
const SHOWN: usize = 100;
/// Characters of somebody's text that a problem repeats.
const QUOTED: usize = 60;

/// What was found wrong so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    list: Vec<InputProblem>,
    more: usize,
}

impl Problems {
    pub(super) fn add(&mut self, path: impl Into<String>, detail: impl Into<String>) {
        if self.list.len() < SHOWN {
            self.list.push(InputProblem {
                path: path.into(),
                detail: detail.into(),
            });
        } else {
            self.more += 1;
        }
    }

    /// How many there are, to see whether a part added some.
    pub(super) fn count(&self) -> usize {
        self.list.len() + self.more
    }

    pub(super) fn into_result<T>(self, good: T) -> Result<T, Vec<InputProblem>> {
        if self.list.is_empty() {
            return Ok(good);
        }
        Err(self.into_list())
    }

    pub(super) fn into_list(mut self) -> Vec<InputProblem> {
        if self.more > 0 {
            let more = format!("{} more problems are not shown", self.more);
            self.list.push(InputProblem {
                path: String::new(),
                detail: more,
            });
        }
        self.list
    }

    /// Adds what went wrong with one value.
    pub(super) fn keep<T>(&mut self, path: &str, read: Result<T, String>) -> Option<T> {
        read.map_err(|detail| self.add(path, detail)).ok()
    }
}

/// The path of a member: `config.lease`, or `headers["x y"]` for a name that is no plain word.
pub(super) fn member(path: &str, name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let is_plain = !name.is_empty() && name.len() <= QUOTED && name.bytes().all(plain);
    match (is_plain, path) {
        (true, "") => name.to_owned(),
        (true, _) => format!("{path}.{name}"),
        (false, _) => format!("{path}[{}]", quoted(name)),
    }
}

/// Somebody's text as JSON, cut if it is long.
pub(super) fn quoted(text: &str) -> String {
    let mut cut: String = text.chars().take(QUOTED).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    Value::String(cut).to_string()
}

/// What a value is, for "got …".
pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string().chars().take(QUOTED).collect(),
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// An object whose members are taken one by one; what is left over is unknown.
pub(super) struct Fields<'v> {
    path: String,
    map: &'v Map<String, Value>,
    wanted: Vec<&'static str>,
}

impl<'v> Fields<'v> {
    pub(super) fn of(problems: &mut Problems, path: &str, value: &'v Value) -> Option<Self> {
        let Value::Object(map) = value else {
            problems.add(path, format!("got {}, wanted an object", kind(value)));
            return None;
        };
        Some(Self {
            path: path.to_owned(),
            map,
            wanted: Vec::new(),
        })
    }

    pub(super) fn path(&self, name: &str) -> String {
        member(&self.path, name)
    }

    pub(super) fn take(&mut self, name: &'static str) -> Option<&'v Value> {
        self.wanted.push(name);
        self.map.get(name)
    }

    pub(super) fn require(
        &mut self,
        problems: &mut Problems,
        name: &'static str,
    ) -> Option<&'v Value> {
        let found = self.take(name);
        if found.is_none() {
            problems.add(self.path(name), "is missing");
        }
        found
    }

    /// Reads a member that may be absent.
    pub(super) fn read<T>(
        &mut self,
        problems: &mut Problems,
        name: &'static str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.take(name)?;
        problems.keep(&self.path(name), read(value))
    }

    /// Reads a member that must be there.
    pub(super) fn need<T>(
        &mut self,
        problems: &mut Problems,
        name: &'static str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.require(problems, name)?;
        problems.keep(&self.path(name), read(value))
    }

    /// Complains about every member that nobody has asked for.
    pub(super) fn close(self, problems: &mut Problems) {
        for name in self.map.keys() {
            if !self.wanted.contains(&name.as_str()) {
                let detail = format!("unknown field; known here: {}", self.wanted.join(", "));
                problems.add(self.path(name), detail);
            }
        }
    }
}

pub(super) fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(format!("got {}, wanted a string", kind(other))),
    }
}

fn number(value: &Value) -> Option<&Number> {
    match value {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

/// A whole number between two bounds.
pub(super) fn whole(least: u32, most: u32) -> impl Fn(&Value) -> Result<u32, String> {
    move |value| {
        number(value)
            .and_then(Number::as_u64)
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| (least..=most).contains(n))
            .ok_or_else(|| {
                let got = kind(value);
                format!("got {got}, wanted a whole number from {least} to {most}")
            })
    }
}

/// A number between two bounds.
pub(super) fn real(least: f64, most: f64) -> impl Fn(&Value) -> Result<f64, String> {
    move |value| {
        number(value)
            .and_then(Number::as_f64)
            .filter(|n| (least..=most).contains(n))
            .ok_or_else(|| {
                let got = kind(value);
                format!("got {got}, wanted a number from {least} to {most}")
            })
    }
}
