//! The object: one per key, single writer. It decides, records and wakes; functions never run here.
#![allow(missing_docs)] // of what the macro makes

use super::clock;
use super::debts;
use super::desk::Desk;
use super::flush;
use super::log;
use super::probe;
use super::selfcall::{self, Continue};
use crate::http::object_call::{Ask, Call, Frame, Reply, Told};
use crate::limits;
use crate::protocol::{self, Effect, Event, Standing, Summary};
use crate::store::commit::Stored;
use crate::store::journal::{self, Purpose};
use crate::types::{TaskId, Token};
use futures::channel::oneshot;
use serde_json::json;
use std::rc::Rc;
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

/// The Durable Object class. Export it from your Worker under this name.
#[durable_object(alarm)]
pub struct TaskObject {
    state: State,
    desk: Rc<Desk>,
}

// Everything that a panic could leave half-done is read from storage again with each message.
impl std::panic::RefUnwindSafe for TaskObject {}
impl std::panic::UnwindSafe for TaskObject {}

impl DurableObject for TaskObject {
    fn new(state: State, env: Env) -> Self {
        let desk = Rc::new(Desk::new(&state, env));
        Self { state, desk }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        probe::count("object_requests", 1);
        let bytes = request.bytes().await?;
        let call = Frame::decode(&bytes)
            .ok_or_else(|| "cut off".to_owned())
            .and_then(Call::from_frame);
        let reply = match call {
            Ok(call) => self.answer(call).await?,
            Err(why) => Reply::of(Told::Unavailable(why)),
        };
        Response::from_bytes(reply.to_frame().encode())
    }

    async fn alarm(&self) -> Result<Response> {
        probe::count("object_requests", 1);
        probe::count("alarm_runs", 1);
        self.desk.looked.set(true);
        let Some(id) = self.state.id().name().as_deref().and_then(TaskId::parse) else {
            log::error("alarm_without_name", json!({}));
            return Response::empty();
        };
        // An error is thrown on: this instance may have been replaced, and an alarm that ends well
        // is used up.
        let committed = self.step(id, Event::AlarmFired).await?;
        for effect in committed.after {
            match effect {
                Effect::Flush => flush::flush(&self.desk, id).await?,
                Effect::PayDebts => debts::pay(&self.desk, id).await?,
                Effect::Forget { version } => flush::forget(&self.desk, id, version).await?,
                other => self.act(id, other, &committed.runs),
            }
        }
        Response::empty()
    }
}

/// Whether a task that is shown may have expired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expiry {
    /// Not known yet.
    Judged,
    /// The machine has looked, a moment ago: what it said stands, even if the clock has moved since.
    Passed,
}

/// What of a message its answer depends on.
struct Asked {
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
    fn brings_input(&self) -> bool {
        self.begin_op.is_some()
    }
}

/// A committed step, with what its effects need.
struct Step {
    reply: protocol::Reply,
    stored: Option<Stored>,
    after: Vec<Effect>,
    runs: Runs,
}

/// What a ticket has to say beside itself.
#[derive(Default)]
struct Runs {
    function: String,
    /// Its slices are waited for.
    held: bool,
}

fn logged(what: &str, id: TaskId, result: Result<()>) {
    if let Err(error) = result {
        log::error(
            what,
            json!({"task_id": id.to_string(), "error": error.to_string()}),
        );
    }
}

impl TaskObject {
    async fn step(&self, id: TaskId, event: Event) -> Result<Step> {
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
    fn act(&self, id: TaskId, effect: Effect, runs: &Runs) {
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
                self.state.wait_until(async move {
                    selfcall::send_on(&desk.env, &order).await;
                });
            }
            Effect::PayDebts => self.state.wait_until(async move {
                logged("debts", id, debts::pay(&desk, id).await);
            }),
            Effect::Flush => self.state.wait_until(async move {
                logged("flush", id, flush::flush(&desk, id).await);
            }),
            Effect::Forget { version } => self.state.wait_until(async move {
                logged("forget", id, flush::forget(&desk, id, version).await);
            }),
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
            | Effect::SetAlarm { .. } => {}
        }
    }

    async fn answer(&self, call: Call) -> Result<Reply> {
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
            Ask::Begin { begin, .. } => Event::Begin(begin),
            Ask::Claim(claim) => Event::Claim(claim),
            Ask::Record(record) => Event::Record(record),
            Ask::Suspend(suspend) => Event::Suspend(suspend),
            Ask::Finish(finish) => Event::Finish(finish),
            Ask::Signal(signal) => Event::Signal(signal),
            Ask::Cancel { op } => Event::Cancel { op },
            Ask::Retry { retry, .. } => Event::Retry(retry),
            Ask::Undo { op } => Event::Undo { op },
            Ask::Delete => Event::Delete,
            Ask::Poke => Event::Poke,
        };
        let step = match self.step(id, event).await {
            Ok(step) => step,
            Err(error) => {
                log::error(
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
            let moving = standing.summary.is_moving(clock::now_ms());
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
        let until = clock::now_ms() + wait_ms.min(limits::MAX_JOIN_MS);
        loop {
            let stored = match Stored::load(&self.desk.storage, id) {
                Ok(Some(stored)) => stored,
                Ok(None) => return Reply::of(Told::NotFound),
                Err(error) => return Reply::of(Told::Unavailable(error.to_string())),
            };
            let now = clock::now_ms();
            let summary = self.summary(&stored);
            let waits = summary.is_moving(now) && now < until;
            let room = self.desk.waiting.borrow().len() < limits::MAX_JOINED;
            if !waits || !room {
                return self.standing(&stored, summary, expiry, Told::Stands);
            }
            let (wake, woken) = oneshot::channel();
            self.desk.waiting.borrow_mut().push(wake);
            let _ = clock::within(until - now, woken).await;
            self.desk.waiting.borrow_mut().retain(|w| !w.is_canceled());
        }
    }

    fn summary(&self, stored: &Stored) -> Summary {
        let mut summary = Summary::of(&stored.task);
        summary.duplicates += self.desk.duplicates.get();
        summary
    }

    fn standing(
        &self,
        stored: &Stored,
        summary: Summary,
        expiry: Expiry,
        told: fn(Box<Standing>) -> Told,
    ) -> Reply {
        let expired = expiry == Expiry::Judged && stored.task.is_expired(clock::now_ms());
        if expired || matches!(stored.task.state, protocol::State::Forgotten) {
            return Reply::of(Told::NotFound);
        }
        let answer = stored.task.answer.clone().filter(|_| stored.task.answers());
        let body = match &answer {
            Some(_) => match stored.answer_body(&self.desk.storage) {
                Ok(body) => body,
                Err(error) => return Reply::of(Told::Unavailable(error.to_string())),
            },
            None => Vec::new(),
        };
        Reply {
            told: told(Box::new(Standing {
                summary,
                answer,
                began: false,
            })),
            body,
        }
    }

    fn journal(&self, id: TaskId, after: &str, undoing: bool, show: bool) -> Reply {
        let storage = &self.desk.storage;
        let after = Some(after).filter(|after| !after.is_empty());
        let purpose = match (show, undoing) {
            (true, _) => Purpose::Show,
            (false, true) => Purpose::Undoing,
            (false, false) => Purpose::Replay,
        };
        let read = Stored::load(storage, id).and_then(|stored| {
            let known = stored.filter(|stored| {
                let forgotten = matches!(stored.task.state, protocol::State::Forgotten);
                let expired = show && stored.task.is_expired(clock::now_ms());
                !forgotten && !expired
            });
            let Some(stored) = known else { return Ok(None) };
            let page = journal::page(storage, id, purpose, after)?;
            Ok(Some((page, stored.task.generation)))
        });
        match read {
            Ok(Some(((records, more), generation))) => Reply::of(Told::Journal {
                records,
                more,
                generation,
            }),
            Ok(None) => Reply::of(Told::NotFound),
            Err(error) => Reply::of(Told::Unavailable(error.to_string())),
        }
    }

    fn told(&self, reply: protocol::Reply, stored: Option<&Stored>, asked: &Asked) -> Reply {
        use protocol::Reply as R;
        let stands = |told: fn(Box<Standing>) -> Told, standing: Standing| match stored {
            Some(stored) => self.standing(stored, self.summary(stored), Expiry::Passed, told),
            None => Reply::of(told(Box::new(standing))),
        };
        match reply {
            R::Claimed(claimed) => match stored {
                Some(stored) if claimed.resumed || !asked.brings_input() => {
                    self.resumed(claimed, stored)
                }
                _ => Reply::of(Told::Claimed {
                    claimed,
                    input_headers: None,
                    journal: Vec::new(),
                    more: None,
                    cursor: None,
                }),
            },
            R::Stands(standing) => stands(Told::Stands, standing),
            R::Stale(standing) => stands(Told::Stale, standing),
            R::InProgress(standing) => stands(Told::InProgress, standing),
            R::Ended(standing) => stands(Told::Ended, standing),
            R::KeyReused => Reply::of(Told::KeyReused),
            R::KeyCollision => Reply::of(Told::KeyCollision),
            R::Refused => Reply::of(Told::Refused),
            R::Recorded {
                stop,
                winners,
                cancel,
            } => Reply::of(Told::Recorded {
                stop,
                winners,
                cancel,
            }),
            R::GoOn { records, now_ms } => Reply::of(Told::GoOn { records, now_ms }),
            R::Suspended { ticket, hop } => Reply::of(Told::Suspended { ticket, hop }),
            R::Signalled { repeated } => Reply::of(Told::Signalled {
                repeated,
                standing: stored.map(|stored| {
                    Box::new(Standing {
                        began: false,
                        summary: self.summary(stored),
                        answer: None,
                    })
                }),
            }),
            R::MailboxFull => Reply::of(Told::MailboxFull),
            R::Planned(plan) => Reply::of(Told::Planned(plan)),
            R::NoSuchStep => Reply::of(Told::NoSuchStep),
            R::NotFound => Reply::of(Told::NotFound),
            R::Done => Reply::of(Told::Done),
        }
    }

    /// A claim of a task that has begun before, or by somebody who does not have its input: with the
    /// input and the first page of its journal.
    fn resumed(&self, claimed: Box<protocol::Claimed>, stored: &Stored) -> Reply {
        let (storage, id) = (&self.desk.storage, stored.task.id());
        let purpose = if claimed.undoing {
            Purpose::Undoing
        } else {
            Purpose::Replay
        };
        let read = stored.input_body(storage).and_then(|body| {
            let page = journal::page(storage, id, purpose, None)?;
            Ok((body, page, journal::cursor(storage, id)?))
        });
        match read {
            Ok((body, (journal, more), cursor)) => Reply {
                told: Told::Claimed {
                    claimed,
                    input_headers: Some(stored.input_headers.clone()),
                    journal,
                    more,
                    cursor,
                },
                body,
            },
            Err(error) => Reply::of(Told::Unavailable(error.to_string())),
        }
    }
}
