//! What happens, step by step.

use crate::events::{abandon, event, retry, signal};
use crate::machine::{Act, Bound, Steer};
use crate::monitor as m;
use crate::settle;
use crate::sights::Sight;
use crate::world::{Message, Wire, World};
use onceward::protocol::{Event, Reply};

impl Bound {
    /// A message arrives. `cut`: the object dies after its commit. `heard`: its reply arrives as well.
    pub fn arrive(&self, world: &mut World, wire: &Wire, (cut, heard): (bool, bool), slow: i8) {
        let setting = &self.setting;
        if wire.is_outward() {
            if wire.echo {
                world.d1_late(setting, wire);
            } else {
                world.d1_answers(setting, &wire.message, true, cut);
            }
            return;
        }
        let Some(event) = event(world, wire, setting) else {
            return;
        };
        let reply = world.apply(setting, &event, cut);
        if wire.accepted {
            m::repeated(world, wire, &reply);
        }
        if heard && !wire.echo {
            world.hear(setting, wire, &reply, slow);
        }
    }

    pub fn through(&self, world: &mut World, act: Act) {
        let setting = &self.setting;
        match act {
            Act::Arrive(wire) => {
                world.wires.retain(|w| *w != wire);
                self.arrive(world, &wire, (false, true), 0);
            }
            Act::Skewed(wire, slow) => {
                world.left.skew -= 1;
                world.wires.retain(|w| *w != wire);
                self.arrive(world, &wire, (false, true), slow);
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
                if wire.is_outward() {
                    world.wires.retain(|w| *w != wire);
                    self.arrive(world, &wire, (true, false), 0);
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
            Act::GivenUp(wire) => {
                world.left.late -= 1;
                let late = Wire {
                    echo: true,
                    ..wire.clone()
                };
                world.wires.retain(|w| *w != wire);
                world.wires.push(late);
                world.d1_answers(setting, &wire.message, false, false);
            }
            Act::Unheard(wire) => {
                world.left.late -= 1;
                world.wires.retain(|w| *w != wire);
                world.d1_late(setting, &wire);
                world.d1_answers(setting, &wire.message, false, false);
            }
            Act::Work(slice, work) => world.work(setting, slice.lease, work),
            Act::Steer(steer) => self.steer(world, steer),
            Act::SteerAgain => {
                world.left.double -= 1;
                self.steer_again(world);
            }
            other => self.happens(world, &other),
        }
    }

    /// A message arrives and is still in flight, as a copy that nobody waits for or as a second try.
    fn stays(&self, world: &mut World, wire: &Wire, echo: bool, cut: bool) {
        world.wires.retain(|w| w != wire);
        let before = world.memory.ended_by;
        self.arrive(world, wire, (cut, echo), 0);
        let after = world.memory.ended_by;
        world.wires.push(Wire {
            echo,
            accepted: wire.accepted || (after != before && wire.lease() == Some(after)),
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
            Act::Signal => {
                world.left.signal -= 1;
                let reply = world.apply(setting, &signal(world), false);
                let kept = matches!(reply, Reply::Signalled { repeated: false });
                if kept && world.task.as_ref().is_some_and(|t| !t.unread.is_empty()) {
                    setting.sights.saw(Sight::SignalKept);
                }
            }
            Act::ChildEnds => {
                world.left.child -= 1;
                world.peer.ended = true;
                world.send(Message::ChildEnd(world.peer.begun), 0);
            }
            Act::Delete => {
                world.left.delete -= 1;
                world.apply(setting, &Event::Delete, false);
            }
            _ => {}
        }
    }

    fn steer(&self, world: &mut World, steer: Steer) {
        let left = &mut world.left;
        let (count, name) = match steer {
            Steer::Cancel => (&mut left.cancel, "cancel"),
            Steer::Retry => (&mut left.retry, "retry"),
            Steer::RetryFrom => (&mut left.from, "from"),
            Steer::Undo => (&mut left.undo, "undo"),
        };
        *count -= 1;
        world.steers += 1;
        let op = format!("{name}-{}", world.steers);
        let event = if self.setting.parent && steer == Steer::Cancel {
            abandon(op)
        } else {
            operation(world, op)
        };
        world.apply(&self.setting, &event, false);
    }

    fn steer_again(&self, world: &mut World) {
        let event = operation(world, world.memory.steer_op.clone());
        world.apply(&self.setting, &event, false);
    }
}

/// Its name says what it is.
fn operation(world: &World, op: String) -> Event {
    match op.split('-').next() {
        Some("cancel") => Event::Cancel { op },
        Some("undo") => Event::Undo { op },
        name => {
            let from = name == Some("from");
            retry(world, op, from)
        }
    }
}
