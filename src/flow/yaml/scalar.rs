//! The core schema: what a plain scalar is.

use super::Style;
use serde_json::{Number, Value};
use std::str::FromStr;

/// A tag that is written before a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    None,
    Text,
    Int,
    Float,
    Bool,
    Null,
    List,
    Map,
}

/// What a scalar is, or what is wrong with it.
pub(super) fn resolve(text: &str, style: Style, tag: Tag) -> Result<Value, String> {
    let plain = || match style {
        Style::Plain => core(text),
        _ => Ok(Value::String(text.to_owned())),
    };
    let value = match tag {
        Tag::None => return plain(),
        Tag::Text => return Ok(Value::String(text.to_owned())),
        Tag::Float => match core(text)? {
            Value::Number(number) => return Ok(Value::Number(number)),
            other => other,
        },
        Tag::Int | Tag::Bool | Tag::Null => core(text)?,
        Tag::List | Tag::Map => Value::String(text.to_owned()),
    };
    let fits = match tag {
        Tag::Int => value.as_number().is_some_and(is_whole),
        Tag::Bool => value.is_boolean(),
        Tag::Null => value.is_null(),
        _ => false,
    };
    if fits {
        Ok(value)
    } else {
        Err(format!(
            "`{}` is not what its tag says.",
            super::shortened(text)
        ))
    }
}

fn is_whole(number: &Number) -> bool {
    !number.as_str().contains(['.', 'e', 'E'])
}

/// The type that the core schema gives to a plain scalar.
fn core(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        ".nan" | ".NaN" | ".NAN" => return Err(no_number(text)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Err(no_number(text));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(text, digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(text, digits, 8);
    }
    let number = canonical(text).and_then(|number| Number::from_str(&number).ok());
    Ok(number.map_or_else(|| Value::String(text.to_owned()), Value::Number))
}

fn no_number(text: &str) -> String {
    format!("`{text}` is no number that JSON has; write it in quotes if it is a text.")
}

fn radix(text: &str, digits: &str, radix: u32) -> Result<Value, String> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Ok(Value::String(text.to_owned()));
    }
    let number = u128::from_str_radix(digits, radix).map_err(|_| {
        format!(
            "`{}` has more than 128 bits; write it in decimal.",
            super::shortened(text)
        )
    })?;
    let number = Number::from_str(&number.to_string()).map_err(|error| error.to_string())?;
    Ok(Value::Number(number))
}

/// A decimal number as JSON writes it, with all its digits. A zero before other digits makes it a text: YAML 1.1 reads
/// it as octal, YAML 1.2 as decimal, and who writes it mostly means neither.
fn canonical(text: &str) -> Option<String> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    let empty = whole.is_empty() && fraction.is_none_or(str::is_empty);
    let octal = whole.len() > 1 && whole.starts_with('0');
    if empty || octal || !exponent_fits || !digits(whole) || !digits(fraction.unwrap_or("")) {
        return None;
    }
    let mut number = String::with_capacity(text.len() + 2);
    if negative {
        number.push('-');
    }
    number.push_str(if whole.is_empty() { "0" } else { whole });
    if let Some(fraction) = fraction {
        number.push('.');
        number.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    if let Some(exponent) = exponent {
        number.push('e');
        number.push_str(exponent);
    }
    Some(number)
}
