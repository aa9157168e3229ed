//! The function of a gateway: what its origin sees, and what becomes of the answer.

use onceward::config::{ForwardKey, Gateway, WhenUnknown};
use onceward::function::{FetchError, Function, Headers, Input};
use onceward::http::admit::Delivery;
use onceward::http::auth::Caller;
use onceward::http::gateway::admit;
use onceward::limits::{MAX_ANSWER_BYTES, MAX_HEADER_BYTES};
use onceward::protocol::State;
use onceward::testing::{Action, Bench, Crashes, Reaction, Sent};
use onceward::types::{Answer, Keeps};
use std::collections::BTreeSet;

const BASE: &str = "https://api.example.com/v1";
const FOR_GOOD: State = State::Failed { resumable: false };
const RESUMABLE: State = State::Failed { resumable: true };

fn gateway() -> Gateway {
    Gateway::to("shop", BASE)
}

fn knows_keys() -> Gateway {
    gateway().honours_keys()
}

fn request(gateway: &Gateway, method: &str, target: &str, body: &[u8]) -> Input {
    let headers: Headers = [
        ("idempotency-key", "\"client-1\""),
        ("authorization", "Bearer SEC-api-token"),
        ("content-type", "application/json"),
    ]
    .into_iter()
    .collect();
    let delivery = Delivery {
        method,
        target: "/proxy/shop",
        headers: &headers,
    };
    let caller = Caller {
        name: "default".into(),
        tenant: String::new(),
    };
    let admitted = admit(gateway, target, &delivery, &caller, body.to_vec());
    admitted.expect("admitted").input
}

fn post(gateway: &Gateway) -> Input {
    request(gateway, "POST", "/charges?a=1", br#"{"n": 1.10}"#)
}

fn run(gateway: &Gateway, bench: impl Fn(Bench) -> Bench) -> Bench {
    let mut bench = bench(Bench::new(Function::from(gateway.clone())));
    bench.deliver("k", post(gateway)).expect("accepted");
    bench.run_until_idle();
    bench
}

fn code(answer: &Answer) -> String {
    let document: serde_json::Value = serde_json::from_slice(&answer.body).expect("a problem");
    document["code"].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn failed_with(bench: &Bench, status: u16, code_word: &str) {
    assert_eq!(bench.task("k").expect("a task").state, FOR_GOOD);
    let answer = bench.answer("k").expect("kept");
    assert_eq!((answer.status, code(&answer).as_str()), (status, code_word));
}

#[test]
fn the_origin_gets_the_request_as_it_came_and_a_key_of_the_step() {
    let gateway = gateway().origin_header("authorization", "SHOP_TOKEN", "Bearer ");
    let bench = run(&gateway, |bench| {
        bench
            .secret("SHOP_TOKEN", "SEC-origin")
            .outside(|_| Reaction::json(201, r#"{"id": 7}"#).header("location", "/charges/7"))
    });
    let [sent] = &bench.requests()[..] else {
        panic!("one request");
    };
    assert_eq!(sent.request.method, "POST");
    assert_eq!(sent.request.url, format!("{BASE}/charges?a=1"));
    assert_eq!(sent.request.body, br#"{"n": 1.10}"#);
    let field = |name| sent.request.headers.get(name);
    assert_eq!(field("content-type"), Some("application/json"));
    assert_eq!(field("authorization"), Some("Bearer SEC-origin"));
    assert!(field("traceparent").is_some());
    assert_eq!(sent.key().len(), 38, "a quoted UUID: {}", sent.key());
    assert!(
        sent.request
            .headers
            .iter()
            .all(|(name, _)| !name.starts_with(':'))
    );
    let answer = bench.answer("k").expect("an answer");
    assert_eq!(
        (answer.status, &answer.body[..]),
        (201, &br#"{"id": 7}"#[..])
    );
    assert_eq!(answer.headers.get("location"), Some("/charges/7"));
    // Neither the token of the caller nor the secret of the origin is kept anywhere.
    let kept = format!("{:?} {:?}", bench.task("k"), bench.journal("k"));
    assert!(!kept.contains("SEC-"), "{kept}");
}

#[test]
fn the_key_of_the_origin_is_the_operators_choice() {
    let key = |gateway: &Gateway, field: &str| {
        let bench = run(gateway, |bench| bench);
        let headers = bench.requests()[0].request.headers.clone();
        headers.get(field).map(str::to_owned)
    };
    let passed = gateway().forward_key(ForwardKey::Passed);
    assert_eq!(
        key(&passed, "idempotency-key").as_deref(),
        Some("\"client-1\"")
    );
    let none = gateway().forward_key(ForwardKey::None);
    assert_eq!(key(&none, "idempotency-key"), None);
    let other = gateway().key_header("X-Request-Key");
    assert_eq!(key(&other, "idempotency-key"), None);
    assert_eq!(key(&other, "x-request-key").map(|k| k.len()), Some(36));
}

/// F74: without a word of the operator every answer is the answer, and is not asked for twice.
#[test]
fn f74_every_status_is_an_answer() {
    for status in [200, 204, 304, 400, 404, 409, 429, 500, 503] {
        let bench = run(&knows_keys(), |bench| {
            bench.outside(move |_| Reaction::status(status))
        });
        assert_eq!(bench.task("k").expect("a task").state, State::Succeeded);
        assert_eq!(bench.answer("k").expect("an answer").status, status);
        assert_eq!(bench.requests().len(), 1, "{status}");
    }
}

/// F74: where 5xx are not kept a repeat is sent on anew, but never after an unknown outcome.
#[test]
fn f74_what_is_not_kept_is_sent_on_anew() {
    let again = |gateway: &Gateway, reaction: fn(&Sent) -> Reaction| {
        let mut bench = run(gateway, |bench| bench.outside(reaction));
        bench.deliver("k", post(gateway)).expect("accepted");
        bench.run_until_idle();
        let keys: BTreeSet<String> = bench
            .requests()
            .iter()
            .map(|s| s.key().to_owned())
            .collect();
        let answer = bench.answer("k").expect("an answer");
        (answer.status, bench.requests().len(), keys.len())
    };
    let less = gateway().keeps(Keeps::Below500);
    let busy = |_: &Sent| Reaction::status(503);
    assert_eq!(again(&less, busy), (503, 2, 2), "anew, with another key");
    assert_eq!(again(&gateway(), busy), (503, 1, 1));
    assert_eq!(again(&less, |_| Reaction::status(409)), (409, 1, 1));
    let broken = |_: &Sent| Reaction::error(FetchError::Network("it broke".into()));
    assert_eq!(again(&less, broken), (504, 1, 1));
    let large = |_: &Sent| {
        let limit_bytes = MAX_ANSWER_BYTES;
        Reaction::error(FetchError::TooLarge { limit_bytes })
    };
    assert_eq!(again(&gateway().keeps(Keeps::Success), large), (502, 1, 1));
}

#[test]
fn statuses_of_an_origin_that_did_nothing_are_tried_again() {
    for gateway in [gateway(), knows_keys()] {
        let busy = gateway.retry_on(&[429, 503]).tries(3);
        let bench = run(&busy, |bench| {
            bench.outside(|sent| match sent.nth {
                1 => Reaction::status(503).header("retry-after", "7"),
                _ => Reaction::status(201),
            })
        });
        let sent = bench.requests();
        assert_eq!(sent.len(), 2);
        assert!(sent[1].at_ms - sent[0].at_ms >= 7_000, "Retry-After");
        assert_eq!(sent[0].key(), sent[1].key());
        assert_eq!(bench.answer("k").expect("an answer").status, 201);
        // The last answer is the answer.
        let bench = run(&busy, |bench| {
            bench.outside(|sent| Reaction::json(503, &sent.nth.to_string()))
        });
        assert_eq!(bench.requests().len(), 3);
        let answer = bench.answer("k").expect("an answer");
        assert_eq!((answer.status, &answer.body[..]), (503, &b"3"[..]));
    }
}

/// Whatever keeps the answer away, a request that may have been carried out is not sent again.
#[test]
fn by_default_an_unknown_outcome_is_final() {
    let broken = || Reaction::error(FetchError::Network("it broke".into()));
    let late = || Reaction::status(200).after_ms(60_000);
    for reaction in [broken as fn() -> Reaction, late] {
        let bench = run(&gateway(), |bench| bench.outside(move |_| reaction()));
        failed_with(&bench, 504, "origin_unknown");
        assert_eq!(bench.requests().len(), 1);
        let error = bench.task("k").and_then(|t| t.failure).expect("a failure");
        assert_eq!(error.code, "origin_unknown");
    }
    let mut bench = run(&gateway(), |bench| bench.crash_after(Action::Fetch, 1));
    failed_with(&bench, 504, "origin_unknown");
    bench.deliver("k", post(&gateway())).expect("accepted");
    bench.run_until_idle();
    assert_eq!(bench.requests().len(), 1);
}

/// F79: the same key in all tries and after a crash.
#[test]
fn f79_an_origin_that_knows_keys_is_asked_again_with_the_same_one() {
    let bench = run(&knows_keys(), |bench| {
        bench
            .crash_after(Action::Fetch, 2)
            .outside(|sent| match sent.nth {
                1 => Reaction::error(FetchError::Network("it broke".into())),
                2 => Reaction::status(200).after_ms(60_000),
                _ => Reaction::status(201),
            })
    });
    let sent = bench.requests();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|s| s.key() == sent[0].key()));
    assert_eq!(bench.answer("k").expect("an answer").status, 201);
}

/// An origin that stays away: the client may send again later, and the same key goes out.
#[test]
fn an_origin_that_stays_away_leaves_a_task_that_the_client_resumes() {
    let gateway = knows_keys().tries(2);
    let mut bench = run(&gateway, |bench| {
        bench.outside(|sent| match sent.nth {
            1..=6 => Reaction::error(FetchError::Network("nobody is there".into())),
            _ => Reaction::status(201),
        })
    });
    assert_eq!(bench.task("k").expect("a task").state, RESUMABLE);
    assert_eq!(
        bench.requests().len(),
        6,
        "two tries in each of three attempts"
    );
    bench.deliver("k", post(&gateway)).expect("accepted");
    bench.run_until_idle();
    assert_eq!(bench.answer("k").expect("an answer").status, 201);
    let sent = bench.requests();
    assert!(sent.iter().all(|s| s.key() == sent[0].key()));
}

/// F112: an address that may not be called is refused once, and the task is over.
#[test]
fn f112_a_refused_address_ends_the_task() {
    for gateway in [gateway(), knows_keys()] {
        let bench = run(&gateway, |bench| {
            bench.outside(|_| Reaction::error(FetchError::Refused("not public".into())))
        });
        failed_with(&bench, 502, "origin_unreachable");
        assert_eq!(bench.requests().len(), 1);
    }
}

/// F62: up to the limit an answer is kept; above it the work is done all the same, once.
#[test]
fn f62_answers_are_kept_up_to_the_limit_and_never_asked_for_again() {
    for bytes in [0, 1, 129 << 10, MAX_ANSWER_BYTES] {
        for byte in [b'"', 0xff] {
            let body = vec![byte; bytes];
            let sent = body.clone();
            let bench = run(&gateway(), |bench| {
                let sent = sent.clone();
                bench.outside(move |_| Reaction::bytes(200, "application/octet-stream", &sent))
            });
            let answer = bench.answer("k").expect("an answer");
            assert!(answer.body == body, "{bytes} of {byte}");
        }
    }
    for gateway in [gateway(), knows_keys()] {
        let bench = run(&gateway, |bench| {
            let limit_bytes = MAX_ANSWER_BYTES;
            bench.outside(move |_| Reaction::error(FetchError::TooLarge { limit_bytes }))
        });
        failed_with(&bench, 502, "origin_answer_unfit");
        assert_eq!(bench.requests().len(), 1);
        let bench = run(&gateway, |bench| bench.outside(|_| Reaction::status(999)));
        failed_with(&bench, 502, "origin_answer_unfit");
    }
}

/// F69, F114: fields that can be sent again are kept; one that cannot does not cost the answer.
#[test]
fn f69_f114_fields_are_kept_where_they_can_be() {
    let wide = "v".repeat(MAX_HEADER_BYTES);
    let bench = run(&gateway(), |bench| {
        let wide = wide.clone();
        bench.outside(move |_| {
            Reaction::bytes(207, "text/csv; charset=utf-8", b"a,b\n")
                .header("etag", "\"7\"")
                .header("x-custom", "1")
                .header("x-odd", "é")
                .header("x-split", "1\r\nx-evil: 1")
                .header("x-wide", &wide)
                .header("set-cookie", "a=1")
                .header("date", "now")
        })
    });
    let answer = bench.answer("k").expect("an answer");
    let want: Headers = [
        ("content-type", "text/csv; charset=utf-8"),
        ("etag", "\"7\""),
        ("x-custom", "1"),
    ]
    .into_iter()
    .collect();
    assert_eq!((answer.status, answer.headers), (207, want));
}

#[test]
fn without_its_secret_nothing_is_sent() {
    let gateway = gateway().origin_header("x-key", "SHOP_KEY", "");
    let bench = run(&gateway, |bench| bench);
    assert!(bench.requests().is_empty());
    let task = bench.task("k").expect("a task");
    assert_eq!(task.state, RESUMABLE);
    let failure = task.failure.expect("a failure");
    assert_eq!(failure.code, "secret_unusable");
    assert!(failure.message.contains("SHOP_KEY"), "{}", failure.message);
}

#[test]
fn an_input_that_did_not_come_by_the_gateway_is_refused() {
    let function = Function::from(gateway());
    let input = Input {
        body: b"{}".to_vec(),
        ..Input::default()
    };
    assert!(function.check(&input).is_err());
    let mut away = post(&gateway());
    away.headers.set(":target", "/../admin");
    assert!(function.check(&away).is_err());
    assert!(function.check(&post(&gateway())).is_ok());
}

#[test]
fn crashes_everywhere_leave_one_answer_where_the_origin_knows_keys() {
    let outside = |sent: &Sent| {
        let made = format!("{{\"made\": {}}}", sent.key());
        Reaction::json(201, &made).header("location", "/made")
    };
    for gateway in [knows_keys(), knows_keys().key_header("idempotency-key")] {
        let tried = Crashes::of(Function::from(gateway.clone()))
            .outside(outside)
            .everywhere(&post(&gateway));
        assert!(tried.runs > tried.points, "{tried:?}");
    }
    let busy = knows_keys().retry_on(&[503]);
    Crashes::of(Function::from(busy.clone()))
        .failing()
        .outside(outside)
        .everywhere(&post(&busy));
}

/// Where it does not, a crash may cost the answer, but nothing is ever sent twice.
#[test]
fn crashes_everywhere_send_once_where_the_origin_knows_no_keys() {
    let unsure = gateway().on_unknown(WhenUnknown::Fail);
    let actions = run(&unsure, |bench| bench).actions();
    let mut ends = [0, 0];
    for action in [Action::Record, Action::Fetch, Action::Finish] {
        let times = actions.iter().filter(|a| **a == action).count();
        for nth in 1..=times {
            for after in [false, true] {
                let bench = run(&unsure, |bench| {
                    if after {
                        bench.crash_after(action, nth)
                    } else {
                        bench.crash_before(action, nth)
                    }
                });
                assert!(bench.requests().len() <= 1, "{action:?} {nth} {after}");
                let answer = bench.answer("k").expect("an end");
                match answer.status {
                    200 => ends[0] += 1,
                    504 => ends[1] += 1,
                    other => panic!("{other} after {action:?} {nth} {after}"),
                }
            }
        }
    }
    assert!(ends.iter().all(|n| *n > 0), "{actions:?}: {ends:?}");
}
