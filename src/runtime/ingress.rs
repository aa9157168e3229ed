//! Deliveries and continuations on their way in.

use super::App;
use super::delivery::{Carried, Delivery};
use super::go_on::{self, Continue};
use super::line::{Line, Met};
use super::ports::{Edge, Level};
use super::serve::{Body, Exchange, read};
use super::{ask, batch, slice};
use crate::config::{ConfigProblem, Per, RateLimit, Source};
use crate::function::{Function, InputProblem};
use crate::http::admit::{self, Admitted, Mode};
use crate::http::auth::Gate;
use crate::http::code::Code;
use crate::http::hook::{self, Arrived, What};
use crate::http::object_call::{Ask, Call, Told};
use crate::http::problem::{Cause, Problem};
use crate::http::profile::KEY_FIELD;
use crate::types::{Answer, Policy};
use crate::webhook::{Ack, Document};
use serde_json::json;

/// How long the object of the signed bytes is asked for; a sender waits 3 s at the least.
const OWNER_PATIENCE_MS: u64 = 2_000;

/// Fails closed, and lists everything that is wrong where only operators see it.
pub(super) fn misconfigured(edge: &Edge, problems: &[ConfigProblem]) -> Problem {
    let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
    edge.log(Level::Error, "misconfigured", json!({ "problems": listed }));
    Problem::new(
        Code::Misconfigured,
        "This deployment's configuration does not hold together; its log lists every problem. Nothing was accepted: send again later.",
    )
}

/// A webhook: to its task, to its tasks, or to its provider's handshake.
pub(super) async fn hook(
    source: &str,
    tenant: Option<&str>,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
) -> Result<Answer, Problem> {
    let mut line = Line::of("source", source);
    let answer = hooked(source, tenant, exchange, body, edge, app, &mut line).await;
    line.write(edge, exchange, answer)
}

async fn hooked(
    source: &str,
    tenant: Option<&str>,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
    line: &mut Line,
) -> Result<Answer, Problem> {
    let head = exchange.delivery();
    let arrived = Arrived {
        delivery: &head,
        tenant,
        now_ms: exchange.started_ms,
    };
    if let Some(limit) = app.source(source).and_then(Source::limiter) {
        limited(source, limit, exchange, edge).await?;
    }
    let configured = hook::check_hook(app, source, &arrived)?;
    let body = read(body).await?;
    line.bytes = body.len();
    let lookup = |name: &str| edge.secret(name);
    let hook = hook::admit_hook(app, source, &arrived, body, &lookup)?;
    line.secret = hook.secret;
    let ack = configured.provider().ack;
    match hook.what {
        What::Handshake(answer) => {
            line.met = Met::Handshake;
            Ok(answer)
        }
        What::Task(mut admitted) => {
            if let Some(signed) = &hook.signed
                && let Some(window_ms) = configured.signed_window_ms()
            {
                line.known_bytes = owned(&mut admitted, signed, window_ms, edge).await?;
            }
            // Discord's answer depends on what was sent.
            let sent = match ack {
                Ack::DiscordDeferred => admitted.input.body.clone(),
                _ => Vec::new(),
            };
            let carried = deliver(
                *admitted,
                Some(configured),
                exchange,
                edge,
                app,
                line.known_bytes,
            )
            .await?;
            line.met = carried.met;
            Ok(if carried.stands_in {
                ack.dress(carried.answer, &sent)
            } else {
                carried.answer
            })
        }
        What::Split(items) => {
            line.met = Met::Split;
            line.items = items.len();
            let answer = batch::carry(items, configured, exchange, edge, app).await?;
            Ok(ack.dress(answer, &[]))
        }
    }
}

/// Lets no more through than the source's rate limiter does. Nothing was read or written before it.
async fn limited(
    source: &str,
    limit: &RateLimit,
    exchange: &Exchange,
    edge: &Edge,
) -> Result<(), Problem> {
    let sender = exchange.headers.get("cf-connecting-ip").unwrap_or_default();
    let key = match limit.per {
        Per::Sender => format!("{source} {sender}"),
        Per::Source => source.to_owned(),
    };
    match edge.admits(&limit.binding, &key).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Problem::new(
            Code::RateLimited,
            "This source gets more deliveries than it takes. Nothing was accepted: send again later.",
        )
        .retry_after(limit.retry_after_s)),
        Err(why) => {
            let place = format!("source {source}");
            Err(misconfigured(edge, &[ConfigProblem::new(place, why)]))
        }
    }
}

/// Gives the delivery the key under which its signed bytes came first. Says whether that is another one.
async fn owned(
    admitted: &mut Admitted,
    signed: &str,
    window_ms: u64,
    edge: &Edge,
) -> Result<bool, Problem> {
    let call = Call {
        task_id: admitted.key.owner_id(signed),
        ask: Ask::Owner {
            key: admitted.key.key.clone(),
            window_ms,
        },
    };
    let unreachable = |why: String| {
        Problem::new(
            Code::Unavailable,
            "It cannot be told now whether this request came before. Send it again: it runs once at most.",
        )
        .because(why)
    };
    let until_ms = edge.now_ms() + OWNER_PATIENCE_MS;
    match ask::ask(edge, &call, until_ms)
        .await
        .map(|reply| reply.told)
    {
        Ok(Told::Owner { key }) => {
            let other = key != admitted.key.key;
            admitted.key.key = key;
            Ok(other)
        }
        Ok(told) => Err(unreachable(told.name().to_owned())),
        Err(error) => Err(unreachable(format!("{error:?}"))),
    }
}

pub(super) async fn call(
    name: &str,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
    gate: &Gate,
) -> Result<Answer, Problem> {
    let mut line = Line::of("function", name);
    let answer = called(name, exchange, body, edge, (app, gate), &mut line).await;
    line.write(edge, exchange, answer)
}

async fn called(
    name: &str,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    (app, gate): (&App, &Gate),
    line: &mut Line,
) -> Result<Answer, Problem> {
    let head = exchange.delivery();
    let function = admit::check_call(app, name, &head)?;
    let body = read(body).await?;
    line.bytes = body.len();
    let fresh = edge.token();
    let admitted = admit::admit_call(app, name, &head, body, gate, fresh.as_str())?;
    let carried = deliver(admitted, None, exchange, edge, app, false).await;
    let echo = function.rules().echo(&exchange.headers);
    let mut carried = carried.map_err(|problem| match echo {
        Some(key) => problem.header(KEY_FIELD, key),
        None => problem,
    })?;
    if let Some(key) = echo {
        carried.answer.headers.set(KEY_FIELD, key);
    }
    line.met = carried.met;
    Ok(carried.answer)
}

pub(super) async fn deliver(
    mut admitted: Admitted,
    source: Option<&Source>,
    exchange: &Exchange,
    edge: &Edge,
    app: &App,
    known_bytes: bool,
) -> Result<Carried, Problem> {
    let (function, policy) = checked(&admitted, source, app)?;
    label(&mut admitted, source, function);
    let delivery = Delivery {
        edge,
        function,
        functions: app.shared_functions(),
        policy,
        admitted,
        started_ms: exchange.started_ms,
        claims: true,
        known_bytes,
    };
    Ok(delivery.carry().await)
}

/// Gives the task the labels that its source and its function want.
pub(super) fn label(admitted: &mut Admitted, source: Option<&Source>, function: &Function) {
    let body = &admitted.input.body;
    let signed = source.is_some_and(|source| source.scheme().is_signed());
    let document = if signed {
        Document::by_its_bytes(body)
    } else {
        Document::new(admitted.input.headers.get("content-type"), body)
    };
    let mut labels = function.labels().of(&document);
    labels.extend(
        source
            .map(|source| source.labels().of(&document))
            .unwrap_or_default(),
    );
    drop(document);
    admitted.about.labels.extend(labels);
}

/// The function that runs, and how: it has looked at the input.
pub(super) fn checked<'a>(
    admitted: &Admitted,
    source: Option<&Source>,
    app: &'a App,
) -> Result<(&'a Function, Policy), Problem> {
    let function = app
        .function(&admitted.function)
        .ok_or_else(|| Problem::new(Code::NotFound, "No function has this name."))?;
    let checked = function.check(&admitted.input).map_err(|p| invalid(&p))?;
    let mut policy = checked.policy.unwrap_or_else(|| function.policy().clone());
    if admitted.mode == Mode::Call {
        policy = function.rules().over(&policy);
    }
    if let Some(source) = source {
        policy = source.over(&policy);
    }
    Ok((function, policy))
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
