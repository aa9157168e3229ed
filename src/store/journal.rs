//! The journal of a task, as it is kept: one cell per record, in areas.
//!
//! | area | records |
//! |---|---|
//! | `step` | everything without an undo |
//! | `undo` | steps that can be undone |
//! | `comp` | what came of undoing them |
//! | `kept` | steps of earlier generations that may still have to be undone |

use super::cells::Cells;
use super::commit::CommitError;
use crate::limits;
use crate::protocol::{Cursor, Kind, Skip, StepRecord};
use crate::types::{StepId, TaskId};

pub(super) const STEP: &str = "step";
pub(super) const UNDO: &str = "undo";
pub(super) const COMP: &str = "comp";
pub(super) const KEPT: &str = "kept";

/// What a journal is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To run the function again.
    Replay,
    /// To undo what it did.
    Undoing,
    /// To show it.
    Show,
}

impl Purpose {
    const fn areas(self) -> &'static [&'static str] {
        match self {
            Self::Replay => &[STEP, UNDO],
            Self::Undoing => &[KEPT, UNDO, COMP],
            Self::Show => &[STEP, UNDO, COMP],
        }
    }
}

/// Where a record is kept.
pub(super) fn area(record: &StepRecord) -> &'static str {
    match (record.kind, &record.undo) {
        (Kind::Undo, _) => COMP,
        (_, Some(_)) => UNDO,
        (_, None) => STEP,
    }
}

pub(super) fn read_step(bytes: &[u8]) -> Result<StepRecord, CommitError> {
    serde_json::from_slice(bytes).map_err(|e| CommitError::Corrupt(e.to_string()))
}

/// The record of an identity, with the name of its cell.
pub(super) fn find(
    cells: &impl Cells,
    id: TaskId,
    step: &StepId,
) -> Result<Option<(String, StepRecord)>, CommitError> {
    for area in [STEP, UNDO, COMP] {
        let cell = format!("{id}/{area}/{}", step.cell());
        if let Some(bytes) = cells.get(&cell)? {
            return Ok(Some((cell, read_step(&bytes)?)));
        }
    }
    Ok(None)
}

/// The progress that the author has saved.
///
/// # Errors
/// When storage fails.
pub fn cursor(cells: &impl Cells, id: TaskId) -> Result<Option<Cursor>, CommitError> {
    let Some(bytes) = cells.get(&format!("{id}/cursor"))? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|e| CommitError::Corrupt(e.to_string()))
}

/// True if there is something to undo: a step of this generation or of an earlier one, but for those
/// of which the message at hand knows more than the journal.
pub(super) fn is_undoable(
    cells: &impl Cells,
    id: TaskId,
    but_for: &[StepId],
) -> Result<bool, CommitError> {
    for area in [KEPT, UNDO] {
        let prefix = format!("{id}/{area}/");
        let mut after: Option<String> = None;
        loop {
            let found = cells.list(&prefix, after.as_deref(), limits::CELLS_AT_A_TIME)?;
            for (_, bytes) in &found {
                let record = read_step(bytes)?;
                // What is settled stays, whatever a message says.
                let replaced = area == UNDO && !record.outcome.is_settled();
                let known_better = replaced && but_for.contains(&record.id);
                if record.is_undoable() && !known_better {
                    return Ok(true);
                }
            }
            match found.into_iter().next_back() {
                Some((last, _)) => after = Some(last),
                None => break,
            }
        }
    }
    Ok(false)
}

/// A page of the journal in the order of its cells, and where the next one begins. A page ends early
/// when its outcomes become large. Replay leaves out what lies before the saved cursor.
///
/// # Errors
/// When storage fails.
pub fn page(
    cells: &impl Cells,
    id: TaskId,
    purpose: Purpose,
    after: Option<&str>,
) -> Result<(Vec<StepRecord>, Option<String>), CommitError> {
    let skips = match purpose {
        Purpose::Replay => cursor(cells, id)?.map(|c| c.skips).unwrap_or_default(),
        Purpose::Undoing | Purpose::Show => Vec::new(),
    };
    let mut page = Page {
        root: format!("{id}/"),
        records: Vec::new(),
        last: None,
        bytes_left: limits::JOURNAL_PAGE_BYTES,
        at_a_time: limits::CELLS_AT_A_TIME,
    };
    let mut after = after.map(with_area);
    for area in purpose.areas() {
        if let Some(after) = &after
            && !after.starts_with(&format!("{area}/"))
        {
            continue;
        }
        if page.fill(cells, area, after.take(), &skips)? == Filled::Full {
            return Ok((page.records, page.last));
        }
    }
    Ok((page.records, None))
}

/// The last release named no area: its records had none but steps.
fn with_area(after: &str) -> String {
    if after.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("{STEP}/{after}");
    }
    after.to_owned()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    Full,
    Room,
}

struct Page {
    root: String,
    records: Vec<StepRecord>,
    /// Area and cell of the last record.
    last: Option<String>,
    bytes_left: usize,
    /// Cells of the next list.
    at_a_time: usize,
}

impl Page {
    fn fill(
        &mut self,
        cells: &impl Cells,
        area: &str,
        after: Option<String>,
        skips: &[Skip],
    ) -> Result<Filled, CommitError> {
        let prefix = format!("{}{area}/", self.root);
        let mut after = after.map(|after| format!("{}{after}", self.root));
        loop {
            let room = limits::JOURNAL_PAGE - self.records.len();
            if room == 0 {
                return Ok(Filled::Full);
            }
            let asked = room.min(self.at_a_time);
            let found = cells.list(&prefix, after.as_deref(), asked)?;
            let whole = found.len() == asked;
            let bytes: usize = found.iter().map(|(_, bytes)| bytes.len()).sum();
            // Small ones are read in larger pieces.
            self.at_a_time = if bytes <= limits::JOURNAL_PAGE_BYTES / 16 {
                2 * self.at_a_time
            } else {
                limits::CELLS_AT_A_TIME
            };
            let mut jumped = None;
            for (cell, bytes) in &found {
                if !self.records.is_empty() && bytes.len() > self.bytes_left {
                    return Ok(Filled::Full);
                }
                let record = read_step(bytes)?;
                if let Some(skip) = skips.iter().find(|s| lies_in(&record.id, s)) {
                    let end = StepId::new(&skip.branch, &skip.name, skip.to.saturating_sub(1));
                    jumped = Some(format!("{prefix}{}", end.cell()));
                    break;
                }
                self.bytes_left = self.bytes_left.saturating_sub(bytes.len());
                self.last = cell.strip_prefix(&self.root).map(str::to_owned);
                self.records.push(record);
                after = Some(cell.clone());
            }
            match (jumped, whole) {
                (Some(end), _) => after = Some(end),
                (None, true) => {}
                (None, false) => return Ok(Filled::Room),
            }
        }
    }
}

fn lies_in(id: &StepId, skip: &Skip) -> bool {
    id.branch == skip.branch
        && id.name == skip.name
        && (skip.from..skip.to).contains(&id.occurrence)
}
