//! What can be told of a run, and whether two runs tell the same.

use super::action::{Action, Fault, Point, Sent};
use super::bench::Bench;
use super::crash::CRASH_KEY;
use crate::protocol::{Kind, Outcome, State, StepRecord, Task};
use crate::types::{Answer, StepId, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// What can be told of a run.
pub(super) struct Course {
    pub(super) state: State,
    answer: Option<Answer>,
    failure: Option<String>,
    outcomes: BTreeMap<StepId, Outcome>,
    /// Steps that were not undone, if anything was to be.
    not_undone: Option<BTreeSet<String>>,
    /// Function and state of every other task.
    others: Vec<String>,
    /// Generations of which keys are derived.
    generations: BTreeMap<TaskId, u64>,
    /// How often a request went out under each derived key.
    effects: BTreeMap<String, usize>,
    /// The same, by what was asked for.
    by_request: BTreeMap<String, BTreeMap<String, usize>>,
    /// Most steps that were under way at the same time.
    peak: usize,
    pub(super) points: Vec<Point>,
}

impl Course {
    pub(super) fn of(bench: &Bench) -> Self {
        let task = bench.task(CRASH_KEY).expect("the delivery was accepted");
        let requests = bench.requests();
        let mut effects = BTreeMap::new();
        let mut by_request: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        for sent in &requests {
            *effects.entry(sent.key().to_owned()).or_insert(0) += 1;
            let what = format!("{} {}", sent.request.method, sent.request.url);
            let keys = by_request.entry(what).or_default();
            *keys.entry(sent.key().to_owned()).or_insert(0) += 1;
        }
        let tasks = bench.tasks();
        let others = tasks.iter().filter(|other| other.id() != task.id());
        let mut others: Vec<String> = others
            .map(|other| format!("{}: {:?}", other.key.name, other.state))
            .collect();
        others.sort();
        Self {
            answer: bench.answer(CRASH_KEY),
            outcomes: outcomes(bench.journal(CRASH_KEY)),
            not_undone: not_undone(&task),
            // What went wrong before it was cancelled is news of that run alone.
            failure: match task.state {
                State::Cancelled => None,
                _ => task.failure.map(|f| f.code),
            },
            state: task.state,
            others,
            generations: tasks.iter().map(|t| (t.id(), t.key_generation)).collect(),
            effects,
            by_request,
            peak: peak(&requests),
            points: bench.points(),
        }
    }
}

/// Every outcome that is the same in every run: not what the clock says, and not the work that a
/// function has left undone or has given up.
fn outcomes(journal: Vec<StepRecord>) -> BTreeMap<StepId, Outcome> {
    let timeless = |r: &StepRecord| !matches!(r.kind, Kind::Now) && r.outcome.is_settled();
    let kept: Vec<StepRecord> = journal.into_iter().filter(timeless).collect();
    let generations: BTreeSet<u64> = kept.iter().filter_map(|r| undone(&r.id)).collect();
    let name = |id: StepId| {
        let Some(generation) = undone(&id) else {
            return id;
        };
        // A generation is a time, and times differ: here it is the first, the second, …
        let rank = generations.range(..generation).count();
        let branch = id
            .branch
            .replace(&generation.to_string(), &rank.to_string());
        StepId { branch, ..id }
    };
    kept.into_iter().map(|r| (name(r.id), r.outcome)).collect()
}

/// The earlier generation of which this record undoes a step.
fn undone(id: &StepId) -> Option<u64> {
    let (generation, _) = id.branch.strip_prefix("%undo/")?.split_once('/')?;
    generation.parse().ok().filter(|generation| *generation > 0)
}

fn not_undone(task: &Task) -> Option<BTreeSet<String>> {
    let undone = task.undone.as_ref()?;
    let named = undone.not_undone.iter();
    Some(named.map(|n| format!("{:?}: {}", n.step, n.code)).collect())
}

/// Most steps that were under way at the same time. A step is so from its first request to its last
/// response, so that a pause between two tries counts as well.
fn peak(requests: &[Sent]) -> usize {
    let mut spans: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for sent in requests {
        let span = spans
            .entry(sent.key())
            .or_insert((sent.at_ms, sent.answered_ms));
        span.1 = span.1.max(sent.answered_ms);
    }
    let at = |ms: u64| {
        let open = spans
            .values()
            .filter(|(from, to)| (*from..=*to).contains(&ms));
        open.count()
    };
    spans.values().map(|(from, _)| at(*from)).max().unwrap_or(0)
}

/// Looks whether a disturbed run can be told from the clean one.
pub(super) fn compare(point: Point, fault: Fault, clean: &Course, disturbed: &Course) {
    assert_eq!(disturbed.state, clean.state, "state");
    assert_eq!(disturbed.answer, clean.answer, "answer");
    if matches!(clean.state, State::Failed { resumable: true }) {
        // Attempts are what it ended for lack of, and a crash takes one of them.
        return;
    }
    assert_eq!(disturbed.failure, clean.failure, "failure");
    assert_eq!(disturbed.outcomes, clean.outcomes, "outcomes");
    assert_eq!(disturbed.not_undone, clean.not_undone, "not undone");
    assert_eq!(disturbed.others, clean.others, "other tasks");
    let crash = matches!(fault, Fault::CrashBefore | Fault::CrashAfter);
    let crash = crash && point.action != Action::Debt;
    let mut again = 0;
    if disturbed.generations == clean.generations {
        again += more(crash, &clean.effects, &disturbed.effects);
    } else {
        // A generation is a time, and times differ: so do the keys that are derived of it, and what is
        // left to compare is how many there are for each request.
        let requests = |course: &Course| -> Vec<String> {
            let requests = course.by_request.keys();
            requests.cloned().collect()
        };
        assert_eq!(requests(disturbed), requests(clean), "requests");
        for (what, keys) in &clean.by_request {
            let clean = by_rank(what, keys);
            again += more(crash, &clean, &by_rank(what, &disturbed.by_request[what]));
        }
    }
    // Only what was under way may happen again: all else was recorded before the next effect.
    let peak = clean.peak;
    assert!(
        again <= peak,
        "{again} steps ran again, though at most {peak} were under way at a time"
    );
}

/// Keys are named by how often they were used.
fn by_rank(what: &str, keys: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let mut times: Vec<usize> = keys.values().copied().collect();
    times.sort_unstable();
    let ranked = times.into_iter().enumerate();
    ranked.map(|(n, t)| (format!("{what} {n:06}"), t)).collect()
}

/// How many steps ran more often than in the clean run.
fn more(
    crash: bool,
    clean: &BTreeMap<String, usize>,
    disturbed: &BTreeMap<String, usize>,
) -> usize {
    let keys = |of: &BTreeMap<String, usize>| -> Vec<String> { of.keys().cloned().collect() };
    assert_eq!(keys(disturbed), keys(clean), "derived keys");
    let mut again = 0;
    for (key, times) in clean {
        // That none of them came after its record, every run sees to by itself.
        let most = if crash { 2 * times } else { *times };
        let got = disturbed[key];
        let range = *times..=most;
        assert!(
            range.contains(&got),
            "{got} effects under {key}, wanted {range:?}"
        );
        again += usize::from(got > *times);
    }
    again
}
