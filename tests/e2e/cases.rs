//! Cases from the field that fit nowhere else: F83, F90, F124, and one real use from end to end.

use crate::support::{
    Mode, Request, Server, Settings as _, Sink, at_once, call, check, eventually, fail, fresh,
    hook, parallel, program, repeat, shared, sleep, value,
};
use serde_json::json;
use std::time::Duration;

/// F90: two steps of one name at one level are refused; elsewhere they are two steps.
#[test]
fn names_that_collide_are_refused_and_others_keep_apart() {
    let server = shared();
    for steps in [
        vec![value("a", 1), value("a", 2)],
        vec![parallel("p", [vec![value("a", 1), sleep("a", "1s")]])],
        vec![repeat("r", 2, &value("x", 1)), value("r", 1)],
    ] {
        let answer = hook(server, &fresh("double"), &program(steps));
        let answer = answer.expect_problem(400, "input_invalid");
        assert!(answer.text().contains(".name"), "{}", answer.shown());
    }
    // Names that look like what the runtime makes of other names.
    let odd = [
        "a", "a#1", "a/a", "%61", "%undo", "p/0", "p/0/a", "%2Fa", "a#0",
    ];
    let branch = || odd.map(|name| value(name, name)).to_vec();
    let mut steps = branch();
    steps.push(parallel("p", [branch(), branch()]));
    steps.push(repeat("r", 2, &value("a", "turn")));
    let body = program(steps).set("steps_per_slice", 7);
    let request = Mode::Webhook.request(&fresh("odd"), &body);
    let id = server.send(&request).task_id();
    let document = server.end_of(&id);
    assert_eq!(document["state"], "succeeded", "{document}");
    let steps = server.send(&request).expect(200).json()["steps"].clone();
    for name in odd {
        let own = [&steps[name], &steps["p"][0][name], &steps["p"][1][name]];
        assert_eq!(own, [name; 3], "{steps}");
    }
}

/// F124: the sender gives up after a second and repeats; the task runs for longer, asleep in between.
#[test]
fn a_sender_that_gives_up_and_repeats_names_the_same_run() {
    let (server, sink) = (shared(), Sink::start());
    let steps = [
        call("a", sink.url("/d/900")),
        sleep("nap", "1200ms"),
        call("b", sink.url("/d/901")),
    ];
    let body = program(steps).set("respond_within", "5s");
    let request = Mode::Webhook.request(&fresh("gives-up"), &body);
    let mut connection = server.connect();
    connection.send(&request).expect("sent");
    sink.wait_into("/d/900", Duration::from_millis(400));
    drop(connection);
    let repeated = server.send(&request.clone().field("Prefer", "respond-async"));
    let id = repeated.expect(202).task_id();
    sink.wait_for("/d/901", 1);
    server.wait_state(&id, "succeeded");
    let late = server.send(&request).expect(200);
    assert!(late.is_replay(), "{}", late.shown());
    assert_eq!(late.task_id(), id);
    assert_eq!((sink.count("/d/900"), sink.count("/d/901")), (1, 1));
}

/// F124: a function that answers asynchronously does so within a second.
#[test]
fn an_asynchronous_delivery_is_answered_within_a_second() {
    let (server, sink) = (shared(), Sink::start());
    let body = program([call("slow", sink.url("/d/2000"))]).set("respond_within", "5s");
    let request = Mode::Webhook
        .request(&fresh("async"), &body)
        .field("Prefer", "respond-async");
    let id = server.send(&request).expect(202).task_id();
    let running = sink
        .calls("/d/2000")
        .first()
        .is_none_or(|c| c.ended.is_none());
    assert!(running, "the answer came before the work was done");
    server.wait_state(&id, "succeeded");
}

/// Payments: charged once though five deliveries and two crashes, and refunded when it fails.
#[test]
fn a_payment_is_charged_once_and_refunded_when_the_order_fails() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let order = |name: &str, last| {
        let at = |what: &str| sink.url(&format!("{what}?{name}"));
        let held = |what: &str| sink.url(&format!("/seq/hold,200?{what}-{name}"));
        let steps = vec![
            call("charge", held("charge"))
                .with("body", json!({ "amount": 1999 }))
                .undo(at("/refund")),
            sleep("settle", "1100ms"),
            call("ship", held("ship")),
            last,
        ];
        let body = program(steps).short().set("respond_within", "50ms");
        Mode::Webhook.request(&format!("order-{name}"), &body)
    };
    let receipt = call("receipt", sink.url("/receipt"));
    let orders = [
        ("good", order("good", receipt)),
        ("bad", order("bad", fail("terminal"))),
    ];
    let five = |server: &Server, request: &Request| {
        let ids: Vec<String> = at_once(server, &vec![request.clone(); 5])
            .into_iter()
            .map(|answer| answer.task_id())
            .collect();
        assert!(ids.windows(2).all(|w| w[0] == w[1]), "{ids:?}");
        ids.into_iter().next().expect("an id")
    };
    let ids = orders.each_ref().map(|(_, request)| five(&server, request));
    for step in ["charge", "ship"] {
        for (name, _) in &orders {
            sink.wait_for(&format!("/seq/hold,200?{step}-{name}"), 1);
        }
        server.restart();
    }
    server.wait_state(&ids[0], "succeeded");
    let failed = server.wait_state(&ids[1], "failed");
    assert_eq!(failed["undone"], "complete", "{failed}");
    for (name, request) in &orders {
        // Twice on the wire after a crash, under one key: the service charges once.
        sink.assert_same_key(&format!("/seq/hold,200?charge-{name}"), 2);
        sink.assert_same_key(&format!("/seq/hold,200?ship-{name}"), 2);
        five(&server, request);
    }
    assert_eq!((sink.count("/receipt"), sink.count("/refund?good")), (1, 0));
    assert_eq!(sink.count("/refund?bad"), 1);
    eventually(|| {
        let refund = sink.calls("/refund?bad")[0].json();
        check(refund["status"] == 200, || refund.to_string())
    });
}
