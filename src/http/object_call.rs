//! The messages between a Worker and an object, both ways.
//!
//! A message is one JSON head followed by byte blobs, so that bodies cross as they are. Fields are
//! named; unknown ones are ignored and missing ones have defaults, since an old object meets new
//! Workers for up to five minutes of a deploy, and the other way round.

use crate::flow::kv::{KvCall, KvReply};
use crate::flow::lock::{LockCall, LockReply};
use crate::protocol::{
    Begin, Claim, Claimed, Cursor, Event, Finish, Plan, Record, Retry, Signal, Standing,
    StepRecord, Suspend, Verdict,
};
use crate::types::{Headers, Input, TaskId, Token};
use serde::{Deserialize, Serialize};

pub use super::frame::Frame;
pub use super::object_reply::{Poked, Reply};

/// What a Worker asks of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The task that is meant.
    pub task_id: TaskId,
    /// What is asked.
    pub ask: Ask,
}

/// The kinds of message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// A delivery, with the claim of its first slice.
    Begin {
        /// The delivery.
        begin: Box<Begin>,
        /// Fields of the input; its bytes are the first blob.
        #[serde(default)]
        input_headers: Headers,
        /// How long to wait for the end if it is a duplicate of a running task.
        #[serde(default)]
        wait_ms: u64,
    },
    /// A ticket is shown.
    Claim(Claim),
    /// Outcomes of steps.
    Record(Box<Record>),
    /// The slice hands the task on.
    Suspend(Box<Suspend>),
    /// The function ended. The body of an answer is the first blob.
    Finish(Box<Finish>),
    /// Where does it stand?
    Look {
        /// How long to wait for the end.
        #[serde(default)]
        wait_ms: u64,
    },
    /// Further records of the journal, from behind this cell.
    Journal {
        /// Cell name of the last record that is known; none: from the beginning.
        #[serde(default)]
        after: String,
        /// Whether what can be undone is asked for, or what is replayed.
        #[serde(default)]
        undoing: bool,
        /// Whether it is asked for to be shown: everything then.
        #[serde(default)]
        show: bool,
    },
    /// A signal.
    Signal(Box<Signal>),
    /// An operator wants it ended.
    Cancel {
        /// Names the operation.
        op: String,
    },
    /// A parent has been cancelled, and wants it ended with itself.
    Abandon {
        /// Names the operation.
        op: String,
        /// The parent.
        parent: TaskId,
    },
    /// An operator wants it tried again. The bytes of another input are the first blob.
    Retry {
        /// How.
        retry: Box<Retry>,
        /// Whether there is another input.
        #[serde(default)]
        has_input: bool,
    },
    /// An operator wants undone what it did.
    Undo {
        /// Names the operation.
        op: String,
    },
    /// What was it begun with?
    Input,
    /// Forget it.
    Delete,
    /// Look at yourself.
    Poke,
    /// D1 has an older row than the one that it has acknowledged: send it again.
    FlushAgain,
    /// Which key do these signed bytes belong to? The object is not a task's: it is named by the bytes, and
    /// keeps nothing but the key that came with them first.
    Owner {
        /// The key that they came with now.
        key: String,
        /// How long the first one counts, from its arrival.
        #[serde(default)]
        window_ms: u64,
    },
    /// Read or change a key of the key-value store: the object is the key's.
    Kv(Box<KvCall>),
    /// Take a lock or let it go: the object is the lock's.
    Lock(Box<LockCall>),
}

impl Ask {
    /// Its name, for logs, counters and the fault switch.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Begin { .. } => "begin",
            Self::Claim(_) => "claim",
            Self::Record(record) if record.cursor.is_some() => "save",
            Self::Record(_) => "record",
            Self::Suspend(_) => "suspend",
            Self::Finish(_) => "finish",
            Self::Look { .. } => "look",
            Self::Journal { .. } => "journal",
            Self::Signal(_) => "signal",
            Self::Cancel { .. } => "cancel",
            Self::Abandon { .. } => "abandon",
            Self::Retry { .. } => "retry",
            Self::Undo { .. } => "undo",
            Self::Input => "input",
            Self::Delete => "delete",
            Self::Poke => "poke",
            Self::FlushAgain => "flush_again",
            Self::Owner { .. } => "owner",
            Self::Kv(_) => "kv",
            Self::Lock(_) => "lock",
        }
    }

    /// The event that it is to the task; `None` for a question, which changes nothing.
    ///
    /// ```
    /// use onceward::http::object_call::Ask;
    /// use onceward::protocol::Event;
    /// assert_eq!(Ask::Poke.into_event(), Some(Event::Poke));
    /// assert_eq!(Ask::Look { wait_ms: 5_000 }.into_event(), None);
    /// ```
    pub fn into_event(self) -> Option<Event> {
        Some(match self {
            Self::Begin { begin, .. } => Event::Begin(begin),
            Self::Claim(claim) => Event::Claim(claim),
            Self::Record(record) => Event::Record(record),
            Self::Suspend(suspend) => Event::Suspend(suspend),
            Self::Finish(finish) => Event::Finish(finish),
            Self::Signal(signal) => Event::Signal(signal),
            Self::Cancel { op } => Event::Cancel { op },
            Self::Abandon { op, parent } => Event::Abandon { op, parent },
            Self::Retry { retry, .. } => Event::Retry(retry),
            Self::Undo { op } => Event::Undo { op },
            Self::Delete => Event::Delete,
            Self::Poke => Event::Poke,
            Self::Look { .. }
            | Self::Journal { .. }
            | Self::Input
            | Self::Owner { .. }
            | Self::Kv(_)
            | Self::Lock(_)
            | Self::FlushAgain => {
                return None;
            }
        })
    }
}

impl Call {
    /// As it is sent.
    pub fn to_frame(&self) -> Frame {
        let blobs = match &self.ask {
            Ask::Begin { begin, .. } => vec![begin.input.body.clone()],
            Ask::Finish(finish) => match &finish.verdict {
                Verdict::Succeeded(answer) => vec![answer.body.clone()],
                Verdict::Failed(failure) => failure.answer.iter().map(|a| a.body.clone()).collect(),
                Verdict::ContinueAs(next) => vec![next.body.clone()],
                Verdict::Cancelled | Verdict::Undone(_) => Vec::new(),
            },
            Ask::Retry { retry, .. } => retry.input.iter().cloned().collect(),
            Ask::Claim(_)
            | Ask::Record(_)
            | Ask::Suspend(_)
            | Ask::Look { .. }
            | Ask::Journal { .. }
            | Ask::Signal(_)
            | Ask::Cancel { .. }
            | Ask::Abandon { .. }
            | Ask::Undo { .. }
            | Ask::Input
            | Ask::Delete
            | Ask::Owner { .. }
            | Ask::Kv(_)
            | Ask::Lock(_)
            | Ask::FlushAgain
            | Ask::Poke => Vec::new(),
        };
        Frame::of(self, blobs)
    }

    /// As it arrives.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn from_frame(frame: Frame) -> Result<Self, String> {
        let mut call: Self =
            serde_json::from_slice(&frame.head).map_err(|e| format!("bad message: {e}"))?;
        let mut blobs = frame.blobs.into_iter();
        match &mut call.ask {
            Ask::Begin {
                begin,
                input_headers,
                ..
            } => {
                begin.input = Input {
                    headers: std::mem::take(input_headers),
                    body: blobs.next().unwrap_or_default(),
                };
            }
            Ask::Finish(finish) => {
                let body = match &mut finish.verdict {
                    Verdict::Succeeded(answer) => Some(&mut answer.body),
                    Verdict::Failed(failure) => {
                        failure.answer.as_deref_mut().map(|answer| &mut answer.body)
                    }
                    Verdict::ContinueAs(next) => Some(&mut next.body),
                    Verdict::Cancelled | Verdict::Undone(_) => None,
                };
                if let Some(body) = body {
                    *body = blobs.next().unwrap_or_default();
                }
            }
            Ask::Retry { retry, has_input } => {
                retry.input = has_input.then(|| blobs.next().unwrap_or_default());
            }
            Ask::Claim(_)
            | Ask::Record(_)
            | Ask::Suspend(_)
            | Ask::Look { .. }
            | Ask::Journal { .. }
            | Ask::Signal(_)
            | Ask::Cancel { .. }
            | Ask::Abandon { .. }
            | Ask::Undo { .. }
            | Ask::Input
            | Ask::Delete
            | Ask::Owner { .. }
            | Ask::Kv(_)
            | Ask::Lock(_)
            | Ask::FlushAgain
            | Ask::Poke => {}
        }
        Ok(call)
    }
}

/// What an object answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// Go. If `input_headers` is there, the input's bytes are the first blob.
    Claimed {
        /// The claim.
        claimed: Box<Claimed>,
        /// Fields of the input that the task began with, for a claimer that does not have it.
        #[serde(default)]
        input_headers: Option<Headers>,
        /// What is recorded so far.
        #[serde(default)]
        journal: Vec<StepRecord>,
        /// There is more; ask from behind this cell.
        #[serde(default)]
        more: Option<String>,
        /// The progress that was saved.
        #[serde(default)]
        cursor: Option<Cursor>,
    },
    /// This is where it stands. The body of a stored answer is the first blob.
    Stands(Box<Standing>),
    /// As `Stands`, to somebody whose fence or token is not the current one.
    Stale(Box<Standing>),
    /// It is not final.
    InProgress(Box<Standing>),
    /// Same key, other fingerprint. What differs is the first blob, where old Workers don't look.
    KeyReused,
    /// The key is used up.
    Expired,
    /// Two keys have the same id.
    KeyCollision,
    /// The ticket is not good.
    Refused,
    /// Recorded.
    Recorded {
        /// The lease is over.
        #[serde(default)]
        stop: bool,
        /// Outcomes that had been recorded before.
        #[serde(default)]
        winners: Vec<StepRecord>,
        /// An operator wants the task ended.
        #[serde(default)]
        cancel: bool,
    },
    /// What was waited for is there: the lease goes on.
    GoOn {
        /// The records of what was waited for.
        #[serde(default)]
        records: Vec<StepRecord>,
        /// The object's clock.
        #[serde(default)]
        now_ms: u64,
    },
    /// The signal was taken.
    Signalled {
        /// Whether it had come before.
        #[serde(default)]
        repeated: bool,
        /// Where the task stands.
        #[serde(default)]
        standing: Option<Box<Standing>>,
    },
    /// Too many signals.
    MailboxFull,
    /// It has ended, or its state does not allow this.
    Ended(Box<Standing>),
    /// What a retry would do, or does.
    Planned(Box<Plan>),
    /// No step has this name.
    NoSuchStep,
    /// Suspended.
    Suspended {
        /// For the next slice.
        #[serde(default)]
        ticket: Option<Token>,
        /// Hops that it has behind it.
        #[serde(default)]
        hop: u32,
    },
    /// Records of the journal.
    Journal {
        /// The records.
        records: Vec<StepRecord>,
        /// There is more; ask from behind this cell.
        #[serde(default)]
        more: Option<String>,
        /// The generation that they belong to.
        #[serde(default)]
        generation: u64,
    },
    /// What it was begun with. The bytes are the first blob.
    Input {
        /// The fields that were kept.
        #[serde(default)]
        headers: Headers,
    },
    /// The key that the signed bytes came with first.
    Owner {
        /// That key.
        key: String,
    },
    /// What came of the call of a key.
    Kv {
        /// The answer.
        reply: KvReply,
    },
    /// What came of the call of a lock.
    Lock {
        /// The answer.
        reply: LockReply,
    },
    /// No such task.
    NotFound,
    /// Carried out.
    Done,
    /// The object cannot do it now; nothing was changed.
    Unavailable(String),
}

#[cfg(test)]
#[path = "object_call_tests.rs"]
mod tests;
