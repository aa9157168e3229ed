//! The steps of the function, what undoes them, and their records.

use crate::object::Waits;
use crate::world::{What, World};
use onceward::protocol::{Kind, Open, Outcome, StepRecord, UndoPlan};
use onceward::types::{Failure, StepId, TaskId, TaskKey, TaskKind};

/// One flag for each step.
pub type Steps = [bool; 6];

pub const PAY: usize = 0;
pub const SHIP: usize = 1;
/// A wait, a sleep or a child in between.
pub const WAIT: usize = 2;
/// What undoes the first two, and the first step of an earlier generation.
pub const UNDO_PAY: usize = 3;
pub const UNDO_SHIP: usize = 4;
pub const UNDO_KEPT: usize = 5;
/// In the order in which they are undone: last record first.
pub const UNDOING: [usize; 3] = [UNDO_SHIP, UNDO_PAY, UNDO_KEPT];

const NAMES: [&str; 6] = ["pay", "ship", "approval", "pay", "ship", "pay"];

pub fn id(step: usize) -> StepId {
    let branch = match step {
        UNDO_PAY | UNDO_SHIP => "%undo/0/",
        UNDO_KEPT => "%undo/1/",
        _ => "",
    };
    StepId::new(branch, NAMES[step], 0)
}

pub fn nap() -> StepId {
    StepId::new("", "nap", 0)
}

/// The step that undoes what a record says.
pub fn undoes(record: &StepRecord) -> usize {
    if record.generation.is_some() {
        UNDO_KEPT
    } else if record.id == id(PAY) {
        UNDO_PAY
    } else {
        UNDO_SHIP
    }
}

pub fn other_task() -> TaskId {
    TaskKey::new(TaskKind::Function, "other", "", "k2").task_id()
}

fn plan() -> UndoPlan {
    UndoPlan {
        handler: "refund".to_owned(),
        input: "{}".to_owned(),
        key: String::new(),
    }
}

fn place(step: usize) -> u32 {
    u32::try_from(step).unwrap_or(0) * 2 + 2
}

/// The outcome tells which lease it comes from, so that two of them differ.
pub fn outcome(step: usize, lease: u8, undo: bool) -> StepRecord {
    StepRecord {
        kind: match step {
            WAIT => Kind::Child,
            PAY | SHIP => Kind::Step,
            _ => Kind::Undo,
        },
        undo: (undo && step < WAIT).then(plan),
        place: place(step),
        tries: 1,
        ..StepRecord::new(id(step), Outcome::Value(lease.to_string()))
    }
}

/// A step has begun, or a child was accepted.
pub fn intent(step: usize) -> StepRecord {
    let child = step == WAIT;
    let open = Open {
        in_flight: !child,
        child: child.then(other_task),
        ..Open::default()
    };
    StepRecord {
        kind: if child { Kind::Child } else { Kind::Step },
        undo: (!child).then(plan),
        place: place(step) - 1,
        ..StepRecord::new(id(step), Outcome::Open(Box::new(open)))
    }
}

/// The time at which a sleep or a wait is over.
pub fn deadline(step: StepId, kind: Kind, due_ms: u64) -> StepRecord {
    let open = Open {
        due_ms: Some(due_ms),
        ..Open::default()
    };
    StepRecord {
        kind,
        place: place(WAIT) - 1,
        ..StepRecord::new(step, Outcome::Open(Box::new(open)))
    }
}

/// A failure of the second step ends the attempt.
pub fn failure(terminal: bool) -> Failure {
    let failure = if terminal {
        Failure::terminal("declined", "no")
    } else {
        Failure::retryable("busy", "later")
    };
    Failure {
        step: Some(id(SHIP)),
        ..failure
    }
}

pub fn failed(terminal: bool, undo: bool) -> StepRecord {
    StepRecord {
        undo: undo.then(plan),
        place: place(SHIP),
        ..StepRecord::new(id(SHIP), Outcome::Failed(failure(terminal)))
    }
}

pub fn report(what: What, lease: u8, undo: bool) -> Option<StepRecord> {
    match what {
        What::Intent(step) => Some(intent(step)),
        What::Outcome(step) => Some(outcome(step, lease, undo)),
        What::Save(..) => None,
    }
}

impl World {
    pub fn record(&self, step: usize) -> Option<&StepRecord> {
        let id = id(step);
        self.journal.iter().find(|r| r.id == id)
    }

    /// The journal that goes with a claim: which outcomes there are.
    pub fn view(&self) -> Steps {
        std::array::from_fn(|step| self.record(step).is_some_and(|r| r.outcome.is_settled()))
    }

    /// Steps that are recorded as begun.
    pub fn intents(&self) -> Steps {
        std::array::from_fn(|step| self.record(step).is_some())
    }

    /// What there is to undo, by the step that undoes it.
    pub fn todo(&self) -> Steps {
        let mut todo = Steps::default();
        for record in self.journal.iter().chain(&self.kept) {
            todo[undoes(record)] |= record.is_undoable();
        }
        todo
    }

    /// When the recorded sleep or wait is over.
    pub fn due(&self, waits: Waits) -> Option<u64> {
        let step = if waits == Waits::Both {
            nap()
        } else {
            id(WAIT)
        };
        match &self.journal.iter().find(|r| r.id == step)?.outcome {
            Outcome::Open(open) => open.due_ms,
            _ => None,
        }
    }
}
