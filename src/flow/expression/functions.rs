//! Functions.

use super::call::Call;
use super::catalog::Callable;
use super::cell::{Cell, kind};
use super::engine::nested;
use super::halt::{Ask, Halt, cut, failed};
use super::number::order;
use super::operators::range;
use serde_json::Value;
use std::sync::atomic::Ordering::Relaxed;
use uuid::Uuid;

/// All of them.
pub(super) static ALL: &[Callable] = &[
    Callable::function("secret", &["key", "namespace", "subkey"], 1, secret),
    Callable::function("kv", &["key", "namespace", "errorOnMissing"], 1, kv).sees(&["flow"]),
    Callable::function("json", &["json"], 1, from_json),
    Callable::function("fromJson", &["json"], 1, from_json),
    Callable::function("jsonDecode", &["json"], 1, from_json),
    Callable::function("render", &["toRender", "recursive"], 1, |call| {
        render(call, call.flag_or(1, true))
    }),
    Callable::function("renderOnce", &["toRender"], 1, |call| render(call, false)),
    Callable::function("uuid", &[], 0, |call| Ok(drawn(call)?.to_string().into())),
    Callable::function("id", &[], 0, |call| Ok(id(drawn(call)?).into())),
    Callable::function("randomInt", &["lower", "upper"], 2, random),
    Callable::function("range", &["start", "end", "increment"], 2, |call| {
        let step = if call.given(2) { call.whole(2)? } else { 1 };
        range(call.whole(0)?, call.whole(1)?, step)
    }),
    Callable::function("max", &["first"], 1, |call| {
        extreme(call, std::cmp::Ordering::is_gt)
    })
    .open_ended(),
    Callable::function("min", &["first"], 1, |call| {
        extreme(call, std::cmp::Ordering::is_lt)
    })
    .open_ended(),
    Callable::function("currentEachOutput", &["outputs"], 1, current).sees(&["taskrun", "parents"]),
    Callable::function("errorLogs", &[], 0, |call| {
        Ok(if call.raw(0).is_null() {
            Vec::new().into()
        } else {
            call.raw(0).clone().into()
        })
    })
    .sees(&["errorLogs"]),
    Callable::function("tasksWithState", &["state"], 1, |call| Ok(tasks(call))).sees(&["tasks"]),
];

fn secret(call: &Call<'_>) -> Result<Cell, Halt> {
    let name = call.text(0).into_owned();
    let Some(found) = call.run.session.secrets.get(&name) else {
        return Err(Halt::Ask(Ask::Secret(name)));
    };
    if !call.given(2) {
        return Ok(found.clone().into());
    }
    let part = serde_json::from_str::<Value>(found).ok();
    let part = part.as_ref().and_then(|secret| secret.get(&*call.text(2)));
    let part = part.ok_or_else(|| Halt::Failed {
        code: "secret_missing",
        message: format!(
            "the secret `{}` has no part `{}`",
            cut(&name),
            cut(&call.text(2))
        ),
    })?;
    Ok(part.clone().into())
}

fn kv(call: &Call<'_>) -> Result<Cell, Halt> {
    let key = call.text(0).into_owned();
    let own = call
        .raw(3)
        .get("namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let namespace = call.text_or(1, own).into_owned();
    let place = (namespace, key);
    match call.run.session.kv.get(&place) {
        Some(Some(value)) => Ok(value.clone().into()),
        Some(None) if !call.flag_or(2, true) => Ok(Value::Null.into()),
        Some(None) => {
            let (namespace, key) = (cut(&place.0), cut(&place.1));
            Err(failed(format!(
                "there is no key `{key}` in the namespace `{namespace}`"
            )))
        }
        None => Err(Halt::Ask(Ask::Kv {
            namespace: place.0,
            key: place.1,
        })),
    }
}

/// The text is parsed; what is no text is already what it says.
pub(super) fn from_json(call: &Call<'_>) -> Result<Cell, Halt> {
    let Value::String(text) = call.plain(0) else {
        return Ok(call.raw(0).clone().into());
    };
    call.charge(text.len())?;
    let parsed: Value = serde_json::from_str(text).map_err(|error| {
        failed(format!(
            "`{}` got no JSON: line {}, column {}",
            call.name,
            error.line(),
            error.column()
        ))
    })?;
    Ok(parsed.into())
}

fn render(call: &Call<'_>, recursive: bool) -> Result<Cell, Halt> {
    Ok(nested(call.run, call.plain(0), recursive, call.fuel)?.into())
}

/// Random values of one rendering come from one seed, so that it can be repeated.
fn drawn(call: &Call<'_>) -> Result<Uuid, Halt> {
    let session = &call.run.session;
    let seed = session.seed.ok_or(Halt::Ask(Ask::Seed))?;
    Ok(match session.drawn.fetch_add(1, Relaxed) {
        0 => seed,
        number => {
            let derived = Uuid::new_v5(&seed, &number.to_be_bytes());
            uuid::Builder::from_random_bytes(derived.into_bytes()).into_uuid()
        }
    })
}

/// 22 letters and digits.
fn id(uuid: Uuid) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = uuid.as_u128();
    let mut digits = [b'0'; 22];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

/// From the lower one, which it may be, to the upper one, which it is not.
fn random(call: &Call<'_>) -> Result<Cell, Halt> {
    let (lower, upper) = (call.whole(0)?, call.whole(1)?);
    if lower >= upper {
        return Err(failed(
            "`randomInt` takes a lower bound that is less than the upper one",
        ));
    }
    let width = u128::from(lower.abs_diff(upper));
    let drawn = i128::try_from(drawn(call)?.as_u128() % width).unwrap_or_default();
    Ok(super::number::Num::Whole(i128::from(lower) + drawn)
        .value()?
        .into())
}

fn extreme(call: &Call<'_>, better: fn(std::cmp::Ordering) -> bool) -> Result<Cell, Halt> {
    let values: Vec<&Value> = match (call.arguments.len(), call.raw(0)) {
        (1, Value::Array(items)) => items.iter().collect(),
        (count, _) => (0..count).map(|index| call.plain(index)).collect(),
    };
    let mut best: Option<&Value> = None;
    for value in values.into_iter().filter(|value| !value.is_null()) {
        best = match best {
            None => Some(value),
            Some(known) => {
                let order = order(value, known).ok_or_else(|| {
                    failed(format!(
                        "`{}` can't compare {} with {}",
                        call.name,
                        kind(value),
                        kind(known)
                    ))
                })?;
                Some(if better(order) { value } else { known })
            }
        };
    }
    Ok(best.cloned().unwrap_or_default().into())
}

/// The output of this turn of the loops around the task: `outputs.x[outer value][value]`.
fn current(call: &Call<'_>) -> Result<Cell, Halt> {
    let value_of = |run: &Value| {
        run.get("value")
            .map(|value| super::cell::text(value).into_owned())
    };
    let mut values: Vec<String> = Vec::new();
    if let Value::Array(parents) = call.raw(2) {
        // The nearest one comes first.
        values.extend(
            parents
                .iter()
                .rev()
                .filter_map(|parent| parent.get("taskrun").and_then(value_of)),
        );
    }
    values.extend(value_of(call.raw(1)));
    let mut found = call.raw(0);
    for value in &values {
        found = found.get(value).ok_or_else(|| {
            failed("`currentEachOutput` takes the outputs of a task of the same loop")
        })?;
    }
    Ok(found.clone().into())
}

fn tasks(call: &Call<'_>) -> Cell {
    let wanted = call.text(0);
    let mut found = Vec::new();
    let mut look = |id: &str, value: Option<&str>, run: &Value| {
        if run.get("state").and_then(Value::as_str) == Some(&*wanted) {
            found.push(serde_json::json!({ "taskId": id, "value": value, "state": &*wanted }));
        }
    };
    for (id, run) in call.raw(1).as_object().into_iter().flatten() {
        look(id, None, run);
        // In a loop there is a state for each value.
        for (value, run) in run.as_object().into_iter().flatten() {
            look(id, Some(value), run);
        }
    }
    found.into()
}
