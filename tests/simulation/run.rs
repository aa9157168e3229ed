//! One simulation from its beginning to its end.

use crate::chance::{Fate, Place};
use crate::exec::{Event, Job};
use crate::figures::Figures;
use crate::history::{self, Wrong};
use crate::objects::shelf;
use crate::reuse::Reused;
use crate::town::{self, Resident};
use crate::workers;
use crate::world::{Break, World};
use onceward::protocol::State;
use onceward::types::TaskId;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Senders act for so long.
const SENDING_MS: u64 = 120_000;
/// Faults strike for so long.
const RAGE_MS: u64 = 300_000;
/// Then everything has to come to rest by itself: the longest back-offs are 15 minutes.
const ALONE_MS: u64 = 45 * 60_000;
/// What needs a delivery or a signal gets it, and has this long.
const HELPED_MS: u64 = 60 * 60_000;
/// A failed task that can be resumed goes on with the next delivery; so often it is sent.
const ROUNDS: usize = 12;
const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
/// Failures are kept for 30 days, tombstones for one more.
const AFTERLIFE_MS: u64 = 33 * 24 * HOUR_MS;
/// Keys below this number are kept for days, the others for seconds.
const LASTING: usize = 8;
/// Senders of one key.
const SENDERS: u32 = 3;

#[derive(Clone, Debug)]
pub struct Setting {
    pub seed: u64,
    /// Keys that take part, by number.
    pub keys: Vec<usize>,
    /// Faults that are left out.
    pub spared: BTreeSet<Place>,
    pub breaks: Option<Break>,
}

impl Setting {
    pub fn of(seed: u64) -> Self {
        Self {
            seed,
            keys: (0..LASTING + 2).collect(),
            spared: BTreeSet::new(),
            breaks: None,
        }
    }
}

/// What came of a simulation.
pub struct Outcome {
    pub wrong: Vec<Wrong>,
    pub struck: Vec<Place>,
    /// Which faults have struck which kinds of effect.
    pub kinds: BTreeSet<(String, &'static str)>,
    /// Story of the first key that something is wrong with.
    pub story: String,
    /// The key's number.
    pub culprit: Option<usize>,
    pub figures: Figures,
    /// Stands for everything that happened.
    pub print: u64,
}

struct Run {
    world: Rc<World>,
    residents: Vec<Rc<Resident>>,
    reused: Vec<Rc<Reused>>,
}

/// Runs one simulation, and judges it.
pub fn run(setting: &Setting) -> Outcome {
    // Some seeds are quiet, some rage.
    let strength = [40, 100, 100, 250][usize::try_from(setting.seed % 4).unwrap_or(0)];
    let fate = Fate::new(setting.seed, strength, setting.spared.clone());
    let world = World::new(fate, setting.breaks);
    let (lasting, reused): (Vec<usize>, Vec<usize>) =
        setting.keys.iter().partition(|n| **n < LASTING);
    let run = Run {
        residents: lasting
            .iter()
            .map(|n| Resident::new(setting.seed, *n))
            .collect(),
        reused: reused.iter().map(|n| Reused::new(*n)).collect(),
        world,
    };
    run.rages();
    run.comes_to_rest();
    let calm_from = RAGE_MS;
    let history = town::history(&run.world, &run.residents, calm_from);
    let verdict = history::judge(&history);
    let deliveries = history.keys.iter().map(|k| k.deliveries.len()).sum();
    let judged = verdict.wrong.is_empty() && run.world.broken.borrow().is_empty();
    if judged && setting.breaks.is_none() {
        run.is_forgotten();
    }
    run.outcome(setting, verdict, deliveries)
}

impl Run {
    fn spawn(&self, job: Job) {
        self.world
            .exec
            .spawn(&self.world.network, Event::first(), job);
    }

    fn passes(&self, ms: u64) {
        self.world.exec.run_until(self.world.now_ms() + ms);
    }

    fn rages(&self) {
        for resident in &self.residents {
            // A new key every few seconds.
            let begins = self
                .world
                .fate
                .below(&resident.id(), "begins", SENDING_MS / 2);
            for who in 0..SENDERS {
                let (resident, world) = (Rc::clone(resident), Rc::clone(&self.world));
                self.spawn(Box::pin(async move {
                    world.exec.sleep(begins).await;
                    resident.lives(world, who, SENDING_MS).await;
                }));
            }
        }
        for reused in &self.reused {
            for who in 0..SENDERS {
                let (reused, world) = (Rc::clone(reused), Rc::clone(&self.world));
                self.spawn(Box::pin(reused.lives(world, who, RAGE_MS)));
            }
        }
        self.deploys();
        for _ in 0..RAGE_MS / MINUTE_MS {
            self.passes(MINUTE_MS);
            self.cron();
        }
    }

    /// One scheduled run; missed or doubled now and then.
    fn cron(&self) {
        let calm = self.world.fate.is_calm() || self.world.breaks == Some(Break::NoClock);
        let times = match self.world.fate.below("cron", "missed", 8) {
            _ if self.world.breaks == Some(Break::NoClock) => 0,
            _ if calm => 1,
            0 => 0,
            1 => 2,
            _ => 1,
        };
        (0..times).for_each(|_| workers::cron(&self.world));
        self.world.check_rows();
    }

    /// Now and then all objects start anew, within half a minute.
    fn deploys(&self) {
        let fate = &self.world.fate;
        for n in 0..fate.below("", "deploys", 3) {
            let at = fate.below("", "deploy", SENDING_MS);
            let world = Rc::clone(&self.world);
            self.spawn(Box::pin(async move {
                world.exec.sleep(at).await;
                world.tell("platform", "", format!("deploy {n}"));
                world.deploying_until.set(world.now_ms() + 60_000);
                let shelves: Vec<_> = world.objects.borrow().values().cloned().collect();
                for shelf in shelves {
                    world
                        .exec
                        .sleep(world.fate.below("", "replaced", 2_000))
                        .await;
                    shelf.reset(&world, "is replaced by the deploy");
                }
            }));
        }
    }

    fn comes_to_rest(&self) {
        self.world.fate.calms();
        self.world.tell("simulation", "", "faults stop".into());
        for _ in 0..ALONE_MS / MINUTE_MS {
            self.passes(MINUTE_MS);
            self.cron();
        }
        self.is_alone_at_rest();
        self.reused
            .iter()
            .for_each(|reused| reused.judge(&self.world));
        let all = &self.residents;
        let mut left: Vec<Rc<Resident>> = all.clone();
        for round in 0..ROUNDS {
            self.each(&left, |resident, world, until| {
                Box::pin(resident.rests(world, until))
            });
            if round > 0 {
                left.retain(|resident| resident.is_resumable());
            }
            if left.is_empty() {
                break;
            }
            self.deliver(&left);
        }
        self.each(all, |resident, world, until| {
            Box::pin(resident.rests(world, until))
        });
        self.deliver(all);
        self.passes(20 * MINUTE_MS);
        self.each(all, |resident, world, _| {
            Box::pin(resident.looks_closely(world))
        });
    }

    fn deliver(&self, to: &[Rc<Resident>]) {
        self.each(to, |resident, world, _| {
            Box::pin(async move { resident.deliver(&world, 0, false, None).await })
        });
    }

    /// Has everybody do something, and waits until all have, or time is up.
    fn each(&self, all: &[Rc<Resident>], job: impl Fn(Rc<Resident>, Rc<World>, u64) -> Job) {
        let until = self.world.elapsed_ms() + HELPED_MS;
        let left = Rc::new(std::cell::Cell::new(all.len()));
        for resident in all {
            let job = job(Rc::clone(resident), Rc::clone(&self.world), until);
            let left = Rc::clone(&left);
            self.spawn(Box::pin(async move {
                job.await;
                left.set(left.get() - 1);
            }));
        }
        while left.get() > 0 && self.world.elapsed_ms() < until + MINUTE_MS {
            self.passes(1_000);
        }
    }

    /// Nothing may wait for somebody to look at it. Only where an alarm was lost while D1 has not heard of how it
    /// stands, nobody can know.
    fn is_alone_at_rest(&self) {
        for (id, shelf) in self.world.objects.borrow().iter() {
            let Some(stored) = shelf.task_state() else {
                continue;
            };
            let moves = match &stored.task.state {
                State::Running => true,
                State::Suspended(waiting) => !format!("{waiting:?}").contains("Signal"),
                _ => false,
            };
            let id = id.to_string();
            let row = self.world.database.row(&id);
            let unaware = row.is_none_or(|row| row.due_ms > self.world.now_ms());
            let behind = stored.task.outbox.is_owing() || unaware;
            let unknown = shelf.lost_alarm.get() && behind;
            // A parent waits for a child that waits for a signal or is not known.
            let family = format!("{:?}", stored.task.state).contains("Child");
            if moves && !unknown && !family && self.world.breaks.is_none() {
                let what = format!("it does not go on by itself: {:?}", stored.task.state);
                self.world.breaks_rule(&id, what);
            }
        }
    }

    /// After their time everything is gone, in both stores, and the keys are new.
    fn is_forgotten(&self) {
        let world = &self.world;
        world.fate.rages();
        for hour in 0..AFTERLIFE_MS / HOUR_MS {
            if hour == (AFTERLIFE_MS / HOUR_MS) * 9 / 10 {
                world.fate.calms();
            }
            self.passes(HOUR_MS);
            self.cron();
        }
        self.passes(MINUTE_MS);
        for resident in &self.residents {
            let waits = resident.known.borrow().end_state() == "suspended";
            if resident.is_kept(world) && !waits {
                world.breaks_rule(&resident.id(), "its object is not forgotten".into());
            }
            let mut family = resident.family().into_iter();
            if !waits && family.any(|id| world.database.row(&id).is_some()) {
                world.breaks_rule(&resident.id(), "its row is not cleaned up".into());
            }
        }
        for reused in &self.reused {
            let id = TaskId::parse(&reused.task_id);
            let kept = |id| !shelf(world, id).cells.names().is_empty();
            if id.is_some_and(kept) || world.database.row(&reused.task_id).is_some() {
                world.breaks_rule(&reused.task_id, "something of it is left".into());
            }
        }
        self.begins_anew();
    }

    fn begins_anew(&self) {
        let world = &self.world;
        let generation = |resident: &Resident| {
            let id = TaskId::parse(&resident.id())?;
            let objects = world.objects.borrow();
            Some(objects.get(&id)?.task_state()?.task.generation)
        };
        let seen: Vec<u64> = self
            .residents
            .iter()
            .map(|resident| {
                let known = resident.known.borrow();
                let looks = known
                    .looks
                    .iter()
                    .filter_map(|l| l.document["generation"].as_u64());
                looks.max().unwrap_or(0)
            })
            .collect();
        self.deliver(&self.residents);
        for (resident, before) in self.residents.iter().zip(seen) {
            let waits = resident.known.borrow().end_state() == "suspended";
            let now = generation(resident).unwrap_or(0);
            if !waits && now <= before {
                let what = format!("its key is used again: generation {now} after {before}");
                world.breaks_rule(&resident.id(), what);
            }
        }
    }

    fn outcome(&self, setting: &Setting, verdict: history::Verdict, deliveries: usize) -> Outcome {
        let world = &self.world;
        let mut wrong = verdict.wrong;
        let cast = self.cast();
        for (subject, what) in world.broken.borrow().iter() {
            let mut all = cast.iter();
            let key = all.find(|(_, family)| family.contains(subject));
            wrong.push(Wrong {
                key: key.map_or_else(|| subject.clone(), |(key, _)| key.clone()),
                rule: "a rule of the simulation",
                what: what.clone(),
            });
        }
        let first = wrong.first().map(|w| w.key.clone());
        let culprit = first.and_then(|first| cast.iter().position(|(key, _)| *key == first));
        let counts = &world.counts;
        let repeats = verdict.repeats;
        let calls = world.outside.calls();
        Outcome {
            story: culprit
                .map(|n| town::story(world, &cast[n].0, &cast[n].1))
                .unwrap_or_default(),
            culprit: culprit.map(|n| setting.keys[n]),
            kinds: world.fate.kinds(),
            struck: world.fate.struck(),
            figures: Figures {
                deliveries,
                calls: calls.len(),
                undos: calls.iter().filter(|call| call.undoes.is_some()).count(),
                repeats: repeats.killed + repeats.failed + repeats.timed_out + repeats.cut,
                reused: self.reused.iter().map(|r| r.lives_had(world)).sum(),
                lost: verdict.lost,
                wrong: wrong.len(),
                messages: counts.messages.get(),
                faults: world.fate.struck().len(),
                deaths: counts.deaths.get(),
                resets: counts.resets.get(),
                alarms: counts.alarms.get(),
                alarms_dropped: counts.alarms_dropped.get(),
                hops: counts.hops.get(),
                deepest: counts.deepest.get(),
                d1_calls: counts.d1_calls.get(),
                cron_runs: counts.cron_runs.get(),
                cut_off: counts.cut_off.get(),
                virtual_ms: world.elapsed_ms(),
            },
            print: self.print(),
            wrong,
        }
    }

    /// Every key, in the order of their numbers, with the ids of its task and of those that it begins.
    fn cast(&self) -> Vec<(String, Vec<String>)> {
        let lasting = self.residents.iter().map(|resident| {
            let key = resident.known.borrow().key.clone();
            (key, resident.family())
        });
        let reused = self
            .reused
            .iter()
            .map(|r| (r.key.clone(), vec![r.task_id.clone()]));
        lasting.chain(reused).collect()
    }

    fn print(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        for line in self.world.story.borrow().iter() {
            (line.at_ms, &line.actor, &line.subject, &line.what).hash(&mut hasher);
        }
        hasher.finish()
    }
}
