//! Chaos on workerd: thousands of deliveries while the server is killed, messages are lost and D1 fails;
//! then everything has to end, and the checker judges what could be seen from outside.
//!
//! `make chaos MINUTES=3 SEED=7` runs it. The seed brings the programs, the requests and the faults back, but not
//! the moments at which the machine gets to them.

// The Worker has no clock of its own; its tests run on a real one.
#![allow(clippy::disallowed_methods)]

#[path = "../e2e/support/mod.rs"]
// Shared with the end-to-end tests, which use all of it.
#[allow(dead_code, unused_imports)]
mod support;

mod clients;
mod finish;
mod history;
mod programs;
mod town;
mod weather;

use std::time::{Duration, Instant};
use support::chance::Chance;
use town::Town;

/// Threads that send.
const CLIENTS: u64 = 6;

fn minutes() -> f64 {
    let given = std::env::var("ONCEWARD_CHAOS_MINUTES").unwrap_or_default();
    given.parse().unwrap_or(3.0)
}

#[test]
#[ignore = "takes minutes: make chaos"]
fn chaos() {
    let seed = Chance::seed();
    eprintln!("chaos: SEED={seed}, {} minutes", minutes());
    let mut server = support::Server::start();
    let town = Town::new(server.address());
    let mut weather = weather::Weather::new(seed);
    let end = Instant::now() + Duration::from_secs_f64(minutes() * 60.0);
    std::thread::scope(|scope| {
        for n in 0..CLIENTS {
            let town = &town;
            scope.spawn(move || clients::live(town, &mut Chance::new(seed ^ (n + 1) << 32)));
        }
        weather.rages_until(end, &mut server, &town);
        town.close();
    });
    weather.calms(&server, &town);
    let began = Instant::now();
    finish::wait_for_rest(&server, &town);
    let settled = began.elapsed();
    let history = town.history(&server, &weather);
    let verdict = history::judge(&history);
    let figures = town.figures(&history, &weather, &verdict, settled);
    eprintln!("chaos: SEED={seed}\n{figures}");
    if let Some(first) = verdict.wrong.first() {
        for wrong in &verdict.wrong {
            eprintln!("WRONG  {}: {}: {}", wrong.key, wrong.rule, wrong.what);
        }
        let key = history.keys.iter().find(|key| key.key == first.key);
        let key = key.expect("a key that was judged");
        eprintln!("\n{}", history::story(&history, key));
    }
    assert!(
        verdict.wrong.is_empty(),
        "{} wrong, SEED={seed}",
        verdict.wrong.len()
    );
}
