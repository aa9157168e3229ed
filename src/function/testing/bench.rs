//! The bench: deliveries in, slices run, alarms ring, time jumps.

use super::host::TestHost;
use super::world::{Action, Fault, Point, Reaction, Sent, Start, World};
use crate::function::{Function, InputProblem, Slice, SliceEnd, run_slice};
use crate::protocol::{Begin, Claim, Event, Outcome, Reply, State, StepRecord, Task};
use crate::types::{Answer, Input, StepId, TaskId, TaskKey, TaskKind};
use futures::future::LocalBoxFuture;
use std::collections::BTreeMap;
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

struct Running {
    slice: LocalBoxFuture<'static, Option<SliceEnd>>,
    host: TestHost,
    flag: Arc<Flag>,
    /// When the platform ends it, whatever it is doing.
    cut_ms: u64,
}

/// One function on a virtual clock, with any number of tasks.
///
/// A key names a task of the function, as in call mode. A request takes one millisecond each way, a
/// message to the object two. D1 always answers; alarms ring on time.
pub struct Bench {
    world: Rc<World>,
    running: Vec<Running>,
    ends: Vec<SliceEnd>,
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

    /// Sets what answers the requests of the function.
    #[must_use]
    pub fn outside(self, react: impl Fn(&Sent) -> Reaction + 'static) -> Self {
        *self.world.outside.borrow_mut() = Rc::new(react);
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

    /// Loses the reply of this action. A message to the object is sent again with the same operation;
    /// a request to the outside breaks off after the other side has done its work.
    #[must_use]
    pub fn lose_reply(self, action: Action, nth: usize) -> Self {
        self.plan(Point::new(action, nth), Fault::LoseReply)
    }

    /// Has this message to the object arrive twice.
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
    pub fn deliver(&mut self, key: &str, input: Input) -> Result<Reply, Vec<InputProblem>> {
        let function = &self.world.function;
        let checked = function.check(&input)?;
        let key = self.task_key(key);
        let id = key.task_id();
        let begin = Begin {
            op: self.world.token(),
            key,
            function: function.name().to_owned(),
            policy: checked.policy.unwrap_or_else(|| function.policy().clone()),
            fingerprint: None,
            input,
            claims: true,
            hop: 0,
            parent: None,
        };
        let reply = self.world.tell(id, Event::Begin(Box::new(begin)));
        if let Reply::Claimed(claimed) = &reply {
            let start = Start::Claimed(id, claimed.clone());
            self.world.starts.borrow_mut().push(start);
        }
        Ok(reply)
    }

    fn task_key(&self, key: &str) -> TaskKey {
        TaskKey::new(TaskKind::Function, self.world.function.name(), "", key)
    }

    /// Gives an event to the object of a key, past every slice: what a zombie, an operator or a
    /// doubled message would do.
    pub fn tell(&mut self, key: &str, event: Event) -> Reply {
        self.world.tell(self.task_key(key).task_id(), event)
    }

    /// Runs until no slice lives and every task has ended, for good or resumably. Time jumps from one
    /// event to the next.
    ///
    /// # Panics
    /// If the tasks do not end, or if a step had an effect after it was recorded.
    pub fn run_until_idle(&mut self) {
        for _ in 0..MAX_TURNS {
            if !self.turn(u64::MAX) {
                let broken = self.world.broken.borrow();
                assert!(broken.is_empty(), "{}", broken.join("; "));
                return;
            }
        }
        panic!("not idle after {MAX_TURNS} turns");
    }

    /// Runs for a time.
    pub fn run_for(&mut self, ms: u64) {
        let until_ms = self.now_ms() + ms;
        while self.turn(until_ms) {}
        self.world.clock.jump_to(until_ms);
    }

    /// Polls what can go on, or else jumps to the next event. False if there is none by then.
    fn turn(&mut self, until_ms: u64) -> bool {
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
        let Some(next_ms) = self.next_ms().filter(|at| *at <= until_ms) else {
            return false;
        };
        self.world.clock.jump_to(next_ms);
        let now_ms = self.world.clock.now_ms();
        self.running.retain(|r| r.cut_ms > now_ms);
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
            let polled = running
                .slice
                .as_mut()
                .poll(&mut Context::from_waker(&waker));
            match polled {
                Poll::Ready(end) => self.ends.extend(end),
                // A slice that has crashed is dropped with all that it holds.
                Poll::Pending if running.host.is_dead() => {}
                Poll::Pending => left.push(running),
            }
        }
        self.running = left;
        moved
    }

    /// The next event, if anything is still going on.
    fn next_ms(&self) -> Option<u64> {
        let objects = self.world.objects.borrow();
        let unfinished = objects.values().filter(|o| {
            let state = o.task().map(|t| t.state);
            matches!(state, Some(State::Running | State::Suspended(_)))
        });
        let alarms = unfinished.filter_map(super::object::Object::alarm_ms);
        let cuts = self.running.iter().map(|r| r.cut_ms);
        let timers = self.world.clock.next_ms();
        alarms.chain(cuts).chain(timers).min()
    }

    /// The virtual time.
    pub fn now_ms(&self) -> u64 {
        self.world.clock.now_ms()
    }

    /// The task of a key, as its object keeps it.
    pub fn task(&self, key: &str) -> Option<Task> {
        let objects = self.world.objects.borrow();
        objects.get(&self.task_key(key).task_id())?.task()
    }

    /// The stored answer of a final task.
    pub fn answer(&self, key: &str) -> Option<Answer> {
        let task = self.task(key).filter(Task::is_final)?;
        let objects = self.world.objects.borrow();
        let mut answer = task.answer?;
        answer.body = objects.get(&self.task_key(key).task_id())?.answer_body();
        Some(answer)
    }

    /// What is recorded of a task, by identity.
    pub fn journal(&self, key: &str) -> Vec<StepRecord> {
        let objects = self.world.objects.borrow();
        let object = objects.get(&self.task_key(key).task_id());
        object
            .map(super::object::Object::journal)
            .unwrap_or_default()
    }

    pub(super) fn outcomes(&self, key: &str) -> BTreeMap<StepId, Outcome> {
        let objects = self.world.objects.borrow();
        let object = objects.get(&self.task_key(key).task_id());
        object
            .map(super::object::Object::outcomes)
            .unwrap_or_default()
    }

    /// Every request that reached the outside, in order.
    pub fn requests(&self) -> Vec<Sent> {
        self.world.sent.borrow().clone()
    }

    /// Everything that slices did, in order.
    pub fn actions(&self) -> Vec<Action> {
        self.world.log.borrow().clone()
    }

    /// How the slices ended that did, in order. One that crashed has no end.
    pub fn ends(&self) -> &[SliceEnd] {
        &self.ends
    }
}

fn begin(world: &Rc<World>, start: Start) -> Running {
    let (Start::Claimed(id, _) | Start::Ticket(id, _)) = &start;
    let host = TestHost::new(world, *id);
    let cut = {
        let objects = world.objects.borrow();
        let task = objects.get(id).and_then(super::object::Object::task);
        task.map_or(0, |t| t.policy.slice_cut_ms)
    };
    Running {
        slice: Box::pin(slice(Rc::clone(world), host.clone(), start)),
        host,
        flag: Arc::new(Flag(AtomicBool::new(true))),
        cut_ms: world.clock.now_ms() + cut,
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
    };
    let slice = load(&world, id, *claimed, started_ms)?;
    let end = run_slice(Rc::new(host), &world.function, slice).await;
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

fn load(
    world: &World,
    id: TaskId,
    claimed: crate::protocol::Claimed,
    started_ms: u64,
) -> Option<Slice> {
    let objects = world.objects.borrow();
    let object = objects.get(&id)?;
    Some(Slice {
        task_id: id,
        claimed,
        started_ms,
        input: object.input(),
        journal: object.journal(),
        cursor: None,
    })
}
