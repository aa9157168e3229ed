//! When the faults have stopped: everything has to end by itself, and then is looked at closely.

use crate::history::Row;
use crate::support::files::read;
use crate::support::{Server, check};
use crate::town::{Resident, Town};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Everything has to be at rest by then: leases of 7 s, back-off, and D1's debts.
const LIMIT: Duration = Duration::from_mins(3);
/// A failed task that can be resumed goes on with the next delivery; so often it is sent.
const ROUNDS: usize = 6;
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Waits until all tasks are at rest, and delivers each key's body once more, as a sender without an answer would.
/// What does not come to rest is left for the judge.
pub fn wait_for_rest(server: &Server, town: &Town) {
    let mut left = town.residents();
    for round in 0..ROUNDS {
        wait_ends(town, &left);
        if round > 0 {
            left.retain(|resident| is_resumable(resident));
        }
        if left.is_empty() {
            break;
        }
        for resident in &left {
            town.deliver(resident, 0, &resident.request());
        }
    }
    let all = town.residents();
    wait_ends(town, &all);
    for resident in &all {
        town.deliver(resident, 0, &resident.request());
    }
    wait_rows(server, town);
}

fn is_resumable(resident: &Resident) -> bool {
    let known = resident.known();
    let document = known.end.document.as_ref();
    document.is_some_and(|d| d["state"] == "failed" && d["resumable"] == true)
}

fn wait_ends(town: &Town, who: &[Arc<Resident>]) {
    let mut moving: Vec<Arc<Resident>> = who.to_vec();
    wait_patiently(|| {
        moving.retain(|resident| !is_at_rest(town, resident));
        let first = moving.first().map(|r| r.known().key.clone());
        check(moving.is_empty(), || {
            format!("{} tasks, {first:?} first", moving.len())
        })
    });
}

/// Gives up with a word only: the judge will say what is wrong.
fn wait_patiently(mut look: impl FnMut() -> Result<(), String>) {
    let began = Instant::now();
    while let Err(complaint) = look() {
        if began.elapsed() > LIMIT {
            eprintln!("chaos: no rest after {} s: {complaint}", LIMIT.as_secs());
            return;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn is_at_rest(town: &Town, resident: &Resident) -> bool {
    let Some(document) = town.look(resident) else {
        return false;
    };
    let wants_signal = document["waiting"]["for"] == "signal";
    {
        let mut known = resident.known();
        known.end.document = document["state"].is_string().then_some(document);
        if known.end.document.is_none() || known.is_at_rest() {
            return true;
        }
    }
    if wants_signal {
        town.signal(resident, false);
    }
    false
}

fn wait_rows(server: &Server, town: &Town) {
    let residents = town.residents();
    wait_patiently(|| {
        let rows = rows(server);
        let behind = residents.iter().find(|resident| {
            let known = resident.known();
            let state = rows
                .get(&known.task_id)
                .map_or("", |row| row.state.as_str());
            let ended = |id: &str| rows.get(id).is_some_and(|row| row.state == "succeeded");
            let waits_for_child =
                state == "succeeded" && !resident.children.iter().all(|c| ended(&c.1));
            state != known.end_state() || waits_for_child
        });
        check(behind.is_none(), || "D1 is behind".to_owned())
    });
}

/// D1's rows.
pub fn rows(server: &Server) -> HashMap<String, Row> {
    let copy = read(&server.files().d1_path()).expect("a copy of D1");
    let sql = "SELECT task_id, state, generation, answer_body FROM tasks";
    let mut statement = copy.db.prepare(sql).expect("the table");
    let rows = statement.query_map([], |row| {
        Ok((
            row.get(0)?,
            Row {
                state: row.get(1)?,
                generation: row.get::<_, i64>(2)?.unsigned_abs(),
                answer: row.get(3)?,
            },
        ))
    });
    rows.expect("rows").flatten().collect()
}

/// Notes journal, row and children.
pub fn look_closely(server: &Server, resident: &Resident, rows: &HashMap<String, Row>) {
    let id = resident.task_id();
    let journal = match resident.known().end.document {
        Some(_) => server.journal(&id),
        None => Vec::new(),
    };
    let children = resident
        .children
        .iter()
        .filter_map(|(step, child)| {
            let shown = journal
                .iter()
                .find(|r| r["step"] == *step && r["state"] == "succeeded")?;
            let answer = rows.get(child).and_then(|row| row.answer.as_deref());
            let own = serde_json::from_slice(answer.unwrap_or_default()).unwrap_or_default();
            Some((shown["value"]["body"].clone(), own))
        })
        .collect::<Vec<(Value, Value)>>();
    let mut known = resident.known();
    known.end.row = rows.get(&id).cloned();
    known.end.journal = journal;
    known.end.children = children;
}
