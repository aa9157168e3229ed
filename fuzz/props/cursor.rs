//! Cursors of the list and of the journal, ids and codes: one word.

use super::input::text;
use onceward::http::code::Code;
use onceward::http::journal::{cell, word};
use onceward::protocol::{Kind, Outcome, StepRecord};
use onceward::store::cells::{Cells as _, MemoryCells};
use onceward::store::journal::{Purpose, page};
use onceward::store::rows::Cursor;
use onceward::types::{StepId, TaskId, TaskKey, TaskKind};

thread_local! {
    static CELLS: (TaskId, MemoryCells) = journal();
}

pub fn check(data: &[u8]) {
    let given = text(data);
    if let Some(cursor) = Cursor::read(&given) {
        assert_eq!(cursor.word(), given, "one cursor has one word");
        assert!(cursor.created_ms < 1 << 52);
    }
    if let Some(id) = TaskId::parse(&given) {
        assert_eq!(id.to_string(), given);
    }
    if let Ok(code) = given.parse::<Code>() {
        assert_eq!(code.as_str(), given);
        assert!(!code.page().is_empty());
    }
    if let Some(found) = cell(&given) {
        assert_eq!(word(&found), given, "one cell has one word");
        pages(&found);
    }
    if !given.is_empty() {
        assert_eq!(cell(&word(&given)).as_ref(), Some(&given));
        pages(&given);
    }
}

/// A journal with a record in each area.
fn journal() -> (TaskId, MemoryCells) {
    let id = TaskKey::new(TaskKind::Source, "s", "", "k").task_id();
    let cells = MemoryCells::default();
    for (area, step, kind) in [
        ("step", StepId::new("", "a", 0), Kind::Step),
        ("step", StepId::new("b", "a", 7), Kind::Sleep),
        ("undo", StepId::new("", "pay", 0), Kind::Step),
        ("comp", StepId::new("", "%undo/pay", 0), Kind::Undo),
    ] {
        let record = StepRecord {
            id: step.clone(),
            kind,
            outcome: Outcome::Value("1".into()),
            undo: None,
            place: 0,
            fence: 1,
            at_ms: 1,
            tries: 1,
            generation: None,
            opened: None,
        };
        let bytes = serde_json::to_vec(&record).expect("JSON");
        let cell = format!("{id}/{area}/{}", step.cell());
        cells.put(&cell, &bytes).expect("memory");
    }
    (id, cells)
}

/// A page begins right behind the place that is asked for, and ends with the journal.
fn pages(after: &str) {
    // The last release named no area.
    let old = after.starts_with(|c: char| c.is_ascii_digit());
    let behind = if old {
        format!("step/{after}")
    } else {
        after.to_owned()
    };
    CELLS.with(|(id, cells)| {
        for (purpose, areas) in [
            (Purpose::Replay, &["step", "undo"][..]),
            (Purpose::Undoing, &["kept", "undo", "comp"]),
            (Purpose::Show, &["step", "undo", "comp"]),
        ] {
            let (records, more) = page(cells, *id, purpose, Some(after)).expect("memory");
            assert_eq!(more, None);
            let got: Vec<String> = records.iter().map(cell_of).collect();
            let first = areas
                .iter()
                .position(|area| behind.starts_with(&format!("{area}/")));
            let (all, _) = page(cells, *id, purpose, None).expect("memory");
            let later = |cell: &String| {
                let area = areas
                    .iter()
                    .position(|area| cell.starts_with(&format!("{area}/")));
                first.is_some_and(|first| {
                    area > Some(first) || (area == Some(first) && *cell > behind)
                })
            };
            let wanted: Vec<String> = all.iter().map(cell_of).filter(later).collect();
            assert_eq!(got, wanted, "{purpose:?} from behind {behind:?}");
        }
    });
}

fn cell_of(record: &StepRecord) -> String {
    let area = match (record.kind, &*record.id.name) {
        (Kind::Undo, _) => "comp",
        (_, "pay") => "undo",
        _ => "step",
    };
    format!("{area}/{}", record.id.cell())
}
