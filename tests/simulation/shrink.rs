//! Makes a failure small: only the key that fails, and only the faults that it takes.

use crate::chance::Place;
use crate::run::{Outcome, Setting, run};
use std::collections::BTreeSet;

/// Most runs that are spent on it.
const MOST_RUNS: usize = 150;

/// The smallest setting found that breaks the same rule, with what came of it.
pub fn shrink(setting: &Setting, outcome: Outcome) -> (Setting, Outcome) {
    let Some(rule) = outcome.wrong.first().map(|w| w.rule) else {
        return (setting.clone(), outcome);
    };
    let mut best = (setting.clone(), outcome);
    let mut runs = 0;
    let mut attempt = |best: &mut (Setting, Outcome), candidate: Setting| {
        runs += 1;
        if runs > MOST_RUNS {
            return false;
        }
        let outcome = run(&candidate);
        let same = outcome.wrong.iter().any(|w| w.rule == rule);
        if same {
            *best = (candidate, outcome);
        }
        same
    };
    if let Some(key) = best.1.culprit {
        let alone = Setting {
            keys: vec![key],
            ..best.0.clone()
        };
        attempt(&mut best, alone);
    }
    // Halves, quarters, … of what is left are taken away, as long as the rule stays broken.
    let mut parts = 2;
    while parts <= 2 * best.1.struck.len().max(1) {
        let all: Vec<Place> = best.1.struck.clone();
        let size = all.len().div_ceil(parts).max(1);
        let smaller = all.chunks(size).any(|chunk| {
            let mut spared: BTreeSet<Place> = best.0.spared.clone();
            spared.extend(chunk.iter().cloned());
            let candidate = Setting {
                spared,
                ..best.0.clone()
            };
            attempt(&mut best, candidate)
        });
        parts = if smaller { parts.max(3) - 1 } else { parts * 2 };
        if size == 1 && !smaller {
            break;
        }
    }
    best
}
