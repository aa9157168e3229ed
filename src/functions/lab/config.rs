//! The policy of a program.

use super::syntax;
use super::walk::{Fields, Problems, member, text, whole};
use crate::function::{AfterExpiry, History, Keeps, Policy};
use serde_json::Value;

const PATH: &str = "config";

pub(super) fn policy(problems: &mut Problems, value: &Value) -> Option<Policy> {
    let before = problems.count();
    let mut fields = Fields::of(problems, PATH, value)?;
    let mut policy = Policy::default();
    let mut ms = |name, slot: &mut u64| {
        let read = fields.read(problems, name, syntax::duration);
        if let Some(ms) = read {
            *slot = ms;
        }
        read.is_some()
    };
    ms("respond_within", &mut policy.respond_within_ms);
    let own_cut = ms("slice_cut", &mut policy.slice_cut_ms);
    let own_budget = ms("slice_budget", &mut policy.slice_budget_ms);
    ms("lease", &mut policy.lease_ms);
    if own_cut && !own_budget {
        let cut = policy.slice_cut_ms;
        let inside = cut - (cut / 5).min(1_000);
        policy.slice_budget_ms = policy.slice_budget_ms.min(inside);
    }
    let mut count = |name, slot: &mut u32| {
        if let Some(n) = fields.read(problems, name, whole(0, u32::MAX)) {
            *slot = n;
        }
    };
    count("max_attempts", &mut policy.max_attempts);
    count("steps_per_slice", &mut policy.steps_per_slice);
    if let Some(history) = fields.read(problems, "history", history) {
        policy.history = history;
    }
    if let Some(keeps) = fields.read(problems, "keeps", keeps) {
        policy.keeps = keeps;
    }
    retention(problems, &mut fields, &mut policy);
    fields.close(problems);
    // Numbers that were not read would only lead to problems that are none.
    if problems.count() == before {
        for problem in policy.problems() {
            problems.add(path_of(&problem), problem);
        }
    }
    Some(policy)
}

fn retention(problems: &mut Problems, fields: &mut Fields<'_>, policy: &mut Policy) {
    let path = fields.path("retention");
    let Some(mut fields) = fields
        .take("retention")
        .and_then(|value| Fields::of(problems, &path, value))
    else {
        return;
    };
    if let Some(ms) = fields.read(problems, "succeeded", syntax::duration) {
        policy.retention_succeeded_ms = ms;
    }
    if let Some(ms) = fields.read(problems, "failed", syntax::duration) {
        policy.retention_failed_ms = ms;
    }
    if let Some(ms) = fields.read(problems, "payload", syntax::duration) {
        policy.retention_payload_ms = Some(ms);
    }
    if let Some(tombstone_ms) = fields.read(problems, "gone", syntax::duration) {
        policy.after_expiry = AfterExpiry::Gone { tombstone_ms };
    }
    fields.close(problems);
}

fn history(value: &Value) -> Result<History, String> {
    let word = text(value)?;
    match word.as_str() {
        "full" => Ok(History::Full),
        "failed_only" => Ok(History::FailedOnly),
        "none" => Ok(History::None),
        _ => {
            let got = super::walk::quoted(&word);
            Err(format!("got {got}, wanted full, failed_only or none"))
        }
    }
}

fn keeps(value: &Value) -> Result<Keeps, String> {
    let word = text(value)?;
    match word.as_str() {
        "all" => Ok(Keeps::All),
        "below_500" => Ok(Keeps::Below500),
        "success" => Ok(Keeps::Success),
        _ => {
            let got = super::walk::quoted(&word);
            Err(format!("got {got}, wanted all, below_500 or success"))
        }
    }
}

/// A problem of a policy begins with the name of the setting.
fn path_of(problem: &str) -> String {
    let name = problem.split([' ', ':']).next().unwrap_or("");
    match name.split_once('.') {
        Some((group, name)) => member(&member(PATH, group), name),
        None => member(PATH, name),
    }
}
