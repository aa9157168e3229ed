//! F109, F37: every route of the table is tried with every kind of token, spelling and method; and tokens of one
//! tenant see nothing of another.

use crate::support::{
    Answer, Mode, Request, Server, TOKEN, check, eventually, fail, fresh, program,
};
use onceward::http::auth::Scope;
use onceward::http::route::{Access, Entry, ROUTES};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

pub fn sha256(token: &str) -> String {
    let hash = Sha256::digest(token);
    hash.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn every_scope() -> Vec<&'static str> {
    Scope::ALL.iter().map(|scope| scope.as_str()).collect()
}

/// A server with a token for each right, one that is over, two that are rotated, and two of tenants.
fn server() -> Server {
    let all = every_scope();
    let mut tokens = json!({
        "over": { "sha256": sha256("token-over"), "scopes": all, "until": "2026-01-01T00:00:00Z" },
        "turned": { "sha256": [sha256("token-old"), sha256("token-new")], "scopes": ["read"], "until": "2999-01-01T00:00:00Z" },
        "of-acme": { "sha256": sha256("token-acme"), "scopes": all, "tenant": "acme" },
        "of-other": { "sha256": sha256("token-other"), "scopes": all, "tenant": "other" },
    });
    for scope in &all {
        let token = format!("token-{scope}");
        tokens[format!("only-{scope}")] = json!({ "sha256": sha256(&token), "scopes": [scope] });
    }
    let mut vars = crate::support::server::default_vars();
    vars["ONCEWARD_TOKENS"] = tokens;
    // Nobody is there: a gateway has to be known for its token to be asked for.
    vars["ONCEWARD_LAB_ORIGIN"] = "http://127.0.0.1:9".into();
    vars["LAB_ORIGIN_KEY"] = "k".into();
    Server::with_vars(vars)
}

/// An address that the pattern takes.
fn address(pattern: &str, id: &str) -> String {
    pattern
        .replace("/signals/{name}", "/signals/go")
        .replace("{source}", "lab")
        .replace("{tenant}", "acme")
        .replace("{namespace}", "company.team")
        .replace("{flow}", "none")
        .replace("{key}", "none")
        .replace("{name}", "lab")
        .replace("{path*}", "charges")
        .replace("{id}", id)
        .replace("{code}", "key_reused")
}

fn method_of(entry: &Entry) -> &'static str {
    match entry.method {
        "*" => "POST",
        // A stream would not end; its head says as much.
        "GET" if entry.pattern.ends_with("/events") => "HEAD",
        method => method,
    }
}

fn scope_of(entry: &Entry) -> Option<Scope> {
    match entry.access {
        Access::Token(scope) | Access::TokenOrOneTime(scope) => Some(scope),
        Access::Public | Access::Signature | Access::Ticket => None,
    }
}

fn ask(server: &Server, method: &str, target: &str, token: Option<&str>) -> Answer {
    let request = Request::new(method, target);
    let request = match token {
        Some(value) => request.field("Authorization", value),
        None => request,
    };
    let mut connection = server.connect();
    connection.send(&request).expect("sent");
    connection.receive(method).expect("an answer")
}

#[test]
fn every_route_of_the_table_is_closed_without_its_own_right() {
    let server = server();
    let id = uuid::Uuid::new_v4().to_string();
    let prefix = format!("Bearer {}", &TOKEN[..TOKEN.len() - 1]);
    let mut walked = 0;
    for entry in ROUTES {
        let Some(scope) = scope_of(entry) else {
            continue;
        };
        walked += 1;
        let (method, target) = (method_of(entry), address(entry.pattern, &id));
        let refused = [
            None,
            Some("Bearer wrong"),
            Some("Bearer "),
            Some(prefix.as_str()),
            Some("Bearer token-over"),
            Some("Basic token-read"),
        ];
        for token in refused {
            let answer = ask(&server, method, &target, token);
            assert_eq!(
                answer.status,
                401,
                "{method} {target} {token:?}: {}",
                answer.shown()
            );
        }
        for other in Scope::ALL {
            let token = format!("Bearer token-{}", other.as_str());
            // A stream that is granted would not end.
            let granted = *other == scope && target.ends_with("/events");
            let method = if granted { "HEAD" } else { method };
            let answer = ask(&server, method, &target, Some(&token));
            let shown = answer.shown();
            if *other == scope {
                assert!(
                    ![401, 403].contains(&answer.status),
                    "{method} {target}: {shown}"
                );
            } else {
                assert_eq!(answer.status, 403, "{method} {target} {token}: {shown}");
            }
        }
    }
    assert!(walked >= 15, "{walked} routes ask for a token");
    for forged in ["?token=", "?token=0.00", "?token=token-operate"] {
        let target = format!("/v1/tasks/{id}/signals/go{forged}");
        let answer = ask(&server, "POST", &target, Some("Bearer dev-token"));
        assert_eq!(answer.status, 401, "{}", answer.shown());
    }
    for token in ["Bearer token-old", "Bearer token-new"] {
        let answer = ask(&server, "GET", "/v1/tasks", Some(token));
        assert_eq!(answer.status, 200, "{}", answer.shown());
    }
}

/// Other ways to write an address, which the one that is served must not have.
fn spellings(path: &str) -> Vec<String> {
    let (first, rest) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
    let letter = u32::from(path.as_bytes()[1]);
    let mut spelled = vec![
        format!("{path}/"),
        format!("/{path}"),
        format!("/.{path}"),
        format!("/%2e{path}"),
        format!("/x/..{path}"),
        format!("/x/%2e%2e{path}"),
        format!("{path};x"),
        format!("{path}%20"),
        format!("{path}%2F"),
        path.to_uppercase(),
        format!("/%{letter:02x}{}", &path[2..]),
    ];
    if !rest.is_empty() {
        spelled.push(format!("/{first}//{rest}"));
        spelled.push(format!("/{first}/./{rest}"));
        spelled.push(format!("/{first}/%2e/{rest}"));
        spelled.push(format!("/{first}%2F{rest}"));
        spelled.push(format!("/{first};x/{rest}"));
        spelled.push(format!("/{first}\\{rest}"));
    }
    spelled
}

#[test]
fn no_other_spelling_of_an_address_is_served() {
    let server = server();
    let id = uuid::Uuid::new_v4().to_string();
    // What follows the name of a gateway is the gateway's own.
    let routes = ROUTES.iter().filter(|e| !e.pattern.starts_with("/proxy/"));
    for entry in routes {
        let (method, target) = (method_of(entry), address(entry.pattern, &id));
        for spelled in spellings(&target) {
            for token in [None, Some("Bearer dev-token")] {
                let answer = ask(&server, method, &spelled, token);
                assert_eq!(
                    answer.status,
                    404,
                    "{method} {spelled} {token:?}: {}",
                    answer.shown()
                );
                assert_eq!(answer.field("WWW-Authenticate"), None);
            }
        }
    }
}

#[test]
fn every_other_method_is_refused_with_and_without_a_token() {
    let server = server();
    let id = uuid::Uuid::new_v4().to_string();
    for entry in ROUTES.iter().filter(|e| e.method != "*") {
        let target = address(entry.pattern, &id);
        let same = ROUTES.iter().filter(|e| e.pattern == entry.pattern);
        let taken: Vec<&str> = same.map(|e| e.method).collect();
        let inside = entry.access == Access::Ticket;
        for method in METHODS {
            let is_taken = taken.contains(&method) || method == "HEAD" && taken.contains(&"GET");
            if is_taken {
                continue;
            }
            for token in [None, Some("Bearer dev-token")] {
                let answer = ask(&server, method, &target, token);
                let want = if method == "OPTIONS" && !inside {
                    204
                } else {
                    405
                };
                assert_eq!(answer.status, want, "{method} {target}: {}", answer.shown());
                assert!(answer.body.is_empty() || want == 405);
                assert!(answer.field("Allow").is_some(), "{}", answer.shown());
            }
        }
    }
}

/// A call with the token of a tenant.
fn call(server: &Server, token: &str, key: &str, body: &Value) -> Answer {
    let request = Request::post("/v1/functions/lab").bearer(token).key(key);
    server.send(&request.json(body))
}

#[test]
fn a_token_of_one_tenant_sees_nothing_of_another() {
    let server = server();
    let key = fresh("same-key");
    let body = program([]);
    let ours = call(&server, "token-acme", &key, &body)
        .expect(200)
        .task_id();
    let theirs = call(&server, "token-other", &key, &body).expect(200);
    assert!(
        !theirs.is_replay(),
        "it has a run of its own: {}",
        theirs.shown()
    );
    let theirs = theirs.task_id();
    let nobodys = Mode::Call
        .deliver(&server, &key, &body)
        .expect(200)
        .task_id();
    assert!(ours != theirs && ours != nobodys && theirs != nobodys);

    let task_routes = ROUTES
        .iter()
        .filter(|e| e.pattern.starts_with("/v1/tasks/{id}"));
    for entry in task_routes.filter(|e| scope_of(e).is_some()) {
        let method = method_of(entry);
        for id in [&ours, &nobodys] {
            let target = address(entry.pattern, id);
            let mut request = Request::new(method, &target).bearer("token-other");
            if entry.pattern.contains("/signals/") {
                request = request.key("k").json(&json!(1));
            }
            let answer = server.send(&request.field("Connection", "close"));
            assert_eq!(answer.status, 404, "{method} {target}: {}", answer.shown());
            if method != "HEAD" {
                let unknown = address(entry.pattern, &uuid::Uuid::new_v4().to_string());
                let mut request = Request::new(method, &unknown).bearer("token-other");
                if entry.pattern.contains("/signals/") {
                    request = request.key("k").json(&json!(1));
                }
                let absent = server.send(&request).json();
                assert_eq!(
                    answer.json()["detail"],
                    absent["detail"],
                    "nothing tells them apart"
                );
            }
        }
    }
    let seen = |token: &str, id: &str| {
        let target = format!("/v1/tasks/{id}");
        server.send(&Request::get(&target).bearer(token)).status
    };
    assert_eq!(seen("token-acme", &ours), 200);
    assert_eq!(seen("token-other", &theirs), 200);
    assert_eq!(
        (seen(TOKEN, &ours), seen("token-read", &nobodys)),
        (200, 200)
    );

    let listed = |token: &str| {
        let answer = server
            .send(&Request::get("/v1/tasks").bearer(token))
            .expect(200)
            .json();
        let tasks = answer["tasks"].as_array().cloned().unwrap_or_default();
        let ids = tasks
            .iter()
            .map(|t| t["task_id"].as_str().unwrap_or_default().to_owned());
        ids.collect::<Vec<_>>()
    };
    eventually(|| check(listed(TOKEN).len() == 3, || "not all are listed".to_owned()));
    assert_eq!(listed("token-acme"), std::slice::from_ref(&ours));
    assert_eq!(listed("token-other"), [theirs]);

    let forget = Request::new("DELETE", &format!("/v1/tasks/{ours}")).bearer("token-acme");
    server.send(&forget).expect(204);
    let audited = |token: &str| {
        let answer = server
            .send(&Request::get("/v1/audit").bearer(token))
            .expect(200);
        let actions = answer.json()["actions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let of = |action: &Value| (action["token"].clone(), action["action"].clone());
        actions.iter().map(of).collect::<Vec<_>>()
    };
    let row = (json!("of-acme"), json!("forget"));
    assert_eq!(audited("token-acme"), std::slice::from_ref(&row));
    assert_eq!(
        audited("token-other"),
        [],
        "what it was not let do is no action"
    );
    assert_eq!(audited(TOKEN), [row]);
}

#[test]
fn an_operation_on_many_tasks_is_of_the_tenant_that_asks_for_it() {
    let server = server();
    let failing = program([fail("terminal")]);
    let ids = ["token-acme", "token-other"].map(|token| {
        let failed = call(&server, token, &fresh("many"), &failing);
        failed.task_id()
    });
    let forget = |token: &str, query: &str| {
        let target = format!("/v1/tasks?state=failed{query}");
        server.send(&Request::new("DELETE", &target).bearer(token).key("one-key"))
    };
    eventually(|| {
        let tried = forget(TOKEN, "").expect(200).json();
        check(tried["matched"] == 2, || tried.to_string())
    });
    forget("token-acme", "&tenant=other").expect_problem(403, "forbidden");
    let begun = forget("token-acme", "&dry_run=false").expect(202).task_id();
    // The same key of another tenant is another operation, and neither sees that of the other.
    let other = forget("token-other", "&dry_run=false&max=1").expect(202);
    assert_ne!(begun, other.task_id());
    let seen = |token: &str, id: &str| {
        let target = format!("/v1/tasks/{id}?wait=5");
        server.send(&Request::get(&target).bearer(token))
    };
    assert_eq!(seen("token-other", &begun).status, 404);
    for (token, operation, id) in [
        ("token-acme", begun, &ids[0]),
        ("token-other", other.task_id(), &ids[1]),
    ] {
        eventually(|| {
            let task = seen(token, &operation).expect(200).json();
            check(task["state"] == "succeeded", || task.to_string())
        });
        assert_eq!(seen(TOKEN, id).status, 404, "forgotten");
    }
}

/// Tokens that do not hold together close everything, and the log says where it is wrong.
#[test]
fn tokens_that_are_wrong_close_everything_and_are_named_in_the_log() {
    let mut vars = crate::support::server::default_vars();
    vars["ONCEWARD_TOKENS"] = json!({ "ops": { "sha256": "SEC-1", "scopes": ["rule"] } });
    let server = Server::with_vars(vars);
    for request in [
        Request::get("/v1/tasks").bearer(TOKEN),
        Request::get("/v1/tasks"),
        Request::get("/healthz"),
        Mode::Webhook.request("k", &program([])),
    ] {
        server.send(&request).expect_problem(500, "misconfigured");
    }
    let printed = eventually(|| {
        let printed = server.output();
        check(printed.contains("token ops"), || printed.clone())?;
        Ok(printed)
    });
    assert!(
        printed.contains("64 hexadecimal digits") && printed.contains("rule"),
        "{printed}"
    );
    assert!(!printed.contains("SEC-1"), "{printed}");
}

#[test]
fn without_any_token_everything_is_closed() {
    let server = Server::with_vars(json!({ "ONCEWARD_TOKEN": "" }));
    for entry in ROUTES.iter().filter(|e| scope_of(e).is_some()) {
        if entry.pattern.starts_with("/proxy/") {
            continue;
        }
        let target = address(entry.pattern, &uuid::Uuid::new_v4().to_string());
        for token in [None, Some("Bearer "), Some("Bearer dev-token")] {
            let answer = ask(&server, method_of(entry), &target, token);
            assert_eq!(answer.status, 401, "{target}: {}", answer.shown());
        }
    }
}
