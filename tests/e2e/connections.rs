//! F124: senders that hang up.

use crate::support::{
    Mode, Request, Settings as _, Sink, TOKEN, call, check, eventually, fresh, program, shared,
};

#[test]
fn a_sender_that_hangs_up_does_not_stop_the_run() {
    let sink = Sink::start();
    for mode in Mode::BOTH {
        let target = format!("/d/1200?{mode:?}");
        let steps = [
            call("slow", sink.url(&target)),
            call("after", sink.url(&format!("/after?{mode:?}"))),
        ];
        let request = mode.request(
            &fresh("hangs-up"),
            &program(steps).set("respond_within", "5s"),
        );
        let mut connection = shared().connect();
        connection.send(&request).expect("sent");
        sink.wait_for(&target, 1);
        drop(connection);
        // Nobody asks for it until it is done.
        sink.wait_for(&format!("/after?{mode:?}"), 1);
        let again = eventually(|| {
            let answer = shared().send(&request);
            check(answer.status == 200, || answer.shown())?;
            Ok(answer)
        });
        assert!(again.is_replay(), "{}", again.shown());
        assert_eq!(sink.count(&target), 1);
        assert!(
            !sink.calls(&target)[0].hung_up,
            "the call itself was not broken off"
        );
    }
}

#[test]
fn repeats_of_a_sender_that_gave_up_name_the_same_run() {
    let sink = Sink::start();
    let body = program([call("slow", sink.url("/d/1200"))]).set("respond_within", "200ms");
    let request = Mode::Webhook.request(&fresh("gave-up"), &body);
    let mut connection = shared().connect();
    connection.send(&request).expect("sent");
    sink.wait_for("/d/1200", 1);
    drop(connection);
    let during = shared().send(&request).expect(202);
    shared().wait_state(&during.task_id(), "succeeded");
    let after = shared().send(&request).expect(200);
    assert_eq!(during.task_id(), after.task_id());
    assert_eq!(sink.count("/d/1200"), 1);
}

/// Functions that take any bytes would take half of them as well.
#[test]
fn a_body_that_was_sent_by_half_starts_nothing_and_reserves_no_key() {
    let starts = [
        Request::post("/hooks/inbox"),
        Request::post("/v1/functions/echo").bearer(TOKEN),
    ];
    let requests: Vec<Request> = (0..10)
        .map(|n| starts[n % 2].clone().key(&fresh("half")))
        .collect();
    for request in &requests {
        let bytes = request
            .clone()
            .body("the whole body")
            .bytes(shared().address());
        let mut connection = shared().connect();
        connection.write(&bytes[..bytes.len() - 5]).expect("sent");
    }
    // By the time that these are answered the server has long seen the others hang up.
    for _ in 0..20 {
        Mode::Webhook
            .deliver(shared(), &fresh("beside"), &program([]))
            .expect(200);
    }
    for request in requests {
        // Another body under this key is no conflict: the key is new.
        let answer = shared().send(&request.body("another body")).expect(200);
        assert!(!answer.is_replay(), "{}", answer.shown());
    }
}

#[test]
fn a_request_without_end_disturbs_nobody() {
    let mut connection = shared().connect();
    let head = "POST /hooks/lab HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 1000000\r\n\r\n{";
    connection.write(head.as_bytes()).expect("sent");
    for _ in 0..20 {
        Mode::Webhook
            .deliver(shared(), &fresh("beside"), &program([]))
            .expect(200);
    }
    shared().send(&Request::get("/healthz")).expect(200);
    drop(connection);
}
