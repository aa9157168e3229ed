//! What the body of a function, filter, test or operator gets.

use super::cell::{Cell, kind};
use super::engine::{Held, Run};
use super::halt::{Halt, failed};
use super::number::Num;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// What one unit of fuel pays for, as the engine counts.
pub(super) const BYTES_PER_FUEL: u64 = 64;

/// A call: its arguments, and where it runs.
pub(super) struct Call<'a> {
    pub(super) name: &'static str,
    /// In the order of the declaration; those that were not given are `None`.
    pub(super) arguments: Vec<Option<Arc<Held>>>,
    pub(super) run: &'a Run,
    /// Pays with the engine's fuel.
    pub(super) fuel: &'a dyn Fn(u64) -> Result<(), Halt>,
}

impl Call<'_> {
    /// An argument that was given.
    pub(super) fn cell(&self, index: usize) -> Option<&Cell> {
        self.arguments.get(index)?.as_ref().map(|held| &*held.cell)
    }

    /// Whether an argument was given and is not null.
    pub(super) fn given(&self, index: usize) -> bool {
        self.cell(index).is_some_and(|cell| !cell.raw().is_null())
    }

    /// An argument as it is; null if it was not given.
    pub(super) fn raw(&self, index: usize) -> &Value {
        self.cell(index).map_or(&Value::Null, Cell::raw)
    }

    /// An argument, a single header as its text.
    pub(super) fn plain(&self, index: usize) -> &Value {
        self.cell(index).map_or(&Value::Null, Cell::plain)
    }

    /// An argument as it is printed.
    pub(super) fn text(&self, index: usize) -> Cow<'_, str> {
        self.cell(index).map_or(Cow::Borrowed(""), Cell::text)
    }

    /// An argument as it is printed, or what stands for it.
    pub(super) fn text_or<'a>(&'a self, index: usize, default: &'a str) -> Cow<'a, str> {
        if self.given(index) {
            self.text(index)
        } else {
            Cow::Borrowed(default)
        }
    }

    /// An argument as a condition, or what stands for it.
    pub(super) fn flag_or(&self, index: usize, default: bool) -> bool {
        if self.given(index) {
            super::cell::holds(self.plain(index))
        } else {
            default
        }
    }

    /// A number, or a text that is one.
    pub(super) fn number(&self, index: usize) -> Result<Num, Halt> {
        Num::of(self.plain(index)).ok_or_else(|| self.wrong(index, "a number"))
    }

    /// A whole number.
    pub(super) fn whole(&self, index: usize) -> Result<i64, Halt> {
        match self.number(index)? {
            Num::Whole(number) => {
                i64::try_from(number).map_err(|_| self.wrong(index, "a smaller number"))
            }
            Num::Float(_) => Err(self.wrong(index, "a whole number")),
        }
    }

    pub(super) fn list(&self, index: usize) -> Result<&Vec<Value>, Halt> {
        self.raw(index)
            .as_array()
            .ok_or_else(|| self.wrong(index, "a list"))
    }

    pub(super) fn map(&self, index: usize) -> Result<&serde_json::Map<String, Value>, Halt> {
        self.raw(index)
            .as_object()
            .ok_or_else(|| self.wrong(index, "a map"))
    }

    /// Wrong type; the message does not show the value.
    pub(super) fn wrong(&self, index: usize, wanted: &str) -> Halt {
        failed(format!(
            "`{}` takes {wanted}, not {}",
            self.name,
            kind(self.raw(index))
        ))
    }

    /// Pays for work on so many bytes before it is done.
    pub(super) fn charge(&self, bytes: usize) -> Result<(), Halt> {
        (self.fuel)(bytes as u64 / BYTES_PER_FUEL + 1)
    }
}
