//! What the sender gets, from where the task stands: the contract, as one function.
//!
//! | standing | webhook | call |
//! |---|---|---|
//! | not final, first delivery or `respond-async` | 202 | 202 |
//! | not final (compensating as well), duplicate | 202 | 409 `task_in_progress` |
//! | asleep, waiting for a signal or longer | 202, at once | 409 `task_in_progress`, at once |
//! | succeeded, also while it is undone | the answer; its 5xx only if the source passes them, else 200 + document | the answer |
//! | failed for good, with an answer | as succeeded | the answer |
//! | failed for good, without | 200 + document | 500 `task_failed` |
//! | failed, resumable | 202 | 500 `task_failed` + Retry-After |
//! | cancelled | 200 + document | 409 `task_cancelled` |
//! | same key, other fingerprint | 422 `key_reused` | same |
//!
//! A duplicate of a task that ended with an answer gets `Idempotent-Replayed: true` beside it.

use super::admit::Mode;
use super::code::Code;
use super::document::TaskDocument;
use super::policy::address;
use super::prefer::Prefer;
use super::problem::Problem;
use super::profile::Statuses;
use super::show::preferred;
use super::waiting::WaitingDocument;
use crate::protocol::{self, State, Waiting};
use crate::types::Answer;
use crate::types::time::rfc3339;

/// `Retry-After` of a task that failed and that a new delivery resumes: the cause needs some time to
/// pass, in seconds.
const RESUME_AFTER_S: u64 = 10;
/// `Retry-After` of a task that waits for something without a time, such as a signal, in seconds.
const ASK_AGAIN_S: u64 = 60;
/// Longest `Retry-After`: clients that believe it should still come back today, in seconds.
const MAX_RETRY_AFTER_S: u64 = 3_600;

/// Where a task stands, as far as the answer depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// At work, undoing, or about to be.
    Running,
    /// Asleep, waiting for a signal, or backing off for longer.
    Waiting {
        /// Not before this time, if there is one.
        until_ms: Option<u64>,
    },
    /// Ended well.
    Succeeded {
        /// Of the function.
        answer: Answer,
    },
    /// Failed; a new delivery goes on from the last checkpoint.
    FailedResumable,
    /// Failed for good.
    FailedForGood {
        /// The function's own, if it gave one.
        answer: Option<Answer>,
    },
    /// Ended by an operator.
    Cancelled,
    /// The key belongs to another request.
    KeyReused,
}

impl Standing {
    /// From what the object says. `None` if it says that a task has succeeded and has no answer, or
    /// that it is forgotten: the fault is ours, and the answer a 503.
    pub fn of(standing: &protocol::Standing, now_ms: u64) -> Option<Self> {
        let answer = standing.answer.clone();
        let summary = &standing.summary;
        if summary.is_undoing_success() {
            return answer.map(|answer| Self::Succeeded { answer });
        }
        match &summary.state {
            _ if summary.is_moving(now_ms) => Some(Self::Running),
            State::Running | State::Suspended(Waiting::Ready) => Some(Self::Running),
            State::Suspended(Waiting::BackingOff { due_ms }) => Some(Self::Waiting {
                until_ms: Some(*due_ms),
            }),
            State::Suspended(Waiting::For(_)) => {
                let first = WaitingDocument::all(&summary.state).into_iter().next();
                Some(Self::Waiting {
                    until_ms: first.and_then(|wait| wait.until_ms),
                })
            }
            State::Suspended(Waiting::CodeChanged(_)) => Some(Self::Waiting { until_ms: None }),
            State::Cancelled => Some(Self::Cancelled),
            State::Succeeded => answer.map(|answer| Self::Succeeded { answer }),
            State::Failed { resumable: true } => Some(Self::FailedResumable),
            State::Failed { resumable: false } => Some(Self::FailedForGood { answer }),
            State::Forgotten => None,
        }
    }
}

/// A delivery and what the object said about its task.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// From the object.
    pub standing: &'a protocol::Standing,
    /// Whom the answer is for.
    pub mode: Mode,
    /// What the client prefers; the caller waited accordingly.
    pub prefer: Prefer,
    /// What the function's profile makes of refusals.
    pub statuses: Statuses,
    /// This delivery neither began nor resumed the task.
    pub replayed: bool,
    /// Now.
    pub now_ms: u64,
}

/// The answer to a delivery, from what the object said.
pub fn answer(seen: &Seen<'_>) -> Answer {
    let mut task = TaskDocument::of(&seen.standing.summary);
    // Operators pay, senders don't.
    task.cost = None;
    if task.finished_ms.is_some() {
        // What stands in for an answer is the same for every sender, to the byte.
        task.duplicates = None;
    }
    let asked = Asked {
        mode: seen.mode,
        duplicate: seen.replayed,
        honoured: seen.prefer.granted(),
        statuses: seen.statuses,
        now_ms: seen.now_ms,
    };
    match Standing::of(seen.standing, seen.now_ms) {
        Some(standing) => {
            let mut answer = by_contract(&standing, &asked, &task);
            if seen.standing.summary.free {
                // The key is new already.
                answer.headers.remove("idempotency-expires");
            }
            answer
        }
        None => Problem::new(
            Code::Unavailable,
            "The answer of this task can't be read now.",
        )
        .task(task.task_id)
        .to_answer(),
    }
}

/// True if the answer is a document of the task and not what the function answered: a webhook's provider may
/// need another form of it.
pub fn stands_in(seen: &Seen<'_>) -> bool {
    let Mode::Webhook { own_5xx } = seen.mode else {
        return false;
    };
    match Standing::of(seen.standing, seen.now_ms) {
        Some(
            Standing::Succeeded { answer }
            | Standing::FailedForGood {
                answer: Some(answer),
            },
        ) => answer.status >= 500 && !own_5xx,
        Some(Standing::KeyReused) | None => false,
        Some(_) => true,
    }
}

/// Who asks, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Whom the answer is for.
    pub mode: Mode,
    /// This delivery neither began nor resumed the task.
    pub duplicate: bool,
    /// The preferences that were honoured: `respond_async` if nobody waited because of it, `wait_s` if
    /// the wait was made longer or shorter by it, `handling` if the key was checked by it.
    pub honoured: Prefer,
    /// What the function's profile makes of refusals.
    pub statuses: Statuses,
    /// Now.
    pub now_ms: u64,
}

/// The answer to a delivery, by the table above.
///
/// ```
/// use onceward::http::admit::Mode;
/// use onceward::http::answer::{Asked, Standing, by_contract};
/// use onceward::http::document::{TaskDocument, TaskState};
/// use onceward::http::prefer::Prefer;
/// use onceward::types::{TaskKey, TaskKind};
/// let key = TaskKey::new(TaskKind::Function, "greet", "", "k1");
/// let task = TaskDocument::new(&key, "greet", TaskState::Running, 0);
/// let asked = |duplicate| Asked {
///     mode: Mode::Call,
///     duplicate,
///     honoured: Prefer::default(),
///     statuses: Default::default(),
///     now_ms: 0,
/// };
/// assert_eq!(by_contract(&Standing::Running, &asked(false), &task).status, 202);
/// assert_eq!(by_contract(&Standing::Running, &asked(true), &task).status, 409);
/// ```
pub fn by_contract(standing: &Standing, asked: &Asked, task: &TaskDocument) -> Answer {
    let out = said(standing, asked, task);
    let is_document = matches!(out, Said::Document | Said::Accepted(_));
    let mut answer = match out {
        Said::Own(answer) => answer,
        Said::Document => preferred(task.to_answer(200), asked.honoured),
        Said::Accepted(retry_after_s) => preferred(accepted(retry_after_s, task), asked.honoured),
        Said::Refused(problem) => problem.policy(address(task.kind, &task.name)).to_answer(),
    };
    let is_end = matches!(
        standing,
        Standing::Succeeded { .. } | Standing::FailedForGood { .. }
    );
    let headers = &mut answer.headers;
    if is_end && asked.duplicate {
        headers.set("idempotent-replayed", "true");
    }
    headers.set("onceward-task-id", task.task_id.to_string());
    if let Some(at_ms) = task.expires_ms {
        headers.set("idempotency-expires", rfc3339(at_ms));
    }
    let shown = Prefer {
        respond_async: asked.honoured.respond_async && answer.status == 202,
        returns: asked.honoured.returns.filter(|_| is_document),
        ..asked.honoured
    };
    if let Some(applied) = shown.applied() {
        answer.headers.set("preference-applied", applied);
    }
    answer
}

/// What is said, before it is made an answer.
enum Said {
    /// The function's own answer.
    Own(Answer),
    /// 200 with the task document.
    Document,
    /// 202 with the task document, and the seconds until it makes sense to look again.
    Accepted(Option<u64>),
    /// A problem.
    Refused(Problem),
}

fn said(standing: &Standing, asked: &Asked, task: &TaskDocument) -> Said {
    let webhook = matches!(asked.mode, Mode::Webhook { .. });
    match standing {
        Standing::Running => unfinished(None, asked, task),
        Standing::Waiting { until_ms } => {
            unfinished(Some(wait_s(*until_ms, asked.now_ms)), asked, task)
        }
        Standing::Succeeded { answer }
        | Standing::FailedForGood {
            answer: Some(answer),
        } => own(answer, asked.mode),
        Standing::FailedForGood { answer: None } | Standing::Cancelled if webhook => Said::Document,
        Standing::FailedForGood { answer: None } => Said::Refused(failed(task)),
        Standing::FailedResumable if webhook => Said::Accepted(Some(RESUME_AFTER_S)),
        Standing::FailedResumable => Said::Refused(failed(task).retry_after(RESUME_AFTER_S)),
        Standing::Cancelled => Said::Refused(
            Problem::new(Code::TaskCancelled, "An operator cancelled the task.").task(task.task_id),
        ),
        Standing::KeyReused => Said::Refused(key_reused(task).with_status(asked.statuses.mismatch)),
    }
}

/// The refusal of something that only a final task allows, such as forgetting it.
pub fn not_final(task: &TaskDocument) -> Problem {
    in_progress(task, None)
}

/// The function's answer, unless it is a 5xx that would make the sender repeat for days.
fn own(answer: &Answer, mode: Mode) -> Said {
    if matches!(mode, Mode::Webhook { own_5xx: false }) && answer.status >= 500 {
        return Said::Document;
    }
    Said::Own(answer.clone())
}

fn unfinished(retry_after_s: Option<u64>, asked: &Asked, task: &TaskDocument) -> Said {
    let conflict = asked.mode == Mode::Call && asked.duplicate && !asked.honoured.respond_async;
    if conflict {
        return Said::Refused(
            in_progress(task, retry_after_s).with_status(asked.statuses.in_flight),
        );
    }
    Said::Accepted(retry_after_s)
}

pub(super) fn accepted(retry_after_s: Option<u64>, task: &TaskDocument) -> Answer {
    let usual = Code::TaskInProgress.retry_after_s().unwrap_or(1);
    let retry_after_s = retry_after_s.unwrap_or(usual);
    let mut answer = task.to_answer(202);
    answer.headers.push("location", task.location());
    answer
        .headers
        .push("retry-after", retry_after_s.to_string());
    answer
}

fn in_progress(task: &TaskDocument, retry_after_s: Option<u64>) -> Problem {
    let problem = Problem::new(
        Code::TaskInProgress,
        format!("It has not ended yet; see {}.", task.location()),
    )
    .task(task.task_id)
    .header("location", task.location());
    match retry_after_s {
        Some(seconds) => problem.retry_after(seconds),
        None => problem,
    }
}

fn failed(task: &TaskDocument) -> Problem {
    let detail = match &task.error {
        Some(error) => format!("{}: {}", error.code, error.message),
        None => "The function gave no reason.".to_owned(),
    };
    Problem::new(Code::TaskFailed, detail).task(task.task_id)
}

fn key_reused(task: &TaskDocument) -> Problem {
    Problem::new(
        Code::KeyReused,
        "This key came before with another method, address or body. Nothing was run.",
    )
    .task(task.task_id)
}

/// Seconds until a time, rounded up, within bounds.
fn wait_s(until_ms: Option<u64>, now_ms: u64) -> u64 {
    until_ms.map_or(ASK_AGAIN_S, |until_ms| {
        until_ms
            .saturating_sub(now_ms)
            .div_ceil(1_000)
            .clamp(1, MAX_RETRY_AFTER_S)
    })
}

#[cfg(test)]
#[path = "answer_states_tests.rs"]
mod states;
#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
