//! What an operator may write, what is wrong with what he writes, and the answer.

use super::*;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const NOW_MS: u64 = 1_764_460_800_000;

fn ask(scheme: &Scheme, secret: &str, url: Option<&str>, request: &Value) -> Value {
    let secrets = [SecretAt {
        name: "NAME",
        text: secret,
        expired: false,
    }];
    let subject = Subject {
        name: "a",
        scheme,
        secrets: &secrets,
        public_url: url,
        encoding: Rule::Either,
    };
    let request = request.to_string();
    let answer = explain(&subject, request.as_bytes(), NOW_MS).expect("an answer");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers.get("cache-control"), Some("no-store"));
    assert_eq!(answer.headers.get("content-type"), Some("application/json"));
    serde_json::from_slice(&answer.body).expect("JSON")
}

fn github(request: &Value) -> Value {
    let secret = "It's a Secret to Everybody";
    ask(&Scheme::github(), secret, None, request)
}

const GOOD: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

#[test]
fn a_delivery_can_be_described_in_several_ways() {
    for request in [
        json!({"headers": {"X-Hub-Signature-256": GOOD}, "body": "Hello, World!"}),
        json!({"headers": [["X-HUB-SIGNATURE-256", GOOD]], "body": "Hello, World!"}),
        json!({"headers": {"x-hub-signature-256": GOOD}, "body_base64": "SGVsbG8sIFdvcmxkIQ=="}),
        json!({"headers": {"x-hub-signature-256": GOOD}, "body": "Hello, World!", "method": "PUT",
            "target": "/a?b", "now": "2026-11-30T03:00:00Z"}),
        json!({"headers": {"x-hub-signature-256": GOOD}, "body": "Hello, World!", "url": "https://a.example/b?c"}),
    ] {
        let found = github(&request);
        assert_eq!(found["verdict"], "accepted", "{request}");
        assert_eq!(found["source"], "a");
        assert_eq!(found["secret"], json!({"index": 0, "name": "NAME"}));
        assert_eq!(found["findings"][0]["code"], "holds");
        let at = if request["now"].is_null() {
            "2025-11-30T00:00:00.000Z"
        } else {
            "2026-11-30T03:00:00.000Z"
        };
        assert_eq!(found["at"], at);
    }
    // A field twice, and nothing at all.
    let twice = json!({"headers": [["x-hub-signature-256", GOOD], ["x-hub-signature-256", GOOD]]});
    assert_eq!(github(&twice)["findings"][0]["code"], "header_repeated");
    assert_eq!(github(&json!({}))["findings"][0]["code"], "header_missing");
}

#[test]
fn the_url_of_the_request_is_used() {
    use crate::webhook::scheme::{Algorithm, Form};
    let signed = "https://b.example/hooks/a?t=1";
    let form = Form::new(Algorithm::HmacSha256, "x-signature").base64();
    let scheme = Scheme::Form(form.signing("{url}{body}".parse().expect("a template")));
    let mut mac = Hmac::<Sha256>::new_from_slice(b"secret").expect("any key");
    mac.update(signed.as_bytes());
    mac.update(b"{}");
    let digest = STANDARD.encode(mac.finalize().into_bytes());
    let request = |member: &str, value: &str| json!({"headers": {"x-signature": digest}, "body": "{}", member: value});
    let says = |found: &Value| found["findings"][0]["says"].as_str().map(str::to_owned);
    let found = ask(
        &scheme,
        "secret",
        Some("https://a.example/hooks/a"),
        &request("url", signed),
    );
    assert!(
        says(&found)
            .expect("a sentence")
            .contains("the URL of this request")
    );
    let found = ask(
        &scheme,
        "secret",
        Some("https://b.example/hooks/a"),
        &request("url", signed),
    );
    assert!(
        says(&found)
            .expect("a sentence")
            .contains("path and query of this request")
    );
    let found = ask(
        &scheme,
        "secret",
        Some("https://b.example/hooks/b"),
        &request("target", "/hooks/a?t=1"),
    );
    assert!(
        says(&found)
            .expect("a sentence")
            .contains("path and query of this request")
    );
    let found = ask(&scheme, "secret", Some(signed), &request("target", "/"));
    assert_eq!(found["verdict"], "accepted");
}

fn refused(request: &str) -> Problem {
    let problem = Described::read(request.as_bytes()).err();
    let problem = problem.unwrap_or_else(|| panic!("{request} was taken"));
    assert_eq!(problem.code, Code::InputInvalid);
    let shown = problem.to_answer();
    let text = String::from_utf8(shown.body).expect("UTF-8");
    assert!(!text.contains("SEC-"), "{text}");
    problem
}

#[test]
fn everything_that_is_wrong_is_named_and_no_value_repeated() {
    let large = format!(r#"{{"body": "{}"}}"#, "x".repeat((1 << 20) + 1));
    let long = "x".repeat((16 << 10) + 1);
    let many: Vec<[&str; 2]> = vec![["a", "b"]; 201];
    let many = json!({ "headers": many }).to_string();
    for (request, pointer) in [
        (r#"{"bdy": "SEC-1"}"#, "/bdy"),
        (r#"{"a/b~": "SEC-1"}"#, "/a~1b~0"),
        (r#"{"body": {"SEC-1": 1}}"#, "/body"),
        (r#"{"body": "SEC-1", "body_base64": ""}"#, "/body_base64"),
        (r#"{"body_base64": "SEC-1"}"#, "/body_base64"),
        (r#"{"body_base64": 1}"#, "/body_base64"),
        (r#"{"headers": "SEC-1"}"#, "/headers"),
        (r#"{"headers": {"x-a": 1}}"#, "/headers/x-a"),
        (r#"{"headers": {"x a": "SEC-1"}}"#, "/headers/x a"),
        (r#"{"headers": [["x-a"]]}"#, "/headers/0"),
        (
            r#"{"headers": [["x-a", "1"], ["x-a", "SEC-1", "2"]]}"#,
            "/headers/1",
        ),
        (r#"{"headers": [[1, "SEC-1"]]}"#, "/headers/0"),
        (r#"{"headers": [["x-a", ["SEC-1"]]]}"#, "/headers/0"),
        (r#"{"headers": [["", "SEC-1"]]}"#, "/headers/0"),
        (r#"{"method": "SEC- 1"}"#, "/method"),
        (r#"{"method": 1}"#, "/method"),
        (r#"{"target": "SEC-1"}"#, "/target"),
        (r#"{"target": "/", "url": "https://a.example/"}"#, "/url"),
        (r#"{"url": "SEC-1"}"#, "/url"),
        (r#"{"url": "ftp://a.example/SEC-1"}"#, "/url"),
        (r#"{"url": 1}"#, "/url"),
        (r#"{"now": "SEC-1"}"#, "/now"),
        (r#"{"now": 1700000000}"#, "/now"),
        (r#"{"now": "1960-01-01T00:00:00Z"}"#, "/now"),
        (&large, "/body"),
        (
            &format!(r#"{{"headers": {{"a": "{long}"}}}}"#),
            "/headers/a",
        ),
        (&format!(r#"{{"url": "https://a.example/{long}"}}"#), "/url"),
        (&format!(r#"{{"target": "/{long}"}}"#), "/target"),
        (&format!(r#"{{"method": "{}"}}"#, "A".repeat(33)), "/method"),
        (&many, "/headers"),
    ] {
        let problem = refused(request);
        let pointers: Vec<&str> = problem.errors.iter().map(|c| &*c.pointer).collect();
        assert_eq!(pointers, [pointer], "{}", &request[..request.len().min(80)]);
    }
    for request in ["", "SEC-1", "[]", "\"SEC-1\"", "null"] {
        assert!(refused(request).errors.is_empty(), "{request}");
    }
    assert_eq!(refused(r#"{"a": 1, "b": 2, "now": 3}"#).errors.len(), 3);
    let wrong: serde_json::Map<String, Value> =
        (0..50).map(|n| (n.to_string(), json!(1))).collect();
    assert_eq!(refused(&Value::Object(wrong).to_string()).errors.len(), 20);
}

#[test]
fn names_are_cut() {
    let name = "n".repeat(5_000);
    let problem = refused(&json!({ name.clone(): 1 }).to_string());
    assert_eq!(problem.errors[0].pointer.len(), 101);
    let problem = refused(&json!({"headers": { name: 1 }}).to_string());
    assert!(problem.errors[0].pointer.len() < 200);
}

#[test]
fn paths_of_urls_are_taken_as_written() {
    for (url, path) in [
        ("https://a.example/b?c=%20#d", "/b?c=%20"),
        ("https://a.example", "/"),
        ("https://a.example?x=/", "/?x=/"),
        ("http://a.example/%2F/../b", "/%2F/../b"),
    ] {
        assert_eq!(path_and_query(url), path);
    }
}

/// The examples of the page, with these secrets. Each request is followed by its answer.
#[test]
fn the_page_shows_what_is_answered() {
    let page = include_str!("../../docs/explain.md");
    let blocks: Vec<&str> = page
        .split("```json\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .collect();
    let [first, first_answer, second, second_answer] = blocks[..] else {
        panic!("wanted two requests, each with its answer: {blocks:?}");
    };
    let [current, previous] = ["c2VjcmV0IG9mIHRoZSBwYWdl", "cHJldmlvdXMgb2YgdGhlIHBhZ2U="]
        .map(|text| ["wh", "sec_", text].concat());
    let at = |name, text, expired| SecretAt {
        name,
        text,
        expired,
    };
    let github = Scheme::github();
    let standard = Scheme::StandardWebhooks {
        tolerance_s: Some(300),
    };
    for (name, scheme, secrets, request, answer) in [
        (
            "github",
            &github,
            &[at("GITHUB_WEBHOOK_SECRET", "a secret of the page", false)][..],
            first,
            first_answer,
        ),
        (
            "billing",
            &standard,
            &[
                at("BILLING_SECRET", &current, false),
                at("BILLING_SECRET_OLD", &previous, true),
            ],
            second,
            second_answer,
        ),
    ] {
        let subject = Subject {
            name,
            scheme,
            secrets,
            public_url: None,
            encoding: Rule::Either,
        };
        let given = explain(&subject, request.as_bytes(), NOW_MS).expect("an answer");
        let given: Value = serde_json::from_slice(&given.body).expect("JSON");
        let shown = serde_json::to_string_pretty(&given).expect("JSON");
        assert_eq!(
            answer, shown,
            "docs/explain.md is out of date; it should say\n{shown}\n"
        );
    }
}

#[test]
fn packed_bodies_by_the_rule_of_the_source() {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(b"Hello, World!").expect("packed");
    let wire = packer.finish().expect("packed");
    let scheme = Scheme::github();
    let secrets = [SecretAt {
        name: "NAME",
        text: "It's a Secret to Everybody",
        expired: false,
    }];
    let ask = |encoding, body: &[u8]| {
        let subject = Subject {
            name: "a",
            scheme: &scheme,
            secrets: &secrets,
            public_url: None,
            encoding,
        };
        let request = json!({
            "headers": {"x-hub-signature-256": GOOD, "content-encoding": "gzip"},
            "body_base64": STANDARD.encode(body),
        });
        let answer = explain(&subject, request.to_string().as_bytes(), 0).expect("an answer");
        let found: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let code = found["findings"][0]["code"].as_str().map(str::to_owned);
        (
            found["verdict"].as_str().map(str::to_owned),
            code.unwrap_or_default(),
        )
    };
    let accepted = (Some("accepted".to_owned()), "holds".to_owned());
    let refused = |code: &str| (Some("refused".to_owned()), code.to_owned());
    assert_eq!(ask(Rule::Either, &wire), accepted);
    assert_eq!(ask(Rule::Plain, &wire), accepted);
    assert_eq!(ask(Rule::Wire, &wire), refused("body_form"));
    assert_eq!(ask(Rule::Refuse, &wire), refused("body_encoded"));
    // Copied unpacked.
    assert_eq!(ask(Rule::Either, b"Hello, World!"), accepted);
    assert_eq!(ask(Rule::Either, b"Hello, World?"), refused("body_encoded"));
}

#[test]
fn secrets_of_a_source_by_name_and_end() {
    let source = Source::github("a")
        .secret("NOT_SET")
        .secret_until("OLD", Some(NOW_MS))
        .runs("echo");
    let lookup = |name: &str| (name == "OLD").then(|| "It's a Secret to Everybody".to_owned());
    let request = |now: &str| json!({"headers": {"x-hub-signature-256": GOOD}, "body": "Hello, World!", "now": now});
    let ask = |request: &Value| {
        let answer = explain_source(&source, request.to_string().as_bytes(), NOW_MS, &lookup);
        let answer = answer.expect("an answer");
        serde_json::from_slice::<Value>(&answer.body).expect("JSON")
    };
    let found = ask(&request("2025-11-30T00:00:00Z"));
    assert_eq!(found["verdict"], "closed", "a secret is not set");
    assert_eq!(found["findings"][0]["code"], "secret_expired");
    assert_eq!(found["findings"][1]["code"], "secret_faulty");
    let found = ask(&request("2025-11-29T23:59:59Z"));
    assert_eq!(
        found["findings"][0]["code"], "holds",
        "a second before its end"
    );
    assert_eq!(found["secret"], json!({"index": 1, "name": "OLD"}));
}
