//! The order of checks, pair by pair, and what an admitted delivery carries.

use super::*;
use crate::config::{Builder, Source};
use crate::http::hook::{Arrived, What, admit_hook, check_hook};
use crate::http::{auth::Scope, auth::Tokens, route::Access};
use crate::types::{Answer, Policy};

#[derive(Debug)]
struct Fake(Policy);

impl Named for Fake {
    fn name(&self) -> &'static str {
        "event"
    }
    fn policy(&self) -> &Policy {
        &self.0
    }
}

fn app() -> App<Fake> {
    let policy = Policy {
        respond_within_ms: 1_500,
        ..Policy::default()
    };
    Builder::new()
        .function(Fake(policy))
        .source(
            Source::github("github")
                .secret("SECRET")
                .runs("event")
                // Without the signed bytes, which name a delivery that has no name.
                .keyed_by([KeyRule::Header("x-github-delivery".to_owned())]),
        )
        .source(
            Source::generic("inbox")
                .runs("event")
                .tenant("acme")
                .own_5xx(true)
                .respond_within_ms(700),
        )
        .build()
        .expect("good")
}

const BODY: &[u8] = b"Hello, World!";
const SIGNATURE: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

fn secret(name: &str) -> Option<String> {
    (name == "SECRET").then(|| "It's a Secret to Everybody".to_owned())
}

/// One request with any of these faults, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    UnknownName,
    DeclaredTooLarge,
    HeadersTooLarge,
    BodyTooLarge,
    NoSecret,
    BadProof,
    MissingKey,
    MalformedKey,
}

const HOOK_FAULTS: &[(Fault, u16)] = &[
    (Fault::UnknownName, 404),
    (Fault::DeclaredTooLarge, 413),
    (Fault::HeadersTooLarge, 431),
    (Fault::BodyTooLarge, 413),
    (Fault::NoSecret, 500),
    (Fault::BadProof, 401),
    (Fault::MissingKey, 400),
    (Fault::MalformedKey, 400),
];

struct Request {
    name: &'static str,
    headers: Headers,
    body: Vec<u8>,
}

fn request(
    faults: &[Fault],
    good_name: &'static str,
    proof: (&str, &str),
    key_name: &str,
) -> Request {
    let has = |fault| faults.contains(&fault);
    let mut headers = Headers::default();
    headers.push("Content-Type", "text/plain");
    headers.push("Cookie", "SEC-1");
    let (field, value) = proof;
    let spoiled = format!("{value}0");
    headers.push(
        field,
        if has(Fault::BadProof) {
            &spoiled
        } else {
            value
        },
    );
    if has(Fault::MalformedKey) {
        headers.push(key_name, "a b");
    } else if !has(Fault::MissingKey) {
        headers.push(key_name, "k1");
    }
    if has(Fault::DeclaredTooLarge) {
        headers.push("Content-Length", (MAX_BODY_BYTES + 1).to_string());
    }
    if has(Fault::HeadersTooLarge) {
        headers.push("User-Agent", "x".repeat(MAX_HEADER_BYTES));
    }
    let body = if has(Fault::BodyTooLarge) {
        vec![b'x'; READ_CAP]
    } else {
        BODY.to_vec()
    };
    let name = if has(Fault::UnknownName) {
        "nobody"
    } else {
        good_name
    };
    Request {
        name,
        headers,
        body,
    }
}

/// The only task of a webhook.
fn admitted(
    app: &App<Fake>,
    source: &str,
    delivery: &Delivery<'_>,
    body: Vec<u8>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Admitted, Problem> {
    let arrived = Arrived {
        delivery,
        tenant: None,
        now_ms: 0,
    };
    match admit_hook(app, source, &arrived, body, lookup)?.what {
        What::Task(admitted) => Ok(*admitted),
        other => panic!("not one task: {other:?}"),
    }
}

fn hook(faults: &[Fault]) -> Result<Admitted, Problem> {
    let r = request(
        faults,
        "github",
        ("X-Hub-Signature-256", SIGNATURE),
        "X-GitHub-Delivery",
    );
    let delivery = Delivery {
        method: "POST",
        target: "/hooks/github?a=1",
        headers: &r.headers,
    };
    let lookup = |name: &str| secret(name).filter(|_| !faults.contains(&Fault::NoSecret));
    admitted(&app(), r.name, &delivery, r.body, &lookup)
}

fn call(faults: &[Fault]) -> Result<Admitted, Problem> {
    let r = request(
        faults,
        "event",
        ("Authorization", "Bearer token"),
        "Idempotency-Key",
    );
    let delivery = Delivery {
        method: "POST",
        target: "/v1/functions/event",
        headers: &r.headers,
    };
    admit_call(
        &app(),
        r.name,
        &delivery,
        r.body,
        &Tokens::single(Some("token")).gate(Access::Token(Scope::Invoke)),
        "fresh",
    )
}

fn answer(got: Result<Admitted, Problem>) -> Answer {
    got.expect_err("refused").to_answer()
}

#[test]
fn of_two_faults_the_earlier_check_answers() {
    for (i, (first, status)) in HOOK_FAULTS.iter().enumerate() {
        assert_eq!(answer(hook(&[*first])).status, *status, "{first:?}");
        if *first != Fault::NoSecret {
            assert_eq!(answer(call(&[*first])).status, *status, "call: {first:?}");
        }
        for (second, _) in &HOOK_FAULTS[i + 1..] {
            // One field can't be missing and malformed at once.
            if (*first, *second) == (Fault::MissingKey, Fault::MalformedKey) {
                continue;
            }
            let both = [*first, *second];
            assert_eq!(answer(hook(&both)), answer(hook(&[*first])), "{both:?}");
            if *first != Fault::NoSecret {
                assert_eq!(
                    answer(call(&both)),
                    answer(call(&[*first])),
                    "call: {both:?}"
                );
            }
        }
    }
}

#[test]
fn the_head_alone_refuses_what_the_head_shows() {
    let (app, faults) = (app(), [Fault::BadProof, Fault::MalformedKey]);
    for (extra, want) in [
        (None, None),
        (Some(Fault::UnknownName), Some(404)),
        (Some(Fault::DeclaredTooLarge), Some(413)),
        (Some(Fault::HeadersTooLarge), Some(431)),
    ] {
        let faults: Vec<Fault> = faults.into_iter().chain(extra).collect();
        let r = request(
            &faults,
            "github",
            ("X-Hub-Signature-256", SIGNATURE),
            "X-GitHub-Delivery",
        );
        let delivery = Delivery {
            method: "POST",
            target: "/hooks/github",
            headers: &r.headers,
        };
        let arrived = Arrived {
            delivery: &delivery,
            tenant: None,
            now_ms: 0,
        };
        let got = check_hook(&app, r.name, &arrived)
            .err()
            .map(|p| p.code.status());
        assert_eq!(got, want, "{extra:?}");
        let name = if r.name == "github" { "event" } else { r.name };
        let got = check_call(&app, name, &delivery)
            .err()
            .map(|p| p.code.status());
        assert_eq!(got, want, "call: {extra:?}");
    }
}

#[test]
fn the_largest_body_is_admitted_and_odd_lengths_are_left_to_the_count() {
    let app = app();
    for (length, body, want) in [
        (MAX_BODY_BYTES.to_string(), MAX_BODY_BYTES, None),
        ("1".to_owned(), MAX_BODY_BYTES + 1, Some(Code::BodyTooLarge)),
        (
            "99999999999999999999999999".to_owned(),
            0,
            Some(Code::BodyTooLarge),
        ),
        ("-1".to_owned(), 0, None),
        (String::new(), 0, None),
        ("x".to_owned(), MAX_BODY_BYTES + 1, Some(Code::BodyTooLarge)),
    ] {
        let headers: Headers = [("Idempotency-Key", "k"), ("Content-Length", &length)]
            .into_iter()
            .collect();
        let delivery = Delivery {
            method: "POST",
            target: "/hooks/inbox",
            headers: &headers,
        };
        let got = admitted(&app, "inbox", &delivery, vec![0; body], &|_| None);
        assert_eq!(got.err().map(|p| p.code), want, "{length:?} {body}");
    }
}

#[test]
fn a_webhook_is_admitted_as_its_source_says() {
    let got = hook(&[]).expect("admitted");
    assert_eq!(got.key, TaskKey::new(TaskKind::Source, "github", "", "k1"));
    assert_eq!(got.function, "event");
    assert_eq!(got.fingerprint, None);
    assert_eq!(got.mode, Mode::Webhook { own_5xx: false });
    assert_eq!(got.respond_within_ms, 1_500);
    assert_eq!(got.input.body, BODY);
    let names: Vec<&str> = got.input.headers.iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        ["content-type", "x-github-delivery", "onceward-signed-by"]
    );
    assert_eq!(got.input.headers.get("onceward-signed-by"), Some("0"));

    let headers: Headers = [("X-Request-ID", "r1"), ("Prefer", "respond-async, wait=3")]
        .into_iter()
        .collect();
    let delivery = Delivery {
        method: "POST",
        target: "/hooks/inbox?a=1",
        headers: &headers,
    };
    let got = admitted(&app(), "inbox", &delivery, BODY.to_vec(), &|_| None).expect("admitted");
    assert_eq!(
        got.key,
        TaskKey::new(TaskKind::Source, "inbox", "acme", "r1")
    );
    let fingerprint = crate::webhook::fingerprint::raw("POST", "/hooks/inbox?a=1", BODY);
    assert_eq!(got.fingerprint.map(|f| f.hash), Some(fingerprint));
    assert_eq!(got.mode, Mode::Webhook { own_5xx: true });
    assert_eq!(got.respond_within_ms, 700);
    assert!(got.prefer.respond_async && got.prefer.wait_s == Some(3));
}

#[test]
fn a_call_is_admitted_with_a_fingerprint() {
    let got = call(&[]).expect("admitted");
    assert_eq!(got.key, TaskKey::new(TaskKind::Function, "event", "", "k1"));
    let fingerprint = crate::webhook::fingerprint::raw("POST", "/v1/functions/event", BODY);
    assert_eq!(got.fingerprint.map(|f| f.hash), Some(fingerprint));
    assert_eq!(got.mode, Mode::Call);
    let names: Vec<&str> = got.input.headers.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["content-type"]);
}

#[test]
fn refusals_tell_the_log_why_and_the_sender_nothing() {
    let problem = hook(&[Fault::BadProof]).expect_err("refused");
    let reason = problem.reason.clone().expect("reason");
    assert_eq!(
        reason,
        "source github: x-hub-signature-256 is malformed: it is not lower-case hex"
    );
    let sent = String::from_utf8(problem.to_answer().body).expect("UTF-8");
    assert!(!sent.contains("hex") && !sent.contains("github"), "{sent}");

    let problem = hook(&[Fault::NoSecret]).expect_err("refused");
    assert_eq!(
        problem.reason.as_deref(),
        Some("source github: secret SECRET is not set")
    );
    let answer = problem.to_answer();
    assert_eq!(answer.headers.get("retry-after"), Some("60"));
    assert!(
        !String::from_utf8(answer.body)
            .expect("UTF-8")
            .contains("SECRET")
    );
}

/// A call is unpacked before it is compared: a repeat may be packed in another way, or not at all.
#[test]
fn packed_calls_are_compared_by_their_content() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;
    let packed = |level| {
        let mut encoder = GzEncoder::new(Vec::new(), level);
        encoder.write_all(BODY).expect("memory");
        encoder.finish().expect("memory")
    };
    let called = |coding: Option<&str>, body: Vec<u8>| {
        let mut headers: Headers = [("Authorization", "Bearer token"), ("Idempotency-Key", "k1")]
            .into_iter()
            .collect();
        if let Some(coding) = coding {
            headers.push("content-encoding", coding);
        }
        let delivery = Delivery {
            method: "POST",
            target: "/v1/functions/event",
            headers: &headers,
        };
        admit_call(
            &app(),
            "event",
            &delivery,
            body,
            &Tokens::single(Some("token")).gate(Access::Token(Scope::Invoke)),
            "fresh",
        )
    };
    let plain = called(None, BODY.to_vec()).expect("plain");
    for level in [Compression::best(), Compression::none()] {
        let got = called(Some("gzip"), packed(level)).expect("packed");
        assert_eq!(
            (got.fingerprint, got.input.body),
            (plain.fingerprint.clone(), BODY.to_vec())
        );
    }
    for (coding, body, want) in [
        ("br", BODY.to_vec(), Code::UnsupportedEncoding),
        ("gzip", BODY.to_vec(), Code::InputInvalid),
    ] {
        assert_eq!(called(Some(coding), body).expect_err("refused").code, want);
    }
}
