//! Ring 2: how a task is kept. [`cells`] is the object's own storage, [`commit`] one atomic step of
//! it, [`d1`] all SQL as text.

pub mod cells;
pub mod commit;
pub mod d1;
pub mod journal;
mod lookup;
pub mod rows;
mod writer;
