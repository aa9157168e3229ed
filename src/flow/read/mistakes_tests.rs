use super::read;

fn problems(text: &str) -> Vec<String> {
    let found = read(text).expect_err("problems");
    found.iter().map(ToString::to_string).collect()
}

/// A flow with these tasks.
fn with_tasks(tasks: &str) -> String {
    format!("id: f\nnamespace: n\ntasks:\n{tasks}")
}

#[test]
fn each_mistake_is_told() {
    for (tasks, wanted) in [
        ("  []", "at least one."),
        ("  x", "This is the text `x`; a list is wanted."),
        ("- x", "This is the text `x`; a map is wanted."),
        ("- {id: a}", "`type` is missing."),
        (
            "- {type: io.kestra.plugin.core.debug.Return}",
            "`id` is missing; `debug.Return` needs it.",
        ),
        (
            "- {id: a.b, type: io.kestra.plugin.core.debug.Return}",
            "`[a-zA-Z0-9][a-zA-Z0-9_-]*`",
        ),
        (
            "- {id: a, type: io.kestra.plugin.core.flow.Dag, tasks: []}",
            "use `flow.Parallel`",
        ),
        (
            "- {id: a, type: io.kestra.plugin.jdbc.postgresql.Query}",
            "call a service with `http.Request`",
        ),
        (
            "- {id: a, type: io.kestra.plugin.core.tasks.kv.Sett}",
            "Nearest: io.kestra.plugin.core.kv.Set.",
        ),
        (
            "- {id: a, type: io.kestra.plugin.core.flow.Switch, value: x}",
            "Either `cases` or `defaults` is needed.",
        ),
        (
            "- {id: a, type: io.kestra.plugin.core.flow.Subflow, namespace: '{{ flow.namespace }}', flowId: f}",
            "A flow can't begin itself.",
        ),
        (
            "- {id: a, type: io.kestra.plugin.redis.string.Get}",
            "`io.kestra.plugin.redis.string.Get` is not supported. Plugins outside of the core",
        ),
        ("- {id: a, type: kv.Get}", "Nearest: io.kestra.plugin.core"),
        (
            "- {id: a, type: io.kestra.plugin.core.flow.If, condition: '1', then: []}",
            "at least one.",
        ),
        (
            "- {id: a, type: io.kestra.plugin.core.flow.ForEach, values: abc, tasks: [{id: r, type: io.kestra.plugin.core.debug.Return}]}",
            "a list in JSON",
        ),
        (
            "- {id: a, type: io.kestra.plugin.core.flow.Subflow, namespace: n, flowId: f, revision: 3}",
            "Not supported: a sub-flow",
        ),
        (
            "- {id: a, type: io.kestra.plugin.core.http.Request, uri: 'https://a', body: x, formData: {a: b}}",
            "either `body` or `formData`",
        ),
        (
            "- {id: a, type: io.kestra.plugin.core.http.Request, uri: 'https://a', options: {auth: {type: BASIC, username: u}}}",
            "this type of `auth` needs it",
        ),
        (
            "- {id: a, type: io.kestra.plugin.core.http.Request, uri: 'https://a', options: {allowFail: true}}",
            "Nearest: allowFailed.",
        ),
    ] {
        let found = problems(&with_tasks(tasks)).join("\n");
        assert!(found.contains(wanted), "{tasks}\n{found}");
    }
}

#[test]
fn each_mistake_of_any_task_is_told() {
    const LOG: &str = "- {id: l, type: io.kestra.plugin.core.log.Log, message: m";
    for (more, wanted) in [
        ("timeout: P1M", "months and years have no fixed length"),
        ("timeout: -PT1S", "an ISO 8601 duration"),
        ("allowFailure: maybe", "`true` or `false` is wanted"),
        ("allowFailure: '{{ true }}'", "`true` or `false` is wanted"),
        ("disabled: [1]", "a boolean or an expression is wanted"),
        (
            "retry: {type: constant, interval: PT1S, maxInterval: PT2S}",
            "does not have this",
        ),
        (
            "retry: {type: exponential, interval: PT5S, maxInterval: PT2S}",
            "shorter than the first one",
        ),
        (
            "retry: {type: constant, interval: PT1S, maxAttempt: 2, maxAttempts: 2}",
            "the same as `maxAttempt`",
        ),
        (
            "retry: {type: constant, interval: PT1S, behavior: CREATE_NEW_EXECUTION}",
            "Nearest: RETRY_FAILED_TASK.",
        ),
        (
            "undo: {id: u, type: io.kestra.plugin.core.flow.Sequential, tasks: [{id: r, type: io.kestra.plugin.core.debug.Return}]}",
            "can't undo one",
        ),
        (
            "undo: {id: u, type: io.kestra.plugin.core.debug.Return, undo: {id: v, type: io.kestra.plugin.core.debug.Return}}",
            "can't be undone",
        ),
        ("level: [a]", "one word or an expression"),
        ("id: x", "is there already"),
        ("message:", "is there already"),
    ] {
        let found = problems(&with_tasks(&format!("{LOG}, {more}}}"))).join("\n");
        assert!(found.contains(wanted), "{more}\n{found}");
    }
}

#[test]
fn each_mistake_at_the_top_is_told() {
    let base = with_tasks("- {id: l, type: io.kestra.plugin.core.log.Log, message: m}");
    for (more, wanted) in [
        (
            "labels: {system.correlationId: x}",
            "The label `system.correlationId` is set by the system alone.",
        ),
        ("sla: []", "Not supported: give tasks a `timeout`."),
        (
            "concurrency: {limit: 0}",
            "a whole number from 1 on is wanted",
        ),
        ("concurrency: {}", "`concurrency` needs it"),
        (
            "labels: [{key: a}]",
            "a map with `key` and `value` is wanted",
        ),
        ("inputs: [{id: a, type: FILE}]", "there are no files"),
        (
            "inputs: [{id: a, type: STRING}, {id: a, type: INT}]",
            "The id `a` is there already",
        ),
        ("inputs: [{id: a, type: SELECT}]", "`values` is missing"),
        (
            "inputs: [{id: a, type: SELECT, values: [x], defaults: y}]",
            "one of `values` is wanted",
        ),
        ("inputs: [{id: a, type: ARRAY}]", "an `ARRAY` needs it"),
        (
            "inputs: [{id: a, type: INT, itemType: INT}]",
            "Only an `ARRAY` has this",
        ),
        (
            "inputs: [{id: a, type: INT, defaults: x}]",
            "a whole number is wanted",
        ),
        (
            "inputs: [{id: a, type: STRING, validator: '(?=a)'}]",
            "no regular expression",
        ),
        (
            "inputs: [{id: a, type: STRING, validator: 'a)|(b'}]",
            "no regular expression",
        ),
        (
            "inputs: [{id: a, type: STRING, dependsOn: {}}]",
            "Not supported: all inputs",
        ),
        ("inputs: [{id: a, type: TEXT}]", "`STRING`, `INT`"),
        ("outputs: [{id: a}]", "an output needs it"),
        (
            "pluginDefaults: [{type: io.kestra.plugin.docker.Run}]",
            "need containers",
        ),
        (
            "pluginDefaults: [{type: io.kestra.plugin.core.log.Log, values: {id: a}}]",
            "can't have a default",
        ),
        (
            "pluginDefaults: [{type: io.kestra.plugin.core.log.Log, values: {x: a}}]",
            "no property of `log.Log`",
        ),
    ] {
        let found = problems(&format!("{base}\n{more}\n")).join("\n");
        assert!(found.contains(wanted), "{more}\n{found}");
    }
}

#[test]
fn each_mistake_of_a_trigger_is_told() {
    let base = with_tasks("- {id: l, type: io.kestra.plugin.core.log.Log, message: m}");
    for (more, wanted) in [
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Flow, conditions: [{type: io.kestra.plugin.core.condition.DayWeek, dayOfWeek: monday, date: '{{ now() }}'}]}]",
            "Only `{{ trigger.date }}` is supported here.",
        ),
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Webhook}]",
            "`trigger.Webhook` needs it",
        ),
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Webhook, key: ' '}]",
            "1 to 256 are wanted",
        ),
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Webhook, key: k, idempotency: maybe}]",
            "`on`, `off` or a map is wanted",
        ),
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Webhook, key: k, signature: {provider: stripe}}]",
            "`signature` needs it",
        ),
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Webhook, key: k, responseCode: 99}]",
            "from 200 to 599",
        ),
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Schedule, cron: '* * * * * *'}]",
            "five fields",
        ),
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Flow, states: [DONE]}]",
            "`SUCCESS`, `WARNING`",
        ),
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Flow, preconditions: {flows: []}}]",
            "One flow is wanted",
        ),
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Flow, conditions: [{type: io.kestra.plugin.core.condition.PublicHoliday}]}]",
            "calendar of holidays",
        ),
        (
            "triggers: [{id: t, type: io.kestra.plugin.core.trigger.Flow}, {id: t, type: io.kestra.plugin.core.trigger.Flow}]",
            "The id is there already",
        ),
        ("answer: {status: fine}", "a whole number or an expression"),
    ] {
        let found = problems(&format!("{base}\n{more}\n")).join("\n");
        assert!(found.contains(wanted), "{more}\n{found}");
    }
}
