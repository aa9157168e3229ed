//! The flow that many copy, and how it behaves here: once, whatever is sent twice.

use onceward::testing::{FlowBench, FlowDelivery};
use serde_json::Value;

const REFERENCE: &str = include_str!("../../flows/idempotent-webhook-processor.yaml");

fn delivery(key: &str) -> FlowDelivery {
    FlowDelivery {
        key: key.to_owned(),
        body: br#"{"id": 1}"#.to_vec(),
        ..FlowDelivery::default()
    }
}

fn ran(execution: &Value) -> Vec<String> {
    let runs = execution["taskRunList"].as_array().expect("a list of runs");
    let line = |run: &Value| {
        format!(
            "{} {}",
            run["taskId"].as_str().unwrap(),
            run["state"]["current"].as_str().unwrap()
        )
    };
    runs.iter().map(line).collect()
}

#[test]
fn the_reference_flow_processes_an_event_once() {
    let mut bench = FlowBench::new(&[REFERENCE]).expect("it is read as it is");
    let id = bench.deliver(delivery("evt-1")).unwrap();
    bench.run_until_idle();
    let execution = bench.execution(&id);
    assert_eq!(execution["state"]["current"], "SUCCESS", "{execution:#}");
    assert_eq!(execution["id"], execution["task_id"]);
    let wanted = [
        "check-duplicate SUCCESS",
        "is-new-event SUCCESS",
        "process-event SUCCESS",
        "mark-as-processed SUCCESS",
    ];
    assert_eq!(ran(&execution), wanted);
    assert_eq!(bench.logs(&id), ["INFO Processing new event with ID evt-1"]);
    let kept = bench.kv_get("company.team.production", "processed-evt-1");
    assert_eq!(kept, Some(id.clone().into()));
    // The repeat is the same task.
    assert_eq!(bench.deliver(delivery("evt-1")).unwrap(), id);
}

#[test]
fn without_idempotency_of_its_own_the_guard_holds_under_a_crowd() {
    let off = REFERENCE.replace(
        "key: my-secret-webhook-key",
        "key: my-secret-webhook-key\n    idempotency: off",
    );
    let mut bench = FlowBench::new(&[&off]).expect("it is read");
    let ids: Vec<String> = (0..50)
        .map(|_| bench.deliver(delivery("evt-2")).unwrap())
        .collect();
    bench.run_until_idle();
    let logs: Vec<String> = ids.iter().flat_map(|id| bench.logs(id)).collect();
    let processed = logs
        .iter()
        .filter(|line| line.starts_with("INFO Processing new event"))
        .count();
    let duplicates = logs
        .iter()
        .filter(|line| line.starts_with("INFO Duplicate event"))
        .count();
    assert_eq!((processed, duplicates), (1, 49), "{logs:#?}");
}

#[test]
fn the_reference_flow_may_crash_anywhere() {
    let mut bench = FlowBench::new(&[REFERENCE]).expect("it is read");
    let tried = bench.crash_everywhere(delivery("evt-3"), |_| {});
    assert!(tried.runs > 10, "{tried:?}");
}
