//! What went wrong once in the machine: messages that are late, alarms that ring early, ends that are
//! told too late.

use crate::protocol_fixture::{
    LEASE, Object, T0, alarms, child_record, done, intent, is_unchanged, journal, key, retryable,
    signal_wait, step, terminal, undoable,
};
use onceward::limits::{CELLS_AT_A_TIME, JOURNAL_PAGE_BYTES};
use onceward::protocol::{
    Debt, EndsAs, Open, Outcome, Reply, Retry, State, StepRecord, Verdict, Waiting,
};
use onceward::store::cells::{CellError, Cells, MemoryCells};
use onceward::store::journal::{Purpose, page};
use onceward::types::{StepId, TaskKey};
use std::cell::Cell;

fn open(in_flight: bool, tries: u32, place: u32) -> StepRecord {
    let open = Open {
        in_flight,
        tries,
        ..Open::default()
    };
    StepRecord {
        place,
        ..step("pay", Outcome::Open(Box::new(open)))
    }
}

#[test]
fn a_late_message_does_not_set_a_try_back() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let tried = open(false, 1, 1);
    let under_way = open(true, 1, 2);
    object.record(T0, &first.proof, vec![tried.clone()]);
    object.record(T0, &first.proof, vec![under_way.clone()]);
    object.record(T0, &first.proof, vec![tried]);
    assert_eq!(object.outcome("pay"), Some(under_way.outcome));
}

#[test]
fn an_alarm_that_rings_early_leaves_the_time_in_the_row_armed() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.wait(T0 + 1, ("w", 1), &first, vec![signal_wait("go", None)]);
    object.flushed(T0 + 2);
    let armed = object.task().armed_ms.expect("armed for the lease");
    assert_eq!(armed, T0 + LEASE);
    let out = object.alarm(T0 + 5);
    assert!(is_unchanged(&out));
    assert_eq!(alarms(&out.effects), [armed]);
    // Once that has rung, nothing is armed for a task that only a signal ends.
    assert!(alarms(&object.alarm(armed).effects).is_empty());
}

#[test]
fn a_failed_end_that_comes_after_compensation_began_still_says_what_was_done() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0, &first.proof, vec![intent("charge")]);
    object.cancel(T0 + 1, "stop");
    object.alarm(T0 + LEASE);
    assert_eq!(
        object.task().ending.as_ref().expect("ending").to,
        EndsAs::Cancelled
    );
    let late = T0 + LEASE + 1;
    let out = object.finish_with(late, "f", &first.proof, vec![done("charge")], retryable());
    assert!(matches!(out.reply, Reply::Stale(_)), "{:?}", out.reply);
    let undoing = journal(&object.cells, Purpose::Undoing);
    assert!(
        matches!(undoing[0].outcome, Outcome::Value(_)),
        "{undoing:?}"
    );
}

#[test]
fn a_cancel_while_a_failure_is_undone_reaches_the_children() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    let child = TaskKey {
        key: "child".into(),
        ..key()
    }
    .task_id();
    object.record(
        T0,
        &first.proof,
        vec![done("charge"), child_record("call", child)],
    );
    object.task.as_mut().expect("a task").attempts = 100;
    object.finish(T0 + 1, "f", &first.proof, retryable());
    assert!(object.task().ending.is_some() && object.task().debts.list.is_empty());
    object.cancel(T0 + 2, "stop");
    assert_eq!(object.task().debts.list, [Debt::Cancel(child)]);
}

#[test]
fn what_is_settled_is_undone_even_if_the_end_tells_it_again() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0, &first.proof, vec![done("charge")]);
    let again = undoable(
        "charge",
        Outcome::Failed(onceward::types::Failure::terminal("no", "no")),
    );
    object.finish_with(T0 + 1, "f", &first.proof, vec![again], terminal());
    assert!(matches!(
        object.task().state,
        State::Suspended(Waiting::Ready)
    ));
    assert!(object.task().ending.is_some());
}

#[test]
fn what_was_undone_is_done_again_with_new_keys_whoever_wants_the_old() {
    let mut object = Object::default();
    let first = object.begun(T0, "a");
    object.record(T0, &first.proof, vec![done("charge")]);
    object.finish(T0 + 1, "f", &first.proof, terminal());
    let undoing = object.claimed(T0 + 2, "u");
    object.finish(T0 + 3, "g", &undoing.proof, Verdict::Undone(Vec::new()));
    let before = object.task().key_generation;
    let retry = Retry {
        op: "again".to_owned(),
        same_keys: true,
        ..Retry::default()
    };
    let out = object.retry(T0 + 4, retry);
    let Reply::Planned(plan) = &out.reply else {
        panic!("{:?}", out.reply);
    };
    assert!(plan.new_keys);
    assert!(object.task().key_generation > before);
}

/// Cells that note how many bytes one list had at most.
#[derive(Default)]
struct Watched(MemoryCells, Cell<usize>);

impl Cells for Watched {
    fn get(&self, cell: &str) -> Result<Option<Vec<u8>>, CellError> {
        self.0.get(cell)
    }
    fn put(&self, cell: &str, value: &[u8]) -> Result<(), CellError> {
        self.0.put(cell, value)
    }
    fn delete(&self, cell: &str) -> Result<bool, CellError> {
        self.0.delete(cell)
    }
    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, CellError> {
        let found = self.0.list(prefix, after, limit)?;
        let bytes = found.iter().map(|(_, v)| v.len()).sum();
        self.1.set(self.1.get().max(bytes));
        Ok(found)
    }
}

#[test]
fn large_records_are_read_a_few_at_a_time() {
    let (cells, id) = (Watched::default(), key().task_id());
    let large = "x".repeat(1 << 20);
    for n in 0..60 {
        let record = StepRecord::new(StepId::new("", "page", n), Outcome::Value(large.clone()));
        let cell = format!("{id}/step/{}", record.id.cell());
        cells
            .put(&cell, &serde_json::to_vec(&record).expect("JSON"))
            .expect("room");
    }
    let (mut after, mut seen) = (None, 0);
    loop {
        let (records, more) = page(&cells, id, Purpose::Replay, after.as_deref()).expect("read");
        assert!(records.len() <= JOURNAL_PAGE_BYTES >> 20);
        seen += records.len();
        let Some(more) = more else { break };
        after = Some(more);
    }
    assert_eq!(seen, 60);
    assert!(
        cells.1.get() <= (CELLS_AT_A_TIME + 1) << 20,
        "{}",
        cells.1.get()
    );
}
