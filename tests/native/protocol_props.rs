//! Random histories of one object. Each is held against the guarantees by `protocol_watch`; from each
//! the task must come to its end. `PROPTEST_CASES=100000` looks longer.

use crate::protocol_fixture::{record, value};
use crate::protocol_world::{Act, World, policy};
use onceward::limits::MAX_REVIVALS;
use onceward::protocol::{Event, State, next_due_ms};
use proptest::prelude::*;

fn times() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(1),
        Just(300),
        Just(999),
        Just(1_000),
        Just(5_000),
        Just(20_000),
        Just(1_000_000)
    ]
}

fn messages() -> impl Strategy<Value = Act> {
    let at = 0..3_usize;
    prop_oneof![
        4 => Just(Act::Deliver { print: true }),
        1 => Just(Act::Deliver { print: false }),
        1 => at.clone().prop_map(Act::BeginAgain),
        6 => at.clone().prop_map(Act::Claim),
        1 => at.clone().prop_map(Act::ClaimAgain),
        5 => (at.clone(), 0..4_u8, 0..4_u8)
            .prop_map(|(slice, step, kind)| Act::Record { slice, step, kind }),
        3 => (at.clone(), 0..8_u8).prop_map(|(slice, step)| Act::Suspend { slice, step }),
        1 => at.clone().prop_map(Act::SuspendAgain),
        5 => (at.clone(), 0..8_u8, 0..4_u8)
            .prop_map(|(slice, step, kind)| Act::Finish { slice, step, kind }),
        1 => at.prop_map(Act::FinishAgain),
    ]
}

fn surroundings() -> impl Strategy<Value = Act> {
    let at = 0..3_usize;
    prop_oneof![
        6 => Just(Act::Alarm),
        1 => Just(Act::DoubledAlarm),
        1 => Just(Act::LoseAlarm),
        1 => Just(Act::Poke),
        6 => times().prop_map(Act::Wait),
        1 => times().prop_map(Act::StepBack),
        3 => (at.clone(), any::<bool>())
            .prop_map(|(which, heard)| Act::FlushArrives { which, heard }),
        1 => at.prop_map(Act::FlushLost),
        2 => any::<bool>().prop_map(|heard| Act::TombstoneArrives { heard }),
        1 => Just(Act::TombstoneLost),
        1 => Just(Act::NewerRow),
        1 => Just(Act::Delete),
        1 => Just(Act::Crash),
    ]
}

fn history() -> impl Strategy<Value = (u32, Vec<Act>)> {
    let act = prop_oneof![3 => messages(), 2 => surroundings()];
    (0..=1_000_u32, prop::collection::vec(act, 1..80))
}

fn play(jitter: u32, acts: &[Act]) -> World {
    let mut world = World::new();
    world.jitter = jitter;
    world.deliver(true);
    for act in acts {
        world.act(act);
    }
    world
}

/// Everybody does what they should, and nothing is lost any more. The number of rounds to the end.
fn settle(world: &mut World) -> Option<u32> {
    world.act(&Act::Crash);
    world.flushes.clear();
    world.dispatched.clear();
    let mut was_over = false;
    for round in 0..60 {
        let Some(task) = &world.task else {
            return Some(round);
        };
        let over = matches!(
            task.state,
            State::Succeeded | State::Failed { .. } | State::Forgotten
        );
        assert!(over || !was_over, "it came back to life by itself");
        was_over = over;
        if let Some(ticket) = world.dispatched.pop() {
            world.turn += 1;
            world.claim(ticket);
            world.record(0, 3, 0);
            world.finish(0, 9, 0);
        } else if !world.flushes.is_empty() {
            world.flush_arrives(0, true);
            world.flushes.clear();
        } else if !world.forgets.is_empty() {
            world.tombstone_arrives(true);
        } else {
            let at = world.alarm.expect("G4: an alarm");
            world.now = world.now.max(world.floor).max(at);
            world.ring(true);
        }
    }
    None
}

proptest! {
    /// G1, G2, G5, G7, G9 and the alarm, at every step; then G4: it ends, and is forgotten.
    #[test]
    fn guarantees_hold((jitter, acts) in history()) {
        let mut world = play(jitter, &acts);
        let end = settle(&mut world);
        prop_assert!(end.is_some(), "G4: never ended: {:?}", world.task);
    }
}

/// One way of getting nowhere.
#[derive(Clone, Copy, Debug)]
enum Bad {
    Dies,
    Fails,
    HopsOn,
    NotClaimed,
}

fn bad() -> impl Strategy<Value = Bad> {
    prop_oneof![
        Just(Bad::Dies),
        Just(Bad::Fails),
        Just(Bad::HopsOn),
        Just(Bad::NotClaimed)
    ]
}

/// Lets the newest slice behave badly, then the alarm ring until another slice has claimed or the
/// task has failed.
fn misbehave(world: &mut World, bad: Bad) {
    world.turn += 1;
    match bad {
        Bad::Dies | Bad::NotClaimed => {}
        Bad::Fails => world.finish(0, 9, 2),
        Bad::HopsOn => world.suspend(0, 9),
    }
    let mut ignored = matches!(bad, Bad::NotClaimed);
    let claims = world.model.claims;
    let mut rounds = 0;
    while world.model.claims == claims {
        rounds += 1;
        assert!(rounds < 50, "G4: nothing moves: {:?}", world.task);
        let task = world.task.as_ref().expect("a task");
        if matches!(task.state, State::Failed { .. }) {
            return;
        }
        world.now = world.now.max(next_due_ms(task));
        world.dispatched.clear();
        world.ring(true);
        world.flush_arrives(0, true);
        if let Some(ticket) = world.dispatched.pop() {
            if ignored {
                ignored = false;
            } else {
                world.turn += 1;
                world.claim(ticket);
            }
        }
    }
}

proptest! {
    /// G9: without progress it ends after `max_attempts` claims, each time that it is revived.
    #[test]
    fn poison_ends(ways in prop::collection::vec(bad(), 100)) {
        let mut world = World::new();
        let mut ways = ways.into_iter().cycle();
        for revival in 0..=MAX_REVIVALS {
            let before = world.model.claims;
            world.turn += 1;
            world.deliver(true);
            while !matches!(world.task.as_ref().map(|t| &t.state), Some(State::Failed { .. })) {
                misbehave(&mut world, ways.next().expect("endless"));
            }
            prop_assert_eq!(world.model.claims - before, policy().max_attempts);
            let revivals = world.task.as_ref().map(|t| t.revivals);
            prop_assert_eq!(revivals, Some(revival));
        }
        let state = world.task.as_ref().map(|t| t.state.clone());
        prop_assert_eq!(state, Some(State::Failed { resumable: false }));
        let claims = world.model.claims;
        world.turn += 1;
        world.deliver(true);
        prop_assert_eq!(world.model.claims, claims, "nothing runs any more");
    }

    /// G9: one new step for each claim is enough to go on for ever, however the slices end.
    #[test]
    fn the_healthy_do_not_pay(ways in prop::collection::vec(bad(), 40)) {
        let mut world = World::new();
        world.deliver(true);
        for (n, way) in ways.into_iter().enumerate() {
            let name = format!("own-{n}");
            let proof = world.slices.last().expect("a slice").proof.clone();
            let record = record(&proof, vec![value(&name)]);
            world.apply(Event::Record(Box::new(record)));
            *world.progressed.last_mut().expect("a slice") = true;
            prop_assert_eq!(world.task.as_ref().map(|t| t.attempts), Some(1));
            misbehave(&mut world, way);
            prop_assert!(world.task.as_ref().is_some_and(|t| t.attempts <= 2));
        }
    }
}

/// Nothing in here would be worth much if the histories never got anywhere.
#[test]
fn histories_reach_every_state() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..500 {
        let (jitter, acts) = history().new_tree(&mut runner).expect("acts").current();
        let mut world = World::new();
        world.jitter = jitter;
        world.deliver(true);
        for act in &acts {
            world.act(act);
            let state = world.task.as_ref().map(|t| match &t.state {
                State::Suspended(waiting) => format!("{waiting:?}"),
                other => format!("{other:?}"),
            });
            let late = world
                .task
                .as_ref()
                .is_some_and(|t| t.version.epoch != t.generation);
            let name = state.unwrap_or_else(|| "gone".to_owned());
            seen.insert(name.split(' ').next().unwrap_or_default().to_owned());
            if late {
                seen.insert("raised epoch".to_owned());
            }
        }
    }
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    let all = [
        "BackingOff",
        "Failed",
        "Forgotten",
        "Ready",
        "Running",
        "Succeeded",
        "gone",
        "raised epoch",
    ];
    assert_eq!(seen, all);
}
