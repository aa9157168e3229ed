//! Times and durations as text. Inside the program both are milliseconds: `…_ms`.

use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

/// Longest duration that any setting takes: ten years.
const MAX_MS: u64 = 3_650 * 24 * 3_600 * 1_000;

/// Milliseconds since 1970 as RFC 3339 in UTC with milliseconds.
///
/// ```
/// use onceward::types::time::rfc3339;
/// assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
/// assert_eq!(rfc3339(1_795_989_751_097), "2026-11-29T22:02:31.097Z");
/// ```
pub fn rfc3339(at_ms: u64) -> String {
    let ms = i64::try_from(at_ms).unwrap_or(i64::MAX);
    let stamp = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
    format!("{stamp:.3}")
}

/// Reads a point in time (RFC 3339, with an offset or `Z`); milliseconds since 1970. `None` for what is none,
/// or before 1970.
///
/// ```
/// use onceward::types::time::parse_rfc3339;
/// assert_eq!(parse_rfc3339("1970-01-01T01:00:00.5+01:00"), Some(500));
/// assert_eq!(parse_rfc3339("2027-01-31"), None);
/// assert_eq!(parse_rfc3339("1969-12-31T23:59:59Z"), None);
/// ```
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let stamp: Timestamp = text.parse().ok()?;
    u64::try_from(stamp.as_millisecond()).ok()
}

/// Reads a duration: a number with a unit (`250ms`, `10s`, `5m`, `2h`, `30d`) or ISO 8601 (`PT30S`).
///
/// A number without a unit, a negative or an absurdly long duration is refused: what looked like
/// seconds to the writer must not be milliseconds to the reader.
///
/// # Errors
/// Says what was got and what was wanted.
///
/// ```
/// use onceward::types::time::parse_duration_ms;
/// assert_eq!(parse_duration_ms("250ms"), Ok(250));
/// assert_eq!(parse_duration_ms("30d"), Ok(2_592_000_000));
/// assert_eq!(parse_duration_ms("PT30S"), Ok(30_000));
/// assert!(parse_duration_ms("30").is_err());
/// assert!(parse_duration_ms("-1s").is_err());
/// ```
pub fn parse_duration_ms(text: &str) -> Result<u64, String> {
    let wrong = || {
        format!(
            "{text:?} is not a duration; write a number with a unit like 250ms, 10s, 5m, 2h, 30d, or ISO 8601 like PT30S"
        )
    };
    let starts_well = text
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_digit() || b == b'P');
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.');
    if !starts_well || !plain {
        return Err(wrong());
    }
    let span: Span = text.parse().map_err(|_| wrong())?;
    let days = SpanRelativeTo::days_are_24_hours();
    let duration: SignedDuration = span.to_duration(days).map_err(|_| wrong())?;
    let ms = u64::try_from(duration.as_millis()).map_err(|_| wrong())?;
    if ms > MAX_MS {
        return Err(format!("{text:?} is longer than ten years"));
    }
    Ok(ms)
}
