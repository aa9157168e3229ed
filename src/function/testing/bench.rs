//! The bench: deliveries in, slices run, alarms ring, time jumps.

use super::action::{Action, Fault, Point, Reaction, Sent};
use super::address::Address;
use super::debts;
use super::host::TestHost;
use super::shared;
use super::world::{Start, World};
use crate::function::{Function, InputProblem, Slice, SliceEnd, run_slice};
use crate::http::bulk::Report;
use crate::protocol::{Begin, Claim, Claimed, Event, Reply};
use crate::store::journal::Purpose;
use crate::types::{About, Input, TaskId};
use futures::future::LocalBoxFuture;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Turns of one run; a task that needs more does not end.
const MAX_TURNS: usize = 200_000;

/// Set when something that a slice waits for has come.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A slice, or a message on its way between objects.
pub(super) struct Running {
    work: LocalBoxFuture<'static, Option<SliceEnd>>,
    /// The host of a slice.
    host: Option<TestHost>,
    flag: Arc<Flag>,
    /// When the platform ends it, whatever it is doing.
    cut_ms: Option<u64>,
}

impl Running {
    pub(super) fn errand(work: LocalBoxFuture<'static, Option<SliceEnd>>) -> Self {
        Self {
            work,
            host: None,
            flag: Arc::new(Flag(AtomicBool::new(true))),
            cut_ms: None,
        }
    }
}

/// What a run stops for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Nothing goes on by itself.
    Idle,
    /// A time; every alarm before it rings.
    Time(u64),
}

/// Functions on a virtual clock, with any number of tasks.
///
/// A key names a task of the first function, as in call mode; see [`Address`] for the others. A
/// request takes one millisecond each way, a message to an object two. D1 always answers; alarms ring
/// on time.
pub struct Bench {
    pub(super) world: Rc<World>,
    pub(super) running: Vec<Running>,
    pub(super) ends: Vec<SliceEnd>,
}

impl Bench {
    /// A bench for a function. Until [`Bench::outside`] says otherwise, every request is answered 200.
    pub fn new(function: Function) -> Self {
        Self {
            world: World::new(function),
            running: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds another function, to be begun by the first one or by [`Bench::deliver`].
    #[must_use]
    pub fn with(self, other: Function) -> Self {
        self.world.functions.borrow_mut().push(other);
        self
    }

    /// Replaces the function of the same name, as a deploy does while tasks are under way.
    ///
    /// # Panics
    /// If there is none of this name.
    pub fn deploy(&mut self, function: Function) {
        let mut functions = self.world.functions.borrow_mut();
        let old = functions.iter_mut().find(|f| f.name() == function.name());
        *old.expect("a function of this name") = function;
    }

    /// Sets what answers the requests of the functions.
    #[must_use]
    pub fn outside(self, react: impl Fn(&Sent) -> Reaction + 'static) -> Self {
        *self.world.outside.borrow_mut() = Rc::new(react);
        self
    }

    /// Sets a secret of the deployment; without any, none is set.
    #[must_use]
    pub fn secret(self, name: &str, value: &str) -> Self {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.world.secrets.borrow_mut().insert(name, value);
        self
    }

    /// What comes of the pages of an operation on many tasks, each behind the one before.
    #[must_use]
    pub fn reports(self, reports: impl IntoIterator<Item = Report>) -> Self {
        let mut after = None;
        for report in reports {
            let next = report.next_cursor.clone();
            self.world.reports.borrow_mut().insert(after, report);
            after = next;
        }
        self
    }

    /// Has the slice die just before this action: nothing of it leaves the slice.
    #[must_use]
    pub fn crash_before(self, action: Action, nth: usize) -> Self {
        self.plan(Point::new(action, nth), Fault::CrashBefore)
    }

    /// Has the slice die just after this action: it has its effect, and nobody hears of it.
    #[must_use]
    pub fn crash_after(self, action: Action, nth: usize) -> Self {
        self.plan(Point::new(action, nth), Fault::CrashAfter)
    }

    /// Loses the reply of this action. A message to an object is sent again with the same operation;
    /// a request to the outside breaks off after the other side has done its work.
    #[must_use]
    pub fn lose_reply(self, action: Action, nth: usize) -> Self {
        self.plan(Point::new(action, nth), Fault::LoseReply)
    }

    /// Has this message to an object arrive twice.
    #[must_use]
    pub fn send_twice(self, action: Action, nth: usize) -> Self {
        self.plan(Point::new(action, nth), Fault::Double)
    }

    pub(super) fn plan(self, point: Point, fault: Fault) -> Self {
        self.world.plan(point, fault);
        self
    }

    /// Brings a delivery: it is checked, begun, and its slice started if it is given one.
    ///
    /// # Errors
    /// What the function's check finds wrong with the input; then nothing has happened.
    ///
    /// # Panics
    /// If the bench has no such function.
    pub fn deliver(
        &mut self,
        to: impl Into<Address>,
        input: Input,
    ) -> Result<Reply, Vec<InputProblem>> {
        let key = to.into().key(&self.world.first());
        let function = self.world.function(&key.name);
        let function = function.expect("a function of the bench");
        let checked = function.check(&input)?;
        let id = key.task_id();
        let begin = Begin {
            op: self.world.token(),
            key,
            function: function.name().to_owned(),
            policy: checked.policy.unwrap_or_else(|| function.policy().clone()),
            fingerprint: None,
            parts: Vec::new(),
            input,
            claims: true,
            hop: 0,
            parent: None,
            lineage: Vec::new(),
            about: About::default(),
        };
        let reply = self.world.tell(id, Event::Begin(Box::new(begin)));
        if let Reply::Claimed(claimed) = &reply {
            let start = Start::Claimed(id, claimed.clone());
            self.world.starts.borrow_mut().push(start);
        }
        Ok(reply)
    }

    /// Runs until no slice lives and every task has ended, for good or resumably, or goes on only by
    /// somebody outside: by a signal without a deadline, or by an operator. Time jumps from one event
    /// to the next.
    ///
    /// # Panics
    /// If the tasks do not end, or if a step had an effect after it was recorded.
    pub fn run_until_idle(&mut self) {
        for _ in 0..MAX_TURNS {
            if !self.turn(Until::Idle) {
                let broken = self.world.broken.borrow();
                assert!(broken.is_empty(), "{}", broken.join("; "));
                return;
            }
        }
        panic!("not idle after {MAX_TURNS} turns:\n{}", self.schedule());
    }

    /// Runs for a time. Every alarm rings, those of tasks that have ended as well.
    pub fn run_for(&mut self, ms: u64) {
        let until_ms = self.now_ms() + ms;
        while self.turn(Until::Time(until_ms)) {}
        self.world.clock.jump_to(until_ms);
    }

    /// Polls what can go on, or else jumps to the next event. False if there is none by then.
    fn turn(&mut self, until: Until) -> bool {
        let starts = self.world.starts.take();
        if !starts.is_empty() {
            for start in starts {
                let running = begin(&self.world, start);
                self.running.push(running);
            }
            return true;
        }
        if self.poll() {
            return true;
        }
        let Some(next_ms) = self.next_ms(until) else {
            return false;
        };
        self.world.clock.jump_to(next_ms);
        let now_ms = self.world.clock.now_ms();
        self.running
            .retain(|r| r.cut_ms.is_none_or(|at| at > now_ms));
        self.world.ring();
        true
    }

    /// True if something went on.
    fn poll(&mut self) -> bool {
        let mut moved = false;
        let mut left = Vec::new();
        for mut running in self.running.drain(..) {
            if !running.flag.0.swap(false, Ordering::Relaxed) {
                left.push(running);
                continue;
            }
            moved = true;
            let waker = Waker::from(Arc::clone(&running.flag));
            let polled = running.work.as_mut().poll(&mut Context::from_waker(&waker));
            let dead = running.host.as_ref().is_some_and(TestHost::is_dead);
            match polled {
                Poll::Ready(end) => self.ends.extend(end),
                // A slice that has crashed is dropped with all that it holds.
                Poll::Pending if dead => {}
                Poll::Pending => left.push(running),
            }
        }
        self.running = left;
        moved
    }

    /// The next event, if anything is still going on.
    fn next_ms(&self, until: Until) -> Option<u64> {
        let alarm = self.world.next_alarm_ms(until != Until::Idle);
        let cuts = self.running.iter().filter_map(|r| r.cut_ms);
        let timers = self.world.clock.next_ms();
        let next = alarm.into_iter().chain(cuts).chain(timers).min()?;
        match until {
            Until::Idle => Some(next),
            Until::Time(at_ms) => (next <= at_ms).then_some(next),
        }
    }

    /// The virtual time.
    pub fn now_ms(&self) -> u64 {
        self.world.clock.now_ms()
    }
}

fn begin(world: &Rc<World>, start: Start) -> Running {
    let id = match start {
        Start::Debt(id, debt) => {
            let paid = debts::pay(Rc::clone(world), id, debt);
            return Running::errand(Box::pin(async move {
                paid.await;
                None
            }));
        }
        Start::Letter(name, letter) => {
            let brought = shared::bring(Rc::clone(world), name, letter);
            return Running::errand(Box::pin(async move {
                brought.await;
                None
            }));
        }
        Start::Claimed(id, _) | Start::Ticket(id, _) => id,
    };
    let host = TestHost::new(world, id);
    let cut = world.task(id).map_or(0, |t| t.policy.slice_cut_ms);
    Running {
        host: Some(host.clone()),
        cut_ms: Some(world.clock.now_ms() + cut),
        ..Running::errand(Box::pin(slice(Rc::clone(world), host, start)))
    }
}

/// One slice, from its claim to its end. `None` if its ticket was worth nothing.
async fn slice(world: Rc<World>, host: TestHost, start: Start) -> Option<SliceEnd> {
    let started_ms = world.clock.now_ms();
    let (id, claimed) = match start {
        Start::Claimed(id, claimed) => (id, claimed),
        Start::Ticket(id, ticket) => {
            let claim = Claim {
                op: world.token(),
                ticket,
            };
            match host.send(Action::Claim, Event::Claim(claim)).await {
                Ok(Reply::Claimed(claimed)) => (id, claimed),
                Ok(_) | Err(_) => return None,
            }
        }
        Start::Debt(..) | Start::Letter(..) => return None,
    };
    let function = world.function(&claimed.function);
    let function = function.expect("a function of the bench");
    let slice = load(&world, id, *claimed, started_ms)?;
    let end = run_slice(Rc::new(host), &function, slice).await;
    if let SliceEnd::Suspended {
        ticket: Some(ticket),
        ..
    } = &end
    {
        let next = Start::Ticket(id, ticket.clone());
        world.starts.borrow_mut().push(next);
    }
    Some(end)
}

fn load(world: &World, id: TaskId, claimed: Claimed, started_ms: u64) -> Option<Slice> {
    let objects = world.objects.borrow();
    let object = objects.get(&id)?;
    let purpose = if claimed.undoing {
        Purpose::Undoing
    } else {
        Purpose::Replay
    };
    Some(Slice {
        task_id: id,
        claimed,
        started_ms,
        input: object.input(),
        journal: object.journal(purpose),
        cursor: object.cursor(),
    })
}
