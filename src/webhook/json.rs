//! JSON text, read by one set of rules wherever this service looks into it: keys, fingerprints and
//! the inputs of typed functions.
//!
//! - Nesting is counted before anything recurses: [`MAX_JSON_DEPTH`] levels.
//! - Of members with one name the last one counts, as in JavaScript and Python.
//! - Numbers keep their digits as they were written.

use super::document::DocumentFault;
use crate::limits::MAX_JSON_DEPTH;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

/// How the parser hands on numbers and raw text within itself: members whose name begins so would
/// be taken for them.
const RESERVED: &[u8] = b"$serde_json::private::";

/// What a look over the text finds, without recursion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Looked {
    depth: usize,
    /// Members of all objects, if it is JSON.
    members: usize,
    reserved: bool,
}

/// Counts brackets and colons outside of strings. It need not be JSON.
fn look(bytes: &[u8]) -> Looked {
    let mut seen = Looked::default();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => {
                depth += 1;
                seen.depth = seen.depth.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b':' => seen.members += 1,
            b'"' => {
                seen.reserved |= is_reserved(&bytes[at..]);
                at += string_end(&bytes[at..]);
            }
            _ => {}
        }
    }
    seen
}

/// Bytes up to and with the quote that ends a string.
fn string_end(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => break,
            b'\\' => at += 1,
            _ => {}
        }
    }
    at.min(bytes.len())
}

/// Whether a string begins with the reserved text, in whatever way it is escaped.
fn is_reserved(mut bytes: &[u8]) -> bool {
    for want in RESERVED {
        let (got, length) = match bytes {
            [b'\\', b'u', b'0', b'0', high, low, ..] => {
                let digit = |b: &u8| char::from(*b).to_digit(16);
                let code = digit(high).zip(digit(low)).map(|(h, l)| h * 16 + l);
                (code.and_then(|code| u8::try_from(code).ok()), 6)
            }
            [byte, ..] => (Some(*byte), 1),
            [] => (None, 0),
        };
        if got != Some(*want) {
            return false;
        }
        bytes = &bytes[length..];
    }
    true
}

/// Refuses what is nested more deeply than [`MAX_JSON_DEPTH`], without reading it as JSON.
///
/// # Errors
/// [`DocumentFault::TooDeep`].
///
/// ```
/// use onceward::webhook::{DocumentFault, json::check_depth};
/// assert_eq!(check_depth(&b"[".repeat(128)), Ok(()));
/// assert_eq!(check_depth(&b"[".repeat(129)), Err(DocumentFault::TooDeep));
/// assert_eq!(check_depth(br#""[[[[""#), Ok(()), "a text");
/// ```
pub fn check_depth(bytes: &[u8]) -> Result<(), DocumentFault> {
    if look(bytes).depth > MAX_JSON_DEPTH {
        return Err(DocumentFault::TooDeep);
    }
    Ok(())
}

/// Reads a JSON text. Of members with one name the last one counts; it stands where the first one did.
///
/// # Errors
/// It is empty, nested too deeply, or not JSON.
///
/// ```
/// use onceward::webhook::json;
/// let value = json::read(br#"{"id": 1, "n": 9007199254740993, "id": 2}"#).unwrap();
/// assert_eq!(value.to_string(), r#"{"id":2,"n":9007199254740993}"#);
/// ```
pub fn read(bytes: &[u8]) -> Result<Value, DocumentFault> {
    parsed(bytes, look(bytes))
}

fn parsed(bytes: &[u8], seen: Looked) -> Result<Value, DocumentFault> {
    if seen.depth > MAX_JSON_DEPTH {
        return Err(DocumentFault::TooDeep);
    }
    if seen.reserved {
        return Err(DocumentFault::Reserved);
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(DocumentFault::Empty);
    }
    typed(bytes).map_err(|error| DocumentFault::NotJson {
        line: error.line(),
        column: error.column(),
    })
}

/// A JSON text in which every name stands once: the text as it is, unless a name stands in it twice.
///
/// # Errors
/// It is empty, nested too deeply, or not JSON.
///
/// ```
/// use onceward::webhook::json;
/// assert_eq!(json::settled(br#"{"a": 1.50}"#).unwrap(), br#"{"a": 1.50}"#.as_slice());
/// assert_eq!(json::settled(br#"{"a": 1, "a": 1.50}"#).unwrap(), br#"{"a":1.50}"#.as_slice());
/// ```
pub fn settled(bytes: &[u8]) -> Result<Cow<'_, [u8]>, DocumentFault> {
    let seen = look(bytes);
    let value = parsed(bytes, seen)?;
    if members(&value) == seen.members {
        return Ok(Cow::Borrowed(bytes));
    }
    Ok(Cow::Owned(value.to_string().into_bytes()))
}

/// Reads a value of any type by the same rules: of members with one name the last one counts, also
/// where the type itself would refuse them.
///
/// # Errors
/// What is wrong with the text, or why it is not of this type. The sender's own values may stand in it.
///
/// ```
/// use onceward::webhook::json;
/// #[derive(serde::Deserialize)]
/// struct Order { id: u64 }
/// let order: Order = json::read_as(br#"{"id": 1, "id": 18446744073709551615}"#).unwrap();
/// assert_eq!(order.id, u64::MAX);
/// assert!(json::read_as::<Order>(b"{}").is_err());
/// ```
pub fn read_as<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let text = settled(bytes).map_err(|fault| fault.to_string())?;
    typed(&text).map_err(|error| error.to_string())
}

fn members(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(members).sum::<usize>(),
        Value::Array(list) => list.iter().map(members).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The parser's own limit is one level lower; ours was checked before.
fn typed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    parser.disable_recursion_limit();
    let value = T::deserialize(&mut parser)?;
    parser.end()?;
    Ok(value)
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
