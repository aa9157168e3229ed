//! The table, walked, and addresses that are not in it.

use super::flow_tests::{flows, webhooks};
use super::*;
use crate::http::code::Code;
use crate::types::{TaskId, TaskKey, TaskKind};

pub(super) fn id() -> TaskId {
    TaskKey::new(TaskKind::Source, "a", "", "k").task_id()
}

/// A path that the pattern takes.
fn sample(pattern: &str) -> String {
    pattern
        .replace("{source}", "github")
        .replace("{tenant}", "acme")
        .replace("/signals/{name}", "/signals/Approval.2")
        .replace("{name}", "order-sync_2")
        .replace("{path*}", "charges//1")
        .replace("{id}", &id().to_string())
        .replace("{code}", "key_reused")
        .replace("{namespace}", "company.team")
        .replace("{flow}", "Order-1")
        .replace("{key}", "s3cret%20key")
}

fn proxy(tail: &str) -> Route {
    Route::Proxy {
        name: "order-sync_2".into(),
        tail: tail.into(),
    }
}

pub(super) fn status(method: &str, path: &str) -> (u16, Option<String>) {
    match route(method, path) {
        Ok(route) => panic!("{method} {path} gave {route:?}"),
        Err(problem) => {
            let answer = problem.to_answer();
            (
                answer.status,
                answer.headers.get("allow").map(str::to_owned),
            )
        }
    }
}

/// Addresses that everybody may look at, and the last one.
fn pages() -> Vec<(&'static str, &'static str, Route)> {
    vec![
        (
            "GET",
            "/errors/key_reused",
            Route::ErrorPage {
                code: Code::KeyReused,
            },
        ),
        ("GET", "/errors", Route::ErrorIndex),
        ("GET", "/.well-known/idempotency", Route::Policies),
        ("GET", "/policy", Route::PolicyIndex),
        (
            "GET",
            "/policy/hooks/github",
            Route::PolicyPage {
                kind: TaskKind::Source,
                name: "github".into(),
            },
        ),
        (
            "GET",
            "/policy/functions/order-sync_2",
            Route::PolicyPage {
                kind: TaskKind::Function,
                name: "order-sync_2".into(),
            },
        ),
        (
            "GET",
            "/policy/proxy/order-sync_2",
            Route::PolicyPage {
                kind: TaskKind::Function,
                name: "proxy:order-sync_2".into(),
            },
        ),
        ("POST", "/internal/continue", Route::Continue),
    ]
}

fn many(operation: Operation) -> Route {
    Route::Bulk { operation }
}

#[test]
#[allow(clippy::too_many_lines)] // it is a table
fn every_entry_is_reached() {
    let want = [
        (
            "POST",
            "/hooks/github",
            Route::Hook {
                source: "github".into(),
            },
        ),
        (
            "POST",
            "/hooks/github/acme",
            Route::TenantHook {
                source: "github".into(),
                tenant: "acme".into(),
            },
        ),
        (
            "POST",
            "/v1/functions/order-sync_2",
            Route::Call {
                name: "order-sync_2".into(),
            },
        ),
        ("*", "/proxy/order-sync_2", proxy("")),
        ("*", "/proxy/order-sync_2/charges//1", proxy("/charges//1")),
        ("GET", "/v1/tasks", Route::ListTasks),
        ("DELETE", "/v1/tasks", many(Operation::Forget)),
        ("POST", "/v1/tasks/cancel", many(Operation::Cancel)),
        ("POST", "/v1/tasks/retry", many(Operation::Retry)),
        ("POST", "/v1/tasks/undo", many(Operation::Undo)),
        (
            "GET",
            &format!("/v1/tasks/{}", id()),
            Route::ShowTask { id: id() },
        ),
        (
            "DELETE",
            &format!("/v1/tasks/{}", id()),
            Route::ForgetTask { id: id() },
        ),
        (
            "GET",
            &format!("/v1/tasks/{}/journal", id()),
            Route::ShowJournal { id: id() },
        ),
        (
            "GET",
            &format!("/v1/tasks/{}/events", id()),
            Route::TaskEvents { id: id() },
        ),
        ("GET", "/v1/events", Route::Events),
        (
            "GET",
            &format!("/v1/tasks/{}/answer", id()),
            Route::ShowAnswer { id: id() },
        ),
        (
            "GET",
            &format!("/v1/tasks/{}/input", id()),
            Route::ShowInput { id: id() },
        ),
        (
            "POST",
            &format!("/v1/tasks/{}/signals/Approval.2", id()),
            Route::Signal {
                id: id(),
                name: "Approval.2".into(),
            },
        ),
        (
            "POST",
            &format!("/v1/tasks/{}/cancel", id()),
            Route::CancelTask { id: id() },
        ),
        (
            "POST",
            &format!("/v1/tasks/{}/retry", id()),
            Route::RetryTask { id: id() },
        ),
        (
            "POST",
            &format!("/v1/tasks/{}/undo", id()),
            Route::UndoTask { id: id() },
        ),
        ("GET", "/v1/stats", Route::Stats),
        ("GET", "/metrics", Route::Metrics),
        (
            "POST",
            "/v1/sources/github/explain",
            Route::Explain {
                source: "github".into(),
            },
        ),
        ("POST", "/v1/erase", Route::Erase),
        ("GET", "/v1/audit", Route::ListAudit),
        ("GET", "/v1/endpoints", Route::Endpoints),
        (
            "POST",
            "/v1/endpoints/order-sync_2/enable",
            Route::EnableEndpoint {
                name: "order-sync_2".into(),
            },
        ),
        ("GET", "/healthz", Route::Health),
        ("GET", "/openapi.json", Route::OpenApi),
    ];
    let flows: Vec<_> = webhooks().into_iter().chain(flows()).collect();
    let (hooks, rest) = want.split_at(2);
    let flows = flows
        .iter()
        .map(|(method, path, got)| (*method, path.as_str(), got.clone()));
    let want = hooks
        .iter()
        .cloned()
        .chain(flows)
        .chain(rest.iter().cloned())
        .chain(pages());
    for (entry, (method, path, got)) in ROUTES.iter().zip(want) {
        assert_eq!(
            (entry.method, sample(entry.pattern).as_str()),
            (method, path)
        );
        assert_eq!(route(method, path), Ok(got));
    }
    for entry in ROUTES {
        assert!(
            route(entry.method, &sample(entry.pattern)).is_ok(),
            "{entry:?}"
        );
    }
}

#[test]
fn only_hooks_health_and_pages_are_open() {
    for entry in ROUTES {
        let want = match entry.pattern {
            "/healthz"
            | "/openapi.json"
            | "/flow.schema.json"
            | "/errors/{code}"
            | "/errors"
            | "/.well-known/idempotency"
            | "/policy"
            | "/policy/hooks/{source}"
            | "/policy/functions/{name}"
            | "/policy/proxy/{name}" => Access::Public,
            // Numbers without a secret, and in a lab build only.
            "/lab/faults" | "/lab/counters" if entry.method == "GET" => Access::Public,
            "/hooks/{source}" | "/hooks/{source}/{tenant}" => Access::Signature,
            "/internal/continue" => Access::Ticket,
            flow if flow.contains("/executions/webhook/") => Access::Signature,
            "/v1/functions/{name}"
            | "/v1/flows/{namespace}/{flow}/executions"
            | "/proxy/{name}"
            | "/proxy/{name}/{path*}" => Access::Token(Scope::Invoke),
            "/v1/tasks/{id}/journal"
            | "/v1/tasks/{id}/answer"
            | "/v1/tasks/{id}/events"
            | "/v1/events"
            | "/v1/stats"
            | "/metrics"
            | "/v1/endpoints"
            | "/v1/audit"
            | "/v1/flows"
            | "/v1/flows/{namespace}/{flow}/revisions"
            | "/v1/flows/{namespace}/{flow}/diff" => Access::Token(Scope::Read),
            "/v1/tasks/{id}/input" => Access::Token(Scope::Input),
            "/v1/tasks/{id}/signals/{name}" => Access::TokenOrOneTime(Scope::Operate),
            "/v1/tasks" | "/v1/tasks/{id}" | "/v1/flows/{namespace}/{flow}"
                if entry.method == "GET" =>
            {
                Access::Token(Scope::Read)
            }
            _ => Access::Token(Scope::Operate),
        };
        assert_eq!(entry.access, want, "{entry:?}");
    }
}

#[test]
fn lab_routes_exist_in_the_lab_only() {
    let there = ROUTES
        .iter()
        .filter(|e| e.pattern.starts_with("/lab/"))
        .count();
    assert_eq!(there, if cfg!(feature = "lab") { 3 } else { 0 });
    assert_eq!(route("GET", "/lab/counters").is_ok(), cfg!(feature = "lab"));
}

#[test]
fn every_other_method_is_405_with_allow() {
    let cases = [
        ("/hooks/github", "POST, OPTIONS"),
        ("/v1/functions/a", "POST, OPTIONS"),
        ("/v1/tasks", "GET, HEAD, DELETE, OPTIONS"),
        ("/v1/tasks/cancel", "POST, OPTIONS"),
        ("/v1/events", "GET, HEAD, OPTIONS"),
        ("/healthz", "GET, HEAD, OPTIONS"),
        ("/errors/key_reused", "GET, HEAD, OPTIONS"),
        ("/internal/continue", "POST"),
        (&format!("/v1/tasks/{}", id()), "GET, HEAD, DELETE, OPTIONS"),
        (&format!("/v1/tasks/{}/journal", id()), "GET, HEAD, OPTIONS"),
        (&format!("/v1/tasks/{}/signals/a", id()), "POST, OPTIONS"),
        (&format!("/v1/tasks/{}/cancel", id()), "POST, OPTIONS"),
        (&format!("/v1/tasks/{}/retry", id()), "POST, OPTIONS"),
        (&format!("/v1/tasks/{}/undo", id()), "POST, OPTIONS"),
    ];
    for (path, allow) in cases {
        for method in [
            "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", "",
            "QUERY",
        ] {
            if allow.split(", ").any(|m| m == method) {
                assert!(route(method, path).is_ok(), "{method} {path}");
            } else {
                let want = (405, Some(allow.to_owned()));
                assert_eq!(status(method, path), want, "{method} {path}");
            }
        }
    }
}

#[test]
fn head_means_what_get_means() {
    for entry in ROUTES.iter().filter(|e| e.method == "GET") {
        let path = sample(entry.pattern);
        assert_eq!(route("HEAD", &path), route("GET", &path));
    }
}

#[test]
fn patterns_are_compared_segment_by_segment() {
    for (path, want) in [
        ("/a/x/b", Some(["x", "", "", ""])),
        ("/a//b", None),
        ("/a/x", None),
        ("/a/x/c", None),
        ("/a/x/b/", None),
        ("a/x/b", None),
        ("/a/{n}/b", Some(["{n}", "", "", ""])),
    ] {
        assert_eq!(segments("/a/{n}/b", path), want, "{path}");
    }
    assert_eq!(segments("/a", "/a"), Some(["", "", "", ""]));
    assert_eq!(segments("/{a}/b/{c}", "/x/b/y"), Some(["x", "y", "", ""]));
    assert_eq!(segments("/{a}/b/{c}", "/x/b/"), None);
}

#[test]
fn whatever_follows_a_gateway_is_its_own() {
    let tail = |path: &str| match route("PATCH", path) {
        Ok(Route::Proxy { name, tail }) if name == "a" => Ok(tail),
        Ok(other) => panic!("{path} gave {other:?}"),
        Err(problem) => Err(problem.code.status()),
    };
    for path in [
        "",
        "/",
        "//",
        "/x",
        "/x/",
        "/%2F",
        "/x%20y;z",
        "/v1/tasks",
        "/a..b",
    ] {
        assert_eq!(tail(&format!("/proxy/a{path}")).as_deref(), Ok(path));
    }
    for path in ["/..", "/%2e%2E/x", "/x/.", "/..%2f", "/\\"] {
        assert_eq!(tail(&format!("/proxy/a{path}")), Err(400), "{path}");
    }
    for path in [
        "/proxy",
        "/proxy/",
        "/proxy//x",
        "/proxy/A",
        "/proxy/%61",
        "/proxy/../x",
    ] {
        assert_eq!(tail(path), Err(404), "{path}");
    }
    assert_eq!(segments("/{a*}", "/x/y"), Some(["x/y", "", "", ""]));
    assert_eq!(segments("/a/{b*}", "/a"), None);
}

#[test]
fn a_task_that_cannot_exist_is_not_found_as_a_task() {
    let upper = id().to_string().to_uppercase();
    for id in [
        "x",
        "..",
        "%2e",
        "1",
        &upper,
        &id().to_string().replace('-', ""),
    ] {
        let problem = route("GET", &format!("/v1/tasks/{id}")).expect_err("refused");
        assert_eq!(problem.code, Code::TaskNotFound, "{id}");
    }
}
