//! What one run knows of one database.

use super::super::ask;
use super::super::flows::names_in;
use super::super::ports::{Edge, Rows};
use super::super::within;
use crate::http::flows::FlowName;
use crate::http::object_call::{Ask, Call, Poked, Told};
use crate::limits;
use crate::maintenance::Counts;
use crate::store::d1::{self as sql, Statement};
use crate::types::{Database, TaskId};
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// How long one object may take to look at itself.
const POKE_MS: u64 = 5_000;

/// One database, in one run.
pub(super) struct Book {
    pub(super) database: Database,
    /// What earlier runs have remembered, by name.
    pub(super) known: BTreeMap<String, String>,
    /// What this run has counted.
    pub(super) counts: Counts,
    /// Why it is left alone for the rest of the run.
    pub(super) error: Option<String>,
    /// Flows with a schedule, of those that were deployed at run time.
    pub(super) scheduled: Vec<FlowName>,
    /// What is remembered at the end of the run, by name.
    pub(super) remember: Vec<(&'static str, String)>,
    /// Some of the open tasks whose object has nothing.
    pub(super) orphans: Vec<String>,
}

impl From<Database> for Book {
    fn from(database: Database) -> Self {
        Self {
            database,
            known: BTreeMap::new(),
            counts: Counts::default(),
            error: None,
            scheduled: Vec::new(),
            remember: Vec::new(),
            orphans: Vec::new(),
        }
    }
}

/// What an object that was asked to look at itself has answered.
pub(super) enum Looked {
    /// It has looked.
    At(Poked),
    /// It has nothing.
    Nothing,
    /// Nobody answered.
    Unreachable,
}

#[derive(Deserialize)]
struct Remembered {
    job: String,
    value: String,
}

impl Book {
    /// Reads what earlier runs have remembered.
    pub(super) async fn open(edge: &Edge, mut book: Self) -> Self {
        let flows = sql::flows_begun_by("Schedule", limits::MAX_FLOWS_LISTED);
        if let Some(results) = book.ask(edge, vec![sql::jobs(), flows]).await {
            let rows: Vec<Remembered> = read(results.first());
            book.scheduled = results.get(1).map(names_in).unwrap_or_default();
            book.known = rows.into_iter().map(|row| (row.job, row.value)).collect();
        }
        book
    }

    /// Writes what was counted.
    pub(super) async fn close(mut self, edge: &Edge, started_ms: u64) -> Self {
        let counts = self.counts.iter();
        let mut statements: Vec<Statement> = counts
            .map(|(name, by)| sql::count(name, started_ms, by))
            .collect();
        let took_ms = edge.now_ms().saturating_sub(started_ms);
        statements.push(sql::remember("run", started_ms, took_ms.to_string()));
        let remember = std::mem::take(&mut self.remember).into_iter();
        statements.extend(remember.map(|(job, text)| sql::remember(job, started_ms, text)));
        self.ask(edge, statements).await;
        self
    }

    /// Runs statements as one transaction. `None` if the database is left alone for the rest of the run.
    pub(super) async fn ask(
        &mut self,
        edge: &Edge,
        statements: Vec<Statement>,
    ) -> Option<Vec<Rows>> {
        if self.error.is_some() {
            return None;
        }
        let asked = edge.d1(self.database, statements);
        match within(edge, limits::CRON_D1_MS, asked).await {
            Some(Ok(results)) => Some(results),
            Some(Err(error)) => {
                self.error = Some(error);
                None
            }
            None => {
                let ms = limits::CRON_D1_MS;
                self.error = Some(format!("no answer within {ms} ms"));
                None
            }
        }
    }

    /// What is remembered under a name; empty if nothing is.
    pub(super) fn known(&self, job: &str) -> &str {
        self.known.get(job).map_or("", String::as_str)
    }

    /// Counts what an object found.
    pub(super) fn looked(&mut self, job: &str, id: TaskId, looked: &Looked) {
        /// As many orphans are named in the log.
        const NAMED: usize = 10;
        self.counts.add(&format!("{job}.asked"), 1);
        match looked {
            Looked::At(poked) => {
                let Some(lost) = poked.lost else { return };
                self.counts.add(&format!("lost.{}", lost.as_str()), 1);
                if poked.healed {
                    self.counts.add(&format!("healed.{}", lost.as_str()), 1);
                }
            }
            Looked::Nothing => {
                self.counts.add(&format!("{job}.orphans"), 1);
                if self.orphans.len() < NAMED {
                    self.orphans.push(id.to_string());
                }
            }
            Looked::Unreachable => self.counts.add(&format!("{job}.unreachable"), 1),
        }
    }
}

/// Has objects look at themselves, some at a time, in their order, as long as there is time.
pub(super) async fn poke_all(
    edge: &Edge,
    until_ms: u64,
    ids: Vec<TaskId>,
) -> Vec<(TaskId, Looked)> {
    let in_time = stream::iter(ids).take_while(|_| std::future::ready(edge.now_ms() < until_ms));
    in_time
        .map(|id| async move { (id, poke(edge, id).await) })
        .buffered(super::pokes_at_a_time(edge))
        .collect()
        .await
}

async fn poke(edge: &Edge, task_id: TaskId) -> Looked {
    let call = Call {
        task_id,
        ask: Ask::Poke,
    };
    match ask::ask(edge, &call, edge.now_ms() + POKE_MS).await {
        Ok(reply) => match reply.told {
            Told::Done => Looked::At(reply.as_poked()),
            Told::NotFound => Looked::Nothing,
            _ => Looked::Unreachable,
        },
        Err(_) => Looked::Unreachable,
    }
}

/// Has an object send its row to D1 once more.
pub(super) async fn flush_again(edge: &Edge, task_id: TaskId) -> bool {
    let call = Call {
        task_id,
        ask: Ask::FlushAgain,
    };
    let reply = ask::ask(edge, &call, edge.now_ms() + POKE_MS).await;
    matches!(reply.map(|reply| reply.told), Ok(Told::Done))
}

/// The rows of a result; those that cannot be read are left out.
pub(super) fn read<T: DeserializeOwned>(rows: Option<&Rows>) -> Vec<T> {
    let rows = rows.map_or(&[][..], |rows| &rows.rows);
    let read =
        |row: &serde_json::Map<_, _>| serde_json::from_value(Value::Object(row.clone())).ok();
    rows.iter().filter_map(read).collect()
}

/// D1 gives integers as doubles; ours are below 2^53 and not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn whole(number: f64) -> u64 {
    number as u64
}
