//! The scheduled jobs: flows are begun at the times of their schedules, the rescuer asks the objects of tasks that should have moved, the sweep those of all
//! open tasks in turn, and the cleaner deletes what is dead. All work in small pieces, on every database;
//! a run that is cut off, doubled or missed does no harm: the next one goes on.

mod book;
mod clean;
mod rescue;
mod schedules;
mod sweep;

use super::App;
use super::ports::{Edge, Level};
use super::tally;
use crate::maintenance::{Counts, Job};
use crate::types::Database;
use book::Book;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use schedules::Look;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::future::Future;

/// Databases that are asked at a time: the platform gives six connections.
const DATABASES_AT_A_TIME: usize = 4;
/// Databases whose objects are asked at a time.
const POKING_AT_A_TIME: usize = 3;

/// Objects of one database that are asked at a time: six connections are shared.
fn pokes_at_a_time(edge: &Edge) -> usize {
    if edge.databases() == 1 { 5 } else { 2 }
}

/// One run of all jobs. Without a configuration that holds together no flow is begun.
pub async fn tick(edge: &Edge, app: Option<&App>) {
    let started = edge.now_ms();
    tally::write(edge).await;
    // Each run begins with another database, should there be time for some of them only.
    let mut all: VecDeque<Database> = Database::all(edge.databases()).collect();
    let first = started / 60_000 % all.len().max(1) as u64;
    all.rotate_left(usize::try_from(first).unwrap_or(0));
    let until = Job::Schedules.until_ms(started);
    let look = app.map(|app| Look::new(edge, app, until));
    let look = look.as_ref();
    // Schedules do not wait for a database that does not answer.
    let opened = in_turn(
        edge,
        until,
        DATABASES_AT_A_TIME,
        all.into(),
        |book| async move {
            let book = Book::open(edge, book).await;
            After::Done(match look {
                Some(look) => look.at_book(book).await,
                None => book,
            })
        },
    )
    .await;
    // Those that have answered come first from here on.
    let books = rescue::rescue(edge, Job::Rescue.until_ms(started), opened).await;
    let books = sweep::sweep(edge, Job::Sweep.until_ms(started), books).await;
    let books = clean::clean(edge, Job::Clean.until_ms(started), books).await;
    let closed = books.into_iter().map(|book| book.close(edge, started));
    let books: Vec<Book> = futures::stream::iter(closed)
        .buffer_unordered(DATABASES_AT_A_TIME)
        .collect()
        .await;
    log(edge, started, &books);
}

fn log(edge: &Edge, started_ms: u64, books: &[Book]) {
    let (mut counts, mut errors) = (Counts::default(), Map::new());
    for book in books {
        counts.join(&book.counts);
        if let Some(error) = &book.error {
            errors.insert(book.database.binding(), error.as_str().into());
        }
    }
    let failed = !errors.is_empty();
    let mut fields = counts.document();
    fields["databases"] = books.len().into();
    fields["ms"] = json!(edge.now_ms() - started_ms);
    let orphans: Vec<&String> = books.iter().flat_map(|book| &book.orphans).collect();
    if !orphans.is_empty() {
        fields["orphans"] = json!(orphans);
    }
    if failed {
        fields["errors"] = Value::Object(errors);
        edge.log(Level::Error, "cron", fields);
    } else {
        edge.log(Level::Info, "cron", fields);
    }
}

/// What one piece of work leaves.
enum After<T> {
    /// There is more to do: it takes its turn again.
    More(T),
    /// Nothing is left to do.
    Done(T),
}

/// Has each of these do a piece of its work in turn, some at a time, until there is nothing left or no time.
/// Nobody waits for a slow one but those that there is no room for beside it. All are handed back.
async fn in_turn<I, T: From<I>, F>(
    edge: &Edge,
    until_ms: u64,
    at_a_time: usize,
    all: Vec<I>,
    piece: impl Fn(T) -> F,
) -> Vec<T>
where
    F: Future<Output = After<T>>,
{
    let mut waiting: VecDeque<T> = all.into_iter().map(T::from).collect();
    let mut done = Vec::with_capacity(waiting.len());
    let mut working = FuturesUnordered::new();
    loop {
        while working.len() < at_a_time && edge.now_ms() < until_ms {
            let Some(next) = waiting.pop_front() else {
                break;
            };
            working.push(piece(next));
        }
        match working.next().await {
            Some(After::More(one)) => waiting.push_back(one),
            Some(After::Done(one)) => done.push(one),
            None => break,
        }
    }
    done.extend(waiting);
    done
}
