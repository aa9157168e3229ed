//! The model for the checker: what can happen next, and what must always hold.

use crate::monitor as m;
use crate::object::Setting;
use crate::settle;
use crate::slices::Work;
use crate::states as s;
use crate::world::{Left, Message, Pace, Slice, Wire, World};
use onceward::protocol::{State, Waiting};
use stateright::{Model, Property};

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// A sender sends a body.
    Deliver {
        print: u8,
    },
    /// A message reaches the object, D1 or another task; the reply reaches its sender.
    Arrive(Wire),
    /// A claim arrives, and the clock of its slice turns out to run slow (1) or fast (-1).
    Skewed(Wire, i8),
    /// It arrives, the reply is lost, and it is sent once more.
    Again(Wire),
    /// It arrives, and a copy of it later.
    Copied(Wire),
    /// It arrives, and the object dies after its commit; nobody hears of it.
    Cut(Wire),
    /// A ticket is carried to a second slice.
    Twin(Wire),
    /// A message to D1 or another task is given up, and may still arrive.
    GivenUp(Wire),
    /// It arrives, and is taken for failed.
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
    Signal,
    ChildEnds,
    Steer(Steer),
    /// The last operation of an operator is sent once more.
    SteerAgain,
    Delete,
}

/// What an operator does. A child is cancelled by its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Steer {
    Cancel,
    Retry,
    RetryFrom,
    Undo,
}

/// One bound of the search.
#[derive(Clone, Debug)]
pub struct Bound {
    pub left: Left,
    pub pace: Pace,
    pub setting: Setting,
    /// Looks at this property alone, and stops where it breaks.
    pub only: Option<&'static str>,
}

impl Bound {
    fn wires(world: &World, acts: &mut Vec<Act>) {
        let left = &world.left;
        for wire in &world.wires {
            let wire = wire.clone();
            acts.push(Act::Arrive(wire.clone()));
            if wire.is_outward() {
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
            if left.skew > 0 && !wire.echo && wire.claims() {
                acts.push(Act::Skewed(wire.clone(), 1));
                acts.push(Act::Skewed(wire.clone(), -1));
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
        may(known && left.signal > 0, Act::Signal);
        let child = world.peer.begun > 0 && !world.peer.ended;
        may(child && left.child > 0, Act::ChildEnds);
        may(known && left.delete > 0, Act::Delete);
    }

    fn operators(world: &World, acts: &mut Vec<Act>) {
        let left = &world.left;
        let Some(task) = &world.task else { return };
        let mut may = |yes: bool, act: Act| acts.extend(yes.then_some(act));
        let stuck = matches!(
            task.state,
            State::Suspended(Waiting::CodeChanged(_) | Waiting::BackingOff { .. })
        );
        let failed = matches!(task.state, State::Failed { .. });
        may(left.cancel > 0, Act::Steer(Steer::Cancel));
        may(
            left.retry > 0 && (failed || stuck),
            Act::Steer(Steer::Retry),
        );
        may(left.from > 0 && failed, Act::Steer(Steer::RetryFrom));
        let succeeded = task.state == State::Succeeded;
        may(left.undo > 0 && succeeded, Act::Steer(Steer::Undo));
        let again = left.double > 0 && !world.memory.steer_op.is_empty();
        may(again, Act::SteerAgain);
    }
}

impl Model for Bound {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.left, self.pace)]
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
        Self::operators(world, acts);
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
            m::CHAIN,
            m::RECORD,
            m::DEADLINE,
            m::CURSOR,
            m::FINAL,
            m::REPEAT,
            m::DELIVERY,
            m::STEERED,
            m::EFFECT,
            m::SLEPT,
            m::ANSWER,
            m::USED_UP,
            m::LIVING,
            m::ATTEMPTS,
            m::SIGNAL,
            m::ANOTHERS,
            m::ONCE,
            m::BESIDE,
            m::PARTLY,
            m::FRESH
        ];
        all.push(Property::always(s::ALONE, |_, w| s::acts_alone(w)));
        all.push(Property::always(s::ALARM, |_, w| s::has_alarm(w)));
        all.push(Property::always(s::PROJECTED, |_, w| s::is_projected(w)));
        all.push(Property::always(s::BURIED, |_, w| s::is_buried(w)));
        all.push(Property::always(s::OWED, |_, w| s::owes_still(w)));
        all.push(Property::always(s::WISH, |_, w| s::obeys(w)));
        all.push(Property::always(s::UNDONE, |_, w| {
            s::is_undone(w) && holds(w, s::UNDONE)
        }));
        all.push(Property::always(s::ALL_OF_IT, |_, w| s::is_undone_whole(w)));
        all.push(Property::always(s::ENDS, |bound: &Self, w| {
            settle::ends(bound, w)
        }));
        all.retain(|p| self.only.is_none_or(|only| only == p.name));
        all
    }
}
