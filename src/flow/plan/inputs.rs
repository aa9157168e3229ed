//! Typed inputs of a flow.

use super::duration_ms;
use super::value_key;
use crate::flow::expression::Stop;
use crate::flow::model::{Input, InputType, Property};
use serde_json::{Map, Value};

/// What is wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFault {
    /// Its name.
    pub id: String,
    /// What was got and what was wanted.
    pub detail: String,
}

/// The inputs as the flow wants them: typed, with defaults, all of them valid. `default` renders one that is not
/// given, with the inputs so far.
///
/// # Errors
/// Everything that is wrong with them; or, from `default`, why it cannot be rendered.
pub fn typed(
    wanted: &[Input],
    given: &Map<String, Value>,
    mut default: impl FnMut(&Property, &Map<String, Value>) -> Result<Value, Stop>,
) -> Result<Result<Map<String, Value>, Vec<InputFault>>, Stop> {
    let mut typed = Map::new();
    let mut faults = Vec::new();
    let unknown = given
        .keys()
        .filter(|name| wanted.iter().all(|input| input.id != **name));
    for name in unknown {
        let names: Vec<&str> = wanted.iter().map(|input| input.id.as_str()).collect();
        let detail = format!("the flow has no such input; it has: {}", names.join(", "));
        faults.push(InputFault {
            id: name.clone(),
            detail,
        });
    }
    for input in wanted {
        let value = match (given.get(&input.id), &input.defaults) {
            (Some(value), _) if !value.is_null() => value.clone(),
            (_, Some(property)) => default(property, &typed)?,
            _ => Value::Null,
        };
        let fault = |detail| InputFault {
            id: input.id.clone(),
            detail,
        };
        if value.is_null() {
            if input.required {
                faults.push(fault("it is required, and was not given".to_owned()));
            } else {
                typed.insert(input.id.clone(), Value::Null);
            }
            continue;
        }
        match convert(input, input.kind, value).and_then(|value| bounded(input, value)) {
            Ok(value) => {
                typed.insert(input.id.clone(), value);
            }
            Err(detail) => faults.push(fault(detail)),
        }
    }
    Ok(if faults.is_empty() {
        Ok(typed)
    } else {
        Err(faults)
    })
}

/// A value as this type, or what is wrong with it.
///
/// # Errors
/// What was got and what was wanted.
pub fn as_type(kind: InputType, value: Value) -> Result<Value, String> {
    let input = Input {
        id: String::new(),
        kind,
        item_kind: None,
        required: false,
        defaults: None,
        values: Vec::new(),
        allow_custom_value: true,
        min: None,
        max: None,
        validator: None,
        description: None,
    };
    convert(&input, kind, value)
}

/// A value as its type: numbers and the like may come as text, as forms and queries send them.
fn convert(input: &Input, kind: InputType, value: Value) -> Result<Value, String> {
    let got = shown(&value);
    let wrong = |what: &str| format!("{got} is no {what}");
    let text = value_key(&value);
    let trimmed = text.trim();
    match kind {
        InputType::String | InputType::Secret => match value {
            Value::Array(_) | Value::Object(_) => Err(wrong("text")),
            _ => Ok(text.into()),
        },
        InputType::Int => {
            let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
            let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let number = serde_json::from_str(trimmed.trim_start_matches('+')).ok();
            number
                .filter(|_| whole)
                .ok_or_else(|| wrong("whole number"))
        }
        InputType::Float => {
            let number: Option<Value> = serde_json::from_str(trimmed).ok();
            number
                .filter(Value::is_number)
                .ok_or_else(|| wrong("number"))
        }
        InputType::Bool => flag(trimmed).ok_or_else(|| wrong("boolean: true or false")),
        InputType::Select => select(input, &value),
        InputType::MultiSelect => {
            let items = list(value).ok_or_else(|| wrong("list"))?;
            items.into_iter().map(|item| select(input, &item)).collect()
        }
        InputType::Datetime
        | InputType::Date
        | InputType::Time
        | InputType::Duration
        | InputType::Uri
        | InputType::Email => {
            let (is_one, what) = has_form(kind, &value, trimmed);
            is_one.then(|| trimmed.into()).ok_or_else(|| wrong(what))
        }
        InputType::Json => match value {
            Value::String(text) => {
                serde_json::from_str(&text).map_err(|error| format!("it is no JSON: {error}"))
            }
            other => Ok(other),
        },
        InputType::Yaml => match value {
            Value::String(text) => {
                let parsed = crate::flow::yaml::parse(&text);
                let problems: Vec<String> =
                    parsed.problems.iter().map(ToString::to_string).collect();
                let root = parsed.root.filter(|_| problems.is_empty());
                root.map(|root| root.to_value())
                    .ok_or_else(|| format!("it is no YAML: {}", problems.join("; ")))
            }
            other => Ok(other),
        },
        InputType::Array => {
            let items = list(value).ok_or_else(|| wrong("list"))?;
            let kind = input.item_kind.unwrap_or(InputType::Json);
            let loose = input.item_kind.is_none();
            let each = items.into_iter().enumerate().map(|(n, item)| {
                if loose {
                    return Ok(item);
                }
                convert(input, kind, item).map_err(|why| format!("item {n}: {why}"))
            });
            each.collect()
        }
    }
}

/// Whether a text has the form of its type, and what that is called.
fn has_form(kind: InputType, value: &Value, text: &str) -> (bool, &'static str) {
    match kind {
        InputType::Datetime => {
            let is_one = text.parse::<jiff::Timestamp>().is_ok()
                || text.parse::<jiff::Zoned>().is_ok()
                || text.parse::<jiff::civil::DateTime>().is_ok();
            (is_one, "date and time of ISO 8601")
        }
        InputType::Date => (
            text.parse::<jiff::civil::Date>().is_ok(),
            "date like 2026-11-30",
        ),
        InputType::Time => (
            text.parse::<jiff::civil::Time>().is_ok(),
            "time like 08:30:00",
        ),
        InputType::Duration => (duration_ms(value).is_ok(), "duration like PT30S"),
        InputType::Uri => (url::Url::parse(text).is_ok(), "absolute address"),
        _ => {
            let parts = text.split_once('@');
            let is_one = parts.is_some_and(|(name, host)| {
                !name.is_empty()
                    && host.contains('.')
                    && !host.contains(['@', ' '])
                    && !name.contains(' ')
            });
            (is_one, "mail address")
        }
    }
}

fn flag(text: &str) -> Option<Value> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true.into()),
        "false" => Some(false.into()),
        _ => None,
    }
}

fn list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        Value::String(text) => serde_json::from_str(&text).ok(),
        _ => None,
    }
}

fn select(input: &Input, value: &Value) -> Result<Value, String> {
    let text = value_key(value);
    let known = input.values.iter().any(|known| value_key(known) == text);
    if known || input.allow_custom_value {
        return Ok(text.into());
    }
    let values: Vec<String> = input.values.iter().map(value_key).collect();
    Err(format!(
        "{} is none of: {}",
        shown(value),
        values.join(", ")
    ))
}

/// Looks at bounds and pattern.
fn bounded(input: &Input, value: Value) -> Result<Value, String> {
    if let Some(pattern) = &input.validator
        && let Some(text) = value.as_str()
    {
        let whole = format!("^(?:{pattern})$");
        let regex = regex_bites::Regex::new(&whole);
        let regex = regex.map_err(|error| format!("its validator is no pattern: {error}"))?;
        if !regex.is_match(text) {
            return Err(format!("{} does not match {pattern}", shown(&value)));
        }
    }
    let beyond = |bound: &Value, sign: f64| match input.kind {
        InputType::Int | InputType::Float => {
            let (value, bound) = (value.as_f64(), value_key(bound).parse::<f64>().ok());
            value
                .zip(bound)
                .is_some_and(|(value, bound)| (value - bound) * sign > 0.0)
        }
        InputType::Duration => {
            let ms = |value: &Value| duration_ms(value).ok();
            ms(&value).zip(ms(bound)).is_some_and(|(value, bound)| {
                if sign > 0.0 {
                    value > bound
                } else {
                    value < bound
                }
            })
        }
        // Texts of ISO 8601 of one form are in order of time.
        InputType::Datetime | InputType::Date | InputType::Time => {
            let (value, bound) = (value_key(&value), value_key(bound));
            if sign > 0.0 {
                value > bound
            } else {
                value < bound
            }
        }
        _ => false,
    };
    if let Some(min) = input.min.as_ref().filter(|min| beyond(min, -1.0)) {
        return Err(format!("{} is below {}", shown(&value), value_key(min)));
    }
    if let Some(max) = input.max.as_ref().filter(|max| beyond(max, 1.0)) {
        return Err(format!("{} is above {}", shown(&value), value_key(max)));
    }
    Ok(value)
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(60).collect();
    if cut.len() < text.len() {
        format!("{cut}…")
    } else {
        cut
    }
}
