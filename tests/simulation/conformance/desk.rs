//! A client of a deployment that works.

use crate::chance::Fate;
use crate::exec::Event;
use crate::workers::{self, Request as Sent};
use crate::world::{TOKEN, World};
use onceward::types::{Answer, Headers};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Longest that an answer is waited for.
const PATIENCE_MS: u64 = 60_000;
/// How finely time passes meanwhile.
const TICK_MS: u64 = 5;

pub struct Desk {
    pub world: Rc<World>,
}

/// A request that has been sent.
pub struct Pending(Rc<RefCell<Option<Answer>>>);

/// A request, built up.
#[derive(Clone)]
pub struct Request(Sent);

pub fn to(method: &'static str, target: &str) -> Request {
    Request(Sent {
        method,
        target: target.to_owned(),
        headers: Headers::default(),
        body: Vec::new(),
    })
}

pub fn post(target: &str) -> Request {
    to("POST", target)
}

pub fn get(target: &str) -> Request {
    to("GET", target)
}

/// A program for the lab function under this name.
pub fn call(function: &str, key: &str, program: &Value) -> Request {
    post(&format!("/v1/functions/{function}"))
        .token()
        .field("Idempotency-Key", key)
        .json(program)
}

/// The same as a webhook.
pub fn hook(key: &str, program: &Value) -> Request {
    post("/hooks/lab")
        .field("Idempotency-Key", key)
        .json(program)
}

impl Request {
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.0.headers.push(name, value);
        self
    }

    pub fn token(self) -> Self {
        self.field("Authorization", &format!("Bearer {TOKEN}"))
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.0.body = body.into();
        self
    }

    pub fn json(self, body: &Value) -> Self {
        self.field("Content-Type", "application/json")
            .body(body.to_string())
    }
}

impl Desk {
    pub fn new() -> Self {
        let fate = Fate::new(1, 0, BTreeSet::new());
        fate.calms();
        Self {
            world: World::new(fate, None),
        }
    }

    /// Sends a request, and waits for nothing.
    pub fn begins(&self, request: &Request) -> Pending {
        let slot: Rc<RefCell<Option<Answer>>> = Rc::default();
        let (world, into) = (Rc::clone(&self.world), Rc::clone(&slot));
        let sent = request.0.clone();
        let job = async move {
            let answer = workers::request(&world, "desk", sent, None).await;
            *into.borrow_mut() = answer;
        };
        let network = &self.world.network;
        self.world
            .exec
            .spawn(network, Event::first(), Box::pin(job));
        Pending(slot)
    }

    pub fn passes(&self, ms: u64) {
        self.world.exec.run_until(self.world.now_ms() + ms);
    }

    /// Waits for the answer.
    #[track_caller]
    pub fn waits_for(&self, pending: &Pending) -> Answer {
        let until = self.world.now_ms() + PATIENCE_MS;
        loop {
            if let Some(answer) = pending.0.borrow_mut().take() {
                return answer;
            }
            assert!(self.world.now_ms() < until, "no answer in a minute");
            self.passes(TICK_MS);
        }
    }

    /// Sends a request, and waits for the answer.
    #[track_caller]
    pub fn send(&self, request: &Request) -> Answer {
        let pending = self.begins(request);
        self.waits_for(&pending)
    }

    /// The same, and how long it took.
    #[track_caller]
    pub fn timed(&self, request: &Request) -> (Answer, u64) {
        let since = self.world.now_ms();
        let answer = self.send(request);
        (answer, self.world.now_ms() - since)
    }

    pub fn messages(&self) -> u64 {
        self.world.counts.messages.get()
    }
}

/// What tests ask of an answer.
pub trait Reads {
    fn field(&self, name: &str) -> Option<&str>;
    fn document(&self) -> Value;
    fn expect(self, status: u16) -> Self;
    fn problem(self, status: u16, code: &str) -> Self;
    fn is_replay(&self) -> bool;
    fn task(&self) -> String;
    fn has(&self, field: &str, word: &str) -> bool;
}

impl Reads for Answer {
    fn field(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    fn document(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    #[track_caller]
    fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", shown(&self));
        self
    }

    #[track_caller]
    fn problem(self, status: u16, code: &str) -> Self {
        let document = self.document();
        let got = (self.status, &document["status"], &document["code"]);
        assert_eq!(
            got,
            (status, &status.into(), &code.into()),
            "{}",
            shown(&self)
        );
        let kind = self.field("content-type");
        assert_eq!(kind, Some("application/problem+json"));
        self
    }

    fn is_replay(&self) -> bool {
        self.field("idempotent-replayed") == Some("true")
    }

    #[track_caller]
    fn task(&self) -> String {
        let id = self.field("onceward-task-id");
        id.unwrap_or_else(|| panic!("no task: {}", shown(self)))
            .to_owned()
    }

    /// Whether a field that is a list holds this word.
    fn has(&self, field: &str, word: &str) -> bool {
        let mut words = self.field(field).unwrap_or_default().split(',');
        words.any(|w| w.trim().eq_ignore_ascii_case(word))
    }
}

pub fn shown(answer: &Answer) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    format!("{} {:?} {body}", answer.status, answer.headers)
}
