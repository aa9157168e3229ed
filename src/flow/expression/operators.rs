//! Operators and tests.

use super::call::Call;
use super::catalog::Callable;
use super::cell::{Cell, bytes};
use super::halt::{Halt, failed, too_large};
use super::number::{Num, calculate, equal, order};
use crate::limits::MAX_RANGE_ITEMS;
use serde_json::Value;
use std::cmp::Ordering;

const TWO: &[&str] = &["left", "right"];

/// All of them.
pub(super) static ALL: &[Callable] = &[
    Callable::operator("==", TWO, |call| {
        Ok(equal(call.plain(0), call.plain(1)).into())
    }),
    Callable::operator("!=", TWO, |call| {
        Ok((!equal(call.plain(0), call.plain(1))).into())
    }),
    Callable::operator("<", TWO, |call| compare(call, Ordering::is_lt)),
    Callable::operator(">", TWO, |call| compare(call, Ordering::is_gt)),
    Callable::operator("<=", TWO, |call| compare(call, Ordering::is_le)),
    Callable::operator(">=", TWO, |call| compare(call, Ordering::is_ge)),
    Callable::operator("+", TWO, add),
    Callable::operator("-", TWO, subtract),
    Callable::operator("*", TWO, arithmetic),
    Callable::operator("/", TWO, arithmetic),
    Callable::operator("%", TWO, arithmetic),
    Callable::operator("~", &[], concatenate).open_ended(),
    Callable::operator("..", TWO, |call| range(call.whole(0)?, call.whole(1)?, 1)),
    Callable::operator("contains", TWO, |call| contains(call, 0, 1)),
    Callable::operator("in", TWO, |call| contains(call, 1, 0)),
    Callable::operator("matches", TWO, matches),
    Callable::operator("not", &["value"], |call| {
        Ok((!super::cell::holds(call.plain(0))).into())
    }),
    Callable::operator("negative", &["value"], |call| {
        Ok(calculate("-", Num::Whole(0), strict(call, 0)?)?.into())
    }),
    Callable::operator("positive", &["value"], |call| {
        Ok(strict(call, 0)?.value()?.into())
    }),
    Callable::test("defined", |call| {
        Ok(call
            .cell(0)
            .is_some_and(|cell| !matches!(cell, Cell::Missing(_)))
            .into())
    })
    .tolerant(),
    Callable::test("null", |call| Ok(call.raw(0).is_null().into())),
    Callable::test("empty", |call| Ok(is_empty(call.plain(0)).into())),
    Callable::test("even", |call| Ok((call.whole(0)? % 2 == 0).into())),
    Callable::test("odd", |call| Ok((call.whole(0)? % 2 != 0).into())),
    Callable::test("map", |call| Ok(call.raw(0).is_object().into())),
    Callable::test("iterable", |call| {
        Ok((call.raw(0).is_array() || call.raw(0).is_object()).into())
    }),
    Callable::test("json", |call| {
        let text = call.text(0);
        call.charge(text.len())?;
        Ok(serde_json::from_str::<Value>(&text).is_ok().into())
    }),
];

/// Whether there is nothing in a value.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn strict(call: &Call<'_>, index: usize) -> Result<Num, Halt> {
    Num::strict(call.plain(index)).ok_or_else(|| call.wrong(index, "numbers"))
}

/// Null is neither less nor more than anything.
fn compare(call: &Call<'_>, holds: fn(Ordering) -> bool) -> Result<Cell, Halt> {
    let (left, right) = (call.plain(0), call.plain(1));
    if left.is_null() || right.is_null() {
        return Ok(false.into());
    }
    let order = order(left, right).ok_or_else(|| {
        let (left, right) = (super::cell::kind(left), super::cell::kind(right));
        failed(format!("`{}` can't compare {left} with {right}", call.name))
    })?;
    Ok(holds(order).into())
}

fn arithmetic(call: &Call<'_>) -> Result<Cell, Halt> {
    Ok(calculate(call.name, strict(call, 0)?, strict(call, 1)?)?.into())
}

/// Numbers add up, texts are joined, and a list gets another item.
fn add(call: &Call<'_>) -> Result<Cell, Halt> {
    let (left, right) = (call.plain(0), call.plain(1));
    if let Value::Array(items) = left {
        call.charge(bytes(left))?;
        let mut items = items.clone();
        match right {
            Value::Array(more) => items.extend(more.iter().cloned()),
            one => items.push(one.clone()),
        }
        return Ok(items.into());
    }
    if left.is_string() || right.is_string() {
        concatenate(call)
    } else {
        arithmetic(call)
    }
}

fn subtract(call: &Call<'_>) -> Result<Cell, Halt> {
    let (Value::Array(items), less) = (call.raw(0), call.raw(1)) else {
        return arithmetic(call);
    };
    let less = less
        .as_array()
        .map_or_else(|| std::slice::from_ref(less), Vec::as_slice);
    call.charge(bytes(call.raw(0)).saturating_mul(less.len().max(1)))?;
    let left = items
        .iter()
        .filter(|item| !less.iter().any(|other| equal(item, other)));
    Ok(left.cloned().collect::<Vec<_>>().into())
}

fn concatenate(call: &Call<'_>) -> Result<Cell, Halt> {
    let mut joined = String::new();
    for index in 0..call.arguments.len() {
        let text = call.text(index);
        call.charge(text.len())?;
        joined.push_str(&text);
    }
    Ok(joined.into())
}

/// Numbers from one to another, both included.
pub(super) fn range(from: i64, to: i64, step: i64) -> Result<Cell, Halt> {
    if step == 0 {
        return Err(failed("a range needs a step"));
    }
    if from.abs_diff(to) / step.unsigned_abs() >= MAX_RANGE_ITEMS {
        return Err(too_large(format!(
            "a range has {MAX_RANGE_ITEMS} items at most"
        )));
    }
    // A range that goes down does so by itself.
    let step = if from > to { -step.abs() } else { step.abs() };
    let mut items = Vec::new();
    let mut next = Some(from);
    while let Some(number) = next.filter(|number| {
        if step > 0 {
            *number <= to
        } else {
            *number >= to
        }
    }) {
        items.push(Value::from(number));
        next = number.checked_add(step);
    }
    Ok(items.into())
}

fn contains(call: &Call<'_>, container: usize, item: usize) -> Result<Cell, Halt> {
    let wanted = call.plain(item);
    let list = call.raw(container);
    call.charge(bytes(list).saturating_add(bytes(wanted)))?;
    // All of several.
    let all = |one: &dyn Fn(&Value) -> bool| match wanted {
        Value::Array(wanted) => wanted.iter().all(one),
        wanted => one(wanted),
    };
    Ok(match (list, call.plain(container)) {
        (_, Value::String(text)) => match wanted {
            Value::Null => false,
            wanted => text.contains(&*super::cell::text(wanted)),
        },
        (Value::Array(items), _) => {
            if let Value::Array(wanted) = wanted {
                call.charge(bytes(list).saturating_mul(wanted.len()))?;
            }
            all(&|wanted| items.iter().any(|item| equal(item, wanted)))
        }
        (Value::Object(map), _) => all(&|wanted| map.contains_key(&*super::cell::text(wanted))),
        (Value::Null, _) => false,
        _ => return Err(call.wrong(container, "a list, a map or a text")),
    }
    .into())
}

/// The pattern has to match the whole text.
fn matches(call: &Call<'_>) -> Result<Cell, Halt> {
    let (text, pattern) = (call.text(0), call.text(1));
    super::pattern::matches(call, &text, &pattern).map(Cell::from)
}
