//! What a hostile newcomer found, so that it stays found.

use crate::support::{
    Mode, Request, Server, Settings as _, Sink, TOKEN, call, check, eventually, fail, fresh, hook,
    program, shared,
};
use serde_json::{Value, json};

/// A ticket that this Worker has not sealed costs no object request, whatever host it names.
#[test]
fn a_forged_continuation_reaches_no_object() {
    let server = Server::start();
    let requests = || {
        let counters = server
            .send(&Request::get("/lab/counters"))
            .expect(200)
            .json();
        counters["object_requests"].as_u64().expect("a count")
    };
    let before = requests();
    for seal in [
        None,
        Some(""),
        Some("00"),
        Some("zz"),
        Some(&*"0".repeat(64)),
    ] {
        let body =
            json!({"task_id": uuid::Uuid::new_v4().to_string(), "ticket": "x", "function": "lab"});
        let mut forged = Request::post("/internal/continue").json(&body);
        forged = forged.field("Host", "onceward.internal");
        if let Some(seal) = seal {
            forged = forged.field("Onceward-Seal", seal);
        }
        server.send(&forged).expect_problem(404, "not_found");
    }
    // Nor is it told from an address that there is not by a body that is too large.
    let large = Request::post("/internal/continue").body(vec![b'x'; (1 << 20) + 1]);
    let large = large.field("Host", "onceward.internal");
    server.send(&large).expect_problem(404, "not_found");
    assert_eq!(requests(), before);
}

#[test]
fn a_long_message_of_a_failure_is_cut_and_says_so() {
    for mode in Mode::BOTH {
        let mut step = fail("terminal");
        step["message"] = Value::String("m".repeat(300_000));
        let answer = mode.deliver(shared(), &fresh("long-message"), &program([step]));
        let task = shared()
            .send(&Request::get(&format!("/v1/tasks/{}", answer.task_id())).bearer(TOKEN))
            .expect(200)
            .json();
        let message = task["error"]["message"]
            .as_str()
            .expect("a message")
            .to_owned();
        assert!(
            message.len() <= 2_048 && message.contains("cut: 300000 bytes"),
            "{}",
            message.len()
        );
        assert!(answer.body.len() < 10_000, "{}", answer.body.len());
    }
}

/// The wait that is said to have been applied is applied, over a failed attempt as well.
#[test]
fn who_asks_for_a_longer_wait_gets_the_next_attempt_too() {
    for mode in Mode::BOTH {
        let sink = Sink::start();
        let body = program([call("a", sink.url("/fail-then-ok/1"))]);
        let request = mode
            .request(&fresh("wait"), &body)
            .field("Prefer", "wait=20");
        let answer = shared().send(&request).expect(200);
        assert!(!answer.is_replay(), "{}", answer.shown());
        assert_eq!(answer.field("preference-applied"), Some("wait=20"));
    }
}

#[test]
fn a_document_in_place_of_an_answer_is_replayed_to_the_byte() {
    let key = fresh("document");
    let mut body = program([]);
    body["answer"] = json!({"status": 503, "body": "x"});
    let first = hook(shared(), &key, &body).expect(200);
    for _ in 0..3 {
        let again = hook(shared(), &key, &body).expect(200);
        assert!(again.is_replay());
        assert_eq!(again.body, first.body);
    }
}

/// Nothing new is begun when the time of a slice is over.
#[test]
fn a_slice_whose_time_is_over_begins_no_further_step() {
    let sink = Sink::start();
    let body = program([
        call("a", sink.url("/a")),
        json!({"do": "burn", "for": "2500ms"}),
        call("b", sink.url("/b")),
    ])
    .set("respond_within", json!("300ms"))
    .set("slice_cut", json!("2s"))
    .set("lease", json!("4s"))
    .set("max_attempts", json!(1));
    let id = hook(shared(), &fresh("burn"), &body).task_id();
    let task = eventually(|| {
        let asked = Request::get(&format!("/v1/tasks/{id}?wait=5")).bearer(TOKEN);
        let task = shared().send(&asked).expect(200).json();
        check(task["state"] == "failed", || task.to_string())?;
        Ok(task)
    });
    let code = task["error"]["code"].as_str().expect("a code");
    assert!(matches!(code, "slice_timeout" | "lease_lost"), "{task}");
    assert_eq!((sink.count("/a"), sink.count("/b")), (1, 0));
}

#[test]
fn a_task_can_be_waited_for() {
    let server = shared();
    let sink = Sink::start();
    let body = program([call("a", sink.url("/d/1500"))]).set("respond_within", json!("100ms"));
    let id = hook(server, &fresh("watched"), &body).expect(202).task_id();
    let get =
        |query: &str| server.send(&Request::get(&format!("/v1/tasks/{id}{query}")).bearer(TOKEN));
    assert_eq!(get("?wait=20").expect(200).json()["state"], "succeeded");
    for wrong in ["?wait=abc", "?wait=-1", "?what=1"] {
        get(wrong).expect_problem(400, "input_invalid");
    }
}

/// Thousands of records in a row must not keep everybody else waiting.
#[test]
fn a_task_of_many_steps_leaves_others_their_turn() {
    let server = Server::start();
    let values = (0..1_500).map(|n| json!({"do": "value", "name": format!("v{n}"), "value": n}));
    let body = program(values);
    let long = Mode::Webhook
        .request(&fresh("many-steps"), &body)
        .field("Prefer", "respond-async");
    let id = server.send(&long).expect(202).task_id();
    let get = || {
        server
            .send(&Request::get(&format!("/v1/tasks/{id}")).bearer(TOKEN))
            .expect(200)
            .json()
    };
    hook(&server, &fresh("meanwhile"), &program([])).expect(200);
    let state = get()["state"].clone();
    assert_ne!(state, "succeeded", "the other one had to wait for its end");
    eventually(|| {
        let task = get();
        check(task["state"] == "succeeded", || task.to_string())
    });
}

#[test]
fn a_problem_names_its_occurrence_and_a_refusal_does_not() {
    let server = shared();
    let one = || {
        server
            .send(&Request::get("/v1/tasks?limit=0").bearer(TOKEN))
            .expect(400)
            .json()
    };
    let instance = |problem: &Value| problem["instance"].as_str().map(str::to_owned);
    let (first, second) = (instance(&one()), instance(&one()));
    assert!(
        first.as_deref().is_some_and(|i| i.starts_with("urn:uuid:")),
        "{first:?}"
    );
    assert_ne!(first, second);
    let refused = server.send(&Request::get("/v1/tasks")).expect(401).json();
    assert_eq!(instance(&refused), None);
}

/// A read is tried again; a write that failed is not the list's business.
#[test]
fn the_list_outlives_a_passing_fault_of_d1() {
    let server = Server::start();
    server.fault(&json!({"d1": "fail", "times": 1}));
    server
        .send(&Request::get("/v1/tasks").bearer(TOKEN))
        .expect(200);
}

/// What the random requests look at in the end: a panic leaves the instance as it is, a start makes another.
#[test]
fn the_counters_name_the_instance_of_the_code() {
    let mut server = Server::start();
    let instance = |server: &Server| server.counters()["instance"].clone();
    let first = instance(&server);
    assert!(first.is_string(), "{first}");
    let panics = program([json!({"do": "panic"})]).set("max_attempts", 1);
    hook(&server, &fresh("panics"), &panics);
    assert_eq!(instance(&server), first);
    server.restart();
    assert_ne!(instance(&server), first);
}
