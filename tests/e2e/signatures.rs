//! GitHub's signature, over HTTP.

use crate::support::{Request, fresh, github, github_signature, sample, shared};

fn unsigned(body: &[u8]) -> Request {
    Request::post("/hooks/github")
        .field("X-GitHub-Event", "push")
        .field("X-GitHub-Delivery", fresh("signature"))
        .field("Content-Type", "application/json")
        .body(body)
}

/// F41: bytes, not JSON.
#[test]
fn a_signature_is_over_the_bytes_as_they_came() {
    let odd: [&[u8]; 6] = [
        "{\"foo\":\"Foo\\n\\u001B[34mbar: ♥♥♥\\nthis-is-lost\\u001B[0m\\u001B[2K\"}".as_bytes(),
        br#"{"foo":"\\u001b"}"#,
        b"{\"a\": 1 }",
        b"{\"a\":1,\"a\":2}",
        b"{\"a\":1}\n",
        "{\"tier\":\"\u{1f389} Friend\",\"name\":\"Zo\u{eb}\"}".as_bytes(),
    ];
    for body in odd {
        let answer = shared().send(&github(&fresh("odd"), body));
        assert_eq!(
            answer.status,
            200,
            "{}: {}",
            String::from_utf8_lossy(body),
            answer.shown()
        );
    }
    // The same document, written in another way, has another signature.
    for (signed, sent) in [
        (&br#"{"a":1}"#[..], &b"{\"a\": 1 }"[..]),
        (br#"{"a":2}"#, br#"{"a":1,"a":2}"#),
        (b"{\"e\":\"\\u001b\"}", b"{\"e\":\"\\u001B\"}"),
        (b"{\"a\":1}", b"{\"a\":1}\n"),
    ] {
        let signature = github_signature(crate::support::SECRET, signed);
        let answer = shared().send(&unsigned(sent).field("X-Hub-Signature-256", signature));
        answer.expect_problem(401, "unauthorized");
    }
}

/// F47, F49: whatever is wrong, it is the same 401.
#[test]
fn every_bad_signature_gets_the_same_401() {
    let body = sample("github/push.json");
    let right = github_signature(crate::support::SECRET, &body);
    let digits = right.trim_start_matches("sha256=");
    let refused = |request: Request| shared().send(&request).expect_problem(401, "unauthorized");
    let plain = refused(unsigned(&body));
    let other = github_signature("another secret", &body);
    let legacy = Request::field(
        unsigned(&body),
        "X-Hub-Signature",
        "sha1=0000000000000000000000000000000000000000",
    );
    assert_eq!(refused(legacy).body, plain.body);
    for value in [
        String::new(),
        digits.to_owned(),
        other,
        format!("sha256={}", &digits[..63]),
        format!("sha256={digits}0"),
        format!("sha256={}", "z".repeat(64)),
        format!("sha256={}", digits.to_uppercase()),
        format!("SHA256={digits}"),
        format!("sha1={digits}"),
        format!("sha256= {digits}"),
        format!("{right},{right}"),
        format!("sha256={}", "0".repeat(10_000)),
        "sha256=".to_owned(),
    ] {
        let answer = refused(unsigned(&body).field("X-Hub-Signature-256", &value));
        assert_eq!(answer.body, plain.body, "{value}");
        assert!(answer.field("WWW-Authenticate").is_some());
    }
    let twice = unsigned(&body)
        .field("X-Hub-Signature-256", &right)
        .field("X-Hub-Signature-256", &right);
    assert_eq!(refused(twice).body, plain.body);
    let raw = unsigned(&body).field("X-Hub-Signature-256", b"sha256=\xe9\xff");
    assert_eq!(refused(raw).body, plain.body);
    // The right one still opens.
    shared()
        .send(&unsigned(&body).field("X-Hub-Signature-256", &right))
        .expect(200);
}

/// F47: other methods run nothing either.
#[test]
fn other_methods_on_the_webhook_address_run_nothing() {
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let request = Request::new(method, "/hooks/github").field("X-GitHub-Delivery", "d");
        let mut connection = shared().connect();
        connection.send(&request).expect("sent");
        let answer = connection.receive(method).expect("an answer");
        assert!(
            matches!(answer.status, 401 | 405),
            "{method}: {}",
            answer.shown()
        );
        assert!(answer.field("Onceward-Task-Id").is_none());
    }
}
