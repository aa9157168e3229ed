//! A task's document as who asks wants to see it: short, or not at all if it is known.

use super::document::TaskDocument;
use super::prefer::Prefer;
use super::validator::{Known, not_modified, tag};
use crate::types::Answer;
use serde_json::Value;

/// The validator of a task's document in the form that is preferred. Duplicates and cost, which are
/// approximate, don't make it another one.
pub fn tag_of(task: &TaskDocument, prefer: Prefer) -> String {
    let document = TaskDocument {
        duplicates: None,
        cost: None,
        ..task.clone()
    };
    let form: &[u8] = if prefer.is_minimal() { b"minimal" } else { b"" };
    tag(&[&document.to_answer(200).body, form])
}

/// 200 with the document, or 304 if the client has it. `prefer` holds what was honoured.
///
/// ```
/// use onceward::http::document::{TaskDocument, TaskState};
/// use onceward::http::{prefer::Prefer, show, validator::Known};
/// use onceward::types::{TaskKey, TaskKind};
/// let key = TaskKey::new(TaskKind::Source, "inbox", "", "k1");
/// let task = TaskDocument::new(&key, "greet", TaskState::Running, 0);
/// let first = show::answer(&task, Prefer::default(), None);
/// let known = [("If-None-Match", first.headers.get("etag").unwrap())].into_iter().collect();
/// let again = show::answer(&task, Prefer::default(), Known::read(&known).as_ref());
/// assert_eq!((first.status, again.status), (200, 304));
/// ```
pub fn answer(task: &TaskDocument, prefer: Prefer, known: Option<&Known>) -> Answer {
    let tag = tag_of(task, prefer);
    let is_known = known.is_some_and(|known| known.has(&tag));
    let mut answer = preferred(task.to_answer(200), prefer);
    let headers = &mut answer.headers;
    // For this client only, and to be asked for each time: then 304 is cheap and never late.
    headers.set("cache-control", "private, no-cache");
    headers.set("vary", "Prefer");
    headers.set("etag", tag);
    if let Some(applied) = prefer.applied() {
        headers.set("preference-applied", applied);
    }
    if is_known {
        not_modified(answer)
    } else {
        answer
    }
}

/// As much of a task document as the client wants to see. What is no such document stays as it is.
///
/// ```
/// use onceward::http::document::{TaskDocument, TaskState};
/// use onceward::http::prefer::{Prefer, Returns};
/// use onceward::http::show::preferred;
/// use onceward::types::{TaskKey, TaskKind};
/// let key = TaskKey::new(TaskKind::Source, "inbox", "", "k1");
/// let task = TaskDocument::new(&key, "greet", TaskState::Running, 0);
/// let prefer = Prefer { returns: Some(Returns::Minimal), ..Prefer::default() };
/// let answer = preferred(task.to_answer(202), prefer);
/// let shown: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
/// assert_eq!(shown, serde_json::json!({"task_id": key.task_id().to_string(), "state": "running"}));
/// assert_eq!(answer.headers.get("preference-applied"), Some("return=minimal"));
/// ```
pub fn preferred(mut answer: Answer, prefer: Prefer) -> Answer {
    let shown = Prefer {
        returns: prefer.returns,
        ..Prefer::default()
    };
    let (Some(applied), Ok(Value::Object(mut document))) =
        (shown.applied(), serde_json::from_slice(&answer.body))
    else {
        return answer;
    };
    if !document.contains_key("task_id") || !document.contains_key("state") {
        return answer;
    }
    if prefer.is_minimal() {
        document.retain(|name, _| matches!(name.as_str(), "task_id" | "state"));
        answer.body = Value::Object(document).to_string().into_bytes();
    }
    answer.headers.set("preference-applied", applied);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::document::TaskState;
    use crate::http::prefer::Returns;
    use crate::types::{TaskKey, TaskKind};

    fn task() -> TaskDocument {
        let key = TaskKey::new(TaskKind::Source, "inbox", "", "k1");
        TaskDocument::new(&key, "greet", TaskState::Running, 7)
    }

    #[test]
    fn the_tag_changes_with_the_document_and_its_form() {
        let plain = tag_of(&task(), Prefer::default());
        let changed = TaskDocument {
            attempts: 1,
            ..task()
        };
        assert_ne!(tag_of(&changed, Prefer::default()), plain);
        let counted = TaskDocument {
            duplicates: Some(9),
            ..task()
        };
        assert_eq!(tag_of(&counted, Prefer::default()), plain);
        let minimal = Prefer {
            returns: Some(Returns::Minimal),
            ..Prefer::default()
        };
        assert_ne!(tag_of(&task(), minimal), plain);
    }

    #[test]
    fn a_304_says_what_a_200_would_say_without_its_body() {
        let waited = Prefer {
            wait_s: Some(3),
            ..Prefer::default()
        };
        let full = answer(&task(), waited, Some(&Known::Tags(vec!["x".into()])));
        let none = answer(&task(), waited, Some(&Known::Any));
        assert_eq!((full.status, none.status), (200, 304));
        assert!(none.body.is_empty());
        for name in [
            "etag",
            "vary",
            "cache-control",
            "preference-applied",
            "onceward-task-id",
        ] {
            assert_eq!(full.headers.get(name), none.headers.get(name), "{name}");
            assert!(full.headers.get(name).is_some(), "{name}");
        }
        assert_eq!(full.headers.get("cache-control"), Some("private, no-cache"));
        assert_eq!(full.headers.get("preference-applied"), Some("wait=3"));
    }
}
