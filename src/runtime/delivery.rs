//! One delivery: begun, run or joined, answered.

use super::Functions;
use super::ask::{self, NoReply};
use super::line::Met;
use super::ports::{Edge, Level};
use super::slice::{self, Start};
use super::tally::{self, Why};
use super::within;
use crate::function::{Function, SliceEnd};
use crate::http::admit::{Admitted, Mode};
use crate::http::answer::{self, Seen};
use crate::http::code::Code;
use crate::http::object_call::{Ask, Call, Reply, Told};
use crate::http::policy;
use crate::http::problem::Problem;
use crate::http::profile::Statuses;
use crate::http::reused;
use crate::limits;
use crate::protocol::{Begin, Standing};
use crate::types::{Answer, Policy, TaskId};
use futures::channel::oneshot;
use serde_json::json;

/// Time beyond what a sender waits for an answer in which the object is asked again.
const PATIENCE_MS: u64 = 7_000;

/// A delivery on its way through.
pub(super) struct Delivery<'a> {
    pub(super) edge: &'a Edge,
    pub(super) function: &'a Function,
    pub(super) functions: Functions,
    pub(super) policy: Policy,
    pub(super) admitted: Admitted,
    pub(super) started_ms: u64,
    /// Whether its first slice runs here, or in an invocation that the object starts.
    pub(super) claims: bool,
    /// Its signed bytes had come before under another key.
    pub(super) known_bytes: bool,
}

/// The answer to a delivery.
pub(super) struct Carried {
    pub(super) answer: Answer,
    /// It is not the function's own answer: a document of the task stands in for it.
    pub(super) stands_in: bool,
    pub(super) met: Met,
}

impl Carried {
    /// An error of ours.
    fn problem(problem: &Problem) -> Self {
        Self {
            answer: problem.to_answer(),
            stands_in: false,
            met: Met::Refused,
        }
    }
}

impl Delivery<'_> {
    pub(super) fn task_id(&self) -> TaskId {
        self.admitted.key.task_id()
    }

    /// How long this sender is kept waiting, from its arrival.
    fn waits_ms(&self) -> u64 {
        if !self.claims {
            return 0;
        }
        let own = self.policy.respond_within_ms;
        match (
            self.admitted.prefer.respond_async,
            self.admitted.prefer.wait_ms(),
        ) {
            (_, Some(wait)) => wait.min(limits::MAX_PREFER_WAIT_MS),
            (true, None) => 0,
            (false, None) => own,
        }
    }

    fn left_ms(&self) -> u64 {
        (self.started_ms + self.waits_ms()).saturating_sub(self.edge.now_ms())
    }

    /// Begins the task or joins it, and answers.
    pub(super) async fn carry(self) -> Carried {
        let mut reply = self.begin().await;
        if matches!(&reply, Ok((told, _)) if told.told == Told::NotFound) {
            // It was forgotten while this delivery waited for its end: now the key is new.
            reply = self.begin().await;
        }
        match reply {
            Ok((reply, claim_ms)) => self.begun(reply, claim_ms).await,
            Err(error) => self.unreachable(&error),
        }
    }

    /// Begins the task or joins it, and waits for nothing.
    pub(super) async fn begin_only(&self) -> Result<Standing, String> {
        let reply = self.begin().await.map_err(|error| format!("{error:?}"))?;
        match reply.0.told {
            Told::Stands(standing) => {
                if standing.began {
                    tally::ride(self.edge);
                } else {
                    self.repeated();
                }
                Ok(*standing)
            }
            told => Err(told.name().to_owned()),
        }
    }

    async fn begin(&self) -> Result<(Reply, u64), NoReply> {
        let print = self.admitted.fingerprint.as_ref();
        let call = Call {
            task_id: self.task_id(),
            ask: Ask::Begin {
                begin: Box::new(Begin {
                    op: self.edge.token(),
                    key: self.admitted.key.clone(),
                    function: self.admitted.function.clone(),
                    policy: self.policy.clone(),
                    fingerprint: print.map(|print| print.hash.clone()),
                    parts: print.map(|print| print.parts.clone()).unwrap_or_default(),
                    input: self.admitted.input.clone(),
                    claims: self.claims,
                    hop: 0,
                    parent: None,
                    lineage: Vec::new(),
                    about: self.admitted.about.clone(),
                }),
                input_headers: self.admitted.input.headers.clone(),
                wait_ms: self.waits_ms().min(limits::MAX_JOIN_MS),
            },
        };
        let claim_ms = self.edge.now_ms();
        let until_ms = claim_ms + self.waits_ms().min(limits::MAX_JOIN_MS) + PATIENCE_MS;
        let reply = ask::ask(self.edge, &call, until_ms).await?;
        Ok((reply, claim_ms))
    }

    async fn begun(self, reply: Reply, claim_ms: u64) -> Carried {
        let task_id = self.task_id();
        match reply.told {
            Told::Claimed {
                claimed,
                input_headers,
                journal,
                more,
                cursor,
            } => {
                let mut input = self.admitted.input.clone();
                if let Some(headers) = input_headers {
                    // The task goes on with what it began with.
                    input.headers = headers;
                    input.body = reply.body;
                }
                let start = Start {
                    task_id,
                    claimed: *claimed,
                    started_ms: claim_ms,
                    input,
                    journal,
                    more,
                    cursor,
                };
                self.run(start).await
            }
            Told::Stands(standing) => self.joined(*standing).await,
            Told::KeyReused => {
                self.suppressed(Why::Mismatch);
                Carried::problem(
                    &reused::key_reused(task_id, &reply.differs())
                        .with_status(self.statuses().mismatch)
                        .policy(self.policy_page()),
                )
            }
            Told::Expired => {
                self.suppressed(Why::Late);
                Carried::problem(&reused::key_expired(task_id).policy(self.policy_page()))
            }
            other => {
                self.edge.log(
                    Level::Error,
                    "begin",
                    json!({"task_id": task_id.to_string(), "told": other.name()}),
                );
                let problem =
                    Problem::new(Code::Unavailable, "The task's object cannot take this now.");
                Carried::problem(&problem.task(task_id))
            }
        }
    }

    /// Runs the first slice beside the wait for its answer: a sender that hangs up stops nothing.
    async fn run(self, start: Start) -> Carried {
        tally::ride(self.edge);
        let (done, ended) = oneshot::channel::<SliceEnd>();
        let (edge, function) = (self.edge.clone(), self.function.clone());
        let functions = self.functions.clone();
        self.edge.wait_until(Box::pin(async move {
            let end = slice::run(edge, functions, function, start).await;
            // The sender may have got its 202 already.
            let _ = done.send(end);
        }));
        let left = self.left_ms();
        if left > 0
            && let Some(Ok(end)) = within(self.edge, left, ended).await
        {
            match end {
                // Who asked for a longer wait gets the next attempt as well.
                SliceEnd::Ended(standing) if self.goes_on(&standing) => {}
                SliceEnd::Ended(standing) => return self.answer(&standing, false),
                // Another slice goes on with it; wait with the others.
                SliceEnd::Suspended { .. } | SliceEnd::Stopped | SliceEnd::Unreachable => {}
            }
        }
        self.wait(false).await
    }

    fn goes_on(&self, standing: &Standing) -> bool {
        self.admitted.prefer.wait_ms().is_some() && standing.summary.is_moving(self.edge.now_ms())
    }

    /// A duplicate, or the first delivery of a task whose slices others start: what the object said may already be the end.
    async fn joined(self, standing: Standing) -> Carried {
        let moving = standing.summary.is_moving(self.edge.now_ms());
        let replayed = !standing.began;
        if replayed {
            self.repeated();
        }
        if !moving || self.left_ms() == 0 {
            return self.answer(&standing, replayed);
        }
        self.wait(replayed).await
    }

    /// Looks at the task until it ends or time is up, each time for as long as an object may be kept.
    async fn wait(self, replayed: bool) -> Carried {
        loop {
            let left = self.left_ms();
            let wait_ms = left.min(limits::MAX_JOIN_MS);
            let until_ms = self.edge.now_ms() + wait_ms + PATIENCE_MS;
            let standing = match look(self.edge, self.task_id(), wait_ms, until_ms).await {
                Ok(Some(standing)) => standing,
                Ok(None) => return self.unreachable(&NoReply::Unreachable("it is gone".into())),
                Err(error) => return self.unreachable(&error),
            };
            let moving = standing.summary.is_moving(self.edge.now_ms());
            if !moving || self.left_ms() == 0 {
                return self.answer(&standing, replayed);
            }
        }
    }

    /// Counts a repeat.
    fn repeated(&self) {
        self.suppressed(if self.known_bytes {
            Why::SameBytes
        } else {
            Why::SameKey
        });
    }

    /// Counts a delivery that runs nothing.
    fn suppressed(&self, why: Why) {
        let now_ms = self.edge.now_ms();
        self.edge.tally().add(&self.admitted.function, why, now_ms);
    }

    /// What the function's profile makes of refusals; webhooks have none.
    fn statuses(&self) -> Statuses {
        match self.admitted.mode {
            Mode::Call => self.function.rules().statuses(),
            Mode::Webhook { .. } => Statuses::default(),
        }
    }

    fn policy_page(&self) -> String {
        policy::address(self.admitted.key.kind, &self.admitted.key.name)
    }

    fn answer(&self, standing: &Standing, replayed: bool) -> Carried {
        let seen = Seen {
            standing,
            mode: self.admitted.mode,
            prefer: self.admitted.prefer,
            statuses: self.statuses(),
            replayed,
            now_ms: self.edge.now_ms(),
        };
        Carried {
            answer: answer::answer(&seen),
            stands_in: answer::stands_in(&seen),
            met: if replayed { Met::Joined } else { Met::Began },
        }
    }

    fn unreachable(&self, error: &NoReply) -> Carried {
        self.edge.log(
            Level::Error,
            "object",
            json!({
                "task_id": self.task_id().to_string(), "error": format!("{error:?}"),
            }),
        );
        let code = match error {
            NoReply::Overloaded => Code::Overloaded,
            NoReply::Unreachable(_) => Code::Unavailable,
        };
        let problem = Problem::new(
            code,
            "The task's object did not answer. Send the same request again: it runs once at most.",
        );
        Carried::problem(&problem.task(self.task_id()))
    }
}

/// Where a task stands; `None` if there is none.
pub(super) async fn look(
    edge: &Edge,
    task_id: TaskId,
    wait_ms: u64,
    until_ms: u64,
) -> Result<Option<Standing>, NoReply> {
    let call = Call {
        task_id,
        ask: Ask::Look { wait_ms },
    };
    match ask::ask(edge, &call, until_ms).await?.told {
        Told::Stands(standing) => Ok(Some(*standing)),
        Told::NotFound => Ok(None),
        Told::Unavailable(why) => Err(NoReply::Unreachable(why)),
        other => Err(NoReply::Unreachable(other.name().into())),
    }
}
