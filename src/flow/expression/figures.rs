//! Filters on numbers.

use super::call::Call;
use super::catalog::Callable;
use super::cell::Cell;
use super::halt::{Halt, failed};
use super::number::Num;
use serde_json::Value;

/// All of them.
pub(super) static ALL: &[Callable] = &[
    Callable::filter("number", &["type"], 0, number),
    Callable::filter("abs", &[], 0, |call| {
        Ok(match call.number(0)? {
            Num::Whole(whole) => Num::Whole(whole.saturating_abs()),
            Num::Float(float) => Num::Float(float.abs()),
        }
        .value()?
        .into())
    }),
    Callable::filter("numberformat", &["format"], 0, number_format),
    Callable::filter("format", &["first"], 0, format).open_ended(),
];

/// A text becomes a number: whole if it is written so, or as the type says.
fn number(call: &Call<'_>) -> Result<Cell, Halt> {
    let kind = call.text_or(1, "").to_uppercase();
    let given = call.plain(0);
    let number = Num::of(given).ok_or_else(|| call.wrong(0, "a number or a text that is one"))?;
    let whole = matches!(kind.as_str(), "INT" | "LONG" | "BIGINTEGER");
    let real = matches!(kind.as_str(), "FLOAT" | "DOUBLE" | "BIGDECIMAL");
    if !whole && !real && !kind.is_empty() {
        return Err(failed(
            "`number` knows the types INT, FLOAT, LONG, DOUBLE, BIGDECIMAL and BIGINTEGER",
        ));
    }
    let value = match number {
        Num::Whole(_) if real => Num::Float(number.float()).value()?,
        Num::Float(_) if whole => return Err(failed("`number` got no whole number")),
        // All digits of it.
        _ => {
            let written = super::cell::text(given);
            let written = written.trim().trim_start_matches('+');
            match written.parse() {
                Ok(number) => Value::Number(number),
                Err(_) => number.value()?,
            }
        }
    };
    Ok(value.into())
}

/// `#,##0.00` and the like: the marks for thousands, and how many decimals.
fn number_format(call: &Call<'_>) -> Result<Cell, Halt> {
    let number = call.number(0)?;
    let pattern = call.text_or(1, "#,##0.###").into_owned();
    let (whole, fraction) = pattern.split_once('.').unwrap_or((&pattern, ""));
    let known = |text: &str| text.chars().all(|c| matches!(c, '#' | '0' | ','));
    if !known(whole) || !known(fraction) || pattern.len() > 40 {
        return Err(failed(
            "`numberformat` knows patterns of `#`, `0`, `,` and `.` only",
        ));
    }
    let most = fraction.len();
    let least = fraction.matches('0').count();
    let digits = match number {
        Num::Whole(whole) => format!("{whole}.{}", "0".repeat(most)),
        Num::Float(float) => format!("{float:.most$}"),
    };
    let (before, after) = digits.split_once('.').unwrap_or((&digits, ""));
    let mut after = after.to_owned();
    while after.len() > least && after.ends_with('0') {
        after.pop();
    }
    let negative = before.starts_with('-');
    let mut before = before.trim_start_matches('-').to_owned();
    while before.len() < whole.matches('0').count() {
        before.insert(0, '0');
    }
    if let Some(comma) = whole.rfind(',') {
        let group = whole.len() - comma - 1;
        let mut at = before.len();
        while group > 0 && at > group {
            at -= group;
            before.insert(at, ',');
        }
    }
    let sign = if negative { "-" } else { "" };
    let point = if after.is_empty() { "" } else { "." };
    Ok(format!("{sign}{before}{point}{after}").into())
}

/// `%s`, `%d`, `%.2f`, `%05d` and `%%`, filled in order.
fn format(call: &Call<'_>) -> Result<Cell, Halt> {
    let pattern = call.text(0);
    let mut out = String::new();
    let mut rest = &*pattern;
    let mut next = 1;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let letter = after.find(|c: char| c.is_ascii_alphabetic() || c == '%');
        let letter = letter.ok_or_else(|| failed("`format` got a `%` without a letter"))?;
        let (flags, kind) = (&after[..letter], &after[letter..=letter]);
        rest = &after[letter + 1..];
        if kind == "%" {
            out.push('%');
            continue;
        }
        let index = next;
        next += 1;
        let (width, decimals) = flags.split_once('.').unwrap_or((flags, ""));
        let zeros = width.starts_with('0');
        let left = width.starts_with('-');
        let width: usize = width
            .trim_start_matches(['-', '0'])
            .parse()
            .unwrap_or(0)
            .min(256);
        let text = match kind {
            "s" => call.text(index).into_owned(),
            "d" => call.whole(index)?.to_string(),
            "f" => {
                let decimals: usize = decimals.parse().unwrap_or(6).min(20);
                format!("{:.decimals$}", call.number(index)?.float())
            }
            _ => return Err(failed("`format` knows `%s`, `%d`, `%f` and `%%`")),
        };
        let padded = match (left, zeros, text.strip_prefix('-')) {
            (true, ..) => format!("{text:<width$}"),
            (_, true, Some(digits)) => format!("-{digits:0>pad$}", pad = width.saturating_sub(1)),
            (_, true, None) => format!("{text:0>width$}"),
            _ => format!("{text:>width$}"),
        };
        call.charge(padded.len())?;
        out.push_str(&padded);
    }
    out.push_str(rest);
    Ok(out.into())
}
