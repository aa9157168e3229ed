//! The task machine under a model checker: the real `protocol::handle`, every order of what can happen
//! within a bound. `make model` looks further; `docs/proof.md` says what this proves and what not.

mod acts;
mod bounds;
mod events;
mod machine;
mod monitor;
mod mutants;
mod object;
mod settle;
mod sights;
mod slices;
mod states;
mod steps;
mod world;

use bounds::bounds;
use sights::Sights;
use stateright::{Checker, HasDiscoveries, Model};
use std::collections::BTreeSet;

fn threads() -> usize {
    std::env::var("ONCEWARD_MODEL_THREADS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1)
}

#[test]
fn the_machine_keeps_its_promises() {
    let sights = Sights::default();
    let only = std::env::var("ONCEWARD_MODEL_ONLY").unwrap_or_default();
    let wide = std::env::var_os("ONCEWARD_MODEL_WIDE").is_some();
    for (name, bound) in bounds(None, wide, &sights, None) {
        if !name.starts_with(&only) {
            continue;
        }
        let checker = bound
            .checker()
            .threads(threads())
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_bfs()
            .join();
        println!(
            "{name}: {} states, {} transitions, depth {}",
            checker.unique_state_count(),
            checker.state_count(),
            checker.max_depth()
        );
        for (property, path) in checker.discoveries() {
            println!("broken: {property}");
            for (_, act) in path.clone().into_vec() {
                println!("  {act:?}");
            }
            println!("{:#?}", path.last_state());
        }
        assert!(checker.discoveries().is_empty(), "{name}");
        assert!(checker.is_done(), "{name}: not explored to its end");
        assert!(
            checker.unique_state_count() > 400,
            "{name}: hardly anything happened"
        );
    }
    for sight in sights::ALL.iter().copied() {
        println!(
            "{} {sight:?}",
            if sights.has(sight) {
                "met    "
            } else {
                "NOT MET"
            }
        );
    }
    let missing: Vec<_> = sights::ALL
        .iter()
        .filter(|s| !sights.has(**s))
        .collect();
    assert!(
        !only.is_empty() || missing.is_empty(),
        "never met: {missing:?}"
    );
}

#[test]
fn every_mutant_is_noticed() {
    println!("| mutant | noticed by | steps | bound |");
    for (mutant, scene, by) in mutants::ALL {
        let bounds = bounds(Some(mutant), false, &Sights::default(), Some(by));
        let mut found = bounds
            .into_iter()
            .filter(|(name, _)| name.starts_with(scene));
        let (name, bound) = found.next().expect("a bound of this name");
        let checker = bound
            .checker()
            .threads(threads())
            .finish_when(HasDiscoveries::AnyOf(BTreeSet::from([by])))
            .spawn_bfs()
            .join();
        let path = checker.discovery(by);
        let path = path.unwrap_or_else(|| panic!("{mutant:?} is not noticed by {by:?}"));
        let steps = path.into_vec().len() - 1;
        println!("| {mutant:?} | {by} | {steps} | {name} |");
    }
}
