//! What an operator asks for, and what the answer is: cancel, retry, undo.

use super::admit;
use super::answer::{accepted, not_final};
use super::code::Code;
use super::document::{TaskDocument, TaskState};
use super::object_call::Told;
use super::problem::{Cause, Problem, settled_body};
use crate::protocol::{Plan, Retry, Standing};
use crate::types::{Answer, Headers, TaskId, Token};
use crate::webhook::{KeyRule, single};
use serde_json::{Value, json};

/// What an operator can do with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// End it.
    Cancel,
    /// Try it again.
    Retry,
    /// Undo what it did.
    Undo,
}

impl Operation {
    /// Its name, in addresses and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Undo => "undo",
        }
    }
}

/// What names an operation, so that a repeat is known: the key of the request if it has one, else a
/// fresh token. The same key names another operation for each thing that can be done.
///
/// # Errors
/// 400, if there is a key and it is malformed.
///
/// ```
/// use onceward::http::steer::{Operation, op};
/// use onceward::types::{Headers, Token};
/// let headers: Headers = [("Idempotency-Key", "\"k1\"")].into_iter().collect();
/// let fresh = Token::new("random");
/// assert_eq!(op(Operation::Undo, &headers, &fresh).unwrap(), "undo:k1");
/// assert_eq!(op(Operation::Undo, &Headers::default(), &fresh).unwrap(), "undo.random");
/// ```
pub fn op(operation: Operation, headers: &Headers, fresh: &Token) -> Result<String, Problem> {
    let word = operation.as_str();
    if single(headers, "idempotency-key") == Ok(None) {
        return Ok(format!("{word}.{}", fresh.as_str()));
    }
    let key = admit::key_of(&[KeyRule::IdempotencyKey], headers)?;
    Ok(format!("{word}:{key}"))
}

/// Reads the body of a retry. An empty one asks for the usual: from what failed, with new keys where
/// the task starts over.
///
/// # Errors
/// 400 that names everything that is wrong.
///
/// ```
/// use onceward::http::steer::retry;
/// let wish = retry(br#"{"from": "charge", "keys": "same"}"#, "op".into()).unwrap();
/// assert_eq!((wish.from.as_deref(), wish.same_keys, wish.dry_run), (Some("charge"), true, false));
/// assert_eq!(retry(b"{\"form\": 1}", "op".into()).unwrap_err().errors[0].pointer, "/form");
/// ```
pub fn retry(body: &[u8], op: String) -> Result<Retry, Problem> {
    let mut retry = Retry {
        op,
        ..Retry::default()
    };
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(retry);
    }
    let wish: Value = serde_json::from_slice(body)
        .map_err(|e| Problem::new(Code::InputInvalid, format!("The body is not JSON: {e}")))?;
    let Value::Object(wish) = wish else {
        return Err(Problem::new(
            Code::InputInvalid,
            "The body must be an object like {\"from\": \"charge\"}, or empty.",
        ));
    };
    let mut wrong = Vec::new();
    for (name, value) in wish {
        let wanted = match (name.as_str(), value) {
            ("from", Value::String(step)) => {
                retry.from = Some(step);
                continue;
            }
            ("from", _) => "wanted the name of a step, as the journal shows it",
            ("input", input) => {
                retry.input = Some(input.to_string().into_bytes());
                continue;
            }
            ("keys", Value::String(keys)) if keys == "same" || keys == "new" => {
                retry.same_keys = keys == "same";
                continue;
            }
            ("keys", _) => "wanted \"same\" or \"new\"",
            ("dry_run", Value::Bool(dry_run)) => {
                retry.dry_run = dry_run;
                continue;
            }
            ("dry_run", _) => "wanted true or false",
            _ => "no such member; there are from, input, keys and dry_run",
        };
        wrong.push(Cause {
            detail: wanted.to_owned(),
            pointer: format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        });
    }
    settled_body(wrong)?;
    Ok(retry)
}

/// Input and journal of the task have been dropped before its answer, as its function wants it.
pub fn dropped(id: TaskId) -> Problem {
    Problem::new(
        Code::PayloadDropped,
        "Input and journal of this task are no longer kept: its function drops them early.",
    )
    .task(id)
}

/// The refusal of something for which it is too late.
pub fn ended(task: &TaskDocument) -> Problem {
    let undoing = task.state == TaskState::Compensating;
    let detail = if undoing {
        "What the task did is being undone; see Location.".to_owned()
    } else {
        format!("The task has {}; see Location.", task.state.as_str())
    };
    Problem::new(Code::TaskEnded, detail)
        .task(task.task_id)
        .header("location", task.location())
}

/// Refuses a body where none belongs: somebody meant something by it. `{}` says nothing.
///
/// # Errors
/// 400 `input_invalid`.
///
/// ```
/// use onceward::http::steer::without_body;
/// assert!(without_body(b"").is_ok() && without_body(b" {} ").is_ok());
/// assert!(without_body(b"{bad").is_err() && without_body(b"[]").is_err());
/// ```
pub fn without_body(body: &[u8]) -> Result<(), Problem> {
    let body = body.trim_ascii();
    if body.is_empty() {
        return Ok(());
    }
    match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(serde_json::Value::Object(map)) if map.is_empty() => Ok(()),
        _ => Err(Problem::new(
            Code::InputInvalid,
            "This takes no body. Nothing was done: send it without one.",
        )),
    }
}

/// No task has this id.
pub fn absent(id: TaskId) -> Problem {
    Problem::new(
        Code::TaskNotFound,
        "No task has this id: it was never begun, or it has been forgotten.",
    )
    .task(id)
}

/// No step has this name.
pub fn no_such_step(id: TaskId, known: &[String]) -> Problem {
    let listed = if known.is_empty() {
        "nothing is recorded".to_owned()
    } else {
        format!("there are {}", known.join(", "))
    };
    Problem::new(
        Code::InputInvalid,
        "The task has no recorded step of this name.",
    )
    .task(id)
    .errors(vec![Cause {
        detail: format!("no such step; {listed}"),
        pointer: "/from".into(),
    }])
}

/// The answer to an operation, from what the object said. `None`: the object said something else.
pub fn answer(operation: Operation, told: &Told, id: TaskId) -> Option<Result<Answer, Problem>> {
    let document = |standing: &Standing| TaskDocument::of(&standing.summary);
    Some(match told {
        Told::Stands(standing) => stands(operation, standing),
        Told::Ended(standing) if standing.summary.stripped && operation != Operation::Cancel => {
            Err(dropped(id))
        }
        Told::Ended(standing) => match (operation, document(standing)) {
            (Operation::Cancel, task) if task.state == TaskState::Cancelled => {
                Ok(task.to_answer(200))
            }
            (_, task) => Err(ended(&task)),
        },
        Told::InProgress(standing) => Err(not_final(&document(standing))),
        Told::Planned(plan) => Ok(planned(id, plan)),
        Told::NotFound => Err(absent(id)),
        _ => return None,
    })
}

/// It is done, under way, or was asked for before.
fn stands(operation: Operation, standing: &Standing) -> Result<Answer, Problem> {
    let summary = &standing.summary;
    let task = TaskDocument::of(summary);
    match operation {
        Operation::Cancel if summary.is_undoing_success() => Err(ended(&task)),
        Operation::Cancel => match task.state {
            TaskState::Cancelled => Ok(task.to_answer(200)),
            TaskState::Succeeded | TaskState::Failed => Err(ended(&task)),
            TaskState::Pending
            | TaskState::Running
            | TaskState::Suspended
            | TaskState::Compensating => Ok(accepted(None, &task)),
        },
        Operation::Undo if task.undone.is_some() => Ok(task.to_answer(200)),
        Operation::Undo => Ok(accepted(None, &task)),
        Operation::Retry => {
            let mut answer = accepted(None, &task);
            answer.headers.set("idempotent-replayed", "true");
            Ok(answer)
        }
    }
}

fn planned(id: TaskId, plan: &Plan) -> Answer {
    let names = |ids: &[crate::types::StepId]| -> Vec<String> {
        ids.iter().map(ToString::to_string).collect()
    };
    let mut said = json!({
        "kept": names(&plan.kept),
        "again": names(&plan.again),
        "new_generation": plan.new_generation,
        "new_keys": plan.new_keys,
    });
    let Some(standing) = &plan.standing else {
        let mut document = json!({ "task_id": id.to_string(), "dry_run": true });
        if let (Some(into), Some(said)) = (document.as_object_mut(), said.as_object_mut()) {
            into.append(said);
        }
        let mut answer = Answer::json(200, &document);
        answer.headers.push("cache-control", "no-store");
        answer.headers.push("onceward-task-id", id.to_string());
        return answer;
    };
    let task = TaskDocument::of(&standing.summary);
    let mut document = serde_json::to_value(&task).unwrap_or_default();
    document["retry"] = said;
    let mut answer = accepted(None, &task);
    answer.body = document.to_string().into_bytes();
    answer
}

#[cfg(test)]
#[path = "steer_tests.rs"]
mod tests;
