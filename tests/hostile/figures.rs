//! What came of it, in numbers, and the stories of what was wrong.

use crate::judge::By;
use crate::shot::Shot;
use crate::support::Answer;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Faults after which nobody sends any more.
const ENOUGH: usize = 20;

#[derive(Default)]
pub struct Figures(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    statuses: BTreeMap<(By, u16), u64>,
    codes: BTreeMap<String, u64>,
    kinds: BTreeMap<&'static str, u64>,
    broken: BTreeMap<&'static str, u64>,
    closed: u64,
    replayed: u64,
    /// Bodies of 401: there is one, whatever was wrong.
    refusals: BTreeSet<Vec<u8>>,
    faults: Vec<Fault>,
}

/// One answer that should not have been.
#[derive(Clone, Debug)]
pub struct Fault {
    pub number: u64,
    why: String,
    request: String,
    answer: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "WRONG  request {}: {}\n{}\n\n{}",
            self.number, self.why, self.request, self.answer
        )
    }
}

impl Figures {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn good(&self, shot: &Shot, answer: &Answer, by: By) {
        let mut counts = self.counts();
        *counts.statuses.entry((by, answer.status)).or_default() += 1;
        *counts.kinds.entry(shot.what).or_default() += 1;
        if let Some(why) = shot.broken {
            *counts.broken.entry(why).or_default() += 1;
        }
        if answer.status >= 400 && by == By::Worker {
            let code = answer.code();
            *counts
                .codes
                .entry(if code.is_empty() {
                    "(no body, or the function's own)".into()
                } else {
                    code
                })
                .or_default() += 1;
        }
        if answer.status == 401 && !answer.body.is_empty() {
            counts.refusals.insert(answer.body.clone());
        }
        counts.replayed += u64::from(answer.is_replay());
    }

    pub fn closed(&self) {
        self.counts().closed += 1;
    }

    pub fn wrong(&self, number: u64, shot: &Shot, answer: Option<&Answer>, why: &str) {
        self.counts().faults.push(Fault {
            number,
            why: format!(
                "{why} ({}{})",
                shot.what,
                shot.broken.map(|b| format!(", {b}")).unwrap_or_default()
            ),
            request: shot.shown(),
            answer: answer.map(Answer::shown).unwrap_or_default(),
        });
    }

    pub fn go_on(&self) -> bool {
        self.counts().faults.len() < ENOUGH
    }

    /// How many bodies of 401 there were.
    pub fn refusals(&self) -> usize {
        self.counts().refusals.len()
    }

    pub fn faults(&self) -> Vec<Fault> {
        self.counts().faults.clone()
    }

    pub fn shown(&self, took: Duration, files: usize) -> String {
        let counts = self.counts();
        let all: u64 = counts.statuses.values().sum::<u64>() + counts.closed;
        let mut out = String::new();
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = all.saturating_mul(1_000) / ms;
        let _ = writeln!(
            out,
            "{all} answers in {:.0} s ({rate} a second), {} replays",
            took.as_secs_f64(),
            counts.replayed
        );
        let _ = writeln!(out, "kinds      {}", list(counts.kinds.iter()));
        let statuses = counts
            .statuses
            .iter()
            .map(|((by, status), n)| (format!("{status} {by:?}"), n));
        let _ = writeln!(out, "statuses   {}", list(statuses));
        let _ = writeln!(out, "codes      {}", list(counts.codes.iter()));
        let _ = writeln!(
            out,
            "no requests {}; closed without an answer {}",
            list(counts.broken.iter()),
            counts.closed
        );
        let _ = write!(
            out,
            "files of the state {files}; wrong {}",
            counts.faults.len()
        );
        out
    }
}

fn list<'a, K: fmt::Display>(pairs: impl Iterator<Item = (K, &'a u64)>) -> String {
    let pairs: Vec<String> = pairs.map(|(name, n)| format!("{name}: {n}")).collect();
    pairs.join(", ")
}
