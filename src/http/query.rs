//! The parameters of an address.

use super::code::Code;
use super::problem::{Cause, Problem};
use crate::limits::MAX_TIME_MS;
use jiff::Timestamp;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// What is said of a time that is none.
pub const NO_TIME: &str =
    "wanted a time: RFC 3339 (a + in it is written %2B), or whole milliseconds since 1970";

/// Name and value of each parameter of a path with its query, decoded, in order.
///
/// ```
/// use onceward::http::query::parameters;
/// assert_eq!(parameters("/a?b=1&c=%20"), [("b".into(), "1".into()), ("c".into(), " ".into())]);
/// assert!(parameters("/a").is_empty());
/// ```
pub fn parameters(target: &str) -> Vec<(String, String)> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

/// Keeps what a parameter says that may come once.
///
/// # Errors
/// It has come before.
///
/// ```
/// use onceward::http::query::once;
/// let mut limit = None;
/// assert!(once(&mut limit, 1).is_ok());
/// assert!(once(&mut limit, 2).is_err());
/// ```
pub fn once<T>(place: &mut Option<T>, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err("wanted once, not twice".into()),
    }
}

/// Reads a whole number within these bounds, which may come once.
///
/// # Errors
/// What was wanted.
///
/// ```
/// use onceward::http::query::number;
/// let mut limit = None;
/// assert!(number(&mut limit, "201", &(1..=200)).is_err());
/// assert_eq!((number(&mut limit, "7", &(1..=200)), limit), (Ok(()), Some(7)));
/// ```
pub fn number<T>(
    place: &mut Option<T>,
    value: &str,
    within: &RangeInclusive<T>,
) -> Result<(), String>
where
    T: FromStr + PartialOrd + Display,
{
    let number = value.parse().ok().filter(|number| within.contains(number));
    let number = number.ok_or_else(|| {
        let (least, most) = (within.start(), within.end());
        format!("wanted a whole number from {least} to {most}")
    })?;
    once(place, number)
}

/// A point in time: RFC 3339, or whole milliseconds since 1970. What was before 1970 was before everything.
///
/// ```
/// use onceward::http::query::time_ms;
/// assert_eq!(time_ms("1970-01-01T01:00:00.5+01:00"), Some(500));
/// assert_eq!((time_ms("2000"), time_ms("1969-07-20T20:17:40Z")), (Some(2_000), Some(0)));
/// assert_eq!((time_ms("2027-01-31"), time_ms("-1"), time_ms("4503599627370496")), (None, None, None));
/// ```
pub fn time_ms(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let at_ms = if digits {
        text.parse().ok()?
    } else {
        let stamp: Timestamp = text.parse().ok()?;
        u64::try_from(stamp.as_millisecond()).unwrap_or(0)
    };
    (at_ms <= MAX_TIME_MS).then_some(at_ms)
}

/// A parameter that there is none of, with those that there are.
pub fn unknown(name: String, known: &str) -> Cause {
    Cause {
        detail: format!("no such parameter; there is {known}"),
        pointer: name,
    }
}

/// Refuses parameters where there are none: somebody meant something by them.
///
/// # Errors
/// 400, if there is any.
///
/// ```
/// use onceward::http::query::none;
/// assert!(none("/v1/tasks/1").is_ok() && none("/v1/tasks/1?").is_ok());
/// assert!(none("/v1/tasks/1?dry_run=true").is_err());
/// ```
pub fn none(target: &str) -> Result<(), Problem> {
    let given = parameters(target).into_iter();
    settled(given.map(|(name, _)| unknown(name, "none")).collect())
}

/// Says everything that is wrong with a query.
///
/// # Errors
/// 400, if anything is.
pub fn settled(wrong: Vec<Cause>) -> Result<(), Problem> {
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Problem::new(
        Code::InputInvalid,
        "The query has problems; `errors` lists them.",
    )
    .errors(wrong))
}
