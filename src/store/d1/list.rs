//! The list of tasks. Each plan reads one index in the order of the list, and a bounded window of it.

use super::{Statement, Value};
use crate::http::document::{TaskState, UndoneWord};
use crate::http::filter::Filter;
use crate::limits;
use crate::store::rows::Cursor;
use crate::types::TaskId;
use serde_json::json;

/// Above every time.
const NO_TIME_MS: u64 = 1 << 52;

// What the statements have in common. A macro, since SQL is static text.

macro_rules! columns {
    () => {
        "
SELECT task_id, generation, state, waiting, resumable, kind, name, tenant, key, function, attempts,
  claims, revivals, duplicates, created_ms, updated_ms, finished_ms, expires_ms, due_ms, error_code,
  error_message, error_step, answer_status, stub_reason, waiting_name, undone, cancel,
  labels, trace_id, object_requests, object_rows, object_ms, d1_rows, fence
FROM tasks "
    };
}

/// Behind the cursor.
macro_rules! behind {
    () => {
        "created_ms <= ?1 AND (created_ms < ?1 OR task_id < ?2)"
    };
}

/// The partial index is usable where its own condition is repeated.
macro_rules! in_state {
    () => {
        "state = ?5 AND state IN ('pending', 'running', 'suspended', 'compensating', 'failed', 'cancelled') AND "
    };
}

/// The row in which the window ends, if it ends before the index does.
macro_rules! edge {
    ($columns:literal, $index:literal, $($where:expr),*) => {
        concat!(
            "SELECT ", $columns, " FROM tasks INDEXED BY ", $index, "\n WHERE ", $($where,)*
            " AND created_ms >= ?3\n ORDER BY created_ms DESC, task_id DESC LIMIT 1 OFFSET ?4"
        )
    };
}

/// What is shown, and what no index knows.
macro_rules! matches_filter {
    () => {
        "
  AND state <> 'forgotten'
  AND NOT (state IN ('succeeded', 'failed', 'cancelled') AND expires_ms IS NOT NULL AND expires_ms <= ?7)
  AND (?8 IS NULL OR state IN (SELECT value FROM json_each(?8)))
  AND (?9 IS NULL OR (kind = 'source' AND name = ?9))
  AND (?10 IS NULL OR function = ?10)
  AND (?11 IS NULL OR tenant = ?11)
  AND (?12 IS NULL OR key = ?12)
  AND (?13 IS NULL OR (key >= ?13 AND key < ?14))
  AND (?15 IS NULL OR error_code = ?15)
  AND (?16 IS NULL OR NOT EXISTS (
    SELECT 1 FROM json_each(?16) AS want WHERE NOT EXISTS (
      SELECT 1 FROM json_each(tasks.labels) AS has
      WHERE has.key = json_extract(want.value, '$[0]') AND has.value = json_extract(want.value, '$[1]'))))
  AND (?17 IS NULL OR trace_id = ?17)
  AND (?18 IS NULL OR updated_ms >= ?18)
  AND (?19 IS NULL OR updated_ms < ?19)
  AND (?20 IS NULL OR resumable = ?20)
  AND (?21 IS NULL OR undone = ?21)
ORDER BY created_ms DESC, task_id DESC LIMIT ?6"
    };
}

/// Down to the time of that row: of those of the very same time there may be some too many.
macro_rules! page {
    ($index:literal, $($where:expr),*) => {
        concat!(
            columns!(), "INDEXED BY ", $index, "\nWHERE ", $($where,)*
            "\n  AND created_ms >= max(?3, coalesce((", edge!("created_ms", $index, $($where),*), "), 0))",
            matches_filter!()
        )
    };
}

/// Which index a page is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Index {
    /// All tasks by time.
    Created,
    /// Those of one key by time.
    Key(String),
    /// Those in one state by time; successes are not in it.
    State(TaskState),
}

impl Index {
    const fn edge(&self) -> &'static str {
        match self {
            Self::Created => edge!("created_ms, task_id", "tasks_by_created", behind!()),
            Self::Key(_) => edge!(
                "created_ms, task_id",
                "tasks_by_key",
                "key = ?5 AND ",
                behind!()
            ),
            Self::State(_) => edge!(
                "created_ms, task_id",
                "tasks_by_state",
                in_state!(),
                behind!()
            ),
        }
    }

    const fn page(&self) -> &'static str {
        match self {
            Self::Created => page!("tasks_by_created", behind!()),
            Self::Key(_) => page!("tasks_by_key", "key = ?5 AND ", behind!()),
            Self::State(_) => page!("tasks_by_state", in_state!(), behind!()),
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Created => Value::Null,
            Self::Key(key) => key.as_str().into(),
            Self::State(state) => state.as_str().into(),
        }
    }
}

/// How the tasks of a filter are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// From one index or several: each gives some of them, in order.
    Ordered(Vec<Index>),
    /// Those of a beginning of keys, if there are not too many; else by time.
    Prefix,
}

impl Plan {
    /// The plan for a filter.
    ///
    /// ```
    /// use onceward::http::document::TaskState;
    /// use onceward::http::filter::Filter;
    /// use onceward::store::d1::{Index, Plan};
    /// let plan = |name, value| {
    ///     let mut filter = Filter::default();
    ///     filter.take(name, value).unwrap().unwrap();
    ///     Plan::of(&filter)
    /// };
    /// let by_state = |state| Index::State(state);
    /// assert_eq!(plan("key", "k"), Plan::Ordered(vec![Index::Key("k".into())]));
    /// assert_eq!(plan("key_prefix", "k"), Plan::Prefix);
    /// assert_eq!(plan("resumable", "true"), Plan::Ordered(vec![by_state(TaskState::Failed)]));
    /// assert_eq!(plan("state", "failed,succeeded"), Plan::Ordered(vec![Index::Created]));
    /// assert_eq!(plan("source", "github"), Plan::Ordered(vec![Index::Created]));
    /// ```
    pub fn of(filter: &Filter) -> Self {
        if let Some(key) = &filter.key {
            return Self::Ordered(vec![Index::Key(key.clone())]);
        }
        if filter.key_prefix.is_some() {
            return Self::Prefix;
        }
        match filter.possible_states() {
            Some(states) if !states.contains(&TaskState::Succeeded) => {
                Self::Ordered(states.into_iter().map(Index::State).collect())
            }
            _ => Self::Ordered(vec![Index::Created]),
        }
    }
}

/// One reading of the list.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// What is asked for.
    pub filter: &'a Filter,
    /// From behind this one.
    pub before: Option<Cursor>,
    /// Rows that are wanted.
    pub rows: u32,
    /// Rows that are looked at.
    pub window: u32,
    /// Now: what has expired is not shown.
    pub now_ms: u64,
}

impl Look<'_> {
    /// Reads an index: first where the window ends (no row if the index ends first), then what matches in it.
    pub fn ordered(&self, index: &Index) -> [Statement; 2] {
        let mut values = self.place();
        if *index != Index::Created {
            values.push(index.value());
        }
        [
            Statement {
                sql: index.edge(),
                values,
            },
            Statement {
                sql: index.page(),
                values: self.values(index.value()),
            },
        ]
    }

    /// Counts the keys of the prefix, up to one more than are sorted, and reads what matches of these.
    pub fn prefixed(&self) -> [Statement; 2] {
        let (first, end) = self.prefix();
        let most = limits::LIST_PREFIX_ROWS + 1;
        let looked = Look {
            window: most,
            ..*self
        };
        [
            Statement {
                sql: "
SELECT count(*) AS n FROM (
  SELECT 1 FROM tasks INDEXED BY tasks_by_key WHERE key >= ?1 AND key < ?2 LIMIT ?3)",
                values: vec![first, end, most.into()],
            },
            Statement {
                sql: concat!(
                    columns!(),
                    "
WHERE task_id IN (
  SELECT task_id FROM tasks INDEXED BY tasks_by_key WHERE key >= ?13 AND key < ?14 LIMIT ?4)
  AND ",
                    behind!(),
                    " AND created_ms >= ?3",
                    matches_filter!()
                ),
                values: looked.values(Value::Null),
            },
        ]
    }

    /// Where to begin and to end: ?1 to ?4.
    fn place(&self) -> Vec<Value> {
        let filter = self.filter;
        // A task changes no earlier than it is accepted.
        let ends = [filter.created_before_ms, filter.updated_before_ms];
        let end_ms = ends.into_iter().flatten().min().unwrap_or(NO_TIME_MS);
        let behind_end = (end_ms, String::new());
        let behind = self.before.map(|c| (c.created_ms, c.task_id.to_string()));
        let (before_ms, before_id) = behind.map_or(behind_end.clone(), |c| c.min(behind_end));
        vec![
            before_ms.into(),
            before_id.into(),
            filter.created_after_ms.unwrap_or(0).into(),
            self.window.saturating_sub(1).into(),
        ]
    }

    /// Keys from the prefix on, and up to where it no longer is one.
    fn prefix(&self) -> (Value, Value) {
        let first = self.filter.key_prefix.as_deref();
        let end = first.map(|prefix| format!("{prefix}{}", char::MAX));
        (first.into(), end.into())
    }

    /// All values of a page.
    fn values(&self, index: Value) -> Vec<Value> {
        let filter = self.filter;
        let states = filter.possible_states().map(|states| {
            let words: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
            json!(words).to_string()
        });
        let labels = Some(&filter.labels).filter(|labels| !labels.is_empty());
        let (first, end) = self.prefix();
        let mut values = self.place();
        values.extend([
            index,
            self.rows.into(),
            self.now_ms.into(),
            states.into(),
            filter.source.as_deref().into(),
            filter.function.as_deref().into(),
            filter.tenant.as_deref().into(),
            filter.key.as_deref().into(),
            first,
            end,
            filter.error_code.as_deref().into(),
            labels.map(|labels| json!(labels).to_string()).into(),
            filter.trace_id.as_deref().into(),
            filter.updated_after_ms.into(),
            filter.updated_before_ms.into(),
            filter.resumable.into(),
            filter.undone.map(UndoneWord::as_str).into(),
        ]);
        values
    }
}

/// The rows of these tasks, in whatever state; those that have expired or are forgotten are left out.
pub fn some(ids: &[TaskId], now_ms: u64) -> Statement {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    Statement {
        sql: concat!(
            columns!(),
            "
WHERE task_id IN (SELECT value FROM json_each(?1)) AND state <> 'forgotten'
  AND NOT (state IN ('succeeded', 'failed', 'cancelled') AND expires_ms IS NOT NULL AND expires_ms <= ?2)"
        ),
        values: vec![json!(ids).to_string().into(), now_ms.into()],
    }
}
