//! What a task was sent and what it answered, for operators. The bytes are as they came; the fields around
//! them keep a browser from doing anything with them but show them.

use super::code::Code;
use super::document::{TaskDocument, TaskState};
use super::problem::{Cause, Problem};
use super::query;
use crate::protocol::Standing;
use crate::types::{Answer, Headers, TaskId};
use serde::Serialize;

/// The field with the status that a duplicate gets.
pub const STATUS_FIELD: &str = "onceward-answer-status";
/// Nothing is loaded and no script is run, whatever the bytes are.
const POLICY: &str = "sandbox; default-src 'none'";

/// Which part of an input is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its bytes.
    Body,
    /// The fields that were kept with it.
    Headers,
}

impl Part {
    /// Reads the address.
    ///
    /// # Errors
    /// 400.
    ///
    /// ```
    /// use onceward::http::stored::Part;
    /// assert_eq!(Part::read("/v1/tasks/t/input"), Ok(Part::Body));
    /// assert_eq!(Part::read("/v1/tasks/t/input?part=headers"), Ok(Part::Headers));
    /// assert!(Part::read("/v1/tasks/t/input?part=x").is_err());
    /// ```
    pub fn read(target: &str) -> Result<Self, Problem> {
        let mut part = None;
        let mut wrong = Vec::new();
        for (name, value) in query::parameters(target) {
            let read = match (&*name, &*value) {
                ("part", "body") => Self::Body,
                ("part", "headers") => Self::Headers,
                ("part", _) => {
                    wrong.push(Cause {
                        detail: "wanted body or headers".to_owned(),
                        pointer: name,
                    });
                    continue;
                }
                _ => {
                    wrong.push(query::unknown(name, "part"));
                    continue;
                }
            };
            if part.replace(read).is_some() {
                wrong.push(Cause {
                    detail: "it came more than once".to_owned(),
                    pointer: name,
                });
            }
        }
        query::settled(wrong)?;
        Ok(part.unwrap_or(Self::Body))
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Headers => "headers",
        }
    }
}

/// One field that was kept with an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct FieldDocument {
    /// Its name in lower case.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The fields that were kept with an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct InputHeaders {
    /// The task.
    #[cfg_attr(not(target_arch = "wasm32"), schema(format = Uuid))]
    pub task_id: String,
    /// In the order in which they came. No credentials and no signatures are kept.
    pub headers: Vec<FieldDocument>,
}

/// The stored answer of a task.
///
/// # Errors
/// 409 while there may still come one, 404 if it ended without.
pub fn answer(standing: &Standing) -> Result<Answer, Problem> {
    let task = TaskDocument::of(&standing.summary);
    let Some(stored) = &standing.answer else {
        let state = task.state.as_str();
        let problem = match task.state {
            TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled => Problem::new(
                Code::NoAnswer,
                format!("The task is {state}, and has no stored answer."),
            ),
            _ => Problem::new(
                Code::TaskInProgress,
                format!("The task is {state}; it has no answer yet."),
            ),
        };
        return Err(problem.task(task.task_id));
    };
    let mut answer = raw(task.task_id, &stored.headers, stored.body.clone());
    answer.headers.push(STATUS_FIELD, stored.status.to_string());
    Ok(answer)
}

/// The input of a task.
pub fn input(id: TaskId, headers: &Headers, body: Vec<u8>, part: Part) -> Answer {
    match part {
        Part::Body => raw(id, headers, body),
        Part::Headers => {
            let fields = headers.iter().map(|(name, value)| FieldDocument {
                name: name.to_owned(),
                value: value.to_owned(),
            });
            let document = InputHeaders {
                task_id: id.to_string(),
                headers: fields.collect(),
            };
            let mut answer =
                Answer::json(200, &serde_json::to_value(&document).unwrap_or_default());
            answer.headers.push("cache-control", "no-store");
            answer.headers.push("onceward-task-id", id.to_string());
            answer
        }
    }
}

/// Bytes of somebody else, with their type and nothing else of what came with them.
fn raw(id: TaskId, kept: &Headers, body: Vec<u8>) -> Answer {
    let kind = kept
        .get("content-type")
        .unwrap_or("application/octet-stream");
    let mut headers = Headers::default();
    headers.push("content-type", kind);
    headers.push("content-security-policy", POLICY);
    headers.push("x-content-type-options", "nosniff");
    if !is_plain(kind) {
        headers.push("content-disposition", "attachment");
    }
    headers.push("cache-control", "no-store");
    headers.push("onceward-task-id", id.to_string());
    Answer {
        status: 200,
        headers,
        body,
    }
}

/// JSON and plain text are shown; everything else is offered as a file.
fn is_plain(kind: &str) -> bool {
    let essence = kind.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/json" | "text/plain")
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::sample::standing;
    use crate::protocol::State;

    fn stored(kind: Option<&str>) -> Standing {
        let mut standing = *standing(State::Succeeded);
        let fields = [("set-x", "1"), ("location", "https://a.example")];
        let mut headers: Headers = fields.into_iter().collect();
        if let Some(kind) = kind {
            headers.push("content-type", kind);
        }
        standing.answer = Some(Answer {
            status: 402,
            headers,
            body: b"<script>\xff".to_vec(),
        });
        standing
    }

    #[test]
    fn an_answer_is_shown_and_never_run() {
        for (kind, attached) in [
            (Some("application/json"), false),
            (Some("application/json; charset=utf-8"), false),
            (Some("Application/Problem+JSON"), false),
            (Some("text/plain;charset=utf-8"), false),
            (Some("text/html"), true),
            (Some("image/svg+xml"), true),
            (Some("text/plainest"), true),
            (None, true),
        ] {
            let answer = answer(&stored(kind)).expect("there");
            assert_eq!(
                (answer.status, answer.body.as_slice()),
                (200, &b"<script>\xff"[..])
            );
            let field = |name| answer.headers.get(name);
            let want = kind.unwrap_or("application/octet-stream");
            assert_eq!(field("content-type"), Some(want));
            assert_eq!(field(STATUS_FIELD), Some("402"));
            assert_eq!(field("content-security-policy"), Some(POLICY));
            assert_eq!(field("x-content-type-options"), Some("nosniff"));
            assert_eq!(field("content-disposition").is_some(), attached, "{kind:?}");
            assert_eq!((field("set-x"), field("location")), (None, None));
        }
    }

    #[test]
    fn without_an_answer_it_says_whether_one_may_come() {
        for (state, want) in [
            (State::Running, Code::TaskInProgress),
            (State::Succeeded, Code::NoAnswer),
            (State::Failed { resumable: true }, Code::NoAnswer),
            (State::Failed { resumable: false }, Code::NoAnswer),
            (State::Cancelled, Code::NoAnswer),
        ] {
            let mut standing = standing(state);
            standing.answer = None;
            assert_eq!(answer(&standing).expect_err("none").code, want);
        }
    }

    #[test]
    fn fields_of_an_input_are_a_document() {
        let id = standing(State::Running).summary.key.task_id();
        let headers: Headers = [("X-A", "1"), ("x-a", "2")].into_iter().collect();
        let shown = input(id, &headers, b"b".to_vec(), Part::Headers);
        let want = format!(
            "{{\"task_id\":\"{id}\",\"headers\":[{{\"name\":\"x-a\",\"value\":\"1\"}},{{\"name\":\"x-a\",\"value\":\"2\"}}]}}"
        );
        assert_eq!(String::from_utf8(shown.body).expect("UTF-8"), want);
        let shown = input(id, &headers, b"b".to_vec(), Part::Body);
        assert_eq!(shown.body, b"b");
        assert_eq!(shown.headers.get("x-a"), None);
        for target in [
            "/?part=",
            "/?part=x",
            "/?parts=body",
            "/?part=body&part=body",
        ] {
            assert!(Part::read(target).is_err(), "{target}");
        }
    }
}
