//! What is taken back: everything that happened in a task that ended badly, once, the last thing first.

use super::effects::all_made;
use super::{Court, Effect, KeyHistory};
use std::collections::{HashMap, HashSet};

pub(super) fn judge(court: &mut Court<'_>) {
    let key = court.key;
    // The first undo of each thing that was made.
    let mut undone: HashMap<&str, &Effect> = HashMap::new();
    for undo in &key.effects {
        let Some(made) = &undo.undoes else {
            continue;
        };
        let first = *undone.entry(made).or_insert(undo);
        court.require(first.key == undo.key, "an undo has one key", || {
            format!("{}: {} and {}", undo.target, first.key, undo.key)
        });
        let own = key.plan.undoable.iter().find(|u| u.undo == undo.target);
        let known = own.is_some_and(|own| {
            key.calls(&own.target)
                .any(|e| e.key == *made && e.at < first.at)
        });
        court.require(known, "only what was done is undone", || {
            format!("{} of {made}, which nobody saw", undo.target)
        });
    }
    complete(court, &undone);
    in_order(court, &undone);
}

fn complete(court: &mut Court<'_>, undone: &HashMap<&str, &Effect>) {
    let key = court.key;
    let state = key.end_state();
    if !matches!(state, "succeeded" | "failed" | "cancelled") {
        return;
    }
    let document = key.end.document.clone().unwrap_or_default();
    let named: Vec<&str> = document["not_undone"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|left| left["step"].as_str())
        .collect();
    let answered = all_made(&key.answer().unwrap_or_default());
    for undoable in &key.plan.undoable {
        let made: HashSet<&str> = key
            .calls(&undoable.target)
            .map(|e| e.key.as_str())
            .collect();
        for made in made {
            let is_undone = undone.contains_key(made);
            if state == "succeeded" {
                court.require(
                    is_undone != answered.iter().any(|one| one == made)
                        || is_left_to_an_operator(key, made),
                    "a success keeps what it answers with, and nothing else",
                    || format!("{} ({made}): undone {is_undone}", undoable.step),
                );
            } else {
                court.require(
                    is_undone
                        || named.contains(&undoable.step.as_str())
                        || is_left_to_an_operator(key, made),
                    "what happened is undone, or named",
                    || format!("{} of a task that is {state}: {document}", undoable.target),
                );
            }
        }
    }
    let partial = document["undone"] == "partial";
    court.require(
        partial != named.is_empty() || document["undone"].is_null(),
        "what is not undone has a name",
        || document.to_string(),
    );
}

/// It happened in a generation that was undone only in part, and named it; then an operator had the task tried
/// again, as the only one who may.
fn is_left_to_an_operator(key: &KeyHistory, made: &str) -> bool {
    let mut calls = key.effects.iter().filter(|e| e.key == made);
    let last = calls.next_back().map_or(u64::MAX, |call| call.at);
    let mut retries = key.wishes.iter().filter(|w| w.new_generation);
    retries.any(|wish| wish.sent > last)
}

/// Of two things made one after the other on one path, the later one goes first.
fn in_order(court: &mut Court<'_>, undone: &HashMap<&str, &Effect>) {
    let key = court.key;
    for path in &key.plan.paths {
        let mut seen = HashSet::new();
        let made: Vec<&Effect> = key
            .effects
            .iter()
            .filter(|e| path.contains(&e.target) && seen.insert(e.key.as_str()))
            .filter(|e| undone.contains_key(e.key.as_str()))
            .collect();
        for pair in made.windows(2) {
            let [first, second] = [pair[0], pair[1]].map(|e| undone[e.key.as_str()]);
            // Of different generations: the first one was undone before the second one was made.
            let apart = first.at < pair[1].at;
            court.require(
                apart || second.at <= first.at,
                "the last thing is undone first",
                || format!("{} before {}", first.target, second.target),
            );
        }
    }
}
