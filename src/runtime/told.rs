//! What an object says of its task: the machine's replies with what storage has to add.

use super::object::{Asked, Expiry, Object};
use crate::http::object_call::{Reply, Told};
use crate::protocol::{self, Standing, Summary};
use crate::store::commit::Stored;
use crate::store::journal::{self, Purpose};
use crate::types::TaskId;

impl Object {
    pub(super) fn summary(&self, stored: &Stored) -> Summary {
        let mut summary = Summary::of(&stored.task);
        summary.duplicates += self.desk.duplicates.get();
        summary.cost = summary.cost.and(self.desk.cost.get());
        summary
    }

    pub(super) fn standing(
        &self,
        stored: &Stored,
        summary: Summary,
        expiry: Expiry,
        told: fn(Box<Standing>) -> Told,
    ) -> Reply {
        let expired = expiry == Expiry::Judged && stored.task.is_expired(self.desk.edge.now_ms());
        if expired || matches!(stored.task.state, protocol::State::Forgotten) {
            return Reply::of(Told::NotFound);
        }
        let answer = stored.task.answer.clone().filter(|_| stored.task.answers());
        let body = match &answer {
            Some(_) => match stored.answer_body(&self.desk.storage.cells()) {
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

    pub(super) fn journal(&self, id: TaskId, after: &str, undoing: bool, show: bool) -> Reply {
        let storage = &self.desk.storage.cells();
        let after = Some(after).filter(|after| !after.is_empty());
        let purpose = match (show, undoing) {
            (true, _) => Purpose::Show,
            (false, true) => Purpose::Undoing,
            (false, false) => Purpose::Replay,
        };
        let read = Stored::load(storage, id).and_then(|stored| {
            let known = stored.filter(|stored| {
                let forgotten = matches!(stored.task.state, protocol::State::Forgotten);
                let expired = show && stored.task.is_expired(self.desk.edge.now_ms());
                !forgotten && !expired
            });
            let Some(stored) = known else { return Ok(None) };
            let page = journal::page(storage, id, purpose, after)?;
            Ok(Some((page, stored)))
        });
        match read {
            Ok(Some((_, stored))) if show && stored.task.stripped => {
                let summary = self.summary(&stored);
                self.standing(&stored, summary, Expiry::Passed, Told::Ended)
            }
            Ok(Some(((records, more), stored))) => Reply::of(Told::Journal {
                records,
                more,
                generation: stored.task.generation,
            }),
            Ok(None) => Reply::of(Told::NotFound),
            Err(error) => Reply::of(Told::Unavailable(error.to_string())),
        }
    }

    /// What a task was begun with, or continued as.
    pub(super) fn input(&self, id: TaskId) -> Reply {
        let cells = &self.desk.storage.cells();
        let read = Stored::load(cells, id).and_then(|stored| {
            let now_ms = self.desk.edge.now_ms();
            let known = stored.filter(|stored| {
                let forgotten = matches!(stored.task.state, protocol::State::Forgotten);
                !forgotten && !stored.task.is_expired(now_ms)
            });
            let read = known.map(|stored| {
                let body = stored.input_body(cells)?;
                Ok((body, stored))
            });
            read.transpose()
        });
        match read {
            Ok(Some((_, stored))) if stored.task.stripped => {
                let summary = self.summary(&stored);
                self.standing(&stored, summary, Expiry::Passed, Told::Ended)
            }
            Ok(Some((body, stored))) => Reply {
                told: Told::Input {
                    headers: stored.input_headers,
                },
                body,
            },
            Ok(None) => Reply::of(Told::NotFound),
            Err(error) => Reply::of(Told::Unavailable(error.to_string())),
        }
    }

    pub(super) fn told(
        &self,
        reply: protocol::Reply,
        stored: Option<&Stored>,
        asked: &Asked,
    ) -> Reply {
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
            R::KeyReused { differs } => Reply::key_reused(&differs),
            R::Expired => Reply::of(Told::Expired),
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
        let (storage, id) = (&self.desk.storage.cells(), stored.task.id());
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
