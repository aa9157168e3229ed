//! The rescuer: tasks whose row says that they should have moved.

use super::super::ports::Edge;
use super::book::{Book, poke_all, read, whole};
use super::{After, POKING_AT_A_TIME, in_turn};
use crate::limits;
use crate::store::d1::{self as sql, Stretch};
use crate::types::TaskId;
use serde::Deserialize;

#[derive(Deserialize)]
struct Overdue {
    task_id: String,
}

/// Last row of a stretch.
#[derive(Deserialize)]
pub(super) struct End {
    due_ms: f64,
    task_id: String,
}

impl End {
    /// Behind which the next stretch begins.
    pub(super) fn after(self) -> (u64, String) {
        (whole(self.due_ms), self.task_id)
    }
}

/// A walk over what is due.
pub(super) struct Walk {
    pub(super) book: Book,
    pub(super) stretch: Stretch,
}

/// Asks the objects of what is overdue, a stretch of each database in turn.
pub(super) async fn rescue(edge: &Edge, until_ms: u64, books: Vec<Book>) -> Vec<Book> {
    let now_ms = edge.now_ms();
    let stretch = sql::due_by(now_ms.saturating_sub(limits::RESCUE_AFTER_MS));
    let begin = |book| Walk {
        book,
        stretch: stretch.clone(),
    };
    let walks: Vec<Walk> = books.into_iter().map(begin).collect();
    let walked = in_turn(edge, until_ms, POKING_AT_A_TIME, walks, |walk| {
        piece(edge, until_ms, now_ms, walk)
    })
    .await;
    walked.into_iter().map(|walk| walk.book).collect()
}

async fn piece(edge: &Edge, until_ms: u64, now_ms: u64, mut walk: Walk) -> After<Walk> {
    let Walk { book, stretch } = &mut walk;
    let dead_by_ms = now_ms.saturating_sub(limits::ORPHAN_GRACE_MS);
    let statements = vec![sql::stretch_end(stretch), sql::overdue(stretch, dead_by_ms)];
    let Some(results) = book.ask(edge, statements).await else {
        return After::Done(walk);
    };
    let end: Option<End> = read(results.first()).pop();
    let rows: Vec<Overdue> = read(results.get(1));
    let ids = rows.iter().filter_map(|row| TaskId::parse(&row.task_id));
    for (id, looked) in poke_all(edge, until_ms, ids.collect()).await {
        book.looked("rescue", id, &looked);
    }
    match end {
        Some(end) => {
            stretch.after = end.after();
            After::More(walk)
        }
        None => After::Done(walk),
    }
}
