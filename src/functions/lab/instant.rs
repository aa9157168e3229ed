//! A point in time, as RFC 3339 has it.

use super::walk::{kind, quoted};
use jiff::civil::Date;
use serde_json::Value;

const DAY_S: i64 = 86_400;

/// Milliseconds since 1970; a time before that is 0. A part of a millisecond counts as a whole one,
/// so that nothing wakes too early.
pub(super) fn instant(value: &Value) -> Result<u64, String> {
    let Value::String(written) = value else {
        let got = kind(value);
        return Err(format!(
            "got {got}, wanted a time as a string like \"2026-11-01T00:00:00Z\""
        ));
    };
    read(written).ok_or_else(|| {
        let got = quoted(written);
        format!(
            "{got} is not a time; write RFC 3339 with an offset, like 2026-11-01T00:00:00Z or 2026-11-01T01:00:00.250+01:00"
        )
    })
}

fn read(written: &str) -> Option<u64> {
    // Longer than any time with nanoseconds and an offset.
    if !written.is_ascii() || written.len() > 40 {
        return None;
    }
    let (date, rest) = written.split_at_checked(10)?;
    let days = days(date)?;
    let rest = rest.strip_prefix(['T', 't'])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    // A minute may have 61 seconds.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (fraction_ms, offset) = fraction(rest)?;
    let seconds = days * DAY_S + hour * 3_600 + minute * 60 + second - offset_s(offset)?;
    let ms = seconds * 1_000 + fraction_ms;
    Some(u64::try_from(ms).unwrap_or(0))
}

/// Days since 1970.
fn days(date: &str) -> Option<i64> {
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let date = Date::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
    );
    let since = date.ok()?.duration_since(Date::constant(1970, 1, 1));
    Some(since.as_secs() / DAY_S)
}

/// The part of a second, if there is one, in milliseconds; and what follows.
fn fraction(rest: &str) -> Option<(i64, &str)> {
    let Some(rest) = rest.strip_prefix('.') else {
        return Some((0, rest));
    };
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (digits, rest) = rest.split_at(end);
    let (whole, part) = digits.split_at(digits.len().min(3));
    let ms: i64 = format!("{whole:0<3}").parse().ok()?;
    let begun = part.bytes().any(|b| b != b'0');
    (!digits.is_empty()).then_some((ms + i64::from(begun), rest))
}

fn offset_s(offset: &str) -> Option<i64> {
    if matches!(offset, "Z" | "z") {
        return Some(0);
    }
    let (sign, clock) = offset.split_at_checked(1)?;
    let sign = match sign {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let [hour, minute] = numbers(clock, ':', [2, 2])?;
    (hour <= 23 && minute <= 59).then_some(sign * (hour * 3_600 + minute * 60))
}

/// Numbers of a fixed width with something between them.
fn numbers<const N: usize>(text: &str, between: char, widths: [usize; N]) -> Option<[i64; N]> {
    let mut out = [0; N];
    let mut parts = text.split(between);
    for (slot, width) in out.iter_mut().zip(widths) {
        let part = parts.next()?;
        if part.len() != width || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_what_they_say() {
        for (written, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00+00:01", 0),
            ("1970-01-01T00:00:00-00:01", 60_000),
            ("0000-01-01T00:00:00Z", 0),
            ("2026-11-29T22:02:31.097Z", 1_795_989_751_097),
            ("2026-11-29T23:02:31.0970+01:00", 1_795_989_751_097),
            ("2026-11-29T22:02:31.0970001Z", 1_795_989_751_098),
            ("2026-11-29T22:02:31.9999Z", 1_795_989_752_000),
            ("2026-11-29T22:02:31.1Z", 1_795_989_751_100),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("2028-02-29T00:00:00Z", 1_835_395_200_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799_000),
        ] {
            assert_eq!(read(written), Some(ms), "{written}");
        }
    }
}
