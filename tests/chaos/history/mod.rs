//! What happened during a run, as anybody outside could see it, and the judge of it.
//!
//! Plain data and pure functions: they know neither HTTP nor workerd, so that whatever can write such a
//! history can be judged. Times are milliseconds since the run began, on one clock.

mod answers;
mod effects;
mod ends;
mod story;
#[cfg(test)]
mod tests;
mod undos;

pub use story::story;

use serde_json::Value;
use std::collections::HashMap;

/// A slice is cut off after this time in the programs of a run: what it has not recorded by then it never will.
pub const SLICE_CUT_MS: u64 = 5_000;

/// A call without an answer fails after this time in the programs of a run.
pub const STEP_TIMEOUT_MS: u64 = 2_400;

/// One whole run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// When the server was killed.
    pub kills: Vec<u64>,
    /// From then on nothing was made to fail any more.
    pub calm_from: u64,
    pub keys: Vec<KeyHistory>,
}

/// Everything about one idempotency key.
#[derive(Clone, Debug, Default)]
pub struct KeyHistory {
    pub key: String,
    /// The only task that this key may name.
    pub task_id: String,
    pub plan: Plan,
    /// When somebody died who worked for it, beside those times when the whole server did.
    pub kills: Vec<u64>,
    pub deliveries: Vec<Delivery>,
    pub looks: Vec<Look>,
    /// Pages of its journal, as somebody saw them.
    pub journals: Vec<Value>,
    pub wishes: Vec<Wish>,
    pub effects: Vec<Effect>,
    /// Payloads of the signals that were sent, each under a key of its own, however often.
    pub signals: Vec<Value>,
    pub end: End,
}

/// What the program is meant to do.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Each way through the program: the targets that it calls, in order.
    pub paths: Vec<Vec<String>>,
    /// Targets that are called in several turns; the others have one.
    pub turns: HashMap<String, usize>,
    /// Targets of which the first so many calls are refused or left without an answer.
    pub failures: HashMap<String, usize>,
    pub undoable: Vec<Undoable>,
    /// How it may end if nobody cancels it.
    pub ends: &'static str,
    /// Name of the signal steps whose payloads are checked.
    pub signal: Option<String>,
    /// Targets that its child calls, which hears of the end of its parent a little later.
    pub of_children: Vec<String>,
    /// Nobody sends the signal, so it waits for it in the end.
    pub waits: bool,
    /// A delivery may make it start over once it has failed.
    pub starts_over: usize,
    /// It has one attempt, so a kill ends it, and for good if nobody knows whether a call happened.
    pub one_attempt: bool,
}

/// A call that can be taken back.
#[derive(Clone, Debug)]
pub struct Undoable {
    pub step: String,
    pub target: String,
    pub undo: String,
}

#[derive(Clone, Debug)]
pub struct Delivery {
    pub sent: u64,
    pub done: u64,
    /// 0 is the key's own body; all others are other bodies.
    pub body: u32,
    /// None: the connection broke, or the client hung up.
    pub reply: Option<Reply>,
}

#[derive(Clone, Debug, Default)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// The task's document, as somebody saw it.
#[derive(Clone, Debug)]
pub struct Look {
    pub sent: u64,
    pub done: u64,
    pub document: Value,
}

/// An operator's wish and the status that answered it; 0 if nothing did.
#[derive(Clone, Debug)]
pub struct Wish {
    pub sent: u64,
    pub what: &'static str,
    pub status: u16,
    /// The answer said, or may have said, that it starts over.
    pub new_generation: bool,
}

/// A call that reached the outside world.
#[derive(Clone, Debug)]
pub struct Effect {
    pub target: String,
    /// The derived key that it carried.
    pub key: String,
    pub at: u64,
    /// When its answer was written, or its caller was found gone.
    pub ended: Option<u64>,
    /// The caller did not wait for the answer.
    pub hung_up: bool,
    /// Of an undo: the derived key of what it takes back.
    pub undoes: Option<String>,
}

/// What was found when all was quiet.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// The task's document; none if there is no such task.
    pub document: Option<Value>,
    pub journal: Vec<Value>,
    pub row: Option<Row>,
    /// Of its children: what the parent's answer shows of each, and what the child itself answers.
    pub children: Vec<(Value, Value)>,
}

/// D1's row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub state: String,
    pub generation: u64,
    pub answer: Option<Vec<u8>>,
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub key: String,
    /// The rule that was broken.
    pub rule: &'static str,
    pub what: String,
}

/// The judgement.
#[derive(Debug, Default)]
pub struct Verdict {
    pub wrong: Vec<Wrong>,
    /// Accepted and not found again, or stuck in the end.
    pub lost: usize,
    /// Repeated calls with the same key, by what explains them.
    pub repeats: Repeats,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// The server was killed before the call can have been recorded.
    pub killed: usize,
    /// The call was refused, or its answer did not arrive.
    pub failed: usize,
    /// Whoever made it had no answer within the time of a call: a machine that stalls.
    pub timed_out: usize,
    /// The slice was cut off before it could record: the next one began after its time.
    pub cut: usize,
}

/// Collects what is wrong with one key.
struct Court<'a> {
    key: &'a KeyHistory,
    wrong: Vec<Wrong>,
}

impl Court<'_> {
    fn require(&mut self, holds: bool, rule: &'static str, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(Wrong {
                key: self.key.key.clone(),
                rule,
                what: what(),
            });
        }
    }
}

impl KeyHistory {
    /// The state in the end; empty if there is no task.
    pub fn end_state(&self) -> &str {
        let document = self.end.document.as_ref();
        document.and_then(|d| d["state"].as_str()).unwrap_or("")
    }

    /// Final, or waiting for the signal that nobody sends.
    pub fn is_at_rest(&self) -> bool {
        match (self.end_state(), &self.end.document) {
            ("succeeded" | "failed" | "cancelled", _) => true,
            ("suspended", Some(document)) => {
                self.plan.waits && document["waiting"]["for"] == "signal"
            }
            _ => false,
        }
    }

    /// Payloads that its waits got, in order.
    fn taken(&self) -> impl Iterator<Item = &Value> {
        let is_turn = |step: &str| {
            let name = self.plan.signal.as_deref();
            name.is_some_and(|name| step.split('#').next() == Some(name))
        };
        self.end
            .journal
            .iter()
            .filter(|r| r["kind"] == "signal" && r["state"] == "succeeded")
            .filter(move |r| r["step"].as_str().is_some_and(is_turn))
            .map(|r| &r["value"])
    }

    /// How many signals its waits got.
    pub fn taken_signals(&self) -> usize {
        self.taken().count()
    }

    /// Somebody was told that it is accepted.
    pub fn is_accepted(&self) -> bool {
        let mut replies = self.deliveries.iter().filter_map(|d| d.reply.as_ref());
        replies.any(|r| matches!(r.status, 200..=202 | 409) || r.code() == "task_failed")
    }

    /// Calls of a target, in order.
    fn calls<'a>(&'a self, target: &'a str) -> impl Iterator<Item = &'a Effect> {
        self.effects.iter().filter(move |e| e.target == target)
    }

    /// The answer of the function, as a sender got it or as D1 has it.
    fn answer(&self) -> Option<Value> {
        let mut replies = self.deliveries.iter().filter_map(|d| d.reply.as_ref());
        let told = replies.find(|r| r.status == 201).map(|r| &r.body);
        let stored = self.end.row.as_ref().and_then(|row| row.answer.as_ref());
        serde_json::from_slice(told.or(stored)?).ok()
    }
}

/// Judges a run.
pub fn judge(history: &History) -> Verdict {
    let mut verdict = Verdict::default();
    for key in &history.keys {
        let mut court = Court {
            key,
            wrong: Vec::new(),
        };
        answers::judge(&mut court, history.calm_from);
        ends::judge(&mut court);
        effects::judge(&mut court, &history.kills, &mut verdict.repeats);
        undos::judge(&mut court);
        let is_lost = court.wrong.iter().any(|wrong| wrong.rule == ends::LOST);
        verdict.lost += usize::from(is_lost);
        verdict.wrong.append(&mut court.wrong);
    }
    verdict
}
