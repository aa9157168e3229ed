//! Routes and queries: `METHOD TARGET`.

use super::input::{is_whole, text};
use onceward::http::bulk::Operation;
use onceward::http::flows::FlowHookAt;
use onceward::http::gateway;
use onceward::http::policy;
use onceward::http::query::parameters;
use onceward::http::route::{FlowAct, Route, preflight, route};
use onceward::http::signal::is_one_time;
use url::form_urlencoded;

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];

pub fn check(data: &[u8]) {
    let request = text(data);
    let (method, target) = request.split_once(' ').unwrap_or(("GET", &request));
    let path = target.split('?').next().unwrap_or_default();
    match route(method, path) {
        Ok(Route::Preflight { allow }) => {
            assert_eq!(method, "OPTIONS");
            assert_eq!(preflight(&allow).status, 204);
            allowed(&allow, path);
        }
        Ok(found) => {
            assert_eq!(address(&found).as_deref(), Some(path), "no second spelling");
            if let Route::Proxy { tail, .. } = &found {
                stays_below(tail, target);
            }
            if let Route::Hook { source: name } | Route::Call { name } | Route::Proxy { name, .. } =
                &found
            {
                let plain = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
                assert!(name.bytes().all(plain) && name.len() <= 64, "{name}");
            }
            if method == "GET" {
                assert_eq!(route("HEAD", path), Ok(found));
            }
        }
        Err(problem) => {
            is_whole(&problem);
            let answer = problem.to_answer();
            if answer.status == 405 {
                let allow = answer.headers.get("allow").expect("Allow");
                assert!(!allow.split(", ").any(|m| m == method), "{method}: {allow}");
                allowed(allow, path);
            } else {
                let gateway = path.starts_with("/proxy/");
                assert_eq!(
                    answer.status,
                    if answer.status == 400 && gateway {
                        400
                    } else {
                        404
                    }
                );
                assert!(METHODS.iter().all(|m| route(m, path).is_err()), "{path}");
            }
        }
    }
    query(target);
}

fn allowed(allow: &str, path: &str) {
    for method in allow.split(", ") {
        assert!(route(method, path).is_ok(), "{method} {path}: {allow}");
    }
}

/// The one address of a route.
fn address(route: &Route) -> Option<String> {
    Some(match route {
        Route::TenantHook { source, tenant } => format!("/hooks/{source}/{tenant}"),
        Route::Hook { source } => format!("/hooks/{source}"),
        Route::FlowHook { at } => match &at.key {
            None => format!("/hooks/{}", at.name),
            Some(key) => {
                let main = if at.main { "/main" } else { "" };
                let FlowHookAt { name, tail, .. } = at;
                format!("/api/v1{main}/executions/webhook/{name}/{key}{tail}")
            }
        },
        Route::ListFlows => "/v1/flows".into(),
        Route::Flow { name, act } => {
            let rest = match act {
                FlowAct::Show | FlowAct::Put | FlowAct::Delete => "",
                FlowAct::Revisions => "/revisions",
                FlowAct::Diff => "/diff",
                FlowAct::Disable => "/disable",
                FlowAct::Enable => "/enable",
                FlowAct::Execute => "/executions",
            };
            format!("{}{rest}", name.address())
        }
        Route::FlowSchema => "/flow.schema.json".into(),
        Route::Call { name } => format!("/v1/functions/{name}"),
        Route::Proxy { name, tail } => format!("/proxy/{name}{tail}"),
        Route::Bulk {
            operation: Operation::Forget,
        }
        | Route::ListTasks => "/v1/tasks".into(),
        Route::Bulk { operation } => format!("/v1/tasks/{}", operation.as_str()),
        Route::Endpoints => "/v1/endpoints".into(),
        Route::EnableEndpoint { name } => format!("/v1/endpoints/{name}/enable"),
        Route::Stats => "/v1/stats".into(),
        Route::Metrics => "/metrics".into(),
        Route::ShowTask { id } | Route::ForgetTask { id } => format!("/v1/tasks/{id}"),
        Route::TaskEvents { id } => format!("/v1/tasks/{id}/events"),
        Route::Events => "/v1/events".into(),
        Route::ShowJournal { id } => format!("/v1/tasks/{id}/journal"),
        Route::ShowAnswer { id } => format!("/v1/tasks/{id}/answer"),
        Route::ShowInput { id } => format!("/v1/tasks/{id}/input"),
        Route::Erase => "/v1/erase".into(),
        Route::ListAudit => "/v1/audit".into(),
        Route::Signal { id, name } => format!("/v1/tasks/{id}/signals/{name}"),
        Route::CancelTask { id } => format!("/v1/tasks/{id}/cancel"),
        Route::RetryTask { id } => format!("/v1/tasks/{id}/retry"),
        Route::UndoTask { id } => format!("/v1/tasks/{id}/undo"),
        Route::Explain { source } => format!("/v1/sources/{source}/explain"),
        Route::Health => "/healthz".into(),
        Route::OpenApi => "/openapi.json".into(),
        Route::ErrorPage { code } => format!("/errors/{code}"),
        Route::ErrorIndex => "/errors".into(),
        Route::Policies => "/.well-known/idempotency".into(),
        Route::PolicyIndex => "/policy".into(),
        Route::PolicyPage { kind, name } => policy::address(*kind, name),
        Route::Continue => "/internal/continue".into(),
        Route::SetFaults | Route::ShowFaults => "/lab/faults".into(),
        Route::ShowCounters => "/lab/counters".into(),
        Route::Preflight { .. } => return None,
    })
}

/// What goes on to an origin stays below its base, by the parser that the platform has as well.
fn stays_below(tail: &str, target: &str) {
    const BASE: &str = "https://api.example.com/base/v1";
    let query = target.split_once('?').map(|(_, query)| format!("?{query}"));
    let whole = format!("{tail}{}", query.unwrap_or_default());
    let Ok(there) = gateway::address(BASE, &whole) else {
        return;
    };
    let url = url::Url::parse(&there).expect("an address");
    assert_eq!(url.host_str(), Some("api.example.com"), "{there}");
    let below = url.path().strip_prefix("/base/v1").expect("below the base");
    assert!(below.is_empty() || below.starts_with('/'), "{there}");
    assert_eq!(url.as_str(), there, "no second spelling");
    let segments = |path: &str| path.matches('/').count();
    assert_eq!(segments(below), segments(tail), "{there}");
}

fn query(target: &str) {
    let read = parameters(target);
    let mut writer = form_urlencoded::Serializer::new(String::new());
    let written = writer.extend_pairs(&read).finish();
    assert_eq!(parameters(&format!("/?{written}")), read);
    assert_eq!(
        is_one_time(target),
        read.iter().any(|(name, _)| name == "token")
    );
}
