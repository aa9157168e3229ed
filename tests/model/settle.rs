//! Eventually: from every state that is reached, once faults stop, the task ends or waits for something
//! with a name. All slices are dead by then and all messages lost; what goes on is the object's alarm,
//! or cron where the alarm was lost.

use crate::machine::Bound;
use crate::object::{Setting, Waits};
use crate::world::{Left, T0, World};
use onceward::protocol::{Event, NEVER_MS, own_due_ms};

const ROUNDS: u32 = 60;

/// Rings now. `cut`: the object dies after its commit.
pub fn ring(world: &mut World, setting: &Setting, cut: bool) {
    world.alarm = None;
    world.apply(setting, &Event::AlarmFired, cut);
}

pub fn ends(bound: &Bound, world: &World) -> bool {
    if world.task.is_none() || !world.broken.is_empty() {
        return true;
    }
    let mut world = World {
        left: Left::default(),
        slices: Vec::new(),
        wires: Vec::new(),
        ..world.clone()
    };
    // Messages to D1 that are not heard of are known to have failed only by the alarm of their object.
    let unheard = bound.setting.d1 && world.alarm.is_none();
    if world.alarm_lost || unheard {
        world.alarm_lost = false;
        world.apply(&bound.setting, &Event::Poke, false);
    }
    (0..ROUNDS).any(|_| round(bound, &mut world)) && world.broken.is_empty()
}

/// One thing that must happen. True when the end is reached.
fn round(bound: &Bound, world: &mut World) -> bool {
    let setting = &bound.setting;
    let Some(task) = &world.task else {
        return true;
    };
    let over = task.has_ended() || matches!(task.state, onceward::protocol::State::Forgotten);
    let told = !task.outbox.is_owing() && task.debts.list.is_empty();
    let over = over && told && !setting.d1;
    let waits = own_due_ms(task) >= NEVER_MS || setting.waits == Waits::Child;
    if over || (waits && world.sleeps_by_name()) {
        return true;
    }
    let idle = world.slices.is_empty() && world.wires.is_empty();
    if let Some(slice) = world.slices.first().cloned() {
        let works = world.works(setting, &slice);
        match works.first() {
            Some(work) => world.work(setting, slice.lease, *work),
            None => world.drop_slice(slice.lease),
        }
    }
    while let Some(wire) = world.wires.pop() {
        bound.arrive(world, &wire, (false, true), 0);
    }
    match world.alarm {
        Some(at) if idle && world.task.is_some() => {
            let clock = world.clock();
            if clock < at {
                let ticks = (at - T0).div_ceil(world.pace.tick);
                world.real = u16::try_from(ticks).unwrap_or(u16::MAX) + world.back;
            }
            ring(world, setting, false);
        }
        _ => {}
    }
    false
}
