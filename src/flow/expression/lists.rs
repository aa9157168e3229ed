//! Filters on lists and maps.

use super::call::Call;
use super::catalog::Callable;
use super::cell::{Cell, bytes};
use super::halt::{Halt, failed};
use super::number::{Num, equal};
use super::operators::is_empty;
use serde_json::Value;

/// All of them.
pub(super) static ALL: &[Callable] = &[
    Callable::filter("default", &["default"], 1, |call| {
        let missing =
            matches!(call.cell(0), None | Some(Cell::Missing(_))) || is_empty(call.plain(0));
        Ok(call
            .cell(usize::from(missing))
            .cloned()
            .unwrap_or_else(|| Value::Null.into()))
    })
    .tolerant(),
    Callable::filter("first", &[], 0, |call| {
        end(call, <[Value]>::first, |text| text.chars().next())
    }),
    Callable::filter("last", &[], 0, |call| {
        end(call, <[Value]>::last, |text| text.chars().next_back())
    }),
    Callable::filter("length", &[], 0, length),
    Callable::filter("slice", &["fromIndex", "toIndex"], 0, slice),
    Callable::filter("join", &["separator"], 0, join),
    Callable::filter("keys", &[], 0, |call| {
        Ok(match call.raw(0) {
            Value::Array(items) => (0..items.len()).map(Value::from).collect::<Vec<_>>(),
            _ => call.map(0)?.keys().cloned().map(Value::from).collect(),
        }
        .into())
    }),
    Callable::filter("values", &[], 0, |call| {
        Ok(call.map(0)?.values().cloned().collect::<Vec<_>>().into())
    }),
    Callable::filter("merge", &["items"], 1, merge),
    Callable::filter("chunk", &["size"], 1, chunk),
    Callable::filter("flatten", &[], 0, |call| {
        let mut flat = Vec::new();
        flatten(call.list(0)?, &mut flat);
        Ok(flat.into())
    }),
    Callable::filter("sort", &[], 0, |call| sort(call, false)),
    Callable::filter("rsort", &[], 0, |call| sort(call, true)),
    Callable::filter("reverse", &[], 0, |call| {
        Ok(match call.plain(0) {
            Value::String(text) => text.chars().rev().collect::<String>().into(),
            _ => call
                .list(0)?
                .iter()
                .rev()
                .cloned()
                .collect::<Vec<_>>()
                .into(),
        })
    }),
    Callable::filter("distinct", &[], 0, distinct),
    Callable::filter("className", &[], 0, |call| {
        Ok(class_name(call.raw(0)).into())
    }),
];

fn end(
    call: &Call<'_>,
    of_list: fn(&[Value]) -> Option<&Value>,
    of_text: fn(&str) -> Option<char>,
) -> Result<Cell, Halt> {
    Ok(match call.raw(0) {
        Value::Array(items) => of_list(items).cloned().unwrap_or_default().into(),
        Value::String(text) => of_text(text).map(String::from).unwrap_or_default().into(),
        Value::Null => Value::Null.into(),
        _ => return Err(call.wrong(0, "a list or a text")),
    })
}

fn length(call: &Call<'_>) -> Result<Cell, Halt> {
    Ok(match call.raw(0) {
        Value::Null => 0,
        Value::String(text) => {
            call.charge(text.len())?;
            text.chars().count()
        }
        Value::Array(items) => items.len(),
        Value::Object(map) => map.len(),
        _ => return Err(call.wrong(0, "a text, a list or a map")),
    }
    .into())
}

/// From one index up to another, which is not included; both as far as there is something.
fn slice(call: &Call<'_>) -> Result<Cell, Halt> {
    let bounds = |length: usize| -> Result<(usize, usize), Halt> {
        let index = |argument: usize, default: usize| -> Result<usize, Halt> {
            if !call.given(argument) {
                return Ok(default);
            }
            let index = usize::try_from(call.whole(argument)?);
            index
                .map(|index| index.min(length))
                .map_err(|_| call.wrong(argument, "an index from 0"))
        };
        let (from, to) = (index(1, 0)?, index(2, length)?);
        Ok((from, to.max(from)))
    };
    Ok(match call.raw(0) {
        Value::Null => Value::Null.into(),
        Value::String(text) => {
            call.charge(text.len())?;
            let (from, to) = bounds(text.chars().count())?;
            text.chars()
                .skip(from)
                .take(to - from)
                .collect::<String>()
                .into()
        }
        Value::Array(items) => {
            let (from, to) = bounds(items.len())?;
            items[from..to].to_vec().into()
        }
        _ => return Err(call.wrong(0, "a list or a text")),
    })
}

fn join(call: &Call<'_>) -> Result<Cell, Halt> {
    let separator = call.text(1);
    let items = match call.raw(0) {
        Value::Null => return Ok(Value::Null.into()),
        _ => call.list(0)?,
    };
    call.charge(bytes(call.raw(0)).saturating_add(separator.len().saturating_mul(items.len())))?;
    let texts: Vec<_> = items.iter().map(super::cell::text).collect();
    Ok(texts.join(&*separator).into())
}

/// Maps become one, the second wins; lists are joined.
fn merge(call: &Call<'_>) -> Result<Cell, Halt> {
    call.charge(bytes(call.raw(0)).saturating_add(bytes(call.raw(1))))?;
    Ok(match (call.raw(0), call.raw(1)) {
        (Value::Object(a), Value::Object(b)) => {
            let mut merged = a.clone();
            merged.extend(b.iter().map(|(key, value)| (key.clone(), value.clone())));
            Value::Object(merged).into()
        }
        (Value::Array(a), Value::Array(b)) => a.iter().chain(b).cloned().collect::<Vec<_>>().into(),
        (Value::Null, _) => call.raw(1).clone().into(),
        (_, Value::Null) => call.raw(0).clone().into(),
        _ => return Err(failed("`merge` takes two maps or two lists")),
    })
}

fn chunk(call: &Call<'_>) -> Result<Cell, Halt> {
    let size = usize::try_from(call.whole(1)?)
        .ok()
        .filter(|size| *size > 0);
    let size = size.ok_or_else(|| call.wrong(1, "a size of at least 1"))?;
    Ok(call
        .list(0)?
        .chunks(size)
        .map(|chunk| Value::Array(chunk.to_vec()))
        .collect::<Vec<_>>()
        .into())
}

/// Lists within lists become one.
fn flatten(items: &[Value], flat: &mut Vec<Value>) {
    for item in items {
        match item {
            Value::Array(inner) => flatten(inner, flat),
            other => flat.push(other.clone()),
        }
    }
}

fn sort(call: &Call<'_>, descending: bool) -> Result<Cell, Halt> {
    let items = call.list(0)?;
    call.charge(bytes(call.raw(0)).saturating_mul(items.len().max(1).ilog2() as usize + 1))?;
    let mut sorted = items.clone();
    let numbers: Option<Vec<Num>> = items.iter().map(Num::strict).collect();
    let whole = |value: &Value| match Num::of(value) {
        Some(Num::Whole(whole)) => whole,
        _ => 0,
    };
    let float = |value: &Value| Num::of(value).map_or(0.0, Num::float);
    match numbers {
        Some(all) if all.iter().all(|number| matches!(number, Num::Whole(_))) => {
            sorted.sort_by_key(whole);
        }
        // By what they are as floating point numbers, all of them: else the order would not be one.
        Some(_) => sorted.sort_by(|a, b| float(a).total_cmp(&float(b))),
        None if items.iter().all(Value::is_string) => {
            sorted.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        }
        None => {
            return Err(failed(format!(
                "`{}` takes a list of numbers or a list of texts",
                call.name
            )));
        }
    }
    if descending {
        sorted.reverse();
    }
    Ok(sorted.into())
}

fn distinct(call: &Call<'_>) -> Result<Cell, Halt> {
    let items = call.list(0)?;
    let mut kept: Vec<Value> = Vec::new();
    for item in items {
        call.charge(bytes(item).saturating_mul(kept.len().max(1)))?;
        if !kept.iter().any(|known| equal(known, item)) {
            kept.push(item.clone());
        }
    }
    Ok(kept.into())
}

/// What a value is called where the flows come from.
fn class_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "java.lang.Boolean",
        Value::String(_) => "java.lang.String",
        Value::Array(_) => "java.util.ArrayList",
        Value::Object(_) => "java.util.LinkedHashMap",
        Value::Number(number) => match Num::parse(number.as_str()) {
            Some(Num::Whole(whole)) if i32::try_from(whole).is_ok() => "java.lang.Integer",
            Some(Num::Whole(whole)) if i64::try_from(whole).is_ok() => "java.lang.Long",
            Some(Num::Float(_)) => "java.lang.Double",
            _ => "java.math.BigInteger",
        },
    }
}
