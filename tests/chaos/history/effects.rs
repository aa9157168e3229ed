//! What reached the outside world: once per record, in order, and nothing after the end.

use super::answers::final_since;
use super::{Court, Effect, Repeats, SLICE_CUT_MS, STEP_TIMEOUT_MS};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// A call that was sent before somebody knew the end may be read by the sink a little later.
const ON_THE_WAY_MS: u64 = 250;

pub(super) fn judge(court: &mut Court<'_>, kills: &[u64], repeats: &mut Repeats) {
    keys_are_stable(court);
    no_way_back(court);
    repeats_are_explained(court, kills, repeats);
    nothing_after_the_end(court);
    records_happened(court);
    records_stay(court);
}

/// Each identity has one key per generation, and no key belongs to two identities.
fn keys_are_stable(court: &mut Court<'_>) {
    let key = court.key;
    let wishes = key.wishes.iter().filter(|w| w.new_generation).count();
    let generations = 1 + wishes + key.plan.starts_over;
    let mut keys: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut owner: HashMap<&str, &str> = HashMap::new();
    for effect in &key.effects {
        keys.entry(&effect.target).or_default().insert(&effect.key);
        let first = *owner.entry(&effect.key).or_insert(&effect.target);
        court.require(first == effect.target, "a key belongs to one step", || {
            format!("{} went to {first} and to {}", effect.key, effect.target)
        });
    }
    for (target, keys) in keys {
        let turns = key.plan.turns.get(target).copied().unwrap_or(1);
        court.require(
            keys.len() <= turns * generations,
            "one key per step and generation",
            || {
                format!(
                    "{target} has {} keys in {generations} generation(s) of {turns} turn(s)",
                    keys.len()
                )
            },
        );
    }
}

/// The next step begins only when the one before it is recorded: from then on that one never runs again.
fn no_way_back(court: &mut Court<'_>) {
    let key = court.key;
    for path in &key.plan.paths {
        let (mut current, mut passed) = (None, HashSet::new());
        for effect in key.effects.iter().filter(|e| path.contains(&e.target)) {
            if current == Some(&effect.key) {
                continue;
            }
            court.require(
                !passed.contains(&effect.key),
                "what is recorded is not done again",
                || {
                    format!(
                        "{} at {} ms: its successor had begun",
                        effect.target, effect.at
                    )
                },
            );
            passed.extend(current.replace(&effect.key));
        }
    }
}

/// A call is repeated only if it failed, or if whoever made it died before the record.
fn repeats_are_explained(court: &mut Court<'_>, kills: &[u64], repeats: &mut Repeats) {
    let key = court.key;
    let targets: HashSet<&str> = key.effects.iter().map(|e| e.target.as_str()).collect();
    for target in targets {
        let failures = key.plan.failures.get(target).copied().unwrap_or(0);
        let calls: Vec<&Effect> = key.calls(target).collect();
        let mut last: HashMap<&str, (usize, &Effect)> = HashMap::new();
        for (index, call) in calls.iter().enumerate() {
            let Some((at, before)) = last.insert(&call.key, (index, call)) else {
                continue;
            };
            let recorded_by = before.ended.unwrap_or(before.at) + SLICE_CUT_MS;
            let killed = kills
                .iter()
                .chain(&key.kills)
                .any(|kill| (before.at..=recorded_by.min(call.at)).contains(kill));
            if at < failures || before.hung_up && !killed {
                repeats.failed += 1;
            } else if killed {
                repeats.killed += 1;
            } else if call.at >= before.at + SLICE_CUT_MS {
                repeats.cut += 1;
            } else if call.at >= before.at + STEP_TIMEOUT_MS {
                repeats.timed_out += 1;
            } else {
                court.require(false, "a repeat has a reason", || {
                    format!(
                        "{target} at {} ms and again at {} ms, and nobody died",
                        before.at, call.at
                    )
                });
            }
        }
    }
}

fn nothing_after_the_end(court: &mut Court<'_>) {
    let key = court.key;
    let Some((since, state)) = final_since(key) else {
        return;
    };
    let own = key
        .effects
        .iter()
        .filter(|e| !key.plan.of_children.contains(&e.target));
    for effect in own.filter(|e| e.at > since + ON_THE_WAY_MS) {
        court.require(false, "nothing is done after the end", || {
            format!(
                "{} at {} ms, {state} at {since} ms",
                effect.target, effect.at
            )
        });
    }
}

/// A record names what really happened, and each identity has one record.
fn records_happened(court: &mut Court<'_>) {
    let key = court.key;
    let done: HashSet<&str> = key.effects.iter().map(|e| e.key.as_str()).collect();
    let mut seen = HashSet::new();
    for record in &key.end.journal {
        let step = record["step"].as_str().unwrap_or_default();
        court.require(
            seen.insert((step.to_owned(), record["kind"].to_string())),
            "one record per step",
            || format!("{step} has two"),
        );
        if let Some(made) = made(&record["value"]) {
            court.require(
                done.contains(made.as_str()),
                "a record names what happened",
                || format!("{step}: nobody saw {made}"),
            );
        }
    }
    for made in all_made(&key.answer().unwrap_or_default()) {
        court.require(
            done.contains(made.as_str()),
            "an answer tells what happened",
            || format!("nobody saw {made}"),
        );
    }
}

/// A recorded outcome never changes within a generation, whoever looks and whenever.
fn records_stay(court: &mut Court<'_>) {
    let key = court.key;
    let last = key.end.document.as_ref();
    let last = last.map(|d| json!({ "generation": d["generation"], "records": key.end.journal }));
    let mut known: HashMap<(u64, &str), &Value> = HashMap::new();
    for journal in key.journals.iter().chain(&last) {
        let generation = journal["generation"].as_u64().unwrap_or(0);
        for record in journal["records"].as_array().into_iter().flatten() {
            // An undo carries the name of its step.
            let is_outcome = record["state"] == "succeeded" && record["kind"] != "undo";
            let (Some(step), true) = (record["step"].as_str(), is_outcome) else {
                continue;
            };
            let value = &record["value"];
            let first = *known.entry((generation, step)).or_insert(value);
            court.require(first == value, "what is recorded stays", || {
                format!("{step}: {first}, then {value}")
            });
        }
    }
}

/// The derived key in the outcome of a call: the sink gives it back as `id-KEY`.
fn made(outcome: &Value) -> Option<String> {
    let id = outcome["body"]["id"].as_str()?;
    id.strip_prefix("id-").map(str::to_owned)
}

/// The same of all outcomes within a value.
pub(super) fn all_made(value: &Value) -> Vec<String> {
    let mut all: Vec<String> = made(value).into_iter().collect();
    match value {
        Value::Array(list) => all.extend(list.iter().flat_map(all_made)),
        Value::Object(map) => all.extend(map.values().flat_map(all_made)),
        _ => {}
    }
    all
}
