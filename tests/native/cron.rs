//! The scheduled jobs over several databases, on a platform of which one database is dead, slow or full.

use crate::sql::{NOW, database};
use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, pending};
use futures::task::noop_waker;
use onceward::config::Endpoints;
use onceward::flow::kv::{KvCall, KvOp, KvType, KvWhen, Stored, decide};
use onceward::function::flow::{digest, prepare};
use onceward::function::{FetchError, OutRequest, OutResponse};
use onceward::http::flows::{POINTERS, TEXTS, TriggerLine};
use onceward::http::object_call::{Ask, Call, Poked, Reply, Told};
use onceward::limits;
use onceward::protocol::{self, Begin, Event, Lost, Moment};
use onceward::runtime::{
    App, Broken, Continuation, Edge, Later, Level, Platform, Rows, Tally, tick,
};
use onceward::store::d1::{Statement, put_key};
use onceward::types::{Database, Policy, TaskId, Token};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// How one database behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Well,
    /// It answers after this long.
    Slow(u64),
    /// It never answers.
    Dead,
    Broken,
}

/// A clock that goes on when it is told to, and wakes who waits for it.
#[derive(Default)]
pub struct Clock {
    pub ms: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
}

impl Clock {
    fn go_on(&self) {
        self.ms.set(self.ms.get() + 1);
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        waiting.into_iter().for_each(Waker::wake);
    }
}

pub struct Town {
    pub clock: Rc<Clock>,
    pub databases: Vec<(Connection, Mood)>,
    /// What objects answer; those that are not named have nothing.
    objects: BTreeMap<String, Told>,
    lost: Option<Lost>,
    asked: RefCell<Vec<String>>,
    /// Statements that each database got.
    sent: RefCell<Vec<u32>>,
    pub log: RefCell<Vec<Value>>,
    tally: Tally,
    /// Objects of keys, by the id of the object.
    keys: RefCell<BTreeMap<String, Stored>>,
    /// Tasks that were begun, each time.
    pub begun: RefCell<Vec<Begin>>,
    /// Whether no object takes a task.
    pub closed: Cell<bool>,
}

fn sleep(clock: &Rc<Clock>, ms: u64) -> LocalBoxFuture<'static, ()> {
    let (clock, until) = (Rc::clone(clock), clock.ms.get() + ms);
    let over = move |context: &mut Context<'_>| {
        if clock.ms.get() >= until {
            return Poll::Ready(());
        }
        clock.waiting.borrow_mut().push(context.waker().clone());
        Poll::Pending
    };
    poll_fn(over).boxed_local()
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Integer(n) => json!(n),
        ValueRef::Real(n) => json!(n),
        ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
        ValueRef::Null | ValueRef::Blob(_) => Value::Null,
    }
}

fn one(db: &Connection, statement: &Statement) -> Result<Rows, String> {
    let mut prepared = db.prepare(statement.sql).map_err(|e| e.to_string())?;
    let names: Vec<String> = prepared.column_names().map(str::to_owned).collect();
    let values = params_from_iter(statement.values.iter().map(crate::sql::Bound));
    let mut out = Rows::default();
    if names.is_empty() {
        let changes = prepared.execute(values).map_err(|e| e.to_string())?;
        out.changes = changes as u64;
        return Ok(out);
    }
    let mut found = prepared.query(values).map_err(|e| e.to_string())?;
    while let Some(row) = found.next().map_err(|e| e.to_string())? {
        let cells = names.iter().enumerate();
        let cells = cells.map(|(at, name)| (name.clone(), cell(row.get_ref(at).expect("a cell"))));
        out.rows.push(cells.collect::<Map<String, Value>>());
    }
    Ok(out)
}

impl Town {
    /// What an object says to anything but a poke.
    fn at_object(&self, call: &Call) -> Told {
        match &call.ask {
            Ask::Kv(kv) => {
                let mut keys = self.keys.borrow_mut();
                let id = call.task_id.to_string();
                let (stored, reply) = decide(keys.get(&id), kv, self.clock.ms.get());
                keys.extend(stored.map(|stored| (id, stored)));
                Told::Kv { reply }
            }
            Ask::Begin { .. } if self.closed.get() => Told::Unavailable("closed".into()),
            Ask::Begin { begin, .. } => {
                self.begun.borrow_mut().push((**begin).clone());
                let moment = Moment::at(self.clock.ms.get());
                let out = protocol::handle(None, Event::Begin(begin.clone()), &moment);
                match out.reply {
                    protocol::Reply::Stands(standing) => Told::Stands(Box::new(standing)),
                    other => Told::Unavailable(format!("{other:?}")),
                }
            }
            _ => Told::NotFound,
        }
    }

    /// Has a flow deployed: its objects know it, and this database.
    pub fn deploy(&self, database: usize, namespace: &str, id: &str, text: &str) {
        let flow = prepare(text).expect("a flow");
        let pointer = json!({
            "revisions": [{ "revision": 1, "digest": digest(text), "at_ms": 1, "by": "", "source": "api" }],
            "current": 1,
            "triggers": TriggerLine::of(&flow),
        });
        let name = format!("{namespace}/{id}");
        for (space, key, value) in [
            (TEXTS, digest(text), json!(text)),
            (POINTERS, name, pointer),
        ] {
            let call = KvCall {
                namespace: space.to_owned(),
                key: key.clone(),
                op: KvOp::Set {
                    value,
                    kind: KvType::Json,
                    ttl_ms: None,
                    when: KvWhen::Always,
                },
                mark: String::new(),
            };
            let (stored, _) = decide(None, &call, NOW);
            let stored = stored.expect("set");
            if space == POINTERS {
                let [row, _] = &put_key(&stored)[..] else {
                    panic!("two statements");
                };
                one(&self.databases[database].0, row).expect("a row");
            }
            let object = TaskId::of_key(space, &key).to_string();
            self.keys.borrow_mut().insert(object, stored);
        }
    }
}

impl Platform for Town {
    fn now_ms(&self) -> u64 {
        self.clock.ms.get()
    }
    fn sleep(&self, ms: u64) -> Later<()> {
        sleep(&self.clock, ms)
    }
    fn endpoints(&self) -> Rc<Endpoints> {
        Rc::default()
    }
    fn tally(&self) -> &Tally {
        &self.tally
    }
    fn point(&self, _texts: &[&str], _numbers: &[f64]) {}
    fn token(&self) -> Token {
        Token::new("token")
    }
    fn jitter(&self) -> u32 {
        0
    }
    fn send(&self, call: &Call) -> Later<Result<Reply, Broken>> {
        let id = call.task_id.to_string();
        let told = self.objects.get(&id).cloned().unwrap_or(Told::NotFound);
        self.asked.borrow_mut().push(id);
        let reply = match (&told, self.lost) {
            _ if !matches!(call.ask, Ask::Poke) => Reply::of(self.at_object(call)),
            (Told::Done, Some(lost)) => Reply::poked(&Poked {
                lost: Some(lost),
                healed: true,
                acknowledged: None,
            }),
            _ => Reply::of(told),
        };
        let wait = sleep(&self.clock, 10);
        async move {
            wait.await;
            Ok(reply)
        }
        .boxed_local()
    }
    fn go_on(&self, _: Continuation) -> Later<Result<u16, String>> {
        pending().boxed_local()
    }
    fn databases(&self) -> u16 {
        u16::try_from(self.databases.len()).expect("few")
    }
    fn d1(&self, database: Database, all: Vec<Statement>) -> Later<Result<Vec<Rows>, String>> {
        let at = usize::from(database.0);
        self.sent.borrow_mut()[at] += 1;
        let (db, mood) = &self.databases[at];
        let results = || all.iter().map(|statement| one(db, statement)).collect();
        let wait = |ms| sleep(&self.clock, ms);
        match mood {
            Mood::Dead => pending().boxed_local(),
            Mood::Broken => async { Err("D1_ERROR: broken".into()) }.boxed_local(),
            Mood::Well | Mood::Slow(_) => {
                let wait = wait(if let Mood::Slow(ms) = mood { *ms } else { 5 });
                let results = results();
                async move {
                    wait.await;
                    results
                }
                .boxed_local()
            }
        }
    }
    fn fetch(&self, _: OutRequest) -> Later<Result<OutResponse, FetchError>> {
        pending().boxed_local()
    }
    fn wait_until(&self, _: Later<()>) {}
    fn secret(&self, _: &str) -> Option<String> {
        None
    }
    fn admits(&self, _: &str, _: &str) -> Later<Result<bool, String>> {
        pending().boxed_local()
    }
    fn log(&self, _: Level, event: &str, mut fields: Value) {
        fields["event"] = event.into();
        self.log.borrow_mut().push(fields);
    }
    fn cut_ms(&self, _: &Policy) -> Option<u64> {
        None
    }
    fn count(&self, _: &'static str, _: u64) {}
    #[cfg(feature = "lab")]
    fn faults(&self, _: Option<&Value>) -> Result<Value, Vec<String>> {
        Ok(Value::Null)
    }
    #[cfg(feature = "lab")]
    fn counters(&self) -> Value {
        Value::Null
    }
}

pub fn town(moods: &[Mood]) -> Town {
    Town {
        clock: Rc::new(Clock {
            ms: Cell::new(NOW),
            ..Clock::default()
        }),
        databases: moods.iter().map(|mood| (database(), *mood)).collect(),
        objects: BTreeMap::new(),
        lost: None,
        asked: RefCell::default(),
        sent: RefCell::new(vec![0; moods.len()]),
        log: RefCell::default(),
        tally: Tally::default(),
        keys: RefCell::default(),
        begun: RefCell::default(),
        closed: Cell::new(false),
    }
}

/// One run to its end, time going on whenever everybody waits. Its line of the log, and how long it took.
fn run(town: &Rc<Town>) -> (Value, u64) {
    run_with(town, None)
}

/// The same, with flows.
pub fn run_with(town: &Rc<Town>, app: Option<&App>) -> (Value, u64) {
    let edge: Edge = Rc::clone(town) as Edge;
    let began = town.clock.ms.get();
    let mut ticking = pin!(tick(&edge, app));
    let waker = noop_waker();
    while ticking
        .as_mut()
        .poll(&mut Context::from_waker(&waker))
        .is_pending()
    {
        town.clock.go_on();
        assert!(town.clock.ms.get() < began + 120_000, "it never ends");
    }
    let log = town.log.borrow();
    let line = log.iter().rev().find(|line| line["event"] == "cron");
    let line = line.cloned().expect("a line");
    (line, town.clock.ms.get() - began)
}

/// Rows that expired days ago, or open ones whose time is far ahead.
fn fill(db: &Connection, rows: u32, state: &str) -> Vec<String> {
    let mut ids = Vec::new();
    db.execute_batch("BEGIN").expect("a transaction");
    for n in 0..rows {
        let id = uuid::Uuid::new_v4().to_string();
        let over = state == "succeeded";
        let due_ms = if over {
            NOW - 86_400_000
        } else {
            NOW + 86_400_000
        };
        let sql = "INSERT INTO tasks (task_id, epoch, n, generation, state, kind, name, key, function, created_ms, updated_ms, expires_ms, due_ms)
            VALUES (?1, 1, 2, 1, ?2, 'source', 'lab', ?1, 'lab', ?3, ?3, ?4, ?5)";
        let expires = over.then_some(due_ms.cast_signed());
        let at_ms = NOW.cast_signed() + i64::from(n);
        db.execute(
            sql,
            rusqlite::params![id, state, at_ms, expires, due_ms.cast_signed()],
        )
        .expect("a row");
        ids.push(id);
    }
    db.execute_batch("COMMIT").expect("a commit");
    ids
}

fn left(town: &Town, at: usize) -> i64 {
    crate::sql::count(&town.databases[at].0, "SELECT count(*) FROM tasks")
}

#[test]
fn a_dead_a_broken_and_a_slow_database_do_not_keep_others_from_being_cleaned() {
    let moods = [
        Mood::Dead,
        Mood::Well,
        Mood::Broken,
        Mood::Slow(3_000),
        Mood::Dead,
        Mood::Dead,
        Mood::Well,
    ];
    let town = town(&moods);
    for at in [1, 3, 6] {
        fill(&town.databases[at].0, 3_500, "succeeded");
    }
    let town = Rc::new(town);
    let (line, took_ms) = run(&town);
    assert_eq!((left(&town, 1), left(&town, 6)), (0, 0), "{line}");
    assert!(left(&town, 3) < 3_500, "the slow one got its turns: {line}");
    let errors = line["errors"].as_object().expect("errors");
    let names: BTreeSet<&str> = errors.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        BTreeSet::from(["DB", "DB_2", "DB_4", "DB_5"]),
        "{line}"
    );
    assert!(
        took_ms <= limits::CRON_BUDGET_MS + 2 * limits::CRON_D1_MS,
        "{took_ms}"
    );
    let sent = town.sent.borrow();
    assert_eq!(
        (sent[0], sent[2]),
        (1, 1),
        "nobody asks them twice in one run"
    );
    assert_eq!(line["databases"], 7, "{line}");
    drop(sent);
    // What one run has not finished the next ones do.
    while left(&town, 3) > 0 {
        run(&town);
    }
}

#[test]
fn all_dead_databases_are_given_up_in_time() {
    let town = Rc::new(town(&[Mood::Dead; 9]));
    let (line, took_ms) = run(&town);
    assert!(took_ms <= limits::CRON_BUDGET_MS, "{took_ms}");
    assert!(line["errors"].is_object(), "{line}");
}

#[test]
fn the_sweep_shares_its_objects_among_databases_and_counts_what_they_say() {
    let mut town = town(&[Mood::Well, Mood::Well, Mood::Well]);
    let mut all = Vec::new();
    for (at, rows) in [(0, 100), (1, 30), (2, 0)] {
        let ids = fill(&town.databases[at].0, rows, "suspended");
        for id in &ids[..ids.len() / 2] {
            town.objects.insert(id.clone(), Told::Done);
        }
        all.extend(ids);
    }
    town.lost = Some(Lost::Ticket);
    let town = Rc::new(town);
    let (first, _) = run(&town);
    assert_eq!(first["sweep"]["asked"], 66 + 30, "{first}");
    assert_eq!(
        first["sweep"]["rounds"], 2,
        "those that are at their end: {first}"
    );
    let (second, _) = run(&town);
    assert_eq!(second["sweep"]["asked"], 34 + 30, "{second}");
    let asked = town.asked.borrow();
    let seen = |id: &String| asked.iter().any(|asked| asked == id);
    assert!(all.iter().all(seen), "everyone was asked within a round");
    assert!(all.iter().all(|id| TaskId::parse(id).is_some()));
    let count = |name: &str| {
        first[name]["ticket"].as_u64().unwrap_or(0) + second[name]["ticket"].as_u64().unwrap_or(0)
    };
    assert_eq!(
        (count("lost"), count("healed")),
        (50 + 15 + 15, 50 + 15 + 15)
    );
    assert_eq!(first["sweep"]["orphans"], 16 + 15, "{first}");
    assert_eq!(
        first["orphans"].as_array().map(Vec::len),
        Some(20),
        "ten of each are named: {first}"
    );
}
