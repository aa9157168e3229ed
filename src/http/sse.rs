//! Server-Sent Events (WHATWG HTML, 9.2): how they are written, and what of a reading is news.

use super::document::{TaskDocument, TaskState};
use crate::limits;
use crate::protocol::Version;
use crate::types::{Answer, Headers, TaskId};
use serde_json::json;
use std::collections::BTreeMap;

/// A line that says nothing, so that nobody in between takes the connection for dead.
pub const HEARTBEAT: &[u8] = b":\n\n";
/// The same while nothing can be read: the stream goes on when it can.
pub const UNAVAILABLE: &[u8] = b": unavailable\n\n";

/// How a stream begins: when to come back once it is over, and what to say then if no event has come.
///
/// ```
/// use onceward::http::sse;
/// assert_eq!(sse::beginning(Some("7")), b"retry: 1000\nid: 7\n\n");
/// ```
pub fn beginning(id: Option<&str>) -> Vec<u8> {
    let retry_ms = limits::EVENTS_RETRY_MS;
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("retry: {retry_ms}\n{id}\n").into_bytes()
}

/// The event of a task: its document in one line.
pub fn task(id: &str, task: &TaskDocument) -> Vec<u8> {
    let data = serde_json::to_string(task).unwrap_or_default();
    event("task", Some(id), &data)
}

/// The task has ended, and so does the stream.
pub fn end(id: &str, task_id: TaskId) -> Vec<u8> {
    event("end", Some(id), &only(task_id))
}

/// The task is no more.
pub fn gone(task_id: TaskId) -> Vec<u8> {
    event("gone", None, &only(task_id))
}

fn only(task_id: TaskId) -> String {
    json!({ "task_id": task_id.to_string() }).to_string()
}

/// JSON as it is written here has no line breaks outside of strings, and none inside.
fn event(name: &str, id: Option<&str>, data: &str) -> Vec<u8> {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {data}\n\n").into_bytes()
}

/// The head of the answer that a stream follows.
pub fn head() -> Answer {
    let mut headers = Headers::default();
    headers.push("content-type", "text/event-stream");
    headers.push("cache-control", "no-store");
    Answer {
        status: 200,
        headers,
        body: Vec::new(),
    }
}

/// What a client says that it has seen last.
pub fn last_seen(headers: &Headers) -> Option<&str> {
    headers.get("last-event-id")
}

/// The id of a task's event, and that of its end.
///
/// ```
/// use onceward::http::sse;
/// use onceward::protocol::Version;
/// let version = Version { epoch: 5, n: 2 };
/// assert_eq!(sse::task_ids(version), ("5.2".to_owned(), "5.2.end".to_owned()));
/// ```
pub fn task_ids(version: Version) -> (String, String) {
    let id = format!("{}.{}", version.epoch, version.n);
    let end = format!("{id}.end");
    (id, end)
}

/// Whether nothing but an operator moves the task any more.
pub fn is_over(task: &TaskDocument) -> bool {
    match task.state {
        TaskState::Succeeded | TaskState::Cancelled => true,
        TaskState::Failed => task.resumable != Some(true),
        TaskState::Pending
        | TaskState::Running
        | TaskState::Suspended
        | TaskState::Compensating => false,
    }
}

/// Whether the task is in the list of those that are still to end.
pub fn is_open(state: TaskState) -> bool {
    match state {
        TaskState::Pending
        | TaskState::Running
        | TaskState::Suspended
        | TaskState::Compensating => true,
        TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled => false,
    }
}

/// A document without what is approximate: a change of that alone is no news.
pub fn essence(task: &TaskDocument) -> TaskDocument {
    TaskDocument {
        duplicates: None,
        cost: None,
        ..task.clone()
    }
}

/// Finds the news in readings of the list.
///
/// ```
/// use onceward::http::document::{TaskDocument, TaskState};
/// use onceward::http::sse::News;
/// use onceward::types::{TaskKey, TaskKind};
/// let task = |key: &str, state, at_ms| {
///     let key = TaskKey::new(TaskKind::Source, "inbox", "", key);
///     TaskDocument::new(&key, "greet", state, at_ms)
/// };
/// let mut news = News::since(100_000);
/// // What is old when the stream begins is none.
/// let old = task("a", TaskState::Running, 1);
/// assert!(news.of(vec![old.clone()]).is_empty());
/// // A change of it is, and a task that is new.
/// let ended = TaskDocument { state: TaskState::Succeeded, ..old };
/// let new = task("b", TaskState::Running, 100_001);
/// assert_eq!(news.of(vec![ended.clone(), new.clone()]), [ended.clone(), new.clone()]);
/// assert!(news.of(vec![ended.clone(), new.clone()]).is_empty());
/// // One that was open and is in no reading has to be looked for.
/// assert_eq!(news.missing(&[ended]), [new.task_id]);
/// ```
#[derive(Clone, Debug)]
pub struct News {
    since_ms: u64,
    mark_ms: u64,
    seen: BTreeMap<TaskId, TaskDocument>,
}

impl News {
    /// From this time on. Rows may be late by as long as one try to write them takes.
    pub fn since(at_ms: u64) -> Self {
        Self {
            since_ms: at_ms.saturating_sub(limits::FLUSH_TIMEOUT_MS),
            mark_ms: at_ms,
            seen: BTreeMap::new(),
        }
    }

    /// The id of the next event: the latest change of all that were sent.
    pub fn mark(&self) -> String {
        self.mark_ms.to_string()
    }

    /// Tasks that were open in the last reading, and are not in this one.
    pub fn missing(&self, reading: &[TaskDocument]) -> Vec<TaskId> {
        let open = self.seen.iter().filter(|(_, task)| is_open(task.state));
        let missing = open.filter(|(id, _)| reading.iter().all(|task| task.task_id != **id));
        missing.map(|(id, _)| *id).collect()
    }

    /// What has changed since the last reading, in the order of the changes.
    pub fn of(&mut self, reading: Vec<TaskDocument>) -> Vec<TaskDocument> {
        let mut next = BTreeMap::new();
        let mut news = Vec::new();
        for task in reading {
            let now = essence(&task);
            let is_new = match self.seen.get(&task.task_id) {
                Some(before) => *before != now,
                None => task.updated_ms >= self.since_ms,
            };
            let first = next.insert(task.task_id, now).is_none();
            if is_new && first {
                news.push(task);
            }
        }
        self.seen = next;
        news.sort_by_key(|task| (task.updated_ms, task.task_id));
        news
    }

    /// The event of a task that is news.
    pub fn event(&mut self, news: &TaskDocument) -> Vec<u8> {
        self.mark_ms = self.mark_ms.max(news.updated_ms);
        task(&self.mark(), news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{TaskKey, TaskKind};

    fn document(key: &str, at_ms: u64) -> TaskDocument {
        let key = TaskKey::new(TaskKind::Source, "inbox", "", key);
        TaskDocument::new(&key, "greet", TaskState::Running, at_ms)
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let task_document = document("a\r\nb\u{2028}", 5);
        let bytes = task("5.2", &task_document);
        let text = String::from_utf8(bytes).expect("text");
        let lines: Vec<&str> = text.split(['\n', '\r']).collect();
        let [id, name, data, "", ""] = lines[..] else {
            panic!("{text}")
        };
        assert_eq!((id, name), ("id: 5.2", "event: task"));
        let data = data.strip_prefix("data: ").expect("data");
        let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(data["key"], "a\r\nb\u{2028}");
    }

    #[test]
    fn the_mark_never_goes_back() {
        let mut news = News::since(20_000);
        let late = news.of(vec![
            document("a", 30_000),
            document("b", 10_000),
            document("c", 9_999),
        ]);
        let keys: Vec<&str> = late.iter().map(|task| task.key.as_str()).collect();
        assert_eq!(keys, ["b", "a"], "what is too late is left out");
        let ids: Vec<String> = late
            .iter()
            .map(|task| {
                news.event(task);
                news.mark()
            })
            .collect();
        assert_eq!(ids, ["20000", "30000"]);
    }

    #[test]
    fn what_is_approximate_is_no_news() {
        let mut news = News::since(1);
        let task = document("a", 5);
        assert_eq!(news.of(vec![task.clone(), task.clone()]).len(), 1);
        let counted = TaskDocument {
            duplicates: Some(9),
            ..task
        };
        assert!(news.of(vec![counted]).is_empty());
    }

    #[test]
    fn only_what_was_open_is_looked_for() {
        let mut news = News::since(1);
        let open = document("a", 5);
        let ended = TaskDocument {
            state: TaskState::Failed,
            ..document("b", 5)
        };
        news.of(vec![open.clone(), ended]);
        assert_eq!(news.missing(&[]), [open.task_id]);
        assert!(news.missing(&[open]).is_empty());
        news.of(Vec::new());
        assert!(news.missing(&[]).is_empty(), "once");
    }

    #[test]
    fn a_resumable_failure_is_not_the_end() {
        let failed = |resumable| TaskDocument {
            state: TaskState::Failed,
            resumable: Some(resumable),
            ..document("a", 5)
        };
        assert!(is_over(&failed(false)));
        assert!(!is_over(&failed(true)));
        assert!(!is_over(&document("a", 5)));
        for state in TaskState::ALL {
            let task = TaskDocument {
                state: *state,
                ..document("a", 5)
            };
            assert_ne!(is_over(&task), is_open(*state), "{state:?}");
        }
    }
}
