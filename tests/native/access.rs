//! The table of routes: as `docs/access.md` shows it, and walked with every kind of token.

use crate::list_world::World;
use onceward::http::auth::{Gate, Scope, Token, Tokens};
use onceward::http::route::{Access, Entry, ROUTES, find, route};
use onceward::types::Headers;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

const PAGE: &str = "docs/access.md";
const OVER_MS: u64 = 1_000;

fn scope_of(access: Access) -> Option<Scope> {
    match access {
        Access::Token(scope) | Access::TokenOrOneTime(scope) => Some(scope),
        Access::Public | Access::Signature | Access::Ticket => None,
    }
}

fn shown(access: Access) -> String {
    match access {
        Access::Public => "everybody".into(),
        Access::Signature => "the source's signature, or the key of a flow's webhook".into(),
        Access::Ticket => "this Worker itself".into(),
        Access::Token(scope) => format!("`{}`", scope.as_str()),
        Access::TokenOrOneTime(scope) => format!("`{}`, or a one-time address", scope.as_str()),
    }
}

#[test]
fn the_page_shows_the_table() {
    let mut table = "| method | address | opens with |\n|---|---|---|\n".to_owned();
    for entry in ROUTES.iter().filter(|e| !e.pattern.starts_with("/lab/")) {
        let method = if entry.method == "*" {
            "any"
        } else {
            entry.method
        };
        let _ = writeln!(
            table,
            "| {method} | `{}` | {} |",
            entry.pattern,
            shown(entry.access)
        );
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once("<!-- routes -->\n").expect("a place");
    let (_, after) = rest.split_once("<!-- /routes -->").expect("its end");
    let want = format!("{before}<!-- routes -->\n{table}<!-- /routes -->{after}");
    if std::env::var_os("ONCEWARD_UPDATE").is_some() {
        std::fs::write(&path, &want).expect("written");
        return;
    }
    assert_eq!(
        page, want,
        "{PAGE} is not the table; run ONCEWARD_UPDATE=1 cargo test --features lab --test native access, and commit it"
    );
}

fn token(name: &str, scopes: &[Scope], until_ms: Option<u64>) -> Token {
    Token {
        name: name.into(),
        hashes: vec![Sha256::digest(name).into()],
        scopes: scopes.to_vec(),
        tenant: String::new(),
        until_ms,
    }
}

fn tokens() -> Tokens {
    let mut all: Vec<Token> = Scope::ALL
        .iter()
        .map(|scope| token(&format!("token-{}", scope.as_str()), &[*scope], None))
        .collect();
    all.push(token("token-over", Scope::ALL, Some(OVER_MS)));
    Tokens::named(all).with_root(Some("token-root")).at(OVER_MS)
}

fn status(gate: &Gate, authorization: Option<&str>) -> u16 {
    let headers: Headers = authorization
        .map(|value| ("authorization", value))
        .into_iter()
        .collect();
    gate.caller(&headers)
        .map_or_else(|problem| problem.status(), |_| 200)
}

fn address(entry: &Entry) -> (&'static str, String) {
    let method = if entry.method == "*" {
        "POST"
    } else {
        entry.method
    };
    let path = entry
        .pattern
        .replace("{id}", &uuid::Uuid::nil().to_string());
    let path = path.replace("{code}", "key_reused").replace("{path*}", "x");
    let names = [
        "{source}",
        "{tenant}",
        "{name}",
        "{namespace}",
        "{flow}",
        "{key}",
    ];
    (
        method,
        names
            .iter()
            .fold(path, |path, name| path.replace(name, "lab")),
    )
}

#[test]
fn each_route_opens_with_its_own_right_and_no_other() {
    for entry in ROUTES {
        let (method, path) = address(entry);
        let (_, access) = find(method, &path).expect("served");
        assert_eq!(access, entry.access, "{method} {path}");
        let gate = tokens().gate(access);
        let bad = [
            None,
            Some("Bearer "),
            Some("Bearer"),
            Some("Bearer token-roo"),
            Some("Bearer token-root2"),
            Some("Bearer token-over"),
            Some("Basic token-root"),
        ];
        let Some(scope) = scope_of(access) else {
            for authorization in bad.into_iter().chain([Some("Bearer token-root")]) {
                assert_ne!(
                    status(&gate, authorization),
                    200,
                    "{path}: a caller needs a token"
                );
            }
            continue;
        };
        for authorization in bad {
            assert_eq!(
                status(&gate, authorization),
                401,
                "{path} {authorization:?}"
            );
        }
        for other in Scope::ALL {
            let authorization = format!("Bearer token-{}", other.as_str());
            let want = if *other == scope { 200 } else { 403 };
            assert_eq!(
                status(&gate, Some(&authorization)),
                want,
                "{path} {authorization}"
            );
        }
        assert_eq!(status(&gate, Some("Bearer token-root")), 200, "{path}");
    }
}

#[test]
fn no_address_of_the_table_has_a_second_spelling() {
    // What follows a gateway or stands for a key may have any characters.
    let own = |e: &&Entry| e.pattern.starts_with("/proxy/") || e.pattern.contains("{key}");
    for entry in ROUTES.iter().filter(|e| !own(e)) {
        let (method, path) = address(entry);
        let (first, rest) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
        for spelled in [
            format!("{path}/"),
            format!("/{path}"),
            format!("/.{path}"),
            format!("/%2e{path}"),
            format!("/x/..{path}"),
            format!("{path};x"),
            format!("{path}%2F"),
            path.to_uppercase(),
            format!("/{first}//{rest}"),
            format!("/{first}/./{rest}"),
            format!("/{first}%2F{rest}"),
            format!("/{first};x/{rest}"),
            path.replacen('/', "\\", 1),
        ] {
            let found = route(method, &spelled).expect_err(&spelled);
            assert_eq!(found.status(), 404, "{method} {spelled}");
        }
    }
}

/// What an operator says beside what there is may be meant as a condition: `dry_run` of one task, say.
#[test]
fn a_parameter_that_there_is_none_of_is_refused_before_anything_is_done() {
    let id = "5f0c3c56-3f0e-5b0a-9f57-0d6a6f0c8a11";
    let operators = |entry: &&Entry| matches!(entry.access, Access::Token(s) if s != Scope::Invoke);
    let mut walked = 0;
    for entry in ROUTES.iter().filter(operators) {
        let path = entry.pattern.replace("{id}", id);
        let path = path.replace("{source}", "f").replace("{name}", "f");
        let path = path
            .replace("{namespace}", "company.team")
            .replace("{flow}", "f");
        let world = World::of(1);
        let answer = world.request(entry.method, &format!("{path}?nonsense=true"), &[]);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 400, "{} {path}: {text}", entry.method);
        assert!(text.contains("\"pointer\":\"nonsense\""), "{path}: {text}");
        assert_eq!(
            (world.0.asked.get(), world.0.looks.get()),
            (0, 0),
            "{path} has done something"
        );
        walked += 1;
    }
    assert!(walked > 20, "{walked}");
}
