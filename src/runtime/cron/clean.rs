//! The cleaner: deletes what is dead, and folds what is old.

use super::super::ports::{Edge, Rows};
use super::book::{Book, read};
use super::rescue::{End, Walk};
use super::{After, DATABASES_AT_A_TIME, in_turn};
use crate::limits;
use crate::maintenance::Horizon;
use crate::store::d1::{self as sql, Stretch};

/// What the horizon is remembered as.
const HORIZON: &str = "horizon";
/// Rows of operators' acts that are deleted in one statement.
const AUDIT_ROWS: u32 = 1_000;
/// Hours of statistics that are folded in one transaction.
const FOLD_ROWS: u32 = 500;
/// An hour.
const HOUR_MS: u64 = 3_600_000;

/// Cleans each database in turn: first what is dead and due, then the rest.
pub(super) async fn clean(edge: &Edge, until_ms: u64, books: Vec<Book>) -> Vec<Book> {
    let now_ms = edge.now_ms();
    let begin = |book| Walk {
        book,
        stretch: sql::due_by(now_ms),
    };
    let walks: Vec<Walk> = books.into_iter().map(begin).collect();
    let walked = in_turn(edge, until_ms, DATABASES_AT_A_TIME, walks, |walk| {
        dead(edge, now_ms, walk)
    })
    .await;
    let begin = |walk: Walk| Walk {
        stretch: horizon(&walk.book, now_ms),
        book: walk.book,
    };
    let walks: Vec<Walk> = walked.into_iter().map(begin).collect();
    let walked = in_turn(edge, until_ms, DATABASES_AT_A_TIME, walks, |walk| {
        tombstones(edge, now_ms, walk)
    })
    .await;
    let books: Vec<Book> = walked.into_iter().map(|walk| walk.book).collect();
    let books = in_turn(edge, until_ms, DATABASES_AT_A_TIME, books, |book| {
        old(edge, now_ms, book)
    })
    .await;
    in_turn(edge, until_ms, DATABASES_AT_A_TIME, books, |book| {
        totals(edge, now_ms, book)
    })
    .await
}

fn changes(results: &[Rows], at: usize) -> u64 {
    results.get(at).map_or(0, |result| result.changes)
}

/// Goes on behind this stretch. The same again if `again`, as something was left in it.
fn walk_on(mut walk: Walk, results: &[Rows], again: bool) -> After<Walk> {
    if again {
        return After::More(walk);
    }
    let end: Option<End> = read(results.first()).pop();
    match end {
        Some(end) => {
            walk.stretch.after = end.after();
            After::More(walk)
        }
        None => After::Done(walk),
    }
}

/// Deletes the dead of a stretch, their checkpoints first.
async fn dead(edge: &Edge, now_ms: u64, mut walk: Walk) -> After<Walk> {
    let Walk { book, stretch } = &mut walk;
    let dead_by_ms = now_ms.saturating_sub(limits::ORPHAN_GRACE_MS);
    let statements = vec![
        sql::stretch_end(stretch),
        sql::clean_checkpoints(stretch, dead_by_ms, limits::CLEAN_CHECKPOINTS),
        sql::clean_tasks(stretch, dead_by_ms),
    ];
    let Some(results) = book.ask(edge, statements).await else {
        return After::Done(walk);
    };
    let checkpoints = changes(&results, 1);
    book.counts.add("clean.checkpoints", checkpoints);
    book.counts.add("clean.tasks", changes(&results, 2));
    let again = checkpoints >= u64::from(limits::CLEAN_CHECKPOINTS);
    walk_on(walk, &results, again)
}

/// What has been placed since the last run: a tombstone is due a day after it was placed.
fn horizon(book: &Book, now_ms: u64) -> Stretch {
    let seen = Horizon::read(book.known(HORIZON), now_ms);
    Stretch {
        after: (seen.due_ms, seen.task_id),
        until_ms: (now_ms + limits::TOMBSTONE_MS).saturating_sub(limits::HORIZON_LAG_MS),
        rows: limits::CRON_ROWS,
    }
}

/// Deletes the checkpoints of new tombstones: payload does not stay for the day that a tombstone stays.
async fn tombstones(edge: &Edge, now_ms: u64, mut walk: Walk) -> After<Walk> {
    let Walk { book, stretch } = &mut walk;
    let dead_by_ms = now_ms.saturating_sub(limits::ORPHAN_GRACE_MS);
    let mut statements = vec![
        sql::stretch_end(stretch),
        sql::clean_checkpoints(stretch, dead_by_ms, limits::CLEAN_CHECKPOINTS),
    ];
    if stretch.after.0 > now_ms {
        let seen = Horizon {
            due_ms: stretch.after.0,
            task_id: stretch.after.1.clone(),
        };
        statements.push(sql::remember(HORIZON, now_ms, seen.text()));
    }
    let Some(results) = book.ask(edge, statements).await else {
        return After::Done(walk);
    };
    let checkpoints = changes(&results, 1);
    book.counts.add("clean.checkpoints", checkpoints);
    let again = checkpoints >= u64::from(limits::CLEAN_CHECKPOINTS);
    match walk_on(walk, &results, again) {
        After::More(walk) => After::More(walk),
        After::Done(mut walk) => {
            let seen = Horizon {
                due_ms: walk.stretch.until_ms,
                task_id: String::new(),
            };
            let seen = sql::remember(HORIZON, now_ms, seen.text());
            walk.book.ask(edge, vec![seen]).await;
            After::Done(walk)
        }
    }
}

/// Deletes what operators did long ago and keys that have been gone for long, and folds hours of long ago.
async fn old(edge: &Edge, now_ms: u64, mut book: Book) -> After<Book> {
    let before_ms = now_ms.saturating_sub(limits::AUDIT_MS);
    let hours_before_ms = now_ms.saturating_sub(limits::STATS_MS);
    let [add, delete] = sql::fold_stats(hours_before_ms, FOLD_ROWS);
    let gone_by_ms = now_ms.saturating_sub(limits::TOMBSTONE_MS);
    let keys = sql::clean_keys(gone_by_ms, limits::CLEAN_KEYS);
    let statements = vec![sql::clean_audit(before_ms, AUDIT_ROWS), add, delete, keys];
    let Some(results) = book.ask(edge, statements).await else {
        return After::Done(book);
    };
    let (audit, hours) = (changes(&results, 0), changes(&results, 2));
    book.counts.add("clean.audit", audit);
    book.counts.add("clean.hours", hours);
    let keys = changes(&results, 3);
    book.counts.add("clean.keys", keys);
    let keys_left = keys >= u64::from(limits::CLEAN_KEYS);
    if keys_left || audit >= u64::from(AUDIT_ROWS) || hours >= u64::from(FOLD_ROWS) {
        return After::More(book);
    }
    After::Done(book)
}

/// Once in an hour all hours but the last two are added up, for `/metrics`.
async fn totals(edge: &Edge, now_ms: u64, mut book: Book) -> After<Book> {
    let before_ms = (now_ms - now_ms % HOUR_MS).saturating_sub(HOUR_MS);
    let known = super::super::metrics::totals_before_ms(book.known("totals"));
    if known != Some(before_ms) {
        let statement = sql::total_stats(before_ms, now_ms);
        book.ask(edge, vec![statement]).await;
    }
    After::Done(book)
}
