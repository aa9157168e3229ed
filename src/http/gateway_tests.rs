//! Where requests may go, and what goes with them.

use super::*;
use crate::webhook::fingerprint;

const BASE: &str = "https://api.example.com/base";

fn gateway() -> Gateway {
    Gateway::to("shop", BASE)
}

fn delivery<'a>(method: &'a str, headers: &'a Headers) -> Delivery<'a> {
    Delivery {
        method,
        target: "/proxy/shop/orders",
        headers,
    }
}

fn caller() -> Caller {
    Caller {
        name: "default".into(),
        tenant: "acme".into(),
    }
}

#[test]
fn paths_that_stay_go_on_as_they_were_sent() {
    for target in [
        "",
        "/",
        "/orders",
        "/orders/",
        "//orders",
        "/a//b//",
        "/a%2Fb",
        "/a%2fb/%20",
        "/a..b/...",
        "/.well-known/x",
        "/a;v=1/b",
        "/%zz/%",
        "/%41",
        "/:method",
        "/@evil.example/",
        "//evil.example/x",
        "/http://evil.example/",
        "/x?y=1&z=%2e%2e/../a",
        "?x=1",
    ] {
        let want = format!("{BASE}{target}");
        assert_eq!(address(BASE, target), Ok(want), "{target}");
    }
}

#[test]
fn nothing_leads_out_of_the_base_path() {
    for target in [
        "/..",
        "/../",
        "/a/..",
        "/a/../../b",
        "/.",
        "/./a",
        "/%2e%2e/a",
        "/%2E%2E/a",
        "/.%2e/a",
        "/%2e./a",
        "/%2e/a",
        "/..%2fadmin",
        "/a%2f..%2fb",
        "/a%2F%2e%2e%2Fb",
        "/%252e%252e/a",
        "/%25252e%25252e%25252fa",
        "/..;/a",
        "/..;x=1/a",
        "/..%3b/a",
        "/..\\a",
        "/a\\..\\b",
        "/a%5c..%5cb",
        "/a b",
        "/a\tb",
        "/a\nb",
        "/a\0b",
        "/é",
        "/a#b",
        "orders",
        ".evil.example/",
        "@evil.example/",
        ":80/",
        "/a?b#c",
        "/a?b c",
        "/a?\r\nx: y",
    ] {
        assert!(address(BASE, target).is_err(), "{target:?}");
    }
    let deep = format!("/%{}2e%{}2e", "25".repeat(40), "25".repeat(40));
    assert!(
        check_tail(&deep).is_err(),
        "encoded more often than is looked at"
    );
    // The origin itself may be the whole host.
    assert_eq!(
        address("https://a.example", "/x").as_deref(),
        Ok("https://a.example/x")
    );
    assert!(address("https://a.example", ".evil.example/x").is_err());
    assert!(address("https://a.example", "@evil.example/x").is_err());
}

#[test]
fn a_task_keeps_what_goes_on_and_no_credential() {
    let headers: Headers = [
        ("Authorization", "Bearer SEC-1"),
        ("Cookie", "SEC-2"),
        ("Content-Type", "application/json"),
        ("Content-Encoding", "gzip"),
        ("X-Shop", "7"),
        ("X-Other", "8"),
        ("Host", "onceward.example"),
        ("Idempotency-Key", "\"k1\""),
        ("Prefer", "wait=3"),
        ("traceparent", "00-1-2-01"),
    ]
    .into_iter()
    .collect();
    let gateway = gateway().forward_headers(&["x-shop"]);
    let head = delivery("POST", &headers);
    let admitted = admit(&gateway, "/orders?a=1", &head, &caller(), b"{}".to_vec());
    let admitted = admitted.expect("admitted");
    let kept: Vec<(&str, &str)> = admitted.input.headers.iter().collect();
    assert_eq!(
        kept,
        [
            (":method", "POST"),
            (":target", "/orders?a=1"),
            ("content-type", "application/json"),
            ("content-encoding", "gzip"),
            ("x-shop", "7"),
        ]
    );
    assert_eq!(admitted.input.body, b"{}");
    assert_eq!(admitted.prefer.wait_ms(), Some(3_000));
    assert_eq!(
        admitted.key,
        TaskKey::new(TaskKind::Function, "proxy:shop", "acme", "k1")
    );
    let same = fingerprint::raw("POST", "/orders?a=1", b"{}");
    assert_eq!(admitted.fingerprint.map(|f| f.hash), Some(same));
    let passed = gateway.forward_key(ForwardKey::Passed);
    let admitted = admit(&passed, "", &head, &caller(), Vec::new()).expect("admitted");
    assert_eq!(admitted.input.headers.get(":key"), Some("\"k1\""));
}

#[test]
fn a_request_with_a_key_is_refused_for_its_key_and_its_size() {
    let code = |headers: &[(&str, &str)], body: usize| {
        let headers: Headers = headers.iter().copied().collect();
        let head = delivery("POST", &headers);
        check(&gateway(), "/orders", &head)
            .and_then(|()| admit(&gateway(), "/orders", &head, &caller(), vec![0; body]))
            .map_err(|problem| problem.code)
            .map(drop)
    };
    let most = crate::limits::MAX_BODY_BYTES;
    let key = ("idempotency-key", "k");
    assert_eq!(code(&[key], most), Ok(()));
    assert_eq!(code(&[], 0), Err(Code::KeyMissing));
    assert_eq!(
        code(&[("idempotency-key", "\"a")], 0),
        Err(Code::KeyMalformed)
    );
    assert_eq!(code(&[key, key], 0), Err(Code::KeyMalformed));
    assert_eq!(code(&[key], most + 1), Err(Code::BodyTooLarge));
    let long = (most + 1).to_string();
    assert_eq!(
        code(&[key, ("content-length", &long)], 0),
        Err(Code::BodyTooLarge)
    );
    let wide = "v".repeat(MAX_HEADER_BYTES);
    assert_eq!(
        code(&[key, ("accept", &wide)], 0),
        Err(Code::HeadersTooLarge)
    );
    let headers: Headers = [key].into_iter().collect();
    let target = format!("/{}", "a".repeat(MAX_HEADER_BYTES));
    let refused = check(&gateway(), &target, &delivery("POST", &headers));
    assert_eq!(refused.map_err(|p| p.code), Err(Code::HeadersTooLarge));
}

#[test]
fn methods_that_cannot_be_sent_are_405() {
    let none = Headers::default();
    for method in METHODS {
        assert_eq!(check(&gateway(), "/", &delivery(method, &none)), Ok(()));
    }
    for method in ["TRACE", "CONNECT", "PROPFIND", "get", ""] {
        let problem = check(&gateway(), "/", &delivery(method, &none)).expect_err(method);
        let answer = problem.to_answer();
        assert_eq!(answer.status, 405);
        assert_eq!(
            answer.headers.get("allow"),
            Some("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
        );
    }
}

/// I-19: a key where none is wanted is no error, and means nothing.
#[test]
fn what_is_passed_through_has_secrets_of_its_own_and_no_key() {
    let headers: Headers = [
        ("authorization", "Bearer SEC-1"),
        ("idempotency-key", "\"k1\""),
        ("if-none-match", "\"7\""),
        ("range", "bytes=0-1"),
        ("content-length", "99999999"),
    ]
    .into_iter()
    .collect();
    let gateway = gateway().origin_header("Authorization", "S", "Bearer ");
    let head = delivery("GET", &headers);
    assert_eq!(check(&gateway, "/a", &head), Ok(()));
    let lookup = |name: &str| (name == "S").then(|| "origin".to_owned());
    let request = through(&gateway, "/a?b=c", &head, &lookup).expect("a request");
    assert_eq!(request.url, format!("{BASE}/a?b=c"));
    let sent: Vec<(&str, &str)> = request.headers.iter().collect();
    assert_eq!(
        sent,
        [
            ("if-none-match", "\"7\""),
            ("range", "bytes=0-1"),
            ("authorization", "Bearer origin"),
        ]
    );
    let problem = through(&gateway, "/a", &head, &|_| None).expect_err("no secret");
    assert_eq!(problem.code, Code::Misconfigured);
    assert_eq!(problem.reason.as_deref(), Some("secret S is not set"));
    let problem = through(&gateway, "/..", &head, &lookup).expect_err("out of the base");
    assert_eq!(problem.code, Code::InputInvalid);
}

#[test]
fn answers_lose_what_belongs_to_the_connection_and_to_us() {
    let names = "connection keep-alive proxy-authenticate proxy-connection te trailer \
        transfer-encoding upgrade set-cookie set-cookie2 idempotent-replayed onceward-task-id \
        x-hop content-length";
    let mut headers: Headers = names
        .split_whitespace()
        .map(|name| (name, "x-hop"))
        .collect();
    assert_eq!(passed_on("GET", &headers), Headers::default());
    assert_eq!(passed_on("HEAD", &headers).len(), 1);
    for name in [
        "etag",
        "content-encoding",
        "x-ratelimit-remaining",
        "age",
        "via",
        "x-request-id",
    ] {
        headers.push(name, "v");
    }
    assert_eq!(passed_on("GET", &headers).len(), 6);
}
