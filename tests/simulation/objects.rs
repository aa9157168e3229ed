//! Objects: their storage, their instances, their alarms.

use crate::chance::{Fault, Odds};
use crate::edge::SimEdge;
use crate::exec::{Event as Context, Owner, Turn};
use crate::world::{Break, OBJECT_SKEW_MS, World, add};
use futures::channel::oneshot;
use onceward::http::object_call::{Call, Frame, Reply, Told};
use onceward::protocol::{Event, Moment, State};
use onceward::runtime::{Broken, Later, Object, ObjectStorage};
use onceward::store::cells::{Cells, MemoryCells};
use onceward::store::commit::{CommitError, Committed, Stored, commit};
use onceward::types::TaskId;
use std::cell::{Cell, RefCell};
use std::fmt::{Debug, Write as _};
use std::future::ready;
use std::rc::Rc;

/// How often the platform repeats an alarm whose run failed.
const ALARM_TRIES: u32 = 6;

/// Runs of one alarm in a second that have no good reason any more.
const MOST_RINGS: usize = 60;

const COMMIT: Odds = &[
    (Fault::CrashBefore, 50),
    (Fault::CrashAfter, 80),
    (Fault::Fail, 40),
];

/// What an object is made of but for its memory.
pub struct Shelf {
    id: TaskId,
    pub cells: MemoryCells,
    pub alarm_ms: Cell<Option<u64>>,
    alarm_tries: Cell<u32>,
    ringing: Cell<bool>,
    /// When it rang, within the last second.
    rung_ms: RefCell<Vec<u64>>,
    /// An alarm was lost for good: only a message or cron makes the task go on.
    pub lost_alarm: Cell<bool>,
    instance: RefCell<Option<Instance>>,
    /// The storage before the last commit, for a platform that is broken on purpose.
    before: RefCell<Option<MemoryCells>>,
}

#[derive(Clone)]
struct Instance {
    owner: Rc<Owner>,
    object: Rc<Object>,
}

/// The shelf of a task.
pub fn shelf(world: &Rc<World>, id: TaskId) -> Rc<Shelf> {
    let mut objects = world.objects.borrow_mut();
    let shelf = objects.entry(id).or_insert_with(|| {
        Rc::new(Shelf {
            id,
            cells: MemoryCells::default(),
            alarm_ms: Cell::new(None),
            alarm_tries: Cell::new(0),
            ringing: Cell::new(false),
            rung_ms: RefCell::default(),
            lost_alarm: Cell::new(false),
            instance: RefCell::new(None),
            before: RefCell::new(None),
        })
    });
    Rc::clone(shelf)
}

/// Brings a message to its object, and its reply back.
pub async fn deliver(
    world: &Rc<World>,
    to: TaskId,
    bytes: &[u8],
    context: Rc<Context>,
) -> Result<Vec<u8>, Broken> {
    let call = Frame::decode(bytes)
        .ok_or_else(|| "cut off".to_owned())
        .and_then(Call::from_frame);
    let call = match call {
        Ok(call) => call,
        Err(why) => return Ok(Reply::of(Told::Unavailable(why)).to_frame().encode()),
    };
    add(&world.counts.messages);
    let shelf = shelf(world, to);
    let Instance { owner, object } = shelf.instance(world);
    let (done, reply) = oneshot::channel();
    let job = async move {
        let answered = object.answer(call).await;
        // The output gate: the reply leaves once everything is durable. Dying here, nobody hears of it.
        Turn::default().await;
        let _ = done.send(answered);
    };
    world.exec.spawn(&owner, context, Box::pin(job));
    match reply.await {
        Ok(Ok(reply)) => Ok(reply.to_frame().encode()),
        Ok(Err(fault)) => Err(Broken::Failed(fault.0)),
        Err(_) => Err(Broken::Failed("the object was reset".into())),
    }
}

impl Shelf {
    pub fn task_state(&self) -> Option<Stored> {
        Stored::load(&self.cells, self.id).ok().flatten()
    }

    /// The instance that is there, or a new one.
    fn instance(self: &Rc<Self>, world: &Rc<World>) -> Instance {
        let alive = self
            .instance
            .borrow()
            .clone()
            .filter(|i| i.owner.is_alive());
        if let Some(instance) = alive {
            let split = world.breaks == Some(Break::TwoInstances)
                && world.fate.below(&self.id.to_string(), "split", 25) == 0;
            return if split { self.copy(world) } else { instance };
        }
        if world.breaks == Some(Break::ForgetsCommits) {
            self.step_back();
        }
        let instance = self.on(world, Rc::clone(self));
        self.instance.replace(Some(instance.clone()));
        instance
    }

    fn on(&self, world: &Rc<World>, store: Rc<Self>) -> Instance {
        let subject = self.id.to_string();
        let owner = Owner::new("object", &subject, world.skew_ms(&subject, OBJECT_SKEW_MS));
        let edge = Rc::new(SimEdge::new(world, &owner));
        let storage = Rc::new(SimStorage {
            world: Rc::clone(world),
            shelf: store,
            owner: Rc::clone(&owner),
        });
        let object = Rc::new(Object::new(edge, storage));
        Instance { owner, object }
    }

    /// A second instance on a copy of the storage, which the platform promises never to make.
    fn copy(&self, world: &Rc<World>) -> Instance {
        let copy = Rc::new(Self {
            id: self.id,
            cells: self.cells.clone(),
            alarm_ms: self.alarm_ms.clone(),
            alarm_tries: Cell::new(0),
            ringing: Cell::new(false),
            rung_ms: RefCell::default(),
            lost_alarm: Cell::new(false),
            instance: RefCell::new(None),
            before: RefCell::new(None),
        });
        self.on(world, copy)
    }

    fn step_back(&self) {
        let Some(before) = self.before.take() else {
            return;
        };
        self.cells.clear();
        for name in before.names() {
            let value = before.get(&name).ok().flatten().unwrap_or_default();
            self.cells.put(&name, &value).expect("memory");
        }
    }

    /// The instance is gone, with everything that it had in memory.
    pub fn reset(&self, world: &World, why: &str) {
        let Some(instance) = self.instance.take() else {
            return;
        };
        if instance.owner.is_alive() {
            add(&world.counts.resets);
            world.died(&instance.owner, why);
        }
        world.exec.kill(&instance.owner);
    }

    fn set_alarm(self: &Rc<Self>, world: &Rc<World>, at_ms: u64) {
        self.alarm_ms.set(Some(at_ms));
        if world.breaks == Some(Break::NoClock) {
            return;
        }
        let subject = self.id.to_string();
        let (object, world) = (Rc::clone(self), Rc::clone(world));
        let job = Rc::clone(&world);
        let rings = async move {
            // Mostly some milliseconds late, sometimes seconds, rarely a little early.
            let dice = world.fate.next(&subject, "alarm way");
            let wait = at_ms.saturating_sub(world.now_ms());
            let ms = match dice % 20 {
                _ if world.fate.is_calm() => wait,
                0 => wait + (dice >> 8) % 3_000,
                1 => wait.saturating_sub((dice >> 8) % 50),
                _ => wait + (dice >> 8) % 5,
            };
            world.exec.sleep(ms.max(1)).await;
            if object.alarm_ms.get() == Some(at_ms) && !object.ringing.get() {
                object.rings(&world).await;
            }
        };
        job.exec
            .spawn(&job.network, Context::first(), Box::pin(rings));
    }

    /// Each run of an alarm is paid for: where clocks differ it must not ring all the time.
    fn must_not_loop(&self, world: &World, subject: &str) {
        let now_ms = world.now_ms();
        let mut rung = self.rung_ms.borrow_mut();
        rung.retain(|at| at + 1_000 > now_ms);
        rung.push(now_ms);
        if rung.len() == MOST_RINGS {
            let what = format!("its alarm rings {MOST_RINGS} times in a second");
            world.breaks_rule(subject, what);
        }
    }

    async fn rings(self: &Rc<Self>, world: &Rc<World>) {
        let subject = self.id.to_string();
        self.alarm_ms.set(None);
        let deploying = world.now_ms() < world.deploying_until.get() && !world.fate.is_calm();
        if deploying && world.fate.below(&subject, "alarm consumed", 8) == 0 {
            world.tell(
                "platform",
                &subject,
                "its alarm is used up by the deploy".into(),
            );
            self.lost_alarm.set(true);
            // That is how it gets lost: the instance that it rang at had been replaced already.
            self.reset(world, "is replaced");
            return;
        }
        add(&world.counts.alarms);
        self.must_not_loop(world, &subject);
        self.ringing.set(true);
        let Instance { owner, object } = self.instance(world);
        let (done, ended) = oneshot::channel();
        let id = self.id;
        let run = async move {
            let _ = done.send(object.alarm(id).await);
        };
        world.exec.spawn(&owner, Context::first(), Box::pin(run));
        let outcome = ended.await;
        self.ringing.set(false);
        let retry = match outcome {
            Ok(Ok(())) => {
                self.alarm_tries.set(0);
                false
            }
            Ok(Err(_)) => {
                self.alarm_tries.set(self.alarm_tries.get() + 1);
                true
            }
            // What the platform does is no fault of the code, and is not counted.
            Err(_) => true,
        };
        if let Some(next) = self.alarm_ms.get() {
            self.set_alarm(world, next);
        } else if retry && self.alarm_tries.get() > ALARM_TRIES {
            self.alarm_tries.set(0);
            if !world.was_cursed_wholly(&subject) {
                let what = "its alarm is given up, though another one could be set";
                world.breaks_rule(&subject, what.into());
            }
            add(&world.counts.alarms_dropped);
            self.lost_alarm.set(true);
            world.tell(
                "platform",
                &subject,
                "its alarm is dropped after six tries".into(),
            );
        } else if retry {
            let wait = 2_000 << self.alarm_tries.get().saturating_sub(1);
            self.set_alarm(world, world.now_ms() + wait);
        }
    }
}

/// The first characters of what something looks like.
struct Short(String, usize);

impl std::fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            if self.0.len() >= self.1 {
                return Err(std::fmt::Error);
            }
            self.0.push(c);
        }
        Ok(())
    }
}

fn short(value: &impl Debug, length: usize) -> String {
    let mut short = Short(String::new(), length);
    // It ends early by an error.
    let _ = write!(short, "{value:?}");
    short.0
}

struct SimStorage {
    world: Rc<World>,
    shelf: Rc<Shelf>,
    owner: Rc<Owner>,
}

impl SimStorage {
    fn gone(&self, why: &str) -> CommitError {
        self.world.died(&self.owner, why);
        self.owner.die();
        CommitError::Storage(why.to_owned())
    }

    fn write(&self, id: TaskId, event: Event, moment: &Moment) -> Result<Committed, CommitError> {
        if self.world.breaks == Some(Break::ForgetsCommits) {
            self.shelf.before.replace(Some(self.shelf.cells.clone()));
        }
        let name = short(&event, 14);
        let committed = commit(&self.shelf.cells, id, event, moment)?;
        let state = committed.stored.as_ref().map(|s| {
            let task = &s.task;
            format!("{} attempts {}", short(&task.state, 70), task.attempts)
        });
        let (reply, state) = (short(&committed.reply, 12), state.unwrap_or_default());
        let what = format!("{name:<14} => {reply:<12} {state}");
        let alarm = committed.alarm_ms.map(|at| {
            let ahead = i128::from(at) - i128::from(self.world.now_ms());
            format!(", rings in {ahead} ms")
        });
        let what = what + &alarm.unwrap_or_default();
        self.world.tell("object", &id.to_string(), what);
        Ok(committed)
    }
}

impl ObjectStorage for SimStorage {
    fn cells(&self) -> &dyn Cells {
        &self.shelf.cells
    }

    fn commit(&self, id: TaskId, event: Event, moment: Moment) -> Result<Committed, CommitError> {
        if !self.owner.is_alive() {
            return Err(CommitError::Storage("this instance is gone".into()));
        }
        let subject = id.to_string();
        if matches!(event, Event::AlarmFired) && self.world.curses(&subject) {
            return Err(CommitError::Storage(
                "the disk fails whenever the alarm rings".into(),
            ));
        }
        match self.world.strikes(&self.owner, &subject, "commit", COMMIT) {
            Some(Fault::CrashBefore) => Err(self.gone("dies before it has written")),
            Some(Fault::Fail) => {
                commit(&self.shelf.cells.clone(), id, event, &moment)?;
                Err(CommitError::Storage("the disk failed; rolled back".into()))
            }
            Some(_) => {
                let committed = self.write(id, event, &moment)?;
                self.gone("dies after it has written");
                Ok(committed)
            }
            None => self.write(id, event, &moment),
        }
    }

    fn set_alarm(&self, at_ms: u64) -> Later<Result<(), String>> {
        let subject = self.shelf.id.to_string();
        // Some disks fail so completely while the alarm rings that no other one can be set.
        if self.shelf.ringing.get() && self.world.curses_wholly(&subject) {
            return Box::pin(ready(Err("the disk fails".into())));
        }
        self.shelf.set_alarm(&self.world, at_ms);
        Box::pin(ready(Ok(())))
    }

    fn alarm_ms(&self) -> Later<Result<Option<u64>, String>> {
        Box::pin(ready(Ok(self.shelf.alarm_ms.get())))
    }

    fn delete_all(&self) -> Later<Result<(), String>> {
        let subject = self.shelf.id.to_string();
        let now_ms = self.world.clock_ms(&self.owner);
        if let Some(stored) = self.shelf.task_state() {
            let dead =
                matches!(stored.task.state, State::Forgotten) || stored.task.is_expired(now_ms);
            if !dead {
                let what = format!(
                    "{} is deleted while it lives",
                    short(&stored.task.state, 40)
                );
                self.world.breaks_rule(&subject, what);
            }
        }
        self.world.check_tombstone(&subject);
        self.world
            .tell("object", &subject, "everything is deleted".into());
        self.shelf.cells.clear();
        self.shelf.alarm_ms.set(None);
        Box::pin(ready(Ok(())))
    }
}
