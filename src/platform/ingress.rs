//! Every request: its route, its checks in order, its answer.

use super::App;
use super::api;
use super::clock;
use super::delivery::Delivery;
use super::log;
use super::selfcall::{self, Continue, INTERNAL_HOST};
use super::slice;
use super::steer;
use super::wire::{self, BodyFault};
use crate::config::ConfigProblem;
use crate::function::InputProblem;
use crate::http::admit::{self, Admitted};
use crate::http::auth::{Scope, Tokens};
use crate::http::code::Code;
use crate::http::problem::{Cause, Problem};
use crate::http::route::{self, Route};
use crate::limits;
use crate::types::{Answer, Headers};
use serde_json::json;
use worker::{Context, Env, Request, Response, Result};

/// Name of the secret that holds the API token.
pub(super) const TOKEN: &str = "ONCEWARD_TOKEN";

/// Answers one request.
///
/// # Errors
/// When the platform itself fails; what a sender can get wrong is an answer.
pub async fn serve(
    mut request: Request,
    env: Env,
    ctx: Context,
    app: &std::result::Result<App, Vec<ConfigProblem>>,
) -> Result<Response> {
    let started_ms = clock::now_ms();
    let method = request.method().to_string();
    let (path, target) = wire::target(&request)?;
    let head = Exchange {
        headers: wire::headers(&request),
        method,
        target,
        started_ms,
    };
    let answer = match route::route(&head.method, &path) {
        Ok(route) => answer(route, &head, &mut request, &env, &ctx, app).await,
        Err(problem) => Err(problem),
    };
    let mut answer = answer.unwrap_or_else(|problem| {
        if let Some(reason) = &problem.reason {
            log::info(
                "refused",
                json!({"code": problem.code.as_str(), "reason": reason, "path": path}),
            );
        }
        // The body of a 401 is the same for everybody.
        let problem = match problem.code {
            Code::Unauthorized => problem,
            _ => problem.occurred(&clock::uuid()),
        };
        problem.to_answer()
    });
    route::cors(&mut answer.headers);
    wire::response(answer, head.method == "HEAD")
}

/// What is known of a request before its body is read.
pub(super) struct Exchange {
    pub(super) headers: Headers,
    pub(super) method: String,
    /// Path and query as sent.
    pub(super) target: String,
    pub(super) started_ms: u64,
}

async fn answer(
    route: Route,
    exchange: &Exchange,
    request: &mut Request,
    env: &Env,
    ctx: &Context,
    app: &std::result::Result<App, Vec<ConfigProblem>>,
) -> std::result::Result<Answer, Problem> {
    if let Route::Preflight { allow } = &route {
        return Ok(route::preflight(allow));
    }
    if let Route::ErrorPage { code } = route {
        return Ok(code.page_answer());
    }
    let app = app.as_ref().map_err(|problems| misconfigured(problems))?;
    match route {
        Route::Hook { source } => hook(&source, exchange, request, env, ctx, app).await,
        Route::Call { name } => call(&name, exchange, request, env, ctx, app).await,
        Route::Continue => go_on(exchange, request, env, ctx, app).await,
        Route::Health => Ok(Answer::json(200, &json!({"status": "ok"}))),
        Route::Signal { id, name } => steer::signal(env, exchange, request, id, &name).await,
        Route::ListTasks => {
            allow(env, exchange, Scope::Read)?;
            api::list(env, exchange).await
        }
        Route::ShowTask { id } => {
            allow(env, exchange, Scope::Read)?;
            api::show(env, exchange, id).await
        }
        Route::ForgetTask { id } => {
            allow(env, exchange, Scope::Operate)?;
            api::forget(env, id).await
        }
        Route::ShowJournal { id } => {
            allow(env, exchange, Scope::Read)?;
            api::journal(env, exchange, id).await
        }
        Route::CancelTask { id } => {
            allow(env, exchange, Scope::Operate)?;
            steer::cancel(env, exchange, request, id).await
        }
        Route::RetryTask { id } => {
            allow(env, exchange, Scope::Operate)?;
            steer::retry(env, exchange, request, app, id).await
        }
        Route::UndoTask { id } => {
            allow(env, exchange, Scope::Operate)?;
            steer::undo(env, exchange, request, id).await
        }
        #[cfg(feature = "lab")]
        Route::SetFaults => {
            allow(env, exchange, Scope::Operate)?;
            api::set_faults(request).await
        }
        #[cfg(feature = "lab")]
        Route::ShowFaults => Ok(Answer::json(200, &super::probe::faults())),
        #[cfg(feature = "lab")]
        Route::ShowCounters => Ok(Answer::json(200, &super::probe::counters())),
        Route::Preflight { .. } | Route::ErrorPage { .. } => {
            Err(Problem::new(Code::NotFound, "No route has this address."))
        }
    }
}

/// Fails closed, and lists everything that is wrong where only operators see it.
fn misconfigured(problems: &[ConfigProblem]) -> Problem {
    let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
    log::error("misconfigured", json!({ "problems": listed }));
    Problem::new(
        Code::Misconfigured,
        "This deployment's configuration does not hold together; its log lists every problem. Nothing was accepted: send again later.",
    )
}

pub(super) fn secret(env: &Env, name: &str) -> Option<String> {
    env.secret(name)
        .map(|s| s.to_string())
        .or_else(|_| env.var(name).map(|v| v.to_string()))
        .ok()
}

pub(super) fn tokens(env: &Env) -> Tokens {
    Tokens::single(secret(env, TOKEN).as_deref())
}

fn allow(env: &Env, exchange: &Exchange, scope: Scope) -> std::result::Result<(), Problem> {
    tokens(env).check(&exchange.headers, scope).map(drop)
}

pub(super) async fn read(request: &mut Request) -> std::result::Result<Vec<u8>, Problem> {
    read_up_to(request, limits::MAX_BODY_BYTES).await
}

pub(super) async fn read_up_to(
    request: &mut Request,
    limit_bytes: usize,
) -> std::result::Result<Vec<u8>, Problem> {
    let body = wire::body(request, limit_bytes).await;
    body.map_err(|fault| match fault {
        BodyFault::TooLarge => Problem::new(
            Code::BodyTooLarge,
            format!("The body has more than {limit_bytes} bytes."),
        ),
        BodyFault::CutOff => Problem::new(
            Code::InputInvalid,
            "The request ended before its body was complete. Nothing was accepted.",
        ),
    })
}

async fn hook(
    source: &str,
    exchange: &Exchange,
    request: &mut Request,
    env: &Env,
    ctx: &Context,
    app: &App,
) -> std::result::Result<Answer, Problem> {
    let head = exchange.delivery();
    let configured = admit::check_hook(app, source, &head)?;
    let own_wait = configured.own_respond_within_ms();
    let body = read(request).await?;
    let lookup = |name: &str| secret(env, name);
    let admitted = admit::admit_hook(app, source, &head, body, &lookup)?;
    deliver(admitted, own_wait, exchange, env, ctx, app).await
}

async fn call(
    name: &str,
    exchange: &Exchange,
    request: &mut Request,
    env: &Env,
    ctx: &Context,
    app: &App,
) -> std::result::Result<Answer, Problem> {
    let head = exchange.delivery();
    admit::check_call(app, name, &head)?;
    let body = read(request).await?;
    let admitted = admit::admit_call(app, name, &head, body, &tokens(env))?;
    deliver(admitted, None, exchange, env, ctx, app).await
}

async fn deliver(
    admitted: Admitted,
    own_wait_ms: Option<u64>,
    exchange: &Exchange,
    env: &Env,
    ctx: &Context,
    app: &App,
) -> std::result::Result<Answer, Problem> {
    let function = app
        .function(&admitted.function)
        .ok_or_else(|| Problem::new(Code::NotFound, "No function has this name."))?;
    let checked = function.check(&admitted.input).map_err(|p| invalid(&p))?;
    let mut policy = checked.policy.unwrap_or_else(|| function.policy().clone());
    if let Some(ms) = own_wait_ms {
        policy.respond_within_ms = ms;
    }
    let delivery = Delivery {
        env,
        ctx,
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
async fn go_on(
    exchange: &Exchange,
    request: &mut Request,
    env: &Env,
    ctx: &Context,
    app: &App,
) -> std::result::Result<Answer, Problem> {
    let absent = || Problem::new(Code::NotFound, "No route has this address.");
    let inside = request
        .url()
        .is_ok_and(|url| url.host_str() == Some(INTERNAL_HOST));
    if !inside {
        return Err(absent());
    }
    // Neither a large body nor one that breaks off shows that there is something here.
    let body = read(request).await.map_err(|_| absent())?;
    if !selfcall::is_sealed(env, &exchange.headers, &body) {
        return Err(absent());
    }
    let order: Continue = serde_json::from_slice(&body).map_err(|_| absent())?;
    let Some(function) = app.function(&order.function) else {
        // Unclaimed, the ticket is minted again later, perhaps for a release that has the function.
        log::error(
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
    let slice = slice::go_on(env.clone(), functions, function.clone(), order);
    if held {
        // The object waits for as long as the slice takes.
        slice.await;
    } else {
        ctx.wait_until(slice);
    }
    Ok(Answer::json(202, &json!({})))
}

impl Exchange {
    pub(super) fn delivery(&self) -> admit::Delivery<'_> {
        admit::Delivery {
            method: &self.method,
            target: &self.target,
            headers: &self.headers,
        }
    }
}
