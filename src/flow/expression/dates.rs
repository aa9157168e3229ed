//! Times, and their patterns: letters of Java's `DateTimeFormatter`, written by jiff.

use super::call::Call;
use super::catalog::Callable;
use super::cell::Cell;
use super::date_patterns::{Piece, pieces};
use super::halt::{Ask, Halt, failed};
use super::number::Num;
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Timestamp, Zoned};
use serde_json::Value;

const FORMAT: &[&str] = &["format", "timeZone", "existingFormat", "locale"];
const ADD: &[&str] = &[
    "amount",
    "unit",
    "format",
    "timeZone",
    "existingFormat",
    "locale",
];
const STAMP: &[&str] = &["timeZone", "existingFormat"];

/// All of them.
pub(super) static ALL: &[Callable] = &[
    Callable::function("now", FORMAT, 0, now),
    Callable::filter("date", FORMAT, 0, |call| date(call, 0)),
    Callable::filter("dateFormat", FORMAT, 0, |call| date(call, 0)),
    Callable::filter("dateAdd", ADD, 2, add),
    Callable::filter("timestamp", STAMP, 0, |call| {
        stamp(call, |time| time.as_second().into())
    }),
    Callable::filter("timestampMilli", STAMP, 0, |call| {
        stamp(call, |time| time.as_millisecond().into())
    }),
    Callable::filter("timestampMicro", STAMP, 0, |call| {
        stamp(call, |time| time.as_microsecond().into())
    }),
    Callable::filter("timestampNano", STAMP, 0, |call| {
        stamp(call, Timestamp::as_nanosecond)
    }),
];

/// What one rendering pays for a time: zones are looked up and read.
const COST_BYTES: usize = 1 << 10;

fn now(call: &Call<'_>) -> Result<Cell, Halt> {
    let now_ms = call.run.session.now_ms.ok_or(Halt::Ask(Ask::Now))?;
    call.charge(COST_BYTES)?;
    let now = i64::try_from(now_ms)
        .ok()
        .and_then(|now| Timestamp::from_millisecond(now).ok());
    let now = now
        .ok_or_else(|| failed("the time is out of range"))?
        .to_zoned(zone(call, 1)?);
    written(call, &now, 0)
}

/// `first`: the index of the format, behind which the zone, the existing format and the locale follow.
fn read(call: &Call<'_>, zone_at: usize, existing_at: usize) -> Result<Zoned, Halt> {
    call.charge(COST_BYTES)?;
    let zone = zone(call, zone_at)?;
    let value = call.plain(0);
    let found = match (value, call.given(existing_at)) {
        (Value::String(text), true) => parse(call, text, &call.text(existing_at), &zone)?,
        (Value::String(text), false) => iso(text, &zone),
        (value, _) => Num::strict(value)
            .and_then(epoch)
            .map(|time| time.to_zoned(zone.clone())),
    };
    let found = found.ok_or_else(|| {
        call.wrong(
            0,
            "a date or a time (ISO 8601, or what `existingFormat` says)",
        )
    })?;
    Ok(found.with_time_zone(zone))
}

/// Seconds since 1970; numbers that are too large for that are milliseconds.
fn epoch(number: Num) -> Option<Timestamp> {
    const MILLISECONDS_FROM: f64 = 100_000_000_000.0;
    let float = number.float();
    match number {
        Num::Whole(whole) if float.abs() < MILLISECONDS_FROM => {
            Timestamp::from_second(i64::try_from(whole).ok()?).ok()
        }
        Num::Whole(whole) => Timestamp::from_millisecond(i64::try_from(whole).ok()?).ok(),
        #[allow(clippy::cast_possible_truncation)]
        Num::Float(_) if float.abs() < MILLISECONDS_FROM => {
            Timestamp::from_millisecond((float * 1e3).round() as i64).ok()
        }
        Num::Float(_) => None,
    }
}

/// ISO 8601: with a zone, an offset, or neither; a date alone is its midnight.
fn iso(text: &str, zone: &TimeZone) -> Option<Zoned> {
    let text = text.trim();
    if let Ok(zoned) = text.parse::<Zoned>() {
        return Some(zoned);
    }
    // `Z[UTC]`, as it is printed where the flows come from.
    let stamp = text.split('[').next().unwrap_or(text);
    if let Ok(time) = stamp.parse::<Timestamp>() {
        return Some(time.to_zoned(zone.clone()));
    }
    text.parse::<DateTime>().ok()?.to_zoned(zone.clone()).ok()
}

fn parse(
    call: &Call<'_>,
    text: &str,
    format: &str,
    zone: &TimeZone,
) -> Result<Option<Zoned>, Halt> {
    let mut pattern = String::new();
    let mut text = text.to_owned();
    for piece in pieces(call, format)? {
        match piece {
            Piece::Text(literal) => pattern.push_str(&literal.replace('%', "%%")),
            Piece::Time(format) => pattern.push_str(&format),
            Piece::Offset(_) => {
                pattern.push_str("%:z");
                if let Some(start) = text.strip_suffix('Z') {
                    text = format!("{start}+00:00");
                }
            }
        }
    }
    let Ok(parsed) = BrokenDownTime::parse(&pattern, &text) else {
        return Ok(None);
    };
    if let Ok(time) = parsed.to_timestamp() {
        return Ok(Some(time.to_zoned(zone.clone())));
    }
    let time = parsed.to_time().unwrap_or(Time::midnight());
    // A time alone is one of the first day.
    let date = parsed.to_date().ok().or_else(|| Date::new(1970, 1, 1).ok());
    Ok(date.and_then(|date| date.to_datetime(time).to_zoned(zone.clone()).ok()))
}

/// A zone of the IANA database, or an offset; UTC if there is none.
fn zone(call: &Call<'_>, index: usize) -> Result<TimeZone, Halt> {
    if !call.given(index) {
        return Ok(TimeZone::UTC);
    }
    let name = call.text(index);
    let known = match &*name {
        "Z" | "UTC" | "GMT" => Some(TimeZone::UTC),
        name if name.starts_with(['+', '-']) => offset(name),
        name => TimeZone::get(name).ok(),
    };
    known.ok_or_else(|| failed(format!("`{}` knows no such time zone", call.name)))
}

fn offset(text: &str) -> Option<TimeZone> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text[1..].split_once(':').unwrap_or((&text[1..], "0"));
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = (0..60)
        .contains(&minutes)
        .then_some(sign * (hours * 3600 + minutes * 60))?;
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

fn date(call: &Call<'_>, shift: usize) -> Result<Cell, Halt> {
    if call.plain(0).is_null() {
        return Ok(Value::Null.into());
    }
    let time = read(call, shift + 2, shift + 3)?;
    written(call, &time, shift + 1)
}

fn add(call: &Call<'_>) -> Result<Cell, Halt> {
    if call.plain(0).is_null() {
        return Ok(Value::Null.into());
    }
    let time = read(call, 4, 5)?;
    let amount = call.whole(1)?;
    let unit = call.text(2).to_uppercase();
    let many = |count: i64| amount.checked_mul(count);
    let span = Span::new();
    let span = match unit.trim_end_matches('S') {
        "NANO" => span.try_nanoseconds(amount).ok(),
        "MICRO" => span.try_microseconds(amount).ok(),
        "MILLI" => span.try_milliseconds(amount).ok(),
        "SECOND" => span.try_seconds(amount).ok(),
        "MINUTE" => span.try_minutes(amount).ok(),
        "HOUR" => span.try_hours(amount).ok(),
        "HALF_DAY" => many(12).and_then(|amount| span.try_hours(amount).ok()),
        "DAY" => span.try_days(amount).ok(),
        "WEEK" => span.try_weeks(amount).ok(),
        "MONTH" => span.try_months(amount).ok(),
        "YEAR" => span.try_years(amount).ok(),
        "DECADE" => many(10).and_then(|amount| span.try_years(amount).ok()),
        "CENTURIE" | "CENTURY" => many(100).and_then(|amount| span.try_years(amount).ok()),
        _ => {
            return Err(failed(
                "`dateAdd` takes NANOS, MICROS, MILLIS, SECONDS, MINUTES, HOURS, HALF_DAYS, DAYS, WEEKS, MONTHS, YEARS, DECADES or CENTURIES",
            ));
        }
    };
    let later = span.and_then(|span| time.checked_add(span).ok());
    written(
        call,
        &later.ok_or_else(|| failed("`dateAdd` leaves the calendar"))?,
        3,
    )
}

/// A number; nanoseconds have more digits than 64 bits hold.
fn stamp(call: &Call<'_>, of: fn(Timestamp) -> i128) -> Result<Cell, Halt> {
    if call.plain(0).is_null() {
        return Ok(Value::Null.into());
    }
    let time = read(call, 1, 2)?;
    Ok(Num::Whole(of(time.timestamp())).value()?.into())
}

/// `at`: the index of the format; the locale comes three behind it.
fn written(call: &Call<'_>, time: &Zoned, at: usize) -> Result<Cell, Halt> {
    if call.given(at + 3) && !call.text(at + 3).to_lowercase().starts_with("en") {
        return Err(failed(format!("`{}` knows English names only", call.name)));
    }
    let format = call.text_or(at, "iso").into_owned();
    let own = match format.as_str() {
        "iso_instant" => Some(time.timestamp().to_string()),
        "iso_date_time" | "iso_zoned_date_time" => {
            let zone = time
                .time_zone()
                .iana_name()
                .map(|name| format!("[{name}]"))
                .unwrap_or_default();
            Some(format!("{}{}{zone}", time.datetime(), shown(time, "XXX")))
        }
        "iso_local_date_time" => Some(time.datetime().to_string()),
        "iso_local_time" => Some(time.time().to_string()),
        "iso_time" | "iso_offset_time" => Some(format!("{}{}", time.time(), shown(time, "XXX"))),
        "iso_week_date" => strtime::format("%G-W%V-%u", time)
            .ok()
            .map(|week| week + &shown(time, "XXX")),
        _ => None,
    };
    if let Some(own) = own {
        return Ok(own.into());
    }
    let mut text = String::new();
    // The name says that it is Greenwich's.
    let greenwich = time.with_time_zone(TimeZone::UTC);
    let time = if format == "rfc_1123_date_time" {
        &greenwich
    } else {
        time
    };
    for piece in pieces(call, &format)? {
        match piece {
            Piece::Text(literal) => text.push_str(&literal),
            Piece::Time(format) => {
                let written = strtime::format(&format, time);
                text.push_str(&written.map_err(|_| failed("this time has no such part"))?);
            }
            Piece::Offset(kind) => text.push_str(&shown(time, kind)),
        }
    }
    Ok(text.into())
}

fn shown(time: &Zoned, kind: &str) -> String {
    let seconds = time.offset().seconds();
    if seconds == 0 && kind.starts_with('X') {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
    match kind.len() {
        1 if minutes == 0 => format!("{sign}{hours:02}"),
        1 | 2 => format!("{sign}{hours:02}{minutes:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}"),
    }
}
