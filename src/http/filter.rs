//! Which tasks are asked for: the parameters of the list, of live events and of operations on many tasks.

use super::problem::{Cause, Problem};
use super::query::{self, once};
use super::words::{TaskState, UndoneWord};
use crate::limits;
use crate::store::rows::Cursor;

/// Longest value of a parameter; a key has 255 characters.
pub const MAX_VALUE_CHARS: usize = 1_000;
/// Most labels that can be asked for at a time.
pub const MAX_LABELS: usize = 16;

/// Every parameter of a filter, and what it takes.
pub const PARAMETERS: &[(&str, &str)] = &[
    (
        "state",
        "one or several states, separated by commas or repeated",
    ),
    ("source", "name of the source"),
    ("function", "name of the function that runs"),
    ("tenant", "tenant label; empty for tasks without one"),
    ("key", "the whole idempotency key"),
    ("key_prefix", "how the idempotency key begins"),
    ("error_code", "code of the last failure"),
    (
        "label",
        "name:value; repeated, all of them have to be there",
    ),
    ("trace_id", "32 hexadecimal digits"),
    ("created_after", "accepted at this time or later"),
    ("created_before", "accepted before this time"),
    ("updated_after", "changed last at this time or later"),
    ("updated_before", "changed last before this time"),
    (
        "resumable",
        "true or false: failed tasks that a new delivery goes on with, or not",
    ),
    ("undone", "complete or partial"),
];

/// Which tasks are meant; without anything, all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In one of these states; empty: in whatever state.
    pub states: Vec<TaskState>,
    /// Of this source.
    pub source: Option<String>,
    /// Run by this function.
    pub function: Option<String>,
    /// Of this tenant; empty: without one.
    pub tenant: Option<String>,
    /// Of this key.
    pub key: Option<String>,
    /// Of keys that begin like this.
    pub key_prefix: Option<String>,
    /// Failed last with this code.
    pub error_code: Option<String>,
    /// With all of these labels: name and value.
    pub labels: Vec<(String, String)>,
    /// Of this trace.
    pub trace_id: Option<String>,
    /// Accepted then or later.
    pub created_after_ms: Option<u64>,
    /// Accepted earlier.
    pub created_before_ms: Option<u64>,
    /// Changed last then or later.
    pub updated_after_ms: Option<u64>,
    /// Changed last earlier.
    pub updated_before_ms: Option<u64>,
    /// Failed, and a new delivery goes on from there; or failed for good.
    pub resumable: Option<bool>,
    /// What came of undoing.
    pub undone: Option<UndoneWord>,
}

impl Filter {
    /// Takes a parameter; `None` if this is none of a filter.
    ///
    /// # Errors
    /// What was wanted.
    ///
    /// ```
    /// use onceward::http::document::TaskState;
    /// use onceward::http::filter::Filter;
    /// let mut filter = Filter::default();
    /// assert_eq!(filter.take("state", "failed,running"), Some(Ok(())));
    /// assert_eq!(filter.states, [TaskState::Failed, TaskState::Running]);
    /// assert!(matches!(filter.take("trace_id", "x"), Some(Err(_))));
    /// assert_eq!(filter.take("colour", "red"), None);
    /// ```
    pub fn take(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        if value.chars().count() > MAX_VALUE_CHARS {
            let known = PARAMETERS.iter().any(|(known, _)| *known == name);
            return known.then(|| Err(format!("wanted {MAX_VALUE_CHARS} characters at most")));
        }
        Some(match name {
            "state" => self.take_states(value),
            "source" => word(&mut self.source, value),
            "function" => word(&mut self.function, value),
            "tenant" => once(&mut self.tenant, value.to_owned()),
            "key" => word(&mut self.key, value),
            "key_prefix" => word(&mut self.key_prefix, value),
            "error_code" => word(&mut self.error_code, value),
            "label" => self.take_label(value),
            "trace_id" => trace(&mut self.trace_id, value),
            "created_after" => time(&mut self.created_after_ms, value),
            "created_before" => time(&mut self.created_before_ms, value),
            "updated_after" => time(&mut self.updated_after_ms, value),
            "updated_before" => time(&mut self.updated_before_ms, value),
            "resumable" => match value {
                "true" => once(&mut self.resumable, true),
                "false" => once(&mut self.resumable, false),
                _ => Err("wanted true or false".into()),
            },
            "undone" => match value {
                "complete" => once(&mut self.undone, UndoneWord::Complete),
                "partial" => once(&mut self.undone, UndoneWord::Partial),
                _ => Err("wanted complete or partial".into()),
            },
            _ => return None,
        })
    }

    fn take_states(&mut self, value: &str) -> Result<(), String> {
        for text in value.split(',') {
            let state = TaskState::parse(text).ok_or_else(|| {
                let all: Vec<&str> = TaskState::ALL.iter().map(|s| s.as_str()).collect();
                format!("wanted some of {}", all.join(", "))
            })?;
            if !self.states.contains(&state) {
                self.states.push(state);
            }
        }
        Ok(())
    }

    fn take_label(&mut self, value: &str) -> Result<(), String> {
        let (name, value) = value
            .split_once(':')
            .filter(|(name, _)| !name.is_empty())
            .ok_or("wanted name:value")?;
        if self.labels.len() >= MAX_LABELS {
            return Err(format!("wanted {MAX_LABELS} labels at most"));
        }
        self.labels.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// The states in which such a task can be; `None` for all of them. What else is asked for may rule
    /// some out, or all.
    ///
    /// ```
    /// use onceward::http::document::TaskState;
    /// use onceward::http::filter::Filter;
    /// let resumable = Filter { resumable: Some(true), ..Filter::default() };
    /// assert_eq!(resumable.possible_states(), Some(vec![TaskState::Failed]));
    /// let never = Filter { states: vec![TaskState::Running], ..resumable };
    /// assert_eq!(never.possible_states(), Some(vec![]));
    /// assert_eq!(Filter::default().possible_states(), None);
    /// ```
    pub fn possible_states(&self) -> Option<Vec<TaskState>> {
        let bound =
            !self.states.is_empty() || self.resumable.is_some() || self.error_code.is_some();
        let possible = TaskState::ALL.iter().copied().filter(|state| {
            (self.states.is_empty() || self.states.contains(state))
                && (self.resumable.is_none() || *state == TaskState::Failed)
                // A success has no error, whatever came before it.
                && (self.error_code.is_none() || *state != TaskState::Succeeded)
        });
        bound.then(|| possible.collect())
    }
}

fn word(place: &mut Option<String>, value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Err("wanted a value".into());
    }
    once(place, value.to_owned())
}

fn trace(place: &mut Option<String>, value: &str) -> Result<(), String> {
    let digits = value.len() == 32 && value.bytes().all(|b| b.is_ascii_hexdigit());
    if !digits {
        return Err("wanted 32 hexadecimal digits".into());
    }
    once(place, value.to_ascii_lowercase())
}

fn time(place: &mut Option<u64>, value: &str) -> Result<(), String> {
    once(place, query::time_ms(value).ok_or(query::NO_TIME)?)
}

/// A page that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Of which tasks.
    pub filter: Filter,
    /// Behind this one.
    pub before: Option<Cursor>,
    /// This many at most.
    pub limit: u32,
}

impl Listing {
    /// Reads the query of a path.
    ///
    /// # Errors
    /// 400 that names everything that is wrong.
    ///
    /// ```
    /// use onceward::http::filter::Listing;
    /// let listing = Listing::read("/v1/tasks?source=github&limit=7").unwrap();
    /// assert_eq!((listing.filter.source.as_deref(), listing.limit), (Some("github"), 7));
    /// let problem = Listing::read("/v1/tasks?limit=0&state=x&what=1").unwrap_err();
    /// assert_eq!(problem.document()["errors"].as_array().unwrap().len(), 3);
    /// ```
    pub fn read(target: &str) -> Result<Self, Problem> {
        let mut filter = Filter::default();
        let (mut before, mut limit) = (None, None);
        let mut wrong = Vec::new();
        for (name, value) in query::parameters(target) {
            let taken = match &*name {
                "limit" => query::number(&mut limit, &value, &(1..=limits::LIST_PAGE_MAX)),
                "cursor" => cursor(&mut before, &value),
                _ => match filter.take(&name, &value) {
                    Some(taken) => taken,
                    None => Err(unknown("limit, cursor, ")),
                },
            };
            if let Err(detail) = taken {
                let pointer = name;
                wrong.push(Cause { detail, pointer });
            }
        }
        query::settled(wrong)?;
        Ok(Self {
            filter,
            before,
            limit: limit.unwrap_or(limits::LIST_PAGE),
        })
    }
}

fn cursor(place: &mut Option<Cursor>, value: &str) -> Result<(), String> {
    let cursor = Cursor::read(value).ok_or("wanted a `next_cursor` of an earlier page")?;
    once(place, cursor)
}

/// Reads a query that has nothing but a filter.
///
/// # Errors
/// 400 that names everything that is wrong.
pub fn read(target: &str) -> Result<Filter, Problem> {
    let mut filter = Filter::default();
    let mut wrong = Vec::new();
    for (name, value) in query::parameters(target) {
        let taken = filter.take(&name, &value);
        if let Err(detail) = taken.unwrap_or_else(|| Err(unknown(""))) {
            wrong.push(Cause {
                detail,
                pointer: name,
            });
        }
    }
    query::settled(wrong)?;
    Ok(filter)
}

fn unknown(besides: &str) -> String {
    let names: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
    format!("no such parameter; there are {besides}{}", names.join(", "))
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
