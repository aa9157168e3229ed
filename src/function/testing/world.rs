//! What the slices of one bench share: clock, objects, the outside, and the faults to come.

use super::clock::Clock;
use super::object::{After, Object};
use crate::function::{FetchError, Function, OutRequest, OutResponse};
use crate::protocol::{Event, Fresh, Moment, Reply};
use crate::types::{Headers, TaskId, Token};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a slice does to the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Claims with a ticket.
    Claim,
    /// Sends a request out.
    Fetch,
    /// Has outcomes recorded.
    Record,
    /// Hands the task on.
    Suspend,
    /// Reports the end of the attempt.
    Finish,
}

/// One action of a run: the `nth` of its kind (1, 2, …), counted over all slices of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) action: Action,
    pub(super) nth: usize,
}

impl Point {
    pub(super) fn new(action: Action, nth: usize) -> Self {
        Self { action, nth }
    }
}

/// What goes wrong at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The slice dies before anything leaves it.
    CrashBefore,
    /// It has its effect, and the slice dies before it hears of it.
    CrashAfter,
    /// It has its effect, and the reply is lost.
    LoseReply,
    /// It arrives twice.
    Double,
}

/// A request that reached the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at_ms: u64,
    /// When the response was there, or would have been for somebody who still waited.
    pub answered_ms: u64,
    /// Which request with this derived key it is: 1, 2, …
    pub nth: usize,
    /// As it was sent.
    pub request: OutRequest,
}

impl Sent {
    /// Its derived key: the value of its `Idempotency-Key`.
    pub fn key(&self) -> &str {
        self.request.headers.get("idempotency-key").unwrap_or("")
    }
}

/// What the outside does with a request.
#[derive(Clone, Debug)]
pub struct Reaction {
    pub(super) after_ms: u64,
    pub(super) result: Result<OutResponse, FetchError>,
}

impl Reaction {
    /// A response without a body.
    pub fn status(status: u16) -> Self {
        Self::bytes(status, "text/plain", b"")
    }

    /// A JSON response; the text is sent as it is.
    pub fn json(status: u16, text: &str) -> Self {
        Self::bytes(status, "application/json", text.as_bytes())
    }

    /// A response of this content type.
    pub fn bytes(status: u16, content_type: &str, body: &[u8]) -> Self {
        let mut headers = Headers::default();
        headers.push("content-type", content_type);
        Self {
            after_ms: 0,
            result: Ok(OutResponse {
                status,
                headers,
                body: body.to_vec(),
            }),
        }
    }

    /// No response. The work may have been done.
    pub fn error(error: FetchError) -> Self {
        Self {
            after_ms: 0,
            result: Err(error),
        }
    }

    /// Comes after a while.
    #[must_use]
    pub fn after_ms(mut self, ms: u64) -> Self {
        self.after_ms = ms;
        self
    }
}

type Outside = dyn Fn(&Sent) -> Reaction;

/// A slice that is to be started.
pub(super) enum Start {
    /// By the delivery that was given the claim.
    Claimed(TaskId, Box<crate::protocol::Claimed>),
    /// With a ticket.
    Ticket(TaskId, Token),
}

pub(super) struct World {
    pub(super) clock: Rc<Clock>,
    pub(super) function: Function,
    pub(super) outside: RefCell<Rc<Outside>>,
    pub(super) objects: RefCell<BTreeMap<TaskId, Object>>,
    pub(super) sent: RefCell<Vec<Sent>>,
    /// Actions so far, in order.
    pub(super) log: RefCell<Vec<Action>>,
    faults: RefCell<Vec<(Point, Fault)>>,
    pub(super) starts: RefCell<Vec<Start>>,
    drawn: Cell<u64>,
    /// Rules that were broken.
    pub(super) broken: RefCell<Vec<String>>,
}

impl World {
    pub(super) fn new(function: Function) -> Rc<Self> {
        Rc::new(Self {
            // 2026-11-29, so that times look like times.
            clock: Clock::new(1_796_000_000_000),
            function,
            outside: RefCell::new(Rc::new(|_| Reaction::status(200))),
            objects: RefCell::default(),
            sent: RefCell::default(),
            log: RefCell::default(),
            faults: RefCell::default(),
            starts: RefCell::default(),
            drawn: Cell::new(0),
            broken: RefCell::default(),
        })
    }

    /// A value that was never drawn before.
    pub(super) fn token(&self) -> Token {
        self.drawn.set(self.drawn.get() + 1);
        Token::new(format!("drawn-{}", self.drawn.get()))
    }

    fn moment(&self) -> Moment {
        Moment {
            ms: self.clock.now_ms(),
            fresh: Fresh {
                lease: self.token(),
                ticket: self.token(),
                jitter: 1_000,
            },
            duplicates: 0,
            undoable: false,
        }
    }

    pub(super) fn plan(&self, point: Point, fault: Fault) {
        self.faults.borrow_mut().push((point, fault));
    }

    /// Counts an action, and says what is to go wrong with it.
    pub(super) fn enter(&self, action: Action) -> Option<Fault> {
        let mut log = self.log.borrow_mut();
        log.push(action);
        let nth = log.iter().filter(|a| **a == action).count();
        let point = Point::new(action, nth);
        let mut faults = self.faults.borrow_mut();
        let at = faults.iter().position(|(p, _)| *p == point)?;
        Some(faults.remove(at).1)
    }

    /// Gives an event to an object, and does what comes after it.
    pub(super) fn tell(&self, id: TaskId, event: Event) -> Reply {
        let (reply, after) = {
            let mut objects = self.objects.borrow_mut();
            let object = objects.entry(id).or_default();
            object.handle(event, &self.moment())
        };
        self.follow(id, after);
        reply
    }

    /// Rings every alarm that is due.
    pub(super) fn ring(&self) {
        let now_ms = self.clock.now_ms();
        let due = |o: &Object| o.alarm_ms().is_some_and(|at| at <= now_ms);
        let ids: Vec<TaskId> = {
            let objects = self.objects.borrow();
            objects
                .iter()
                .filter(|(_, o)| due(o))
                .map(|(id, _)| *id)
                .collect()
        };
        for id in ids {
            let after = {
                let mut objects = self.objects.borrow_mut();
                objects.entry(id).or_default().ring(&self.moment())
            };
            self.follow(id, after);
        }
    }

    fn follow(&self, id: TaskId, after: Vec<After>) {
        for next in after {
            match next {
                After::Dispatch(ticket) => {
                    self.starts.borrow_mut().push(Start::Ticket(id, ticket));
                }
                After::Tell(event) => {
                    self.tell(id, event);
                }
            }
        }
    }

    /// Lets a request reach the outside.
    pub(super) fn send_out(&self, id: TaskId, request: OutRequest) -> Reaction {
        let now_ms = self.clock.now_ms();
        let mut sent = Sent {
            at_ms: now_ms,
            answered_ms: now_ms,
            nth: 1,
            request,
        };
        let earlier = self.sent.borrow();
        sent.nth += earlier.iter().filter(|s| s.key() == sent.key()).count();
        drop(earlier);
        self.check_unrecorded(id, &sent);
        let outside = Rc::clone(&self.outside.borrow());
        let reaction = outside(&sent);
        sent.answered_ms += reaction.after_ms;
        self.sent.borrow_mut().push(sent);
        reaction
    }

    /// No step may have an effect once its outcome is recorded.
    fn check_unrecorded(&self, id: TaskId, sent: &Sent) {
        let objects = self.objects.borrow();
        let Some((object, task)) = objects.get(&id).and_then(|o| Some((o, o.task()?))) else {
            return;
        };
        for record in object.journal() {
            let key = record.id.derived_key(id, task.key_generation);
            if sent.key() == format!("\"{key}\"") {
                let text = format!("step {} ran again after it was recorded", record.id);
                self.broken.borrow_mut().push(text);
            }
        }
    }
}
