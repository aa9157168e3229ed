//! A program as a whole, and its answer.

use super::config;
use super::program::{Body, OwnAnswer, Program, Step};
use super::steps;
use super::syntax;
use super::walk::{Fields, Problems, whole};
use crate::function::{InputProblem, MAX_LONG_STEP_MS, Policy};
use serde_json::Value;

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
    let steps = fields
        .require(&mut problems, "steps")
        .map(|value| steps::all(&mut problems, "steps", value))
        .unwrap_or_default();
    let answer = match fields.take("answer") {
        Some(value) => answer(&mut problems, value),
        None => OwnAnswer::default(),
    };
    let policy = fields
        .take("config")
        .and_then(|value| config::policy(&mut problems, value));
    let policy = with_long_steps(&mut problems, policy, &steps);
    fields.close(&mut problems);
    problems.into_result(Program {
        steps,
        answer,
        policy,
    })
}

/// A call that may take longer than a slice makes the program one with long steps.
fn with_long_steps(
    problems: &mut Problems,
    policy: Option<Policy>,
    steps: &[Step],
) -> Option<Policy> {
    let longest = steps.iter().map(Step::longest_ms).max().unwrap_or(0);
    let own = policy.clone().unwrap_or_default();
    if longest <= own.slice_budget_ms {
        return policy;
    }
    let most = MAX_LONG_STEP_MS;
    if longest > most {
        let detail = format!("a call may take {longest} ms; the longest takes {most} ms");
        problems.add("steps", detail);
        return policy;
    }
    Some(own.with_long_steps(longest))
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
