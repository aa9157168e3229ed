//! Runs futures on a clock that jumps. Each one belongs to somebody who can die at any moment, and takes
//! what it had in memory along.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

pub type Job = Pin<Box<dyn Future<Output = ()>>>;
type Ready = Arc<Mutex<VecDeque<u64>>>;

/// The platform's depth limit: a request that came through more of them fails.
pub const MAX_DEPTH: u32 = 16;
/// Invocations that one request from outside may cause through service bindings.
const MAX_INVOCATIONS: u32 = 32;
/// Requests of one invocation, as the free plan has it: to the platform's own services, and out.
const MAX_INSIDE: u32 = 1_000;
const MAX_OUTSIDE: u32 = 50;

/// Whoever can die: an invocation of the Worker, an instance of an object.
pub struct Owner {
    pub name: String,
    /// Whose task it works for, or nobody's.
    pub subject: String,
    /// How far its clock is off.
    pub skew_ms: i64,
    state: Cell<Life>,
    jobs: RefCell<Vec<u64>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Alive,
    /// Dies as soon as it waits for anything: what it has sent is sent.
    Dying,
    Dead,
}

impl Owner {
    pub fn new(name: impl Into<String>, subject: impl Into<String>, skew_ms: i64) -> Rc<Self> {
        Rc::new(Self {
            name: name.into(),
            subject: subject.into(),
            skew_ms,
            state: Cell::new(Life::Alive),
            jobs: RefCell::default(),
        })
    }

    pub fn is_alive(&self) -> bool {
        self.state.get() == Life::Alive
    }

    /// It dies at the next await.
    pub fn die(&self) {
        if self.is_alive() {
            self.state.set(Life::Dying);
        }
    }
}

/// What the platform counts for one event: how deep its chain is, and how much it has sent.
#[derive(Default)]
pub struct Event {
    pub depth: u32,
    chain: Rc<Cell<u32>>,
    inside: Cell<u32>,
    outside: Cell<u32>,
}

impl Event {
    /// A request from outside, an alarm, a scheduled run.
    pub fn first() -> Rc<Self> {
        Rc::default()
    }

    /// An event that this one causes.
    pub fn caused(&self) -> Rc<Self> {
        Rc::new(Self {
            depth: self.depth + 1,
            chain: Rc::clone(&self.chain),
            ..Self::default()
        })
    }

    /// Counts a request to the platform's own services.
    pub fn sends_inside(&self) -> Result<(), String> {
        if self.depth >= MAX_DEPTH {
            return Err("Subrequest depth limit exceeded.".into());
        }
        count(&self.inside, MAX_INSIDE, "Too many subrequests.")
    }

    /// Counts a continuation.
    pub fn invokes(&self) -> Result<(), String> {
        self.sends_inside()?;
        count(&self.chain, MAX_INVOCATIONS, "Too many Worker invocations.")
    }

    /// Counts a request to the outside.
    pub fn sends_outside(&self) -> Result<(), String> {
        count(&self.outside, MAX_OUTSIDE, "Too many subrequests.")
    }
}

fn count(cell: &Cell<u32>, most: u32, error: &str) -> Result<(), String> {
    cell.set(cell.get() + 1);
    if cell.get() > most {
        return Err(error.to_owned());
    }
    Ok(())
}

struct Running {
    owner: Rc<Owner>,
    event: Rc<Event>,
    /// None while it is polled.
    job: Option<Job>,
}

#[derive(Default)]
pub struct Exec {
    now_ms: Cell<u64>,
    made: Cell<u64>,
    jobs: RefCell<BTreeMap<u64, Running>>,
    timers: RefCell<BTreeMap<(u64, u64), Waker>>,
    ready: Ready,
    current: RefCell<Option<Rc<Event>>>,
}

struct Bell {
    job: u64,
    ready: Ready,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.push_back(self.job);
    }
}

impl Exec {
    pub fn new(now_ms: u64) -> Rc<Self> {
        let exec = Self::default();
        exec.now_ms.set(now_ms);
        Rc::new(exec)
    }

    pub fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    fn number(&self) -> u64 {
        self.made.set(self.made.get() + 1);
        self.made.get()
    }

    /// The event that whoever is running now works on.
    pub fn event(&self) -> Rc<Event> {
        self.current.borrow().clone().unwrap_or_default()
    }

    /// Begins something. It ends early if its owner dies, or is dead.
    pub fn spawn(&self, owner: &Rc<Owner>, event: Rc<Event>, job: Job) -> u64 {
        let id = self.number();
        if owner.state.get() == Life::Dead {
            return id;
        }
        owner.jobs.borrow_mut().push(id);
        let running = Running {
            owner: Rc::clone(owner),
            event,
            job: Some(job),
        };
        self.jobs.borrow_mut().insert(id, running);
        self.ring(id);
        id
    }

    fn ring(&self, job: u64) {
        let ready = Arc::clone(&self.ready);
        Arc::new(Bell { job, ready }).wake();
    }

    /// Ends one job, as if its caller had gone away.
    pub fn cancel(&self, job: u64) {
        let ended = self.jobs.borrow_mut().remove(&job);
        drop(ended);
    }

    /// Ends everything of one owner. Whether there was anything left.
    pub fn kill(&self, owner: &Owner) -> bool {
        owner.state.set(Life::Dead);
        let jobs = owner.jobs.take();
        let mut left = false;
        for job in jobs {
            let ended = self.jobs.borrow_mut().remove(&job);
            left |= ended.is_some();
        }
        left
    }

    pub fn sleep(self: &Rc<Self>, ms: u64) -> Sleep {
        Sleep {
            exec: Rc::clone(self),
            place: (self.now_ms().saturating_add(ms), self.number()),
        }
    }

    /// Runs everything up to this time.
    pub fn run_until(&self, at_ms: u64) {
        loop {
            self.run_ready();
            let due = {
                let timers = self.timers.borrow();
                timers.first_key_value().map(|(place, _)| *place)
            };
            let Some(place) = due.filter(|(due_ms, _)| *due_ms <= at_ms) else {
                break;
            };
            self.now_ms.set(self.now_ms().max(place.0));
            let timer = self.timers.borrow_mut().remove(&place);
            timer.into_iter().for_each(Waker::wake);
        }
        self.now_ms.set(self.now_ms().max(at_ms));
    }

    fn run_ready(&self) {
        loop {
            let next = {
                let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
                ready.pop_front()
            };
            let Some(id) = next else { return };
            self.poll(id);
        }
    }

    fn poll(&self, id: u64) {
        let taken = {
            let mut jobs = self.jobs.borrow_mut();
            let running = jobs.get_mut(&id);
            running.and_then(|running| {
                let job = running.job.take()?;
                Some((job, Rc::clone(&running.owner), Rc::clone(&running.event)))
            })
        };
        let Some((mut job, owner, event)) = taken else {
            return;
        };
        self.current.replace(Some(event));
        let ready = Arc::clone(&self.ready);
        let waker = Waker::from(Arc::new(Bell { job: id, ready }));
        let polled = job.as_mut().poll(&mut Context::from_waker(&waker));
        self.current.replace(None);
        if owner.state.get() == Life::Dying {
            self.kill(&owner);
        }
        if polled.is_ready() || owner.state.get() == Life::Dead {
            let ended = self.jobs.borrow_mut().remove(&id);
            owner.jobs.borrow_mut().retain(|job| *job != id);
            drop((ended, job));
            return;
        }
        if let Some(running) = self.jobs.borrow_mut().get_mut(&id) {
            running.job = Some(job);
        }
    }
}

/// Over at a time.
pub struct Sleep {
    exec: Rc<Exec>,
    place: (u64, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut timers = self.exec.timers.borrow_mut();
        if self.exec.now_ms() >= self.place.0 {
            timers.remove(&self.place);
            return Poll::Ready(());
        }
        timers.insert(self.place, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.exec.timers.borrow_mut().remove(&self.place);
    }
}

/// Lets others have their turn, and this job die if it is to.
#[derive(Default)]
pub struct Turn(bool);

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
