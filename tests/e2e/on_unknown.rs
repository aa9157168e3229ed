//! What becomes of a step that a crash has caught between its effect and its record.

use crate::support::{
    Mode, Request, Server, Settings as _, Sink, call, fresh, program, shared, throughout,
};
use serde_json::{Value, json};
use std::time::Duration;

/// Does its work, and nobody hears of it; from the second call on all is well.
fn held(name: &str) -> String {
    format!("/seq/hold,200?{name}")
}

fn probe(sink: &Sink, target: &str) -> Value {
    json!({ "probe": { "url": sink.url(target) } })
}

fn task(sink: &Sink, name: &str, on_unknown: Value) -> Request {
    let steps = [
        call("before", sink.url(&format!("/before?{name}"))),
        call("unsure", sink.url(&held(name))).with("on_unknown", on_unknown),
        call("after", sink.url(&format!("/after?{name}"))),
    ];
    let body = program(steps).short().set("respond_within", "50ms");
    Mode::Webhook.request(&fresh(name), &body)
}

#[test]
fn after_a_crash_a_step_is_repeated_asked_about_or_given_up_as_its_author_said() {
    let (mut server, sink) = (Server::start(), Sink::start());
    let cases = [
        ("retry", json!("retry")),
        ("fail", json!("fail")),
        ("yes", probe(&sink, "/yes")),
        ("no", probe(&sink, "/status/404?no")),
        ("later", probe(&sink, "/seq/503,200?later")),
    ];
    let requests = cases.map(|(name, unknown)| (name, task(&sink, name, unknown)));
    let ids = requests
        .each_ref()
        .map(|(_, request)| server.send(request).expect(202).task_id());
    for (name, _) in &requests {
        sink.wait_for(&held(name), 1);
    }
    server.restart();
    for ((name, request), id) in requests.iter().zip(&ids) {
        let ends = if *name == "fail" {
            "failed"
        } else {
            "succeeded"
        };
        let document = server.wait_state(id, ends);
        let effects = match *name {
            "retry" | "no" => 2,
            _ => 1,
        };
        let key = sink.assert_same_key(&held(name), effects);
        assert_eq!(sink.count(&format!("/before?{name}")), 1, "{name}");
        let went_on = usize::from(ends == "succeeded");
        assert_eq!(sink.count(&format!("/after?{name}")), went_on, "{name}");
        let probed = match *name {
            "yes" => vec!["/yes"],
            "no" => vec!["/status/404?no"],
            "later" => vec!["/seq/503,200?later"],
            _ => Vec::new(),
        };
        for target in probed {
            let first = sink.calls(target).into_iter().next().expect("a probe");
            assert_eq!(first.key(), key, "a probe asks by the step's own key");
        }
        if *name == "fail" {
            assert_eq!(document["error"]["code"], "outcome_unknown", "{document}");
            assert_eq!(document["error"]["step"], "unsure", "{document}");
            assert_eq!(document["resumable"], false, "{document}");
            let again = server.send(request).expect(200);
            assert_eq!(again.json()["state"], "failed", "{}", again.shown());
            throughout(Duration::from_millis(300), || {
                crate::support::check(sink.count(&held(name)) == 1, || "again".to_owned())
            });
        } else {
            assert!(server.send(request).expect(200).is_replay());
        }
    }
}

/// Nothing is asked where nothing is unknown.
#[test]
fn without_a_crash_nothing_is_probed_and_each_step_runs_once() {
    let (server, sink) = (shared(), Sink::start());
    for unknown in [json!("retry"), json!("fail"), probe(&sink, "/probe")] {
        let target = format!("/a?{}", unknown.is_string());
        let step = call("a", sink.url(&target)).with("on_unknown", unknown);
        let before = sink.count(&target);
        Mode::Webhook
            .deliver(server, &fresh("calm"), &program([step]))
            .expect(200);
        assert_eq!(sink.count(&target), before + 1);
    }
    assert_eq!(sink.count("/probe"), 0);
}

/// An answer is an answer: a status that is not accepted is a failure that everybody knows of.
#[test]
fn a_failure_that_is_known_is_not_called_unknown() {
    let (server, sink) = (shared(), Sink::start());
    let step = call("a", sink.url("/status/500")).with("on_unknown", "fail");
    let body = program([step]).set("max_attempts", 1);
    let id = Mode::Webhook
        .deliver(server, &fresh("known"), &body)
        .task_id();
    let document = server.wait_state(&id, "failed");
    assert_ne!(document["error"]["code"], "outcome_unknown", "{document}");
    assert_eq!(document["resumable"], true, "{document}");
}
