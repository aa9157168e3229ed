//! Patterns of times: letters of Java's `DateTimeFormatter`.

use super::call::Call;
use super::halt::{Halt, failed};

/// Patterns that have a name.
const NAMED: &[(&str, &str)] = &[
    ("iso", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"),
    ("iso_sec", "yyyy-MM-dd'T'HH:mm:ssXXX"),
    ("sql", "yyyy-MM-dd HH:mm:ss.SSSSSS"),
    ("sql_seq", "yyyy-MM-dd HH:mm:ss"),
    ("iso_date", "yyyy-MM-ddXXX"),
    ("iso_local_date", "yyyy-MM-dd"),
    ("iso_ordinal_date", "yyyy-DDDXXX"),
    ("rfc_1123_date_time", "EEE, d MMM yyyy HH:mm:ss 'GMT'"),
];

/// A piece of a pattern.
pub(super) enum Piece {
    Text(String),
    /// In the words of `strtime`.
    Time(String),
    /// `X` to `XXX` with `Z` for none, `x` to `xxx` without.
    Offset(&'static str),
}

/// Reads a pattern. Letters have a meaning, each run of the same one; texts between `'` and all else stand for
/// themselves.
pub(super) fn pieces(call: &Call<'_>, format: &str) -> Result<Vec<Piece>, Halt> {
    let format = NAMED
        .iter()
        .find(|(name, _)| *name == format)
        .map_or(format, |(_, pattern)| pattern);
    if format.len() > 200 {
        return Err(failed(format!(
            "`{}` takes patterns of up to 200 bytes",
            call.name
        )));
    }
    let mut found = Vec::new();
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(first).len();
        if first == '\'' {
            let (text, behind) = quoted(&rest[1..]);
            found.push(Piece::Text(text));
            rest = behind;
        } else if first.is_ascii_alphabetic() {
            found.push(letters(call, first, run)?);
            rest = &rest[run..];
        } else {
            found.push(Piece::Text(rest[..run].to_owned()));
            rest = &rest[run..];
        }
    }
    Ok(found)
}

/// Up to the closing `'`; two of them are one.
fn quoted(text: &str) -> (String, &str) {
    if let Some(behind) = text.strip_prefix('\'') {
        return ("'".to_owned(), behind);
    }
    let mut quoted = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\'') {
        quoted.push_str(before);
        match behind.strip_prefix('\'') {
            Some(behind) => {
                quoted.push('\'');
                rest = behind;
            }
            None => return (quoted, behind),
        }
    }
    (quoted + rest, "")
}

fn letters(call: &Call<'_>, letter: char, run: usize) -> Result<Piece, Halt> {
    let padded = |code: char| {
        if run == 1 {
            format!("%-{code}")
        } else {
            format!("%{code}")
        }
    };
    let time = match (letter, run) {
        ('y' | 'u', 2) => "%y".to_owned(),
        ('y' | 'u', 1) => "%-Y".to_owned(),
        ('y' | 'u', 3..=4) => "%Y".to_owned(),
        ('M' | 'L', 1 | 2) => padded('m'),
        ('M' | 'L', 3) => "%b".to_owned(),
        ('M' | 'L', 4) => "%B".to_owned(),
        ('d', 1 | 2) => padded('d'),
        ('D', 1) => "%-j".to_owned(),
        ('D', 3) => "%j".to_owned(),
        ('H', 1 | 2) => padded('H'),
        ('h', 1 | 2) => padded('I'),
        ('m', 1 | 2) => padded('M'),
        ('s', 1 | 2) => padded('S'),
        ('S', 1..=9) => format!("%{run}f"),
        ('n', 1) => "%9f".to_owned(),
        ('a', 1) => "%p".to_owned(),
        ('E', 1..=3) => "%a".to_owned(),
        ('E', 4) => "%A".to_owned(),
        ('e', 1) => "%u".to_owned(),
        ('Q' | 'q', 1) => "%q".to_owned(),
        ('Q' | 'q', 3) => return Ok(Piece::Time("Q%q".to_owned())),
        ('z', 1..=3) => "%Z".to_owned(),
        ('Z', 1..=3) => "%z".to_owned(),
        ('V', 2) => "%:Q".to_owned(),
        ('X', 1) => return Ok(Piece::Offset("X")),
        ('X', 2) => return Ok(Piece::Offset("XX")),
        ('X', 3) => return Ok(Piece::Offset("XXX")),
        ('x', 1) => return Ok(Piece::Offset("x")),
        ('x', 2) => return Ok(Piece::Offset("xx")),
        ('x', 3) => return Ok(Piece::Offset("xxx")),
        ('Y', _) => {
            return Err(failed(format!(
                "`{}` does not know `Y`, the year of a week; `y` is the year",
                call.name
            )));
        }
        _ => {
            let letters = letter.to_string().repeat(run.min(8));
            return Err(failed(format!(
                "`{}` does not know `{letters}` in a pattern",
                call.name
            )));
        }
    };
    Ok(Piece::Time(time))
}
