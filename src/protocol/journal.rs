//! What is recorded, once.

use super::debts::Debt;
use super::effect::{Effect, Next, Reply, Transition};
use super::ending::{self, EndsAs};
use super::event::{Moment, Record};
use super::lease::{self, Standing as Proven};
use super::mailbox::child_signal;
use super::summary::Standing;
use super::task::{Child, Task};
use crate::types::{Failure, StepId, TaskId};
use serde::{Deserialize, Serialize};

/// What made a record. An identity keeps its kind: another one means that the code has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Work of the author's.
    #[default]
    Step,
    /// A sleep.
    Sleep,
    /// A wait for a signal.
    Signal,
    /// Another task.
    Child,
    /// The time.
    Now,
    /// Which branch of a race won.
    Race,
    /// Compensation of a step.
    Undo,
}

impl Kind {
    // The signature is serde's.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_step(&self) -> bool {
        *self == Self::Step
    }
}

/// How a step ended. Replayed the same in either case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// JSON text, its digits as written.
    Value(String),
    /// The step's final failure.
    Failed(#[serde(with = "super::whole")] Failure),
    /// No outcome yet: it has begun.
    Open(Box<Open>),
}

impl Outcome {
    /// True of what never changes within a generation.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Open(_))
    }
}

/// A step that has begun and has no outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Open {
    /// Its effect may be under way: recorded before the work of a step that can be undone or that
    /// must not be repeated blindly.
    #[serde(skip_serializing_if = "is_default")]
    pub in_flight: bool,
    /// Tries that have failed.
    #[serde(skip_serializing_if = "is_default")]
    pub tries: u32,
    /// When the first try began, by the object's clock.
    #[serde(skip_serializing_if = "is_default")]
    pub first_ms: u64,
    /// Not before this: the next try, the end of a sleep, the deadline of a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_ms: Option<u64>,
    /// Why the last try failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The task that was accepted for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<TaskId>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How a step can be undone. Enough to do so without running the function again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UndoPlan {
    /// Name of the handler.
    pub handler: String,
    /// What the author hands to it: JSON text.
    pub input: String,
    /// The derived key of the step itself, for services that undo by it.
    #[serde(default)]
    pub key: String,
}

/// One record of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StepRecord {
    /// Which step.
    pub id: StepId,
    /// What it is.
    #[serde(default, skip_serializing_if = "Kind::is_step")]
    pub kind: Kind,
    /// How it ended.
    pub outcome: Outcome,
    /// How it can be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<UndoPlan>,
    /// Place among the records of its slice.
    #[serde(default)]
    pub place: u32,
    /// Fence of the slice that recorded it; set by the machine. Fence and place are the order of a
    /// task's records.
    #[serde(default)]
    pub fence: u64,
    /// When it was recorded; set by the machine.
    #[serde(default)]
    pub at_ms: u64,
    /// Tries that the step took.
    #[serde(default)]
    pub tries: u32,
    /// The earlier generation that it belongs to, if it is kept only to be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Fence and place of its first failure, if it was opened again after it. What its branch recorded
    /// from then on until its outcome came of that failure, and may not be met any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<(u64, u32)>,
}

impl StepRecord {
    /// True if there is something to undo: it can be undone, and it happened or may have happened.
    ///
    /// ```
    /// use onceward::protocol::{Outcome, StepRecord, UndoPlan};
    /// use onceward::types::{Failure, StepId};
    /// let undo = UndoPlan { handler: "refund".into(), input: "{}".into(), key: String::new() };
    /// let mut record = StepRecord {
    ///     undo: Some(undo),
    ///     ..StepRecord::new(StepId::new("", "charge", 0), Outcome::Value("1".into()))
    /// };
    /// assert!(record.is_undoable());
    /// record.outcome = Outcome::Failed(Failure::terminal("declined", "no"));
    /// assert!(!record.is_undoable());
    /// ```
    pub fn is_undoable(&self) -> bool {
        self.undo.is_some()
            && match &self.outcome {
                Outcome::Value(_) => true,
                Outcome::Failed(failure) => failure.unknown,
                Outcome::Open(open) => open.in_flight,
            }
    }

    /// A record of a plain step, not yet sent to the object.
    pub fn new(id: StepId, outcome: Outcome) -> Self {
        Self {
            id,
            kind: Kind::Step,
            outcome,
            undo: None,
            place: 0,
            fence: 0,
            at_ms: 0,
            tries: 0,
            generation: None,
            opened: None,
        }
    }
}

/// Progress that the author keeps, in place of the last one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cursor {
    /// Fence of the slice that saved it; set by the machine.
    #[serde(default)]
    pub fence: u64,
    /// Counts the saves of one lease: 1, 2, …
    pub n: u64,
    /// JSON text.
    pub text: String,
    /// Records that a run which begins from here does not visit.
    #[serde(default)]
    pub skips: Vec<Skip>,
}

/// Occurrences of one step that lie before a saved cursor: `from` included, `to` not.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Skip {
    /// Branch of the steps.
    #[serde(default)]
    pub branch: String,
    /// Their name.
    pub name: String,
    /// The first that is skipped.
    #[serde(default)]
    pub from: u32,
    /// The first that is not.
    pub to: u32,
}

pub(super) fn record(mut task: Task, record: Record, moment: &Moment) -> Transition {
    let stop = match lease::check(&task, &record.proof, moment) {
        Proven::Valid => false,
        Proven::Over => true,
        Proven::Stale => return Transition::unchanged(Reply::Stale(Standing::of(&task))),
    };
    let fence = record.proof.fence;
    let mut fresh = fresh(record.steps, &record.known, fence, moment);
    let mut put = keep_children(&mut task, &fresh.effects, moment);
    if let Some(cursor) = record.cursor
        && newer(&cursor, fence, record.known_cursor.as_ref())
    {
        let moved = record.known_cursor.is_none_or(|k| k.text != cursor.text);
        fresh.progress |= moved;
        fresh
            .effects
            .push(Effect::PutCursor(Cursor { fence, ..cursor }));
    }
    if task.has_ended() && ending::is_to_undo(&task, moment, &fresh.effects) {
        // It had failed by lost leases, with nothing to undo as far as was known.
        task.finished_ms = None;
        task.expires_ms = None;
        task.touch(moment.ms);
        let to = EndsAs::Failed { restarts: true };
        ending::compensate(&mut task, to, None, moment, &mut fresh.effects);
        put = true;
    }
    if fresh.progress && task.attempts > 1 {
        task.attempts = 1;
        put = true;
    }
    let reply = Reply::Recorded {
        stop,
        winners: fresh.winners,
        cancel: task.cancel.is_some() && task.ending.is_none(),
    };
    if put {
        return Transition::put(task, fresh.effects, reply);
    }
    Transition {
        next: Next::Unchanged,
        effects: fresh.effects,
        reply,
    }
}

/// A cursor that is older than the one on record came late.
fn newer(cursor: &Cursor, fence: u64, known: Option<&Cursor>) -> bool {
    known.is_none_or(|known| (fence, cursor.n) > (known.fence, known.n))
}

/// Code of the failure of a child that its parent no longer waits for: it is cancelled.
pub const CHILD_ABANDONED: &str = "child_abandoned";

/// Children that are under way, so that a cancellation can be passed on. True if they changed.
pub(super) fn keep_children(task: &mut Task, effects: &[Effect], moment: &Moment) -> bool {
    let mut changed = false;
    for effect in effects {
        let Effect::PutStep(record) = effect else {
            continue;
        };
        if record.kind != Kind::Child {
            continue;
        }
        let (over, kept) = std::mem::take(&mut task.children)
            .into_iter()
            .partition(|child| child.step == record.id);
        let over: Vec<Child> = over;
        task.children = kept;
        changed |= !over.is_empty();
        if matches!(&record.outcome, Outcome::Failed(f) if f.code == CHILD_ABANDONED) {
            let debts = over.into_iter().map(|child| Debt::Cancel(child.task_id));
            task.debts.list.extend(debts);
            // The alarm pays, at once.
            task.debts.tries = 0;
            task.debts.next_ms = moment.ms + 1;
        }
        if let Outcome::Open(open) = &record.outcome
            && let Some(task_id) = open.child
        {
            let step = record.id.clone();
            task.children.push(Child { step, task_id });
            changed = true;
        }
        if record.outcome.is_settled() {
            // Its end was learned in another way: nobody waits for the letter any more.
            let name = child_signal(&record.id);
            let before = task.unread.len();
            task.unread.retain(|unread| unread.name != name);
            changed |= task.unread.len() != before;
        }
    }
    changed
}

/// What came of the records of one message.
#[derive(Default)]
pub(super) struct Fresh {
    /// Writes.
    pub(super) effects: Vec<Effect>,
    /// Whether one of them is a first success.
    pub(super) progress: bool,
    /// Records that had been there before and stay.
    pub(super) winners: Vec<StepRecord>,
}

/// The records that are new, as effects. The first outcome of an identity wins; what is open is
/// replaced by what came of it, but for the end of a sleep or of a wait, which is set once.
pub(super) fn fresh(
    steps: Vec<StepRecord>,
    known: &[StepRecord],
    fence: u64,
    moment: &Moment,
) -> Fresh {
    let mut out = Fresh::default();
    let mut seen: Vec<StepId> = Vec::new();
    for mut step in steps {
        let known = known.iter().find(|k| k.id == step.id);
        if let Some(known) = known.filter(|known| stays(known, &step, fence)) {
            out.winners.push(known.clone());
            continue;
        }
        if seen.contains(&step.id) {
            out.effects.retain(
                |e| !matches!(e, Effect::PutStep(s) if s.id == step.id && !s.outcome.is_settled()),
            );
            let settled = |e: &Effect| matches!(e, Effect::PutStep(s) if s.id == step.id);
            if out.effects.iter().any(settled) {
                continue;
            }
        }
        seen.push(step.id.clone());
        out.progress |= is_progress(&step);
        step.fence = fence;
        step.at_ms = moment.ms;
        out.effects.push(Effect::PutStep(step));
    }
    out
}

fn stays(known: &StepRecord, step: &StepRecord, fence: u64) -> bool {
    let open = !step.outcome.is_settled();
    let set_once = matches!(known.kind, Kind::Sleep | Kind::Signal);
    // A message that was sent twice and overtaken: what is open is not set back to an earlier try.
    let late = known.fence == fence && step.place < known.place;
    known.outcome.is_settled() || (open && (set_once || late))
}

/// A first success. The time, an intent, a failure and a try are none.
fn is_progress(step: &StepRecord) -> bool {
    matches!(step.outcome, Outcome::Value(_)) && step.kind != Kind::Now
}
