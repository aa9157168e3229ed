//! Regular expressions: in time linear in the text, and without references back.

use super::call::Call;
use super::halt::{Halt, failed};
use regex_bites::{Regex, RegexBuilder};

/// Largest program of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 256 << 10;

/// How much work a pattern makes at each character: its length, times how often it says that a part is repeated.
pub(super) fn weight(pattern: &str) -> usize {
    let mut weight = pattern.len().max(1);
    for counts in pattern.split('{').skip(1) {
        let counts = counts.split('}').next().unwrap_or_default();
        let most = counts
            .split(',')
            .filter_map(|count| count.trim().parse::<usize>().ok())
            .max();
        weight = weight.saturating_mul(most.unwrap_or(1).max(1));
    }
    weight
}

/// Compiles a pattern, and pays for looking through a text with it.
pub(super) fn compile(call: &Call<'_>, pattern: &str, text: &str) -> Result<Regex, Halt> {
    call.charge((text.len() + 64).saturating_mul(weight(pattern)))?;
    RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|_| {
            let name = call.name;
            failed(format!(
                "`{name}` got no regular expression that is supported"
            ))
        })
}

/// Whether the pattern matches the whole text.
pub(super) fn matches(call: &Call<'_>, text: &str, pattern: &str) -> Result<bool, Halt> {
    let whole = compile(call, &format!("^(?:{pattern})$"), text)?;
    Ok(whole.is_match(text))
}
