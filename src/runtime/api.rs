//! Queries and steering: one task, forgetting; and the lab's switches.

use super::ask::{self, NoReply};
use super::audit::{Act, audited};
use super::delivery;
use super::ports::{Edge, Level};
#[cfg(feature = "lab")]
use super::serve::Body;
use super::serve::Exchange;
use super::stored;
use super::within;
use crate::http::auth::Caller;
use crate::http::code::Code;
use crate::http::document::TaskDocument;
use crate::http::journal;
use crate::http::object_call::{Ask, Call, Told};
use crate::http::prefer::Prefer;
use crate::http::problem::{Cause, Problem};
use crate::http::query;
use crate::http::show;
use crate::http::steer;
use crate::http::validator::Known;
use crate::limits;
use crate::store::d1 as sql;
use crate::types::{Answer, Database, TaskId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long D1 is asked before the answer is 503.
const D1_TIMEOUT_MS: u64 = 10_000;
/// How often.
const D1_TRIES: u32 = 3;
/// How long an object is asked before the answer is 503.
const PATIENCE_MS: u64 = 5_000;

pub(super) use crate::http::steer::absent;

pub(super) fn unreachable(edge: &Edge, id: TaskId, error: &NoReply) -> Problem {
    edge.log(
        Level::Error,
        "object",
        json!({"task_id": id.to_string(), "error": format!("{error:?}")}),
    );
    let code = match error {
        NoReply::Overloaded => Code::Overloaded,
        NoReply::Unreachable(_) => Code::Unavailable,
    };
    Problem::new(code, "The task's object did not answer.").task(id)
}

/// One task, from its object: what it says is true now. `?wait=N` or `Prefer: wait=N` waits up to N
/// seconds for its end, and with `If-None-Match` for any other document than that.
pub(super) async fn show(edge: &Edge, exchange: &Exchange, id: TaskId) -> Result<Answer, Problem> {
    let asked = Prefer::read(&exchange.headers).granted();
    let own_wait_ms = wait_ms(&exchange.target)?;
    let prefer = Prefer {
        returns: asked.returns,
        // The address counts more than a preference.
        wait_s: asked.wait_s.filter(|_| own_wait_ms.is_none()),
        ..Prefer::default()
    };
    let known = Known::read(&exchange.headers);
    let until = exchange.started_ms + own_wait_ms.or(prefer.wait_ms()).unwrap_or(0);
    // It may be another one already: then nobody waits.
    let mut patient = known.is_none();
    loop {
        let now = edge.now_ms();
        let left_ms = until.saturating_sub(now).min(limits::MAX_JOIN_MS);
        let wait_ms = if patient { left_ms } else { 0 };
        let standing = delivery::look(edge, id, wait_ms, now + wait_ms + PATIENCE_MS)
            .await
            .map_err(|error| unreachable(edge, id, &error))?
            .ok_or_else(|| absent(id))?;
        patient = true;
        let task = TaskDocument::of(&standing.summary);
        let tag = show::tag_of(&task, prefer);
        let is_news = known.as_ref().is_some_and(|known| !known.has(&tag));
        let now = edge.now_ms();
        if is_news || now >= until || !standing.summary.is_moving(now) {
            return Ok(show::answer(&task, prefer, known.as_ref()));
        }
    }
}

fn wait_ms(target: &str) -> Result<Option<u64>, Problem> {
    let mut wait_s = None;
    let mut wrong = Vec::new();
    for (name, value) in query::parameters(target) {
        let is_whole = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        match &*name {
            // What is too long to be counted is as long as is granted.
            "wait" if is_whole => wait_s = Some(value.parse().unwrap_or(u64::MAX)),
            "wait" => wrong.push(Cause {
                detail: "wanted a whole number of seconds".into(),
                pointer: name,
            }),
            _ => wrong.push(query::unknown(name, "wait")),
        }
    }
    query::settled(wrong)?;
    Ok(wait_s.map(|s| s.saturating_mul(1_000).min(limits::MAX_PREFER_WAIT_MS)))
}

/// The records of a task, from its object. `?after=` goes on where the page before ended.
pub(super) async fn journal(
    edge: &Edge,
    exchange: &Exchange,
    id: TaskId,
) -> Result<Answer, Problem> {
    let mut after = String::new();
    let mut wrong = Vec::new();
    for (name, value) in query::parameters(&exchange.target) {
        match (&*name, journal::cell(&value)) {
            ("after", Some(cell)) => after = cell,
            ("after", None) => wrong.push(Cause {
                detail: "wanted a `next` of an earlier page".into(),
                pointer: name,
            }),
            _ => wrong.push(query::unknown(name, "after")),
        }
    }
    query::settled(wrong)?;
    let call = Call {
        task_id: id,
        ask: Ask::Journal {
            after,
            undoing: false,
            show: true,
        },
    };
    let reply = ask::ask(edge, &call, edge.now_ms() + PATIENCE_MS)
        .await
        .map_err(|error| unreachable(edge, id, &error))?;
    match reply.told {
        Told::Journal {
            records,
            more,
            generation,
        } => {
            let page = journal::Page {
                task_id: id,
                generation,
                records: &records,
                more: more.as_deref(),
                now_ms: edge.now_ms(),
            };
            let mut answer = Answer::json(200, &page.document());
            answer.headers.push("cache-control", "no-store");
            answer.headers.push("onceward-task-id", id.to_string());
            Ok(answer)
        }
        Told::NotFound => Err(absent(id)),
        Told::Ended(standing) if standing.summary.stripped => Err(steer::dropped(id)),
        other => Err(unreachable(
            edge,
            id,
            &NoReply::Unreachable(other.name().into()),
        )),
    }
}

/// Has a task forgotten.
pub(super) async fn forget(edge: &Edge, caller: &Caller, id: TaskId) -> Result<Answer, Problem> {
    let act = Act {
        caller,
        action: "forget",
        task_id: Some(id),
        detail: Value::Null,
    };
    audited(edge, act, async {
        stored::forget(edge, id).await?;
        Ok(Answer {
            status: 204,
            headers: [("onceward-task-id", id.to_string())].into_iter().collect(),
            body: Vec::new(),
        })
    })
    .await
}

/// D1 does not answer.
pub(super) fn no_database() -> Problem {
    Problem::new(
        Code::Unavailable,
        "The database of results does not answer. Tasks go on without it.",
    )
}

/// Reads rows; a read may be tried again, whatever went wrong with it.
pub(super) async fn rows<T: DeserializeOwned>(
    edge: &Edge,
    statement: &sql::Statement,
) -> Result<Vec<T>, String> {
    let until = edge.now_ms() + D1_TIMEOUT_MS;
    let mut tries = 0;
    loop {
        tries += 1;
        let left = until.saturating_sub(edge.now_ms()).max(1);
        let asked = within(
            edge,
            left,
            edge.d1(Database::default(), vec![statement.clone()]),
        )
        .await;
        let read = asked
            .unwrap_or_else(|| Err("no answer in time".into()))
            .and_then(|results| {
                let first = results.into_iter().next().ok_or("no result")?;
                let rows = first.rows.into_iter();
                rows.map(|row| serde_json::from_value(Value::Object(row)))
                    .collect::<Result<_, _>>()
                    .map_err(|e| e.to_string())
            });
        if read.is_ok() || tries >= D1_TRIES || edge.now_ms() >= until {
            return read;
        }
        edge.sleep(50 << tries).await;
    }
}

/// Sets the lab's faults.
#[cfg(feature = "lab")]
pub(super) async fn set_faults(edge: &Edge, body: &mut dyn Body) -> Result<Answer, Problem> {
    let body = body.read(limits::MAX_BODY_BYTES).await.unwrap_or_default();
    let wish: Value = serde_json::from_slice(&body)
        .map_err(|e| Problem::new(Code::InputInvalid, format!("not JSON: {e}")))?;
    faults(edge, Some(&wish))
}

/// Shows the lab's faults, and sets them first if that is wished.
#[cfg(feature = "lab")]
pub(super) fn faults(edge: &Edge, wish: Option<&Value>) -> Result<Answer, Problem> {
    let faults = edge.faults(wish);
    let faults = faults.map_err(|wrong| Problem::new(Code::InputInvalid, wrong.join("; ")))?;
    Ok(Answer::json(200, &faults))
}
