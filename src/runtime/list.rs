//! The list of tasks, from D1: every database is asked at once, and what they say is merged.

use super::ports::{Edge, Level, Rows};
use super::serve::Exchange;
use super::within;
use crate::http::code::Code;
use crate::http::document::TaskDocument;
use crate::http::filter::{Filter, Listing};
use crate::http::problem::Problem;
use crate::limits;
use crate::store::d1::{self, Index, Look, Plan, Statement};
use crate::store::rows::{Cursor, TaskRow};
use crate::types::time::rfc3339;
use crate::types::{Answer, Database, TaskId};
use futures::future::try_join_all;
use serde_json::{Value, json};

/// How long D1 is asked before the answer is 503.
const TIMEOUT_MS: u64 = 10_000;
/// How often D1 is asked for the same rows.
const TRIES: u32 = 3;

/// Some tasks, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// Those that match.
    pub(super) tasks: Vec<TaskDocument>,
    /// There may be more behind this.
    pub(super) next: Option<Cursor>,
    /// It is short because this is how far it came, and not further.
    pub(super) scanned_until_ms: Option<u64>,
}

/// The list, newest first. A task is in it from its end, or from when it first had to wait. A caller of one
/// tenant sees the tasks of that tenant.
pub(super) async fn list(
    edge: &Edge,
    exchange: &Exchange,
    tenant: Option<&str>,
) -> Result<Answer, Problem> {
    let mut listing = Listing::read(&exchange.target)?;
    confine(&mut listing.filter, tenant)?;
    let page = page(edge, &listing.filter, listing.before, listing.limit).await?;
    let mut document = json!({ "tasks": page.tasks });
    if let Some(next) = page.next {
        document["next_cursor"] = Value::String(next.word());
    }
    if let Some(at_ms) = page.scanned_until_ms {
        document["scanned_until"] = Value::String(rfc3339(at_ms));
    }
    let mut answer = Answer::json(200, &document);
    answer.headers.push("cache-control", "no-store");
    Ok(answer)
}

/// Confines a filter to the caller's tenant.
pub(super) fn confine(filter: &mut Filter, tenant: Option<&str>) -> Result<(), Problem> {
    let Some(tenant) = tenant else { return Ok(()) };
    if filter.tenant.as_deref().is_some_and(|wish| wish != tenant) {
        let detail = "This token sees the tasks of its own tenant.";
        return Err(Problem::new(Code::Forbidden, detail));
    }
    filter.tenant = Some(tenant.to_owned());
    Ok(())
}

/// One page of the tasks that match, from behind `before`, of `limit` tasks at most.
pub(super) async fn page(
    edge: &Edge,
    filter: &Filter,
    before: Option<Cursor>,
    limit: u32,
) -> Result<Page, Problem> {
    read(edge, filter, before, limit, limits::LIST_SCAN_ROWS).await
}

/// The same, looking at no more than `window` rows of each database.
pub(super) async fn read(
    edge: &Edge,
    filter: &Filter,
    before: Option<Cursor>,
    limit: u32,
    window: u32,
) -> Result<Page, Problem> {
    let asked = Asked {
        edge,
        filter,
        before,
        // One more shows that there are more.
        wanted: limit + 1,
        window,
        now_ms: edge.now_ms(),
    };
    let databases = Database::all(edge.databases());
    let parts = try_join_all(databases.map(|database| asked.database(database))).await;
    let parts = parts.map_err(|error| silent(edge, &error))?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Ok(merge(parts.into_iter().flatten().collect(), limit))
}

/// The problem of a database that does not answer: a list that lacks its tasks would not be true.
pub(super) fn silent(edge: &Edge, error: &str) -> Problem {
    edge.log(Level::Error, "list", json!({ "error": error }));
    Problem::new(
        Code::Unavailable,
        "A database of results does not answer. Tasks go on without it.",
    )
}

/// What one index of one database gives.
#[derive(Debug, Default)]
struct Part {
    rows: Vec<(Cursor, TaskRow)>,
    /// Everything down to here is in it; `None`: everything.
    end: Option<Cursor>,
}

/// Merges what was read, as far as all of it was read.
fn merge(parts: Vec<Part>, limit: usize) -> Page {
    let end = parts.iter().filter_map(|part| part.end).max();
    let mut rows: Vec<_> = parts.into_iter().flat_map(|part| part.rows).collect();
    rows.retain(|(place, _)| end.is_none_or(|end| *place >= end));
    rows.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().map(|(place, _)| *place);
    let next = if more { last } else { end };
    Page {
        tasks: rows
            .into_iter()
            .filter_map(|(_, row)| row.document())
            .collect(),
        next,
        scanned_until_ms: next.filter(|_| !more).map(|next| next.created_ms),
    }
}

/// What is asked of every database.
struct Asked<'a> {
    edge: &'a Edge,
    filter: &'a Filter,
    before: Option<Cursor>,
    wanted: u32,
    window: u32,
    now_ms: u64,
}

impl Asked<'_> {
    async fn database(&self, database: Database) -> Result<Vec<Part>, String> {
        let until_ms = self.edge.now_ms() + TIMEOUT_MS;
        let indexes = match Plan::of(self.filter) {
            Plan::Ordered(indexes) => indexes,
            Plan::Prefix => {
                if let Some(part) = self.prefixed(database, until_ms).await? {
                    return Ok(vec![part]);
                }
                vec![Index::Created]
            }
        };
        self.ordered(database, indexes, until_ms).await
    }

    fn look(&self, before: Option<Cursor>, rows: usize, window: u32) -> Look<'_> {
        Look {
            filter: self.filter,
            before,
            rows: u32::try_from(rows).unwrap_or(u32::MAX),
            window,
            now_ms: self.now_ms,
        }
    }

    /// Reads a small window of each index, which is enough for most pages, and then a large one of those
    /// that have not given enough.
    async fn ordered(
        &self,
        database: Database,
        indexes: Vec<Index>,
        until_ms: u64,
    ) -> Result<Vec<Part>, String> {
        let wanted = usize::try_from(self.wanted).unwrap_or(usize::MAX);
        let mut left: Vec<(Index, Part)> = Vec::new();
        left.extend(indexes.into_iter().map(|index| {
            let begin = Part {
                rows: Vec::new(),
                end: self.before,
            };
            (index, begin)
        }));
        let readers = u32::try_from(left.len().max(1)).unwrap_or(u32::MAX);
        let share = (self.window / readers).max(1);
        let first = (self.wanted + limits::LIST_FIRST_ROWS).min(share);
        let mut done = Vec::new();
        for window in [first, share - first] {
            if left.is_empty() || window == 0 {
                break;
            }
            let statements = left.iter().flat_map(|(index, part)| {
                let rows = wanted - part.rows.len();
                self.look(part.end, rows, window).ordered(index)
            });
            let results = ask(self.edge, database, statements.collect(), until_ms).await?;
            let mut results = results.into_iter();
            for (index, mut part) in std::mem::take(&mut left) {
                let edge = results.next().and_then(|rows| edge_of(&rows));
                let mut rows = placed(results.next())?;
                if part.rows.len() + rows.len() < wanted {
                    // They come with the next window.
                    rows.retain(|(place, _)| edge.is_none_or(|edge| *place >= edge));
                }
                part.rows.extend(rows);
                if part.rows.len() >= wanted {
                    part.end = part.rows.last().map(|(place, _)| *place);
                    done.push(part);
                } else if edge.is_some() {
                    part.end = edge;
                    left.push((index, part));
                } else {
                    part.end = None;
                    done.push(part);
                }
            }
        }
        done.extend(left.into_iter().map(|(_, part)| part));
        Ok(done)
    }

    /// Reads the keys of the prefix; `None` if there are too many to be sorted.
    async fn prefixed(&self, database: Database, until_ms: u64) -> Result<Option<Part>, String> {
        let wanted = usize::try_from(self.wanted).unwrap_or(usize::MAX);
        let statements = self.look(self.before, wanted, self.window).prefixed();
        let results = ask(self.edge, database, statements.into(), until_ms).await?;
        let mut results = results.into_iter();
        let counted = results.next().unwrap_or_default();
        let counted = counted.rows.first().and_then(|row| row.get("n")?.as_f64());
        if counted.is_none_or(|n| n > f64::from(limits::LIST_PREFIX_ROWS)) {
            return Ok(None);
        }
        let rows = placed(results.next())?;
        let full = rows.len() >= wanted;
        let end = rows.last().filter(|_| full).map(|(place, _)| *place);
        Ok(Some(Part { rows, end }))
    }
}

fn placed(rows: Option<Rows>) -> Result<Vec<(Cursor, TaskRow)>, String> {
    let rows = rows.ok_or("no result")?.rows.into_iter();
    let read = rows.map(|row| {
        let row: TaskRow = serde_json::from_value(Value::Object(row)).map_err(|e| e.to_string())?;
        Ok(row.place().map(|place| (place, row)))
    });
    let read: Result<Vec<_>, String> = read.collect();
    Ok(read?.into_iter().flatten().collect())
}

fn edge_of(rows: &Rows) -> Option<Cursor> {
    let row = rows.rows.first()?;
    Cursor::of_row(
        row.get("created_ms")?.as_f64()?,
        row.get("task_id")?.as_str()?,
    )
}

/// Rows of tasks by their ids.
pub(super) async fn some(edge: &Edge, ids: &[TaskId]) -> Result<Vec<TaskDocument>, Problem> {
    let until_ms = edge.now_ms() + TIMEOUT_MS;
    let asked = Database::all(edge.databases()).map(|database| async move {
        let statement = d1::some(ids, edge.now_ms());
        let results = ask(edge, database, vec![statement], until_ms).await?;
        placed(results.into_iter().next())
    });
    let rows = try_join_all(asked).await;
    let rows = rows.map_err(|error| silent(edge, &error))?;
    let rows = rows.into_iter().flatten();
    Ok(rows.filter_map(|(_, row)| row.document()).collect())
}

/// Reads; a read may be tried again, whatever went wrong with it.
async fn ask(
    edge: &Edge,
    database: Database,
    statements: Vec<Statement>,
    until_ms: u64,
) -> Result<Vec<Rows>, String> {
    let mut tries = 0;
    loop {
        tries += 1;
        let left = until_ms.saturating_sub(edge.now_ms()).max(1);
        let asked = within(edge, left, edge.d1(database, statements.clone())).await;
        let read = asked.unwrap_or_else(|| Err("no answer in time".into()));
        let read = read.map_err(|error| format!("{}: {error}", database.binding()));
        if read.is_ok() || tries >= TRIES || edge.now_ms() >= until_ms {
            return read;
        }
        edge.sleep(50 << tries).await;
    }
}
