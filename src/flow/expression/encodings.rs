//! Filters that write values in other forms, and read them.

use super::call::Call;
use super::catalog::Callable;
use super::cell::{Cell, bytes};
use super::halt::{Halt, failed};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use std::fmt::Write as _;

/// All of them.
pub(super) static ALL: &[Callable] = &[
    Callable::filter("json", &[], 0, json),
    Callable::filter("toJson", &[], 0, json),
    Callable::filter("jsonEncode", &[], 0, json),
    Callable::filter("base64encode", &[], 0, |call| {
        text(call, |text| STANDARD.encode(text))
    }),
    Callable::filter("base64decode", &[], 0, |call| {
        let found = STANDARD.decode(call.text(0).trim().as_bytes()).ok();
        let found = found.and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(found
            .ok_or_else(|| failed("`base64decode` got no text in base64"))?
            .into())
    }),
    Callable::filter("urlencode", &[], 0, |call| {
        text(call, |text| {
            url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
        })
    }),
    Callable::filter("urldecode", &[], 0, |call| {
        text(call, |text| {
            let spaces = text.replace('+', " ");
            percent_encoding::percent_decode_str(&spaces)
                .decode_utf8_lossy()
                .into_owned()
        })
    }),
    Callable::filter("sha1", &[], 0, |call| {
        text(call, |text| hex(&Sha1::digest(text)))
    }),
    Callable::filter("sha256", &[], 0, |call| {
        text(call, |text| hex(&Sha256::digest(text)))
    }),
    Callable::filter("sha512", &[], 0, |call| {
        text(call, |text| hex(&Sha512::digest(text)))
    }),
    Callable::filter("yaml", &[], 0, |call| {
        call.charge(bytes(call.raw(0)).saturating_mul(4))?;
        let mut out = String::new();
        yaml(call, call.raw(0), 0, &mut out)?;
        Ok(out.into())
    }),
];

fn text(call: &Call<'_>, write: fn(&str) -> String) -> Result<Cell, Halt> {
    if call.plain(0).is_null() {
        return Ok(Value::Null.into());
    }
    let text = call.text(0);
    call.charge(text.len().saturating_mul(4))?;
    Ok(write(&text).into())
}

fn json(call: &Call<'_>) -> Result<Cell, Halt> {
    call.charge(bytes(call.raw(0)))?;
    Ok(call.raw(0).to_string().into())
}

fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// One line for each value; texts in quotes where they need them.
fn yaml(call: &Call<'_>, value: &Value, depth: usize, out: &mut String) -> Result<(), Halt> {
    call.charge(depth * 2)?;
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let _ = write!(out, "{indent}{}:", scalar(&Value::String(key.clone())));
                below(call, value, depth, out)?;
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let _ = write!(out, "{indent}-");
                below(call, item, depth, out)?;
            }
        }
        other => {
            let _ = writeln!(out, "{indent}{}", scalar(other));
        }
    }
    Ok(())
}

fn below(call: &Call<'_>, value: &Value, depth: usize, out: &mut String) -> Result<(), Halt> {
    let nested = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if nested {
        out.push('\n');
        return yaml(call, value, depth + 1, out);
    }
    let _ = writeln!(out, " {}", scalar(value));
    Ok(())
}

/// A text without quotes begins with a letter and can't be anything else.
fn scalar(value: &Value) -> String {
    const OTHER: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    match value {
        Value::String(text)
            if text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
                && !OTHER.contains(&text.to_lowercase().as_str()) =>
        {
            text.clone()
        }
        other => other.to_string(),
    }
}
