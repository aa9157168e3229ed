//! A platform that has databases, a clock that moves when somebody sleeps, and one task: the list is asked for over
//! HTTP, and read from real `SQLite`.

use crate::sql::{Bound, database};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;
use onceward::config::{Builder, Endpoints};
use onceward::function::{FetchError, Function, OutRequest, OutResponse};
use onceward::http::object_call::{Ask, Call, Reply, Told};
use onceward::protocol::{Standing, Summary, Task};
use onceward::runtime::{
    App, Body, BodyFault, Broken, Continuation, Edge, Exchange, Later, Level, Platform, Rows,
    Tally, serve,
};
use onceward::store::d1::Statement;
use onceward::types::{Answer, Database, Policy, Token};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub const NOW: u64 = 1_795_989_751_097;

pub struct Databases {
    pub all: Vec<Connection>,
    /// One that fails.
    pub out: Cell<Option<u16>>,
    /// One that never answers.
    pub stalls: Cell<Option<u16>>,
    /// Statements so far.
    pub asked: Cell<usize>,
    pub lines: RefCell<Vec<String>>,
    tally: Tally,
    /// How long has been slept.
    pub slept_ms: Rc<Cell<u64>>,
    /// What an object has to say; `Err`: it can't be reached.
    pub task: RefCell<Result<Option<Task>, ()>>,
    /// Messages to it.
    pub looks: Cell<usize>,
    stream: RefCell<Option<LocalBoxStream<'static, Vec<u8>>>>,
}

/// Shared by the test and the edge.
pub struct World(pub Rc<Databases>);

impl World {
    pub fn of(databases: usize) -> Self {
        Self(Rc::new(Databases {
            all: (0..databases).map(|_| database()).collect(),
            out: Cell::new(None),
            stalls: Cell::new(None),
            asked: Cell::new(0),
            lines: RefCell::default(),
            tally: Tally::default(),
            slept_ms: Rc::default(),
            task: RefCell::new(Ok(None)),
            looks: Cell::new(0),
            stream: RefCell::default(),
        }))
    }

    /// The answer to a GET.
    pub fn get(&self, target: &str) -> Answer {
        self.ask(target, &[])
    }

    /// The stream that a GET begins; it has to be read before the next one.
    pub fn stream(
        &self,
        target: &str,
        fields: &[(&str, &str)],
    ) -> LocalBoxStream<'static, Vec<u8>> {
        assert_eq!(self.ask(target, fields).status, 200);
        self.0.stream.take().expect("a stream")
    }

    /// The answer to a GET with these fields.
    pub fn ask(&self, target: &str, fields: &[(&str, &str)]) -> Answer {
        self.request("GET", target, fields)
    }

    /// The answer to a request without a body.
    pub fn request(&self, method: &str, target: &str, fields: &[(&str, &str)]) -> Answer {
        let edge: Edge = Rc::new(Self(Rc::clone(&self.0)));
        let exchange = Exchange {
            method: method.into(),
            path: target.split('?').next().unwrap_or_default().into(),
            target: target.into(),
            headers: fields
                .iter()
                .copied()
                .chain([("authorization", "Bearer t")])
                .collect(),
            inside: false,
            started_ms: edge.now_ms(),
        };
        let mut body = NoBody(Rc::clone(&self.0));
        let answer = serve(&edge, &exchange, &mut body, &app()).now_or_never();
        answer.expect("nothing here takes time")
    }

    /// The document of a GET that works.
    pub fn json(&self, target: &str) -> Value {
        let answer = self.get(target);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 200, "{target}: {text}");
        serde_json::from_str(&text).expect("JSON")
    }
}

fn app() -> Result<App, Vec<onceward::config::ConfigProblem>> {
    Builder::new()
        .function(Function::new(
            "f",
            |_ctx: onceward::function::Ctx, (): ()| async {
                Ok::<_, onceward::function::Failure>(())
            },
        ))
        .build()
}

struct NoBody(Rc<Databases>);

impl Body for NoBody {
    fn read(&mut self, _limit: usize) -> LocalBoxFuture<'_, Result<Vec<u8>, BodyFault>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn pass(&mut self, _: OutRequest) -> LocalBoxFuture<'_, Result<OutResponse, FetchError>> {
        unreachable!("nothing is sent on")
    }

    fn stream(&mut self, bytes: LocalBoxStream<'static, Vec<u8>>) {
        self.0.stream.replace(Some(bytes));
    }
}

fn rows(db: &Connection, statement: &Statement) -> Result<Rows, String> {
    let mut prepared = db.prepare(statement.sql).map_err(|e| e.to_string())?;
    let names: Vec<String> = prepared.column_names().map(str::to_owned).collect();
    let values = rusqlite::params_from_iter(statement.values.iter().map(Bound));
    let read = prepared.query_map(values, |row| {
        let mut json = Map::new();
        for (at, name) in names.iter().enumerate() {
            let value = match row.get_ref(at)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(n) => n.into(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
                other => panic!("{other:?}"),
            };
            json.insert(name.clone(), value);
        }
        Ok(json)
    });
    let rows: Result<Vec<_>, _> = read.map_err(|e| e.to_string())?.collect();
    Ok(Rows {
        rows: rows.map_err(|e| e.to_string())?,
        changes: 0,
        written: 0,
    })
}

impl Platform for World {
    fn now_ms(&self) -> u64 {
        NOW + self.0.slept_ms.get()
    }

    fn sleep(&self, ms: u64) -> Later<()> {
        let slept = Rc::clone(&self.0.slept_ms);
        Box::pin(async move { slept.set(slept.get() + ms) })
    }

    fn endpoints(&self) -> Rc<Endpoints> {
        Rc::default()
    }

    fn tally(&self) -> &Tally {
        &self.0.tally
    }

    fn point(&self, _texts: &[&str], _numbers: &[f64]) {}

    fn databases(&self) -> u16 {
        u16::try_from(self.0.all.len()).expect("few")
    }

    fn d1(&self, database: Database, wanted: Vec<Statement>) -> Later<Result<Vec<Rows>, String>> {
        self.0.asked.set(self.0.asked.get() + wanted.len());
        if self.0.out.get() == Some(database.0) {
            return Box::pin(async { Err("D1_ERROR: SEC-1".to_owned()) });
        }
        if self.0.stalls.get() == Some(database.0) {
            return Box::pin(std::future::pending());
        }
        let db = &self.0.all[usize::from(database.0)];
        let results = wanted.iter().map(|one| rows(db, one)).collect();
        Box::pin(async { results })
    }

    fn secret(&self, _name: &str) -> Option<String> {
        Some("t".into())
    }

    fn log(&self, _level: Level, event: &str, fields: Value) {
        let line = json!({ "event": event, "fields": fields });
        self.0.lines.borrow_mut().push(line.to_string());
    }

    fn token(&self) -> Token {
        Token::new("t")
    }

    fn jitter(&self) -> u32 {
        0
    }

    fn send(&self, call: &Call) -> Later<Result<Reply, Broken>> {
        let wait_ms = match call.ask {
            Ask::Look { wait_ms } => wait_ms,
            Ask::Journal { show: true, .. } => 0,
            _ => unreachable!("{call:?}"),
        };
        self.0.looks.set(self.0.looks.get() + 1);
        let told = match &*self.0.task.borrow() {
            Ok(Some(task)) => {
                let summary = Summary::of(task);
                // It waits for the end of a task that moves.
                if summary.is_moving(self.now_ms()) {
                    self.0.slept_ms.set(self.0.slept_ms.get() + wait_ms);
                }
                let told = match call.ask {
                    Ask::Look { .. } => Told::Stands,
                    _ => Told::Ended,
                };
                told(Box::new(Standing {
                    summary,
                    answer: None,
                    began: false,
                }))
            }
            Ok(None) => Told::NotFound,
            Err(()) => return Box::pin(async { Err(Broken::Overloaded) }),
        };
        Box::pin(async { Ok(Reply::of(told)) })
    }

    fn go_on(&self, _: Continuation) -> Later<Result<u16, String>> {
        unreachable!("nothing goes on")
    }

    fn fetch(&self, _: OutRequest) -> Later<Result<OutResponse, FetchError>> {
        unreachable!("nothing is fetched")
    }

    fn wait_until(&self, _work: Later<()>) {}

    fn admits(&self, _limiter: &str, _key: &str) -> Later<Result<bool, String>> {
        Box::pin(async { Ok(true) })
    }

    fn cut_ms(&self, _policy: &Policy) -> Option<u64> {
        None
    }

    fn count(&self, _what: &'static str, _by: u64) {}

    #[cfg(feature = "lab")]
    fn faults(&self, _wish: Option<&Value>) -> Result<Value, Vec<String>> {
        Ok(Value::Null)
    }

    #[cfg(feature = "lab")]
    fn counters(&self) -> Value {
        Value::Null
    }
}
