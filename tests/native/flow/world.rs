//! A case on the bench: its flows, keys, secrets and outside, and what its executions came to.

use super::case::{Case, Delivery, Response, json};
use onceward::flow::diagnostic::Diagnostic;
use onceward::protocol::{State, StepRecord, Task, WaitFor, Waiting};
use onceward::testing::{FlowBench, FlowDelivery, FlowRefusal, Reaction};
use serde_json::Value;

/// The bench of a case.
///
/// # Errors
/// If a flow is not loaded.
pub fn bench(case: &Case) -> Result<FlowBench, Vec<Diagnostic>> {
    let texts = case.flows();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut bench = FlowBench::new(&texts)?;
    for (name, value) in &case.secrets {
        bench = bench.secret(name, value);
    }
    for key in &case.kv {
        bench = bench.kv(&key.namespace, &key.key, key.value.clone());
    }
    for outside in &case.outside {
        let answers = outside.answers.iter().map(reaction).collect();
        bench = bench.outside(&outside.method, &outside.url, answers);
    }
    Ok(bench)
}

fn reaction(response: &Response) -> Reaction {
    let mut reaction = Reaction::bytes(response.status, "text/plain", response.body.as_bytes());
    for (name, value) in &response.headers {
        reaction = reaction.header(name, value);
    }
    reaction.after_ms(response.after_ms)
}

/// A delivery as the bench takes it.
pub fn delivery(case: &Case, given: &Delivery) -> FlowDelivery {
    let flow = &case.flows()[0];
    let is_webhook = flow.contains("trigger.Webhook") || flow.contains("types.Webhook");
    let inputs = given
        .inputs
        .clone()
        .or_else(|| (!is_webhook).then(|| json("{}")));
    let inputs = inputs.map(|inputs| match inputs {
        Value::Object(map) => map,
        other => panic!("{other} is no map of inputs"),
    });
    FlowDelivery {
        key: given.key.clone(),
        method: given.method.clone(),
        headers: given.headers.clone().into_iter().collect(),
        query: given.query.clone(),
        body: given
            .body
            .clone()
            .unwrap_or_else(|| "{}".to_owned())
            .into_bytes(),
        inputs,
    }
}

/// The task of an execution.
pub fn task(bench: &mut FlowBench, id: &str) -> Option<Task> {
    bench
        .bench()
        .tasks()
        .into_iter()
        .find(|task| task.id().to_string() == id)
}

/// What is recorded of an execution.
pub fn journal(bench: &mut FlowBench, id: &str) -> Vec<StepRecord> {
    let key = task(bench, id).map(|task| task.key);
    key.map(|key| bench.bench().journal(&key))
        .unwrap_or_default()
}

/// The state of an execution. An answer of the flow's own does not tell it: then it is as the task says.
pub fn state(bench: &mut FlowBench, id: &str) -> String {
    let execution = bench.execution(id);
    let Some(task) = task(bench, id) else {
        return "FORGOTTEN".to_owned();
    };
    let told = execution["state"]["current"]
        .as_str()
        .filter(|_| execution["taskRunList"].is_array());
    match (task.state, told) {
        (State::Succeeded | State::Failed { .. }, Some(told)) => told.to_owned(),
        (State::Succeeded, None) => "SUCCESS".to_owned(),
        (State::Failed { .. }, None) => "FAILED".to_owned(),
        (State::Cancelled, _) => "KILLED".to_owned(),
        (State::Suspended(Waiting::For(_)), _) => "PAUSED".to_owned(),
        (state, _) => format!("{state:?}"),
    }
}

/// Whether an execution waits for this signal, or has ended without it.
pub fn waits_for(bench: &mut FlowBench, id: &str, name: &str) -> bool {
    match task(bench, id).map(|task| task.state) {
        Some(State::Suspended(Waiting::For(waits))) => waits.iter().any(
            |wait| matches!(&wait.what, WaitFor::Signal { name: waited, .. } if waited == name),
        ),
        Some(State::Running | State::Suspended(_)) => false,
        _ => true,
    }
}

/// Executions of the flow that gets the deliveries.
pub fn executions(bench: &mut FlowBench, id: Option<&str>) -> usize {
    let tasks = bench.bench().tasks();
    let name = id
        .and_then(|id| tasks.iter().find(|task| task.id().to_string() == id))
        .map(|t| t.key.name.clone());
    tasks
        .iter()
        .filter(|task| name.as_ref().is_none_or(|name| task.key.name == *name))
        .count()
}

/// What a refusal says, and the status that stands for it.
pub fn refusal(why: &FlowRefusal) -> (u16, String) {
    match why {
        FlowRefusal::NotMeant => (204, String::new()),
        FlowRefusal::NoKey => (400, "no key".to_owned()),
        FlowRefusal::Invalid(problems) => {
            let listed: Vec<String> = problems
                .iter()
                .map(|p| format!("{}: {}", p.path, p.detail))
                .collect();
            (422, listed.join("\n"))
        }
    }
}
