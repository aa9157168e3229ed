//! The object's storage as this crate uses it: an ordered map of byte values.
//!
//! A map and not tables, because a new object then has no `CREATE TABLE` to pay for (two rows, as
//! measured) and a row is what costs. Cells are named by the task, so that an object can hold several:
//!
//! | cell | value |
//! |---|---|
//! | `{task}/head` | the task as JSON, and bodies up to 32 KiB |
//! | `{task}/input` | the body of the input, if larger |
//! | `{task}/answer` | the body of the answer, if larger |
//! | `{task}/step/{identity}` | one record of the journal as JSON |

use std::cell::RefCell;
use std::collections::BTreeMap;

/// Why a cell could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellError(pub String);

/// An ordered map of byte values. Writes between two awaits are one atomic step.
pub trait Cells {
    /// The value of a cell.
    ///
    /// # Errors
    /// When the storage fails.
    fn get(&self, cell: &str) -> Result<Option<Vec<u8>>, CellError>;
    /// Writes a cell.
    ///
    /// # Errors
    /// When the storage fails or the value is too large.
    fn put(&self, cell: &str, value: &[u8]) -> Result<(), CellError>;
    /// Deletes a cell; whether there was one.
    ///
    /// # Errors
    /// When the storage fails.
    fn delete(&self, cell: &str) -> Result<bool, CellError>;
    /// Cells whose names begin with `prefix`, from behind `after`, in order.
    ///
    /// # Errors
    /// When the storage fails.
    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, CellError>;
}

impl<C: Cells + ?Sized> Cells for &C {
    fn get(&self, cell: &str) -> Result<Option<Vec<u8>>, CellError> {
        (**self).get(cell)
    }

    fn put(&self, cell: &str, value: &[u8]) -> Result<(), CellError> {
        (**self).put(cell, value)
    }

    fn delete(&self, cell: &str) -> Result<bool, CellError> {
        (**self).delete(cell)
    }

    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, CellError> {
        (**self).list(prefix, after, limit)
    }
}

/// Cells in memory, for tests and simulations.
///
/// ```
/// use onceward::store::cells::{Cells, MemoryCells};
/// let cells = MemoryCells::default();
/// cells.put("a/1", b"x").unwrap();
/// cells.put("a/2", b"y").unwrap();
/// assert_eq!(cells.list("a/", Some("a/1"), 9).unwrap(), [("a/2".to_owned(), b"y".to_vec())]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryCells(RefCell<BTreeMap<String, Vec<u8>>>);

impl MemoryCells {
    /// Deletes everything.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Names of all cells.
    pub fn names(&self) -> Vec<String> {
        self.0.borrow().keys().cloned().collect()
    }
}

impl Cells for MemoryCells {
    fn get(&self, cell: &str) -> Result<Option<Vec<u8>>, CellError> {
        Ok(self.0.borrow().get(cell).cloned())
    }

    fn put(&self, cell: &str, value: &[u8]) -> Result<(), CellError> {
        self.0.borrow_mut().insert(cell.to_owned(), value.to_vec());
        Ok(())
    }

    fn delete(&self, cell: &str) -> Result<bool, CellError> {
        Ok(self.0.borrow_mut().remove(cell).is_some())
    }

    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, CellError> {
        let cells = self.0.borrow();
        let found = cells
            .range(prefix.to_owned()..)
            .take_while(|(name, _)| name.starts_with(prefix))
            .filter(|(name, _)| after.is_none_or(|a| name.as_str() > a))
            .take(limit);
        Ok(found.map(|(n, v)| (n.clone(), v.clone())).collect())
    }
}
