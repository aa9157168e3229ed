//! Random histories of one object. Each is held against the guarantees by `protocol_watch`; from each
//! the task must come to its end. `PROPTEST_CASES=100000` looks longer.

use crate::protocol_fixture::{record, undo_attempts, value};
use crate::protocol_world::{Act, World, policy, strict};
use onceward::limits::MAX_REVIVALS;
use onceward::protocol::{Event, NEVER_MS, State, Waiting, next_due_ms, own_due_ms};
use onceward::types::Policy;
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
        6 => (at.clone(), 0..8_u8, 0..6_u8)
            .prop_map(|(slice, step, kind)| Act::Record { slice, step, kind }),
        3 => (at.clone(), 0..8_u8).prop_map(|(slice, step)| Act::Suspend { slice, step }),
        3 => (at.clone(), 0..8_u8, times())
            .prop_map(|(slice, what, ms)| Act::WaitFor { slice, what, ms }),
        1 => (at.clone(), 1..6_u8).prop_map(|(slice, n)| Act::Save { slice, n }),
        1 => at.clone().prop_map(Act::SuspendAgain),
        6 => (at.clone(), 0..8_u8, 0..7_u8)
            .prop_map(|(slice, step, kind)| Act::Finish { slice, step, kind }),
        1 => at.prop_map(Act::FinishAgain),
        1 => (0..3_u8).prop_map(Act::Birth),
    ]
}

fn steering() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..2_u8, 0..4_u8, prop::bool::weighted(0.1))
            .prop_map(|(name, id, other)| Act::Signal { name, id, text: other.into() }),
        1 => Just(Act::Cancel),
        3 => Just(Act::Undo),
        2 => (0..8_u8, prop::bool::weighted(0.2))
            .prop_map(|(from, input)| Act::Retry { from, input }),
        1 => Just(Act::DebtPaid),
        1 => Just(Act::DebtFailed),
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
    let act = prop_oneof![6 => messages(), 4 => surroundings(), 2 => steering()];
    let acts = prop::collection::vec(act, 1..80);
    let begins = prop_oneof![6 => Just(Vec::new()), 1 => Just(sold()), 1 => Just(tired())];
    (0..=1_000_u32, begins, acts).prop_map(|(jitter, mut begins, acts)| {
        begins.extend(acts);
        (jitter, begins)
    })
}

// What follows is too rare to wait for.

fn pay(kind: u8) -> Act {
    let (slice, step) = (0, 4);
    Act::Record { slice, step, kind }
}

fn ends(kind: u8) -> Act {
    let (slice, step) = (0, 9);
    Act::Finish { slice, step, kind }
}

/// A success of which something can be undone.
fn sold() -> Vec<Act> {
    vec![pay(4), pay(0), ends(0)]
}

/// All attempts of a task that has something to undo.
fn tired() -> Vec<Act> {
    let mut acts = vec![pay(4), pay(0)];
    for _ in 1..policy().max_attempts {
        acts.extend([ends(2), Act::Wait(5_000), Act::Alarm, Act::Claim(0)]);
    }
    acts.push(ends(2));
    acts
}

fn play(policy: Policy, jitter: u32, acts: &[Act]) -> World {
    let mut world = World::new();
    world.policy = policy;
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
    for round in 0..80 {
        let Some(task) = &world.task else {
            return Some(round);
        };
        let over = task.has_ended() || matches!(task.state, State::Forgotten);
        assert!(over || !was_over, "it came back to life by itself");
        was_over = over;
        let waits = !over && own_due_ms(task) >= NEVER_MS;
        if let Some(ticket) = world.dispatched.pop() {
            world.turn += 1;
            world.claim(ticket);
            world.record(0, 3, 0);
            world.finish(0, 9, 0);
        } else if waits && matches!(task.state, State::Suspended(Waiting::CodeChanged(_))) {
            world.act(&Act::Retry {
                from: 9,
                input: false,
            });
        } else if waits && world.turn.is_multiple_of(2) {
            world.act(&Act::Cancel);
        } else if waits {
            let id = u8::try_from(100 + round).expect("small");
            world.act(&Act::Signal {
                name: 0,
                id,
                text: 0,
            });
        } else if !task.debts.list.is_empty() {
            world.act(&Act::DebtPaid);
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
        let mut world = play(policy(), jitter, &acts);
        let end = settle(&mut world);
        prop_assert!(end.is_some(), "G4: never ended: {:?}", world.task);
    }
}

proptest! {
    /// The same where failures are not kept, and keys are used up for some time after their tasks.
    #[test]
    fn guarantees_hold_where_less_is_kept((jitter, acts) in history()) {
        let mut world = play(strict(), jitter, &acts);
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
        Bad::Fails => {
            let undoing = world.slices.last().is_some_and(|slice| slice.undoing);
            world.finish(0, 9, if undoing { 4 } else { 2 });
        }
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

    /// G9: what is to be undone is undone or named after as many claims, however the slices end.
    #[test]
    fn undoing_ends(ways in prop::collection::vec(bad(), 100)) {
        let mut world = World::new();
        let mut ways = ways.into_iter().cycle();
        world.deliver(true);
        world.record(0, 4, 4);
        world.record(0, 4, 0);
        // What it did does not count for the slices that follow.
        world.progressed[0] = false;
        let mut bad = 0;
        while !matches!(world.task.as_ref().map(|t| &t.state), Some(State::Failed { .. })) {
            misbehave(&mut world, ways.next().expect("endless"));
            bad += 1;
            prop_assert!(bad < 50, "it never ends");
        }
        prop_assert_eq!(
            world.model.claims,
            policy().max_attempts + undo_attempts()
        );
        let undone = world.task.as_ref().and_then(|t| t.undone.clone());
        prop_assert!(undone.is_some_and(|u| !u.is_complete()));
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
            let Some(task) = &world.task else {
                seen.insert("gone".to_owned());
                continue;
            };
            let name = match &task.state {
                State::Suspended(waiting) => format!("{waiting:?}"),
                other => format!("{other:?}"),
            };
            let end = name.find([' ', '(']).unwrap_or(name.len());
            seen.insert(name[..end].to_owned());
            let mut note = |there: bool, what: &str| {
                if there {
                    seen.insert(what.to_owned());
                }
            };
            note(task.version.epoch != task.generation, "raised epoch");
            note(task.cancel.as_ref().is_some_and(|c| c.too_late), "too late");
            note(!task.debts.list.is_empty(), "owes");
            note(!task.unread.is_empty(), "unread");
            note(
                task.lease.as_ref().is_some_and(|l| l.suspends > 0),
                "went on",
            );
            if let Some(undone) = &task.undone {
                note(
                    true,
                    if undone.is_complete() {
                        "undone"
                    } else {
                        "undone in part"
                    },
                );
            }
            if let Some(ending) = &task.ending {
                seen.insert(format!("undoing {:?}", ending.to));
            }
        }
    }
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    let all = [
        "BackingOff",
        "Cancelled",
        "CodeChanged",
        "Failed",
        "For",
        "Forgotten",
        "Ready",
        "Running",
        "Succeeded",
        "gone",
        "owes",
        "raised epoch",
        "too late",
        "undoing Cancelled",
        "undoing Failed { restarts: false }",
        "undoing Failed { restarts: true }",
        "undoing Succeeded",
        "undone",
        "undone in part",
        "unread",
        "went on",
    ];
    assert_eq!(seen, all);
}
