//! What an endpoint of notifications gets, and how often.

use onceward::config::Endpoints;
use onceward::function::notify::{NOTIFY, notify};
use onceward::function::{FetchError, Headers, Input};
use onceward::protocol::State;
use onceward::testing::{Bench, Reaction, Sent};
use onceward::webhook::{Arrival, KeyForm, Scheme, Secret};
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;

const URL: &str = "https://ops.example.com/hook";
const MINUTE_MS: u64 = 60_000;

fn secret(bytes: u8) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode([bytes; 24]);
    format!("{}{text}", ["wh", "sec_"].concat())
}

fn endpoints() -> Rc<Endpoints> {
    let declared = json!({"ops": {"url": URL, "secrets": ["NEW", "OLD"]}});
    let (endpoints, problems) = Endpoints::read(Some(&declared));
    assert!(problems.is_empty(), "{problems:?}");
    Rc::new(endpoints)
}

fn input() -> Input {
    raised(7)
}

/// Of something that came up at this time.
fn raised(at_ms: u64) -> Input {
    let body = json!({
        "endpoint": "ops", "id": "task-1:task-failed:7", "at_ms": at_ms,
        "message": {"type": "task.failed", "timestamp": "2026-11-30T00:00:00.000Z", "data": {"task_id": "1"}},
    });
    Input {
        headers: Headers::default(),
        body: body.to_string().into_bytes(),
    }
}

fn bench(react: impl Fn(&Sent) -> Reaction + 'static) -> Bench {
    Bench::new(notify(endpoints()))
        .secret("NEW", &secret(1))
        .secret("OLD", &secret(2))
        .outside(react)
}

fn told(mut bench: Bench) -> Bench {
    bench.deliver("k", input()).expect("accepted");
    bench.run_until_idle();
    bench
}

/// W-5 to W-14: whoever has one of the secrets can verify it, with the receiver's side of the same standard.
#[test]
fn a_message_is_signed_by_every_secret() {
    let bench = told(bench(|_| Reaction::json(204, "")));
    let [sent] = &bench.requests()[..] else {
        panic!("one request")
    };
    assert_eq!(
        (sent.request.method.as_str(), sent.request.url.as_str()),
        ("POST", URL)
    );
    let field = |name| sent.request.headers.get(name).expect(name);
    assert_eq!(field("webhook-id"), "task-1:task-failed:7");
    assert_eq!(field("webhook-signature").split(' ').count(), 2);
    assert!(sent.request.body.len() < 20 << 10);
    for bytes in [1, 2, 3] {
        let secret = Secret::read(&secret(bytes), KeyForm::Whsec).expect("a secret");
        let arrival = Arrival {
            method: "POST",
            target: "/hook",
            public_url: None,
            headers: &sent.request.headers,
            body: &sent.request.body,
            now_ms: bench.now_ms(),
        };
        let scheme = Scheme::StandardWebhooks { tolerance_s: None };
        let verdict = scheme.verify(&arrival, &[secret]);
        assert_eq!(verdict.is_ok(), bytes < 3, "{bytes}");
    }
    assert_eq!(bench.task("k").expect("a task").state, State::Succeeded);
}

/// W-7, W-22, W-24: the same id on every try, an own time and signature on each.
#[test]
fn what_fails_is_tried_again_with_the_same_id() {
    let tries = Rc::new(Cell::new(0));
    let count = Rc::clone(&tries);
    let bench = told(bench(move |_| {
        count.set(count.get() + 1);
        match count.get() {
            1 => Reaction::json(500, ""),
            2 => Reaction::json(302, "").header("location", "https://elsewhere.example"),
            3 => Reaction::json(429, "").header("retry-after", "1800"),
            4 => Reaction::error(FetchError::Network("broken".into())),
            _ => Reaction::json(200, ""),
        }
    }));
    let sent = bench.requests();
    assert_eq!(sent.len(), 5);
    let field = |name| -> Vec<&str> {
        sent.iter()
            .map(|sent| sent.request.headers.get(name).expect(name))
            .collect()
    };
    assert!(
        field("webhook-id")
            .iter()
            .all(|id| *id == "task-1:task-failed:7")
    );
    let mut times = field("webhook-timestamp");
    times.dedup();
    assert_eq!(times.len(), 5, "{times:?}");
    let mut signatures = field("webhook-signature");
    signatures.dedup();
    assert_eq!(signatures.len(), 5);
    // Retry-After is followed.
    let at = |n: usize| times[n].parse::<u64>().expect("a number");
    assert!(at(3) - at(2) >= 1_800);
    assert!(
        sent.iter().all(|sent| sent.request.url == URL),
        "redirects are not followed"
    );
}

#[test]
fn it_is_tried_over_days_and_then_fails_where_it_can_be_seen() {
    let bench = told(bench(|_| Reaction::json(503, "")));
    assert_eq!(bench.requests().len() % 10, 0, "ten tries in each attempt");
    let task = bench.task("k").expect("a task");
    assert!(matches!(task.state, State::Failed { .. }));
    assert!(task.finished_ms.expect("over") - task.created_ms > 3 * 24 * 60 * MINUTE_MS);
    assert!(
        task.debts.list.is_empty(),
        "nobody is told that nobody could be told"
    );
}

#[test]
fn an_endpoint_that_is_gone_is_left_alone() {
    let mut bench = told(bench(|_| Reaction::json(410, "")));
    assert_eq!(bench.requests().len(), 1);
    let failure = bench.task("k").expect("a task").failure.expect("failed");
    assert_eq!(failure.code, "endpoint_disabled");
    // What was on its way has failed, and can be tried again once the endpoint is enabled.
    bench.deliver("other", input()).expect("accepted");
    bench.run_until_idle();
    let task = bench.task("other").expect("a task");
    assert!(matches!(task.state, State::Failed { .. }));
    assert_eq!(task.failure.expect("failed").code, "endpoint_disabled");
    // What comes up from now on is nothing that it wants.
    bench
        .deliver("later", raised(bench.now_ms() + 1))
        .expect("accepted");
    bench.run_until_idle();
    assert_eq!(bench.task("later").expect("a task").state, State::Succeeded);
    let answer = bench.answer("later").expect("an answer");
    let answer: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!(answer, json!({"endpoint": "ops", "skipped": "disabled"}));
    assert_eq!(bench.requests().len(), 1, "not even asked");
}

#[test]
fn without_a_usable_secret_nothing_is_sent() {
    for value in ["", "whsec_", "nonsense\n"] {
        let bench = Bench::new(notify(endpoints()))
            .secret("NEW", value)
            .secret("OLD", &secret(2));
        let bench = told(bench);
        assert!(bench.requests().is_empty(), "{value:?}");
        let failure = bench.task("k").expect("a task").failure.expect("failed");
        assert_eq!(failure.code, "secret_unusable");
        assert!(failure.message.contains("NEW"), "{}", failure.message);
    }
}

#[test]
fn no_address_leads_to_it() {
    assert!(!onceward::config::is_route_name(NOTIFY));
}
