use super::*;

fn name() -> FlowName {
    FlowName::read("company.team", "sync").expect("a name")
}

fn turn(task: &Value) -> Value {
    let name = name();
    let known = Known {
        name: &name,
        trigger: Some(("in", "io.kestra.plugin.core.trigger.Webhook")),
        revision: Some(2),
    };
    let answer = as_execution(Answer::json(202, task), &known);
    serde_json::from_slice(&answer.body).expect("JSON")
}

#[test]
fn states_are_told_in_the_words_of_flows() {
    let waits = |what: &str, name: &str| json!({ "for": what, "name": name });
    let cases = [
        ("pending", Value::Null, "RUNNING"),
        ("running", Value::Null, "RUNNING"),
        ("compensating", Value::Null, "RUNNING"),
        ("suspended", waits("sleep", "nap"), "RUNNING"),
        ("suspended", waits("backoff", "call"), "RUNNING"),
        ("suspended", waits("signal", "approve"), "PAUSED"),
        ("suspended", waits("signal", "%lock/key"), "QUEUED"),
        ("succeeded", Value::Null, "SUCCESS"),
        ("failed", Value::Null, "FAILED"),
        ("cancelled", Value::Null, "KILLED"),
    ];
    for (state, waiting, want) in cases {
        let shown = turn(&json!({ "task_id": "t", "state": state, "waiting": waiting }));
        assert_eq!(shown["state"]["current"], want, "{state}");
        assert_eq!(shown["task_state"], state);
    }
}

#[test]
fn the_rest_of_the_task_stays_and_what_has_ended_names_no_revision() {
    let task = json!({
        "task_id": "t", "state": "failed", "resumable": true, "created_at": "A", "updated_at": "B", "finished_at": "C",
        "labels": { "team": "shop", "system.correlationId": "k" }, "error": { "code": "x" },
    });
    let shown = turn(&task);
    let want = json!({
        "id": "t", "task_id": "t", "originalId": "t", "tenantId": "main", "namespace": "company.team", "flowId": "sync",
        "state": { "current": "FAILED", "startDate": "A", "histories": [
            { "state": "CREATED", "date": "A" }, { "state": "RUNNING", "date": "A" }, { "state": "FAILED", "date": "C" },
        ] },
        "labels": [{ "key": "team", "value": "shop" }, { "key": "system.correlationId", "value": "k" }],
        "trigger": { "id": "in", "type": "io.kestra.plugin.core.trigger.Webhook" },
        "url": "/v1/tasks/t", "task_state": "failed",
        "resumable": true, "created_at": "A", "updated_at": "B", "finished_at": "C", "error": { "code": "x" },
    });
    assert_eq!(shown, want);
}

#[test]
fn what_is_no_task_stays_as_it_is() {
    for body in [
        json!([1]),
        json!({ "id": "x" }),
        json!({ "task_id": "x", "state": { "current": "SUCCESS" } }),
    ] {
        assert_eq!(turn(&body), body);
    }
    let name = name();
    let known = Known {
        name: &name,
        trigger: None,
        revision: None,
    };
    let mut problem = Answer::json(503, &json!({ "task_id": "t", "state": "running" }));
    problem
        .headers
        .set("content-type", "application/problem+json");
    assert_eq!(as_execution(problem.clone(), &known), problem);
}
