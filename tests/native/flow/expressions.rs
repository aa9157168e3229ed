//! Tables of expressions: each is the only task of a flow.

use super::case::{Case, Entry};
use super::{read, require_none, themes, world};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A file of tables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    surroundings: Surroundings,
    table: Vec<Table>,
}

/// What the expressions of a file see.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Surroundings {
    body: String,
    headers: BTreeMap<String, String>,
    query: String,
    secrets: BTreeMap<String, String>,
    kv: Vec<Entry>,
    /// Of the flow, in JSON.
    variables: Option<String>,
}

/// Expressions, each with what it gives.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Table {
    name: String,
    /// Printed.
    text: Vec<[String; 2]>,
    /// With its type, in JSON.
    value: Vec<[String; 2]>,
    /// It fails, and says this.
    fails: Vec<[String; 2]>,
    /// The flow is not loaded, and this is said.
    refused: Vec<[String; 2]>,
}

/// What came of an expression.
#[derive(Debug, PartialEq)]
enum Came {
    Gave(Value),
    Failed(String),
    Refused(String),
}

fn evaluate(around: &Surroundings, expression: &str, typed: bool) -> Came {
    let task = if typed {
        json!({ "id": "it", "type": "io.kestra.plugin.core.output.OutputValues", "values": { "value": expression } })
    } else {
        json!({ "id": "it", "type": "io.kestra.plugin.core.debug.Return", "format": expression })
    };
    let variables = around
        .variables
        .as_deref()
        .map_or_else(|| json!({}), super::case::json);
    // JSON is YAML.
    let flow = json!({
        "id": "expression",
        "namespace": "company.team",
        "variables": variables,
        "triggers": [{ "id": "in", "type": "io.kestra.plugin.core.trigger.Webhook", "key": "k" }],
        "tasks": [task],
    });
    let delivery = super::case::Delivery {
        headers: around.headers.clone(),
        query: around.query.clone(),
        body: (!around.body.is_empty()).then(|| around.body.clone()),
        ..Default::default()
    };
    let case = Case {
        flow: flow.to_string(),
        secrets: around.secrets.clone(),
        kv: around.kv.clone(),
        ..Case::default()
    };
    let mut bench = match world::bench(&case) {
        Ok(bench) => bench,
        Err(problems) => {
            let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Came::Refused(listed.join("\n"));
        }
    };
    let id = match bench.deliver(world::delivery(&case, &delivery)) {
        Ok(id) => id,
        Err(why) => return Came::Failed(format!("{why:?}")),
    };
    bench.run_until_idle();
    let execution = bench.execution(&id);
    if execution["state"]["current"] == "SUCCESS" {
        let outputs = &execution["taskRunList"][0]["outputs"];
        let value = if typed {
            &outputs["values"]["value"]
        } else {
            &outputs["value"]
        };
        return Came::Gave(value.clone());
    }
    Came::Failed(format!("{}", execution["error"]))
}

fn says(said: &str, part: &str) -> bool {
    said.to_lowercase().contains(&part.to_lowercase())
}

fn wrong(table: &Table, around: &Surroundings) -> Vec<String> {
    let mut wrong = Vec::new();
    for [expression, expected] in &table.text {
        let came = evaluate(around, expression, false);
        if came != Came::Gave(Value::String(expected.clone())) {
            wrong.push(format!("{expression}: {came:?}, expected {expected:?}"));
        }
    }
    for [expression, expected] in &table.value {
        let came = evaluate(around, expression, true);
        if came != Came::Gave(super::case::json(expected)) {
            wrong.push(format!(
                "{expression}, typed: {came:?}, expected {expected}"
            ));
        }
    }
    for [expression, expected] in &table.fails {
        let came = evaluate(around, expression, false);
        if !matches!(&came, Came::Failed(said) if says(said, expected)) {
            wrong.push(format!(
                "{expression}: {came:?}, expected a failure with {expected:?}"
            ));
        }
    }
    for [expression, expected] in &table.refused {
        let came = evaluate(around, expression, false);
        if !matches!(&came, Came::Refused(said) if says(said, expected)) {
            wrong.push(format!(
                "{expression}: {came:?}, expected not to be loaded for {expected:?}"
            ));
        }
    }
    wrong
}

#[test]
fn give_what_the_tables_say() {
    let wanted = std::env::var("ONCEWARD_CASE").unwrap_or_default();
    for theme in themes("expressions") {
        let file: File = read("expressions", &theme);
        let tables = file
            .table
            .iter()
            .filter(|table| table.name.contains(&wanted));
        let problems: Vec<(String, Vec<String>)> = tables
            .map(|table| (table.name.clone(), wrong(table, &file.surroundings)))
            .collect();
        require_none(&theme, &problems);
    }
}
