//! Filters on texts.

use super::call::Call;
use super::catalog::Callable;
use super::cell::Cell;
use super::halt::{Halt, failed};
use serde_json::Value;

/// All of them.
pub(super) static ALL: &[Callable] = &[
    Callable::filter("lower", &[], 0, |call| each(call, str::to_lowercase)),
    Callable::filter("upper", &[], 0, |call| each(call, str::to_uppercase)),
    Callable::filter("trim", &[], 0, |call| {
        each(call, |text| text.trim().to_owned())
    }),
    Callable::filter("capitalize", &[], 0, |call| each(call, capitalize)),
    Callable::filter("title", &[], 0, |call| each(call, title)),
    Callable::filter("slugify", &[], 0, |call| each(call, slugify)),
    Callable::filter("nl2br", &[], 0, |call| {
        each(call, |text| {
            text.replace("\r\n", "\n").replace('\n', "<br />\n")
        })
    }),
    Callable::filter("abbreviate", &["length"], 1, abbreviate),
    Callable::filter("truncate", &["length", "suffix"], 1, abbreviate),
    Callable::filter("replace", &["replace_pairs", "regexp"], 1, replace),
    Callable::filter("split", &["delimiter", "limit"], 1, split),
    Callable::filter("startsWith", &["value"], 1, |call| {
        Ok(check(call, |text, part| text.starts_with(part)))
    }),
    Callable::filter("endsWith", &["value"], 1, |call| {
        Ok(check(call, |text, part| text.ends_with(part)))
    }),
    Callable::filter("substringBefore", &["separator"], 1, |call| {
        part(call, |text, at| {
            text.find(at).map_or(text, |found| &text[..found])
        })
    }),
    Callable::filter("substringBeforeLast", &["separator"], 1, |call| {
        part(call, |text, at| {
            text.rfind(at).map_or(text, |found| &text[..found])
        })
    }),
    Callable::filter("substringAfter", &["separator"], 1, |call| {
        part(call, |text, at| {
            text.find(at).map_or("", |found| &text[found + at.len()..])
        })
    }),
    Callable::filter("substringAfterLast", &["separator"], 1, |call| {
        part(call, |text, at| {
            text.rfind(at).map_or("", |found| &text[found + at.len()..])
        })
    }),
    Callable::filter("indent", &["amount", "prefix"], 1, |call| {
        indent(call, false)
    }),
    Callable::filter("nindent", &["amount", "prefix"], 1, |call| {
        indent(call, true)
    }),
    Callable::filter("escapeChar", &["type"], 1, escape),
];

/// Null stays null.
fn each(call: &Call<'_>, change: fn(&str) -> String) -> Result<Cell, Halt> {
    if call.plain(0).is_null() {
        return Ok(Value::Null.into());
    }
    let text = call.text(0);
    call.charge(text.len())?;
    Ok(change(&text).into())
}

fn capitalize(text: &str) -> String {
    let start = text.len() - text.trim_start().len();
    let mut letters = text[start..].chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{}{first}{}", &text[..start], letters.as_str())
}

/// Each word begins with a capital letter.
fn title(text: &str) -> String {
    let mut begins = true;
    let mut titled = String::with_capacity(text.len());
    for letter in text.chars() {
        if begins {
            titled.extend(letter.to_uppercase());
        } else {
            titled.push(letter);
        }
        begins = letter.is_whitespace();
    }
    titled
}

/// Letters and digits, everything between them one `-`.
fn slugify(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for letter in text.to_lowercase().chars() {
        let plain = unaccented(letter);
        if plain.chars().all(|letter| letter.is_ascii_alphanumeric()) && !plain.is_empty() {
            slug.push_str(plain.as_ref());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// Latin letters without their accents.
fn unaccented(letter: char) -> std::borrow::Cow<'static, str> {
    const FOLDED: &[(&str, &str)] = &[
        ("àáâãäåāăą", "a"),
        ("æ", "ae"),
        ("çćĉċč", "c"),
        ("ďđ", "d"),
        ("èéêëēĕėęě", "e"),
        ("ĝğġģ", "g"),
        ("ĥħ", "h"),
        ("ìíîïĩīĭįı", "i"),
        ("ĵ", "j"),
        ("ķ", "k"),
        ("ĺļľŀł", "l"),
        ("ñńņňŉ", "n"),
        ("òóôõöøōŏő", "o"),
        ("œ", "oe"),
        ("ŕŗř", "r"),
        ("śŝşšș", "s"),
        ("ß", "ss"),
        ("ţťŧț", "t"),
        ("ùúûüũūŭůűų", "u"),
        ("ŵ", "w"),
        ("ýÿŷ", "y"),
        ("źżž", "z"),
    ];
    match FOLDED.iter().find(|(letters, _)| letters.contains(letter)) {
        Some((_, plain)) => std::borrow::Cow::Borrowed(plain),
        None => std::borrow::Cow::Owned(letter.to_string()),
    }
}

/// At most so many characters, those of the suffix among them.
fn abbreviate(call: &Call<'_>) -> Result<Cell, Halt> {
    if call.plain(0).is_null() {
        return Ok(Value::Null.into());
    }
    let text = call.text(0);
    call.charge(text.len())?;
    let most = usize::try_from(call.whole(1)?).map_err(|_| call.wrong(1, "a length"))?;
    let suffix = call.text_or(2, "...");
    if text.chars().count() <= most {
        return Ok((&*text).into());
    }
    let kept = most.saturating_sub(suffix.chars().count());
    let cut: String = text
        .chars()
        .take(kept)
        .chain(suffix.chars())
        .take(most)
        .collect();
    Ok(cut.into())
}

/// A map of texts to what stands for them; they are looked for in the order of the map.
fn replace(call: &Call<'_>) -> Result<Cell, Halt> {
    if call.plain(0).is_null() {
        return Ok(Value::Null.into());
    }
    let mut text = call.text(0).into_owned();
    let patterns = call.flag_or(2, false);
    for (wanted, by) in call.map(1)? {
        let by = super::cell::text(by);
        if wanted.is_empty() {
            continue;
        }
        // As large as it can become.
        let most = (text.len() / wanted.len() + 1)
            .saturating_mul(by.len())
            .saturating_add(text.len());
        if patterns {
            let pattern = super::pattern::compile(call, wanted, &text)?;
            // Behind each character, at the most, and a group can stand for the whole text.
            let by_most = by.len() + by.matches('$').count() * text.len();
            call.charge((text.len() + 1).saturating_mul(by_most + 1))?;
            text = pattern.replace_all(&text, &*by).into_owned();
        } else {
            call.charge(most)?;
            text = text.replace(wanted, &by);
        }
        call.charge(text.len())?;
    }
    Ok(text.into())
}

fn split(call: &Call<'_>) -> Result<Cell, Halt> {
    if call.plain(0).is_null() {
        return Ok(Value::Null.into());
    }
    let (text, by) = (call.text(0), call.text(1));
    call.charge(text.len().saturating_mul(32))?;
    let limit = if call.given(2) { call.whole(2)? } else { 0 };
    let mut parts: Vec<&str> = match usize::try_from(limit) {
        _ if by.is_empty() => text.split("").filter(|part| !part.is_empty()).collect(),
        Ok(limit) if limit > 0 => text.splitn(limit, &*by).collect(),
        _ => text.split(&*by).collect(),
    };
    // Without a limit, nothing at the end is left out.
    while limit == 0 && parts.len() > 1 && parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    Ok(parts
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

fn check(call: &Call<'_>, holds: fn(&str, &str) -> bool) -> Cell {
    holds(&call.text(0), &call.text(1)).into()
}

fn part(call: &Call<'_>, take: for<'a> fn(&'a str, &str) -> &'a str) -> Result<Cell, Halt> {
    let (text, separator) = (call.text(0), call.text(1));
    call.charge(text.len())?;
    if separator.is_empty() {
        return Err(failed(format!(
            "`{}` takes a separator that is not empty",
            call.name
        )));
    }
    Ok(take(&text, &separator).into())
}

/// All lines but the first one; `nindent` begins a line before it.
fn indent(call: &Call<'_>, all: bool) -> Result<Cell, Halt> {
    let text = call.text(0);
    let amount = usize::try_from(call.whole(1)?)
        .ok()
        .filter(|amount| *amount <= 256);
    let amount = amount.ok_or_else(|| call.wrong(1, "a number up to 256"))?;
    let prefix = call.text_or(2, " ");
    let lines = text.matches('\n').count() + 1;
    let width = amount.saturating_mul(prefix.len());
    call.charge(lines.saturating_mul(width).saturating_add(text.len()))?;
    let prefix = prefix.repeat(amount);
    let indented = text.replace('\n', &format!("\n{prefix}"));
    Ok(if all {
        format!("\n{prefix}{indented}")
    } else {
        indented
    }
    .into())
}

/// Quotes in a text: `single` for a shell, `double`, or `shell`.
fn escape(call: &Call<'_>) -> Result<Cell, Halt> {
    let text = call.text(0);
    call.charge(text.len())?;
    Ok(match &*call.text(1) {
        "single" => text.replace('\'', "\\'"),
        "double" => text.replace('"', "\\\""),
        "shell" => text.replace('\'', "'\\''"),
        _ => return Err(failed("`escapeChar` takes `single`, `double` or `shell`")),
    }
    .into())
}
