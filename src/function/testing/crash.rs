//! Disturbs a function at every point that there is, and looks whether anybody could tell.

use super::bench::Bench;
use super::world::{Action, Fault, Point, Reaction, Sent};
use crate::function::Function;
use crate::protocol::{Outcome, State};
use crate::types::{Answer, Input, StepId};
use std::collections::BTreeMap;
use std::rc::Rc;

const KEY: &str = "crash-everywhere";

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Points of the undisturbed run.
    pub points: usize,
    /// Disturbed runs.
    pub runs: usize,
}

/// Runs `function` undisturbed, then once for every action of that run and every fault: a crash
/// before it, a crash after it, its reply lost, its message doubled. After a crash the lease runs
/// out and the alarm goes on. `outside` must answer by what it is asked, not by what it remembers.
///
/// # Panics
/// If a disturbed run ends differently from the undisturbed one, if an effect happens again though its
/// record was not lost, if more steps run again than can have been under way, or if a derived key
/// differs.
pub fn crash_everywhere(
    function: &Function,
    input: &Input,
    outside: impl Fn(&Sent) -> Reaction + 'static,
) -> Tried {
    let outside: Rc<dyn Fn(&Sent) -> Reaction> = Rc::new(outside);
    let bench = || {
        let outside = Rc::clone(&outside);
        Bench::new(function.clone()).outside(move |sent| outside(sent))
    };
    let mut clean = bench();
    run(&mut clean, input, None);
    let clean = Course::of(&clean);
    let mut runs = 0;
    for point in points(&clean.actions) {
        for fault in faults(point.action) {
            let mut disturbed = bench().plan(point, fault);
            run(&mut disturbed, input, Some(&clean.state));
            let at = format!("{}, {fault:?} at {point:?}", function.name());
            compare(&at, fault, &clean, &Course::of(&disturbed));
            runs += 1;
        }
    }
    Tried {
        points: clean.actions.len(),
        runs,
    }
}

/// What can be told of a run.
struct Course {
    state: State,
    answer: Option<Answer>,
    failure: Option<String>,
    outcomes: BTreeMap<StepId, Outcome>,
    /// How often a request went out under each derived key.
    effects: BTreeMap<String, usize>,
    /// Most steps that were under way at the same time.
    peak: usize,
    actions: Vec<Action>,
}

impl Course {
    fn of(bench: &Bench) -> Self {
        let task = bench.task(KEY).expect("the delivery was accepted");
        let requests = bench.requests();
        let mut effects = BTreeMap::new();
        for sent in &requests {
            *effects.entry(sent.key().to_owned()).or_insert(0) += 1;
        }
        Self {
            state: task.state,
            answer: bench.answer(KEY),
            failure: task.failure.map(|f| f.code),
            outcomes: bench.outcomes(KEY),
            effects,
            peak: peak(&requests),
            actions: bench.actions(),
        }
    }
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

/// Delivers and runs. A crash costs an attempt: a task that has used them all up is taken up again
/// by the next delivery, as a sender would do that has had no answer.
fn run(bench: &mut Bench, input: &Input, wanted: Option<&State>) {
    let deliver = |bench: &mut Bench| {
        bench
            .deliver(KEY, input.clone())
            .unwrap_or_else(|problems| panic!("the input is refused: {problems:?}"));
        bench.run_until_idle();
    };
    deliver(bench);
    let resumable = State::Failed { resumable: true };
    let stands = bench.task(KEY).map(|t| t.state);
    if stands.as_ref() == Some(&resumable) && wanted.is_some_and(|w| *w != resumable) {
        deliver(bench);
    }
}

fn points(actions: &[Action]) -> Vec<Point> {
    let nth = |at: usize| actions[..=at].iter().filter(|a| **a == actions[at]).count();
    let all = (0..actions.len()).map(|at| Point::new(actions[at], nth(at)));
    all.collect()
}

fn faults(action: Action) -> Vec<Fault> {
    match action {
        // A broken connection is a failure that a function may meet in its own way.
        Action::Fetch => vec![Fault::CrashBefore, Fault::CrashAfter],
        Action::Claim | Action::Record | Action::Suspend | Action::Finish => vec![
            Fault::CrashBefore,
            Fault::CrashAfter,
            Fault::LoseReply,
            Fault::Double,
        ],
    }
}

fn compare(at: &str, fault: Fault, clean: &Course, disturbed: &Course) {
    assert_eq!(disturbed.state, clean.state, "{at}: state");
    assert_eq!(disturbed.answer, clean.answer, "{at}: answer");
    if matches!(clean.state, State::Failed { resumable: true }) {
        // Attempts are what it ended for lack of, and a crash takes one of them.
        return;
    }
    assert_eq!(disturbed.failure, clean.failure, "{at}: failure");
    assert_eq!(disturbed.outcomes, clean.outcomes, "{at}: outcomes");
    let keys = |result: &Course| -> Vec<String> { result.effects.keys().cloned().collect() };
    assert_eq!(keys(disturbed), keys(clean), "{at}: derived keys");
    let mut again = 0;
    let crash = matches!(fault, Fault::CrashBefore | Fault::CrashAfter);
    for (key, times) in &clean.effects {
        // That none of them came after its record, every run sees to by itself.
        let most = if crash { 2 * times } else { *times };
        let got = disturbed.effects[key];
        let range = *times..=most;
        assert!(
            range.contains(&got),
            "{at}: {got} effects under {key}, wanted {range:?}"
        );
        again += usize::from(got > *times);
    }
    // Only what was under way may happen again: all else was recorded before the next effect.
    let peak = clean.peak;
    assert!(
        again <= peak,
        "{at}: {again} steps ran again, though at most {peak} were under way at a time"
    );
}
