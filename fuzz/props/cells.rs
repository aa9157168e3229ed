//! What an object may find in its storage: the bytes of a task's cell, or the JSON of its head on one line and a
//! blob behind it.

use super::input::{is_json, line};
use onceward::http::document::TaskDocument;
use onceward::http::object_call::Frame;
use onceward::protocol::{Summary, next_due_ms};
use onceward::store::cells::{Cells as _, MemoryCells};
use onceward::store::commit::Stored;
use onceward::store::d1;
use onceward::types::{TaskKey, TaskKind};

pub fn check(data: &[u8]) {
    load(data);
    let (head, blob) = line(data);
    let frame = Frame {
        head: head.to_vec(),
        blobs: vec![blob.to_vec(), blob.to_vec()],
    };
    load(&frame.encode());
}

/// It is a task that can be shown, or an error that says why not.
fn load(bytes: &[u8]) {
    let id = TaskKey::new(TaskKind::Source, "s", "", "k").task_id();
    let cells = MemoryCells::default();
    cells.put(&format!("{id}/head"), bytes).expect("memory");
    match Stored::load(&cells, id) {
        Ok(None) => panic!("there is a cell"),
        Ok(Some(stored)) => {
            let _ = (stored.input_body(&cells), stored.answer_body(&cells));
            let _ = next_due_ms(&stored.task);
            is_json(&TaskDocument::of(&Summary::of(&stored.task)).to_answer(200));
            assert!(!d1::flush(&stored.task, None).is_empty());
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}
