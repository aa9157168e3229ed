//! Which route a request means. One table decides; what isn't in it is 404.
//!
//! Addresses are compared exactly: nothing is decoded, folded or cleaned up, so that no second
//! spelling of an address passes a check that the first one would not.

use super::auth::Scope;
use super::bulk::Operation;
pub use super::cors::{cors, preflight};
use super::policy::GATEWAY;
use super::problem::Problem;
pub use super::route_means::{FlowAct, Route};
use super::route_means::{flow, hooked, keyed, named, not_found, page, proxied, signal, task};
use crate::types::TaskKind;

/// What a route asks of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    Public,
    /// What the source's scheme asks for.
    Signature,
    /// A token with this right.
    Token(Scope),
    /// A token with this right, or the one-time token that the address carries.
    TokenOrOneTime(Scope),
    /// A ticket, over the service binding.
    Ticket,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Method; `GET` stands for `HEAD` as well, `*` for every method.
    pub method: &'static str,
    /// Path; `{…}` stands for one segment, `{…*}` at the end for all that follow. There are four of
    /// these at most.
    pub pattern: &'static str,
    /// What it asks of the caller.
    pub access: Access,
    build: Build,
}

/// Makes the route from the segments that `{…}` stands for.
#[derive(Clone, Copy, Debug)]
enum Build {
    Two(fn([&str; 2]) -> Result<Route, Problem>),
    Four(fn([&str; 4]) -> Result<Route, Problem>),
}

const fn entry(
    method: &'static str,
    pattern: &'static str,
    access: Access,
    build: fn([&str; 2]) -> Result<Route, Problem>,
) -> Entry {
    Entry {
        method,
        pattern,
        access,
        build: Build::Two(build),
    }
}

/// A webhook of a flow.
const fn webhook(
    method: &'static str,
    pattern: &'static str,
    build: fn([&str; 4]) -> Result<Route, Problem>,
) -> Entry {
    Entry {
        method,
        pattern,
        access: Access::Signature,
        build: Build::Four(build),
    }
}

/// Every route.
#[rustfmt::skip]
pub const ROUTES: &[Entry] = &[
    entry("POST", "/hooks/{source}", Access::Signature, |[name, _]| Ok(Route::Hook { source: named(name)? })),
    entry("POST", "/hooks/{source}/{tenant}", Access::Signature, |[name, tenant]| hooked(name, tenant)),
    webhook("GET", "/api/v1/executions/webhook/{namespace}/{flow}/{key}", |[namespace, flow, key, _]| keyed(namespace, flow, key, String::new(), false)),
    webhook("GET", "/api/v1/executions/webhook/{namespace}/{flow}/{key}/{path*}", |[namespace, flow, key, path]| keyed(namespace, flow, key, format!("/{path}"), false)),
    webhook("POST", "/api/v1/executions/webhook/{namespace}/{flow}/{key}", |[namespace, flow, key, _]| keyed(namespace, flow, key, String::new(), false)),
    webhook("POST", "/api/v1/executions/webhook/{namespace}/{flow}/{key}/{path*}", |[namespace, flow, key, path]| keyed(namespace, flow, key, format!("/{path}"), false)),
    webhook("PUT", "/api/v1/executions/webhook/{namespace}/{flow}/{key}", |[namespace, flow, key, _]| keyed(namespace, flow, key, String::new(), false)),
    webhook("PUT", "/api/v1/executions/webhook/{namespace}/{flow}/{key}/{path*}", |[namespace, flow, key, path]| keyed(namespace, flow, key, format!("/{path}"), false)),
    webhook("GET", "/api/v1/main/executions/webhook/{namespace}/{flow}/{key}", |[namespace, flow, key, _]| keyed(namespace, flow, key, String::new(), true)),
    webhook("GET", "/api/v1/main/executions/webhook/{namespace}/{flow}/{key}/{path*}", |[namespace, flow, key, path]| keyed(namespace, flow, key, format!("/{path}"), true)),
    webhook("POST", "/api/v1/main/executions/webhook/{namespace}/{flow}/{key}", |[namespace, flow, key, _]| keyed(namespace, flow, key, String::new(), true)),
    webhook("POST", "/api/v1/main/executions/webhook/{namespace}/{flow}/{key}/{path*}", |[namespace, flow, key, path]| keyed(namespace, flow, key, format!("/{path}"), true)),
    webhook("PUT", "/api/v1/main/executions/webhook/{namespace}/{flow}/{key}", |[namespace, flow, key, _]| keyed(namespace, flow, key, String::new(), true)),
    webhook("PUT", "/api/v1/main/executions/webhook/{namespace}/{flow}/{key}/{path*}", |[namespace, flow, key, path]| keyed(namespace, flow, key, format!("/{path}"), true)),
    entry("GET", "/v1/flows", Access::Token(Scope::Read), |_| Ok(Route::ListFlows)),
    entry("GET", "/v1/flows/{namespace}/{flow}", Access::Token(Scope::Read), |at| flow(at, FlowAct::Show)),
    entry("PUT", "/v1/flows/{namespace}/{flow}", Access::Token(Scope::Operate), |at| flow(at, FlowAct::Put)),
    entry("DELETE", "/v1/flows/{namespace}/{flow}", Access::Token(Scope::Operate), |at| flow(at, FlowAct::Delete)),
    entry("GET", "/v1/flows/{namespace}/{flow}/revisions", Access::Token(Scope::Read), |at| flow(at, FlowAct::Revisions)),
    entry("GET", "/v1/flows/{namespace}/{flow}/diff", Access::Token(Scope::Read), |at| flow(at, FlowAct::Diff)),
    entry("POST", "/v1/flows/{namespace}/{flow}/disable", Access::Token(Scope::Operate), |at| flow(at, FlowAct::Disable)),
    entry("POST", "/v1/flows/{namespace}/{flow}/enable", Access::Token(Scope::Operate), |at| flow(at, FlowAct::Enable)),
    entry("POST", "/v1/flows/{namespace}/{flow}/executions", Access::Token(Scope::Invoke), |at| flow(at, FlowAct::Execute)),
    entry("GET", "/flow.schema.json", Access::Public, |_| Ok(Route::FlowSchema)),
    entry("POST", "/v1/functions/{name}", Access::Token(Scope::Invoke), |[name, _]| Ok(Route::Call { name: named(name)? })),
    entry("*", "/proxy/{name}", Access::Token(Scope::Invoke), |[name, _]| proxied(name, String::new())),
    entry("*", "/proxy/{name}/{path*}", Access::Token(Scope::Invoke), |[name, path]| proxied(name, format!("/{path}"))),
    entry("GET", "/v1/tasks", Access::Token(Scope::Read), |_| Ok(Route::ListTasks)),
    entry("DELETE", "/v1/tasks", Access::Token(Scope::Operate), |_| Ok(Route::Bulk { operation: Operation::Forget })),
    entry("POST", "/v1/tasks/cancel", Access::Token(Scope::Operate), |_| Ok(Route::Bulk { operation: Operation::Cancel })),
    entry("POST", "/v1/tasks/retry", Access::Token(Scope::Operate), |_| Ok(Route::Bulk { operation: Operation::Retry })),
    entry("POST", "/v1/tasks/undo", Access::Token(Scope::Operate), |_| Ok(Route::Bulk { operation: Operation::Undo })),
    entry("GET", "/v1/tasks/{id}", Access::Token(Scope::Read), |[id, _]| Ok(Route::ShowTask { id: task(id)? })),
    entry("DELETE", "/v1/tasks/{id}", Access::Token(Scope::Operate), |[id, _]| Ok(Route::ForgetTask { id: task(id)? })),
    entry("GET", "/v1/tasks/{id}/journal", Access::Token(Scope::Read), |[id, _]| Ok(Route::ShowJournal { id: task(id)? })),
    entry("GET", "/v1/tasks/{id}/events", Access::Token(Scope::Read), |[id, _]| Ok(Route::TaskEvents { id: task(id)? })),
    entry("GET", "/v1/events", Access::Token(Scope::Read), |_| Ok(Route::Events)),
    entry("GET", "/v1/tasks/{id}/answer", Access::Token(Scope::Read), |[id, _]| Ok(Route::ShowAnswer { id: task(id)? })),
    entry("GET", "/v1/tasks/{id}/input", Access::Token(Scope::Input), |[id, _]| Ok(Route::ShowInput { id: task(id)? })),
    entry("POST", "/v1/tasks/{id}/signals/{name}", Access::TokenOrOneTime(Scope::Operate), |[id, name]| Ok(Route::Signal { id: task(id)?, name: signal(name)? })),
    entry("POST", "/v1/tasks/{id}/cancel", Access::Token(Scope::Operate), |[id, _]| Ok(Route::CancelTask { id: task(id)? })),
    entry("POST", "/v1/tasks/{id}/retry", Access::Token(Scope::Operate), |[id, _]| Ok(Route::RetryTask { id: task(id)? })),
    entry("POST", "/v1/tasks/{id}/undo", Access::Token(Scope::Operate), |[id, _]| Ok(Route::UndoTask { id: task(id)? })),
    entry("GET", "/v1/stats", Access::Token(Scope::Read), |_| Ok(Route::Stats)),
    entry("GET", "/metrics", Access::Token(Scope::Read), |_| Ok(Route::Metrics)),
    entry("POST", "/v1/sources/{source}/explain", Access::Token(Scope::Operate), |[name, _]| Ok(Route::Explain { source: named(name)? })),
    entry("POST", "/v1/erase", Access::Token(Scope::Operate), |_| Ok(Route::Erase)),
    entry("GET", "/v1/audit", Access::Token(Scope::Read), |_| Ok(Route::ListAudit)),
    entry("GET", "/v1/endpoints", Access::Token(Scope::Read), |_| Ok(Route::Endpoints)),
    entry("POST", "/v1/endpoints/{name}/enable", Access::Token(Scope::Operate), |[name, _]| Ok(Route::EnableEndpoint { name: named(name)? })),
    entry("GET", "/healthz", Access::Public, |_| Ok(Route::Health)),
    entry("GET", "/openapi.json", Access::Public, |_| Ok(Route::OpenApi)),
    entry("GET", "/errors/{code}", Access::Public, |[code, _]| Ok(Route::ErrorPage { code: page(code)? })),
    entry("GET", "/errors", Access::Public, |_| Ok(Route::ErrorIndex)),
    entry("GET", "/.well-known/idempotency", Access::Public, |_| Ok(Route::Policies)),
    entry("GET", "/policy", Access::Public, |_| Ok(Route::PolicyIndex)),
    entry("GET", "/policy/hooks/{source}", Access::Public, |[name, _]| Ok(Route::PolicyPage { kind: TaskKind::Source, name: named(name)? })),
    entry("GET", "/policy/functions/{name}", Access::Public, |[name, _]| Ok(Route::PolicyPage { kind: TaskKind::Function, name: named(name)? })),
    entry("GET", "/policy/proxy/{name}", Access::Public, |[name, _]| Ok(Route::PolicyPage { kind: TaskKind::Function, name: format!("{GATEWAY}{}", named(name)?) })),
    entry("POST", "/internal/continue", Access::Ticket, |_| Ok(Route::Continue)),
    #[cfg(feature = "lab")]
    entry("POST", "/lab/faults", Access::Token(Scope::Operate), |_| Ok(Route::SetFaults)),
    #[cfg(feature = "lab")]
    entry("GET", "/lab/faults", Access::Public, |_| Ok(Route::ShowFaults)),
    #[cfg(feature = "lab")]
    entry("GET", "/lab/counters", Access::Public, |_| Ok(Route::ShowCounters)),
];

/// The route of a request. `HEAD` means what `GET` means; its answer goes out without the body.
///
/// # Errors
/// 404 for an address that isn't served, 405 with `Allow` for one that takes other methods.
///
/// ```
/// use onceward::http::route::{Route, route};
/// assert_eq!(route("POST", "/hooks/github"), Ok(Route::Hook { source: "github".into() }));
/// assert_eq!(route("GET", "/hooks/github").unwrap_err().to_answer().status, 405);
/// assert_eq!(route("POST", "/hooks/github/").unwrap_err().to_answer().status, 404);
/// ```
pub fn route(method: &str, path: &str) -> Result<Route, Problem> {
    find(method, path).map(|(route, _)| route)
}

/// The route of a request, with what the table asks of its caller. There is no other way to a route.
///
/// # Errors
/// As [`route`].
///
/// ```
/// use onceward::http::auth::Scope;
/// use onceward::http::route::{Access, Route, find};
/// assert_eq!(find("GET", "/v1/tasks"), Ok((Route::ListTasks, Access::Token(Scope::Read))));
/// ```
pub fn find(method: &str, path: &str) -> Result<(Route, Access), Problem> {
    let fits = |entry: &'static Entry| {
        let found = segments(entry.pattern, path)?;
        let [first, second, ..] = found;
        let built = match entry.build {
            Build::Two(build) => build([first, second]),
            Build::Four(build) => build(found),
        };
        Some((entry, built))
    };
    let fitting: Vec<_> = ROUTES.iter().filter_map(fits).collect();
    // Whether the address exists comes first: 405 would say that it does.
    let Some((first, _)) = fitting.iter().find(|(_, built)| built.is_ok()) else {
        let first = fitting.into_iter().next().ok_or_else(not_found)?;
        return first.1.map(|route| (route, first.0.access));
    };
    let internal = first.access == Access::Ticket;
    let here = || fitting.iter().filter(|(_, built)| built.is_ok());
    let wanted = if method == "HEAD" { "GET" } else { method };
    if let Some((entry, built)) = here().find(|(entry, _)| [wanted, "*"].contains(&entry.method)) {
        return built.clone().map(|route| (route, entry.access));
    }
    let mut allow: Vec<&str> = Vec::new();
    for (entry, _) in here() {
        allow.push(entry.method);
        if entry.method == "GET" {
            allow.push("HEAD");
        }
    }
    if !internal {
        allow.push("OPTIONS");
    }
    let allow = allow.join(", ");
    if method == "OPTIONS" && !internal {
        return Ok((Route::Preflight { allow }, Access::Public));
    }
    Err(Problem::method_not_allowed(&allow))
}

/// The route of a webhook's address whatever the method, and its source: some providers ask with `GET` or
/// `HEAD` before they send, which the table does not know. `None` for another address.
pub fn hook_of(path: &str) -> Option<(Route, Access)> {
    find("POST", path)
        .ok()
        .filter(|(route, _)| matches!(route, Route::Hook { .. } | Route::TenantHook { .. }))
}

/// The segments that `{…}` stand for, empty where the pattern has none; `None` if the path is another.
fn segments<'a>(pattern: &str, path: &'a str) -> Option<[&'a str; 4]> {
    let mut left = Some(path);
    let mut found = [""; 4];
    let mut free = found.iter_mut();
    for want in pattern.split('/') {
        let all = left?;
        if want.ends_with("*}") {
            *free.next()? = all;
            return Some(found);
        }
        let (got, rest) = match all.split_once('/') {
            Some((got, rest)) => (got, Some(rest)),
            None => (all, None),
        };
        if want.starts_with('{') && !got.is_empty() {
            *free.next()? = got;
        } else if want != got {
            return None;
        }
        left = rest;
    }
    left.is_none().then_some(found)
}

#[cfg(test)]
#[path = "route_flow_tests.rs"]
mod flow_tests;
#[cfg(test)]
#[path = "route_spelling_tests.rs"]
mod spelling;
#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
