//! The task machine under a model checker: the real `protocol::handle`, every order of what can happen
//! within a bound. `make model` looks further; `docs/proof.md` says what this proves and what not.

#![allow(clippy::disallowed_methods)] // how long a search took is printed

mod acts;
mod blind;
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
mod table;
mod world;

use bounds::bounds;
use sights::Sights;
use stateright::{Checker, HasDiscoveries, Model};
use std::time::Instant;

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
        let started = Instant::now();
        let checker = bound
            .checker()
            .threads(threads())
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_bfs()
            .join();
        println!(
            "{name}: {} states, {} transitions, depth {}, {:.1} s",
            checker.unique_state_count(),
            checker.state_count(),
            checker.max_depth(),
            started.elapsed().as_secs_f32()
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
    let missing: Vec<_> = sights::ALL.iter().filter(|s| !sights.has(**s)).collect();
    assert!(
        !only.is_empty() || missing.is_empty(),
        "never met: {missing:?}"
    );
}

#[test]
fn every_mutant_is_noticed() {
    let mut rows = Vec::new();
    let mut missed = Vec::new();
    for &(mutant, without, scene, by) in mutants::ALL {
        let bounds = bounds(Some(mutant), false, &Sights::default(), Some(by));
        let mut found = bounds
            .into_iter()
            .filter(|(name, _)| name.starts_with(scene));
        let (bound, search) = found.next().expect("a bound of this name");
        // One thread and one property: the first history that is found is a shortest one.
        let checker = search
            .checker()
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_bfs()
            .join();
        let Some(path) = checker.discovery(by) else {
            let states = checker.unique_state_count();
            missed.push(format!(
                "{mutant:?} by {by:?} in {bound:?}: {states} states"
            ));
            continue;
        };
        let events = path.into_vec().len() - 1;
        println!(
            "{mutant:?}: {by}, {events} events, {} states",
            checker.unique_state_count()
        );
        rows.push(table::Row {
            without,
            by,
            events,
            bound,
        });
    }
    assert!(missed.is_empty(), "not noticed: {missed:#?}");
    table::is_as_committed(&rows);
}

/// A property that notices no mutant may be idle.
#[test]
fn every_property_notices_something() {
    let (_, bound) = bounds(None, false, &Sights::default(), None).remove(0);
    for property in bound.properties() {
        let noticed = mutants::ALL.iter().any(|(.., by)| *by == property.name);
        assert!(noticed, "{} notices no mutant", property.name);
    }
}
