//! Deliveries: `METHOD TARGET`, fields, body. A field `signed` asks for a signature that holds.

use super::input::{SECRET, TOKEN, hmac_hex, is_whole, written};
use onceward::config::{App, Builder, Source};
use onceward::function::Function;
use onceward::http::admit::{Admitted, Delivery, admit_call};
use onceward::http::auth::{Scope, Tokens};
use onceward::http::body::{Bodies, Rule, decode};
use onceward::http::code::Code;
use onceward::http::headers::is_credential;
use onceward::http::hook::{Arrived, What, admit_hook, check_hook};
use onceward::http::problem::Problem;
use onceward::http::route::Access;
use onceward::limits::MAX_BODY_BYTES;
use onceward::types::Headers;
use onceward::webhook::fingerprint::raw;

thread_local! {
    static APP: App<Function> = onceward::functions::all()
        .into_iter()
        .fold(Builder::<Function>::new(), Builder::function)
        .source(Source::github("github").secret("S").runs("github-event"))
        .source(Source::generic("inbox").runs("inbox"))
        .build()
        .expect("a good configuration");
}

pub fn check(data: &[u8]) {
    let mut request = written(data);
    let (method, target) = request
        .first
        .split_once(' ')
        .unwrap_or(("POST", &request.first));
    let signature = format!("sha256={}", hmac_hex(SECRET, &[&request.body]));
    if request.headers.get("signed").is_some() {
        request
            .headers
            .push("x-hub-signature-256", signature.as_str());
    }
    let delivery = Delivery {
        method,
        target,
        headers: &request.headers,
    };
    APP.with(|app| {
        if method == "POST" {
            declared(app, &delivery);
        }
        // What the function gets, and what is compared, is the content.
        let content = decode(&request.headers, request.body.clone(), Rule::Either);
        let content = content.map(Bodies::into_plain).unwrap_or_default();
        let lookup = |_: &str| Some(SECRET.to_owned());
        let hook = |source: &str| {
            let body = request.body.clone();
            match admit_hook(app, source, &arrived(&delivery), body, &lookup)?.what {
                What::Task(admitted) => Ok(*admitted),
                other => panic!("not one task: {other:?}"),
            }
        };
        if method != "POST" {
            assert!(judged(hook("inbox")).is_none(), "{method}");
            return;
        }
        if let Some(admitted) = judged(hook("github")) {
            let shown: Vec<_> = request
                .headers
                .iter()
                .filter(|(n, _)| *n == "x-hub-signature-256")
                .collect();
            let of_content = format!("sha256={}", hmac_hex(SECRET, &[&content]));
            let proven = [&*signature, &*of_content].map(|good| [("x-hub-signature-256", good)]);
            assert!(proven.iter().any(|good| shown == good), "unsigned");
            assert_eq!(
                Some(&*admitted.key.key),
                request.headers.get("x-github-delivery")
            );
            assert_eq!(admitted.fingerprint, None);
            is_whole_input(&admitted, &content);
        }
        let gate = Tokens::single(Some(TOKEN)).gate(Access::Token(Scope::Invoke));
        let call = admit_call(app, "echo", &delivery, request.body.clone(), &gate, "r");
        let call = judged(call);
        if call.is_some() {
            let mut fields = request.headers.iter();
            let mut shown = fields.by_ref().filter(|(n, _)| *n == "authorization");
            let one = shown.next().is_some_and(|(_, v)| v.ends_with(TOKEN));
            assert!(one && shown.next().is_none(), "without the token");
        }
        for admitted in [judged(hook("inbox")), call].into_iter().flatten() {
            assert_eq!(
                admitted.fingerprint.as_ref().map(|f| f.hash.clone()),
                Some(raw(method, target, &content))
            );
            is_whole_input(&admitted, &content);
        }
        assert_eq!(
            judged(hook("inbox")),
            judged(hook("inbox")),
            "the same again"
        );
        assert!(judged(hook("nowhere")).is_none());
    });
}

fn arrived<'a>(delivery: &'a Delivery<'a>) -> Arrived<'a> {
    Arrived {
        delivery,
        tenant: None,
        now_ms: 0,
    }
}

fn judged(admitted: Result<Admitted, Problem>) -> Option<Admitted> {
    admitted.map_err(|problem| is_whole(&problem)).ok()
}

fn is_whole_input(admitted: &Admitted, body: &[u8]) {
    assert_eq!(admitted.input.body, body);
    assert!(
        admitted
            .input
            .headers
            .iter()
            .all(|(name, _)| !is_credential(name))
    );
    assert!((1..=255).contains(&admitted.key.key.len()));
}

/// A length in the head that is too large is refused before the body is read.
fn declared(app: &App<Function>, delivery: &Delivery<'_>) {
    let only = |headers: &Headers| headers.get("content-length").map(str::to_owned);
    let length = only(delivery.headers).unwrap_or_default();
    let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
    let large = digits && length.parse::<usize>().is_ok_and(|n| n > MAX_BODY_BYTES);
    let got = check_hook(app, "inbox", &arrived(delivery)).map_err(|problem| problem.code);
    if large {
        assert_eq!(got.err(), Some(Code::BodyTooLarge), "{length}");
    } else if !digits {
        assert_ne!(got.err(), Some(Code::BodyTooLarge), "{length}");
    }
}
