use super::*;
use crate::flow::model::{Property, Trigger, Work};
use serde_json::json;

const REFERENCE: &str = "
id: idempotent-webhook-processor
namespace: company.team.production

triggers:
  - id: inbound-event
    type: io.kestra.plugin.core.trigger.Webhook
    key: my-secret-webhook-key

tasks:
  - id: check-duplicate
    type: io.kestra.plugin.core.tasks.kv.Get
    namespace: \"{{ flow.namespace }}\"
    key: \"processed-{{ trigger.headers['Idempotency-Key'] }}\"
    errorOnMissing: false

  - id: is-new-event
    type: io.kestra.plugin.core.flow.If
    condition: \"{{ outputs['check-duplicate'].value == null }}\"
    then:
      - id: process-event
        type: io.kestra.plugin.core.task.Log
        message: \"Processing new event with ID {{ trigger.headers['Idempotency-Key'] }}\"
      - id: mark-as-processed
        type: io.kestra.plugin.core.tasks.kv.Set
        namespace: \"{{ flow.namespace }}\"
        key: \"processed-{{ trigger.headers['Idempotency-Key'] }}\"
        value: \"{{ execution.id }}\"
    else:
      - id: log-duplicate
        type: io.kestra.plugin.core.task.Log
        message: \"Duplicate event received with ID {{ trigger.headers['Idempotency-Key'] }}. Skipping.\"
";

fn problems(text: &str) -> Vec<String> {
    let found = read(text).expect_err("problems");
    found.iter().map(ToString::to_string).collect()
}

/// A flow with these tasks.
fn with_tasks(tasks: &str) -> String {
    format!("id: f\nnamespace: n\ntasks:\n{tasks}")
}

#[test]
fn the_reference_flow_is_read() {
    let flow = read(REFERENCE).expect("a flow");
    assert_eq!(flow.namespace, "company.team.production");
    let [Trigger::Webhook(webhook)] = flow.triggers.as_slice() else {
        panic!("one webhook")
    };
    assert_eq!(
        webhook.key,
        Property::Literal(json!("my-secret-webhook-key"))
    );
    assert!(webhook.idempotency.on);
    let Work::KvGet {
        key: Property::Template(key),
        error_on_missing,
        ..
    } = &flow.tasks[0].work
    else {
        panic!("kv.Get")
    };
    assert_eq!(
        key.source(),
        "processed-{{ trigger.headers['Idempotency-Key'] }}"
    );
    assert_eq!(error_on_missing, &Some(Property::Literal(json!(false))));
    let Work::If {
        then, otherwise, ..
    } = &flow.tasks[1].work
    else {
        panic!("flow.If")
    };
    assert_eq!((then.len(), otherwise.len()), (2, 1));
    assert_eq!(then[1].at.line, 24);
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let text = "id: a b
namespace: Company
colour: red
triggers:
  - id: t
    type: io.kestra.plugin.core.trigger.Webhok
  - id: s
    type: io.kestra.plugin.core.trigger.Schedule
    cron: 61 * * * *
    timezone: Mars/Phobos
tasks:
  - id: one
    type: io.kestra.plugin.scripts.python.Script
    script: print()
  - id: one
    type: io.kestra.plugin.core.flow.Sleep
    duration: 5 minutes
  - id: two
    type: io.kestra.plugin.core.log.Log
    mesage: Hi
    level: LOUD
    retry:
      type: constant
      maxAttempt: many
";
    let wanted = [
        "1:5 id: This is the text `a b`; a name of the form `[a-zA-Z0-9][a-zA-Z0-9._-]*` with at most 200 characters is wanted.",
        "2:12 namespace: This is the text `Company`; a name of the form `[a-z0-9][a-z0-9._-]*` with at most 200 characters is wanted.",
        "3:1 colour: `colour` is no property of a flow.",
        "6:11 triggers[0].type: There is no trigger of the type `io.kestra.plugin.core.trigger.Webhok`. Nearest: io.kestra.plugin.core.trigger.Webhook.",
        "9:11 triggers[1].cron: This is the text `61 * * * *`; five fields or a word like `@daily` are wanted (Component error: Number out of bounds).",
        "10:15 triggers[1].timezone: This is the text `Mars/Phobos`; a name of the tz database like `Europe/Paris` is wanted.",
        "13:11 tasks[0].type: `io.kestra.plugin.scripts.python.Script` is not supported. Script tasks need a process or a container, which can't run at the edge; call a service with `http.Request`, or write the function in Rust.",
        "15:9 tasks[1].id: The id `one` is there already, in line 12.",
        "17:15 tasks[1].duration: This is the text `5 minutes`; an ISO 8601 duration like `PT30S`, `PT5M` or `P1D` is wanted.",
        "20:5 tasks[2].mesage: `mesage` is no property of `log.Log`. Nearest: message.",
        "21:12 tasks[2].level: This is the text `LOUD`; `TRACE`, `DEBUG`, `INFO`, `WARN` or `ERROR` is wanted.",
        "23:7 tasks[2].retry: `interval` is missing; a retry of the type `constant` needs it.",
        "24:19 tasks[2].retry.maxAttempt: This is the text `many`; a whole number from 1 to 100 is wanted.",
    ];
    assert_eq!(problems(text), wanted);
}

#[test]
fn defaults_of_types_come_before_the_own_properties() {
    let text = with_tasks(
        "
  - {id: a, type: io.kestra.plugin.core.http.Request, uri: 'https://a'}
  - {id: b, type: io.kestra.plugin.core.http.Request, uri: 'https://b', method: PUT, options: {allowFailed: false}}
  - {id: c, type: io.kestra.plugin.core.log.Log, message: x, level: WARN}
pluginDefaults:
  - type: io.kestra.plugin.fs.http.Request
    values: {method: POST, options: {allowFailed: true, readTimeout: PT5S}, timeout: PT1M}
  - type: io.kestra.plugin.core.log
    forced: true
    values: {level: ERROR}
",
    );
    let flow = read(&text).expect("a flow");
    let http = |index: usize| match &flow.tasks[index].work {
        Work::Http(http) => http.clone(),
        other => panic!("{other:?}"),
    };
    let literal = |value: serde_json::Value| Some(Property::Literal(value));
    assert_eq!(http(0).method, literal(json!("POST")));
    assert_eq!(http(1).method, literal(json!("PUT")));
    assert_eq!(http(1).options.allow_failed, literal(json!(false)));
    assert_eq!(http(1).options.timeout, literal(json!("PT5S")));
    assert_eq!(flow.tasks[0].timeout, literal(json!("PT1M")));
    let Work::Log { level, .. } = &flow.tasks[2].work else {
        panic!("log.Log")
    };
    assert_eq!(level, &literal(json!("ERROR")));
}

#[test]
fn the_first_default_of_a_file_wins_unless_a_task_says_otherwise() {
    let text = with_tasks(
        "
  - {id: a, type: io.kestra.plugin.core.log.Log, message: m}
  - {id: b, type: io.kestra.core.tasks.log.Log, message: m, level: DEBUG}
pluginDefaults:
  - {type: io.kestra.plugin.core.log.Log, values: {level: WARN, timeout: PT1S}}
  - {type: io.kestra.plugin.core.task.Log, values: {level: ERROR}}
  - {type: io.kestra.plugin.core.log.Log, values: {timeout: PT2S}, forced: true}
  - {type: io.kestra.plugin.core.log.Log, values: {timeout: PT3S}, forced: true}
",
    );
    let flow = read(&text).expect("a flow");
    let levels: Vec<_> = flow
        .tasks
        .iter()
        .map(|task| match &task.work {
            Work::Log { level, .. } => level.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    let literal = |value: &str| Some(Property::Literal(json!(value)));
    assert_eq!(levels, [literal("WARN"), literal("DEBUG")]);
    assert_eq!(flow.tasks[1].timeout, literal("PT2S"));
}

#[test]
fn mistakes_in_expressions_have_their_place() {
    let text = with_tasks(
        "
  - id: a
    type: io.kestra.plugin.core.log.Log
    message: |
      fine {{ flow.id }}
      ä {{ inputs.name | uper }} {{ outputs.b.value }}
  - id: b
    type: io.kestra.plugin.core.debug.Return
    format: \"{{ outputs.aa }} {{ nput }} {{ outputs.none ?? 'x' }}\"
  - id: c
    type: io.kestra.plugin.core.debug.Return
    format: '{{ inputs.nam }} {{ vars.x }} {{ flow.name }} {{ tasks.d.state }} {{ envs.HOME }}'
inputs:
  - {id: name, type: STRING}
variables: {y: 1}
",
    );
    let wanted = [
        "9:26 tasks[0].message: There is no filter `uper`. Nearest: upper.",
        "12:17 tasks[1].format: There is no task `aa` in this flow. Nearest: a.",
        "12:34 tasks[1].format: There is no variable `nput`.",
        "15:17 tasks[2].format: There is no input `nam` in this flow. Nearest: name.",
        "15:34 tasks[2].format: There is no variable `x` in this flow. Nearest: y.",
        "15:47 tasks[2].format: `flow` has no `name`.",
        "15:63 tasks[2].format: There is no task `d` in this flow. Nearest: a.",
        "15:83 tasks[2].format: `envs` is not supported; use `inputs`, `vars` or `kv()`.",
    ];
    assert_eq!(problems(&text), wanted);
}

#[test]
fn no_name_stands_for_two_types() {
    let tasks = tasks().map(|spec| &spec.about);
    let triggers = TRIGGERS.iter().map(|spec| &spec.about);
    let conditions = CONDITIONS.iter().map(|spec| &spec.about);
    let mut names = std::collections::HashSet::new();
    for about in tasks.chain(triggers).chain(conditions) {
        for name in std::iter::once(&about.name).chain(about.aliases) {
            assert!(names.insert(*name), "{name}");
        }
    }
}

#[test]
fn idempotency_has_three_forms() {
    let of = |form: &str| {
        let trigger = "type: io.kestra.plugin.core.trigger.Webhook, key: k";
        let text = with_tasks("- {id: a, type: io.kestra.plugin.core.debug.Return}");
        let text = format!("{text}\ntriggers: [{{id: t, {trigger}, idempotency: {form}}}]\n");
        let flow = read(&text).expect("a flow");
        match flow.triggers.as_slice() {
            [Trigger::Webhook(webhook)] => webhook.idempotency.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert!(of("on").on && of("true").on && !of("off").on && !of("'Off'").on);
    let map = of("{key: '{{ trigger.body.id }}', fingerprint: false, retention: P1D}");
    assert!(map.on);
    assert_eq!(map.key.expect("a key").source(), "{{ trigger.body.id }}");
    assert_eq!(map.fingerprint, Some(Property::Literal(json!(false))));
    assert_eq!(map.retention_ms, Some(86_400_000));
}

#[test]
fn quoted_values_are_taken_for_what_is_wanted() {
    let text = with_tasks(
        "
  - id: 1
    type: io.kestra.plugin.core.log.Log
    message: 12
    disabled: 'false'
    allowFailure: \"true\"
    retry: {type: constant, interval: PT1S, maxAttempt: '3'}
",
    );
    let flow = read(&text).expect("a flow");
    let task = &flow.tasks[0];
    assert_eq!(task.id, "1");
    assert!(task.allow_failure);
    assert_eq!(task.disabled, Some(Property::Literal(json!(false))));
    assert_eq!(
        task.retry.as_ref().and_then(|retry| retry.max_attempts),
        Some(3)
    );
    let Work::Log { message, .. } = &task.work else {
        panic!("log.Log")
    };
    assert_eq!(message, &Property::Literal(json!("12")));
}

#[test]
fn all_that_is_missing_is_told() {
    let wanted = [
        "1:1 the flow: `id` is missing; a flow needs it.",
        "1:1 the flow: `namespace` is missing; a flow needs it.",
        "1:1 the flow: `tasks` is missing; a flow needs it.",
    ];
    assert_eq!(problems("description: d\n"), wanted);
}
