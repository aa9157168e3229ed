//! The writes of one atomic step.

use super::cells::Cells;
use super::commit::{Body, CommitError};
use super::journal::{self, COMP, KEPT, STEP, UNDO};
use super::lookup;
use crate::limits;
use crate::protocol::{Effect, Kind, StepRecord};
use crate::types::{Headers, TaskId};
use serde::Serialize;

pub(super) struct Writer<'a, C> {
    pub(super) cells: &'a C,
    pub(super) id: TaskId,
    pub(super) input_headers: Option<Headers>,
    pub(super) input: Body,
    pub(super) answer: Body,
    /// Cells written or deleted.
    pub(super) rows: u32,
}

impl<C: Cells> Writer<'_, C> {
    pub(super) fn put(&mut self, cell: &str, value: &[u8]) -> Result<(), CommitError> {
        self.cells.put(&format!("{}/{cell}", self.id), value)?;
        self.rows += 1;
        Ok(())
    }

    fn delete(&mut self, cell: &str) -> Result<(), CommitError> {
        if self.cells.delete(cell)? {
            self.rows += 1;
        }
        Ok(())
    }

    /// Keeps a body in the place of another.
    fn keep(&mut self, cell: &str, old: &Body, bytes: Vec<u8>) -> Result<Body, CommitError> {
        if bytes.len() <= limits::INLINE_BYTES {
            if *old == Body::Own {
                self.delete(&format!("{}/{cell}", self.id))?;
            }
            return Ok(Body::Inline(bytes));
        }
        self.put(cell, &bytes)?;
        Ok(Body::Own)
    }

    pub(super) fn write(&mut self, effect: Effect) -> Result<(), CommitError> {
        match effect {
            Effect::PutInput(input) => {
                self.input = self.keep("input", &self.input.clone(), input.body)?;
                self.input_headers = Some(input.headers);
            }
            Effect::PutAnswer(answer) => {
                self.answer = self.keep("answer", &self.answer.clone(), answer.body)?;
            }
            Effect::ReplaceInput(body) => {
                self.input = self.keep("input", &self.input.clone(), body)?;
            }
            Effect::PutStep(step) => self.put_step(&step)?,
            Effect::ReopenStep(step) => {
                if let Some((cell, _)) = journal::find(self.cells, self.id, &step)? {
                    self.delete(&cell)?;
                }
            }
            Effect::PutCursor(cursor) => self.put("cursor", &json(&cursor)?)?,
            Effect::RewindCursor { fence } => {
                if journal::cursor(self.cells, self.id)?.is_some_and(|c| c.fence >= fence) {
                    self.delete(&format!("{}/cursor", self.id))?;
                }
            }
            Effect::PutLetter(letter) => {
                let cell = lookup::letter_cell(&letter.name, &letter.id);
                self.put(&cell, &json(&letter)?)?;
            }
            Effect::NewJournal {
                generation,
                keep_undo,
            } => self.new_journal(generation, keep_undo)?,
            Effect::DropPayload => self.drop_payload()?,
            Effect::Strip => self.strip()?,
            Effect::SetAlarm { .. }
            | Effect::Dispatch { .. }
            | Effect::PayDebts
            | Effect::Flush
            | Effect::Forget { .. }
            | Effect::WakeJoined => {}
        }
        Ok(())
    }

    fn drop_payload(&mut self) -> Result<(), CommitError> {
        if self.answer == Body::Own {
            self.delete(&format!("{}/answer", self.id))?;
        }
        self.answer = Body::Absent;
        self.strip()
    }

    fn strip(&mut self) -> Result<(), CommitError> {
        if self.input == Body::Own {
            self.delete(&format!("{}/input", self.id))?;
        }
        for area in [STEP, UNDO, COMP, KEPT, lookup::LETTER] {
            self.clear(area)?;
        }
        self.delete(&format!("{}/cursor", self.id))?;
        self.input = Body::Absent;
        self.input_headers = None;
        Ok(())
    }

    /// Deletes every cell of an area.
    fn clear(&mut self, area: &str) -> Result<(), CommitError> {
        let prefix = format!("{}/{area}/", self.id);
        loop {
            let found = self.cells.list(&prefix, None, limits::CELLS_AT_A_TIME)?;
            if found.is_empty() {
                return Ok(());
            }
            for (cell, _) in found {
                self.delete(&cell)?;
            }
        }
    }

    fn put_step(&mut self, step: &StepRecord) -> Result<(), CommitError> {
        let cell = format!("{}/{}", journal::area(step), step.id.cell());
        // A step that is given an undo, or loses it, moves.
        if step.kind != Kind::Undo
            && let Some((old, _)) = journal::find(self.cells, self.id, &step.id)?
            && old != format!("{}/{cell}", self.id)
        {
            self.delete(&old)?;
        }
        self.put(&cell, &json(step)?)
    }

    fn new_journal(&mut self, generation: u64, keep_undo: bool) -> Result<(), CommitError> {
        self.delete(&format!("{}/cursor", self.id))?;
        if keep_undo {
            self.keep_undoable(generation)?;
        } else {
            self.clear(KEPT)?;
        }
        for area in [STEP, UNDO, COMP] {
            self.clear(area)?;
        }
        Ok(())
    }

    /// Moves what may have to be undone to where the next generation does not see it.
    fn keep_undoable(&mut self, generation: u64) -> Result<(), CommitError> {
        let prefix = format!("{}/{UNDO}/", self.id);
        let mut after: Option<String> = None;
        loop {
            let found = self
                .cells
                .list(&prefix, after.as_deref(), limits::CELLS_AT_A_TIME)?;
            let Some((last, _)) = found.last() else {
                return Ok(());
            };
            after = Some(last.clone());
            for (_, bytes) in &found {
                let mut record = journal::read_step(bytes)?;
                if !record.is_undoable() {
                    continue;
                }
                let cell = format!("{KEPT}/{generation:016}/{}", record.id.cell());
                record.generation = Some(generation);
                self.put(&cell, &json(&record)?)?;
            }
        }
    }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, CommitError> {
    serde_json::to_vec(value).map_err(|e| CommitError::Corrupt(e.to_string()))
}
