//! Runs a case with a crash at every point: it has to come to the same each time.

use super::case::{Case, json};
use super::world;
use onceward::testing::{Bench, CRASH_KEY};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is wrong with the case under crashes: nothing, if it has no execution that ends.
pub fn everywhere(case: &Case) -> Vec<String> {
    let wrong = tried(case);
    match &case.pending_crash {
        None => wrong,
        Some(why) if wrong.is_empty() => {
            vec![format!("it passes: it is no longer pending ({why})")]
        }
        Some(_) => Vec::new(),
    }
}

fn tried(case: &Case) -> Vec<String> {
    let expect = &case.expect;
    let begins_nothing = expect.refused.is_some() || expect.executions == Some(0);
    if case.is_about_loading() || begins_nothing || case.crash == Some(false) {
        return Vec::new();
    }
    let Ok(mut bench) = world::bench(case) else {
        return vec!["the flow was not loaded".to_owned()];
    };
    let delivery = world::delivery(case, &case.deliveries()[0]);
    let signals: Vec<(String, String)> = case
        .signal
        .iter()
        .map(|signal| {
            (
                signal.name.clone(),
                json(signal.payload.as_deref().unwrap_or("{}")).to_string(),
            )
        })
        .collect();
    let script = move |bench: &mut Bench| {
        for (at, (name, payload)) in signals.iter().enumerate() {
            bench.signal(CRASH_KEY, name, &format!("signal-{at}"), payload);
            bench.run_until_idle();
        }
    };
    match catch_unwind(AssertUnwindSafe(|| {
        bench.crash_everywhere(delivery, script)
    })) {
        Ok(tried) if tried.runs < tried.points => vec![format!("{tried:?}")],
        Ok(_) => Vec::new(),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()));
            vec![said.unwrap_or_else(|| "it panicked".to_owned())]
        }
    }
}
