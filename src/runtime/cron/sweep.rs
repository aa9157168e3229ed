//! The sweep: every open task is looked at in turn, again and again, whatever its row says.

use super::super::ports::Edge;
use super::book::{Book, Looked, flush_again, poke_all, read, whole};
use super::{After, POKING_AT_A_TIME, in_turn};
use crate::maintenance::{self, Position};
use crate::protocol::Version;
use crate::store::d1::{self as sql, OpenPage};
use crate::types::TaskId;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What the position is remembered as.
const POSITION: &str = "sweep";

#[derive(Deserialize)]
struct Open {
    task_id: String,
    created_ms: f64,
    #[serde(flatten)]
    version: Held,
}

/// The version of a row.
#[derive(Clone, Copy, Deserialize)]
struct Held {
    epoch: f64,
    n: f64,
}

impl Held {
    fn version(self) -> Version {
        Version {
            epoch: whole(self.epoch),
            n: whole(self.n),
        }
    }
}

/// An open task, with where the sweep goes on behind it.
struct Found {
    id: TaskId,
    version: Version,
    behind: Position,
}

/// Asks the objects of some open tasks of each database.
pub(super) async fn sweep(edge: &Edge, until_ms: u64, books: Vec<Book>) -> Vec<Book> {
    let rows = maintenance::sweep_rows(edge.databases());
    in_turn(edge, until_ms, POKING_AT_A_TIME, books, |book| {
        piece(edge, until_ms, rows, book)
    })
    .await
}

async fn piece(edge: &Edge, until_ms: u64, rows: u32, mut book: Book) -> After<Book> {
    let begin = Position::read(book.known(POSITION));
    let Some((found, end)) = page(edge, &mut book, begin.clone(), rows).await else {
        return After::Done(book);
    };
    if end != begin {
        // First, so that what ends this run does not end the next ones as well.
        remember(edge, &mut book, &end).await;
    }
    let versions: BTreeMap<TaskId, Version> = found.iter().map(|f| (f.id, f.version)).collect();
    let ids = found.iter().map(|found| found.id).collect();
    let looked = poke_all(edge, until_ms, ids).await;
    if looked.len() < found.len() {
        // Time was up before all of them were asked.
        let last = looked.len().checked_sub(1).and_then(|at| found.get(at));
        let behind = last.map_or(begin, |found| found.behind.clone());
        remember(edge, &mut book, &behind).await;
    } else if end == Position::default() {
        book.counts.add("sweep.rounds", 1);
    }
    for (id, looked) in looked {
        book.looked("sweep", id, &looked);
        if let (Looked::At(poked), Some(seen)) = (&looked, versions.get(&id))
            && poked.acknowledged.is_some_and(|version| *seen < version)
        {
            heal_row(edge, &mut book, id, poked.acknowledged).await;
        }
    }
    After::Done(book)
}

/// The next open tasks, and where the sweep goes on behind them: at the beginning, after the last one. All
/// states from there on are read at once, and cut off where there are enough.
async fn page(
    edge: &Edge,
    book: &mut Book,
    begin: Position,
    rows: u32,
) -> Option<(Vec<Found>, Position)> {
    let mut at = begin.clone();
    let mut pages = Vec::new();
    while let Some(state) = at.state() {
        pages.push(sql::open_tasks(&OpenPage {
            state,
            after: (at.created_ms, &at.task_id),
            rows,
        }));
        at = at.next_state();
    }
    let results = book.ask(edge, pages).await?;
    let enough = usize::try_from(rows).unwrap_or(usize::MAX);
    let mut found: Vec<Found> = Vec::new();
    at = begin;
    for page in &results {
        for row in read::<Open>(Some(page)) {
            if found.len() >= enough {
                return Some((found, at));
            }
            at = at.behind(whole(row.created_ms), &row.task_id);
            // An id that is none is nobody's.
            let id = TaskId::parse(&row.task_id);
            found.extend(id.map(|id| Found {
                id,
                version: row.version.version(),
                behind: at.clone(),
            }));
        }
        if found.len() >= enough {
            return Some((found, at));
        }
        at = at.next_state();
    }
    Some((found, Position::default()))
}

async fn remember(edge: &Edge, book: &mut Book, position: &Position) {
    let statement = sql::remember(POSITION, edge.now_ms(), position.text());
    book.ask(edge, vec![statement]).await;
}

/// D1 has acknowledged more than its row shows. If it still does, its object sends the row again.
async fn heal_row(edge: &Edge, book: &mut Book, id: TaskId, acknowledged: Option<Version>) {
    let read_again = vec![sql::read_version(&id.to_string())];
    let Some(results) = book.ask(edge, read_again).await else {
        return;
    };
    let held: Option<Held> = read(results.first()).pop();
    if held.map(Held::version) >= acknowledged {
        return;
    }
    book.counts.add("lost.row", 1);
    if flush_again(edge, id).await {
        book.counts.add("healed.row", 1);
    }
}
