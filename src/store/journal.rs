//! The journal of a task, as it is kept: one cell per record.

use super::cells::Cells;
use super::commit::CommitError;
use crate::limits;
use crate::protocol::StepRecord;
use crate::types::TaskId;

pub(super) fn read_step(bytes: &[u8]) -> Result<StepRecord, CommitError> {
    serde_json::from_slice(bytes).map_err(|e| CommitError::Corrupt(e.to_string()))
}

/// A page of the journal in the order of its cells, and where the next one begins. A page ends early
/// when its outcomes become large.
///
/// # Errors
/// When storage fails.
pub fn page(
    cells: &impl Cells,
    id: TaskId,
    after: Option<&str>,
) -> Result<(Vec<StepRecord>, Option<String>), CommitError> {
    let prefix = format!("{id}/step/");
    let after = after.map(|cell| format!("{prefix}{cell}"));
    let found = cells.list(&prefix, after.as_deref(), limits::JOURNAL_PAGE)?;
    let mut more = found.len() == limits::JOURNAL_PAGE;
    let mut records = Vec::new();
    let mut bytes_left = limits::JOURNAL_PAGE_BYTES;
    for (_, bytes) in &found {
        if !records.is_empty() && bytes.len() > bytes_left {
            more = true;
            break;
        }
        bytes_left = bytes_left.saturating_sub(bytes.len());
        records.push(read_step(bytes)?);
    }
    let last = records.last().map(|r: &StepRecord| r.id.cell());
    Ok((records, last.filter(|_| more)))
}
