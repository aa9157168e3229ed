//! Second spellings of addresses, which are not served.

use super::tests::{id, status};

#[test]
fn no_second_spelling_is_served() {
    let good = [
        "/hooks/github",
        "/v1/functions/a",
        "/v1/tasks",
        "/healthz",
        "/internal/continue",
    ];
    let mut paths: Vec<String> = Vec::new();
    for path in good {
        paths.push(format!("{path}/"));
        paths.push(format!("/{path}"));
        paths.push(format!("{path}%20"));
        paths.push(format!("{path}?"));
        paths.push(format!("{path};a"));
        paths.push(format!("{path}/../x"));
        paths.push(path[1..].to_owned());
        paths.push(path.to_uppercase());
        paths.push(path.replacen('/', "/./", 1));
        paths.push(
            path.replace('e', "%65")
                .replace('o', "%6f")
                .replace('u', "%75")
                .replace('l', "%6c"),
        );
    }
    paths.extend(
        [
            "",
            "/",
            "*",
            "//",
            "/hooks",
            "/hooks/",
            "/hooks//github",
            "/hooks/GitHub",
            "/hooks/..",
            "/hooks/%2e%2e",
            "/hooks/-a",
            "/hooks/a.b",
            "/hooks/a b",
            "/hooks/é",
            "/hooks/{source}",
            "/hooks/github\0",
            "/v1",
            "/v1/functions",
            "/v1/functions/",
            "/v1/functions/A",
            "/v1/tasks/",
            "/errors/",
            "/policy/",
            "/policy/hooks",
            "/policy/hooks/",
            "/policy/hooks/GitHub",
            "/policy/sources/github",
            "/.well-known",
            "/.well-known/idempotency/",
            "/.well-known/Idempotency",
            "/errors/nope",
            "/errors/KEY_REUSED",
            "/errors/key_reused.md",
            "/errors/../healthz",
            "/internal",
            "/internal/",
            "/v2/tasks",
            "/favicon.ico",
        ]
        .map(str::to_owned),
    );
    paths.push(format!("/hooks/{}", "a".repeat(65)));
    paths.push(format!("/v1/tasks/{}/", id()));
    for rest in [
        "answer/x",
        "journal/",
        "Cancel",
        "signals",
        "signals/",
        "signals/a/",
        "signals/a/b",
        "signals/%61",
        "signals/%child",
        "signals/a b",
        "signals/é",
    ] {
        paths.push(format!("/v1/tasks/{}/{rest}", id()));
    }
    paths.push(format!("/v1/tasks/{}/signals/{}", id(), "a".repeat(101)));
    for path in paths.iter().filter(|p| !good.contains(&p.as_str())) {
        for method in ["GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT"] {
            assert_eq!(status(method, path), (404, None), "{method} {path}");
        }
    }
}
