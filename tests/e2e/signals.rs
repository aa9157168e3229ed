//! Signals: each is delivered once, whenever it comes.

use crate::support::chance::Chance;
use crate::support::tasks::signal_request;
use crate::support::{
    Answer, Mode, Request, Server, Settings as _, Sink, TOKEN, at_once, call, check, eventually,
    fresh, hook, parallel, program, repeat, shared, signal, sleep, throughout,
};
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: usize = 256 << 10;

/// A lost lease would take longer to be noticed than a test may.
fn patient(steps: impl IntoIterator<Item = Value>) -> Value {
    program(steps)
        .set("respond_within", "50ms")
        .set("lease", "15m")
        .set("max_attempts", 1)
}

fn begin(server: &Server, body: &Value) -> String {
    let request = Mode::Webhook.request(&fresh("signals"), body);
    let answer = server.send(&request.field("Prefer", "respond-async"));
    answer.expect(202).task_id()
}

/// What the steps of this name have recorded, in their order.
fn values(server: &Server, id: &str, name: &str) -> Vec<Value> {
    let journal = server.journal(id);
    let of = |r: &Value| {
        let step = r["step"].as_str().unwrap_or_default().to_owned();
        step == name || step.starts_with(&format!("{name}#"))
    };
    journal
        .iter()
        .filter(|r| of(r))
        .map(|r| r["value"].clone())
        .collect()
}

#[track_caller]
fn outcome(server: &Server, request: &Request) -> Value {
    let answer = eventually(|| {
        let answer = server.send(request);
        check(answer.status == 200, || answer.shown())?;
        Ok(answer)
    });
    answer.json()["steps"].clone()
}

#[test]
fn a_signal_that_comes_before_anybody_waits_is_kept() {
    let (server, sink) = (shared(), Sink::start());
    let steps = [call("slow", sink.url("/d/500")), signal("go")];
    let request = Mode::Webhook.request(&fresh("early"), &patient(steps));
    let id = server
        .send(&request.clone().field("Prefer", "respond-async"))
        .task_id();
    let payload = json!({ "ok": true, "id": 616_581_622_363_398_142_u64 });
    let answer = server.signal(&id, "go", "s1", &payload).expect(202);
    assert!(!answer.is_replay(), "{}", answer.shown());
    assert_eq!(answer.task_id(), id);
    assert_eq!(answer.json()["task_id"], id, "{}", answer.shown());
    assert_eq!(answer.json()["unread_signals"], 1, "{}", answer.shown());
    let document = server.wait_state(&id, "succeeded");
    assert!(document["unread_signals"].is_null(), "{document}");
    assert_eq!(outcome(server, &request)["go"], payload);
}

#[test]
fn a_signal_wakes_the_task_that_waits_for_it() {
    let (server, sink) = (shared(), Sink::start());
    for timeout in [None, Some("30d")] {
        let mut wait = signal("approval.1_x-Y");
        if let Some(timeout) = timeout {
            wait = wait.with("timeout", timeout);
        }
        let target = format!("/after?{}", timeout.unwrap_or("none"));
        let body = patient([wait, call("after", sink.url(&target))]);
        let id = begin(server, &body);
        let waiting = server.wait_waiting(&id, "signal")["waiting"].clone();
        assert_eq!(waiting["name"], "approval.1_x-Y");
        assert_eq!(waiting["until"].is_string(), timeout.is_some(), "{waiting}");
        // Another name wakes nobody.
        server.signal(&id, "approval", "s0", &json!(0)).expect(202);
        throughout(Duration::from_millis(200), || {
            check(sink.count(&target) == 0, || "it woke".to_owned())
        });
        server
            .signal(&id, "approval.1_x-Y", "s1", &Value::Null)
            .expect(202);
        server.wait_state(&id, "succeeded");
        assert_eq!(sink.count(&target), 1);
    }
}

/// Around the moment at which the task begins to wait, and while its message is on its way twice.
#[test]
fn a_signal_between_the_decision_to_wait_and_the_wait_is_not_lost() {
    let server = Server::start();
    let mut chance = Chance::new(Chance::seed());
    for round in 0..12 {
        if round % 2 == 1 {
            let fault = json!({ "object_reply": "lose", "on": "suspend", "times": 3 });
            server.fault(&fault);
        }
        let sink = Sink::start();
        let steps = [
            call("a", sink.url("/d/60")),
            signal("go"),
            call("b", sink.url("/b")),
        ];
        let id = begin(&server, &patient(steps));
        let offset = chance.ms(20, 160);
        sink.wait_for("/d/60", 1);
        sink.wait_into("/d/60", offset);
        server.signal(&id, "go", "s", &json!(round)).expect(202);
        server.wait_state(&id, "succeeded");
        assert_eq!(values(&server, &id, "go"), [json!(round)], "{offset:?}");
        let counts = ["/d/60", "/b"].map(|t| sink.count(t));
        assert_eq!(counts, [1, 1], "{offset:?}");
        server.fault(&json!({ "object_reply": "ok" }));
    }
}

/// The wait is granted and only the word of it is lost: what comes meanwhile must be handed over.
#[test]
fn a_signal_that_comes_while_the_reply_to_suspend_is_lost_wakes_the_task() {
    let (server, sink) = (Server::start(), Sink::start());
    let fault = json!({ "object_reply": "lose", "on": "suspend", "times": 4 });
    server.fault(&fault);
    let body = patient([signal("go"), call("b", sink.url("/b"))]);
    let id = begin(&server, &body);
    // It shows as waiting as soon as the first message is applied, that is before the last reply.
    server.wait_waiting(&id, "signal");
    server.signal(&id, "go", "s", &json!("now")).expect(202);
    server.wait_state(&id, "succeeded");
    let struck = server.faults()["object_reply"]["struck"].as_u64();
    assert!(struck >= Some(1), "it did not strike");
    assert_eq!(sink.count("/b"), 1);
    assert_eq!(values(&server, &id, "go"), [json!("now")]);
}

#[test]
fn a_wait_that_times_out_fails_for_good_and_later_signals_are_refused() {
    let (server, sink) = (shared(), Sink::start());
    for timeout in ["0s", "300ms", "1500ms"] {
        let wait = signal("go").with("timeout", timeout);
        let body = patient([wait, call("after", sink.url("/after"))]);
        let id = begin(server, &body);
        let document = server.wait_state(&id, "failed");
        assert_eq!(document["error"]["code"], "signal_timeout", "{document}");
        assert_eq!(document["error"]["step"], "go", "{document}");
        assert_eq!(document["resumable"], false, "{document}");
        let late = server.signal(&id, "go", "late", &json!(1));
        let late = late.expect_problem(409, "task_ended");
        assert_eq!(late.task_id(), id);
    }
    assert_eq!(sink.total(), 0);
}

#[test]
fn signals_of_one_name_are_read_in_the_order_in_which_they_came() {
    let (server, sink) = (shared(), Sink::start());
    let body = patient([
        call("slow", sink.url("/d/700")),
        repeat("as", 3, &signal("a")),
        signal("b"),
    ]);
    let id = begin(server, &body);
    let sent = [("b", "B"), ("a", "A1"), ("a", "A2"), ("a", "A3")];
    for (name, text) in sent {
        server.signal(&id, name, text, &json!(text)).expect(202);
    }
    server.wait_state(&id, "succeeded");
    assert_eq!(values(server, &id, "a"), ["A1", "A2", "A3"]);
    assert_eq!(values(server, &id, "b"), ["B"]);
}

#[test]
fn a_signal_that_is_sent_again_is_delivered_once() {
    let server = shared();
    let body = patient([repeat("two", 2, &signal("a"))]);
    let id = begin(server, &body);
    server.wait_waiting(&id, "signal");
    let first = signal_request(&id, "a").key("same").json(&json!(1));
    let answers = at_once(server, &vec![first.clone(); 20]);
    let fresh_ones = answers.iter().filter(|a| !a.is_replay()).count();
    assert_eq!(fresh_ones, 1, "one of twenty is new");
    for answer in answers {
        answer.expect(202);
    }
    // The second turn still waits, however often the first signal comes.
    eventually(|| {
        let read = values(server, &id, "a").len();
        check(read >= 1, || "not read yet".to_owned())
    });
    assert!(server.send(&first).expect(202).is_replay());
    server.wait_waiting(&id, "signal");
    let other_payload = signal_request(&id, "a").key("same").json(&json!(2));
    server
        .send(&other_payload)
        .expect_problem(422, "key_reused");
    // Under another name it is another signal.
    let other_name = signal_request(&id, "b").key("same").json(&json!(1));
    assert!(!server.send(&other_name).expect(202).is_replay());
    server.signal(&id, "a", "other", &json!(2)).expect(202);
    server.wait_state(&id, "succeeded");
    assert_eq!(values(server, &id, "a"), [1, 2]);
    // Known as well after the end, so that its sender stops.
    let late = server.send(&first);
    assert!(matches!(late.status, 202 | 409), "{}", late.shown());
}

#[test]
fn a_signal_whose_reply_is_lost_is_delivered_once() {
    let server = Server::start();
    let body = patient([repeat("two", 2, &signal("a"))]);
    for times in [1, 3] {
        let id = begin(&server, &body);
        server.wait_waiting(&id, "signal");
        server.fault(&json!({ "object_reply": "lose", "on": "signal", "times": times }));
        server.signal(&id, "a", "one", &json!(1)).expect(202);
        let struck = server.faults()["object_reply"]["struck"].as_u64();
        assert_eq!(struck, Some(times), "it struck");
        server.fault(&json!({ "object_reply": "ok" }));
        server.signal(&id, "a", "two", &json!(2)).expect(202);
        server.wait_state(&id, "succeeded");
        assert_eq!(values(&server, &id, "a"), [1, 2]);
    }
}

#[test]
fn signals_that_make_no_sense_are_refused_and_change_nothing() {
    let server = shared();
    let id = begin(server, &patient([signal("go")]));
    server.wait_waiting(&id, "signal");
    let to = |name: &str| signal_request(&id, name);
    let refused = |request: Request, status: u16, code: &str| {
        server.send(&request).expect_problem(status, code);
    };
    refused(to("go").json(&json!(1)), 400, "key_missing");
    refused(to("go").key("").json(&json!(1)), 400, "key_malformed");
    refused(
        to("go").key("a b\u{e9}").json(&json!(1)),
        400,
        "key_malformed",
    );
    refused(to("go").key("s").body("{\"a\":"), 400, "input_invalid");
    refused(
        to("go").key("s").body(vec![0xff, 0xfe]),
        400,
        "input_invalid",
    );
    let large = format!("\"{}\"", "x".repeat(LIMIT));
    refused(to("go").key("s").body(large), 413, "body_too_large");
    let nobody = signal_request(&uuid::Uuid::new_v4().to_string(), "go");
    refused(nobody.key("s").json(&json!(1)), 404, "task_not_found");
    for name in ["a%20b", "%67o", "a:b", "a~", &"n".repeat(101), ""] {
        let answer = server.send(&to(name).key("s").json(&json!(1)));
        assert!(
            matches!(answer.status, 400 | 404),
            "{name}: {}",
            answer.shown()
        );
    }
    let get = Request::get(&format!("/v1/tasks/{id}/signals/go")).bearer(TOKEN);
    assert!(
        server.send(&get).expect(405).field("Allow").is_some(),
        "it says what is allowed"
    );
    let document = server.task(&id);
    assert_eq!(document["waiting"]["for"], "signal", "{document}");
    assert!(document["unread_signals"].is_null(), "{document}");
    // No refused key is used up.
    server.signal(&id, "go", "s", &json!("good")).expect(202);
    server.wait_state(&id, "succeeded");
    assert_eq!(values(server, &id, "go"), ["good"]);
}

#[test]
fn a_payload_of_the_largest_size_and_an_empty_one_arrive_whole() {
    let server = shared();
    let large = Value::String("x".repeat(LIMIT - 2));
    for (body, wanted) in [(large.to_string(), large), (String::new(), Value::Null)] {
        let id = begin(server, &patient([signal("go")]));
        let request = signal_request(&id, "go").key("s").body(body);
        server.send(&request).expect(202);
        server.wait_state(&id, "succeeded");
        assert_eq!(values(server, &id, "go"), [wanted]);
    }
}

#[test]
fn who_has_no_token_cannot_signal() {
    let server = shared();
    let id = begin(server, &patient([signal("go")]));
    server.wait_waiting(&id, "signal");
    let target = format!("/v1/tasks/{id}/signals/go");
    let send =
        |request: Request| -> Answer { server.send(&request.key("s").json(&json!(1))).expect(401) };
    send(Request::post(&target));
    send(Request::post(&target).bearer("wrong"));
    for token in [
        "",
        "x",
        TOKEN,
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ] {
        send(Request::post(&format!("{target}?token={token}")));
    }
    let document = server.task(&id);
    assert_eq!(document["state"], "suspended", "{document}");
    server.cancel(&id).expect(200);
    let ended = server.signal(&id, "go", "s", &json!(1));
    ended.expect_problem(409, "task_ended");
}

/// What waits for several things at once goes on with whichever comes first.
#[test]
fn branches_that_wait_for_different_things_are_shown_and_woken_each() {
    let (server, sink) = (shared(), Sink::start());
    let after = |name: &str| call("after", sink.url(&format!("/{name}")));
    let branches = [
        vec![signal("a"), after("a")],
        vec![signal("b").with("timeout", "1h"), after("b")],
        vec![sleep("nap", "30d"), after("c")],
    ];
    let id = begin(server, &patient([parallel("all", branches)]));
    let document = eventually(|| {
        let document = server.task(&id);
        let waits = document["waiting_for"].as_array().map_or(0, Vec::len);
        check(waits == 3, || document.to_string())?;
        Ok(document)
    });
    // The soonest of them stands alone as well.
    assert_eq!(document["waiting"]["name"], "b", "{document}");
    server.signal(&id, "b", "s1", &json!(1)).expect(202);
    sink.wait_for("/b", 1);
    server.signal(&id, "a", "s2", &json!(1)).expect(202);
    sink.wait_for("/a", 1);
    let document = server.wait_waiting(&id, "sleep");
    assert_eq!(document["waiting"]["name"], "all/2/nap", "{document}");
    assert_eq!(["/a", "/b", "/c"].map(|t| sink.count(t)), [1, 1, 0]);
    server.cancel(&id).expect(200);
}

/// Many names and many tasks at once: nothing goes astray.
#[test]
fn signals_of_many_tasks_at_once_reach_their_own() {
    let server = shared();
    let ids: Vec<String> = (0..10)
        .map(|_| begin(server, &patient([signal("x"), signal("y")])))
        .collect();
    let requests: Vec<Request> = ids
        .iter()
        .flat_map(|id| {
            ["y", "x"].map(|name| {
                let payload = json!(format!("{id}-{name}"));
                signal_request(id, name).key(name).json(&payload)
            })
        })
        .collect();
    for answer in at_once(server, &requests) {
        answer.expect(202);
    }
    for id in &ids {
        server.wait_state(id, "succeeded");
        for name in ["x", "y"] {
            assert_eq!(values(server, id, name), [format!("{id}-{name}")]);
        }
    }
    // The key of a delivery is none of a signal's business.
    let key = fresh("shared-key");
    let id = hook(server, &key, &patient([signal("x")])).task_id();
    server.signal(&id, "x", &key, &json!(1)).expect(202);
    server.wait_state(&id, "succeeded");
}
