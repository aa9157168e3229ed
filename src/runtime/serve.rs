//! Every request: its route, its checks in order, its answer.

use super::ports::{Edge, Level};
use super::{
    App, api, audit, bulk, explain, flows, gate, gateway, ingress, list, metrics, notices, stats,
    steer, stored, watch,
};
use crate::config::ConfigProblem;
use crate::function::{FetchError, OutRequest, OutResponse};
use crate::http::admit;
use crate::http::auth::{Caller, Gate};
use crate::http::code::Code;
use crate::http::flows::{FlowHookAt, FlowName, schema_answer};
use crate::http::hook;
use crate::http::openapi;
use crate::http::page;
use crate::http::policy::{self, RoutePolicy};
use crate::http::policy_page;
use crate::http::problem::Problem;
use crate::http::query;
use crate::http::route::{self, Access, FlowAct, Route};
use crate::limits;
use crate::types::{Answer, Headers, TaskId, TaskKind};
use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;
use serde_json::json;
use uuid::Uuid;

/// Name of the secret that holds the API token.
pub const TOKEN: &str = "ONCEWARD_TOKEN";

/// What is known of a request before its body is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path as sent.
    pub path: String,
    /// Path and query as sent.
    pub target: String,
    /// Its fields.
    pub headers: Headers,
    /// It came through the service binding: no request from outside can.
    pub inside: bool,
    /// When it arrived.
    pub started_ms: u64,
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

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFault {
    /// Larger than is taken here.
    TooLarge,
    /// The sender went away half-way.
    CutOff,
}

/// The body of a request, which is read only once its head is known to be right.
pub trait Body {
    /// Reads it, up to the limit.
    fn read(&mut self, limit_bytes: usize) -> LocalBoxFuture<'_, Result<Vec<u8>, BodyFault>>;
    /// Sends a request on with this body, as it comes in. A platform that can keeps the body of the
    /// response, to hand it out behind the answer as it comes in: then it is empty here, and the answer to
    /// the request is to be of this status. Dropping the future aborts the request.
    fn pass(&mut self, request: OutRequest) -> LocalBoxFuture<'_, Result<OutResponse, FetchError>>;
    /// Has these bytes follow the head of the answer, whose own body is then not sent, as they come.
    /// The stream is dropped when the client has gone.
    fn stream(&mut self, bytes: LocalBoxStream<'static, Vec<u8>>);
}

/// Which route a request means.
///
/// # Errors
/// The problem document of an address that is none, or of a method that it does not take.
pub fn route_of(exchange: &Exchange) -> Result<Route, Problem> {
    route::route(&exchange.method, &exchange.path)
}

/// Answers one request. What a sender can get wrong is an answer.
pub async fn serve(
    edge: &Edge,
    exchange: &Exchange,
    body: &mut dyn Body,
    app: &Result<App, Vec<ConfigProblem>>,
) -> Answer {
    let found = route::find(&exchange.method, &exchange.path);
    let answer = match with_handshakes(found, exchange, app) {
        Ok((route, access)) => {
            let policy = policy_of(&route);
            let answer = answer(route, access, exchange, body, edge, app).await;
            answer.map_err(|problem| match policy {
                Some(address) => problem.policy(address),
                None => problem,
            })
        }
        Err(problem) => Err(problem),
    };
    let mut answer = answer.unwrap_or_else(|problem| {
        if let Some(reason) = &problem.reason {
            let path = &exchange.path;
            edge.log(
                Level::Info,
                "refused",
                json!({"code": problem.code.as_str(), "reason": reason, "path": path}),
            );
        }
        // The body of a 401 is the same for everybody.
        let problem = match problem.code {
            Code::Unauthorized => problem,
            _ => problem.occurred(&Uuid::new_v4().hyphenated().to_string()),
        };
        problem.to_answer()
    });
    route::cors(&mut answer.headers);
    answer
}

/// Lets `GET` and `HEAD` through to sources whose provider asks with them, and tells the others which methods
/// such a source takes.
fn with_handshakes(
    routed: Result<(Route, Access), Problem>,
    exchange: &Exchange,
    app: &Result<App, Vec<ConfigProblem>>,
) -> Result<(Route, Access), Problem> {
    let other_method = match &routed {
        Err(problem) => problem.code == Code::MethodNotAllowed,
        Ok((route, _)) => matches!(route, Route::Preflight { .. }),
    };
    let (true, Ok(app), Some((hook, access))) = (other_method, app, route::hook_of(&exchange.path))
    else {
        return routed;
    };
    let (Route::Hook { source } | Route::TenantHook { source, .. }) = &hook else {
        return routed;
    };
    let Some(source) = app.source(source).filter(|s| !s.more_methods().is_empty()) else {
        return routed;
    };
    if source.more_methods().contains(&exchange.method.as_str()) {
        return Ok((hook, access));
    }
    let allow = hook::allow_of(source);
    match routed {
        Ok((_, access)) => Ok((Route::Preflight { allow }, access)),
        Err(_) => Err(Problem::method_not_allowed(&allow)),
    }
}

async fn answer(
    route: Route,
    access: Access,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &Result<App, Vec<ConfigProblem>>,
) -> Result<Answer, Problem> {
    match route {
        Route::Preflight { allow } => return Ok(route::preflight(&allow)),
        Route::ErrorPage { code } => return Ok(page::of_error(code, &exchange.headers)),
        Route::ErrorIndex => return Ok(page::of_errors(&exchange.headers)),
        Route::OpenApi => return Ok(openapi::answer(&exchange.headers)),
        Route::FlowSchema => return Ok(schema_answer(&exchange.headers)),
        _ => {}
    }
    let app = app
        .as_ref()
        .map_err(|problems| ingress::misconfigured(edge, problems))?;
    let gate = gate::of(edge, app, access);
    // What these ask for is checked on their way, in the order of the contract: size comes first.
    match route {
        Route::Hook { source } => ingress::hook(&source, None, exchange, body, edge, app).await,
        Route::TenantHook { source, tenant } if app.source(&source).is_none() => {
            let at = FlowHookAt::of(&source, &tenant)?;
            flows::hook(&at, exchange, body, edge, app).await
        }
        Route::FlowHook { at } => flows::hook(&at, exchange, body, edge, app).await,
        Route::Flow {
            name,
            act: FlowAct::Execute,
        } => flows::call(&name, exchange, body, edge, (app, &gate)).await,
        Route::TenantHook { source, tenant } => {
            ingress::hook(&source, Some(&tenant), exchange, body, edge, app).await
        }
        Route::Call { name } => ingress::call(&name, exchange, body, edge, app, &gate).await,
        Route::Proxy { name, tail } => {
            gateway::proxy(&name, &tail, exchange, body, edge, app, &gate).await
        }
        Route::Signal { id, name } => steer::signal(edge, exchange, body, &gate, id, &name).await,
        Route::Continue => ingress::go_on(exchange, body, edge, app).await,
        other if access == Access::Public => public(other, exchange, edge, app),
        other => operated(other, exchange, body, edge, app, &gate).await,
    }
}

/// What everybody may see.
#[cfg_attr(not(feature = "lab"), allow(unused_variables))]
fn public(route: Route, exchange: &Exchange, edge: &Edge, app: &App) -> Result<Answer, Problem> {
    match route {
        Route::Health => Ok(Answer::json(200, &json!({"status": "ok"}))),
        Route::Policies => Ok(policy::document(app)),
        Route::PolicyIndex => {
            let all = RoutePolicy::all(app);
            Ok(policy_page::of_all(&all, &exchange.headers))
        }
        Route::PolicyPage { kind, name } => RoutePolicy::one(app, kind, &name)
            .map(|policy| policy_page::of_route(&policy, &exchange.headers))
            .ok_or_else(|| Problem::new(Code::NotFound, "No source or function has this name.")),
        #[cfg(feature = "lab")]
        Route::ShowFaults => api::faults(edge, None),
        #[cfg(feature = "lab")]
        Route::ShowCounters => Ok(Answer::json(200, &edge.counters())),
        _ => Err(nothing_here()),
    }
}

/// What is for operators: the token first, and whose task it is.
async fn operated(
    route: Route,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
    gate: &Gate,
) -> Result<Answer, Problem> {
    let caller = gate.caller(&exchange.headers)?;
    if let Some(id) = task_of(&route) {
        gate::own(edge, &caller, id).await?;
    }
    if takes_no_parameters(&route) {
        query::none(&exchange.target)?;
    }
    match route {
        Route::ListTasks => list::list(edge, exchange, caller.only()).await,
        Route::Bulk { operation } => {
            bulk::operate(edge, exchange, body, app, operation, &caller).await
        }
        Route::Stats => {
            caller.whole()?;
            stats::stats(edge, exchange).await
        }
        Route::Metrics => {
            caller.whole()?;
            Ok(metrics::metrics(edge).await)
        }
        Route::ListFlows => {
            caller.whole()?;
            flows::list(edge, exchange, app).await
        }
        Route::Flow { name, act } => {
            caller.whole()?;
            of_flow(&name, act, exchange, body, edge, app, &caller).await
        }
        Route::TaskEvents { id } => watch::one(edge, exchange, body, id).await,
        Route::Endpoints => {
            caller.whole()?;
            notices::list(edge).await
        }
        Route::EnableEndpoint { name } => {
            caller.whole()?;
            notices::enable(edge, &caller, &name).await
        }
        Route::Events => watch::many(edge, exchange, body, caller.only()).await,
        Route::ShowTask { id } => api::show(edge, exchange, id).await,
        Route::ForgetTask { id } => api::forget(edge, &caller, id).await,
        Route::ShowAnswer { id } => stored::answer(edge, id).await,
        Route::ShowInput { id } => stored::input(edge, exchange, &caller, id).await,
        Route::Erase => stored::erase(edge, exchange, body, &caller).await,
        Route::ListAudit => audit::list(edge, exchange, gate, &caller).await,
        Route::ShowJournal { id } => api::journal(edge, exchange, id).await,
        Route::CancelTask { id } => steer::cancel(edge, exchange, body, &caller, id).await,
        Route::RetryTask { id } => steer::retry(edge, exchange, body, app, &caller, id).await,
        Route::UndoTask { id } => steer::undo(edge, exchange, body, &caller, id).await,
        Route::Explain { source } => explain::explain(&source, body, edge, app, &caller).await,
        #[cfg(feature = "lab")]
        Route::SetFaults => {
            caller.whole()?;
            api::set_faults(edge, body).await
        }
        _ => Err(nothing_here()),
    }
}

/// What operators do with one flow.
async fn of_flow(
    name: &FlowName,
    act: FlowAct,
    exchange: &Exchange,
    body: &mut dyn Body,
    edge: &Edge,
    app: &App,
    caller: &Caller,
) -> Result<Answer, Problem> {
    match act {
        FlowAct::Show => flows::show(name, exchange, edge, app).await,
        FlowAct::Put => flows::put(name, exchange, body, edge, app, caller).await,
        FlowAct::Delete => flows::delete(name, exchange, edge, app, caller).await,
        FlowAct::Revisions => flows::revisions(name, exchange, edge, app).await,
        FlowAct::Diff => flows::diff(name, exchange, edge, app).await,
        FlowAct::Disable | FlowAct::Enable => {
            let disable = act == FlowAct::Disable;
            flows::set_disabled(name, disable, exchange, edge, app, caller).await
        }
        // A call is no operator's.
        FlowAct::Execute => Err(nothing_here()),
    }
}

fn nothing_here() -> Problem {
    Problem::new(Code::NotFound, "No route has this address.")
}

/// Whether a parameter would be a mistake: whoever says `dry_run` where there is none means no harm.
fn takes_no_parameters(route: &Route) -> bool {
    !matches!(
        route,
        Route::ListTasks
            | Route::Bulk { .. }
            | Route::Stats
            | Route::Events
            | Route::ShowTask { .. }
            | Route::ShowInput { .. }
            | Route::ShowJournal { .. }
            | Route::ListAudit
            | Route::ListFlows
            | Route::Flow {
                act: FlowAct::Show | FlowAct::Put | FlowAct::Diff,
                ..
            }
    )
}

/// The task that an operator's route is about.
fn task_of(route: &Route) -> Option<TaskId> {
    match route {
        Route::ShowTask { id }
        | Route::ForgetTask { id }
        | Route::ShowJournal { id }
        | Route::TaskEvents { id }
        | Route::ShowAnswer { id }
        | Route::ShowInput { id }
        | Route::CancelTask { id }
        | Route::RetryTask { id }
        | Route::UndoTask { id } => Some(*id),
        _ => None,
    }
}

/// The page that says what the route does with keys.
fn policy_of(route: &Route) -> Option<String> {
    match route {
        Route::Hook { source } | Route::TenantHook { source, .. } => {
            Some(policy::address(TaskKind::Source, source))
        }
        Route::Call { name } => Some(policy::address(TaskKind::Function, name)),
        Route::Proxy { name, .. } => {
            let function = format!("{}{name}", policy::GATEWAY);
            Some(policy::address(TaskKind::Function, &function))
        }
        _ => None,
    }
}

pub(super) async fn read(body: &mut dyn Body) -> Result<Vec<u8>, Problem> {
    read_up_to(body, limits::MAX_BODY_BYTES).await
}

pub(super) async fn read_up_to(
    body: &mut dyn Body,
    limit_bytes: usize,
) -> Result<Vec<u8>, Problem> {
    body.read(limit_bytes).await.map_err(|fault| match fault {
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
