//! The function `payment`, with a small payment and shop service outside.

use super::author::input;
use onceward::function::{FetchError, Function};
use onceward::protocol::{Reply, State};
use onceward::testing::{Action, Bench, CRASH_KEY, Crashes, Reaction, Sent};
use onceward::types::Input;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const HOUR_MS: u64 = 3_600_000;

fn payment() -> Function {
    let mut all = onceward::functions::all().into_iter();
    all.find(|f| f.name() == "payment").expect("it is deployed")
}

/// An order that no person has to look at.
fn order() -> Input {
    ordered(&json!({}))
}

/// An order that waits for a person.
fn large_order() -> Input {
    ordered(&json!({ "approval_above": 1_000 }))
}

fn ordered(changes: &Value) -> Input {
    let mut order = json!({
        "order": "o-1", "amount": 1_200, "currency": "eur", "api": "https://pay.example/v1/",
    });
    for (name, value) in changes.as_object().expect("an object") {
        order[name] = value.clone();
    }
    input(&order.to_string())
}

/// Method and last word of the address, and the key where it is asked for.
fn what(sent: &Sent) -> String {
    let path = sent.request.url.strip_prefix("https://pay.example/v1/");
    let path = path.expect("a request to the service");
    let word = path.split('/').next().unwrap_or("");
    format!("{} {word}", sent.request.method)
}

/// The service: it knows a charge once it was asked to make it.
fn service(sent: &Sent) -> Reaction {
    let bare_key = sent.key().trim_matches('"').to_owned();
    match what(sent).as_str() {
        "POST charges" => made(&format!("ch-{bare_key}")),
        // Asked for under the key of the charge, so that the charge itself counts as the first.
        "GET charges" if sent.nth > 1 => made(&format!("ch-{bare_key}")),
        "GET charges" => Reaction::json(404, "{}"),
        "POST reservations" => made("re-1"),
        "POST shipments" => made("sh-1"),
        _ => Reaction::json(200, "{}"),
    }
}

fn made(id: &str) -> Reaction {
    Reaction::json(201, &json!({ "id": id }).to_string())
}

/// The service, which answers one request with this status.
fn failing(request: &'static str, status: u16) -> impl Fn(&Sent) -> Reaction {
    move |sent| {
        if what(sent) == request {
            return Reaction::json(status, "{}");
        }
        service(sent)
    }
}

fn run(outside: impl Fn(&Sent) -> Reaction + 'static, order: Input) -> Bench {
    let mut bench = Bench::new(payment()).outside(outside);
    bench.deliver("k", order).expect("a good order");
    bench.run_until_idle();
    bench
}

fn waiting_for_approval() -> Bench {
    let mut bench = Bench::new(payment()).outside(service);
    bench.deliver("k", large_order()).expect("a good order");
    bench.run_for(HOUR_MS);
    assert!(matches!(state(&bench), State::Suspended(_)));
    bench
}

fn asked(bench: &Bench) -> Vec<String> {
    bench.requests().iter().map(what).collect()
}

/// The body of the last request of this kind.
fn body_of(bench: &Bench, request: &str) -> Value {
    let requests = bench.requests();
    let last = requests.iter().rfind(|sent| what(sent) == request);
    let last = last.unwrap_or_else(|| panic!("no {request}"));
    serde_json::from_slice(&last.request.body).expect("JSON")
}

/// The charge that the service made for this request.
fn charge_of(sent: &Sent) -> String {
    format!("ch-{}", sent.key().trim_matches('"'))
}

fn charges(bench: &Bench) -> Vec<String> {
    let requests = bench.requests();
    let posts = requests.iter().filter(|sent| what(sent) == "POST charges");
    posts.map(charge_of).collect()
}

fn state(bench: &Bench) -> State {
    bench.task("k").expect("a task").state
}

fn is_undone(bench: &Bench) -> bool {
    let undone = bench.task("k").and_then(|task| task.undone);
    undone.is_some_and(|undone| undone.is_complete())
}

/// Status and error of the stored answer.
fn answered(bench: &Bench) -> (u16, Value) {
    let answer = bench.answer("k").expect("an answer");
    let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
    (answer.status, body["error"].clone())
}

/// What is asked for when an approval does not come.
const REFUNDED: [&str; 3] = ["POST charges", "POST approvals", "POST refunds"];
const SHIPPED: [&str; 3] = ["POST charges", "POST reservations", "POST shipments"];
const FOR_GOOD: State = State::Failed { resumable: false };

#[test]
fn an_order_is_charged_and_shipped() {
    let bench = run(service, order());
    assert_eq!(asked(&bench), SHIPPED);
    let answer = bench.answer("k").expect("an answer");
    assert_eq!(answer.status, 201);
    let receipt: Value = serde_json::from_slice(&answer.body).expect("JSON");
    let charge = &charges(&bench)[0];
    let wanted = json!({
        "order": "o-1", "charge": charge, "reservation": "re-1", "shipment": "sh-1",
    });
    assert_eq!(receipt, wanted);
    let charged = body_of(&bench, "POST charges");
    assert_eq!(
        charged,
        json!({ "order": "o-1", "amount": 1_200, "currency": "eur" })
    );
    let keys: BTreeSet<String> = bench
        .requests()
        .iter()
        .map(|s| s.key().to_owned())
        .collect();
    assert_eq!(keys.len(), 3, "each with a key of its own");
}

#[test]
fn five_deliveries_and_two_crashes_charge_once() {
    let mut bench = Bench::new(payment())
        .outside(service)
        .crash_after(Action::Fetch, 1)
        .crash_before(Action::Record, 3);
    for _ in 0..3 {
        bench.deliver("k", order()).expect("a good order");
    }
    bench.run_for(5_000);
    for _ in 0..2 {
        bench.deliver("k", order()).expect("a good order");
    }
    bench.run_until_idle();
    assert_eq!(charges(&bench).len(), 1, "{}", bench.schedule());
    assert_eq!(asked(&bench)[..2], ["POST charges", "GET charges"]);
    let claims = bench.task("k").expect("a task").claims;
    assert_eq!((state(&bench), claims), (State::Succeeded, 3));
    let reply = bench.deliver("k", order()).expect("a good order");
    assert!(matches!(reply, Reply::Stands(_)), "{reply:?}");
    bench.run_until_idle();
    assert_eq!(charges(&bench).len(), 1);
}

#[test]
fn a_declined_card_is_the_answer() {
    let bench = run(failing("POST charges", 402), order());
    assert_eq!(asked(&bench), ["POST charges"], "nothing to undo");
    assert_eq!(state(&bench), FOR_GOOD);
    assert_eq!(answered(&bench), (402, json!("card_declined")));
}

#[test]
fn what_cannot_be_shipped_is_released_and_refunded_in_this_order() {
    let bench = run(failing("POST shipments", 409), order());
    let wanted = [
        "POST charges",
        "POST reservations",
        "POST shipments",
        "POST releases",
        "POST refunds",
    ];
    assert_eq!(asked(&bench), wanted);
    assert_eq!(state(&bench), FOR_GOOD);
    assert!(is_undone(&bench));
    assert_eq!(answered(&bench), (409, json!("not_shipped")));
    let refund = body_of(&bench, "POST refunds");
    assert_eq!(refund, json!({ "charge": charges(&bench)[0] }));
    let release = body_of(&bench, "POST releases");
    assert_eq!(release, json!({ "reservation": "re-1" }));
}

/// The connection breaks under the first charge; it was made, or it was not.
#[test]
fn a_charge_without_an_answer_is_asked_for() {
    for happened in [true, false] {
        let outside = move |sent: &Sent| match (what(sent).as_str(), sent.nth) {
            ("POST charges", 1) => Reaction::error(FetchError::Network("cut".into())),
            ("GET charges", _) if !happened => Reaction::json(404, "{}"),
            _ => service(sent),
        };
        let bench = run(outside, order());
        assert_eq!(state(&bench), State::Succeeded);
        let times = if happened { 1 } else { 2 };
        assert_eq!(charges(&bench).len(), times, "{:?}", asked(&bench));
        let keys: BTreeSet<String> = charges(&bench).into_iter().collect();
        assert_eq!(keys.len(), 1, "under one key");
        assert_eq!(asked(&bench)[..2], ["POST charges", "GET charges"]);
    }
}

/// The service never says whether the charge was made, and answers again when the money is to be
/// given back.
#[test]
fn a_charge_that_stays_unknown_is_refunded_if_it_was_made() {
    for happened in [true, false] {
        let outside = move |sent: &Sent| {
            // The undo asks under a key of its own.
            let undoes = !sent.request.url.contains(sent.key().trim_matches('"'));
            match what(sent).as_str() {
                "GET charges" if undoes && happened => made("ch-7"),
                "GET charges" if undoes => Reaction::json(404, "{}"),
                "POST charges" | "GET charges" => Reaction::status(502),
                _ => service(sent),
            }
        };
        let mut bench = Bench::new(payment()).outside(outside);
        bench.deliver("k", order()).expect("a good order");
        bench.run_until_idle();
        assert!(is_undone(&bench), "{:?}", bench.task("k"));
        assert_eq!(charges(&bench).len(), 1, "never made again on a guess");
        let refunds = asked(&bench)
            .iter()
            .filter(|a| *a == "POST refunds")
            .count();
        assert_eq!(refunds, usize::from(happened));
        if happened {
            assert_eq!(body_of(&bench, "POST refunds"), json!({ "charge": "ch-7" }));
        }
    }
}

#[test]
fn large_amounts_wait_for_a_person() {
    let mut bench = waiting_for_approval();
    assert_eq!(asked(&bench), ["POST charges", "POST approvals"]);
    let wanted = body_of(&bench, "POST approvals");
    let id = bench.task("k").expect("a task").id();
    let url = wanted["url"].as_str().expect("an address");
    assert!(
        url.starts_with(&format!("/v1/tasks/{id}/signals/approval?token=")),
        "{url}"
    );
    for repeated in [false, true] {
        let reply = bench.signal("k", "approval", "one", r#"{"approved": true}"#);
        assert_eq!(reply, Reply::Signalled { repeated });
    }
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Succeeded);
    assert_eq!(asked(&bench).len(), 4);
    // Exactly the limit is not above it.
    let bench = run(service, ordered(&json!({ "approval_above": 1_200 })));
    assert_eq!(state(&bench), State::Succeeded);
}

#[test]
fn without_an_approval_the_money_goes_back() {
    let told: [(Option<&str>, &str); 3] = [
        (Some(r#"{"approved": false}"#), "not_approved"),
        (None, "approval_timeout"),
        (Some("null"), ""),
    ];
    for (payload, code) in told {
        let mut bench = waiting_for_approval();
        if let Some(payload) = payload {
            bench.signal("k", "approval", "one", payload);
        } else {
            bench.run_for(48 * HOUR_MS);
        }
        bench.run_until_idle();
        assert_eq!(state(&bench), FOR_GOOD, "{code}");
        assert_eq!(asked(&bench), REFUNDED, "{code}");
        assert!(is_undone(&bench));
        if !code.is_empty() {
            assert_eq!(answered(&bench), (409, json!(code)));
        }
    }
}

#[test]
fn cancelled_while_it_waits_the_money_goes_back() {
    let mut bench = waiting_for_approval();
    bench.cancel("k");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Cancelled);
    assert_eq!(asked(&bench), REFUNDED);
    assert_eq!(
        body_of(&bench, "POST refunds"),
        json!({ "charge": charges(&bench)[0] })
    );
}

/// Shipping is down until every attempt is used up: all is undone, and the next delivery starts anew.
#[test]
fn no_goods_without_a_payment_of_their_own() {
    let until_ms = Bench::new(payment()).now_ms() + HOUR_MS;
    let outside = move |sent: &Sent| match what(sent).as_str() {
        "POST shipments" if sent.at_ms < until_ms => Reaction::status(503),
        _ => service(sent),
    };
    let mut bench = Bench::new(payment()).outside(outside);
    bench.deliver("k", order()).expect("a good order");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Failed { resumable: true });
    assert!(is_undone(&bench));
    let first = charges(&bench);
    assert_eq!(first.len(), 1);
    let refund = body_of(&bench, "POST refunds");
    assert_eq!(refund, json!({ "charge": first[0] }));

    bench.run_for(HOUR_MS);
    bench.deliver("k", order()).expect("a good order");
    bench.run_until_idle();
    assert_eq!(state(&bench), State::Succeeded);
    let all = charges(&bench);
    assert_eq!(all.len(), 2, "paid again");
    assert_ne!(all[0], all[1], "under another key");
    let answer = bench.answer("k").expect("an answer");
    let receipt: Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!(receipt["charge"], json!(all[1]));
    let sent = asked(&bench);
    assert_eq!(sent[sent.len() - 3..], SHIPPED);
}

#[test]
fn nobody_can_tell_where_it_was_disturbed() {
    let tried = Crashes::of(payment()).outside(service).everywhere(&order());
    assert!(tried.runs > 20, "{tried:?}");
    let tried = Crashes::of(payment())
        .outside(failing("POST shipments", 409))
        .everywhere(&order());
    assert!(tried.runs > 30, "{tried:?}");
    for said in [r#"{"approved": true}"#, r#"{"approved": false}"#] {
        let tried = Crashes::of(payment())
            .outside(service)
            .script(move |bench| {
                bench.signal(CRASH_KEY, "approval", "one", said);
            })
            .everywhere(&large_order());
        assert!(tried.runs > 20, "{tried:?}");
    }
}

#[test]
fn what_is_wrong_with_an_order_is_said_before_anything_runs() {
    let problems = |order: Input| -> Vec<(String, String)> {
        let found = payment().check(&order).expect_err("a problem");
        found.into_iter().map(|p| (p.path, p.detail)).collect()
    };
    let all = problems(ordered(&json!({
        "order": "", "amount": 0, "currency": "EUR", "api": "shop.example",
    })));
    let paths: Vec<&str> = all.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["order", "amount", "currency", "api"]);
    assert_eq!(
        all[2].1,
        "got \"EUR\", wanted three lower-case letters like \"eur\""
    );
    for api in ["ftp://h", "https://h?a=1", "https://h#a", "https://u@h", ""] {
        assert_eq!(problems(ordered(&json!({ "api": api })))[0].0, "api");
    }
    for (changes, word) in [
        (json!({ "amount": -1 }), "-1"),
        (json!({ "amount": 1.5 }), "1.5"),
        (json!({ "amout": 1 }), "amout"),
    ] {
        let found = problems(ordered(&changes));
        assert!(found[0].1.contains(word), "{found:?}");
    }
    assert!(problems(input("{}"))[0].1.contains("missing field `order`"));
}
