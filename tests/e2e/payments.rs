//! The function `payment` on real workerd, with the sink as payment and shop service.

use crate::support::{
    Answer, Request, Server, Sink, TOKEN, at_once, check, eventually, fresh, shared, throughout,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// One order at a shop of its own.
struct Order<'a> {
    sink: &'a Sink,
    /// Path of its service.
    shop: String,
    key: String,
    body: Value,
}

impl<'a> Order<'a> {
    fn new(sink: &'a Sink, takes_ms: u32) -> Self {
        let key = fresh("order");
        let shop = format!("/shop/{takes_ms}/{key}");
        let body = json!({
            "order": key, "amount": 1_200, "currency": "eur", "api": sink.url(&shop),
        });
        Self {
            sink,
            shop,
            key,
            body,
        }
    }

    fn approved_above(mut self, amount: u64) -> Self {
        self.body["approval_above"] = amount.into();
        self
    }

    fn request(&self) -> Request {
        Request::post("/v1/functions/payment")
            .bearer(TOKEN)
            .key(&self.key)
            .json(&self.body)
    }

    /// A delivery that does not wait for the end.
    fn sent(&self, server: &Server) -> String {
        let request = self.request().field("Prefer", "respond-async");
        server.send(&request).expect(202).task_id()
    }

    fn target(&self, what: &str) -> String {
        format!("{}/{what}", self.shop)
    }

    fn count(&self, what: &str) -> usize {
        self.sink.count(&self.target(what))
    }

    /// What the shop was asked for, in order: without the questions for a charge.
    fn asked(&self) -> Vec<String> {
        let prefix = self.target("");
        let calls = self.sink.log().into_iter();
        let posts = calls.filter(|call| call.method == "POST");
        posts
            .filter_map(|call| call.target.strip_prefix(&prefix).map(str::to_owned))
            .collect()
    }

    /// The body of the only call of this kind.
    #[track_caller]
    fn body_of(&self, what: &str) -> Value {
        let calls = self.sink.calls(&self.target(what));
        assert_eq!(calls.len(), 1, "{what}: {:?}", self.asked());
        serde_json::from_slice(&calls[0].body).expect("JSON")
    }

    /// Keys of all calls of one kind.
    fn keys(&self, what: &str) -> BTreeSet<String> {
        let calls = self.sink.calls(&self.target(what));
        let keys = calls.iter().filter_map(|c| c.field("Idempotency-Key"));
        keys.map(|key| key.trim_matches('"').to_owned()).collect()
    }

    /// The charge that was made; fails if there is not exactly one.
    #[track_caller]
    fn charge(&self) -> String {
        let keys = self.keys("charges");
        assert_eq!(keys.len(), 1, "{:?}", self.asked());
        format!("id-{}", keys.first().expect("one"))
    }

    /// The stored answer.
    #[track_caller]
    fn stored(&self, server: &Server) -> Answer {
        let answer = server.send(&self.request());
        assert!(answer.is_replay(), "{}", answer.shown());
        answer
    }
}

/// Five deliveries at once, `kill -9` within the charge and again within the shipment, and five
/// deliveries more after each.
#[test]
fn five_deliveries_and_two_kills_charge_once() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let order = Order::new(&sink, 900);
    let wave = vec![order.request().field("Prefer", "respond-async"); 5];
    let answers = at_once(&server, &wave);
    let accepted = answers.iter().filter(|a| a.status == 202).count();
    assert!(accepted >= 1, "{answers:?}");
    let id = answers[0].task_id();
    for what in ["charges", "shipments"] {
        sink.wait_into(&order.target(what), Duration::from_millis(300));
        server.restart();
        for answer in at_once(&server, &wave) {
            let expected = matches!(answer.status, 202 | 409);
            assert!(expected, "{}", answer.shown());
            assert_eq!(answer.task_id(), id);
        }
    }
    server.wait_state(&id, "succeeded");
    assert_eq!(order.count("charges"), 1, "{:?}", order.asked());
    let shipments = order.keys("shipments");
    assert_eq!(shipments.len(), 1, "one shipment, twice asked for at most");
    assert!((1..=2).contains(&order.count("shipments")));
    assert_eq!(order.count("refunds"), 0);
    let first = order.stored(&server).expect(201);
    assert_eq!(first.json()["charge"], order.charge());
    for answer in at_once(&server, &vec![order.request(); 5]) {
        assert!(answer.is_replay(), "{}", answer.shown());
        assert_eq!((answer.status, &answer.body), (201, &first.body));
    }
    assert_eq!(order.count("charges"), 1);
}

#[test]
fn an_order_in_time_is_answered_with_its_receipt() {
    let (server, sink) = (shared(), Sink::start());
    let order = Order::new(&sink, 0);
    let answer = server.send(&order.request());
    if answer.status == 202 {
        server.wait_state(&answer.task_id(), "succeeded"); // The machine is slow.
    } else {
        let receipt = answer.expect(201).json();
        assert_eq!(receipt["charge"], order.charge());
    }
    assert_eq!(order.asked(), ["charges", "reservations", "shipments"]);
    assert_eq!(order.stored(server).status, 201);
}

#[test]
fn what_cannot_be_shipped_is_released_and_refunded() {
    let (server, sink) = (shared(), Sink::start());
    let order = Order::new(&sink, 0);
    sink.refuses(&order.target("shipments"), 409);
    let id = order.sent(server);
    let task = server.wait_state(&id, "failed");
    assert_eq!(task["undone"], "complete", "{task}");
    assert_eq!(task["resumable"], false, "{task}");
    let wanted = [
        "charges",
        "reservations",
        "shipments",
        "releases",
        "refunds",
    ];
    assert_eq!(order.asked(), wanted);
    assert_eq!(
        order.body_of("refunds"),
        json!({ "charge": order.charge() })
    );
    let answer = order.stored(server).expect(409);
    assert_eq!(answer.json()["error"], "not_shipped");
    assert_eq!(order.asked().len(), 5);
}

#[test]
fn a_declined_card_is_the_answer() {
    let (server, sink) = (shared(), Sink::start());
    let order = Order::new(&sink, 0);
    sink.refuses(&order.target("charges"), 402);
    let id = order.sent(server);
    let task = server.wait_state(&id, "failed");
    assert_eq!(task["error"]["code"], "card_declined", "{task}");
    let answer = order.stored(server).expect(402);
    assert_eq!(answer.json()["error"], "card_declined");
    assert_eq!(order.asked(), ["charges"]);
}

/// The approver has nothing but the address that the shop was sent.
#[test]
fn an_approval_by_its_address_counts_once() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let order = Order::new(&sink, 0).approved_above(1_000);
    let id = order.sent(&server);
    let waits = |server: &Server| {
        let task = server.wait_state(&id, "suspended");
        assert_eq!(task["waiting"]["for"], "signal", "{task}");
        assert_eq!(task["waiting"]["name"], "approval", "{task}");
    };
    waits(&server);
    let url = order.body_of("approvals")["url"].clone();
    let url = url.as_str().expect("an address").to_owned();
    // Nothing is lost by a crash, the address neither.
    server.restart();
    waits(&server);
    let forged = format!("{}x", &url[..url.len() - 1]);
    let approve = |url: &str| Request::post(url).json(&json!({ "approved": true }));
    server.send(&approve(&forged)).expect(401);
    waits(&server);
    assert_eq!(order.asked(), ["charges", "approvals"]);

    for answer in at_once(&server, &vec![approve(&url); 2]) {
        assert_eq!(answer.expect(202).task_id(), id);
    }
    server.wait_state(&id, "succeeded");
    let late = server.send(&approve(&url));
    assert!(late.is_replay(), "{}", late.shown());
    assert_eq!(
        order.asked(),
        ["charges", "approvals", "reservations", "shipments"]
    );
    assert_eq!(order.stored(&server).status, 201);
}

#[test]
fn refused_or_cancelled_the_money_goes_back() {
    let (server, sink) = (shared(), Sink::start());
    let order = Order::new(&sink, 0).approved_above(1_000);
    let id = order.sent(server);
    sink.wait_for(&order.target("approvals"), 1);
    let url = order.body_of("approvals")["url"].clone();
    let url = url.as_str().expect("an address");
    let refuse = Request::post(url).json(&json!({ "approved": false }));
    server.send(&refuse).expect(202);
    server.wait_state(&id, "failed");
    assert_eq!(order.asked(), ["charges", "approvals", "refunds"]);
    assert_eq!(
        order.stored(server).expect(409).json()["error"],
        "not_approved"
    );

    let order = Order::new(&sink, 0).approved_above(1_000);
    let id = order.sent(server);
    server.wait_state(&id, "suspended");
    let cancel = Request::post(&format!("/v1/tasks/{id}/cancel")).bearer(TOKEN);
    let answer = server.send(&cancel);
    assert!(matches!(answer.status, 200 | 202), "{}", answer.shown());
    server.wait_state(&id, "cancelled");
    assert_eq!(
        order.body_of("refunds"),
        json!({ "charge": order.charge() })
    );
    server
        .send(&order.request())
        .expect_problem(409, "task_cancelled");
}

/// An operator takes back what went well.
#[test]
fn a_payment_that_went_well_can_be_undone_once() {
    let (server, sink) = (shared(), Sink::start());
    let order = Order::new(&sink, 0);
    let id = order.sent(server);
    server.wait_state(&id, "succeeded");
    let undo = Request::post(&format!("/v1/tasks/{id}/undo")).bearer(TOKEN);
    server.send(&undo);
    eventually(|| {
        let task = server.task(&id);
        check(task["undone"] == "complete", || task.to_string())
    });
    server.send(&undo).expect(200);
    throughout(Duration::from_millis(500), || {
        check(order.count("refunds") == 1, || {
            format!("{:?}", order.asked())
        })
    });
    assert_eq!(
        order.body_of("refunds"),
        json!({ "charge": order.charge() })
    );
    assert_eq!(order.stored(server).status, 201, "the answer stays");
}

#[test]
fn a_bad_order_is_told_so_and_nothing_is_charged() {
    let (server, sink) = (shared(), Sink::start());
    let mut order = Order::new(&sink, 0);
    order.body["amount"] = 0.into();
    order.body["currency"] = "Euro".into();
    let answer = server
        .send(&order.request())
        .expect_problem(400, "input_invalid");
    let problems = answer.json()["errors"].clone();
    let pointers: Vec<&str> = problems
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|problem| problem["pointer"].as_str())
        .collect();
    assert_eq!(pointers, ["amount", "currency"], "{problems}");
    assert!(order.asked().is_empty());
}
