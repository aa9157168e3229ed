//! Numbers: whole ones exactly, others as floating point.

use super::halt::{Halt, failed};
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// A number that is calculated with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Num {
    Whole(i128),
    Float(f64),
}

impl Num {
    /// A number, or a text that is one.
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Self::parse(number.as_str()),
            Value::String(text) => Self::parse(text.trim()),
            _ => None,
        }
    }

    /// A number, but no text.
    pub(super) fn strict(value: &Value) -> Option<Self> {
        if value.is_number() {
            Self::of(value)
        } else {
            None
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Ok(whole) = text.parse() {
            return Some(Self::Whole(whole));
        }
        // `inf` and `nan` are no numbers of JSON.
        let digits = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
        let float = text
            .parse::<f64>()
            .ok()
            .filter(|float| digits && float.is_finite());
        float.map(Self::Float)
    }

    #[allow(clippy::cast_precision_loss)]
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    pub(super) fn value(self) -> Result<Value, Halt> {
        match self {
            Self::Whole(whole) => Number::from_i128(whole),
            Self::Float(float) => Number::from_f64(float),
        }
        .map(Value::Number)
        .ok_or_else(|| failed("the result is no number"))
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a.cmp(&b),
            (a, b) => a.float().partial_cmp(&b.float()).unwrap_or(Ordering::Equal),
        }
    }
}

/// `+`, `-`, `*`, `/` and `%`: whole numbers stay whole.
pub(super) fn calculate(operator: &str, a: Num, b: Num) -> Result<Value, Halt> {
    let divides = matches!(operator, "/" | "%");
    if divides && b.float() == 0.0 {
        return Err(failed("division by zero"));
    }
    let result = match (a, b) {
        (Num::Whole(a), Num::Whole(b)) => {
            let result = match operator {
                "+" => a.checked_add(b),
                "-" => a.checked_sub(b),
                "*" => a.checked_mul(b),
                "/" => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            Num::Whole(result.ok_or_else(|| failed("the result is too large a number"))?)
        }
        (a, b) => {
            let (a, b) = (a.float(), b.float());
            Num::Float(match operator {
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                "/" => a / b,
                _ => a % b,
            })
        }
    };
    result.value()
}

/// Whether two values are equal: numbers by what they are, everything else by its form.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            x == y
                || match (Num::strict(a), Num::strict(b)) {
                    (Some(x), Some(y)) => x.compare(y).is_eq() && (fits(x) && fits(y)),
                    _ => false,
                }
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Whether a floating point number is the number itself: whole ones beyond 2^127 are only near it.
fn fits(number: Num) -> bool {
    match number {
        Num::Whole(_) => true,
        Num::Float(float) => float.abs() < 1e38,
    }
}

/// Order of two values of one type: numbers, then texts.
pub(super) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        _ => Some(Num::of(a)?.compare(Num::of(b)?)),
    }
}
