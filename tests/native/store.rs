//! One atomic step of an object, on cells in memory.

use onceward::http::object_call::Frame;
use onceward::limits;
use onceward::protocol::{
    Begin, Effect, Event, Finish, Moment, Outcome, Proof, Record, Reply, SCHEMA, StepRecord,
    Verdict,
};
use onceward::store::cells::{CellError, Cells, MemoryCells};
use onceward::store::commit::{CommitError, Committed, Stored, commit};
use onceward::store::journal::{self, Purpose};
use onceward::types::{Answer, Headers, Input, Policy, StepId, TaskId, TaskKey, TaskKind, Token};

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
        input: Input {
            headers: [("content-type", "image/png")].into_iter().collect(),
            body,
        },
        claims: true,
        hop: 0,
        parent: None,
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
