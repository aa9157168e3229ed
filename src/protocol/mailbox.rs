//! Signals: kept in order, each once, until somebody waits for them.

use super::effect::{Effect, Reply, Transition};
use super::event::Moment;
use super::journal::{Kind, Outcome, StepRecord};
use super::lease;
use super::summary::Standing;
use super::task::Task;
use super::waits::{Wait, WaitFor, has_slept, is_due};
use crate::limits;
use crate::types::{Failure, StepId};
use serde::{Deserialize, Serialize};

/// A signal on its way in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Signal {
    /// Its name.
    pub name: String,
    /// Its own idempotency key.
    pub id: String,
    /// What it says: a value, or the failure of a child.
    pub outcome: Outcome,
    /// The generation that it is for; `None`: whichever there is.
    #[serde(default)]
    pub generation: Option<u64>,
    /// The same signal as it came before; looked up by the object.
    #[serde(skip)]
    pub known: Option<Letter>,
}

/// A signal that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Letter {
    /// Its name.
    pub name: String,
    /// Its own idempotency key.
    pub id: String,
    /// What it says.
    pub outcome: Outcome,
    /// When it came.
    #[serde(default)]
    pub at_ms: u64,
}

/// A letter that nobody has read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Unread {
    /// Its name.
    pub name: String,
    /// Its own idempotency key.
    pub id: String,
}

/// Name of the signal that tells of the end of a child. No author can choose one like it.
///
/// ```
/// use onceward::protocol::child_signal;
/// use onceward::types::StepId;
/// assert!(child_signal(&StepId::new("", "pay", 0)).starts_with('%'));
/// ```
pub fn child_signal(step: &StepId) -> String {
    format!("{CHILD}{}", step.cell())
}

const CHILD: &str = "%child/";

/// True if this is the name of a signal that tells of the end of a child.
pub(super) fn is_child_signal(name: &str) -> bool {
    name.starts_with(CHILD)
}

/// Name of the signal that tells a step that it holds a lock now, by the step's derived key.
///
/// ```
/// use onceward::protocol::lock_signal;
/// assert!(lock_signal("6f6e6365").starts_with('%'));
/// ```
pub fn lock_signal(mark: &str) -> String {
    format!("{LOCK}{mark}")
}

const LOCK: &str = "%lock/";

/// What the names of steps begin with that take a lock; the rest is the lock's own. No author can choose one
/// like it.
pub const LOCK_STEP: &str = "%lock/";

/// True if this is the name of a signal that tells of a lock.
///
/// ```
/// use onceward::protocol::{is_lock_signal, lock_signal};
/// assert!(is_lock_signal(&lock_signal("6f6e6365")) && !is_lock_signal("lock"));
/// ```
pub fn is_lock_signal(name: &str) -> bool {
    name.starts_with(LOCK)
}

/// The signal that a wait is ended by, if it is one.
pub fn signal_of(wait: &Wait) -> Option<String> {
    match &wait.what {
        WaitFor::Signal { name, .. } => Some(name.clone()),
        WaitFor::Child { .. } => Some(child_signal(&wait.id)),
        WaitFor::Sleep { .. } | WaitFor::Retry { .. } => None,
    }
}

pub(super) fn signal(mut task: Task, signal: Signal, moment: &Moment) -> Transition {
    if signal.generation.is_some_and(|g| g != task.generation) {
        // For a task that has started over meanwhile: nobody waits for it.
        return Transition::unchanged(Reply::Done);
    }
    if let Some(known) = &signal.known {
        let reply = if known.name == signal.name && known.outcome == signal.outcome {
            Reply::Signalled { repeated: true }
        } else {
            Reply::KeyReused {
                differs: Vec::new(),
            }
        };
        return Transition::unchanged(reply);
    }
    if task.is_final() || task.has_ended() || task.ending.is_some() {
        return Transition::unchanged(Reply::Ended(Standing::of(&task)));
    }
    let letter = Letter {
        name: signal.name,
        id: signal.id,
        outcome: signal.outcome,
        at_ms: moment.ms,
    };
    let full = task.unread.len() >= limits::MAX_UNREAD || task.signals >= limits::MAX_SIGNALS;
    let taker = task
        .waits()
        .iter()
        .find(|wait| signal_of(wait).as_deref() == Some(&letter.name))
        .cloned();
    if full && taker.is_none() {
        return Transition::unchanged(Reply::MailboxFull);
    }
    task.signals += 1;
    let mut effects = Vec::new();
    match taker {
        Some(wait) => {
            effects.push(taken(&mut task, &wait, &letter, moment));
            if matches!(letter.outcome, Outcome::Value(_)) {
                // Progress: the next claim is the first.
                task.attempts = 0;
            }
            wake_soon(&mut task, moment, &mut effects);
        }
        None => task.unread.push(Unread {
            name: letter.name.clone(),
            id: letter.id.clone(),
        }),
    }
    effects.push(Effect::PutLetter(letter));
    Transition::put(task, effects, Reply::Signalled { repeated: false })
}

/// Makes the task go on by its alarm, at once.
fn wake_soon(task: &mut Task, moment: &Moment, effects: &mut Vec<Effect>) {
    lease::by_alarm(task, moment);
    task.touch(moment.ms);
    effects.push(Effect::WakeJoined);
}

/// The record of a wait that a letter ends.
fn taken(task: &mut Task, wait: &Wait, letter: &Letter, moment: &Moment) -> Effect {
    let kind = match &wait.what {
        WaitFor::Child { .. } => Kind::Child,
        WaitFor::Sleep { .. } | WaitFor::Retry { .. } | WaitFor::Signal { .. } => Kind::Signal,
    };
    let outcome = match letter.outcome.clone() {
        Outcome::Failed(failure) => Outcome::Failed(Failure {
            step: Some(wait.id.clone()),
            ..failure
        }),
        other => other,
    };
    let step = record(task, &wait.id, kind, outcome, moment);
    let step = Effect::PutStep(step);
    super::journal::keep_children(task, std::slice::from_ref(&step), moment);
    step
}

fn record(task: &Task, id: &StepId, kind: Kind, outcome: Outcome, moment: &Moment) -> StepRecord {
    StepRecord {
        kind,
        fence: task.fence,
        // Behind everything that the last slice has recorded.
        place: u32::MAX,
        at_ms: moment.ms,
        ..StepRecord::new(id.clone(), outcome)
    }
}

/// Ends those of the waits that a letter or their time ends. The records are returned as well.
pub(super) fn settle(
    task: &mut Task,
    waits: &[Wait],
    letters: &[Letter],
    moment: &Moment,
    effects: &mut Vec<Effect>,
) -> Vec<StepRecord> {
    let mut records = Vec::new();
    for wait in waits {
        let name = signal_of(wait);
        let unread = task
            .unread
            .iter()
            .position(|u| Some(&u.name) == name.as_ref());
        let letter = unread.and_then(|at| {
            let unread = &task.unread[at];
            letters
                .iter()
                .find(|l| l.name == unread.name && l.id == unread.id)
        });
        let effect = match (unread.zip(letter), timed_out(wait, moment)) {
            (Some((at, letter)), _) => {
                task.unread.remove(at);
                Some(taken(task, wait, letter, moment))
            }
            (None, Some(failure)) => Some(Effect::PutStep(record(
                task,
                &wait.id,
                Kind::Signal,
                Outcome::Failed(failure),
                moment,
            ))),
            (None, None) => None,
        };
        if let Some(Effect::PutStep(step)) = &effect {
            records.push(step.clone());
        }
        effects.extend(effect);
    }
    records
}

/// The failure of a wait for a signal that has not come in time.
fn timed_out(wait: &Wait, moment: &Moment) -> Option<Failure> {
    match &wait.what {
        WaitFor::Signal {
            name,
            due_ms: Some(due),
        } if *due <= moment.ms => Some(Failure {
            step: Some(wait.id.clone()),
            ..Failure::terminal("signal_timeout", format!("no signal {name:?} came in time"))
        }),
        WaitFor::Signal { .. }
        | WaitFor::Sleep { .. }
        | WaitFor::Retry { .. }
        | WaitFor::Child { .. } => None,
    }
}

/// The time of something that was waited for has come: records what timed out, and goes on.
pub(super) fn waits_due(
    task: &mut Task,
    waits: &[Wait],
    moment: &Moment,
    effects: &mut Vec<Effect>,
) -> bool {
    if !is_due(waits, moment.ms) {
        return false;
    }
    let settled = settle(task, waits, &[], moment, effects);
    if !settled.is_empty() || has_slept(waits, moment.ms) {
        // Progress: the next claim is the first.
        task.attempts = 0;
    }
    lease::mint(task, 0, moment, effects);
    task.touch(moment.ms);
    effects.push(Effect::WakeJoined);
    true
}
