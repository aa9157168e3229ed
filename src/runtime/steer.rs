//! What operators and outsiders tell a task: signals, cancel, retry, undo.

use super::App;
use super::api::{absent, unreachable};
use super::ask::{self, NoReply};
use super::audit::{Act, audited};
use super::delivery;
use super::gate;
use super::ingress;
use super::ports::Edge;
use super::serve::{Body, Exchange, TOKEN, read, read_up_to};
use crate::http::auth::{Caller, Gate};
use crate::http::media;
use crate::http::object_call::{Ask, Call, Told};
use crate::http::prefer::Prefer;
use crate::http::problem::Problem;
use crate::http::show::preferred;
use crate::http::signal::{self, Address};
use crate::http::steer::{self, Operation};
use crate::limits;
use crate::protocol::StepRecord;
use crate::types::{Answer, Headers, Input, TaskId};
use serde_json::{Value, json};

/// How long an object is asked before the answer is 503, in milliseconds.
const PATIENCE_MS: u64 = 5_000;
/// Steps that are named when one was asked for that there isn't.
const NAMED_STEPS: usize = 20;

async fn ask(edge: &Edge, id: TaskId, ask: Ask) -> Result<Told, Problem> {
    let call = Call { task_id: id, ask };
    let reply = ask::ask(edge, &call, edge.now_ms() + PATIENCE_MS).await;
    reply
        .map(|reply| reply.told)
        .map_err(|error| unreachable(edge, id, &error))
}

fn unexpected(edge: &Edge, id: TaskId, told: &Told) -> Problem {
    let why = match told {
        Told::Unavailable(why) => why.clone(),
        other => other.name().to_owned(),
    };
    unreachable(edge, id, &NoReply::Unreachable(why))
}

/// A signal to a task.
pub(super) async fn signal(
    edge: &Edge,
    exchange: &Exchange,
    body: &mut dyn Body,
    gate: &Gate,
    id: TaskId,
    name: &str,
) -> Result<Answer, Problem> {
    let head = exchange.delivery();
    signal::check(&head)?;
    let body = read_up_to(body, limits::MAX_SIGNAL_BYTES).await?;
    let secret = edge.secret(TOKEN);
    let address = Address { task_id: id, name };
    let (signal, caller) = signal::admit(address, &head, &body, gate, secret.as_deref())?;
    let one_time = caller.is_none();
    let prefer = Prefer::read(&exchange.headers);
    let send = async {
        let told = ask(edge, id, Ask::Signal(Box::new(signal))).await?;
        signal::answer(&told, id, one_time)
            .unwrap_or_else(|| Err(unexpected(edge, id, &told)))
            .map(|answer| preferred(answer, prefer))
    };
    let Some(caller) = caller else {
        // Nobody is known to have sent it.
        return send.await;
    };
    gate::own(edge, &caller, id).await?;
    let act = Act {
        caller: &caller,
        action: "signal",
        task_id: Some(id),
        detail: json!({ "name": name }),
    };
    audited(edge, act, send).await
}

/// Has a task ended.
pub(super) async fn cancel(
    edge: &Edge,
    exchange: &Exchange,
    body: &mut dyn Body,
    caller: &Caller,
    id: TaskId,
) -> Result<Answer, Problem> {
    let op = op(Operation::Cancel, edge, exchange, body).await?;
    let act = act(Operation::Cancel, caller, id, Value::Null);
    audited(edge, act, async {
        let told = ask(edge, id, Ask::Cancel { op }).await?;
        answer(edge, Operation::Cancel, exchange, id, &told)
    })
    .await
}

/// Has undone what a task did.
pub(super) async fn undo(
    edge: &Edge,
    exchange: &Exchange,
    body: &mut dyn Body,
    caller: &Caller,
    id: TaskId,
) -> Result<Answer, Problem> {
    let op = op(Operation::Undo, edge, exchange, body).await?;
    let act = act(Operation::Undo, caller, id, Value::Null);
    audited(edge, act, async {
        let told = ask(edge, id, Ask::Undo { op }).await?;
        answer(edge, Operation::Undo, exchange, id, &told)
    })
    .await
}

fn act(operation: Operation, caller: &Caller, id: TaskId, detail: Value) -> Act<'_> {
    Act {
        caller,
        action: operation.as_str(),
        task_id: Some(id),
        detail,
    }
}

/// Names an operation that takes no body.
async fn op(
    operation: Operation,
    edge: &Edge,
    exchange: &Exchange,
    body: &mut dyn Body,
) -> Result<String, Problem> {
    steer::without_body(&read(body).await?)?;
    steer::op(operation, &exchange.headers, &edge.token())
}

fn answer(
    edge: &Edge,
    operation: Operation,
    exchange: &Exchange,
    id: TaskId,
    told: &Told,
) -> Result<Answer, Problem> {
    let prefer = Prefer::read(&exchange.headers);
    let answer = steer::answer(operation, told, id);
    answer
        .unwrap_or_else(|| Err(unexpected(edge, id, told)))
        .map(|answer| preferred(answer, prefer))
}

/// Has a task tried again, or says what that would do.
pub(super) async fn retry(
    edge: &Edge,
    exchange: &Exchange,
    body: &mut dyn Body,
    app: &App,
    caller: &Caller,
    id: TaskId,
) -> Result<Answer, Problem> {
    let op = steer::op(Operation::Retry, &exchange.headers, &edge.token())?;
    let body = read(body).await?;
    media::json(&exchange.headers, &body)?;
    let retry = steer::retry(&body, op)?;
    let detail = json!({
        "from": retry.from,
        "dry_run": retry.dry_run,
        "same_keys": retry.same_keys,
        "other_input": retry.input.is_some(),
    });
    audited(edge, act(Operation::Retry, caller, id, detail), async {
        if let Some(input) = &retry.input {
            takes(edge, app, id, input).await?;
        }
        let call = Ask::Retry {
            has_input: retry.input.is_some(),
            retry: Box::new(retry),
        };
        let told = ask(edge, id, call).await?;
        if told == Told::NoSuchStep {
            return Err(steer::no_such_step(id, &steps(edge, id).await?));
        }
        answer(edge, Operation::Retry, exchange, id, &told)
    })
    .await
}

/// Whether the function of a task can read another input: nothing is begun that cannot run.
async fn takes(edge: &Edge, app: &App, id: TaskId, input: &[u8]) -> Result<(), Problem> {
    let until_ms = edge.now_ms() + PATIENCE_MS;
    let standing = delivery::look(edge, id, 0, until_ms)
        .await
        .map_err(|error| unreachable(edge, id, &error))?
        .ok_or_else(|| absent(id))?;
    // What this release does not have is left to the one that runs it.
    let Some(function) = app.function(&standing.summary.function) else {
        return Ok(());
    };
    let input = Input {
        headers: Headers::default(),
        body: input.to_vec(),
    };
    let checked = function.check(&input);
    checked
        .map(drop)
        .map_err(|problems| ingress::invalid(&problems).task(id))
}

/// The names of the first recorded steps.
async fn steps(edge: &Edge, id: TaskId) -> Result<Vec<String>, Problem> {
    let call = Ask::Journal {
        after: String::new(),
        undoing: false,
        show: true,
    };
    match ask(edge, id, call).await? {
        Told::Journal { records, .. } => Ok(named(&records)),
        Told::Ended(standing) if standing.summary.stripped => Err(steer::dropped(id)),
        other => Err(unexpected(edge, id, &other)),
    }
}

fn named(records: &[StepRecord]) -> Vec<String> {
    let names = records.iter().map(|record| record.id.to_string());
    names.take(NAMED_STEPS).collect()
}
