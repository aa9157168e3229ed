//! The model for the checker: what can happen next, and what must always hold.

use crate::events::{event, signal};
use crate::monitor as m;
use crate::object::Setting;
use crate::settle;
use crate::sights::Sight;
use crate::slices::Work;
use crate::world::{Left, Message, Slice, Wire, World};
use onceward::protocol::{Event, Reply};
use stateright::{Model, Property};

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// A sender sends a body.
    Deliver {
        print: u8,
    },
    /// A message reaches the object, or D1; the reply reaches its sender.
    Arrive(Wire),
    /// It arrives, the reply is lost, and it is sent once more.
    Again(Wire),
    /// It arrives, and a copy of it later.
    Copied(Wire),
    /// It arrives, and the object dies after its commit; nobody hears of it.
    Cut(Wire),
    /// A ticket is carried to a second slice.
    Twin(Wire),
    /// A write to D1 is given up, and may still arrive.
    GivenUp(Wire),
    /// A write to D1 arrives, and is taken for failed.
    Unheard(Wire),
    Work(Slice, Work),
    Alarm,
    /// It rings, and the object dies after its commit.
    AlarmCut,
    /// It rings, and will ring again.
    AlarmTwice,
    AlarmEarly,
    AlarmLost,
    Poke,
    Crash,
    Tick,
    StepBack,
    Cancel,
    Signal,
    Delete,
}

/// One bound of the search.
#[derive(Clone, Debug)]
pub struct Bound {
    pub left: Left,
    pub setting: Setting,
}

impl Bound {
    fn wires(world: &World, acts: &mut Vec<Act>) {
        let left = &world.left;
        for wire in &world.wires {
            let wire = wire.clone();
            acts.push(Act::Arrive(wire.clone()));
            if wire.is_for_d1() {
                if left.late > 0 && !wire.echo {
                    acts.push(Act::GivenUp(wire.clone()));
                    acts.push(Act::Unheard(wire.clone()));
                }
            } else if left.double > 0 && !wire.echo {
                acts.push(Act::Again(wire.clone()));
                acts.push(Act::Copied(wire.clone()));
                if matches!(wire.message, Message::Claim { .. }) {
                    acts.push(Act::Twin(wire.clone()));
                }
            }
            if left.crash > 0 && !wire.echo {
                acts.push(Act::Cut(wire));
            }
        }
    }

    fn surroundings(world: &World, acts: &mut Vec<Act>) {
        let left = &world.left;
        let mut may = |yes: bool, act: Act| acts.extend(yes.then_some(act));
        let known = world.task.is_some();
        may(left.same > 0, Act::Deliver { print: 0 });
        may(left.other > 0, Act::Deliver { print: 1 });
        may(left.ticks > 0, Act::Tick);
        let due = world.alarm.is_some_and(|at| at <= world.clock());
        may(due, Act::Alarm);
        may(due && left.crash > 0, Act::AlarmCut);
        may(due && left.alarm > 0, Act::AlarmTwice);
        may(
            world.alarm.is_some() && !due && left.alarm > 0,
            Act::AlarmEarly,
        );
        may(world.alarm.is_some() && left.alarm > 0, Act::AlarmLost);
        may(known && world.alarm_lost, Act::Poke);
        may(known && left.crash > 0, Act::Crash);
        may(known && left.back > 0 && world.real > 0, Act::StepBack);
        may(known && left.cancel > 0, Act::Cancel);
        may(known && left.signal > 0, Act::Signal);
        may(known && left.delete > 0, Act::Delete);
    }

    /// A message arrives. `heard`: so does its reply.
    pub fn arrive(&self, world: &mut World, wire: &Wire, cut: bool, heard: bool) {
        let setting = &self.setting;
        if wire.is_for_d1() {
            if wire.echo {
                world.d1_late(setting, wire);
            } else {
                world.d1_answers(setting, &wire.message, true, cut);
            }
            return;
        }
        let Some(event) = event(world, wire, setting.undo) else {
            return;
        };
        let reply = world.apply(setting, &event, cut);
        if let (true, Some(lease)) = (wire.accepted, wire.lease()) {
            let ends = matches!(
                wire.message,
                Message::Finish { .. } | Message::Suspend { .. }
            );
            if ends {
                m::repeated(world, lease, &reply);
            }
        }
        if heard && !wire.echo {
            world.hear(setting, wire, &reply);
        }
    }

    fn through(&self, world: &mut World, act: Act) {
        let setting = &self.setting;
        match act {
            Act::Arrive(wire) => {
                world.wires.retain(|w| *w != wire);
                self.arrive(world, &wire, false, true);
            }
            Act::Again(wire) => {
                world.left.double -= 1;
                self.stays(world, &wire, false, false);
            }
            Act::Copied(wire) => {
                world.left.double -= 1;
                self.stays(world, &wire, true, false);
            }
            Act::Cut(wire) => {
                world.left.crash -= 1;
                if wire.is_for_d1() {
                    world.wires.retain(|w| *w != wire);
                    self.arrive(world, &wire, true, false);
                } else {
                    self.stays(world, &wire, false, true);
                }
            }
            Act::Twin(wire) => {
                world.left.double -= 1;
                if let Message::Claim { op, ticket } = wire.message {
                    let (op, ticket) = (format!("{op}-twin"), ticket);
                    world.send(Message::Claim { op, ticket }, 0);
                }
            }
            Act::GivenUp(wire) | Act::Unheard(wire) if wire.echo => {
                world.wires.retain(|w| *w != wire);
            }
            Act::GivenUp(wire) => {
                world.left.late -= 1;
                if let Some(at) = world.wires.iter().position(|w| *w == wire) {
                    world.wires[at].echo = true;
                }
                world.d1_answers(setting, &wire.message, false, false);
            }
            Act::Unheard(wire) => {
                world.left.late -= 1;
                world.wires.retain(|w| *w != wire);
                world.d1_late(setting, &wire);
                world.d1_answers(setting, &wire.message, false, false);
            }
            Act::Work(slice, work) => world.work(setting, slice.lease, work),
            other => self.happens(world, &other),
        }
    }

    /// A message arrives and is still in flight, as a copy that nobody waits for or as a second try.
    fn stays(&self, world: &mut World, wire: &Wire, echo: bool, cut: bool) {
        world.wires.retain(|w| w != wire);
        let before = world.ended_by;
        self.arrive(world, wire, cut, echo);
        let ended = world.ended_by != before;
        world.wires.push(Wire {
            echo,
            accepted: wire.accepted || (ended && wire.lease() == Some(world.ended_by)),
            ..wire.clone()
        });
    }

    fn happens(&self, world: &mut World, act: &Act) {
        let setting = &self.setting;
        match act {
            Act::Deliver { print } => {
                if *print == 0 {
                    world.left.same -= 1;
                } else {
                    world.left.other -= 1;
                }
                world.delivered += 1;
                let op = format!("begin-{}", world.delivered);
                world.send(Message::Begin { op, print: *print }, 0);
            }
            Act::Alarm => settle::ring(world, setting, false),
            Act::AlarmCut => {
                world.left.crash -= 1;
                settle::ring(world, setting, true);
            }
            Act::AlarmTwice | Act::AlarmEarly => {
                world.left.alarm -= 1;
                let at = world.alarm;
                settle::ring(world, setting, false);
                if world.task.is_some() && *act == Act::AlarmTwice {
                    let soon = world.clock() + 1;
                    world.alarm = world.alarm.map_or(at, |set| Some(set.min(soon)));
                }
            }
            Act::AlarmLost => {
                world.left.alarm -= 1;
                (world.alarm, world.alarm_lost) = (None, true);
            }
            Act::Poke => {
                world.alarm_lost = false;
                world.apply(setting, &Event::Poke, false);
                if world.alarm.is_some() {
                    setting.sights.saw(Sight::AlarmRestored);
                }
            }
            Act::Crash => {
                world.left.crash -= 1;
                world.crash();
            }
            Act::Tick => {
                world.left.ticks -= 1;
                world.real += 1;
            }
            Act::StepBack => {
                world.left.back -= 1;
                world.back += 1;
            }
            Act::Cancel => {
                world.left.cancel -= 1;
                let op = "cancel".to_owned();
                world.apply(setting, &Event::Cancel { op }, false);
            }
            Act::Signal => {
                world.left.signal -= 1;
                let reply = world.apply(setting, &signal(world), false);
                let kept = matches!(reply, Reply::Signalled { repeated: false });
                if kept && world.task.as_ref().is_some_and(|t| !t.unread.is_empty()) {
                    setting.sights.saw(Sight::SignalKept);
                }
            }
            Act::Delete => {
                world.left.delete -= 1;
                world.apply(setting, &Event::Delete, false);
            }
            _ => {}
        }
    }
}

impl Model for Bound {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.left)]
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        if !world.broken.is_empty() {
            return;
        }
        Self::wires(world, acts);
        for slice in &world.slices {
            let works = world.works(&self.setting, slice).into_iter();
            acts.extend(works.map(|work| Act::Work(slice.clone(), work)));
        }
        Self::surroundings(world, acts);
    }

    fn next_state(&self, last: &World, act: Act) -> Option<World> {
        let mut world = last.clone();
        self.through(&mut world, act);
        let world = world.tidied();
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn holds(world: &World, name: &str) -> bool {
            !world.broken.contains(&name)
        }
        macro_rules! watched {
            ($($name:expr),*) => { vec![$(Property::always($name, |_, w: &World| holds(w, $name))),*] };
        }
        let mut all: Vec<Property<Self>> = watched![
            m::LEASE,
            m::TICKET,
            m::STALE,
            m::RECORD,
            m::FINAL,
            m::REPEAT,
            m::EFFECT,
            m::ANSWER,
            m::LIVING,
            m::ATTEMPTS,
            m::WISH,
            m::UNDONE
        ];
        all.push(Property::always(m::ALONE, |_, w| m::acts_alone(w)));
        all.push(Property::always(m::ALARM, |_, w| m::has_alarm(w)));
        all.push(Property::always(m::PROJECTED, |_, w| m::is_projected(w)));
        all.push(Property::always(m::BURIED, |_, w| m::is_buried(w)));
        all.push(Property::always(m::ENDS, |bound: &Self, w| {
            settle::ends(bound, w)
        }));
        all
    }
}
