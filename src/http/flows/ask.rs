//! What is asked of flows by their addresses: parameters, heads and bodies.

use super::FlowName;
use super::choose::kept_headers;
use super::document::invalid;
use crate::flow::diagnostic::{Diagnostic, Position};
use crate::flow::model::Flow;
use crate::flow::schema;
use crate::function::flow::prepare;
use crate::http::admit::{Delivery, body_fits, fits};
use crate::http::body::{Rule, check_nesting, decode};
use crate::http::code::Code;
use crate::http::problem::{Cause, Problem};
use crate::http::query::{once, parameters, settled, unknown};
use crate::http::validator::{Known, not_modified, tag};
use crate::limits::{MAX_KV_VALUE_BYTES, MAX_LABELS};
use crate::types::{Answer, Headers};
use serde_json::{Map, Value};
use std::rc::Rc;

/// Checks of the head of a delivery: nothing is too large as far as is known.
///
/// # Errors
/// 413, 431.
pub fn check_head(delivery: &Delivery<'_>) -> Result<(), Problem> {
    fits(delivery, &kept_headers(delivery.headers))
}

/// A body, unpacked.
///
/// # Errors
/// 413, 415, 400 for one that is nested too deep.
pub fn unpacked(headers: &Headers, body: Vec<u8>) -> Result<Vec<u8>, Problem> {
    body_fits(body.len())?;
    let body = decode(headers, body, Rule::Either)?.into_plain();
    check_nesting(headers.get("content-type"), &body)?;
    Ok(body)
}

/// The answer where no flow has this name.
pub fn no_flow() -> Problem {
    Problem::new(Code::NotFound, "No flow has this name.")
}

/// The answer where a flow has no such revision, or it is no longer known.
pub fn no_revision() -> Problem {
    Problem::new(Code::NotFound, "The flow has no such revision.")
}

fn cause(name: &str, detail: impl Into<String>) -> Cause {
    Cause {
        detail: detail.into(),
        pointer: name.to_owned(),
    }
}

fn each(
    target: &str,
    known: &str,
    mut read: impl FnMut(&str, &str) -> Option<Result<(), String>>,
) -> Result<(), Problem> {
    let mut wrong = Vec::new();
    for (name, value) in parameters(target) {
        match read(&name, &value) {
            Some(Ok(())) => {}
            Some(Err(detail)) => wrong.push(cause(&name, detail)),
            None => wrong.push(unknown(name, known)),
        }
    }
    settled(wrong)
}

/// The filter of the list.
///
/// # Errors
/// 400.
pub fn namespace_in(target: &str) -> Result<Option<String>, Problem> {
    let mut namespace = None;
    each(target, "namespace", |name, value| {
        (name == "namespace").then(|| match FlowName::read(value, "a") {
            Some(_) => once(&mut namespace, value.to_owned()),
            None => Err("wanted a namespace".to_owned()),
        })
    })?;
    Ok(namespace)
}

fn revision(place: &mut Option<u64>, value: &str) -> Result<(), String> {
    match value.parse() {
        Ok(number) if number > 0 => once(place, number),
        _ => Err("wanted the number of a revision".to_owned()),
    }
}

/// Which revision is asked for.
///
/// # Errors
/// 400.
pub fn revision_in(target: &str) -> Result<Option<u64>, Problem> {
    let mut number = None;
    each(target, "revision", |name, value| {
        (name == "revision").then(|| revision(&mut number, value))
    })?;
    Ok(number)
}

/// Which two revisions are to be compared.
///
/// # Errors
/// 400.
pub fn diff_query(target: &str) -> Result<(Option<u64>, Option<u64>), Problem> {
    let (mut from, mut to) = (None, None);
    each(target, "from and to", |name, value| match name {
        "from" => Some(revision(&mut from, value)),
        "to" => Some(revision(&mut to, value)),
        _ => None,
    })?;
    Ok((from, to))
}

/// Whether a text is only to be checked.
///
/// # Errors
/// 400.
pub fn is_dry_run(target: &str) -> Result<bool, Problem> {
    let mut dry_run = None;
    each(target, "dry_run", |name, value| {
        (name == "dry_run").then(|| match value {
            "true" | "" => once(&mut dry_run, true),
            "false" => once(&mut dry_run, false),
            _ => Err("wanted true or false".to_owned()),
        })
    })?;
    Ok(dry_run.unwrap_or(false))
}

/// The labels that a caller gives: `labels=NAME:VALUE`, as often as there are any.
///
/// # Errors
/// 400.
///
/// ```
/// use onceward::http::flows::labels_in;
/// let labels = labels_in("/x?labels=team:shop&labels=system.correlationId:a:1").unwrap();
/// assert_eq!((labels["team"].as_str(), labels["system.correlationId"].as_str()), (Some("shop"), Some("a:1")));
/// assert!(labels_in("/x?labels=team").is_err() && labels_in("/x?label=a:b").is_err());
/// ```
pub fn labels_in(target: &str) -> Result<Map<String, Value>, Problem> {
    let mut labels = Map::new();
    each(target, "labels", |name, value| {
        (name == "labels").then(|| match value.split_once(':') {
            Some((label, text)) if !label.is_empty() && labels.len() < MAX_LABELS => {
                labels.insert(label.to_owned(), text.into());
                Ok(())
            }
            Some((label, _)) if !label.is_empty() => {
                Err(format!("wanted {MAX_LABELS} labels at most"))
            }
            _ => Err("wanted NAME:VALUE".to_owned()),
        })
    })?;
    Ok(labels)
}

/// The text of a flow of this name, and what is in it.
///
/// # Errors
/// 422 with everything that is wrong with it; 413.
pub fn checked_text(name: &FlowName, body: Vec<u8>) -> Result<(String, Rc<Flow>), Problem> {
    let whole = |path: &str, line, detail: &str| Diagnostic {
        path: path.to_owned(),
        at: Position { line, column: 1 },
        detail: detail.to_owned(),
        nearest: None,
    };
    let text = String::from_utf8(body).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(good);
        let line = 1 + before.filter(|b| **b == b'\n').count();
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        invalid(vec![whole("", line, "The text is not UTF-8.")])
    })?;
    // It is kept as JSON.
    if Value::from(text.as_str()).to_string().len() > MAX_KV_VALUE_BYTES {
        let detail = format!("As JSON the text has more than {MAX_KV_VALUE_BYTES} bytes.");
        return Err(Problem::new(Code::BodyTooLarge, detail));
    }
    let flow = prepare(&text).map_err(invalid)?;
    let place = |key: &str| {
        let found = text
            .lines()
            .position(|line| line.starts_with(&format!("{key}:")));
        u32::try_from(found.map_or(1, |at| at + 1)).unwrap_or(u32::MAX)
    };
    let mut wrong = Vec::new();
    for (key, got, wanted) in [
        ("namespace", &flow.namespace, &name.namespace),
        ("id", &flow.id, &name.id),
    ] {
        if got != wanted {
            let detail = format!("The address says {wanted:?}, the text says {got:?}.");
            wrong.push(whole(key, place(key), &detail));
        }
    }
    if wrong.is_empty() {
        Ok((text, flow))
    } else {
        Err(invalid(wrong))
    }
}

/// `GET /flow.schema.json`: the schema of texts of flows, for editors.
pub fn schema_answer(headers: &Headers) -> Answer {
    let mut answer = Answer::json(200, &schema::schema());
    let tag = tag(&[&answer.body]);
    answer
        .headers
        .set("content-type", "application/schema+json");
    answer.headers.push("cache-control", "public, max-age=3600");
    answer.headers.push("x-content-type-options", "nosniff");
    answer.headers.push("etag", tag.as_str());
    if Known::read(headers).is_some_and(|known| known.has(&tag)) {
        return not_modified(answer);
    }
    answer
}

/// The type of webhooks, as documents name it.
pub const WEBHOOK: &str = "io.kestra.plugin.core.trigger.Webhook";

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
