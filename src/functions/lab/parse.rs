//! A program: its steps and its answer.

use super::call;
use super::config;
use super::program::{Body, OwnAnswer, Program, Step};
use super::syntax;
use super::walk::{Fields, Problems, kind, quoted, text, whole};
use crate::function::{Failure, InputProblem};
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Kinds of steps that are part of the language but do not work yet.
const NOT_YET: [&str; 6] = ["sleep", "signal", "parallel", "repeat", "save", "child"];
const KINDS: &str = "call, value, wait, burn, fail, panic";
/// Longest burn: nothing stops it from outside on a local engine.
const MAX_BURN_MS: u64 = 60_000;
/// Statuses that never have a body.
const BODILESS: [u16; 3] = [204, 205, 304];

/// Reads a program.
pub(super) fn program(body: &[u8]) -> Result<Program, Vec<InputProblem>> {
    let mut problems = Problems::default();
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        vec![InputProblem {
            path: String::new(),
            detail: format!("the body is not JSON that can be read: {error}"),
        }]
    })?;
    let Some(mut fields) = Fields::of(&mut problems, "", &value) else {
        return Err(problems.into_list());
    };
    let steps = match fields.require(&mut problems, "steps") {
        Some(value) => steps(&mut problems, "steps", value),
        None => Vec::new(),
    };
    let answer = match fields.take("answer") {
        Some(value) => answer(&mut problems, value),
        None => OwnAnswer::default(),
    };
    let policy = fields
        .take("config")
        .and_then(|value| config::policy(&mut problems, value));
    fields.close(&mut problems);
    problems.into_result(Program {
        steps,
        answer,
        policy,
    })
}

fn steps(problems: &mut Problems, path: &str, value: &Value) -> Vec<Step> {
    let Value::Array(list) = value else {
        problems.add(path, format!("got {}, wanted a list", kind(value)));
        return Vec::new();
    };
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        out.extend(step(problems, &path, value));
        let Some(name) = value.get("name").and_then(Value::as_str) else {
            continue;
        };
        if let Some(first) = names.get(name) {
            let detail = format!("{} is already the name of steps[{first}]", quoted(name));
            problems.add(format!("{path}.name"), detail);
        } else {
            names.insert(name, index);
        }
    }
    out
}

fn step(problems: &mut Problems, path: &str, value: &Value) -> Option<Step> {
    let mut fields = Fields::of(problems, path, value)?;
    let what = fields.need(problems, "do", text)?;
    let step = match what.as_str() {
        "call" => call::call(problems, &mut fields).map(Step::Call),
        "value" => {
            let name = fields.need(problems, "name", syntax::name);
            let value = fields.require(problems, "value");
            name.zip(value).map(|(name, value)| Step::Value {
                name,
                value: Rc::new(value.clone()),
            })
        }
        "wait" => fields
            .need(problems, "for", syntax::duration)
            .map(|ms| Step::Wait { ms }),
        "burn" => fields
            .need(problems, "for", burn_time)
            .map(|ms| Step::Burn { ms }),
        "fail" => fail(problems, &mut fields),
        "panic" => Some(Step::Panic),
        other => {
            let got = quoted(other);
            let detail = if NOT_YET.contains(&other) {
                format!("{got} is not supported yet; supported: {KINDS}")
            } else {
                format!("got {got}, wanted one of {KINDS}")
            };
            problems.add(fields.path("do"), detail);
            return None;
        }
    };
    fields.close(problems);
    step
}

fn burn_time(value: &Value) -> Result<u64, String> {
    match syntax::duration(value)? {
        ms if ms > MAX_BURN_MS => Err(format!(
            "got {ms} ms, wanted at most {MAX_BURN_MS} ms: nothing else runs meanwhile"
        )),
        ms => Ok(ms),
    }
}

fn fail(problems: &mut Problems, fields: &mut Fields<'_>) -> Option<Step> {
    let retryable = fields.need(problems, "kind", |value| match value.as_str() {
        Some("retryable") => Ok(true),
        Some("terminal") => Ok(false),
        _ => Err(format!("got {}, wanted retryable or terminal", kind(value))),
    });
    let message = fields
        .read(problems, "message", text)
        .unwrap_or_else(|| "the program fails here".to_owned());
    Some(Step::Fail(if retryable? {
        Failure::retryable("lab_fail", message)
    } else {
        Failure::terminal("lab_fail", message)
    }))
}

fn answer(problems: &mut Problems, value: &Value) -> OwnAnswer {
    let mut out = OwnAnswer::default();
    let Some(mut fields) = Fields::of(problems, "answer", value) else {
        return out;
    };
    let status = fields.read(problems, "status", |value| whole(200, 599)(value));
    out.status = status.and_then(|s| u16::try_from(s).ok()).unwrap_or(200);
    if let Some(headers) = fields.take("headers") {
        out.headers = syntax::headers(problems, &fields.path("headers"), headers);
    }
    let bodiless = BODILESS.contains(&out.status);
    let (json, bytes) = (fields.take("body"), fields.take("body_base64"));
    if json.is_some() && bytes.is_some() {
        let detail = "stands beside `body`: an answer has one body";
        problems.add(fields.path("body_base64"), detail);
    }
    for (name, given) in [("body", json), ("body_base64", bytes)] {
        if bodiless && given.is_some() {
            let detail = format!("an answer with status {} has no body", out.status);
            problems.add(fields.path(name), detail);
        }
    }
    let decoded =
        bytes.and_then(|value| problems.keep(&fields.path("body_base64"), syntax::base64(value)));
    out.body = match (json, decoded) {
        (_, Some(bytes)) => Body::Bytes(bytes),
        (Some(value), None) => Body::Json(value.clone()),
        (None, None) if bodiless => Body::Empty,
        (None, None) => Body::Outcomes,
    };
    fields.close(problems);
    out
}
