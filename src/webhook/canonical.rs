//! One text for each JSON value: the JSON Canonicalization Scheme (RFC 8785).
//!
//! It goes beyond the standard in one point. RFC 8785 makes a double of every number, so that two
//! different 64-bit ids can become one. Here an integer, or a fraction of more than 17 significant digits,
//! keeps its exact value where the double's text has another one: `9007199254740993` is not
//! `9007199254740992`. So does a number that is too large or too small for a double. All others are
//! written as the standard says.

use super::pointer::{Pointer, index};
use serde_json::{Number, Value};

/// Digits by which a double is always told from every other one.
const DOUBLE_DIGITS: usize = 17;
/// Integers up to this many digits are written out.
const PLAIN_DIGITS: i64 = 64;

/// What of a value is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Skip<'p>(Vec<&'p [String]>);

impl<'p> Skip<'p> {
    /// What stands at these places.
    pub(super) fn of(pointers: &'p [Pointer]) -> Self {
        Self(pointers.iter().map(Pointer::tokens).collect())
    }

    /// What of a member.
    pub(super) fn within(&self, name: &str) -> Self {
        let tails = self.0.iter().filter_map(|tokens| match tokens {
            [first, rest @ ..] if first == name => Some(rest),
            _ => None,
        });
        Self(tails.collect())
    }

    /// What of an element.
    fn at(&self, place: usize) -> Self {
        let tails = self.0.iter().filter_map(|tokens| match tokens {
            [first, rest @ ..] if index(first) == Some(place) => Some(rest),
            _ => None,
        });
        Self(tails.collect())
    }

    /// Whether the whole of a member.
    pub(super) fn is_whole(&self, name: &str) -> bool {
        self.within(name).is_all()
    }

    fn is_all(&self) -> bool {
        self.0.iter().any(|tokens| tokens.is_empty())
    }
}

/// The canonical text of a value.
///
/// ```
/// use onceward::webhook::canonical::text;
/// let value = serde_json::json!({"b": [1.0, "\u{20ac}\n"], "a": null});
/// assert_eq!(text(&value), "{\"a\":null,\"b\":[1,\"€\\n\"]}");
/// ```
pub fn text(value: &Value) -> String {
    without(value, &Skip::default())
}

/// The same without some of it. An element that is left out leaves its place empty, so that the others
/// keep theirs; a whole value that is left out is the empty text.
pub(super) fn without(value: &Value, skip: &Skip<'_>) -> String {
    let mut out = String::new();
    write(&mut out, value, skip);
    out
}

fn write(out: &mut String, value: &Value, skip: &Skip<'_>) {
    if skip.is_all() {
        return;
    }
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(text) => write_text(out, text),
        Value::Array(elements) => {
            out.push('[');
            for (place, element) in elements.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(out, element, &skip.at(place));
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().filter(|n| !skip.is_whole(n)).collect();
            // By UTF-16 code units, as the standard says: not the order of UTF-8.
            names.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (place, name) in names.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_text(out, name);
                out.push(':');
                write(out, &members[name], &skip.within(name));
            }
            out.push('}');
        }
    }
}

/// JSON with the shortest escapes, which are those of the standard.
fn write_text(out: &mut String, text: &str) {
    out.push_str(&Value::String(text.to_owned()).to_string());
}

/// A number by its decimal value.
struct Decimal {
    negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    /// Of ten, behind the last digit.
    exponent: i64,
}

impl Decimal {
    /// `None` if the exponent is beyond all reckoning.
    fn read(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
            None => (text, 0_i64),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let led = all.trim_start_matches('0');
        let digits = led.trim_end_matches('0');
        let zeros = i64::try_from(led.len() - digits.len()).ok()?;
        let places = i64::try_from(fraction.len()).ok()?;
        let exponent = exponent.checked_sub(places)?.checked_add(zeros)?;
        Some(Self {
            negative: negative && !digits.is_empty(),
            exponent: if digits.is_empty() { 0 } else { exponent },
            digits: digits.to_owned(),
        })
    }

    fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    fn is_same(&self, other: &Self) -> bool {
        let parts = |d: &Self| (d.negative, d.exponent);
        parts(self) == parts(other) && self.digits == other.digits
    }

    /// Its own text, one for each value.
    fn exact(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let length = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        match usize::try_from(self.exponent) {
            Ok(zeros) if length.saturating_add(self.exponent) <= PLAIN_DIGITS => {
                format!("{sign}{}{}", self.digits, "0".repeat(zeros))
            }
            _ => format!("{sign}{}e{}", self.digits, self.exponent),
        }
    }
}

fn number_text(number: &Number) -> String {
    let written = number.to_string();
    let Some(decimal) = Decimal::read(&written) else {
        return written;
    };
    let double: f64 = written.parse().unwrap_or(f64::INFINITY);
    if !double.is_finite() {
        return decimal.exact();
    }
    let mut buffer = ryu_js::Buffer::new();
    let standard = buffer.format_finite(double);
    // What is not nothing is not written as nothing.
    let coarse = !decimal.is_whole() && decimal.digits.len() <= DOUBLE_DIGITS && double != 0.0;
    let same = || Decimal::read(standard).is_some_and(|value| value.is_same(&decimal));
    if coarse || same() {
        return standard.to_owned();
    }
    decimal.exact()
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
