//! Deliveries and continuations on their way in.

use super::App;
use super::delivery::Delivery;
use super::go_on::{self, Continue};
use super::ports::{Edge, Level};
use super::serve::{Body, Exchange, read, tokens};
use super::slice;
use crate::config::ConfigProblem;
use crate::function::InputProblem;
use crate::http::admit::{self, Admitted, Mode};
use crate::http::code::Code;
use crate::http::problem::{Cause, Problem};
use crate::http::profile::KEY_FIELD;
use crate::types::Answer;
use serde_json::json;

/// Fails closed, and lists everything that is wrong where only operators see it.
pub(super) fn misconfigured(edge: &Edge, problems: &[ConfigProblem]) -> Problem {
    let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
    edge.log(Level::Error, "misconfigured", json!({ "problems": listed }));
    Problem::new(
        Code::Misconfigured,
        "This deployment's configuration does not hold together; its log lists every problem. Nothing was accepted: send again later.",
    )
}

pub(super) async fn hook(
    source: &str,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
) -> Result<Answer, Problem> {
    let head = exchange.delivery();
    let configured = admit::check_hook(app, source, &head)?;
    let own_wait = configured.own_respond_within_ms();
    let body = read(body).await?;
    let lookup = |name: &str| edge.secret(name);
    let admitted = admit::admit_hook(app, source, &head, body, &lookup)?;
    deliver(admitted, own_wait, exchange, edge, app).await
}

pub(super) async fn call(
    name: &str,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
) -> Result<Answer, Problem> {
    let head = exchange.delivery();
    let function = admit::check_call(app, name, &head)?;
    let body = read(body).await?;
    let fresh = edge.token();
    let admitted = admit::admit_call(app, name, &head, body, &tokens(edge), fresh.as_str())?;
    let echo = function.rules().echo(&exchange.headers);
    let answer = deliver(admitted, None, exchange, edge, app).await;
    let Some(key) = echo else {
        return answer;
    };
    answer
        .map(|mut answer| {
            answer.headers.set(KEY_FIELD, key);
            answer
        })
        .map_err(|problem| problem.header(KEY_FIELD, key))
}

async fn deliver(
    admitted: Admitted,
    own_wait_ms: Option<u64>,
    exchange: &Exchange,
    edge: &Edge,
    app: &App,
) -> Result<Answer, Problem> {
    let function = app
        .function(&admitted.function)
        .ok_or_else(|| Problem::new(Code::NotFound, "No function has this name."))?;
    let checked = function.check(&admitted.input).map_err(|p| invalid(&p))?;
    let mut policy = checked.policy.unwrap_or_else(|| function.policy().clone());
    if admitted.mode == Mode::Call {
        policy = function.rules().over(&policy);
    }
    if let Some(ms) = own_wait_ms {
        policy.respond_within_ms = ms;
    }
    let delivery = Delivery {
        edge,
        function,
        functions: app.shared_functions(),
        policy,
        admitted,
        started_ms: exchange.started_ms,
    };
    Ok(delivery.carry().await)
}

pub(super) fn invalid(problems: &[InputProblem]) -> Problem {
    let detail = match problems {
        [one] if one.path.is_empty() => one.detail.clone(),
        [one] => format!("{}: {}", one.path, one.detail),
        many => format!(
            "The input has {} problems; `errors` lists them.",
            many.len()
        ),
    };
    let causes = problems.iter().map(|p| Cause {
        detail: p.detail.clone(),
        pointer: p.path.clone(),
    });
    Problem::new(Code::InputInvalid, detail).errors(causes.collect())
}

/// A ticket from the object or from a slice: answered at once, worked on afterwards.
pub(super) async fn go_on(
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
) -> Result<Answer, Problem> {
    let absent = || Problem::new(Code::NotFound, "No route has this address.");
    if !exchange.inside {
        return Err(absent());
    }
    // Neither a large body nor one that breaks off shows that there is something here.
    let body = read(body).await.map_err(|_| absent())?;
    if !go_on::is_sealed(edge, &exchange.headers, &body) {
        return Err(absent());
    }
    let order: Continue = serde_json::from_slice(&body).map_err(|_| absent())?;
    let Some(function) = app.function(&order.function) else {
        // Unclaimed, the ticket is minted again later, perhaps for a release that has the function.
        edge.log(
            Level::Error,
            "no_such_function",
            json!({
                "task_id": order.task_id.to_string(), "function": order.function,
            }),
        );
        return Err(Problem::new(
            Code::Misconfigured,
            "This release does not have the function.",
        ));
    };
    let held = order.held;
    let functions = app.shared_functions();
    let slice = slice::go_on(edge.clone(), functions, function.clone(), order);
    if held {
        // The object waits for as long as the slice takes.
        slice.await;
    } else {
        edge.wait_until(Box::pin(slice));
    }
    Ok(Answer::json(202, &json!({})))
}
