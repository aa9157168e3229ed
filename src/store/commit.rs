//! One atomic step of an object: load, decide, write. The caller sets the alarm in the same turn,
//! and only then replies or acts.

use super::cells::{CellError, Cells};
use super::lookup;
use super::writer::Writer;
use crate::http::object_call::Frame;
use crate::protocol::{Effect, Event, Moment, Next, Reply, SCHEMA, Task, Transition, handle};
use crate::types::{Headers, TaskId};
use serde::{Deserialize, Serialize};

/// Why a step was not taken. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitError {
    /// The storage failed; the caller rolls back.
    Storage(String),
    /// A newer release wrote this task.
    NewerSchema(u32),
    /// The stored bytes are not a task.
    Corrupt(String),
}

impl From<CellError> for CommitError {
    fn from(error: CellError) -> Self {
        Self::Storage(error.0)
    }
}

impl std::fmt::Display for CommitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Storage(why) => write!(f, "storage failed: {why}"),
            Self::NewerSchema(schema) => write!(
                f,
                "this task was written in form {schema}, newer than the {SCHEMA} that this release knows"
            ),
            Self::Corrupt(why) => write!(f, "stored task cannot be read: {why}"),
        }
    }
}

/// Where the bytes of a body are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    #[default]
    Absent,
    Inline,
    Own,
}

#[derive(Serialize, Deserialize)]
struct Head {
    task: Task,
    #[serde(default)]
    input_headers: Headers,
    #[serde(default)]
    input: Place,
    #[serde(default)]
    answer: Place,
}

/// A body, as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Body {
    #[default]
    Absent,
    Inline(Vec<u8>),
    Own,
}

impl Body {
    fn place(&self) -> Place {
        match self {
            Self::Absent => Place::Absent,
            Self::Inline(_) => Place::Inline,
            Self::Own => Place::Own,
        }
    }

    fn read(&self, cells: &impl Cells, cell: &str) -> Result<Vec<u8>, CommitError> {
        match self {
            Self::Absent => Ok(Vec::new()),
            Self::Inline(bytes) => Ok(bytes.clone()),
            Self::Own => cells
                .get(cell)?
                .ok_or_else(|| CommitError::Corrupt(format!("cell {cell} is missing"))),
        }
    }
}

/// A task with what is kept beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The task.
    pub task: Task,
    /// Fields of its input.
    pub input_headers: Headers,
    input: Body,
    answer: Body,
}

impl Stored {
    /// Reads the task of this id; `None` if there is none.
    ///
    /// # Errors
    /// When storage fails or holds what this release cannot read.
    pub fn load(cells: &impl Cells, id: TaskId) -> Result<Option<Self>, CommitError> {
        let Some(bytes) = cells.get(&format!("{id}/head"))? else {
            return Ok(None);
        };
        let corrupt = |why: &str| CommitError::Corrupt(why.to_owned());
        let frame = Frame::decode(&bytes).ok_or_else(|| corrupt("head is no frame"))?;
        if let Some(schema) = newer_schema(&frame.head) {
            return Err(CommitError::NewerSchema(schema));
        }
        let head: Head =
            serde_json::from_slice(&frame.head).map_err(|e| corrupt(&e.to_string()))?;
        let mut blobs = frame.blobs.into_iter();
        let mut body = |place| match place {
            Place::Absent => Ok(Body::Absent),
            Place::Own => Ok(Body::Own),
            Place::Inline => blobs
                .next()
                .map(Body::Inline)
                .ok_or_else(|| corrupt("inline body is missing")),
        };
        Ok(Some(Self {
            input: body(head.input)?,
            answer: body(head.answer)?,
            task: head.task,
            input_headers: head.input_headers,
        }))
    }

    /// The bytes of its input.
    ///
    /// # Errors
    /// When storage fails.
    pub fn input_body(&self, cells: &impl Cells) -> Result<Vec<u8>, CommitError> {
        self.input.read(cells, &format!("{}/input", self.task.id()))
    }

    /// The bytes of its stored answer; empty if there is none.
    ///
    /// # Errors
    /// When storage fails.
    pub fn answer_body(&self, cells: &impl Cells) -> Result<Vec<u8>, CommitError> {
        self.answer
            .read(cells, &format!("{}/answer", self.task.id()))
    }

    fn encode(&self) -> Result<Vec<u8>, CommitError> {
        let head = Head {
            task: self.task.clone(),
            input_headers: self.input_headers.clone(),
            input: self.input.place(),
            answer: self.answer.place(),
        };
        let head = serde_json::to_vec(&head).map_err(|e| CommitError::Corrupt(e.to_string()))?;
        let blobs = [&self.input, &self.answer]
            .into_iter()
            .filter_map(|body| match body {
                Body::Inline(bytes) => Some(bytes.clone()),
                Body::Absent | Body::Own => None,
            })
            .collect();
        Ok(Frame { head, blobs }.encode())
    }
}

fn newer_schema(head: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Outer {
        task: Inner,
    }
    #[derive(Deserialize)]
    struct Inner {
        schema: u32,
    }
    let outer: Outer = serde_json::from_slice(head).ok()?;
    (outer.task.schema > SCHEMA).then_some(outer.task.schema)
}

/// What was decided and written.
#[derive(Clone, Debug)]
pub struct Committed {
    /// What to answer.
    pub reply: Reply,
    /// The task as it is now; `None` if there is none.
    pub stored: Option<Stored>,
    /// Set the alarm to this, in the same turn.
    pub alarm_ms: Option<u64>,
    /// Delete everything, in the same turn.
    pub gone: bool,
    /// To carry out once this is durable, in order.
    pub after: Vec<Effect>,
    /// Cells written or deleted.
    pub rows: u32,
    /// Whether the task itself was written.
    pub put: bool,
}

/// What the machine says to an event, before anything is written.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The task as it is stored.
    pub stored: Option<Stored>,
    /// What is to become of it.
    pub transition: Transition,
}

/// Loads the task and what the machine has to know beside it, and lets it decide. Writes nothing.
///
/// # Errors
/// When storage fails or holds what this release cannot read.
pub fn decide(
    cells: &impl Cells,
    id: TaskId,
    mut event: Event,
    moment: &Moment,
) -> Result<Decided, CommitError> {
    let stored = Stored::load(cells, id)?;
    let task = stored.as_ref().map(|s| s.task.clone());
    let moment = lookup::look_up(cells, id, task.as_ref(), &mut event, moment)?;
    let transition = handle(task, event, &moment);
    Ok(Decided { stored, transition })
}

/// Loads the task, lets the machine decide, writes what it says.
///
/// # Errors
/// When storage fails half-way, in which case the caller must roll back.
pub fn commit(
    cells: &impl Cells,
    id: TaskId,
    event: Event,
    moment: &Moment,
) -> Result<Committed, CommitError> {
    write(cells, id, decide(cells, id, event, moment)?)
}

/// Writes what was decided.
///
/// # Errors
/// When storage fails half-way, in which case the caller must roll back.
pub fn write(cells: &impl Cells, id: TaskId, decided: Decided) -> Result<Committed, CommitError> {
    let Decided { stored, transition } = decided;
    let kept = stored.as_ref();
    let mut writer = Writer {
        cells,
        id,
        input_headers: kept.map(|s| s.input_headers.clone()),
        input: kept.map_or(Body::Absent, |s| s.input.clone()),
        answer: kept.map_or(Body::Absent, |s| s.answer.clone()),
        rows: 0,
    };
    let mut alarm_ms = None;
    let mut after = Vec::new();
    for effect in transition.effects {
        match effect {
            Effect::SetAlarm { at_ms } => alarm_ms = Some(at_ms),
            Effect::Dispatch { .. }
            | Effect::PayDebts
            | Effect::Flush
            | Effect::Forget { .. }
            | Effect::WakeJoined => after.push(effect),
            write => writer.write(write)?,
        }
    }
    let gone = matches!(transition.next, Next::Gone);
    let put = matches!(transition.next, Next::Put(_));
    let stored = match transition.next {
        Next::Unchanged => stored,
        Next::Gone => None,
        Next::Put(task) => {
            let stored = Stored {
                task: *task,
                input_headers: writer.input_headers.take().unwrap_or_default(),
                input: writer.input.clone(),
                answer: writer.answer.clone(),
            };
            writer.put("head", &stored.encode()?)?;
            Some(stored)
        }
    };
    Ok(Committed {
        reply: transition.reply,
        stored,
        alarm_ms,
        gone,
        after,
        rows: writer.rows,
        put,
    })
}
