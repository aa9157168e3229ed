//! Locks and counted permits: each is an object of its own, which decides here who goes on.
//!
//! First come, first served. Whoever gets the lock while it waits is told by a letter, which is a hint only:
//! who holds the lock stands here, and asking again says so.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What a task wants of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockOp {
    /// To hold it, with so many others at most, or to stand in its queue. Asking again changes nothing.
    Acquire {
        /// Holders at once.
        limit: u32,
        /// How many may wait.
        queue: u32,
    },
    /// To hold it no more, or to leave the queue.
    Release,
}

/// A message to the object of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockCall {
    /// Its name.
    pub name: String,
    /// Who asks: the id of a task.
    pub task_id: String,
    /// Its generation: what an earlier one held or waited for is over.
    #[serde(default)]
    pub generation: u64,
    /// Tells what one task asks for from what else it asks for: the derived key of the step.
    #[serde(default)]
    pub mark: String,
    /// What for.
    pub op: LockOp,
}

/// The answer to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockReply {
    /// It is held now.
    Granted,
    /// It stands in the queue, behind so many; it is told by a letter when it holds the lock.
    Queued {
        /// How many come first.
        ahead: u32,
    },
    /// The queue is full.
    Full,
    /// It is held no more.
    Released,
}

/// Somebody who holds a lock or waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// A task.
    pub task_id: String,
    /// Its generation.
    #[serde(default)]
    pub generation: u64,
    /// What of it asks.
    #[serde(default)]
    pub mark: String,
}

impl Asker {
    /// Who sent this.
    pub fn of(call: &LockCall) -> Self {
        Self {
            task_id: call.task_id.clone(),
            generation: call.generation,
            mark: call.mark.clone(),
        }
    }
}

/// A letter that somebody is owed who waited and holds the lock now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// For whom.
    pub to: Asker,
    /// Grows with each letter of this lock.
    pub n: u64,
    /// Tries that have failed.
    #[serde(default)]
    pub tries: u32,
    /// The next try, by the alarm.
    #[serde(default)]
    pub next_ms: u64,
}

/// What the object of a lock keeps. One that nobody holds, waits for or is owed is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// Holders at once, as the last one who asked had it.
    pub limit: u32,
    /// Who holds it.
    pub holders: Vec<Asker>,
    /// Who waits, in order.
    pub queue: VecDeque<Asker>,
    /// Who is still to be told.
    pub letters: Vec<Letter>,
    /// The last letter.
    pub numbered: u64,
    /// When somebody was last given it or began to wait for it.
    pub changed_ms: u64,
}

/// What comes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The lock from now on.
    pub lock: Lock,
    /// Whether that is another one than before.
    pub changed: bool,
    /// The answer.
    pub reply: LockReply,
}

/// Decides a call.
///
/// ```
/// use onceward::flow::lock::{LockCall, LockOp, LockReply, decide};
/// let call = |task: &str, op: LockOp| LockCall {
///     name: "till".into(), task_id: task.into(), generation: 1, mark: "m".into(), op,
/// };
/// let take = LockOp::Acquire { limit: 1, queue: 1 };
/// let first = decide(None, &call("a", take.clone()), 1_000);
/// assert_eq!(first.reply, LockReply::Granted);
/// let second = decide(Some(first.lock), &call("b", take.clone()), 1_000);
/// assert_eq!(second.reply, LockReply::Queued { ahead: 0 });
/// let third = decide(Some(second.lock), &call("c", take), 1_000);
/// assert_eq!(third.reply, LockReply::Full);
/// let over = decide(Some(third.lock), &call("a", LockOp::Release), 2_000);
/// assert_eq!(over.lock.holders[0].task_id, "b");
/// assert_eq!(over.lock.letters[0].to.task_id, "b");
/// ```
pub fn decide(lock: Option<Lock>, call: &LockCall, now_ms: u64) -> Decided {
    let before = lock.clone();
    let mut lock = lock.unwrap_or_default();
    lock.name.clone_from(&call.name);
    let asker = Asker::of(call);
    let reply = match call.op {
        LockOp::Acquire { limit, queue } => lock.acquire(asker, limit.max(1), queue, now_ms),
        LockOp::Release => {
            lock.gone(&asker, now_ms);
            LockReply::Released
        }
    };
    let changed = match before {
        None => !lock.is_empty(),
        Some(before) => before != lock,
    };
    Decided {
        lock,
        changed,
        reply,
    }
}

impl Lock {
    /// True if there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty() && self.letters.is_empty()
    }

    fn acquire(&mut self, asker: Asker, limit: u32, queue: u32, now_ms: u64) -> LockReply {
        let same = |a: &Asker| a.task_id == asker.task_id;
        let earlier = |a: &Asker| same(a) && a.generation < asker.generation;
        let later = |a: &Asker| same(a) && a.generation > asker.generation;
        if self.everybody().any(later) {
            // Word of a slice of an earlier generation: whatever it makes of it is refused.
            return LockReply::Queued {
                ahead: self.waiting(),
            };
        }
        self.forget(earlier);
        self.limit = limit;
        self.hand_over(now_ms);
        if self.holders.contains(&asker) {
            return LockReply::Granted;
        }
        if let Some(at) = self.queue.iter().position(|a| *a == asker) {
            let ahead = u32::try_from(at).unwrap_or(u32::MAX);
            return LockReply::Queued { ahead };
        }
        if self.has_room() {
            self.holders.push(asker);
            self.changed_ms = now_ms;
            return LockReply::Granted;
        }
        let ahead = self.waiting();
        if ahead >= queue {
            return LockReply::Full;
        }
        self.queue.push_back(asker);
        self.changed_ms = now_ms;
        LockReply::Queued { ahead }
    }

    /// Somebody is gone, or lets go: the next ones hold it. True if anything has changed.
    pub fn gone(&mut self, asker: &Asker, now_ms: u64) -> bool {
        let forgot = self.forget(|a| a == asker);
        self.hand_over(now_ms);
        forgot
    }

    /// Somebody has got the letter of this number.
    pub fn heard(&mut self, n: u64) {
        self.letters.retain(|letter| letter.n != n);
    }

    fn everybody(&self) -> impl Iterator<Item = &Asker> {
        self.holders.iter().chain(&self.queue)
    }

    fn waiting(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX)
    }

    fn has_room(&self) -> bool {
        u32::try_from(self.holders.len()).is_ok_and(|n| n < self.limit)
    }

    /// True if there was one.
    fn forget(&mut self, who: impl Fn(&Asker) -> bool) -> bool {
        let before = self.holders.len() + self.queue.len();
        self.holders.retain(|a| !who(a));
        self.queue.retain(|a| !who(a));
        self.letters.retain(|letter| !who(&letter.to));
        before != self.holders.len() + self.queue.len()
    }

    /// Gives what is free to those who wait, in order, each of whom is owed a letter.
    fn hand_over(&mut self, now_ms: u64) {
        while self.has_room()
            && let Some(next) = self.queue.pop_front()
        {
            // Also after a clock that stepped back no number comes twice.
            self.numbered = now_ms.max(self.numbered + 1);
            self.letters.push(Letter {
                to: next.clone(),
                n: self.numbered,
                tries: 0,
                next_ms: 0,
            });
            self.holders.push(next);
            self.changed_ms = now_ms;
        }
    }
}
