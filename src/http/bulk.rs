//! Operations on all tasks that match a filter: what was asked for, and what came of it.

use super::filter::{Filter, PARAMETERS};
use super::problem::{Cause, Problem};
use super::query;
use super::words::TaskState;
use crate::limits;
use crate::types::Answer;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use url::form_urlencoded;

/// What is done to each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
#[cfg_attr(not(target_arch = "wasm32"), schema(as = BulkOperation))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// End it.
    Cancel,
    /// Try it again, from what failed.
    Retry,
    /// Undo what it did.
    Undo,
    /// Forget it.
    Forget,
}

impl Operation {
    /// The word used in addresses, documents and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Undo => "undo",
            Self::Forget => "forget",
        }
    }

    /// Whether a task in this state can be meant: others are not even asked.
    pub fn takes(self, state: TaskState) -> bool {
        match self {
            Self::Cancel => matches!(
                state,
                TaskState::Pending | TaskState::Running | TaskState::Suspended | TaskState::Failed
            ),
            Self::Retry => matches!(state, TaskState::Failed | TaskState::Suspended),
            Self::Undo => state == TaskState::Succeeded,
            Self::Forget => matches!(
                state,
                TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled
            ),
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// What is done.
    pub operation: Operation,
    /// To which tasks.
    pub filter: Filter,
    /// To how many at most.
    pub most: u64,
    /// Only say what would be done.
    pub dry_run: bool,
    /// The filter as it was written.
    pub query: String,
}

impl Wish {
    /// Reads the query: a filter, `max`, and `dry_run`, which is true unless it is said to be false. A filter
    /// that says nothing is refused: it would mean every task there is.
    ///
    /// # Errors
    /// 400 that names everything that is wrong.
    ///
    /// ```
    /// use onceward::http::bulk::{Operation, Wish};
    /// let wish = Wish::read(Operation::Retry, "/v1/tasks/retry?state=failed&dry_run=false&max=9").unwrap();
    /// assert_eq!((wish.dry_run, wish.most, wish.query.as_str()), (false, 9, "state=failed"));
    /// assert!(Wish::read(Operation::Retry, "/v1/tasks/retry?state=failed").unwrap().dry_run);
    /// assert!(Wish::read(Operation::Retry, "/v1/tasks/retry?dry_run=false").is_err());
    /// let twice = "/v1/tasks/retry?state=failed&dry_run=false&dry_run=true";
    /// assert!(Wish::read(Operation::Retry, twice).is_err());
    /// ```
    pub fn read(operation: Operation, target: &str) -> Result<Self, Problem> {
        let mut filter = Filter::default();
        let (mut most, mut dry_run) = (None, None);
        let mut kept = form_urlencoded::Serializer::new(String::new());
        let mut wrong = Vec::new();
        for (name, value) in query::parameters(target) {
            let taken = match &*name {
                "max" => query::number(&mut most, &value, &(1..=limits::MAX_BULK_TASKS)),
                "dry_run" => match value.parse() {
                    Ok(said) => query::once(&mut dry_run, said),
                    Err(_) => Err("wanted true or false".to_owned()),
                },
                _ => {
                    kept.append_pair(&name, &value);
                    filter.take(&name, &value).unwrap_or_else(|| Err(unknown()))
                }
            };
            if let Err(detail) = taken {
                wrong.push(Cause {
                    detail,
                    pointer: name,
                });
            }
        }
        if wrong.is_empty() && filter == Filter::default() {
            wrong.push(Cause {
                detail: "no filter: say which tasks are meant, by state or created_before, say"
                    .into(),
                pointer: String::new(),
            });
        }
        query::settled(wrong)?;
        Ok(Self {
            operation,
            filter,
            most: most.unwrap_or(limits::BULK_TASKS),
            dry_run: dry_run.unwrap_or(true),
            query: kept.finish(),
        })
    }
}

fn unknown() -> String {
    let names: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
    format!(
        "no such parameter; there are dry_run, max, {}",
        names.join(", ")
    )
}

/// What the task of an operation gets as its input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What is done.
    pub operation: Operation,
    /// To which tasks: a query as in the list.
    pub query: String,
    /// To those that were accepted before this.
    pub before_ms: u64,
    /// To how many at most.
    pub most: u64,
    /// To those of this tenant only, whatever the query says; empty: of all.
    #[serde(default)]
    pub tenant: String,
    /// Name of the token that asked for it.
    pub by: String,
}

/// What came of some tasks, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Tasks that matched.
    pub matched: u64,
    /// Of which it was done.
    pub done: u64,
    /// Of which it was not, by the code of the reason.
    pub refused: BTreeMap<String, u64>,
    /// Where it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl Report {
    /// Adds what came of further tasks.
    ///
    /// ```
    /// use onceward::http::bulk::Report;
    /// let mut all = Report::default();
    /// all.add(Report { matched: 3, done: 2, refused: [("task_ended".into(), 1)].into(), next_cursor: None });
    /// all.add(Report { matched: 1, done: 0, refused: [("task_ended".into(), 1)].into(), next_cursor: None });
    /// assert_eq!((all.matched, all.done, all.refused["task_ended"]), (4, 2, 2));
    /// ```
    pub fn add(&mut self, more: Self) {
        self.matched += more.matched;
        self.done += more.done;
        for (code, count) in more.refused {
            *self.refused.entry(code).or_default() += count;
        }
        self.next_cursor = more.next_cursor;
    }
}

/// The answer to a dry run.
pub fn tried(wish: &Wish, matched: u64, complete: bool, sample: &[Value]) -> Answer {
    let mut answer = Answer::json(
        200,
        &json!({
            "dry_run": true,
            "operation": wish.operation.as_str(),
            "matched": matched,
            "complete": complete,
            "max": wish.most,
            "sample": sample,
            "next": "send the same request with dry_run=false",
        }),
    );
    answer.headers.push("cache-control", "no-store");
    answer
}
