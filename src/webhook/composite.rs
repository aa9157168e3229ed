//! Keys of several parts.

use super::key::{KeyProblem, KeyRule, KeySource, Part};
use super::single;
use std::fmt::Write as _;

/// Joins what all rules find. Nothing at all: the key is not there. Some, but not all: it is missing,
/// and no later rule is tried, for half a key is a mistake.
pub(super) fn find(rules: &[KeyRule], from: &KeySource<'_>) -> Result<Option<Part>, KeyProblem> {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for rule in rules {
        match part(rule, from)? {
            Some(part) => found.push(part),
            None => missing.push(rule.place()),
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    if !missing.is_empty() {
        return Err(KeyProblem::Missing {
            wanted: vec![missing.join(" and ")],
        });
    }
    Ok(Some(Part::Joined(joined(&found))))
}

/// Joins what all rules find; nothing if one of them finds nothing.
pub(super) fn find_whole(
    rules: &[KeyRule],
    from: &KeySource<'_>,
) -> Result<Option<Part>, KeyProblem> {
    let found: Result<Option<Vec<Part>>, KeyProblem> =
        rules.iter().map(|rule| part(rule, from)).collect();
    Ok(found?.map(|found| Part::Joined(joined(&found))))
}

/// What one of several rules finds. A field can have spaces in it here: it is a part of a key, and quoted.
fn part(rule: &KeyRule, from: &KeySource<'_>) -> Result<Option<Part>, KeyProblem> {
    if let KeyRule::Header(name) = rule
        && let Ok(Some(value)) = single(from.headers, name)
        && !value.is_empty()
    {
        return Ok(Some(Part::Text(value.to_owned())));
    }
    rule.find(from)
}

/// A JSON array of texts and numbers, without white space, in visible ASCII: no two lists of parts give
/// the same text.
fn joined(parts: &[Part]) -> String {
    let mut out = String::from("[");
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        match part {
            Part::Key(text) | Part::Text(text) => quote(&mut out, text),
            Part::Number(text) | Part::Joined(text) => out.push_str(text),
        }
    }
    out.push(']');
    out
}

/// A JSON string with `\u` escapes for everything that is not visible ASCII.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_ascii_graphic() => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}
