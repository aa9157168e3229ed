//! One atomic step of an object, on cells in memory.

use onceward::http::object_call::Frame;
use onceward::limits;
use onceward::protocol::{
    Begin, Cursor, Effect, Event, Finish, Kind, Moment, NextInput, Outcome, Proof, Record, Reply,
    SCHEMA, Skip, StepRecord, UndoPlan, Verdict,
};
use onceward::store::cells::{CellError, Cells, MemoryCells};
use onceward::store::commit::{CommitError, Committed, Stored, commit};
use onceward::store::journal::{self, Purpose};
use onceward::types::{
    About, Answer, Headers, Input, Policy, StepId, TaskId, TaskKey, TaskKind, Token,
};

fn key() -> TaskKey {
    TaskKey::new(TaskKind::Source, "lab", "", "k")
}

fn id() -> TaskId {
    key().task_id()
}

fn begin(body: Vec<u8>) -> Event {
    begin_by("op", body)
}

fn begin_by(op: &str, body: Vec<u8>) -> Event {
    Event::Begin(Box::new(Begin {
        op: Token::new(op),
        key: key(),
        function: "lab".into(),
        policy: Policy::default(),
        fingerprint: None,
        parts: Vec::new(),
        input: Input {
            headers: [("content-type", "image/png")].into_iter().collect(),
            body,
        },
        claims: true,
        hop: 0,
        parent: None,
        lineage: Vec::new(),
        about: About::default(),
    }))
}

fn step(cells: &MemoryCells, event: Event, at_ms: u64) -> Committed {
    commit(cells, id(), event, &Moment::at(at_ms)).expect("committed")
}

fn proof(committed: &Committed) -> Proof {
    let Reply::Claimed(claimed) = &committed.reply else {
        panic!("not claimed: {:?}", committed.reply)
    };
    claimed.proof.clone()
}

fn record(name: &str, value: &str) -> StepRecord {
    StepRecord {
        tries: 1,
        ..StepRecord::new(StepId::new("", name, 0), Outcome::Value(value.into()))
    }
}

fn finish(proof: Proof, steps: Vec<StepRecord>, body: Vec<u8>) -> Event {
    Event::Finish(Box::new(Finish {
        op: Token::new("fin"),
        proof,
        steps,
        known: Vec::new(),
        verdict: Verdict::Succeeded(Answer {
            status: 200,
            headers: Headers::default(),
            body,
        }),
    }))
}

#[test]
fn nothing_but_begin_writes_to_an_empty_object() {
    let cells = MemoryCells::default();
    let proof = Proof {
        fence: 1,
        token: Token::new("t"),
    };
    for event in [
        Event::AlarmFired,
        Event::Poke,
        Event::Delete,
        finish(proof.clone(), vec![record("a", "1")], b"x".to_vec()),
        Event::Record(Box::new(Record {
            proof,
            steps: vec![record("a", "1")],
            known: Vec::new(),
            cursor: None,
            known_cursor: None,
        })),
    ] {
        let out = step(&cells, event, 1_000);
        assert_eq!(out.reply, Reply::NotFound);
        assert_eq!((out.rows, out.alarm_ms, out.gone), (0, None, false));
    }
    assert!(cells.names().is_empty());
}

#[test]
fn a_small_one_step_task_writes_three_cells_and_its_bodies_stay_in_the_first() {
    let cells = MemoryCells::default();
    let begun = step(&cells, begin(b"in".to_vec()), 1_000);
    assert_eq!((begun.rows, begun.alarm_ms.is_some()), (1, true));
    let done = step(
        &cells,
        finish(proof(&begun), vec![record("a", "1")], b"out".to_vec()),
        1_050,
    );
    assert_eq!((done.rows, done.alarm_ms), (2, None));
    assert_eq!(done.after, [Effect::WakeJoined, Effect::Flush]);
    assert_eq!(cells.names().len(), 2, "{:?}", cells.names());
    let version = done.stored.expect("kept").task.version;
    let acked = step(
        &cells,
        Event::Flushed {
            sent: version,
            holds: version,
        },
        1_060,
    );
    assert_eq!((acked.rows, acked.alarm_ms.is_some()), (1, true));
    let stored = Stored::load(&cells, id())
        .expect("readable")
        .expect("there");
    assert_eq!(stored.input_body(&cells), Ok(b"in".to_vec()));
    assert_eq!(stored.answer_body(&cells), Ok(b"out".to_vec()));
}

#[test]
fn large_bodies_have_cells_of_their_own_and_come_back_byte_for_byte() {
    let cells = MemoryCells::default();
    let large: Vec<u8> = (0..=255_u8)
        .cycle()
        .take(limits::INLINE_BYTES + 1)
        .collect();
    let begun = step(&cells, begin(large.clone()), 1_000);
    assert_eq!(begun.rows, 2);
    let done = step(
        &cells,
        finish(proof(&begun), Vec::new(), large.clone()),
        1_050,
    );
    assert_eq!(done.rows, 2);
    let stored = Stored::load(&cells, id())
        .expect("readable")
        .expect("there");
    assert_eq!(stored.input_headers.get("content-type"), Some("image/png"));
    assert_eq!(stored.input_body(&cells), Ok(large.clone()));
    assert_eq!(stored.answer_body(&cells), Ok(large));
}

#[test]
fn the_first_outcome_of_a_step_wins_and_is_given_back() {
    let cells = MemoryCells::default();
    let proof = proof(&step(&cells, begin(Vec::new()), 1_000));
    let send = |value: &str, at_ms| {
        let record = Record {
            proof: proof.clone(),
            steps: vec![record("a", value)],
            known: Vec::new(),
            cursor: None,
            known_cursor: None,
        };
        step(&cells, Event::Record(Box::new(record)), at_ms)
    };
    assert_eq!(send("1", 1_010).rows, 1);
    let again = send("2", 1_020);
    assert_eq!(again.rows, 0);
    let Reply::Recorded { winners, .. } = again.reply else {
        panic!("{:?}", again.reply)
    };
    assert_eq!(winners[0].outcome, Outcome::Value("1".into()));
}

#[test]
fn a_key_that_begins_anew_finds_nothing_of_what_was_before() {
    let cells = MemoryCells::default();
    let large = vec![1; limits::INLINE_BYTES + 1];
    let begun = step(&cells, begin(large.clone()), 1_000);
    let done = step(
        &cells,
        finish(proof(&begun), vec![record("a", "1")], large),
        1_050,
    );
    let expires = done.stored.expect("kept").task.expires_ms.expect("final");
    let again = step(&cells, begin_by("another", b"new".to_vec()), expires);
    assert!(matches!(again.reply, Reply::Claimed(_)));
    assert_eq!(cells.names(), [format!("{}/head", id())]);
    assert_eq!(
        again.stored.expect("new").input_body(&cells),
        Ok(b"new".to_vec())
    );
}

#[test]
fn a_task_of_a_newer_release_is_left_alone() {
    let cells = MemoryCells::default();
    step(&cells, begin(Vec::new()), 1_000);
    let cell = format!("{}/head", id());
    let bytes = cells.get(&cell).expect("readable").expect("there");
    let mut frame = Frame::decode(&bytes).expect("a frame");
    let head = String::from_utf8(frame.head).expect("JSON");
    let (old, new) = (
        format!("\"schema\":{SCHEMA}"),
        format!("\"schema\":{}", SCHEMA + 1),
    );
    assert!(head.contains(&old));
    frame.head = head.replacen(&old, &new, 1).into_bytes();
    cells.put(&cell, &frame.encode()).expect("written");
    let before = cells.clone();
    let out = commit(&cells, id(), Event::AlarmFired, &Moment::at(9_999_999));
    assert_eq!(out.err(), Some(CommitError::NewerSchema(SCHEMA + 1)));
    assert_eq!(cells, before);
}

#[test]
fn what_is_no_task_is_named_and_left_alone() {
    let cells = MemoryCells::default();
    cells
        .put(&format!("{}/head", id()), b"rubbish")
        .expect("written");
    let out = commit(&cells, id(), begin(Vec::new()), &Moment::at(1));
    assert!(matches!(out, Err(CommitError::Corrupt(_))), "{out:?}");
}

#[test]
fn a_long_journal_comes_in_pages_without_gap_or_double() {
    let cells = MemoryCells::default();
    let proof = proof(&step(&cells, begin(Vec::new()), 1_000));
    let total = limits::JOURNAL_PAGE + 7;
    for n in 0..total {
        let mut one = record("s", "1");
        one.id.occurrence = u32::try_from(n).expect("small");
        let record = Record {
            proof: proof.clone(),
            steps: vec![one],
            known: Vec::new(),
            cursor: None,
            known_cursor: None,
        };
        step(&cells, Event::Record(Box::new(record)), 1_010);
    }
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let (page, more) =
            journal::page(&cells, id(), Purpose::Replay, after.as_deref()).expect("readable");
        all.extend(page.into_iter().map(|r| r.id.occurrence));
        match more {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert!(
        all.iter()
            .copied()
            .eq(0..u32::try_from(total).expect("small"))
    );
}

fn records(cells: &MemoryCells, proof: &Proof, steps: &[StepRecord]) {
    for steps in steps.chunks(limits::MAX_RECORDS_PER_CALL) {
        let record = Record {
            proof: proof.clone(),
            steps: steps.to_vec(),
            known: Vec::new(),
            cursor: None,
            known_cursor: None,
        };
        step(cells, Event::Record(Box::new(record)), 1_010);
    }
}

fn pages(cells: &MemoryCells, purpose: Purpose) -> (Vec<StepRecord>, usize) {
    let (mut all, mut after, mut count) = (Vec::new(), None, 0);
    loop {
        let (page, more) = journal::page(cells, id(), purpose, after.as_deref()).expect("readable");
        assert!(page.len() <= limits::JOURNAL_PAGE);
        all.extend(page);
        count += 1;
        match more {
            Some(next) => after = Some(next),
            None => return (all, count),
        }
    }
}

fn numbered(name: &str, numbers: std::ops::Range<u32>) -> Vec<StepRecord> {
    let one = |n| StepRecord {
        id: StepId::new("", name, n),
        ..record(name, "1")
    };
    numbers.map(one).collect()
}

fn can_be_undone(records: Vec<StepRecord>) -> Vec<StepRecord> {
    let undo = UndoPlan {
        handler: "refund".into(),
        input: "{}".into(),
        key: String::new(),
    };
    let with = |record| StepRecord {
        undo: Some(undo.clone()),
        ..record
    };
    records.into_iter().map(with).collect()
}

#[test]
fn pages_go_over_the_areas_of_a_journal_without_gap_or_double() {
    let cells = MemoryCells::default();
    let proof = proof(&step(&cells, begin(Vec::new()), 1_000));
    let page = u32::try_from(limits::JOURNAL_PAGE).expect("small");
    for plain in [0, 1, page - 1, page, page + 1] {
        let cells = cells.clone();
        records(&cells, &proof, &numbered("s", 0..plain));
        records(&cells, &proof, &can_be_undone(numbered("u", 0..page + 3)));
        let undo = StepRecord {
            kind: Kind::Undo,
            id: StepId::new("%undo/0", "u", 0),
            ..record("u", "1")
        };
        records(&cells, &proof, &[undo]);
        let (replay, _) = pages(&cells, Purpose::Replay);
        assert_eq!(replay.len(), (plain + page + 3) as usize);
        let (undoing, _) = pages(&cells, Purpose::Undoing);
        assert_eq!(undoing.len(), page as usize + 4);
        let (shown, _) = pages(&cells, Purpose::Show);
        assert_eq!(shown.len(), (plain + page + 4) as usize);
        let mut ids: Vec<_> = shown.iter().map(|r| (r.kind as u8, r.id.clone())).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), shown.len());
    }
}

#[test]
fn what_lies_before_the_saved_cursor_is_kept_and_not_visited() {
    let cells = MemoryCells::default();
    let proof = proof(&step(&cells, begin(Vec::new()), 1_000));
    records(&cells, &proof, &numbered("other", 0..3));
    records(&cells, &proof, &numbered("page", 0..2_000));
    records(&cells, &proof, &can_be_undone(numbered("paid", 0..5)));
    let skip = |name: &str, from, to| Skip {
        branch: String::new(),
        name: name.into(),
        from,
        to,
    };
    let save = Record {
        proof: proof.clone(),
        steps: Vec::new(),
        known: Vec::new(),
        cursor: Some(Cursor {
            fence: 0,
            n: 1,
            text: "1990".into(),
            skips: vec![
                skip("page", 0, 1_990),
                skip("paid", 1, 3),
                skip("none", 0, 9),
            ],
        }),
        known_cursor: None,
    };
    step(&cells, Event::Record(Box::new(save)), 1_020);
    let (replay, count) = pages(&cells, Purpose::Replay);
    assert_eq!((replay.len(), count), (3 + 10 + 3, 1));
    assert!(
        replay
            .iter()
            .all(|r| r.id.name != "page" || r.id.occurrence >= 1_990)
    );
    let (shown, _) = pages(&cells, Purpose::Show);
    assert_eq!(shown.len(), 3 + 2_000 + 5);
    let (undoing, _) = pages(&cells, Purpose::Undoing);
    assert_eq!(
        undoing.len(),
        5,
        "what can be undone is undone, wherever it lies"
    );
    let saved = journal::cursor(&cells, id())
        .expect("readable")
        .expect("there");
    assert_eq!((saved.fence, saved.text.as_str()), (1, "1990"));
}

#[test]
fn a_body_that_moves_into_the_row_leaves_no_cell_behind() {
    let large = vec![1; limits::INLINE_BYTES + 1];
    let cells = MemoryCells::default();
    let begun = step(&cells, begin(large), 1_000);
    let failed = Finish {
        verdict: Verdict::ContinueAs(NextInput {
            body: b"small".to_vec(),
        }),
        ..match finish(proof(&begun), Vec::new(), Vec::new()) {
            Event::Finish(finish) => *finish,
            other => panic!("{other:?}"),
        }
    };
    let out = step(&cells, Event::Finish(Box::new(failed)), 1_010);
    let stored = out.stored.expect("kept");
    assert_eq!(stored.input_body(&cells), Ok(b"small".to_vec()));
    assert_eq!(stored.input_headers.get("content-type"), Some("image/png"));
    assert_eq!(cells.names(), [format!("{}/head", id())]);
}

/// Cells that fail at the n-th write.
struct Failing {
    inner: MemoryCells,
    writes_left: std::cell::Cell<u32>,
}

impl Cells for Failing {
    fn get(&self, cell: &str) -> Result<Option<Vec<u8>>, CellError> {
        self.inner.get(cell)
    }
    fn put(&self, cell: &str, value: &[u8]) -> Result<(), CellError> {
        if self.writes_left.get() == 0 {
            return Err(CellError("full".into()));
        }
        self.writes_left.set(self.writes_left.get() - 1);
        self.inner.put(cell, value)
    }
    fn delete(&self, cell: &str) -> Result<bool, CellError> {
        self.inner.delete(cell)
    }
    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, CellError> {
        self.inner.list(prefix, after, limit)
    }
}

#[test]
fn a_failed_write_is_an_error_for_the_caller_to_roll_back() {
    for writes in 0..2 {
        let cells = Failing {
            inner: MemoryCells::default(),
            writes_left: std::cell::Cell::new(writes),
        };
        let large = vec![1; limits::INLINE_BYTES + 1];
        let out = commit(&cells, id(), begin(large), &Moment::at(1));
        assert_eq!(out.err(), Some(CommitError::Storage("full".into())));
    }
}
