//! What can be seen of a task from outside: labels, trace, cost, statistics, log lines, analytics.

use crate::support::server::default_vars;
use crate::support::{
    Answer, Mode, Request, Server, Sink, TOKEN, call, check, eventually, fail, fresh, hook,
    program, value,
};
use serde_json::{Value, json};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn get(server: &Server, target: &str) -> Answer {
    server.send(&Request::get(target).bearer(TOKEN)).expect(200)
}

fn labelled() -> Server {
    let mut vars = default_vars();
    vars["ONCEWARD_SOURCES"] = json!({
        "shop": {"runs": "inbox", "labels": {"order": "body:/order/id", "team": "payments", "missing": "body:/nothing"}},
    });
    Server::with_vars(vars)
}

#[test]
fn a_task_is_found_by_what_its_source_labels_it_with() {
    let server = labelled();
    let send = |id: u64| {
        let body = format!("{{\"order\": {{\"id\": {id}}}}}");
        let request = Request::post("/hooks/shop")
            .key(&fresh("label"))
            .field("Content-Type", "application/json");
        server.send(&request.body(body)).expect(200).task_id()
    };
    // More digits than a double has.
    let wanted = send(616_581_622_363_398_142);
    send(616_581_622_363_398_143);
    let task = server.task(&wanted);
    assert_eq!(
        task["labels"],
        json!({"order": "616581622363398142", "team": "payments"}),
        "{task}"
    );
    eventually(|| {
        let found = get(
            &server,
            "/v1/tasks?label=order:616581622363398142&label=team:payments",
        )
        .json();
        let ids: Vec<&str> = found["tasks"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|t| t["task_id"].as_str())
            .collect();
        check(ids == [wanted.as_str()], || found.to_string())
    });
    let none = get(
        &server,
        "/v1/tasks?label=order:616581622363398142&label=team:other",
    )
    .json();
    assert_eq!(none["tasks"], json!([]));
}

#[test]
fn a_trace_goes_in_through_and_out() {
    let (server, sink) = (Server::start(), Sink::start());
    let program = program([call("pay", sink.url("/traced"))]);
    let request = Mode::Webhook
        .request(&fresh("trace"), &program)
        .field("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"))
        .field("tracestate", "rojo=1");
    let id = server.send(&request).expect(200).task_id();
    let calls = sink.calls("/traced");
    let [called] = &calls[..] else {
        panic!("one call")
    };
    let parent = called.field("traceparent").expect("a trace");
    assert!(
        parent.starts_with(&format!("00-{TRACE}-")) && parent.ends_with("-01"),
        "{parent}"
    );
    assert_ne!(
        &parent[36..52],
        "00f067aa0ba902b7",
        "the step is the parent"
    );
    assert_eq!(called.field("tracestate"), Some("rojo=1"));
    assert_eq!(server.task(&id)["trace_id"], TRACE);
    eventually(|| {
        let found = get(&server, &format!("/v1/tasks?trace_id={TRACE}")).json();
        check(found["tasks"][0]["task_id"] == id.as_str(), || {
            found.to_string()
        })
    });
}

#[test]
fn every_task_shows_what_it_cost() {
    let server = Server::start();
    let id = hook(&server, &fresh("cost"), &program([value("a", 1)]))
        .expect(200)
        .task_id();
    let cost = eventually(|| {
        let cost = server.task(&id)["cost"].clone();
        // Begin, finish and its acknowledgement, with the alarm.
        check(
            cost["d1_rows"].as_u64() >= Some(4) && cost["object_rows"].as_u64() >= Some(5),
            || cost.to_string(),
        )?;
        Ok(cost)
    });
    assert!(cost["object_requests"].as_u64() >= Some(2), "{cost}");
    assert!(
        cost["usd_per_million"]
            .as_f64()
            .is_some_and(|usd| usd > 9.0),
        "{cost}"
    );
    let sent = hook(
        &server,
        &fresh("cost"),
        &program([json!({"do": "sleep", "name": "s", "for": "5s"})]),
    );
    assert!(
        sent.expect(202).json().get("cost").is_none(),
        "senders don't pay"
    );
}

fn sums(server: &Server) -> Value {
    let stats = get(server, "/v1/stats?by=function").json();
    stats["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|row| row["function"] == "lab")
        .cloned()
        .unwrap_or_default()
}

#[test]
fn statistics_say_what_happened_and_why_nothing_did() {
    let server = Server::start();
    let (key, good) = (fresh("stats"), program([value("a", 1)]));
    hook(&server, &key, &good).expect(200);
    for _ in 0..3 {
        assert!(hook(&server, &key, &good).expect(200).is_replay());
    }
    hook(&server, &key, &program([value("b", 2)])).expect_problem(422, "key_reused");
    hook(&server, &fresh("stats"), &program([fail("terminal")])).expect(200);
    let all = eventually(|| {
        let sums = sums(&server);
        let text = sums.to_string();
        check(
            text.contains("\"accepted\":2") && text.contains("\"failed\":1"),
            || text.clone(),
        )?;
        Ok(sums)
    });
    let text = all.to_string();
    assert!(
        text.contains("\"same_key\":3") && text.contains("\"mismatch\":1"),
        "{text}"
    );
    // Asked again, nothing is counted twice.
    assert_eq!(sums(&server)["duplicates"], all["duplicates"]);
}

#[test]
fn a_line_of_a_slice_names_task_attempt_slice_and_fence() {
    let server = Server::start();
    let id = hook(&server, &fresh("line"), &program([value("a", 1)]))
        .expect(200)
        .task_id();
    eventually(|| {
        let output = server.output();
        let named = |line: &&str| {
            let all = [
                &*id,
                "\"attempt\":1",
                "\"slice\":1",
                "\"fence\":1",
                "\"end\":\"succeeded\"",
            ];
            all.iter().all(|part| line.contains(part))
        };
        check(output.lines().any(|line| named(&line)), || output.clone())
    });
}

#[test]
fn a_delivery_and_a_slice_are_points_of_the_analytics() {
    let server = Server::start();
    hook(&server, &fresh("point"), &program([value("a", 1)])).expect(200);
    eventually(|| {
        let counters = get(&server, "/lab/counters").json();
        check(counters["points"] == 2, || counters.to_string())
    });
}
