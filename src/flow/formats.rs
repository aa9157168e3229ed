//! Forms of texts in flows: durations, schedules, time zones, patterns.

use crate::limits::MAX_SLEEP_MS;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo};
use regex_bites::{Regex, RegexBuilder};

/// The longest pattern when compiled, in bytes.
const MAX_PATTERN_BYTES: usize = 256 << 10;

/// An ISO 8601 duration in milliseconds: weeks, days (of 24 hours), hours, minutes, seconds.
///
/// ```
/// # use onceward::flow::formats::duration_ms;
/// assert_eq!(duration_ms("PT1M30.5S"), Ok(90_500));
/// assert_eq!(duration_ms("P1DT2H"), Ok(93_600_000));
/// assert!(duration_ms("P1M").is_err() && duration_ms("30s").is_err() && duration_ms("PT-5S").is_err());
/// ```
///
/// # Errors
/// What is wrong with it.
pub fn duration_ms(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let wanted = "an ISO 8601 duration like `PT30S`, `PT5M` or `P1D` is wanted";
    if !text.starts_with(['P', 'p']) || text.contains('-') || text.len() > 64 {
        return Err(wanted.to_owned());
    }
    let span: Span = text.parse().map_err(|_| wanted.to_owned())?;
    if span.get_months() != 0 || span.get_years() != 0 {
        return Err("months and years have no fixed length; write days".to_owned());
    }
    let exact = span.to_duration(SpanRelativeTo::days_are_24_hours());
    let ms = exact.map_err(|_| wanted.to_owned())?.as_millis();
    let ms = u64::try_from(ms).map_err(|_| wanted.to_owned())?;
    if ms > MAX_SLEEP_MS {
        return Err("ten years are the longest".to_owned());
    }
    Ok(ms)
}

/// A schedule: minute, hour, day, month, day of the week; or `@daily` and the like.
///
/// ```
/// # use onceward::flow::formats::cron;
/// assert!(cron("*/5 9-17 * * MON-FRI").is_ok() && cron("@daily").is_ok());
/// assert!(cron("0 */5 * * * *").is_err());
/// ```
///
/// # Errors
/// What is wrong with it.
pub fn cron(text: &str) -> Result<Cron, String> {
    let parser = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .build();
    parser.parse(text.trim()).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.trim_end_matches('.');
        format!("five fields or a word like `@daily` are wanted ({reason})")
    })
}

/// A time zone by its name.
///
/// ```
/// # use onceward::flow::formats::time_zone;
/// assert!(time_zone("Europe/Paris").is_ok() && time_zone("UTC").is_ok());
/// assert!(time_zone("Europe/Pari").is_err());
/// ```
///
/// # Errors
/// What is wrong with it.
pub fn time_zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name)
        .map_err(|_| "a name of the tz database like `Europe/Paris` is wanted".to_owned())
}

/// A pattern that a text has to match as a whole. It takes time in proportion to the text, so it has neither
/// back-references nor look-around.
///
/// ```
/// # use onceward::flow::formats::pattern;
/// let pattern = pattern("[a-z]+|x1").expect("a pattern");
/// assert!(pattern.is_match("abc") && pattern.is_match("x1") && !pattern.is_match("abc1"));
/// ```
///
/// # Errors
/// What is wrong with it.
pub fn pattern(text: &str) -> Result<Regex, String> {
    let build = |text: &str| {
        let built = RegexBuilder::new(text)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        built.map_err(|error| format!("it is no regular expression ({error})"))
    };
    // On its own first: a parenthesis must not close the one that is put around it.
    build(text)?;
    build(&format!("^(?:{text})$"))
}
