//! What the machine has to know beside the task: looked up in storage and put into the event.

use super::cells::Cells;
use super::commit::CommitError;
use super::journal;
use crate::limits;
use crate::protocol::{Event, Letter, Moment, StepRecord, Task, signal_of};
use crate::types::{StepId, TaskId};
use uuid::Uuid;

pub(super) const LETTER: &str = "letter";

/// The cell of a letter follows from its name and id, so that a repeat finds it.
pub(super) fn letter_cell(name: &str, id: &str) -> String {
    let text = format!("{}:{name}{id}", name.len());
    format!(
        "{LETTER}/{}",
        Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes())
    )
}

fn letter(
    cells: &impl Cells,
    task: TaskId,
    name: &str,
    id: &str,
) -> Result<Option<Letter>, CommitError> {
    let Some(bytes) = cells.get(&format!("{task}/{}", letter_cell(name, id)))? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|e| CommitError::Corrupt(e.to_string()))
}

fn known(
    cells: &impl Cells,
    id: TaskId,
    mut steps: Vec<StepId>,
) -> Result<Vec<StepRecord>, CommitError> {
    steps.sort();
    steps.dedup();
    let mut out = Vec::new();
    for step in &steps {
        out.extend(journal::find(cells, id, step)?.map(|(_, record)| record));
    }
    Ok(out)
}

/// Fills in what the event asks for. The moment comes back with what it has to say.
pub(super) fn look_up(
    cells: &impl Cells,
    id: TaskId,
    task: Option<&Task>,
    event: &mut Event,
    moment: &Moment,
) -> Result<Moment, CommitError> {
    let mut may_end = false;
    let mut told: Vec<StepId> = Vec::new();
    match event {
        Event::Record(record) => {
            let ids = record.steps.iter().map(|s| s.id.clone()).collect();
            record.known = known(cells, id, ids)?;
            if record.cursor.is_some() {
                record.known_cursor = journal::cursor(cells, id)?;
            }
        }
        Event::Suspend(suspend) => {
            may_end = true;
            told.extend(suspend.steps.iter().map(|s| s.id.clone()));
            suspend.known = known(cells, id, suspend.ids())?;
            suspend.letters.clear();
            // As many letters of a name as there are waits for it.
            let mut names: Vec<String> = suspend.waits.iter().filter_map(signal_of).collect();
            for unread in task.map_or(&[][..], |t| &t.unread) {
                if let Some(at) = names.iter().position(|name| *name == unread.name) {
                    names.swap_remove(at);
                    let letter = letter(cells, id, &unread.name, &unread.id)?;
                    suspend.letters.extend(letter);
                }
            }
        }
        Event::Finish(finish) => {
            may_end = true;
            told.extend(finish.steps.iter().map(|s| s.id.clone()));
            finish.known = known(cells, id, finish.ids())?;
        }
        Event::Signal(signal) => signal.known = letter(cells, id, &signal.name, &signal.id)?,
        Event::Retry(retry) => retry.journal = whole(cells, id)?,
        Event::Begin(_)
        | Event::AlarmFired
        | Event::Poke
        | Event::Cancel { .. }
        | Event::Abandon { .. }
        | Event::Undo { .. } => may_end = task.is_some(),
        Event::Claim(_)
        | Event::Flushed { .. }
        | Event::FlushFailed { .. }
        | Event::TombstoneAcked(_)
        | Event::TombstoneFailed { .. }
        | Event::DebtPaid(_)
        | Event::DebtFailed
        | Event::Delete => {}
    }
    Ok(Moment {
        undoable: may_end && journal::is_undoable(cells, id, &told)?,
        ..moment.clone()
    })
}

/// Every record of the generation, for an operator's plan.
fn whole(cells: &impl Cells, id: TaskId) -> Result<Vec<StepRecord>, CommitError> {
    let mut out = Vec::new();
    let mut after = None;
    while out.len() < limits::MAX_STEPS as usize {
        let (records, more) = journal::page(cells, id, journal::Purpose::Show, after.as_deref())?;
        out.extend(records);
        match more {
            Some(more) => after = Some(more),
            None => break,
        }
    }
    Ok(out)
}
