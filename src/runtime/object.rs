//! The object: one per key, single writer. It decides, records and wakes; functions never run here.

use super::Fault;
use super::debts;
use super::desk::Desk;
use super::flush;
use super::go_on::{self, Continue};
use super::kv;
use super::lock;
use super::owner;
use super::ports::{Edge, Level, ObjectStorage};
use super::within;
use crate::http::object_call::{Ask, Call, Reply, Told};
use crate::limits;
use crate::protocol::{self, Effect, Event};
use crate::store::commit::Stored;
use crate::types::{Cost, TaskId, Token};
use futures::channel::oneshot;
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;

/// One object: what its instance keeps in memory, with its storage. An instance that is gone leaves
/// nothing behind but the storage.
pub struct Object {
    pub(super) desk: Rc<Desk>,
    /// Runs of the alarm, one after the other, that have failed.
    failed_rings: Cell<u32>,
}

impl Object {
    /// A new instance on its storage.
    pub fn new(edge: Edge, storage: Rc<dyn ObjectStorage>) -> Self {
        Self {
            desk: Rc::new(Desk::new(edge, storage)),
            failed_rings: Cell::new(0),
        }
    }

    /// The alarm rings.
    ///
    /// # Errors
    /// When storage fails, and so completely that no other alarm can be set. The platform has to ring again
    /// then: this instance may have been replaced, and an alarm that ends well is used up.
    pub async fn alarm(&self, id: TaskId) -> Result<(), Fault> {
        self.desk.looked.set(true);
        let bill = Bill::begin(&self.desk);
        self.desk.ringing.set(true);
        let rung = self.ring(id).await;
        self.desk.ringing.set(false);
        drop(bill);
        let Err(fault) = rung else {
            self.failed_rings.set(0);
            return Ok(());
        };
        // The platform gives an alarm up after six such runs, some two minutes; a release that cannot read
        // this task may be there for longer. So it is set again, on a count of our own.
        let kept = self.ring_later().await;
        logged(&self.desk.edge, "alarm", id, Err(fault.clone()));
        if kept.is_err() {
            // Then the next message looks after it.
            self.desk.looked.set(false);
            return Err(fault);
        }
        Ok(())
    }

    /// Sets the alarm again after a run that failed, if that run has not done so.
    async fn ring_later(&self) -> Result<(), String> {
        let storage = &self.desk.storage;
        if storage.alarm_ms().await?.is_some() {
            return Ok(());
        }
        let failed = self.failed_rings.get();
        self.failed_rings.set(failed + 1);
        let wait_ms = limits::FAILED_RING_MS << failed.min(10);
        let wait_ms = wait_ms.min(limits::TICKET_BACKOFF_MAX_MS);
        storage.set_alarm(self.desk.edge.now_ms() + wait_ms).await
    }

    async fn ring(&self, id: TaskId) -> Result<(), Fault> {
        if owner::ring(&self.desk, id).await?
            || kv::ring(&self.desk, id).await?
            || lock::ring(&self.desk, id).await?
        {
            return Ok(());
        }
        let committed = self.step(id, Event::AlarmFired).await?;
        for effect in committed.after {
            match effect {
                Effect::Flush => flush::flush(&self.desk, id).await?,
                Effect::PayDebts => debts::pay(&self.desk, id).await?,
                Effect::Forget { version } => flush::forget(&self.desk, id, version).await?,
                other => self.act(id, other, &committed.runs),
            }
        }
        Ok(())
    }
}

/// Whether a task that is shown may have expired.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expiry {
    /// Not known yet.
    Judged,
    /// The machine has looked, a moment ago: what it said stands, even if the clock has moved since.
    Passed,
}

/// What of a message its answer depends on.
pub(super) struct Asked {
    /// Of a delivery.
    begin_op: Option<Token>,
    wait_ms: u64,
}

impl Asked {
    fn of(ask: &Ask) -> Self {
        match ask {
            Ask::Begin { begin, wait_ms, .. } => Self {
                begin_op: Some(begin.op.clone()),
                wait_ms: *wait_ms,
            },
            _ => Self {
                begin_op: None,
                wait_ms: 0,
            },
        }
    }

    /// A delivery has the input of the task that it begins.
    pub(super) fn brings_input(&self) -> bool {
        self.begin_op.is_some()
    }
}

/// A committed step, with what its effects need.
pub(super) struct Step {
    reply: protocol::Reply,
    stored: Option<Stored>,
    pub(super) after: Vec<Effect>,
    pub(super) runs: Runs,
}

/// What a ticket has to say beside itself.
#[derive(Default)]
pub(super) struct Runs {
    function: String,
    /// Its slices are waited for.
    held: bool,
}

/// A message or a run of the alarm, while it is charged for.
struct Bill<'a> {
    desk: &'a Desk,
    began_ms: u64,
}

impl<'a> Bill<'a> {
    fn begin(desk: &'a Desk) -> Self {
        desk.billed(Cost {
            requests: 1,
            ..Cost::default()
        });
        let began_ms = desk.edge.now_ms();
        Self { desk, began_ms }
    }
}

impl Drop for Bill<'_> {
    fn drop(&mut self) {
        let ms = self.desk.edge.now_ms().saturating_sub(self.began_ms);
        self.desk.billed(Cost {
            ms,
            ..Cost::default()
        });
    }
}

pub(super) fn logged(edge: &Edge, what: &str, id: TaskId, result: Result<(), Fault>) {
    if let Err(error) = result {
        edge.log(
            Level::Error,
            what,
            json!({"task_id": id.to_string(), "error": error.to_string()}),
        );
    }
}

impl Object {
    pub(super) async fn step(&self, id: TaskId, event: Event) -> Result<Step, Fault> {
        let committed = self.desk.step(id, event).await?;
        let runs = committed.stored.as_ref().map(|s| Runs {
            function: s.task.function.clone(),
            held: s.task.policy.is_long(),
        });
        Ok(Step {
            reply: committed.reply,
            stored: committed.stored,
            after: committed.after,
            runs: runs.unwrap_or_default(),
        })
    }

    /// Carries out what follows a step, without holding up the reply.
    pub(super) fn act(&self, id: TaskId, effect: Effect, runs: &Runs) {
        let desk = Rc::clone(&self.desk);
        match effect {
            Effect::Dispatch { ticket, hop } => {
                let order = Continue {
                    task_id: id,
                    ticket,
                    hop,
                    held: runs.held,
                    function: runs.function.clone(),
                };
                let edge = desk.edge.clone();
                self.desk.edge.wait_until(Box::pin(async move {
                    go_on::send_on(&edge, &order).await;
                }));
            }
            Effect::PayDebts => self.desk.edge.wait_until(Box::pin(async move {
                logged(&desk.edge, "debts", id, debts::pay(&desk, id).await);
            })),
            Effect::Flush => self.desk.edge.wait_until(Box::pin(async move {
                logged(&desk.edge, "flush", id, flush::flush(&desk, id).await);
            })),
            Effect::Forget { version } => self.desk.edge.wait_until(Box::pin(async move {
                logged(
                    &desk.edge,
                    "forget",
                    id,
                    flush::forget(&desk, id, version).await,
                );
            })),
            Effect::WakeJoined => desk.wake(),
            // Carried out by the commit.
            Effect::PutInput(_)
            | Effect::ReplaceInput(_)
            | Effect::PutAnswer(_)
            | Effect::PutStep(_)
            | Effect::ReopenStep(_)
            | Effect::PutCursor(_)
            | Effect::RewindCursor { .. }
            | Effect::PutLetter(_)
            | Effect::NewJournal { .. }
            | Effect::DropPayload
            | Effect::Strip
            | Effect::SetAlarm { .. } => {}
        }
    }

    /// Answers one message. What comes back is durable.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn answer(&self, call: Call) -> Result<Reply, Fault> {
        let _bill = Bill::begin(&self.desk);
        let id = call.task_id;
        let asked = Asked::of(&call.ask);
        let event = match call.ask {
            Ask::Look { wait_ms } => {
                let reply = self.look(id, wait_ms, Expiry::Judged).await;
                self.desk.look_after_alarm(id).await?;
                return Ok(reply);
            }
            Ask::Journal {
                after,
                undoing,
                show,
            } => return Ok(self.journal(id, &after, undoing, show)),
            Ask::Input => return Ok(self.input(id)),
            Ask::Owner { key, window_ms } => {
                return owner::of(&self.desk, id, key, window_ms).await;
            }
            Ask::Kv(call) => return kv::answer(&self.desk, id, &call).await,
            Ask::Lock(call) => return lock::answer(&self.desk, id, &call).await,
            Ask::Poke => return self.poked(id).await,
            Ask::FlushAgain => return Ok(flush::again(&self.desk, id).await),
            ask => ask.into_event(),
        };
        let Some(event) = event else {
            return Ok(Reply::of(Told::Unavailable("no such question".into())));
        };
        let step = match self.step(id, event).await {
            Ok(step) => step,
            Err(error) => {
                self.desk.edge.log(
                    Level::Error,
                    "step",
                    json!({"task_id": id.to_string(), "error": error.to_string()}),
                );
                return Ok(Reply::of(Told::Unavailable(error.to_string())));
            }
        };
        for effect in step.after {
            self.act(id, effect, &step.runs);
        }
        self.desk.look_after_alarm(id).await?;
        if let protocol::Reply::Stands(standing) = &step.reply
            && let Some(op) = &asked.begin_op
        {
            let began = step.stored.as_ref().and_then(|s| s.task.begin_op.as_ref());
            let own = began == Some(op);
            if !own {
                self.desk.duplicates.set(self.desk.duplicates.get() + 1);
            }
            let moving = standing.summary.is_moving(self.desk.edge.now_ms());
            let mut reply = if moving && asked.wait_ms > 0 {
                self.look(id, asked.wait_ms, Expiry::Passed).await
            } else {
                self.told(step.reply, step.stored.as_ref(), &asked)
            };
            if let Told::Stands(standing) = &mut reply.told {
                standing.began = own;
            }
            return Ok(reply);
        }
        Ok(self.told(step.reply, step.stored.as_ref(), &asked))
    }

    /// Where the task stands; waits for its end if it is moving.
    async fn look(&self, id: TaskId, wait_ms: u64, expiry: Expiry) -> Reply {
        let until = self.desk.edge.now_ms() + wait_ms.min(limits::MAX_JOIN_MS);
        loop {
            let stored = match Stored::load(&self.desk.storage.cells(), id) {
                Ok(Some(stored)) => stored,
                Ok(None) => return Reply::of(Told::NotFound),
                Err(error) => return Reply::of(Told::Unavailable(error.to_string())),
            };
            let now = self.desk.edge.now_ms();
            let summary = self.summary(&stored);
            let waits = summary.is_moving(now) && now < until;
            let room = self.desk.waiting.borrow().len() < limits::MAX_JOINED;
            if !waits || !room {
                return self.standing(&stored, summary, expiry, Told::Stands);
            }
            let (wake, woken) = oneshot::channel();
            self.desk.waiting.borrow_mut().push(wake);
            let _ = within(&self.desk.edge, until - now, woken).await;
            self.desk.waiting.borrow_mut().retain(|w| !w.is_canceled());
        }
    }
}
