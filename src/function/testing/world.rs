//! What the slices of one bench share: clock, objects, the outside, and the faults to come.

use super::action::{Action, Fault, Point, Reaction, Sent, Taken};
use super::clock::Clock;
use super::object::{After, Object};
use super::shared::Shared;
use crate::flow::lock::Letter;
use crate::function::bulk::BulkPage;
use crate::function::flow::{self, FlowRef};
use crate::function::{Function, OutRequest};
use crate::http::bulk::Report;
use crate::protocol::{
    Claimed, Debt, Event, Fresh, Moment, Reply, Standing, State, Task, WaitFor, Waiting,
};
use crate::store::journal::Purpose;
use crate::types::{Cost, Database, TaskId, Token};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

type Outside = dyn Fn(&Sent) -> Reaction;

/// Something that is to be started.
pub(super) enum Start {
    /// A slice, by the delivery that was given the claim.
    Claimed(TaskId, Box<Claimed>),
    /// A slice, with a ticket.
    Ticket(TaskId, Token),
    /// A message from this object to the task that it owes it to.
    Debt(TaskId, Debt),
    /// A letter of the lock of this name.
    Letter(String, Letter),
}

pub(super) struct World {
    pub(super) clock: Rc<Clock>,
    /// The first is the one that keys alone are of.
    pub(super) functions: RefCell<Vec<Function>>,
    pub(super) outside: RefCell<Rc<Outside>>,
    pub(super) objects: RefCell<BTreeMap<TaskId, Object>>,
    pub(super) sent: RefCell<Vec<Sent>>,
    /// Actions so far, in order.
    pub(super) log: RefCell<Vec<Taken>>,
    faults: RefCell<Vec<(Point, Fault)>>,
    /// Messages between objects that are still to fail.
    pub(super) losing: Cell<usize>,
    pub(super) starts: RefCell<Vec<Start>>,
    /// Secrets of the deployment, by name.
    pub(super) secrets: RefCell<BTreeMap<String, String>>,
    /// What comes of the pages of an operation on many tasks, and which were asked for.
    pub(super) reports: RefCell<BTreeMap<Option<String>, Report>>,
    pub(super) pages: RefCell<Vec<BulkPage>>,
    /// Endpoints of notifications that want no more.
    pub(super) disabled: RefCell<BTreeMap<String, u64>>,
    /// Texts of flows by digest, and the current one of each.
    pub(super) flow_texts: RefCell<BTreeMap<String, String>>,
    pub(super) flows: RefCell<BTreeMap<(String, String), FlowRef>>,
    /// What tasks share.
    pub(super) shared: Shared,
    drawn: Cell<u64>,
    /// Rules that were broken.
    pub(super) broken: RefCell<Vec<String>>,
}

impl World {
    pub(super) fn new(function: Function) -> Rc<Self> {
        Rc::new(Self {
            // 2026-11-29, so that times look like times.
            clock: Clock::new(1_796_000_000_000),
            functions: RefCell::new(vec![function]),
            outside: RefCell::new(Rc::new(|_| Reaction::status(200))),
            objects: RefCell::default(),
            sent: RefCell::default(),
            log: RefCell::default(),
            faults: RefCell::default(),
            losing: Cell::new(0),
            starts: RefCell::default(),
            secrets: RefCell::default(),
            reports: RefCell::default(),
            pages: RefCell::default(),
            disabled: RefCell::default(),
            flow_texts: RefCell::default(),
            flows: RefCell::default(),
            shared: Shared::default(),
            drawn: Cell::new(0),
            broken: RefCell::default(),
        })
    }

    /// A function of the bench.
    pub(super) fn function(&self, name: &str) -> Option<Function> {
        let name = if name.starts_with(flow::PREFIX) {
            flow::FLOW
        } else {
            name
        };
        let functions = self.functions.borrow();
        functions.iter().find(|f| f.name() == name).cloned()
    }

    /// Name of the first function.
    pub(super) fn first(&self) -> String {
        self.functions.borrow()[0].name().to_owned()
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
            // Looked up by the object.
            undoable: false,
            database: Database::default(),
            cost: Cost::default(),
            watch: None,
        }
    }

    pub(super) fn plan(&self, point: Point, fault: Fault) {
        self.faults.borrow_mut().push((point, fault));
    }

    /// Counts an action, and says what is to go wrong with it.
    pub(super) fn enter(&self, task_id: TaskId, action: Action) -> Option<Fault> {
        let mut log = self.log.borrow_mut();
        let earlier = log.iter().filter(|t| t.point.action == action).count();
        let point = Point::new(action, earlier + 1);
        let mut faults = self.faults.borrow_mut();
        let planned = faults.iter().position(|(p, _)| *p == point);
        let fault = planned.map(|at| faults.remove(at).1);
        log.push(Taken {
            at_ms: self.clock.now_ms(),
            task_id,
            point,
            fault,
        });
        fault
    }

    /// Gives an event to an object, and does what comes after it.
    pub(super) fn tell(&self, id: TaskId, event: Event) -> Reply {
        let (reply, after) = {
            let mut objects = self.objects.borrow_mut();
            let object = objects.entry(id).or_insert_with(|| Object::new(id));
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
            let due = objects.iter().filter(|(_, o)| due(o));
            due.map(|(id, _)| *id).collect()
        };
        for id in ids {
            let after = {
                let mut objects = self.objects.borrow_mut();
                let object = objects.get_mut(&id).filter(|o| due(o));
                object.map(|o| o.ring(&self.moment()))
            };
            self.follow(id, after.unwrap_or_default());
        }
    }

    fn follow(&self, id: TaskId, after: Vec<After>) {
        for next in after {
            match next {
                After::Dispatch(ticket) => {
                    self.starts.borrow_mut().push(Start::Ticket(id, ticket));
                }
                After::Pay(debt) => self.starts.borrow_mut().push(Start::Debt(id, debt)),
                After::Tell(event) => {
                    self.tell(id, event);
                }
            }
        }
        self.look_at_locks();
    }

    pub(super) fn task(&self, id: TaskId) -> Option<Task> {
        self.objects.borrow().get(&id)?.task()
    }

    /// Where a task stands; `None` if there is none that anybody may know of.
    pub(super) fn standing(&self, id: TaskId) -> Option<Standing> {
        let objects = self.objects.borrow();
        let known = |o: &&Object| o.is_known(self.clock.now_ms());
        objects.get(&id).filter(known)?.standing()
    }

    /// True if this task goes on only by somebody outside: it waits for a signal that has no deadline,
    /// for an operator, or for another task that does. Looks at children and locks change nothing of it.
    pub(super) fn is_stuck(&self, id: TaskId) -> bool {
        self.stuck(id, &mut Vec::new())
    }

    fn stuck(&self, id: TaskId, seen: &mut Vec<TaskId>) -> bool {
        if seen.contains(&id) {
            // Tasks that wait for each other.
            return true;
        }
        seen.push(id);
        let Some(task) = self.task(id).filter(|t| t.debts.list.is_empty()) else {
            return false;
        };
        match &task.state {
            State::Suspended(Waiting::For(waits)) => waits.iter().all(|wait| match &wait.what {
                WaitFor::Signal { name, due_ms } => match self.holders_before(name) {
                    Some(holders) => holders.iter().all(|id| self.stuck(*id, seen)),
                    None => due_ms.is_none(),
                },
                WaitFor::Child { task_id, .. } => self.stuck(*task_id, seen),
                WaitFor::Sleep { .. } | WaitFor::Retry { .. } => false,
            }),
            State::Suspended(Waiting::CodeChanged(_)) => true,
            State::Suspended(_)
            | State::Running
            | State::Succeeded
            | State::Failed { .. }
            | State::Cancelled
            | State::Forgotten => false,
        }
    }

    /// The next alarm; of tasks that go on by themselves or still owe something, or of all.
    pub(super) fn next_alarm_ms(&self, all: bool) -> Option<u64> {
        let objects = self.objects.borrow();
        let armed = objects
            .iter()
            .filter_map(|(id, o)| Some((id, o.alarm_ms()?)));
        let counts = |id: &TaskId| {
            let Some(task) = objects.get(id).and_then(Object::task) else {
                return false;
            };
            let moves = matches!(task.state, State::Running | State::Suspended(_));
            (moves && !self.is_stuck(*id)) || !task.debts.list.is_empty()
        };
        let armed = armed.filter(|(id, _)| all || counts(id));
        armed.map(|(_, at_ms)| at_ms).min()
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
        let journal = object.journal(Purpose::Show);
        for record in journal.iter().filter(|r| r.outcome.is_settled()) {
            let key = record.id.derived_key(id, task.key_generation);
            if sent.key() == format!("\"{key}\"") {
                let text = format!("step {} ran again after it was recorded", record.id);
                self.broken.borrow_mut().push(text);
            }
        }
    }
}
