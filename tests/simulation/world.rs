//! What everybody in a simulation shares, and what is written down of it.

use crate::chance::{Fate, Fault, Odds};
use crate::d1::Database;
use crate::exec::{Event, Exec, Job, Owner};
use crate::objects::Shelf;
use crate::outside::{self, Outside};
use onceward::config::{Builder, Gateway, Source};
use onceward::function::Function;
use onceward::protocol::State;
use onceward::runtime::{App, Tally};
use onceward::types::TaskId;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// When every simulation begins: 2026-11-29, so that times look like times.
pub const START_MS: u64 = 1_796_000_000_000;
/// The API token of the deployment.
pub const TOKEN: &str = "simulated-token";
/// The clock of an invocation is off by up to this much, either way.
pub const WORKER_SKEW_MS: u64 = 1_500;
/// That of an object, where it is now. When it starts on another machine, leases end earlier by up to twice as
/// much than they were granted for, which their margin has to cover.
pub const OBJECT_SKEW_MS: u64 = 400;

/// Alarms whose runs always fail do so until then; the platform gives one up after some two minutes.
const CURSED_MS: u64 = 280_000;

/// What somebody did or met, for the story of a failure.
pub struct Line {
    pub at_ms: u64,
    pub actor: String,
    pub subject: String,
    pub what: String,
}

/// A deliberate break of the platform, by which the checker shows that it can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// An object that dies forgets what it had said was written.
    ForgetsCommits,
    /// A second instance of an object goes on beside the first one, on a copy of its storage.
    TwoInstances,
    /// Alarms never ring, and cron never runs.
    NoClock,
    /// D1 takes whatever comes last, whatever its version.
    LastWriteWins,
}

/// Counts that must be zero, or that people want to see.
#[derive(Default)]
pub struct Counts {
    pub messages: Cell<u64>,
    pub deaths: Cell<u64>,
    pub resets: Cell<u64>,
    pub alarms: Cell<u64>,
    pub alarms_dropped: Cell<u64>,
    pub hops: Cell<u64>,
    pub deepest: Cell<u32>,
    pub d1_calls: Cell<u64>,
    pub cron_runs: Cell<u64>,
    pub cut_off: Cell<u64>,
}

pub fn add(cell: &Cell<u64>) {
    cell.set(cell.get() + 1);
}

pub struct World {
    pub exec: Rc<Exec>,
    pub fate: Fate,
    pub app: Result<App, Vec<onceward::config::ConfigProblem>>,
    pub objects: RefCell<BTreeMap<TaskId, Rc<Shelf>>>,
    pub database: Database,
    pub outside: Outside,
    pub story: RefCell<Vec<Line>>,
    /// When somebody died or was cut off who worked for a task.
    pub deaths: RefCell<BTreeMap<String, Vec<u64>>>,
    /// Things that must not be, whoever sees them.
    pub broken: RefCell<Vec<(String, String)>>,
    pub counts: Counts,
    pub tally: Tally,
    pub endpoints: Rc<onceward::config::Endpoints>,
    /// Who carries messages: it never dies.
    pub network: Rc<Owner>,
    /// Until then old and new releases talk to each other.
    pub deploying_until: Cell<u64>,
    /// When D1 does not work at all, in milliseconds since the beginning: from, to.
    outages: Vec<(u64, u64)>,
    pub breaks: Option<Break>,
    drawn: Cell<u64>,
}

fn app() -> Result<App, Vec<onceward::config::ConfigProblem>> {
    let functions = onceward::functions::all().into_iter();
    functions
        .fold(Builder::<Function>::new(), Builder::function)
        .source(Source::generic("lab").runs("lab"))
        .gateway(Gateway::to("known", &outside::url("")).honours_keys())
        .gateway(Gateway::to("unsure", &outside::url("")))
        .build()
}

impl World {
    pub fn new(fate: Fate, breaks: Option<Break>) -> Rc<Self> {
        let outages = (0..fate.number("", "outages", 0) % 3).map(|n| {
            let n = u32::try_from(n).unwrap_or(0);
            let from = fate.number("", "outage begins", n) % 100_000;
            (
                from,
                from + 1_000 + fate.number("", "outage lasts", n) % 60_000,
            )
        });
        Rc::new(Self {
            outages: outages.collect(),
            exec: Exec::new(START_MS),
            fate,
            app: app(),
            objects: RefCell::default(),
            database: Database::new(breaks == Some(Break::LastWriteWins)),
            outside: Outside::default(),
            story: RefCell::default(),
            deaths: RefCell::default(),
            broken: RefCell::default(),
            counts: Counts::default(),
            tally: Tally::default(),
            endpoints: Rc::default(),
            network: Owner::new("network", "", 0),
            deploying_until: Cell::new(0),
            breaks,
            drawn: Cell::new(0),
        })
    }

    pub fn now_ms(&self) -> u64 {
        self.exec.now_ms()
    }

    /// Since the simulation began.
    pub fn elapsed_ms(&self) -> u64 {
        self.now_ms() - START_MS
    }

    /// Whether D1 is out of order as a whole.
    pub fn is_d1_out(&self) -> bool {
        let now = self.elapsed_ms();
        let out = self
            .outages
            .iter()
            .any(|(from, to)| (*from..*to).contains(&now));
        out && !self.fate.is_calm()
    }

    /// Whether nobody reaches this object for now, though it is there: for longer than a slice lasts, or less.
    pub fn is_cut_off(&self, subject: &str) -> bool {
        let of = |what: &str, n: u64| self.fate.number(subject, what, 0) % n;
        let from = of("cut off since", 60_000);
        let lasts = 2_000 + of("cut off for", 12_000);
        let now = self.elapsed_ms();
        of("cut off", 5) == 0 && !self.fate.is_calm() && (from..from + lasts).contains(&now)
    }

    /// Whether each run of this object's alarm fails for now: until the platform gives it up.
    pub fn curses(&self, subject: &str) -> bool {
        let is_cursed = self.fate.number(subject, "cursed", 0).is_multiple_of(12);
        let since = self.fate.number(subject, "cursed since", 0) % (CURSED_MS / 2);
        is_cursed && !self.fate.is_calm() && (since..CURSED_MS).contains(&self.elapsed_ms())
    }

    /// Whether not even another alarm can be set then.
    pub fn curses_wholly(&self, subject: &str) -> bool {
        self.curses(subject) && self.was_cursed_wholly(subject)
    }

    /// Whether it could not be set at some time.
    pub fn was_cursed_wholly(&self, subject: &str) -> bool {
        let wholly = self.fate.number(subject, "cursed wholly", 0);
        wholly.is_multiple_of(2)
    }

    /// D1 must hold a row of every task that it was said to know, until the task is dead.
    pub fn check_rows(&self) {
        for (id, shelf) in self.objects.borrow().iter() {
            let Some(stored) = shelf.task_state() else {
                continue;
            };
            let task = &stored.task;
            let id = id.to_string();
            let acknowledged = task.outbox.flushed_n > 0 && !task.outbox.is_owing();
            let dead = matches!(task.state, State::Forgotten)
                || task.is_expired(self.now_ms() + OBJECT_SKEW_MS);
            if !acknowledged || dead {
                continue;
            }
            let row = self.database.row(&id);
            if row.is_none_or(|row| row.state == "forgotten") {
                self.breaks_rule(&id, "its row was deleted while it lives".into());
            }
        }
    }

    /// An object that is deleted has told D1 before.
    pub fn check_tombstone(&self, subject: &str) {
        let row = self.database.row(subject);
        if let Some(row) = row.filter(|row| row.state != "forgotten") {
            let what = format!("everything is deleted while D1 has it as {}", row.state);
            self.breaks_rule(subject, what);
        }
    }

    /// The current time on a clock of one's own.
    pub fn clock_ms(&self, owner: &Owner) -> u64 {
        self.now_ms().saturating_add_signed(owner.skew_ms)
    }

    /// How far a new clock is off.
    pub fn skew_ms(&self, subject: &str, most_ms: u64) -> i64 {
        let off = self.fate.below(subject, "skew", 2 * most_ms + 1);
        i64::try_from(off).unwrap_or(0) - i64::try_from(most_ms).unwrap_or(0)
    }

    /// A value that was never drawn before.
    pub fn draw(&self) -> String {
        self.drawn.set(self.drawn.get() + 1);
        let n = u32::try_from(self.drawn.get()).unwrap_or(0);
        format!("{:016x}-{n}", self.fate.number("", "token", n))
    }

    /// Begins something that nobody's death ends.
    pub fn carry(&self, job: Job) {
        let event = self.exec.event();
        self.exec.spawn(&self.network, event, job);
    }

    /// How long a message is on its way: mostly some milliseconds, sometimes seconds.
    pub async fn travels(&self, subject: &str, point: &str) {
        let dice = self.fate.next(subject, &format!("{point} way"));
        let slow = !self.fate.is_calm() && dice.is_multiple_of(50);
        let ms = 1 + (dice >> 8) % if slow { 2_000 } else { 15 };
        self.exec.sleep(ms).await;
    }

    /// What goes wrong with the next effect at this place.
    pub fn strikes(&self, owner: &Owner, subject: &str, point: &str, odds: Odds) -> Option<Fault> {
        let fault = self.fate.strikes(subject, point, odds)?;
        self.tell(&owner.name, subject, format!("{point}: {fault:?}"));
        Some(fault)
    }

    /// Writes down what somebody did or met.
    pub fn tell(&self, actor: &str, subject: &str, what: String) {
        self.story.borrow_mut().push(Line {
            at_ms: self.elapsed_ms(),
            actor: actor.to_owned(),
            subject: subject.to_owned(),
            what,
        });
    }

    /// Writes down that somebody who worked for a task is no more.
    pub fn died(&self, owner: &Owner, why: &str) {
        add(&self.counts.deaths);
        self.tell(&owner.name, &owner.subject, why.to_owned());
        let mut deaths = self.deaths.borrow_mut();
        let of = deaths.entry(owner.subject.clone()).or_default();
        of.push(self.elapsed_ms());
    }

    /// Has whoever runs now die before it hears of anything else.
    pub async fn dies(&self, owner: &Owner, why: &str) {
        self.died(owner, why);
        owner.die();
        std::future::pending::<()>().await;
    }

    /// Something that must not be.
    pub fn breaks_rule(&self, subject: &str, what: String) {
        self.tell("simulation", subject, format!("RULE BROKEN: {what}"));
        self.broken.borrow_mut().push((subject.to_owned(), what));
    }

    /// A limit of the platform was run into: the runtime has to stop before.
    pub fn over_limit(&self, owner: &Owner, error: &str) {
        let subject = owner.subject.clone();
        self.breaks_rule(&subject, format!("{} ran into: {error}", owner.name));
    }

    /// Ends an invocation after this long, as the platform does to what goes on after the answer.
    pub fn cut_off_after(self: &Rc<Self>, ms: u64, owner: Rc<Owner>) {
        let world = Rc::clone(self);
        let event = Event::first();
        let job = async move {
            world.exec.sleep(ms).await;
            if world.exec.kill(&owner) {
                add(&world.counts.cut_off);
                world.died(&owner, "is cut off by the platform");
            }
        };
        self.exec.spawn(&self.network, event, Box::pin(job));
    }
}
