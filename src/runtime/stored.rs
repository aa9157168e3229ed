//! What a task was sent, what it answered, and having both forgotten by key.

use super::api::{absent, unreachable};
use super::ask::{self, NoReply};
use super::audit::{Act, audited};
use super::delivery;
use super::ports::{Edge, Level};
use super::serve::{Body, Exchange, read};
use crate::http::auth::Caller;
use crate::http::code::Code;
use crate::http::document::TaskState;
use crate::http::erase::{self, Erased};
use crate::http::media;
use crate::http::object_call::{Ask, Call, Told};
use crate::http::problem::Problem;
use crate::http::steer;
use crate::http::stored::{self, Part};
use crate::limits;
use crate::store::d1 as sql;
use crate::types::{Answer, Database, TaskId};
use serde_json::json;

/// How long an object is asked before the answer is 503, in milliseconds.
const PATIENCE_MS: u64 = 5_000;
/// Pieces in which checkpoints are deleted at once; the cleaner takes what is left.
const PIECES: usize = 20;

/// `GET /v1/tasks/{id}/answer`.
pub(super) async fn answer(edge: &Edge, id: TaskId) -> Result<Answer, Problem> {
    let standing = delivery::look(edge, id, 0, edge.now_ms() + PATIENCE_MS).await;
    let standing = standing.map_err(|error| unreachable(edge, id, &error))?;
    stored::answer(&standing.ok_or_else(|| absent(id))?)
}

/// `GET /v1/tasks/{id}/input`.
pub(super) async fn input(
    edge: &Edge,
    exchange: &Exchange,
    caller: &Caller,
    id: TaskId,
) -> Result<Answer, Problem> {
    let part = Part::read(&exchange.target)?;
    let act = Act {
        caller,
        action: "read_input",
        task_id: Some(id),
        detail: json!({ "part": part.as_str() }),
    };
    let read = async {
        let call = Call {
            task_id: id,
            ask: Ask::Input,
        };
        let reply = ask::ask(edge, &call, edge.now_ms() + PATIENCE_MS).await;
        let reply = reply.map_err(|error| unreachable(edge, id, &error))?;
        match reply.told {
            Told::Input { headers } => Ok(stored::input(id, &headers, reply.body, part)),
            Told::NotFound => Err(absent(id)),
            Told::Ended(standing) if standing.summary.stripped => Err(steer::dropped(id)),
            other => Err(unexpected(edge, id, &other)),
        }
    };
    audited(edge, act, read).await
}

/// `POST /v1/erase`.
pub(super) async fn erase(
    edge: &Edge,
    exchange: &Exchange,
    body: &mut dyn Body,
    caller: &Caller,
) -> Result<Answer, Problem> {
    let body = read(body).await?;
    media::json(&exchange.headers, &body)?;
    let key = erase::read(&body, caller)?;
    let id = key.task_id();
    if !caller.sees(&key.tenant) {
        return Err(absent(id));
    }
    let act = Act {
        caller,
        action: "erase",
        task_id: Some(id),
        detail: json!({ key.kind.as_str(): key.name }),
    };
    audited(edge, act, erased(edge, id)).await
}

async fn erased(edge: &Edge, id: TaskId) -> Result<Answer, Problem> {
    let standing = delivery::look(edge, id, 0, edge.now_ms() + PATIENCE_MS).await;
    let standing = standing.map_err(|error| unreachable(edge, id, &error))?;
    forget(edge, id).await?;
    // The tombstone takes the row. What D1 has of the journal goes here, and not with the cleaner's next run.
    if let Some(standing) = standing {
        let generation = standing.summary.generation;
        for database in (0..edge.databases()).map(Database) {
            let edge = edge.clone();
            edge.clone().wait_until(Box::pin(async move {
                if let Err(error) = wipe(&edge, database, id, generation).await {
                    let fields = json!({"task_id": id.to_string(), "error": error});
                    edge.log(Level::Error, "erase_checkpoints", fields);
                }
            }));
        }
    }
    let erased = Erased {
        task_id: id,
        erased: true,
    };
    let mut answer = Answer::json(200, &serde_json::to_value(erased).unwrap_or_default());
    answer.headers.push("cache-control", "no-store");
    answer.headers.push("onceward-task-id", id.to_string());
    Ok(answer)
}

/// Deletes checkpoints up to this generation: a newer task of the key keeps its own.
async fn wipe(edge: &Edge, database: Database, id: TaskId, generation: u64) -> Result<(), String> {
    let id = id.to_string();
    for _ in 0..PIECES {
        let statement = sql::erase_checkpoints(&id, generation, limits::CLEAN_CHECKPOINTS);
        let results = edge.d1(database, vec![statement]).await?;
        let gone = results.first().map_or(0, |rows| rows.changes);
        if gone < u64::from(limits::CLEAN_CHECKPOINTS) {
            break;
        }
    }
    Ok(())
}

/// Has a task forgotten.
pub(super) async fn forget(edge: &Edge, id: TaskId) -> Result<(), Problem> {
    let call = Call {
        task_id: id,
        ask: Ask::Delete,
    };
    let reply = ask::ask(edge, &call, edge.now_ms() + PATIENCE_MS)
        .await
        .map_err(|error| unreachable(edge, id, &error))?;
    match reply.told {
        Told::Done => Ok(()),
        Told::InProgress(standing) => Err(Problem::new(
            Code::TaskInProgress,
            format!(
                "The task is {}; only a task that has ended can be forgotten.",
                TaskState::of(&standing.summary).as_str()
            ),
        )
        .task(id)),
        Told::NotFound => Err(absent(id)),
        other => Err(unexpected(edge, id, &other)),
    }
}

fn unexpected(edge: &Edge, id: TaskId, told: &Told) -> Problem {
    unreachable(edge, id, &NoReply::Unreachable(told.name().into()))
}
