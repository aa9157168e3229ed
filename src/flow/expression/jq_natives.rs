//! Functions of jq programs, and what they pay with.

use super::pattern::weight;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jaq_core::data::HasLut;
use jaq_core::native::{Filter, Fun, bome, run, v};
use jaq_core::{DataT, Error, Lut, RunPtr, ValR};
use jaq_json::{Num, Val};
use regex_bites::{Captures, Regex, RegexBuilder};
use std::cell::Cell;

/// What a program runs with: its functions, and a purse.
pub(super) struct Metered;

impl DataT for Metered {
    type V<'a> = Val;
    type Data<'a> = Meter<'a>;
}

#[derive(Clone)]
pub(super) struct Meter<'a> {
    pub(super) lut: &'a Lut<Metered>,
    pub(super) purse: &'a Purse,
}

impl<'a> HasLut<'a, Metered> for Meter<'a> {
    fn lut(&self) -> &'a Lut<Metered> {
        self.lut
    }
}

/// What a program may spend: so much for each step, one for each value that it
/// looks at or makes, and one more for each 32 bytes of it.
pub(super) struct Purse {
    all: usize,
    left: Cell<usize>,
}

impl Purse {
    pub(super) fn new(all: usize) -> Self {
        Self {
            all,
            left: Cell::new(all),
        }
    }

    /// Once it is empty it stays so.
    pub(super) fn pay(&self, price: usize) -> Result<(), Error<Val>> {
        self.left.set(self.left.get().saturating_sub(price));
        if self.empty() {
            Err(too_much())
        } else {
            Ok(())
        }
    }

    pub(super) fn empty(&self) -> bool {
        self.left.get() == 0
    }

    pub(super) fn spent(&self) -> usize {
        self.all - self.left.get()
    }
}

fn too_much() -> Error<Val> {
    Error::str("too much")
}

/// Price of one step, next to the value that it is about.
const STEP: usize = 4;
/// Deepest nesting of a value.
const MAX_VALUE_DEPTH: usize = 120;
/// Largest text.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Bits of a whole number.
const MAX_BITS: u64 = 4096;

/// Pays for a value, part by part: a part that is in it twice is paid for twice.
fn pay_for(value: &Val, purse: &Purse, depth: usize) -> Result<(), Error<Val>> {
    if depth > MAX_VALUE_DEPTH {
        purse.pay(usize::MAX)?;
    }
    match value {
        Val::Num(Num::BigInt(number)) if number.bits() > MAX_BITS => purse.pay(usize::MAX),
        Val::Null | Val::Bool(_) | Val::Num(_) => purse.pay(1),
        Val::BStr(text) | Val::TStr(text) if text.len() > MAX_TEXT_BYTES => purse.pay(usize::MAX),
        Val::BStr(text) | Val::TStr(text) => purse.pay(1 + text.len() / 32),
        Val::Arr(items) => {
            purse.pay(1)?;
            items
                .iter()
                .try_for_each(|item| pay_for(item, purse, depth + 1))
        }
        Val::Obj(map) => {
            purse.pay(1)?;
            map.iter().try_for_each(|(key, value)| {
                pay_for(key, purse, depth + 1)?;
                pay_for(value, purse, depth + 1)
            })
        }
    }
}

/// All functions, but for what would end the process.
pub(super) fn natives() -> impl Iterator<Item = Fun<Metered>> {
    let library = jaq_core::funs::<Metered>()
        .chain(jaq_std::base_funs())
        .chain(jaq_json::funs());
    let library = library.filter_map(|(name, arguments, function)| match name {
        "range" => Some(("__range", arguments, function)),
        "halt" => None,
        _ => Some((name, arguments, function)),
    });
    let own = [bounds(), encodings(), figures()].into_iter().flatten();
    library.chain(own.map(run::<Metered>))
}

fn bytes(value: &Val) -> Result<&[u8], Error<Val>> {
    match value {
        Val::TStr(text) | Val::BStr(text) => Ok(text),
        _ => Err(Error::typ(value.clone(), "string")),
    }
}

fn text(value: &Val) -> Result<&str, Error<Val>> {
    std::str::from_utf8(bytes(value)?).map_err(|_| Error::str("no text"))
}

fn float(value: &Val) -> Result<f64, Error<Val>> {
    jaq_std::ValT::as_f64(value).ok_or_else(|| Error::typ(value.clone(), "number"))
}

fn mapped(value: &Val, change: impl Fn(&str) -> String) -> ValR<Val> {
    text(value).map(|text| Val::from(change(text)))
}

/// What pays, and what is refused; then regular expressions.
fn bounds() -> Vec<Filter<RunPtr<Metered>>> {
    vec![
        ("__ok", v(0), |cv| {
            let purse = cv.0.data().purse;
            let paid = purse.pay(STEP).and_then(|()| pay_for(&cv.1, purse, 0));
            bome(paid.map(|()| Val::Bool(true)))
        }),
        ("__deny", v(0), |_| {
            bome(Err(Error::str("a range is too long")))
        }),
        // A text times a number would be as long as one likes.
        ("__factor", v(0), |cv| {
            bome(match cv.1 {
                Val::TStr(_) | Val::BStr(_) => Err(Error::str("texts are not multiplied")),
                other => Ok(other),
            })
        }),
        ("matches", v(2), |mut cv| {
            let (flags, pattern) = (cv.0.pop_var(), cv.0.pop_var());
            bome(matched(
                cv.0.data().purse,
                &cv.1,
                &pattern,
                &flags,
                (false, true),
            ))
        }),
        ("split_matches", v(2), |mut cv| {
            let (flags, pattern) = (cv.0.pop_var(), cv.0.pop_var());
            bome(matched(
                cv.0.data().purse,
                &cv.1,
                &pattern,
                &flags,
                (true, true),
            ))
        }),
        ("split_", v(2), |mut cv| {
            let (flags, pattern) = (cv.0.pop_var(), cv.0.pop_var());
            bome(matched(
                cv.0.data().purse,
                &cv.1,
                &pattern,
                &flags,
                (true, false),
            ))
        }),
    ]
}

fn encodings() -> Vec<Filter<RunPtr<Metered>>> {
    vec![
        ("escape_html", v(0), |cv| {
            bome(mapped(&cv.1, |text| {
                let text = text
                    .replace('&', "&amp;")
                    .replace('<', "&lt;")
                    .replace('>', "&gt;");
                text.replace('\'', "&#39;").replace('"', "&quot;")
            }))
        }),
        ("unescape_html", v(0), |cv| {
            bome(mapped(&cv.1, |text| {
                let text = text
                    .replace("&quot;", "\"")
                    .replace("&#39;", "'")
                    .replace("&gt;", ">");
                text.replace("&lt;", "<").replace("&amp;", "&")
            }))
        }),
        ("encode_uri", v(0), |cv| {
            const KEPT: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
                .remove(b'-')
                .remove(b'_')
                .remove(b'.')
                .remove(b'~');
            bome(mapped(&cv.1, |text| {
                percent_encoding::utf8_percent_encode(text, KEPT).to_string()
            }))
        }),
        ("decode_uri", v(0), |cv| {
            bome(mapped(&cv.1, |text| {
                percent_encoding::percent_decode_str(text)
                    .decode_utf8_lossy()
                    .into_owned()
            }))
        }),
        ("encode_base64", v(0), |cv| {
            bome(bytes(&cv.1).map(|bytes| Val::from(STANDARD.encode(bytes))))
        }),
        ("decode_base64", v(0), |cv| {
            let decoded = bytes(&cv.1)
                .and_then(|text| STANDARD.decode(text).map_err(|_| Error::str("no base64")));
            bome(decoded.map(|bytes| Val::from(String::from_utf8_lossy(&bytes).into_owned())))
        }),
    ]
}

fn figures() -> Vec<Filter<RunPtr<Metered>>> {
    vec![
        ("pow", v(2), |mut cv| {
            let (exponent, base) = (cv.0.pop_var(), cv.0.pop_var());
            bome(float(&base).and_then(|base| Ok(Val::from(base.powf(float(&exponent)?)))))
        }),
        ("sqrt", v(0), |cv| {
            bome(float(&cv.1).map(|x| Val::from(x.sqrt())))
        }),
        ("fabs", v(0), |cv| {
            bome(float(&cv.1).map(|x| Val::from(x.abs())))
        }),
        ("trunc", v(0), |cv| {
            bome(float(&cv.1).map(|x| Val::from(x.trunc())))
        }),
        ("exp", v(0), |cv| {
            bome(float(&cv.1).map(|x| Val::from(x.exp())))
        }),
        ("exp2", v(0), |cv| {
            bome(float(&cv.1).map(|x| Val::from(x.exp2())))
        }),
        ("log", v(0), |cv| {
            bome(float(&cv.1).map(|x| Val::from(x.ln())))
        }),
        ("log2", v(0), |cv| {
            bome(float(&cv.1).map(|x| Val::from(x.log2())))
        }),
        ("log10", v(0), |cv| {
            bome(float(&cv.1).map(|x| Val::from(x.log10())))
        }),
    ]
}

fn regex(purse: &Purse, input: &str, pattern: &str, flags: &str) -> Result<Regex, Error<Val>> {
    let work = (input.len() + 64).saturating_mul(weight(pattern));
    purse.pay(work / 64)?;
    let mut builder = RegexBuilder::new(pattern);
    for flag in flags.chars() {
        match flag {
            'g' | 'n' => &mut builder,
            'i' => builder.case_insensitive(true),
            'x' => builder.ignore_whitespace(true),
            's' => builder.dot_matches_new_line(true),
            'l' => builder.swap_greed(true),
            'p' => builder.multi_line(true).dot_matches_new_line(true),
            _ => return Err(Error::str("no such flag")),
        };
    }
    builder
        .build()
        .map_err(|_| Error::str("no regular expression"))
}

/// Matches, and if that is asked for what is between them.
fn matched(
    purse: &Purse,
    input: &Val,
    pattern: &Val,
    flags: &Val,
    (gaps, found): (bool, bool),
) -> ValR<Val> {
    let (input, flags) = (text(input)?, text(flags)?);
    let regex = regex(purse, input, text(pattern)?, flags)?;
    let mut parts = Vec::new();
    let mut end = 0;
    for captures in regex.captures_iter(input) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        if flags.contains('n') && whole.is_empty() {
            continue;
        }
        // Characters are counted from the beginning.
        purse.pay(1 + input.len() / 64)?;
        if gaps {
            parts.push(Val::from(input[end..whole.start()].to_owned()));
            end = whole.end();
        }
        if found {
            parts.push(groups(&regex, &captures, input));
        }
        if !flags.contains('g') {
            break;
        }
    }
    if gaps {
        parts.push(Val::from(input[end..].to_owned()));
    }
    Ok(parts.into_iter().collect())
}

fn groups(regex: &Regex, captures: &Captures<'_>, input: &str) -> Val {
    let count = |text: &str| Val::from(isize::try_from(text.chars().count()).unwrap_or(isize::MAX));
    let group = |(found, name): (Option<regex_bites::Match<'_>>, Option<&str>)| {
        let found = found?;
        let mut fields = vec![
            (
                Val::from("offset".to_owned()),
                count(&input[..found.start()]),
            ),
            (Val::from("length".to_owned()), count(found.as_str())),
            (
                Val::from("string".to_owned()),
                Val::from(found.as_str().to_owned()),
            ),
        ];
        fields.extend(name.map(|name| (Val::from("name".to_owned()), Val::from(name.to_owned()))));
        Some(Val::obj(fields.into_iter().collect()))
    };
    captures
        .iter()
        .zip(regex.capture_names())
        .filter_map(group)
        .collect()
}
