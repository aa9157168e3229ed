//! What the simulation has to show.

use crate::figures::Figures;
use crate::plain;
use crate::run::{Outcome, Setting, run};
use crate::shrink::shrink;
use crate::world::Break;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Seeds that once found something, in the runtime or in what judges it: they stay.
const PAST: &[u64] = &[
    2, 6, 19, 50, 53, 56, 57, 59, 75, 81, 114, 133, 135, 147, 277, 1_000_001,
];
/// Fresh seeds of a run that asks for none.
const FRESH: u64 = 24;
/// Below it, a number of seeds is meant; fresh ones lie above.
const MANY: u64 = 1_000_000;

/// `7` means the first seven, `3..9` and `3,5` those, a large one itself.
fn wanted() -> Vec<u64> {
    let text = std::env::var("ONCEWARD_SEEDS").unwrap_or_default();
    let number = |text: &str| {
        text.trim()
            .parse::<u64>()
            .expect("SEEDS=20, 1..20, 3,5,8 or one large seed")
    };
    if text.is_empty() {
        let fresh = || MANY + uuid::Uuid::new_v4().as_u64_pair().0 % (1 << 40);
        return (0..FRESH).map(|_| fresh()).collect();
    }
    if let Some((from, to)) = text.split_once("..") {
        return (number(from)..=number(to)).collect();
    }
    if text.contains(',') {
        return text.split(',').map(number).collect();
    }
    match number(&text) {
        n if n < MANY => (1..=n).collect(),
        seed => vec![seed],
    }
}

/// Runs seeds on all cores; the first failure is made small and told.
fn run_all(seeds: &[u64]) {
    let (next, total) = (
        AtomicUsize::new(0),
        Mutex::new((0_usize, Figures::default())),
    );
    let failed: Mutex<Vec<(u64, Outcome)>> = Mutex::default();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let outcome = run(&Setting::of(*seed));
                    let mut total = total.lock().expect("nobody panics with it");
                    total.0 += 1;
                    total.1.add(&outcome.figures);
                    if total.0.is_multiple_of(50) {
                        eprintln!("simulation: {} of {} seeds", total.0, seeds.len());
                    }
                    if !outcome.wrong.is_empty() {
                        failed
                            .lock()
                            .expect("nobody panics with it")
                            .push((*seed, outcome));
                    }
                }
            });
        }
    });
    let (count, figures) = *total.lock().expect("nobody panics with it");
    eprintln!("simulation: {count} seeds\n{figures}");
    let mut failed = failed.into_inner().expect("nobody panicked");
    failed.sort_by_key(|(seed, _)| *seed);
    let list: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
    for (seed, outcome) in &failed {
        for wrong in &outcome.wrong {
            eprintln!(
                "WRONG  seed {seed}, {}: {}: {}",
                wrong.key, wrong.rule, wrong.what
            );
        }
    }
    if let Some((seed, outcome)) = failed.into_iter().next() {
        tell(seed, outcome);
        panic!(
            "seeds {list:?} fail; the first one is told above. Again: make simulate SEEDS={seed}..{seed}"
        );
    }
}

fn tell(seed: u64, outcome: Outcome) {
    let faults = outcome.struck.len();
    eprintln!("simulation: making seed {seed} small ({faults} faults)");
    let (setting, outcome) = shrink(&Setting::of(seed), outcome);
    eprintln!("\n{}", outcome.story);
    for wrong in &outcome.wrong {
        eprintln!("WRONG  {}: {}: {}", wrong.key, wrong.rule, wrong.what);
    }
    eprintln!(
        "seed {seed}, keys {:?}; of {faults} faults these are needed:",
        setting.keys
    );
    for place in &outcome.struck {
        eprintln!("  {place}");
    }
}

#[test]
fn seeds_of_the_past_stay_right() {
    run_all(PAST);
}

#[test]
fn wanted_seeds_are_right() {
    run_all(&wanted());
}

#[test]
fn a_seed_brings_everything_back() {
    let prints: Vec<u64> = (0..2).map(|_| run(&Setting::of(11)).print).collect();
    assert_eq!(prints[0], prints[1]);
}

/// Every kind of fault strikes every kind of effect that it is made for.
#[test]
fn every_fault_strikes_somewhere() {
    let mut kinds = BTreeSet::new();
    for seed in PAST {
        kinds.extend(run(&Setting::of(*seed)).kinds);
    }
    let on = |point: &str| -> BTreeSet<&str> {
        kinds
            .iter()
            .filter(|(at, _)| at == point)
            .map(|(_, fault)| *fault)
            .collect()
    };
    let message = [
        "crash before",
        "crash after",
        "fail",
        "apply then fail",
        "stall",
        "double",
        "overloaded",
        "reset",
    ];
    for point in ["begin", "record"] {
        assert_eq!(on(point), message.into(), "{point}");
    }
    for point in [
        "claim", "suspend", "finish", "signal", "look", "journal", "save", "abandon", "cancel",
    ] {
        assert!(!on(point).is_empty() || point == "abandon", "{point}");
    }
    assert_eq!(on("commit"), ["crash before", "crash after", "fail"].into());
    assert_eq!(
        on("d1"),
        [
            "crash before",
            "crash after",
            "fail",
            "apply then fail",
            "stall"
        ]
        .into()
    );
    assert_eq!(
        on("continue"),
        [
            "crash before",
            "crash after",
            "fail",
            "lose",
            "double",
            "stall"
        ]
        .into()
    );
    assert_eq!(
        on("fetch"),
        [
            "crash before",
            "crash after",
            "fail",
            "apply then fail",
            "stall"
        ]
        .into()
    );
}

/// A platform that is broken on purpose is noticed within so many seeds.
fn assert_noticed(breaks: Break, seeds: u64) {
    let of = |seed| Setting {
        breaks: Some(breaks),
        ..Setting::of(seed)
    };
    let mut found = (1..=seeds).map(|seed| (seed, run(&of(seed)).wrong));
    let found = found.find(|(_, wrong)| !wrong.is_empty());
    let (seed, wrong) = found.unwrap_or_else(|| panic!("{breaks:?}: not within {seeds} seeds"));
    let rules: BTreeSet<&str> = wrong.iter().map(|w| w.rule).collect();
    eprintln!("{breaks:?}: seed {seed} breaks {rules:?}");
}

#[test]
fn a_platform_that_forgets_what_it_has_written_is_noticed() {
    assert_noticed(Break::ForgetsCommits, 10);
}

#[test]
fn two_instances_of_one_object_are_noticed() {
    assert_noticed(Break::TwoInstances, 10);
}

#[test]
fn alarms_that_never_ring_are_noticed() {
    assert_noticed(Break::NoClock, 3);
}

#[test]
fn a_database_without_versions_is_noticed() {
    assert_noticed(Break::LastWriteWins, 20);
}

/// Only the key that fails is left, and of the faults only those that it takes.
#[test]
fn a_failure_is_made_small() {
    let setting = |seed| Setting {
        breaks: Some(Break::ForgetsCommits),
        ..Setting::of(seed)
    };
    let mut seeds = (1..=20).map(|seed| (setting(seed), run(&setting(seed))));
    let found = seeds.find(|(_, outcome)| !outcome.wrong.is_empty());
    let (setting, outcome) = found.expect("it is noticed");
    let (rule, faults) = (outcome.wrong[0].rule, outcome.struck.len());
    let (small, outcome) = shrink(&setting, outcome);
    assert_eq!(small.keys.len(), 1);
    assert!(outcome.wrong.iter().any(|wrong| wrong.rule == rule));
    assert!(
        outcome.struck.len() * 4 < faults,
        "{faults} faults before, {:?} after",
        outcome.struck
    );
    assert!(outcome.story.contains("dies"), "{}", outcome.story);
    // Again, it is the same failure.
    assert_eq!(run(&small).print, outcome.print);
}

/// What a life may take in which nothing goes wrong, or one thing.
#[test]
fn plain_lives_are_short() {
    let lives = [
        plain::nothing_goes_wrong,
        plain::each_message_fails_once,
        plain::the_sender_hangs_up,
        plain::the_database_fails_once,
        plain::a_continuation_is_lost,
        plain::a_journal_has_two_pages,
        plain::a_step_takes_long,
        plain::a_child_ends,
        plain::a_child_is_cancelled,
        plain::a_family_is_deep,
        plain::a_failure_is_resumed,
        plain::a_key_is_used_up,
        plain::a_failure_is_not_kept,
    ];
    for (n, life) in lives.iter().enumerate() {
        for seed in 1..=5 {
            let wrong = life(seed);
            assert!(wrong.is_empty(), "life {n}, seed {seed}: {wrong:#?}");
        }
    }
}
