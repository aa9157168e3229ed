//! Every statement for D1, on real `SQLite`, against the real migrations.

use onceward::http::document::TaskDocument;
use onceward::limits;
use onceward::protocol::{
    Begin, Event, Finish, Mismatch, Moment, Next, Outcome, Proof, Reply, State, StepRecord,
    Summary, Suspend, Task, Verdict, Version, Wait, WaitFor, handle,
};
use onceward::store::d1::{self, Statement, Value};
use onceward::store::rows::TaskRow;
use onceward::types::{About, Answer, Failure, Input, Policy, StepId, TaskKey, TaskKind, Token};
use rusqlite::types::{ToSqlOutput, Value as Sql};
use rusqlite::{Connection, ToSql};

pub(crate) const NOW: u64 = 1_795_989_751_097;

pub(crate) struct Bound<'a>(pub(crate) &'a Value);

impl ToSql for Bound<'_> {
    #[allow(clippy::cast_precision_loss)] // exactly what the edge does
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(match self.0 {
            Value::Null => Sql::Null,
            // D1 gets numbers from JavaScript: whole doubles arrive as integers.
            Value::Int(n) => Sql::Integer(i64::try_from(*n).expect("below 2^53")),
            Value::Text(text) => Sql::Text(text.clone()),
            Value::Blob(bytes) => Sql::Blob(bytes.clone()),
        }))
    }
}

pub(crate) fn database() -> Connection {
    let db = Connection::open_in_memory().expect("memory");
    for migration in d1::MIGRATIONS {
        db.execute_batch(migration).expect("migration");
    }
    db
}

pub(crate) fn run(db: &Connection, statement: &Statement) -> usize {
    assert!(statement.values.len() <= 100, "D1 takes 100 parameters");
    let values: Vec<Bound<'_>> = statement.values.iter().map(Bound).collect();
    let mut prepared = db.prepare(statement.sql).expect("statement");
    if prepared.column_count() > 0 {
        let mut rows = prepared
            .query(rusqlite::params_from_iter(values))
            .expect("query");
        let mut count = 0;
        while rows.next().expect("row").is_some() {
            count += 1;
        }
        return count;
    }
    prepared
        .execute(rusqlite::params_from_iter(values))
        .expect("execute")
}

pub(crate) fn apply(db: &Connection, statements: &[Statement]) -> Version {
    let (read, writes) = statements.split_last().expect("not empty");
    for write in writes {
        run(db, write);
    }
    let values: Vec<Bound<'_>> = read.values.iter().map(Bound).collect();
    db.query_row(read.sql, rusqlite::params_from_iter(values), |row| {
        Ok(Version {
            epoch: u64::try_from(row.get::<_, i64>(0)?).expect("positive"),
            n: u64::try_from(row.get::<_, i64>(1)?).expect("positive"),
        })
    })
    .expect("read back")
}

pub(crate) fn begun(key: &str, at_ms: u64) -> Task {
    begun_by(key, true, at_ms)
}

fn begun_by(key: &str, claims: bool, at_ms: u64) -> Task {
    let begin = Begin {
        op: Token::new("op"),
        key: TaskKey::new(TaskKind::Source, "lab", "", key),
        function: "lab".into(),
        policy: Policy::default(),
        parts: Vec::new(),
        fingerprint: None,
        input: Input::default(),
        claims,
        hop: 0,
        parent: None,
        lineage: Vec::new(),
        about: About::default(),
    };
    let out = handle(None, Event::Begin(Box::new(begin)), &Moment::at(at_ms));
    let Next::Put(task) = out.next else {
        panic!("begin writes")
    };
    *task
}

fn proof(task: &Task) -> Proof {
    let lease = task.lease.clone().expect("held");
    Proof {
        fence: lease.fence,
        token: lease.token,
    }
}

fn moved(task: Task, event: Event, moment: &Moment) -> (Task, Reply) {
    let out = handle(Some(task), event, moment);
    let Next::Put(task) = out.next else {
        panic!("it writes: {:?}", out.reply)
    };
    (*task, out.reply)
}

pub(crate) fn finished(task: Task, verdict: Verdict, at_ms: u64) -> Task {
    let finish = Finish {
        op: Token::new("fin"),
        proof: proof(&task),
        steps: Vec::new(),
        known: Vec::new(),
        verdict,
    };
    let (task, reply) = moved(task, Event::Finish(Box::new(finish)), &Moment::at(at_ms));
    assert!(matches!(reply, Reply::Stands(_)));
    task
}

/// A task whose slice has handed it on, to wait for these.
pub(crate) fn waiting(key: &str, waits: Vec<WaitFor>, mismatch: Option<Mismatch>) -> Task {
    let task = begun(key, NOW);
    let wait = |what| Wait {
        id: StepId::new("", "w", 0),
        what,
    };
    let suspend = Suspend {
        op: Token::new("sus"),
        proof: proof(&task),
        steps: Vec::new(),
        known: Vec::new(),
        progressed: false,
        hop: 0,
        n: 1,
        waits: waits.into_iter().map(wait).collect(),
        letters: Vec::new(),
        mismatch: mismatch.map(Box::new),
    };
    let event = Event::Suspend(Box::new(suspend));
    let (task, reply) = moved(task, event, &Moment::at(NOW + 1));
    assert!(matches!(reply, Reply::Suspended { .. }));
    task
}

pub(crate) fn cancelled(key: &str, at_ms: u64) -> Task {
    let task = begun_by(key, false, at_ms);
    let cancel = Event::Cancel { op: "c".into() };
    let (task, _) = moved(task, cancel, &Moment::at(at_ms + 1));
    assert_eq!(task.state, State::Cancelled);
    task
}

/// A task that has succeeded and that an operator has undone; under way if there is anything to undo.
pub(crate) fn undoing(key: &str, undoable: bool) -> Task {
    let moment = Moment {
        undoable,
        ..Moment::at(NOW + 9)
    };
    let undo = Event::Undo { op: "u".into() };
    moved(succeeded(key, NOW), undo, &moment).0
}

pub(crate) fn succeeded(key: &str, at_ms: u64) -> Task {
    let answer = Answer::json(201, &serde_json::json!({"id": 616_581_622_363_398_142_u64}));
    finished(begun(key, at_ms), Verdict::Succeeded(answer), at_ms + 5)
}

pub(crate) fn count(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).expect("count")
}

#[test]
fn a_flush_reads_back_what_it_wrote() {
    let db = database();
    let task = succeeded("k", NOW);
    let body = vec![0, 255, 7];
    assert_eq!(
        apply(&db, &d1::flush(&task, Some(body.clone()))),
        task.version
    );
    let (state, status, kept, expires): (String, i64, Vec<u8>, i64) = db
        .query_row(
            "SELECT state, answer_status, answer_body, expires_ms FROM tasks",
            [],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)),
        )
        .expect("row");
    assert_eq!((state.as_str(), status, kept), ("succeeded", 201, body));
    assert_eq!(u64::try_from(expires).ok(), task.expires_ms);
}

#[test]
fn an_older_version_never_wins() {
    let db = database();
    let new = succeeded("k", NOW);
    apply(&db, &d1::flush(&new, None));
    for (epoch, n) in [
        (0, 99),
        (new.version.epoch, 0),
        (new.version.epoch - 1, new.version.n + 9),
    ] {
        let mut late = begun("k", NOW);
        late.version = Version { epoch, n };
        assert_eq!(apply(&db, &d1::flush(&late, None)), new.version);
        assert_eq!(
            count(&db, "SELECT count(*) FROM tasks WHERE state = 'succeeded'"),
            1
        );
    }
    // The same version twice changes nothing and is acknowledged all the same.
    assert_eq!(apply(&db, &d1::flush(&new, None)), new.version);
}

#[test]
fn a_tombstone_takes_the_payload_and_keeps_late_writes_out() {
    let db = database();
    let task = succeeded("k", NOW);
    apply(&db, &d1::flush(&task, Some(b"SECRET".to_vec())));
    let over = Version {
        n: task.version.n + 1,
        ..task.version
    };
    assert_eq!(apply(&db, &d1::tombstone(&task, over, NOW)), over);
    assert_eq!(
        apply(&db, &d1::flush(&task, Some(b"SECRET".to_vec()))),
        over
    );
    let left = count(
        &db,
        "SELECT count(*) FROM tasks WHERE key IS NULL AND answer_body IS NULL AND answer_headers IS NULL
         AND error_message IS NULL AND expires_ms IS NULL AND state = 'forgotten'",
    );
    assert_eq!(left, 1);
    // The next task of the same key is newer than the tombstone.
    let again = begun("k", NOW + 1);
    assert!(again.version > over);
    assert_eq!(apply(&db, &d1::flush(&again, None)), again.version);
}

#[test]
fn a_tombstone_replaces_a_row_that_was_never_flushed() {
    let db = database();
    let task = succeeded("k", NOW);
    let over = Version {
        n: task.version.n + 1,
        ..task.version
    };
    assert_eq!(apply(&db, &d1::tombstone(&task, over, NOW)), over);
    assert_eq!(apply(&db, &d1::flush(&task, None)), over);
    assert_eq!(
        count(&db, "SELECT count(*) FROM tasks WHERE state = 'forgotten'"),
        1
    );
}

#[test]
fn a_stub_carries_the_reason_and_no_payload() {
    let db = database();
    let failure =
        Failure::terminal("boom", "SECRET").with_answer(Answer::json(422, &serde_json::json!({})));
    let task = finished(begun("k", NOW), Verdict::Failed(failure), NOW + 1);
    assert_eq!(
        apply(&db, &d1::flush_stub(&task, "string or blob too big")),
        task.version
    );
    let left = count(
        &db,
        "SELECT count(*) FROM tasks WHERE stub_reason LIKE '%too big%' AND answer_body IS NULL
         AND error_message IS NULL AND error_code = 'boom' AND answer_status = 422",
    );
    assert_eq!(left, 1);
    assert!(d1::is_about_the_row(
        "D1_ERROR: string or blob too big: SQLITE_TOOBIG"
    ));
    assert!(!d1::is_about_the_row("D1_ERROR: Network connection lost."));
}

pub(crate) fn ids(db: &Connection, statement: &Statement) -> Vec<(u64, String)> {
    let values: Vec<Bound<'_>> = statement.values.iter().map(Bound).collect();
    let mut prepared = db.prepare(statement.sql).expect("statement");
    let rows = prepared.query_map(rusqlite::params_from_iter(values), |row| {
        Ok((
            row.get::<_, i64>("created_ms")?,
            row.get::<_, String>("task_id")?,
        ))
    });
    rows.expect("query")
        .map(|row| {
            row.map(|(at, id)| (u64::try_from(at).expect("positive"), id))
                .expect("row")
        })
        .collect()
}

#[test]
fn pages_of_equal_times_neither_skip_nor_double() {
    let db = database();
    for n in 0..25 {
        apply(&db, &d1::flush(&succeeded(&format!("k{n}"), NOW), None));
    }
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = ids(&db, &d1::list(before, 10, NOW));
        let Some((at, id)) = page.last().cloned() else {
            break;
        };
        before = onceward::types::TaskId::parse(&id).map(|id| (at, id));
        seen.extend(page.into_iter().map(|(_, id)| id));
        // New ones do not shift the pages that follow.
        apply(
            &db,
            &d1::flush(&succeeded(&format!("new{}", seen.len()), NOW + 1), None),
        );
    }
    let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
    assert_eq!((seen.len(), distinct.len()), (25, 25));
}

#[test]
fn the_list_shows_neither_tombstones_nor_what_has_expired() {
    let db = database();
    let dead = succeeded("dead", NOW);
    apply(&db, &d1::flush(&dead, None));
    let expires = dead.expires_ms.expect("final");
    assert_eq!(ids(&db, &d1::list(None, 10, expires - 1)).len(), 1);
    assert_eq!(ids(&db, &d1::list(None, 10, expires)).len(), 0);
    let over = Version {
        n: 99,
        ..dead.version
    };
    apply(&db, &d1::tombstone(&dead, over, NOW));
    assert_eq!(ids(&db, &d1::list(None, 10, NOW)).len(), 0);
}

#[test]
fn the_list_uses_its_index() {
    let db = database();
    let id = begun("k", NOW).id();
    let plan = crate::sql_jobs::plan(&db, &d1::list(Some((NOW, id)), 10, NOW));
    assert!(plan.contains("tasks_by_created"), "{plan}");
    assert!(!plan.contains("SCAN tasks"), "{plan}");
}

#[test]
fn the_outcome_of_a_step_that_was_tried_again_replaces_its_failure() {
    let (db, task) = (database(), begun("again", NOW));
    let record = |fence: u64, outcome: Outcome| StepRecord {
        fence,
        ..StepRecord::new(StepId::new("", "s", 0), outcome)
    };
    let failed = record(1, Outcome::Failed(Failure::retryable("busy", "no")));
    let done = record(2, Outcome::Value("7".into()));
    assert_eq!(run(&db, &d1::checkpoint(&task, &failed)), 1);
    assert_eq!(run(&db, &d1::checkpoint(&task, &done)), 1);
    // A flush that comes late changes nothing.
    assert_eq!(run(&db, &d1::checkpoint(&task, &failed)), 0);
    assert_eq!(
        count(&db, "SELECT count(*) FROM checkpoints WHERE failed = 0"),
        1
    );
}

/// The rows of the list, as D1 gives them to the edge.
fn rows(db: &Connection) -> Vec<TaskRow> {
    let statement = d1::list(None, 100, NOW);
    let values: Vec<Bound<'_>> = statement.values.iter().map(Bound).collect();
    let mut prepared = db.prepare(statement.sql).expect("statement");
    let names: Vec<String> = prepared.column_names().map(ToString::to_string).collect();
    let rows = prepared.query_map(rusqlite::params_from_iter(values), |row| {
        let mut json = serde_json::Map::new();
        for (at, name) in names.iter().enumerate() {
            let value = match row.get::<_, Sql>(at)? {
                Sql::Null => serde_json::Value::Null,
                #[allow(clippy::cast_precision_loss)]
                Sql::Integer(n) => serde_json::json!(n as f64),
                Sql::Text(text) => text.into(),
                other => panic!("{other:?}"),
            };
            json.insert(name.clone(), value);
        }
        Ok(serde_json::from_value(json.into()).expect("a row"))
    });
    let rows = rows.expect("query");
    rows.map(|row| row.expect("row")).collect()
}

#[test]
fn the_list_shows_what_the_task_itself_shows() {
    let late = WaitFor::Sleep {
        due_ms: NOW + limits::MAX_SLEEP_MS,
    };
    let signal = |due_ms| WaitFor::Signal {
        name: "approval".into(),
        due_ms,
    };
    let retryable = || Failure {
        step: Some(StepId::new("left", "charge", 1)),
        ..Failure::retryable("x", "y")
    };
    let child = WaitFor::Child {
        task_id: begun("other", NOW).id(),
        due_ms: NOW + 9_000,
    };
    let mut pending_then_undone = undoing("undone", false);
    pending_then_undone.duplicates = 3;
    let tasks = vec![
        ("running", begun("running", NOW)),
        ("pending", begun_by("pending", false, NOW)),
        ("suspended", waiting("ready", Vec::new(), None)),
        ("suspended", waiting("sleep", vec![late], None)),
        ("suspended", waiting("signal", vec![signal(None)], None)),
        (
            "suspended",
            waiting("timed", vec![signal(Some(NOW + 60_000))], None),
        ),
        (
            "suspended",
            waiting(
                "retry",
                vec![WaitFor::Retry {
                    due_ms: NOW + 60_000,
                }],
                None,
            ),
        ),
        ("suspended", waiting("child", vec![child], None)),
        (
            "suspended",
            finished(begun("backoff", NOW), Verdict::Failed(retryable()), NOW + 1),
        ),
        ("compensating", undoing("undoing", true)),
        ("succeeded", succeeded("succeeded", NOW)),
        ("succeeded", pending_then_undone),
        (
            "failed",
            finished(
                begun("failed", NOW),
                Verdict::Failed(Failure::terminal("x", "y")),
                NOW + 1,
            ),
        ),
        ("cancelled", cancelled("cancelled", NOW)),
    ];
    for (state, task) in tasks {
        let db = database();
        apply(&db, &d1::flush(&task, None));
        let rows = rows(&db);
        let [row] = rows.as_slice() else {
            panic!("{state}: {rows:?}")
        };
        let listed = row.clone().document().expect("a document");
        let own = TaskDocument::of(&Summary::of(&task));
        assert_eq!(listed.state.as_str(), state);
        assert_eq!(listed, own, "{state}");
    }
}

#[test]
fn rows_of_the_last_release_are_read() {
    let db = database();
    let task = waiting("k", Vec::new(), None);
    apply(&db, &d1::flush(&task, None));
    for (word, want) in [("ready", "next_slice"), ("backing_off", "backoff")] {
        db.execute("UPDATE tasks SET waiting = ?1", [word])
            .expect("update");
        let document = rows(&db)[0].clone().document().expect("a document");
        assert_eq!(document.waiting.expect("waits").what.as_str(), want);
    }
    db.execute("UPDATE tasks SET state = 'from_the_future'", [])
        .expect("update");
    assert_eq!(rows(&db)[0].clone().document(), None);
}
