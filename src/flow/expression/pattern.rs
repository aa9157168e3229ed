//! Regular expressions: in time linear in the text, and without references back.

use super::call::Call;
use super::halt::{Halt, failed};
use regex_bites::{Regex, RegexBuilder};

/// Largest program of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 64 << 10;

pub(super) fn compile(call: &Call<'_>, pattern: &str) -> Result<Regex, Halt> {
    call.charge(pattern.len().saturating_mul(64))?;
    RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|_| {
            failed(format!(
                "`{}` got no regular expression that is supported",
                call.name
            ))
        })
}

/// Whether the pattern matches the whole text.
pub(super) fn matches(call: &Call<'_>, text: &str, pattern: &str) -> Result<bool, Halt> {
    let whole = compile(call, &format!("^(?:{pattern})$"))?;
    call.charge(text.len().saturating_mul(pattern.len().max(1)))?;
    Ok(whole.is_match(text))
}
