//! Whether a signal may be sent, and what it says. The checks come in the order of the contract:
//! size, token, key, type, content.

use super::admit::{self, Delivery};
use super::answer::accepted;
use super::auth::{Caller, Gate};
use super::code::Code;
use super::document::TaskDocument;
use super::media;
use super::object_call::Told;
use super::problem::Problem;
use super::query;
use super::seal;
use crate::limits::MAX_SIGNAL_BYTES;
use crate::protocol::{Outcome, Signal};
use crate::types::{Answer, TaskId};
use crate::webhook::{KeyRule, json};
use serde_json::json;

/// The address of a signal.
#[derive(Clone, Copy, Debug)]
pub struct Address<'a> {
    /// The task.
    pub task_id: TaskId,
    /// The signal.
    pub name: &'a str,
}

/// Checks what the head tells about the size.
///
/// # Errors
/// 413.
pub fn check(delivery: &Delivery<'_>) -> Result<(), Problem> {
    fits(admit::declared_bytes(delivery).unwrap_or(0))
}

fn fits(bytes: usize) -> Result<(), Problem> {
    if bytes > MAX_SIGNAL_BYTES {
        return Err(Problem::new(
            Code::BodyTooLarge,
            format!("A signal has at most {MAX_SIGNAL_BYTES} bytes."),
        ));
    }
    Ok(())
}

/// Decides about a signal. It comes with an API token and a key of its own, or with the one-time
/// token of its address, which is its key as well: then nobody is known to have sent it.
///
/// # Errors
/// The first check that fails, as a problem to answer with. Its `reason` is for the log.
///
/// ```
/// use onceward::http::admit::Delivery;
/// use onceward::http::auth::{Scope, Tokens};
/// use onceward::http::route::Access;
/// use onceward::http::signal::{Address, admit};
/// use onceward::types::{Headers, TaskKey, TaskKind};
/// let task_id = TaskKey::new(TaskKind::Source, "shop", "", "k1").task_id();
/// let headers: Headers = [("Authorization", "Bearer s3cret"), ("Idempotency-Key", "s1")]
///     .into_iter()
///     .collect();
/// let delivery = Delivery { method: "POST", target: "/", headers: &headers };
/// let address = Address { task_id, name: "approval" };
/// let gate = Tokens::single(Some("s3cret")).gate(Access::TokenOrOneTime(Scope::Operate));
/// let (signal, by) = admit(address, &delivery, b"{\"ok\": true}", &gate, Some("s3cret")).unwrap();
/// assert_eq!((signal.name.as_str(), signal.id.as_str()), ("approval", "s1"));
/// assert_eq!(by.unwrap().name, "default");
/// ```
pub fn admit(
    address: Address<'_>,
    delivery: &Delivery<'_>,
    body: &[u8],
    gate: &Gate,
    secret: Option<&str>,
) -> Result<(Signal, Option<Caller>), Problem> {
    fits(body.len())?;
    let (one_time, others): (Vec<_>, Vec<_>) = query::parameters(delivery.target)
        .into_iter()
        .partition(|(name, _)| name == "token");
    let one_time: Vec<String> = one_time.into_iter().map(|(_, token)| token).collect();
    let (caller, id) = match one_time.as_slice() {
        [] => (Some(gate.caller(delivery.headers)?), None),
        [token] if gate.takes_one_time() && holds(address, token, secret) => {
            (None, Some(token.clone()))
        }
        [_] => return Err(Problem::bad_token("this is no token of this signal")),
        _ => return Err(Problem::bad_token("the token came more than once")),
    };
    let unknown = others.into_iter().map(|(name, _)| name);
    query::settled(unknown.map(|name| query::unknown(name, "token")).collect())?;
    let id = match id {
        Some(id) => id,
        None => admit::key_of(&[KeyRule::IdempotencyKey], delivery.headers)?,
    };
    media::json(delivery.headers, body)?;
    let signal = Signal {
        name: address.name.to_owned(),
        id,
        outcome: Outcome::Value(payload(body)?),
        generation: None,
        known: None,
    };
    Ok((signal, caller))
}

/// Whether the sender shows nothing but the one-time token of the address: then it is told no more
/// of the task than that.
///
/// ```
/// use onceward::http::signal::is_one_time;
/// assert!(is_one_time("/v1/tasks/t/signals/approval?token=0.ab"));
/// assert!(!is_one_time("/v1/tasks/t/signals/token"));
/// ```
pub fn is_one_time(target: &str) -> bool {
    let parameters = query::parameters(target);
    parameters.iter().any(|(name, _)| name == "token")
}

fn holds(address: Address<'_>, token: &str, secret: Option<&str>) -> bool {
    secret.is_some_and(|secret| seal::is_signal_token(secret, address.task_id, address.name, token))
}

/// The payload as JSON text, its digits as they were written.
fn payload(body: &[u8]) -> Result<String, Problem> {
    let wrong = |why: String| {
        Problem::new(
            Code::InputInvalid,
            format!("The payload is not JSON: {why}"),
        )
    };
    let text = std::str::from_utf8(body).map_err(|e| wrong(e.to_string()))?;
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    if text.is_empty() {
        return Ok("null".to_owned());
    }
    // Read for its faults only, the depth of its nesting among them.
    let _: serde_json::Value = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    // Of members with one name the last one counts, as in every body.
    let settled = json::settled(text.as_bytes()).map_err(|fault| wrong(fault.to_string()))?;
    String::from_utf8(settled.into_owned()).map_err(|e| wrong(e.to_string()))
}

/// The answer to a signal, from what the object said; with `one_time` it shows nothing of the task.
/// `None`: the object said something else.
pub fn answer(told: &Told, task_id: TaskId, one_time: bool) -> Option<Result<Answer, Problem>> {
    Some(match told {
        Told::Signalled {
            repeated,
            standing: Some(standing),
        } => {
            let mut answer = if one_time {
                let mut answer = Answer::json(202, &json!({ "task_id": task_id.to_string() }));
                answer.headers.push("cache-control", "no-store");
                let id = task_id.to_string();
                answer.headers.push("onceward-task-id", id);
                answer
            } else {
                accepted(None, &TaskDocument::of(&standing.summary))
            };
            if *repeated {
                answer.headers.set("idempotent-replayed", "true");
            }
            Ok(answer)
        }
        Told::KeyReused => Err(Problem::new(
            Code::KeyReused,
            "A signal with this key came before and said something else. Nothing was changed.",
        )
        .task(task_id)),
        Told::Ended(standing) => Err(super::steer::ended(&TaskDocument::of(&standing.summary))),
        Told::MailboxFull => Err(Problem::new(
            Code::Overloaded,
            "The task has as many unread signals as are kept. Send this one again later.",
        )
        .task(task_id)),
        Told::NotFound => Err(super::steer::absent(task_id)),
        _ => return None,
    })
}

#[cfg(test)]
#[path = "signal_tests.rs"]
mod tests;
